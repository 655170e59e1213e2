"""When was a user here last? Noted in memory at every contact, written once an hour, beside requests."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from contextlib import suppress

import structlog

from mnemic.errors import MnemicError
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements

_SQL = statements("hibernation")
_LOG = structlog.get_logger("mnemic.activity")
DELAY = 10.0
"""Seconds between a contact and its mark."""
AGAIN = 3600.0
"""Seconds for which a user who was marked needs no other mark."""
_KNOWN = 100_000
_AT_ONCE = 200


class Activity:
    """Collects who was here; a crash loses the last seconds of it, no more."""

    def __init__(self, database: Database, delay: float = DELAY) -> None:
        self._database = database
        self._delay = delay
        self._marked: OrderedDict[str, float] = OrderedDict()
        self._waiting: dict[str, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    def note(self, user_scope: str) -> None:
        """Remember that this user was here now; free where that is known already."""
        now = time.monotonic()
        if self._marked.get(user_scope, 0.0) > now:
            return
        if len(self._waiting) >= _KNOWN or self._stop.is_set():
            return  # a database that has been down for long must not fill the memory
        self._marked[user_scope] = now + AGAIN
        self._marked.move_to_end(user_scope)
        if len(self._marked) > _KNOWN:
            self._marked.popitem(last=False)
        self._waiting[user_scope] = None
        if self._task is None:
            self._task = asyncio.create_task(self._later(), name="mnemic-activity")

    async def flush(self) -> None:
        """Write what was noted, of many users in one transaction."""
        waiting, self._waiting = sorted(self._waiting), {}
        for start in range(0, len(waiting), _AT_ONCE):
            some = waiting[start : start + _AT_ONCE]
            try:
                async with self._database.scopes(some) as tx:
                    await tx.run(_SQL["noticed"], {"scope_keys": some})
            except MnemicError as error:
                _LOG.warning("activity not noted", code=error.code, users=len(some))
                for user_scope in some:
                    self._marked.pop(user_scope, None)

    async def close(self) -> None:
        """Write the rest and stop."""
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
