"""How do the old changes of profiles become little? Those of one profile are folded into one value.

What is folded, and the rows it replaces, change in one transaction for each profile: whoever is killed in
between has folded some profiles and not the others, and the next run goes on. Chunks that are empty then are
dropped after that, again or for the first time.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from mnemic.checks import aware
from mnemic.crypto import DataKey
from mnemic.errors import fails_for_all, reason_of
from mnemic.model import Actor
from mnemic.permissions import RUN_BY
from mnemic.profile.history_changes import to_lines
from mnemic.profile.history_rows import folded, open_change, read_fold
from mnemic.profile.refresh import Refresh
from mnemic.storage.pool import Transaction
from mnemic.storage.statements import statements

_SQL = statements("history")
_PROFILES = statements("profiles")
_LOG = structlog.get_logger("mnemic.profile")
_AT_ONCE = 500
"""Profiles that are asked for at once."""
_ROWS = 20_000
"""Changes that are folded in one transaction."""


@dataclass(frozen=True, slots=True)
class Folded:
    """How many changes of how many profiles were folded, and how many empty chunks dropped.

    ``failed`` profiles were left as they were, for a reason that the log names; the next run tries again.
    """

    profiles: int
    changes: int
    dropped: int
    failed: int = 0


class Folding:
    """Folds what is older than ``keep``; for a job at night."""

    def __init__(self, refresh: Refresh, keep: timedelta) -> None:
        self._refresh = refresh
        self._database = refresh.database
        self._keep = keep

    async def prepare(self, now: datetime | None = None) -> int:
        """Make room for the next hundred days and return how many partitions that took.

        Where nobody does it in time, whoever writes first in a month does.
        """
        async with self._database.system() as tx:
            row = await tx.one(_SQL["prepare"], {"now": _moment(now)})
        return int(row["made"]) if row else 0

    async def run(self, now: datetime | None = None) -> Folded:
        """Fold the changes of all profiles that are old, then drop the chunks that are empty for it.

        Raises StorageError where the database does not answer; one profile's failure holds up no other.
        """
        before = _moment(now) - self._keep
        profiles, changes, failed, passed = 0, 0, 0, set[str]()
        while waiting := await self._waiting(before, passed):
            for row in waiting:
                actor = Actor(row["user_id"], project=row["project_id"], purpose="job")
                count = await self._folded(actor, before)
                if not count:  # or it would be asked for again and again
                    passed.add(row["scope_key"])
                failed += count is None
                profiles, changes = profiles + bool(count), changes + (count or 0)
        async with self._database.system() as tx:
            dropped = await tx.one(_SQL["drop"], {"before": before})
        return Folded(profiles, changes, int(dropped["dropped"]) if dropped else 0, failed)

    async def _waiting(self, before: datetime, passed: set[str]) -> list[dict[str, Any]]:
        asked = {"before": before, "except_scopes": list(passed), "most": _AT_ONCE}
        async with self._database.system() as tx:
            return await tx.all(_SQL["to_fold"], asked)

    async def _folded(self, actor: Actor, before: datetime) -> int | None:
        """Fold one profile and return how many changes that were; None where it cannot be."""
        count = 0
        try:
            while True:
                async with self._database.transaction(actor) as tx:
                    done = await self.fold(tx, actor, before)
                count += done
                if done < _ROWS:
                    return count
        except Exception as error:
            if fails_for_all(error):
                raise
            _LOG.warning("history not folded", **reason_of(error))
            return None

    async def fold(self, tx: Transaction, actor: Actor, before: datetime) -> int:
        """Fold what is older than ``before``, in the actor's transaction: of the project, if one is named.

        Returns how many changes that were, at most 20,000.
        """
        scope_key = actor.user_scope if actor.project is None else str(actor.project_scope)
        if actor.project is not None and tx.role not in RUN_BY:
            return 0  # no owner any more since we looked
        key = await self._key(tx, actor)
        if key is None:
            return 0
        await tx.one(_PROFILES["hold"], {"scope_key": scope_key})
        asked = {"scope_key": scope_key, "until": before - _TICK, "most": _ROWS}
        old = [open_change(key, scope_key, row) for row in await tx.all(_SQL["oldest"], asked)]
        if not old:
            return 0
        there = await read_fold(tx, key, scope_key)
        number = there.number + 1 if there else 1
        lines = (there.lines if there else "") + to_lines(old)
        put = {
            "scope_key": scope_key,
            "first_at": there.first_at if there else old[0].recorded_at,
            "last_at": old[-1].recorded_at,
            "taken": len(old),
            "fold_no": number,
            "n_changes": len(old) + (there.n_changes if there else 0),
            "fold_enc": await asyncio.to_thread(folded, key, scope_key, number, lines),
        }
        await tx.one(_SQL["put_fold"], put)
        return len(old)

    async def _key(self, tx: Transaction, actor: Actor) -> DataKey | None:
        if actor.project is not None:
            return await self._refresh.projects_own(tx, actor)
        return await self._refresh.keys.find(tx, actor)


_TICK = timedelta(microseconds=1)


def _moment(now: datetime | None) -> datetime:
    return aware(now, "now") or datetime.now(UTC)
