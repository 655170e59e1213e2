"""What is known of a request afterwards? Its id, route, status, reason code and time; nothing it held.

A caller's ``X-Request-Id`` is kept when it is well-formed, else one is made; it stands in the answer, in
problem details and in the log.
"""

from __future__ import annotations

import re
import time
from typing import Any

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemic.access.problems import MEDIA_TYPE, Problem, internal
from mnemic.api.metrics import Metrics
from mnemic.ids import new_id

HEADER = "X-Request-Id"
_LOG = structlog.get_logger("mnemic.api")
_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
_KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def request_id_of(headers: Headers) -> str:
    """Return the caller's request id if it is well-formed, else a new one."""
    given = headers.get(HEADER, "")
    return given if _WELL_FORMED.fullmatch(given) else new_id().hex


class Witness:
    """The outermost layer: it sees every answer, also those that were never routed or foreseen."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["request_id"] = request_id = request_id_of(Headers(scope=scope))
        began, status = time.perf_counter(), 0

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[HEADER] = request_id
                headers.setdefault("Cache-Control", "no-store")
                headers.setdefault("X-Content-Type-Options", "nosniff")
            await send(message)

        try:
            await self._app(scope, receive, marked)
        except Exception as error:  # noqa: BLE001 - the edge of the process: nothing may pass it
            _unforeseen(error, request_id)
            if status == 0:
                await _give(internal(), state, scope, receive, marked)
        finally:
            _ended(scope, state, status, time.perf_counter() - began)


async def _give(
    problem: Problem, state: dict[str, Any], scope: Scope, receive: Receive, send: Send
) -> None:
    state["code"] = problem.code
    response = Response(problem.body(state["request_id"]), problem.status, media_type=MEDIA_TYPE)
    await response(scope, receive, send)


def _unforeseen(error: Exception, request_id: str) -> None:
    """Log an error by its kind and place: its words could quote what was sent."""
    trace, place = error.__traceback__, None
    while trace is not None:
        place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    _LOG.error("unforeseen", request_id=request_id, error=type(error).__name__, place=place)


def _ended(scope: Scope, state: dict[str, Any], status: int, seconds: float) -> None:
    route = template_of(scope)
    method = scope["method"] if scope["method"] in _KNOWN_METHODS else "other"
    metrics: Metrics = scope["app"].state.service.metrics
    metrics.ended(route, method, status, seconds)
    _LOG.info(
        "request",
        request_id=state["request_id"],
        method=method,
        route=route,
        status=status,
        ms=round(seconds * 1000, 1),
        code=state.get("code"),
        credential=state.get("credential"),
    )


def template_of(scope: Scope) -> str:
    """Return the template of the route that was taken, such as /api/memory/{id}; "unknown" for none."""
    template: str | None = scope.get("state", {}).get("template")
    return template or "unknown"
