"""How is a memory served to MCP clients over HTTP? With the credentials of the REST service, and no state.

Every request is complete in itself: any worker may answer it, and nothing is lost while a client idles.
Streams carry a heartbeat. Who asks stands in the request's headers, never in its body.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mnemic.access.apikeys import Right
from mnemic.access.credentials import Identity
from mnemic.access.problems import MEDIA_TYPE, problem_of
from mnemic.errors import MnemicError, NotFound, Unauthenticated
from mnemic.integrations.mcp.door import Caller, Door
from mnemic.integrations.mcp.server import make_server
from mnemic.model import Actor
from mnemic.service import MemoryService

PATH = "/mcp"
_IDENTITY = "mnemic.identity"


class Authentication(Protocol):
    """Tells who asks, from the headers and nothing else: ``access.credentials.Authenticator``."""

    async def authenticate(self, headers: Iterable[tuple[str, str]], /) -> Identity:
        """Return who asks. Raises Unauthenticated, PermissionDenied, InvalidInput."""


class Rates(Protocol):
    """Counts requests."""

    async def admit(self, rate_key: str, /) -> None:
        """Count one request of this key. Raises RateLimited (``retry_after`` in seconds)."""


class Endpoint:
    """An ASGI application that answers at ``/mcp``, while ``running``.

    Put it into another application as a mount, or serve it alone.
    """

    def __init__(
        self,
        memory: MemoryService,
        auth: Authentication,
        *,
        rates: Rates | None = None,
        path: str = PATH,
        hosts: Sequence[str] = (),
    ) -> None:
        """``hosts`` are the names that it may be called by and that pages may call it from, on any port; with
        none it answers under every name."""
        self._auth = auth
        self._rates = rates

        async def opened() -> MemoryService:
            return memory

        self._server = make_server(Door(opened, _who))
        self._app = self._server.streamable_http_app(
            streamable_http_path=path,
            stateless_http=True,
            max_request_body_size=memory.settings.max_body_bytes,
            transport_security=_by_name(hosts),
        )
        self._app.add_exception_handler(404, _unknown)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer requests in here; once only."""
        async with self._server.session_manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(self, receive, send)
            return
        if scope["type"] != "http":
            return
        try:
            identity = await self._auth.authenticate(_headers(scope))
            if self._rates is not None:
                await self._rates.admit(identity.rate_key)
        except MnemicError as error:
            await _refusal(error, scope)(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["credential"], state["template"] = identity.credential, PATH
        state[_IDENTITY] = identity
        await self._app(scope, receive, send)


def _who(caller: Caller, right: Right) -> Actor:
    """Return who sent the request that a call came with, if their credential has the right."""
    request: Any = caller.request_context.request
    identity = None if request is None else request.scope["state"].get(_IDENTITY)
    if not isinstance(identity, Identity):
        raise Unauthenticated("credential_missing", "Send an API key: Authorization: Bearer mk_...")
    return identity.require(right)


def _by_name(hosts: Sequence[str]) -> TransportSecuritySettings:
    """Return what keeps out pages whose host name was rebound to this machine."""
    return TransportSecuritySettings(
        # who has no credential is turned away before that: a name that was rebound gains nothing anyway
        enable_dns_rebinding_protection=bool(hosts),
        allowed_hosts=[form for host in hosts for form in (host, f"{host}:*")],
        allowed_origins=[
            f"{scheme}://{form}"
            for host in hosts
            for scheme in ("http", "https")
            for form in (host, f"{host}:*")
        ],
    )


def _headers(scope: Scope) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]


def _refusal(error: MnemicError, scope: Scope) -> Response:
    """Return the problem that the REST service answers with."""
    problem, state = problem_of(error), scope.setdefault("state", {})
    state["code"], state["template"] = problem.code, PATH
    body = problem.body(state.get("request_id"))
    return Response(body, problem.status, dict(problem.headers), MEDIA_TYPE)


async def _unknown(request: Request, _: Exception) -> Response:
    return _refusal(NotFound("route_not_found", "There is no such route."), request.scope)


async def _lifespan(endpoint: Endpoint, receive: Receive, send: Send) -> None:
    """Run for as long as whoever serves us says."""
    await receive()
    async with endpoint.running():
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
