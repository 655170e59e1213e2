"""How long may a connection take to say what it wants?

A request's head must be there within seconds of its first byte, and a new connection's first one within
seconds of the connection: whoever sends a byte now and then would otherwise hold a connection for ever. What
comes after the answer has been given is not waited for any longer than that either.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Seconds for the head of a request."""


def impatient(changed: Callable[[int], None], seconds: float = HEAD_SECONDS) -> type[H11Protocol]:
    """Return uvicorn's protocol with that limit; ``changed`` is told how many connections are open."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        """Closes connections that do not come to the point, and tells how many there are."""

        _until: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(cast(asyncio.Transport, transport))
            changed(len(self.connections))
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._cancel()
            elif self._until is None:
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel()
            super().connection_lost(exc)
            changed(len(self.connections))

        def _wait(self) -> None:
            self._until = self.loop.call_later(seconds, self.transport.close)

        def _cancel(self) -> None:
            if self._until is not None:
                self._until.cancel()
                self._until = None

    return Impatient
