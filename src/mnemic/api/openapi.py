"""What does the service promise? Its OpenAPI 3.1, with every status that an operation can answer.

FastAPI describes parameters, bodies and answers; here come the rules that hold for all of them: credentials,
headers, problem details. A test compares the result with docs/reference/rest.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from mnemic._version import __version__
from mnemic.access.problems import MEDIA_TYPE, TITLES
from mnemic.api.answers import ProblemAnswer
from mnemic.api.guard import DOCUMENTS, OPERATOR, RIGHT

_ABOUT = (
    "Long-term memory for agents. Whose memories are meant says the credential, never the request:"
    " a user's key or token, or a service's key with the header Mnemic-User."
)
_EVERYWHERE = (422, 500, 503)
_GUARDED = (401, 403, 429, 504)
_WITH_BODY = (400, 408, 413, 415)
_REPEATABLE = frozenset({"setConsent", "forgetUser"})
"""What may be asked again by itself: the same word, or the same erasure, changes nothing more."""
_VERSIONED = frozenset({"putProfile", "putProjectProfile"})
"""What must name a version in If-Match, beside every PATCH."""
_MAY_NAME_VERSION = frozenset({"deleteMemory", "deleteProject"})
_WRITING = frozenset({"post", "put", "patch", "delete"})
_PROBLEM = "#/components/schemas/ProblemAnswer"
_NAME = {"type": "string", "minLength": 1, "maxLength": 128}
_HEADERS: Mapping[str, tuple[dict[str, Any], str]] = {
    "Mnemic-User": (_NAME, "Whom a service's key acts for; other credentials name nobody else."),
    "Mnemic-Project": (_NAME, "The project whose memories are meant beside the user's own."),
    "Mnemic-Session": (_NAME, "The session whose memories are meant beside the user's own."),
}
_KEY = (
    {"type": "string", "pattern": "^[!-~]{1,255}$"},
    "The same request with the same key within 24 hours gets the first answer again.",
)
_IF_MATCH = ({"type": "string"}, "The ETag of the version that is meant, or *.")
_ETAG = {"schema": {"type": "string"}, "description": "The version that is there now."}
_LOCATION = {"schema": {"type": "string"}, "description": "Where to find it."}
_WAIT = {"schema": {"type": "string"}, "description": "Seconds to wait."}
_TAGGED: Mapping[str, Mapping[str, Any]] = {
    "addMemory": {"201": {"ETag": _ETAG, "Location": _LOCATION}},
    "getMemory": {"200": {"ETag": _ETAG}},
    "changeMemory": {"200": {"ETag": _ETAG}},
    "createProject": {"201": {"ETag": _ETAG, "Location": _LOCATION}},
    "getProject": {"200": {"ETag": _ETAG}},
    "renameProject": {"200": {"ETag": _ETAG}},
    "getProfile": {"200": {"ETag": _ETAG}},
    "changeProfile": {"200": {"ETag": _ETAG}},
    "putProfile": {"200": {"ETag": _ETAG}},
    "getProjectProfile": {"200": {"ETag": _ETAG}},
    "changeProjectProfile": {"200": {"ETag": _ETAG}},
    "putProjectProfile": {"200": {"ETag": _ETAG}},
    "createTask": {"201": {"ETag": _ETAG, "Location": _LOCATION}},
    **{
        f"{verb}Task": {"200": {"ETag": _ETAG}}
        for verb in ("get", "replay", "advance", "complete", "fail", "repair")
    },
    "addResource": {"200": {"Location": _LOCATION}, "201": {"Location": _LOCATION}},
}


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of an app; it is made once."""
    if app.openapi_schema is None:
        app.openapi_schema = _made(app)
    return app.openapi_schema


def _made(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title="Mnemic", version=__version__, description=_ABOUT, routes=app.routes
    )
    components = document.setdefault("components", {})
    components["securitySchemes"] = {
        "credential": {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key (`mnemic apikey create`) or a JWT.",
        }
    }
    schemas = components.setdefault("schemas", {})
    schemas["ProblemAnswer"] = ProblemAnswer.model_json_schema(
        ref_template="#/components/schemas/{model}"
    )
    for path, method, operation in operations(document):
        _complete(path, method, operation)
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    return document


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield path, method and description of every operation."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    guarded = path not in ("/healthz", "/readyz")
    writing = method in _WRITING and operation.get(RIGHT) != "read"
    if guarded:
        operation["security"] = [{"credential": []}]
        operation.setdefault(RIGHT, "write" if writing else "read")
    if guarded and operation[RIGHT] != OPERATOR:
        _add_headers(operation, _HEADERS)
    if writing and operation["operationId"] not in _REPEATABLE:
        _add_headers(operation, {"Idempotency-Key": _KEY})
    if _is_versioned(method, operation) or operation["operationId"] in _MAY_NAME_VERSION:
        _add_headers(operation, {"If-Match": _IF_MATCH})
    if path == "/metrics":
        operation["responses"]["200"]["content"] = {"text/plain": {"schema": {"type": "string"}}}
    operation.pop(DOCUMENTS, None)
    _add_answers(operation, _codes(path, method, operation, guarded, writing))


def _codes(
    path: str, method: str, operation: dict[str, Any], guarded: bool, writing: bool
) -> set[int]:
    if path == "/healthz":
        return {500}
    if not guarded:
        return {500, 503}
    codes = {*_EVERYWHERE, *_GUARDED}
    if "requestBody" in operation:
        codes |= set(_WITH_BODY)
    if "{" in path or path == "/api/memory/extract" or operation.get(RIGHT) != OPERATOR:
        codes.add(404)
    if writing:
        codes.add(409)
    if _is_versioned(method, operation):
        codes |= {400, 412, 428}
    if operation["operationId"] in _MAY_NAME_VERSION:
        codes |= {400, 412}
    return codes


def _is_versioned(method: str, operation: dict[str, Any]) -> bool:
    return method == "patch" or operation["operationId"] in _VERSIONED


def _add_headers(
    operation: dict[str, Any], headers: Mapping[str, tuple[dict[str, Any], str]]
) -> None:
    parameters = operation.setdefault("parameters", [])
    for name, (schema, description) in headers.items():
        parameters.append(
            {
                "name": name,
                "in": "header",
                "required": False,
                "schema": schema,
                "description": description,
            }
        )


def _add_answers(operation: dict[str, Any], codes: set[int]) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    told = [int(code) for code in responses if "content" not in responses[code]]
    for code in {*codes, *told}:
        responses[str(code)] = {
            "description": TITLES[code],
            "content": {MEDIA_TYPE: {"schema": {"$ref": _PROBLEM}}},
        }
    for code in {401, 429, 503} & codes:
        name = "WWW-Authenticate" if code == 401 else "Retry-After"
        responses[str(code)]["headers"] = {
            name: _WAIT if code != 401 else {"schema": {"type": "string"}}
        }
    for status, headers in _TAGGED.get(operation["operationId"], {}).items():
        responses[status]["headers"] = dict(headers)
