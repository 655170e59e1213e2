"""Which problem answers what went wrong? The one place where exceptions become responses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from mnemic.access.problems import MEDIA_TYPE, Problem, problem_of
from mnemic.access.wording import accepted
from mnemic.errors import InvalidInput, MnemicError, NotFound

_LOG = structlog.get_logger("mnemic.api")
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,23}|[0-9]{1,4}", re.ASCII)
_SHOWN = 10
_CLIENT_GONE = 499


def install(app: FastAPI) -> None:
    """Let every error of ``app`` answer with problem details."""
    app.add_exception_handler(MnemicError, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _unrouted)
    app.add_exception_handler(ClientDisconnect, _gone)


def answer(request: Request, problem: Problem) -> Response:
    """Return a problem as a response, and note its code for the log."""
    request.state.code = problem.code
    request_id = getattr(request.state, "request_id", None)
    return Response(problem.body(request_id), problem.status, dict(problem.headers), MEDIA_TYPE)


def refused_fields(errors: Sequence[Any]) -> InvalidInput:
    """Return the refusal of fields: the first one's code and name, and the others in the details.

    A field is named as it was sent where that is a plain, short name; what was in it is never told.
    """
    told = [_told(error) for error in errors]
    first = told[0]
    return InvalidInput(first["code"], first["message"], fields=told[:_SHOWN])


def _told(error: Any) -> dict[str, str]:
    where, *path = error["loc"]
    parts = [str(part) for part in path]
    plain = all(map(_FIELD.fullmatch, parts))
    shown = (".".join(parts) or str(where)) if plain else "(unnamed)"
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, MnemicError):
        return {"field": shown, "code": cause.code, "message": cause.message}
    if error["type"] == "extra_forbidden":
        code, message = "unknown_field", f"There is no field {shown} in this {where}."
    elif error["type"] == "missing":
        told = f"The field {shown} is missing." if path else "This request needs a JSON body."
        code, message = "field_missing", told
    else:
        named = shown if path else f"The {where}"
        code, message = "field_invalid", f"{named} {accepted(error)}."
    return {"field": shown, "code": code, "message": message}


async def _known(request: Request, error: Exception) -> Response:
    assert isinstance(error, MnemicError)
    problem = problem_of(error)
    if problem.status >= 500:
        _LOG.error(
            "failed",
            request_id=getattr(request.state, "request_id", None),
            code=error.code,
            error=type(error).__name__,
            cause=type(error.__cause__).__name__ if error.__cause__ else None,
        )
    return answer(request, problem)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return answer(request, problem_of(refused_fields(error.errors())))


async def _unrouted(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return answer(request, problem_of(NotFound("route_not_found", "There is no such route.")))
    if error.status_code == 405:
        refusal = InvalidInput("method_not_allowed", "This route does not know this method.")
        response = answer(request, problem_of(refusal))
        response.headers.update(error.headers or {})
        return response
    refusal = InvalidInput("request_invalid", "The request cannot be understood.")
    return answer(request, problem_of(refusal, error.status_code))


async def _gone(request: Request, error: Exception) -> Response:
    """Nobody reads this answer; the log shows that its caller went away."""
    request.state.code = "client_gone"
    return Response(status_code=_CLIENT_GONE)
