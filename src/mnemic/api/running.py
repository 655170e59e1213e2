"""Does started work end? Whether its caller waits, goes away, or the server is told to stop.

Every request runs as a task of its own. When its time is up it is cancelled, which rolls the transaction
back that is open then; those before it stay, so that the same request goes on behind them. When the caller
goes, it ends as it would have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from mnemic.errors import InvalidInput, StorageUnavailable

T = TypeVar("T")


class Running:
    """The requests that are under way."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False

    async def within(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        """Return what ``work`` returns.

        Raises StorageUnavailable (``service_closing``) once the server stops or when it cuts the work off,
        and InvalidInput (``request_timeout``) when it is not done after ``seconds``.
        """
        try:
            self.require_open()
        except StorageUnavailable:
            work.close()
            raise
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            await _stopped(task)
        if task.cancelled():
            if done:
                self.require_open()
            raise InvalidInput(
                "request_timeout",
                f"This took longer than {seconds:g} s and was stopped. The steps that were done stay, the"
                " one under way was done as a whole or not at all. Send the same again, with the same"
                " Idempotency-Key if it had one: it goes on from there.",
                seconds=seconds,
            )
        return task.result()

    def require_open(self) -> None:
        """Raise StorageUnavailable (``service_closing``) once the server stops."""
        if self._closing:
            raise StorageUnavailable("service_closing", "The service is stopping: ask again soon.")

    async def drain(self, seconds: float) -> int:
        """Take nothing new, wait until what was started has ended; return how much was cut off then."""
        self._closing = True
        if not self._tasks:
            return 0
        _, late = await asyncio.wait(set(self._tasks), timeout=seconds)
        for task in late:
            await _stopped(task)
        return len(late)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # its caller may be gone: then nobody else looks at it


async def _stopped(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait for its end; one that was done just then keeps its result."""
    task.cancel()
    await asyncio.wait({task})
