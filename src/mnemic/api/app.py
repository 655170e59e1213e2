"""How is the REST service put together? ``create_app`` makes it of a memory and of who may ask.

``serve_from`` is for workers, which open everything when they start and close it when they stop.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import structlog
from fastapi import FastAPI

from mnemic.access.idempotency import Idempotency
from mnemic.api.doors import Authentication, Limits, Rates, Service
from mnemic.api.metrics import Metrics
from mnemic.api.openapi import describe
from mnemic.api.paths import WholeSegments
from mnemic.api.refusals import install
from mnemic.api.routes import (
    approvals,
    consent,
    items,
    members,
    memory,
    operations,
    profiles,
    projects,
    resources,
    search,
    session_state,
    sessions,
    tasks,
    user,
    verifications,
)
from mnemic.api.running import Running
from mnemic.api.witness import Witness
from mnemic.service import MemoryService

_LOG = structlog.get_logger("mnemic.api")
# fixed paths under /api/memory come before those of an item
_ROUTERS = (
    memory.router,
    search.router,
    profiles.users,
    items.router,
    verifications.router,
    consent.router,
    user.router,
    projects.router,
    profiles.projects,
    members.router,
    resources.router,
    sessions.router,
    session_state.every,
    session_state.router,
    tasks.router,
    approvals.router,
    operations.router,
    operations.guarded,
)


class _Mnemic(FastAPI):
    """The app, with our description of it."""

    def openapi(self) -> dict[str, Any]:
        return describe(self)


Opening = Callable[[], AbstractAsyncContextManager[Service]]


def create_app(
    memory: MemoryService,
    auth: Authentication,
    *,
    rates: Rates | None = None,
    repeats: Idempotency | None = None,
    limits: Limits | None = None,
    metrics: Metrics | None = None,
) -> FastAPI:
    """Return the service on an open memory, which stays its opener's to close.

    ``rates`` limits requests, ``repeats`` honours Idempotency-Key; without them neither happens. ``limits``
    come from the memory's settings.
    """
    service = make_service(memory, auth, rates, repeats, limits, metrics)

    @asynccontextmanager
    async def given() -> AsyncIterator[Service]:
        yield service

    app = serve_from(given)
    app.state.service = service
    return app


def make_service(
    memory: MemoryService,
    auth: Authentication,
    rates: Rates | None = None,
    repeats: Idempotency | None = None,
    limits: Limits | None = None,
    metrics: Metrics | None = None,
) -> Service:
    """Return what the routes run on; see ``create_app``."""
    return Service(
        memory=memory,
        auth=auth,
        rates=rates,
        repeats=repeats,
        limits=limits or Limits.of(memory.settings),
        metrics=metrics or Metrics(),
        running=Running(),
    )


def serve_from(opening: Opening) -> FastAPI:
    """Return the service on what ``opening`` yields, for the lifetime of the app.

    At the end nothing new is taken, what was started may finish, and only then everything is closed.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with opening() as service:
            app.state.service = service
            yield
            late = await service.running.drain(service.limits.closing_seconds)
            _LOG.info("stopped", cut_off=late)

    app = _Mnemic(
        title="Mnemic",
        lifespan=lifespan,
        openapi_url="/openapi.json",
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    for router in _ROUTERS:
        app.include_router(router)
    install(app)
    app.add_middleware(WholeSegments)
    app.add_middleware(Witness)
    return app
