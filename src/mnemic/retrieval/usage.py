"""Which items were of use, and when? Noted in memory, written in batches off the read path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import islice

import structlog

from mnemic.errors import MnemicError
from mnemic.model import Actor, MemoryItem
from mnemic.storage.later import Later
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements

_SQL = statements("items")
_LOG = structlog.get_logger("mnemic.usage")
DELAY = 10.0
"""Seconds between a use and its mark."""
_MOST = 10_000
USERS_AT_ONCE = 100
"""Users whose marks are written in one transaction."""
_Uses = Counter[tuple[str, str]]
"""How often each item (scope key, id) was shown."""


class UsageMarks(Later):
    """Collects uses and writes them a little later; a crash loses the last seconds of them, no more."""

    def __init__(self, database: Database, delay: float = DELAY) -> None:
        super().__init__(delay, "mnemic-usage")
        self._database = database
        self._waiting: dict[tuple[str, str], tuple[Actor, _Uses]] = {}

    def note(self, actor: Actor, items: Iterable[tuple[str, MemoryItem]]) -> None:
        """Remember that these items (scope key and item) were shown to the actor."""
        if len(self._waiting) >= _MOST:
            return  # a database that has been down for long must not fill the memory
        for scope_key, item in items:
            # a project's items are marked by the word of its member, so never with others'
            project = scope_key if scope_key == actor.project_scope else ""
            known = self._waiting.get((actor.user_scope, project))
            if known is None:
                known = self._waiting[actor.user_scope, project] = (actor, Counter())
            known[1][scope_key, str(item.id)] += 1
        self.soon()

    @property
    def pending(self) -> bool:
        return bool(self._waiting)

    async def flush(self) -> None:
        """Write what was noted: many users' own items in one transaction, a project's in one a member."""
        waiting, self._waiting = self._waiting, {}
        own = iter([uses for (_, project), (_, uses) in waiting.items() if not project])
        while batch := list(islice(own, USERS_AT_ONCE)):
            await self._write_own(batch)
        for (_, project), (actor, uses) in waiting.items():
            if project:
                await self._write(self._database.transaction(actor), uses)

    async def _write_own(self, batch: Sequence[_Uses]) -> None:
        """Write several users' marks; if that fails, each one's alone, so that one does not cost all."""
        together: _Uses = Counter()
        for uses in batch:
            together.update(uses)
        if await self._write(self._of_all(together), together, last=len(batch) == 1):
            return
        for uses in batch if len(batch) > 1 else ():
            await self._write(self._of_all(uses), uses)

    def _of_all(self, uses: _Uses) -> AbstractAsyncContextManager[Transaction]:
        shown = {scope_key for scope_key, _ in uses}
        # the users' own scopes too: the statement looks at whether they refused meanwhile
        users = {f"user:{key.partition(':')[2].partition('/')[0]}" for key in shown}
        return self._database.scopes(sorted(shown | users))

    async def _write(
        self,
        transaction: AbstractAsyncContextManager[Transaction],
        uses: _Uses,
        *,
        last: bool = True,
    ) -> bool:
        used = sorted(uses.items())  # one order for all, so that none waits for another
        params = {
            "scope_keys": [scope_key for (scope_key, _), _ in used],
            "ids": [item_id for (_, item_id), _ in used],
            "uses": [count for _, count in used],
        }
        try:
            async with transaction as tx:
                await tx.run(_SQL["mark_used"], params)
        except MnemicError as error:
            if last:
                _LOG.warning("usage marks lost", code=error.code, marks=len(used))
            return False
        return True
