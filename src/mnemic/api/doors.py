"""What does the service hand to a route? The memory, who asks, and how an answer is found and given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from mnemic.access.credentials import Identity
from mnemic.access.idempotency import Answer, Idempotency, fingerprint
from mnemic.api.metrics import Metrics
from mnemic.api.replies import sent
from mnemic.api.running import Running
from mnemic.errors import InvalidInput
from mnemic.model import Actor
from mnemic.service import MemoryService
from mnemic.settings import Settings
from mnemic.storage.pool import ON_WRITE

T = TypeVar("T")
IDEMPOTENCY = "Idempotency-Key"
_DOCUMENT_SECONDS = 300.0
_DOCUMENT_PACE = 10_000


class Authentication(Protocol):
    """Tells who asks, from the headers and nothing else: ``access.credentials.Authenticator``."""

    async def authenticate(self, headers: Iterable[tuple[str, str]], /) -> Identity:
        """Return who asks. Raises Unauthenticated, PermissionDenied, InvalidInput."""


class Rates(Protocol):
    """Counts requests."""

    async def admit(self, rate_key: str, /) -> None:
        """Count one request of this key. Raises RateLimited (``retry_after`` in seconds)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes of a JSON body and of a document, seconds for a request and for a document.

    A document must have arrived after ``document_seconds``; for its work it has a second more for each
    ``document_pace`` bytes.
    """

    body: int = 2_000_000
    document: int = 50 * 1024 * 1024
    seconds: float = 30.0
    document_seconds: float = _DOCUMENT_SECONDS
    document_pace: int = _DOCUMENT_PACE
    closing_seconds: float = 30.0

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        return cls(
            body=settings.max_body_bytes,
            seconds=settings.request_timeout,
            document_seconds=max(_DOCUMENT_SECONDS, settings.request_timeout),
            closing_seconds=settings.shutdown_timeout,
        )

    def seconds_of(self, size: int | None) -> float:
        """Return how long a document of ``size`` bytes may take; None, not told, may be the largest."""
        most = self.document if size is None else min(size, self.document)
        return self.document_seconds + most / self.document_pace


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that the routes run on; one a process."""

    memory: MemoryService
    auth: Authentication
    rates: Rates | None
    repeats: Idempotency | None
    limits: Limits
    metrics: Metrics
    running: Running


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of somebody who may ask; ``body`` is what a repeated request is known by."""

    service: Service
    identity: Identity
    request: Request
    body: bytes = b""

    @property
    def memory(self) -> MemoryService:
        return self.service.memory

    @property
    def actor(self) -> Actor:
        """Whose memories are meant; a request of nobody comes to no route that asks."""
        assert self.identity.actor is not None
        return self.identity.actor

    def header(self, name: str) -> str | None:
        """Return a header of the request. Raises InvalidInput (``header_repeated``)."""
        values = self.request.headers.getlist(name)
        if len(values) > 1:
            raise InvalidInput("header_repeated", f"The header {name} must come once.", header=name)
        return values[0] if values else None

    async def read(self, work: Awaitable[T], render: Callable[[T], Answer]) -> Response:
        """Return the answer of something that changes nothing."""
        return sent(render(await work))

    async def write(
        self,
        work: Callable[[], Awaitable[Any]],
        render: Callable[[Any], Answer],
        *,
        consent: bool = True,
        at_once: bool = True,
    ) -> Response:
        """Return the answer of a change; asked again with the same Idempotency-Key, the first answer.

        ``consent=False`` is for what must work without it. ``at_once`` says that the work is one transaction,
        whose answer is committed with it; otherwise it is stored after the last one.
        """
        key, repeats = self.header(IDEMPOTENCY), self.service.repeats
        if key is None or repeats is None:
            return sent(render(await work()))
        asked = work if at_once else _in_steps(work)
        return sent(
            await repeats.run(self.actor, key, self._fingerprint(), asked, render, consent=consent)
        )

    def _fingerprint(self) -> str:
        url = self.request.url
        about = f"{url.query}\0{self.header('if-match') or ''}"
        return fingerprint(self.request.method, url.path, about, self.body)


def _in_steps(work: Callable[[], Awaitable[T]]) -> Callable[[], Awaitable[T]]:
    async def done() -> T:
        waiting = ON_WRITE.set(None)
        try:
            return await work()
        finally:
            ON_WRITE.reset(waiting)

    return done


async def _asked(request: Request) -> Asked:
    # not a plain function: each of those is sent through a thread
    asked: Asked = request.state.asked
    return asked


Who = Annotated[Asked, Depends(_asked)]
"""The parameter of a route that stands for who asks."""
