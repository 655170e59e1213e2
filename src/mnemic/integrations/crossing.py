"""How does a call get into the event loop of the memory, from whatever thread or loop it is made?

Frameworks call tools and stores from event loops of their own, from worker threads and from plain code. The
work itself is always a coroutine in the loop that opened the memory; only the way there differs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from mnemic.errors import InvalidInput
from mnemic.service import MemoryService
from mnemic.sync import SyncMemoryService

T = TypeVar("T")
AnyMemory = MemoryService | SyncMemoryService


class Crossing:
    """The way to one memory, opened by whoever made it."""

    def __init__(self, memory: AnyMemory) -> None:
        if not isinstance(memory, MemoryService | SyncMemoryService):
            raise InvalidInput(
                "not_a_memory", "Give the memory: a MemoryService or a SyncMemoryService."
            )
        self._memory = memory

    @property
    def service(self) -> MemoryService:
        """The service that does the work, in its own loop."""
        memory = self._memory
        return memory.service if isinstance(memory, SyncMemoryService) else memory

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await work of the memory from any event loop."""
        try:
            home = self._home()
        except InvalidInput:
            work.close()
            raise
        if home is asyncio.get_running_loop():
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, home))

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for work of the memory in a thread.

        Raises InvalidInput (``sync_call_inside_loop``) in the thread of the memory's own loop, which would
        wait for itself.
        """
        try:
            home = self._home()
            _require_elsewhere(home)
        except InvalidInput:
            work.close()
            raise
        return asyncio.run_coroutine_threadsafe(work, home).result()

    def _home(self) -> asyncio.AbstractEventLoop:
        """Return the loop that the memory lives in. Raises InvalidInput (``service_not_open``)."""
        loop = self.service.loop
        if loop is None or not loop.is_running():
            raise InvalidInput(
                "service_not_open",
                "Enter the memory first, and keep it open while agents use it: async with, or with for"
                " SyncMemoryService.",
            )
        return loop


def _require_elsewhere(home: asyncio.AbstractEventLoop) -> None:
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        return
    if here is home:
        raise InvalidInput(
            "sync_call_inside_loop",
            "This call would block the event loop that it waits for: await the method whose name begins"
            " with a (ainvoke, aget, aput, asearch, abatch ...), or open a SyncMemoryService.",
        )
