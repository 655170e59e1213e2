"""Whose profile goes to sleep tonight, whose archive leaves the database, and what does that save?"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from mnemic.errors import (
    InvalidInput,
    MnemicError,
    StorageUnavailable,
    fails_for_all,
    reason_of,
)
from mnemic.model import Actor, known_actor
from mnemic.profile.cooling import Cooling
from mnemic.profile.hibernation import Hibernation
from mnemic.profile.refresh import Refresh
from mnemic.storage.pool import Deed
from mnemic.storage.statements import statements

_SQL = statements("hibernation")
_PROFILES = statements("profiles")
_LOG = structlog.get_logger("mnemic.hibernation")
_AT_ONCE = 500
_FOR_GOOD = frozenset(
    {
        "cold_object_lost",
        "cold_object_damaged",
        "profile_archive_mismatch",
        "sealed_value_damaged",
    }
)
"""Why an archive does not come back, however long one waits."""
Progress = Callable[[int], None]
"""Is told how many users are done."""
Step = Callable[[Actor], Awaitable[tuple[int, int] | None]]


@dataclass(frozen=True, slots=True)
class Saved:
    """How many users' profiles were moved, and the bytes of them in the database before and after.

    ``failed`` counts those that were left as they were, by reason code. ``dry_run`` changed nothing.
    """

    users: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    dry_run: bool = False

    @property
    def bytes_saved(self) -> int:
        return self.bytes_before - self.bytes_after


class Sleepers:
    """Puts to sleep who has been away, and wakes; each user in transactions of their own."""

    def __init__(
        self,
        refresh: Refresh,
        hibernation: Hibernation,
        *,
        after: timedelta | None,
        cold_after: timedelta | None,
    ) -> None:
        """``after`` is how long a user is away before their profile is archived, ``cold_after`` before the
        archive leaves the database; None for never."""
        self._database = refresh.database
        self._refresh = refresh
        self._hibernation = hibernation
        self._cooling: Cooling = hibernation.cooling
        self._after = after
        self._cold_after = cold_after

    @property
    def has_store(self) -> bool:
        """Whether this process knows a cold store."""
        return self._cooling.configured

    async def hibernate(
        self,
        *,
        away: timedelta | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Saved:
        """Archive the profiles of all who were away for ``away`` (else the setting).

        Safe to kill and to run again, also beside others. Raises StorageError where the database does not
        answer; a profile that cannot be archived is left as it is, and counted.
        """
        since = _duration(away, self._after)
        if since is None:
            return Saved(dry_run=dry_run)
        before = self._hibernation.clock() - since

        async def step(actor: Actor) -> tuple[int, int] | None:
            return await self._hibernation.rest(actor, before, dry_run=dry_run)

        due = self._due("away", before)
        return await _each(due, step, progress, dry_run=dry_run)

    async def cool(
        self,
        *,
        away: timedelta | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Saved:
        """Move the archives of all who were away for ``away`` (else the setting) into the cold store.

        As ``hibernate``. Raises StorageUnavailable (``cold_store_unreachable``, ``cold_store_missing``) and
        ConfigurationError (``cold_store_not_ours``): what was not moved stays in the database.
        """
        since = _duration(away, self._cold_after)
        if since is None:
            return Saved(dry_run=dry_run)
        before = self._hibernation.clock() - since
        if self.has_store and not dry_run:
            await self._require_own_store()

        async def step(actor: Actor) -> tuple[int, int] | None:
            if dry_run:
                return await self._cooling.preview(actor, before)
            return await self._cooling.cool(actor, before)

        due = self._due("to_cool", before)
        return await _each(due, step, progress, dry_run=dry_run)

    async def _require_own_store(self) -> None:
        with suppress(StorageUnavailable):  # a place where nothing was put yet; the first put tells
            await self._cooling.removals.owner.require()

    async def take_over_store(self) -> None:
        """Say that the objects in the cold store are this database's, which takes its original's place.

        Raises StorageUnavailable (``cold_store_unreachable``, ``cold_store_missing``).
        """
        await self._cooling.removals.owner.take_over()

    async def removals_due(self) -> int:
        """Return how many objects of the cold store nobody refers to any more."""
        return await self._cooling.removals.due()

    async def sweep(self) -> int:
        """Remove the objects of the cold store that nobody refers to. See ``Removals.sweep``."""
        return await self._cooling.removals.sweep()

    async def wake(self, actor: Actor) -> None:
        """Wake the actor's user, as any request of theirs does.

        Raises StorageError (``cold_object_lost``, ``cold_object_damaged``), StorageUnavailable
        (``cold_store_unreachable``, ``cold_store_missing``), KeyUnavailable.
        """
        await self._hibernation.wake(known_actor(actor))

    async def abandon(self, actor: Actor) -> bool:
        """Give up an archive that cannot be brought back, and make the profile anew of what memories say.

        What the user had written into the archived fields is lost, and the archived history. Returns False
        for a user who is awake or could be woken: then nothing is given up. Raises why it cannot be brought
        back where that may pass, as ``cold_store_unreachable`` and ``cold_store_missing`` do.
        """
        try:
            await self._hibernation.wake(known_actor(actor))
        except MnemicError as error:
            if error.code not in _FOR_GOOD:
                raise
        named = {"scope_key": known_actor(actor).user_scope}
        async with self._database.transaction(actor) as tx:
            await tx.one(_PROFILES["hold"], named)
            row = await tx.one(_PROFILES["user"], named)
            if row is None or row["asleep_at"] is None:
                return False
            await self._hibernation.give_up(tx, actor)
            standing = await self._refresh.user(tx, actor)
            deed = Deed("abandon_archive", actor.user_scope, row["version"], standing.version)
            await tx.answer(True, deed)
        return True

    async def _due(self, statement: str, before: object) -> AsyncIterator[Actor]:
        """Tell users one after the other, as the actors of a job."""
        after = ""
        while True:
            params = {"before": before, "after": after, "most": _AT_ONCE}
            async with self._database.system() as tx:
                rows = await tx.all(_SQL[statement], params)
            for row in rows:
                yield Actor(row["user_id"], purpose="job")
            if len(rows) < _AT_ONCE:
                return
            after = rows[-1]["scope_key"]


async def _each(
    due: AsyncIterator[Actor], step: Step, progress: Progress | None, *, dry_run: bool
) -> Saved:
    users, before, after = 0, 0, 0
    failed: Counter[str] = Counter()
    async for actor in due:
        try:
            counted = await step(actor)
        except Exception as error:
            if fails_for_all(error):
                raise
            reason = reason_of(error)
            _LOG.warning("profile not moved", **reason)
            failed[reason["code"]] += 1
            continue
        if counted is not None:
            users, before, after = users + 1, before + counted[0], after + counted[1]
            if progress is not None:
                progress(users)
    return Saved(users, before, after, dict(failed), dry_run)


def _duration(given: timedelta | None, usual: timedelta | None) -> timedelta | None:
    if given is not None and given < timedelta(0):
        raise InvalidInput("away_out_of_range", "A time away is not negative.")
    return usual if given is None else given
