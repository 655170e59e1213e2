"""Has the client a method for everything that the service can be asked, and for nothing else?"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from mnemic.api.app import serve_from
from mnemic.api.doors import Limits
from mnemic.api.openapi import operations
from mnemic.client import AsyncMnemicClient, MnemicClient
from mnemic.client.calls import Call
from mnemic.model import Turn

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "rest.md"
SAME = {"searchMemory": "searchMemoryByBody"}
"""Operations that ask for the same as another one, in another form."""
NO_OPERATIONS = {"close", "aclose", "send", "within"}
GIVEN: dict[str, Any] = {
    "memories": [{"content": "I drink green tea"}],
    "turns": [Turn("user", "hello")],
    "seqs": [1],
    "document": "# Tea",
    "role": "viewer",
    "changes": {},
    "fields": {},
    "arguments": {"to": "bob"},
    "value": 1,
}


def _nothing() -> Any:
    raise AssertionError("the description needs no memory")


DOCUMENT = serve_from(_nothing).openapi()
DESCRIBED = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, method, operation in operations(DOCUMENT)
}


class _Recorder(MnemicClient):
    """A client that keeps what it would send."""

    def send(self, call: Call[Any]) -> Any:
        self.kept = call


def _call(name: str) -> Call[Any]:
    """Return what a method sends when it is given what it needs."""
    client = _Recorder("http://localhost", "key")
    parameters = inspect.signature(getattr(MnemicClient, name)).parameters.values()
    needed = [GIVEN.get(p.name, "x/1") for p in parameters if p.default is inspect.Parameter.empty]
    getattr(client, name)(*needed)
    return client.kept


METHODS = sorted(
    name
    for name, _ in inspect.getmembers(MnemicClient, callable)
    if not name.startswith("_") and name not in NO_OPERATIONS
)


def _operation(call: Call[Any]) -> str:
    found = [
        name
        for name, (method, path, _) in DESCRIBED.items()
        if method == call.method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), call.path)
    ]
    fixed = [name for name in found if "{" not in DESCRIBED[name][1]]
    (only,) = fixed or found
    return only


@pytest.mark.parametrize("name", METHODS)
def test_every_method_asks_for_an_operation_that_there_is(name: str) -> None:
    call = _call(name)
    _, _, operation = DESCRIBED[_operation(call)]
    known = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"}
    assert set(call.query) <= known
    headers = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "header"}
    assert {name for name in call.headers if name != "Content-Type"} <= headers
    assert call.writes <= ("Idempotency-Key" in headers)
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    assert (call.json is None) or body is not None
    if body is not None:
        assert set(call.json) <= _fields(body["schema"])


def _fields(schema: dict[str, Any]) -> set[str]:
    """Return the fields of a body; one that may be null is described by one of several schemas."""
    options = schema.get("anyOf", [schema])
    (name,) = (one["$ref"].rpartition("/")[2] for one in options if "$ref" in one)
    return set(DOCUMENT["components"]["schemas"][name].get("properties", {}))


def test_a_document_is_waited_for_as_long_as_the_service_may_work_on_it() -> None:
    assert _call("add_resource").longer == Limits().seconds_of(len(GIVEN["document"]))
    assert {name for name in METHODS if _call(name).longer} == {"add_resource"}


def test_the_page_names_every_method() -> None:
    page = PAGE.read_text(encoding="utf-8").partition("## Client\n")[2]
    rows = [line.split(" | ")[1] for line in page.splitlines() if line.startswith("| ")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert set(METHODS) <= named


def test_every_operation_has_a_method_in_both_clients() -> None:
    asked = {_operation(_call(name)) for name in METHODS}
    assert SAME.keys() <= DESCRIBED.keys()
    assert asked == DESCRIBED.keys() - SAME.keys()
    waiting = {name for name, _ in inspect.getmembers(AsyncMnemicClient, callable)}
    assert set(METHODS) <= waiting


@pytest.mark.parametrize("name", METHODS)
def test_every_write_can_be_sent_again_without_being_done_twice(name: str) -> None:
    call = _call(name)
    _, _, operation = DESCRIBED[_operation(call)]
    headers = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "header"}
    if "Idempotency-Key" in headers and call.content is None:  # documents are known by their bytes
        assert call.writes


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_what_it_does_and_takes_the_same_in_both(name: str) -> None:
    blocking, waiting = getattr(MnemicClient, name), getattr(AsyncMnemicClient, name)
    assert (blocking.__doc__ or "").strip()
    assert inspect.signature(blocking) == inspect.signature(waiting)
    assert inspect.iscoroutinefunction(waiting)
    assert not inspect.iscoroutinefunction(blocking)
