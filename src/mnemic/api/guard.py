"""May this request in? Before a route sees it: who asks, how often, with which rights, and what they sent.

The order is fixed: credential, rate, rights, media type, size, JSON. So whoever has no credential learns
nothing but that, and no body is read for them.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from mnemic.access.apikeys import Right
from mnemic.access.credentials import Identity
from mnemic.api.doors import Asked, Service
from mnemic.api.intake import declared, read_whole
from mnemic.api.json_body import JSON, read_json, require_media, require_unpacked
from mnemic.api.refusals import refused_fields
from mnemic.errors import InvalidInput

RIGHT = "x-mnemic-right"
"""The right that an operation needs, in its OpenAPI: read, write or operator."""
DOCUMENTS = "x-mnemic-documents"
"""The media types of an operation whose body is a document."""
_READING = frozenset({"GET", "HEAD"})
OPERATOR = "operator"

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


@dataclass(frozen=True, slots=True)
class _Needs:
    """What a route needs: a right, and a document, JSON or a query string where it takes one."""

    right: Right | Literal["operator"]
    documents: tuple[str, ...]
    json: bool
    query: bool


class Guarded(APIRoute):
    """A route that only those come to who may."""

    def get_route_handler(self) -> Handler:
        inner = super().get_route_handler()
        extra = self.openapi_extra or {}
        needs = _Needs(
            right=right_of(self),
            documents=tuple(extra.get(DOCUMENTS, ())),
            json=self.body_field is not None,
            query=bool(self.dependant.query_params),
        )
        template = self.path_format

        async def handle(request: Request) -> Response:
            service: Service = request.app.state.service
            request.state.template = template
            seconds = service.limits.seconds
            if needs.documents:
                seconds = service.limits.seconds_of(declared(request))
            work = _handled(service, request, inner, needs)
            return await service.running.within(seconds, work)

        return handle


def right_of(route: APIRoute) -> Right | Literal["operator"]:
    """Return the right that a route needs: what it says itself, else by its method."""
    given: Right | Literal["operator"] | None = (route.openapi_extra or {}).get(RIGHT)
    return given or ("read" if set(route.methods or ()) <= _READING else "write")


async def _handled(service: Service, request: Request, inner: Handler, needs: _Needs) -> Response:
    identity = await service.auth.authenticate(request.headers.items())
    request.state.credential = identity.credential
    if service.rates is not None:
        await service.rates.admit(identity.rate_key)
    _require(identity, needs.right)
    if identity.actor is not None and needs.right != "admin":
        await service.memory.profiles.greet(identity.actor)  # the first contact makes a profile
    _require_each_once(request)
    if not needs.query:
        _require_no_query(request)
    if needs.documents or needs.json:
        require_unpacked(request.headers.get("content-encoding"))
    if needs.documents:
        require_media(request.headers.get("content-type"), needs.documents)
        request.state.asked = Asked(service, identity, request)
        return await inner(request)
    body = b""
    if needs.json:
        body = await read_whole(request, service.limits.body, service.limits.seconds)
    if body:
        require_media(request.headers.get("content-type"), (JSON,))
    request.state.asked = Asked(service, identity, request, body)
    return await inner(_Understood(request, body, read_json(body) if body else None))


def _require_each_once(request: Request) -> None:
    """Refuse a parameter that comes twice: two readers could take two of them."""
    given = request.query_params.multi_items()
    if len(given) != len(request.query_params):
        raise InvalidInput("field_repeated", "A parameter of the address comes twice.")


def _require_no_query(request: Request) -> None:
    """Refuse what a route without parameters would overlook, such as ?user=somebody."""
    errors = [{"type": "extra_forbidden", "loc": ("query", name)} for name in request.query_params]
    if errors:
        raise refused_fields(errors)


def _require(identity: Identity, right: Right | Literal["operator"]) -> None:
    if right == "operator":
        identity.require_operator()
    else:
        identity.require(right)


class _Understood(Request):
    """A request whose body has been read already."""

    def __init__(self, request: Request, body: bytes, value: object) -> None:
        super().__init__(request.scope, request.receive)
        self._read_body, self._read_value = body, value

    async def body(self) -> bytes:
        return self._read_body

    async def json(self) -> Any:
        return self._read_value
