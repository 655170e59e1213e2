"""Which items were of use, and when? Noted in memory, written in batches off the read path."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

import structlog

from mnemic.errors import MnemicError
from mnemic.model import Actor, MemoryItem
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements

_SQL = statements("items")
_LOG = structlog.get_logger("mnemic.usage")
DELAY = 2.0
"""Seconds between a use and its mark."""
_MOST = 10_000


class UsageMarks:
    """Collects uses and writes them a little later; a crash loses the last seconds of them, no more."""

    def __init__(self, database: Database, delay: float = DELAY) -> None:
        self._database = database
        self._delay = delay
        self._waiting: dict[str, tuple[Actor, Counter[tuple[str, str]]]] = {}
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    def note(self, actor: Actor, items: Iterable[tuple[str, MemoryItem]]) -> None:
        """Remember that these items (scope key and item) were shown to the actor."""
        if len(self._waiting) >= _MOST:
            return  # a database that has been down for long must not fill the memory
        _, counter = self._waiting.setdefault(actor.user_scope, (actor, Counter()))
        counter.update((scope_key, str(item.id)) for scope_key, item in items)
        if counter and self._task is None:
            self._task = asyncio.create_task(self._later())

    async def flush(self) -> None:
        """Write what was noted."""
        waiting, self._waiting = self._waiting, {}
        for actor, counter in waiting.values():
            used = sorted(counter.items())  # one order for all, so that none waits for another
            params = {
                "scope_keys": [scope_key for (scope_key, _), _ in used],
                "ids": [item_id for (_, item_id), _ in used],
                "uses": [count for _, count in used],
            }
            try:
                async with self._database.transaction(actor) as tx:
                    await tx.run(_SQL["mark_used"], params)
            except MnemicError as error:
                _LOG.warning("usage marks lost", code=error.code, marks=len(used))

    async def close(self) -> None:
        """Write the rest and stop; a flush that is under way is waited for."""
        self._stop.set()
        if self._task is not None:
            await self._task
        await self.flush()

    async def _later(self) -> None:
        while self._waiting and not self._stop.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), self._delay)
            await self.flush()
        self._task = None
