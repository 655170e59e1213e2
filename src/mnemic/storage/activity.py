"""When was a user here last? Noted in memory at every contact, written once an hour, beside requests."""

from __future__ import annotations

import time
from collections import OrderedDict

import structlog

from mnemic.errors import MnemicError
from mnemic.storage.later import Later
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


class Activity(Later):
    """Collects who was here; a crash loses the last seconds of it, no more."""

    def __init__(self, database: Database, delay: float = DELAY) -> None:
        super().__init__(delay, "mnemic-activity")
        self._database = database
        self._marked: OrderedDict[str, float] = OrderedDict()
        self._waiting: dict[str, None] = {}

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
        self.soon()

    @property
    def pending(self) -> bool:
        return bool(self._waiting)

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
