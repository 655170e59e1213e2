"""/healthz, /readyz, /metrics: does the process live, can it work, and how busy is it?"""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from mnemic.api.answers import AliveAnswer
from mnemic.api.doors import Service, Who
from mnemic.api.guard import OPERATOR, RIGHT, Guarded
from mnemic.api.metrics import MEDIA_TYPE
from mnemic.api.replies import reply, sent
from mnemic.errors import StorageUnavailable

router = APIRouter(tags=["operations"])
guarded = APIRouter(tags=["operations"], route_class=Guarded)
READY_WITHIN = 2.0
"""Seconds within which the database must answer."""


@router.get("/healthz", operation_id="health", response_model=AliveAnswer)
async def health(request: Request) -> Response:
    """Answer as long as the process lives; nothing is asked of the database."""
    request.state.template = "/healthz"
    return sent(reply({"status": "ok"}))


@router.get("/readyz", operation_id="ready", response_model=AliveAnswer)
async def ready(request: Request) -> Response:
    """Answer 200 when the database answers, 503 otherwise and while the service stops."""
    request.state.template = "/readyz"
    service: Service = request.app.state.service
    service.running.require_open()
    try:
        async with asyncio.timeout(READY_WITHIN):
            await service.memory.ping()
    except TimeoutError:
        raise StorageUnavailable(
            "database_unreachable", "The database does not answer in time."
        ) from None
    return sent(reply({"status": "ok"}))


@guarded.get("/metrics", operation_id="metrics", openapi_extra={RIGHT: OPERATOR})
async def metrics(who: Who) -> Response:
    """Return counts and durations in the text format of Prometheus. Needs a key of an operator."""
    return Response(who.service.metrics.shown(), media_type=MEDIA_TYPE)
