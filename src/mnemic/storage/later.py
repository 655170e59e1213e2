"""What need not be written at once, when is it written? A little later, with what came meanwhile."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress


class Later(ABC):
    """Writes what was noted after ``delay`` seconds; a crash loses the last seconds of it, no more.

    It belongs to the event loop that it is used in.
    """

    def __init__(self, delay: float, name: str) -> None:
        self._delay = delay
        self._name = name
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    @property
    @abstractmethod
    def pending(self) -> bool:
        """Whether anything was noted that is not written yet."""

    @abstractmethod
    async def flush(self) -> None:
        """Write what was noted so far."""

    async def close(self) -> None:
        """Write the rest and stop; a flush that is under way is waited for."""
        self._stop.set()
        if self._task is not None:
            await self._task
        await self.flush()

    def soon(self) -> None:
        """See to it that what was noted is written."""
        if self.pending and self._task is None and not self._stop.is_set():
            self._task = asyncio.create_task(self._later(), name=self._name)

    async def _later(self) -> None:
        while self.pending and not self._stop.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), self._delay)
            await self.flush()
        self._task = None
