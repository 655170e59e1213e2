"""How does a profile go to sleep, and how does it wake, once and within the request that needs it?

Going to sleep and waking are one transaction each, under the lock of the user's row: half a profile is never
written, and of two requests that come at once one wakes and the other finds the user awake. An archive that
cannot be read is an error with its reason, never an empty profile; the core of the profile stays in use.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from mnemic.crypto import DataKey
from mnemic.errors import MnemicError, StorageError, reason_of
from mnemic.model import Actor
from mnemic.profile.behaviour import Behaviour
from mnemic.profile.cooling import Cooling, archive_place, n_bytes, no_key, note, open_archive
from mnemic.profile.history_fold import Folding
from mnemic.profile.refresh import Refresh
from mnemic.profile.rows import USERS, open_fields, seal_fields
from mnemic.profile.sleeping import (
    SLEEPING,
    Asleep,
    Fold,
    packed,
    profile_asleep,
    unpacked,
)
from mnemic.storage.halfvec import HalfVector
from mnemic.storage.pool import Deed, Transaction
from mnemic.storage.statements import statements

_SQL = statements("hibernation")
_PROFILES = statements("profiles")
_LOG = structlog.get_logger("mnemic.hibernation")
AGAIN = 15.0
"""Seconds for which nobody tries to wake a user again whose archive could not be read."""
_MOST_FAILED = 10_000
_ATTEMPTS = 3
_FAR = timedelta(days=1)
Clock = Callable[[], datetime]


def now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class Hibernation:
    """Puts profiles to sleep and wakes them; belongs to one event loop."""

    def __init__(
        self, refresh: Refresh, cooling: Cooling, folding: Folding, clock: Clock = now
    ) -> None:
        self._refresh = refresh
        self._database = refresh.database
        self._keys = refresh.keys
        self.cooling = cooling
        self._folding = folding
        self.clock = clock
        self._waking: dict[str, asyncio.Task[None]] = {}
        self._failed: dict[str, tuple[MnemicError, float]] = {}
        self._told: set[str] = set()

    # ---- going to sleep

    async def rest(
        self, actor: Actor, before: datetime, *, dry_run: bool = False
    ) -> tuple[int, int] | None:
        """Put the user to sleep who was last here before a time, and return the bytes before and after.

        None where they are awake or busy after all. With ``dry_run`` all of it is undone. Raises
        KeyUnavailable where the profile does not open: then it stays as it is.
        """
        sleeper = _job(actor)
        try:
            async with self._database.transaction(sleeper, consent=False) as tx:
                saved = await self._rest(tx, sleeper, before)
                if dry_run:
                    raise _UndoneError
        except _UndoneError:
            self._keys.forget(sleeper.user_scope)  # a key that was made on the way was undone
        return saved

    async def _rest(
        self, tx: Transaction, actor: Actor, before: datetime
    ) -> tuple[int, int] | None:
        named: dict[str, Any] = {"scope_key": actor.user_scope, "user_id": actor.user}
        user = await tx.one(_SQL["try_user"], named)
        if user is None or user["status"] != "active" or user["last_active_at"] >= before:
            return None
        held = await tx.one(_PROFILES["try_hold"], named)
        if held is None or not held["held"]:
            return None
        behind = await tx.one(_SQL["behind"], named)
        if behind is None or behind["behind"]:
            await self._refresh.user(tx, actor)
        n_before = await n_bytes(tx, actor)
        row = await tx.one(_PROFILES["user"], named)
        if row is not None and row["asleep_at"] is None:
            await self._archive(tx, actor, row)
        await tx.run(_SQL["put_status"], named | {"status": "dormant", "at": None})
        n_after = await n_bytes(tx, actor)
        await note(tx, actor, Deed("hibernate_profile", actor.user_scope, n_before, n_after))
        return n_before, n_after

    async def _archive(self, tx: Transaction, actor: Actor, row: Mapping[str, Any]) -> None:
        """Pack, seal and keep what is not core, and the history as one fold."""
        named = {"scope_key": actor.user_scope}
        key = await self._keys.find(tx, actor)
        if key is None:
            return  # nothing was ever sealed for this user
        await self._folding.fold(tx, actor, now() + _FAR)
        fields = open_fields(key, USERS, actor.user_scope, row, row["version"])
        behaviour = _behaviour(await tx.one(_PROFILES["behavior"], named))
        asleep = Asleep({n: f for n, f in fields.items() if n in SLEEPING}, behaviour)
        if not asleep.fields and behaviour is None:
            return
        at, version = self.clock(), row["version"]
        sealed = key.seal_bytes(packed(asleep), archive_place(actor, version))
        kept = {"version": version, "archive_enc": sealed, "at": at}
        await tx.run(_SQL["add_archive"], named | kept)
        if not await tx.run(_SQL["sleep"], named | {"at": at}):
            raise _mismatch()

    # ---- waking

    async def woken(self, actor: Actor) -> None:
        """Wake the user if that can be done; if not, it is remembered why. For every contact."""
        try:
            await self.wake(actor)
        except MnemicError as error:
            if actor.user_scope not in self._told:
                self._told.add(actor.user_scope)
                _LOG.warning("profile not woken", code=error.code)

    async def wake(self, actor: Actor) -> None:
        """Wake the user, who may be awake.

        Raises StorageError (``cold_object_lost``, ``cold_object_damaged``, ``profile_archive_mismatch``,
        ``profile_archive_unreadable``), StorageUnavailable
        (``cold_store_unreachable``, ``cold_store_missing``) and KeyUnavailable; for some seconds the same
        again, without asking the store.
        """
        scope_key = actor.user_scope
        error, until = self._failed.get(scope_key, (None, 0.0))
        if error is not None and until > time.monotonic():
            raise type(error)(error.code, error.message, **error.details)
        task = self._waking.get(scope_key)
        if task is None:
            task = asyncio.create_task(self._read_back(_job(actor)), name="mnemic-wake")
            self._waking[scope_key] = task
            task.add_done_callback(lambda done: self._done(scope_key, done))
        await asyncio.shield(task)

    def why(self, actor: Actor) -> MnemicError:
        """Return why this user's profile is asleep still."""
        error, _ = self._failed.get(actor.user_scope, (None, 0.0))
        return error or profile_asleep()

    async def give_up(self, tx: Transaction, actor: Actor) -> None:
        """Forget the archive of a sleeper: what was in it is not brought back. The profile is held."""
        named = {"scope_key": actor.user_scope}
        await tx.run(_SQL["give_up"], named)
        await tx.run(_SQL["drop_objects"], named)
        await tx.run(_SQL["drop_archive"], named)
        await tx.one(_SQL["drop_empty_fold"], named)
        await tx.run(_SQL["put_status"], named | {"status": "active", "at": self.clock()})
        self._failed.pop(actor.user_scope, None)

    async def close(self) -> None:
        """Wait for those who are being woken."""
        while self._waking:
            await asyncio.wait(list(self._waking.values()))

    def _done(self, scope_key: str, task: asyncio.Task[None]) -> None:
        self._waking.pop(scope_key, None)
        self._failed.pop(scope_key, None)
        self._told.discard(scope_key)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, MnemicError):
            if len(self._failed) >= _MOST_FAILED:
                self._failed.clear()
                self._told.clear()
            self._failed[scope_key] = (error, time.monotonic() + AGAIN)

    async def _read_back(self, actor: Actor) -> None:
        """Wake the user; what nobody foresaw is an archive that cannot be read, not the end of a request."""
        try:
            await self._woken(actor)
        except MnemicError:
            raise
        except Exception as error:
            _LOG.error("archive not read", **reason_of(error))
            raise StorageError(
                "profile_archive_unreadable",
                "The archive of this profile cannot be read: a newer Mnemic may have written it, so upgrade"
                " this one; else the log names the place.",
            ) from error

    async def _woken(self, actor: Actor) -> None:
        """Bring the archive back; one in the cold store is fetched while nobody is held up."""
        fetched: tuple[str, bytes] | None = None
        for _ in range(_ATTEMPTS):
            async with self._database.transaction(actor, consent=False) as tx:
                cold = await self._bring_back(tx, actor, fetched)
            if cold is None:
                return
            fetched = cold["name"], await self.cooling.fetch(actor, cold)
        raise profile_asleep()

    async def _bring_back(
        self, tx: Transaction, actor: Actor, fetched: tuple[str, bytes] | None
    ) -> Mapping[str, Any] | None:
        """Wake the user, or return the row of the object that is needed for it."""
        named = {"scope_key": actor.user_scope}
        await tx.one(_PROFILES["hold"], named)
        user = await tx.one(_SQL["hold_user"], named)
        if user is None or user["status"] != "dormant":
            return None
        archive = await tx.one(_SQL["archive"], named)
        if archive is not None:
            key = await self._keys.find(tx, actor)
            if key is None:
                raise no_key()
            fold = None
            if archive["archive_enc"] is not None:
                plain = open_archive(key, actor, archive)
            else:
                cold = await tx.one(_SQL["object"], named)
                if cold is None:
                    raise _mismatch()
                if fetched is None or fetched[0] != cold["name"]:
                    return cold
                plain, fold = self.cooling.open(key, actor, *fetched)
            await self._restore(tx, actor, key, archive["version"], plain, fold)
        await tx.run(_SQL["put_status"], named | {"status": "active", "at": self.clock()})
        await note(tx, actor, Deed("wake_profile", actor.user_scope))
        return None

    async def _restore(
        self,
        tx: Transaction,
        actor: Actor,
        key: DataKey,
        version: int,
        plain: bytes,
        fold: Fold | None,
    ) -> None:
        named = {"scope_key": actor.user_scope}
        asleep = unpacked(plain)
        sealed = seal_fields(key, USERS, actor.user_scope, asleep.fields, version)
        row = {f"{name}_enc": sealed[f"{name}_enc"] for name in SLEEPING}
        put = named | row | _columns(asleep.behaviour) | {"version": version}
        if not await tx.run(_SQL["wake"], put):
            raise _mismatch()
        if fold is not None:
            back = {"fold_no": fold.fold_no, "fold_enc": fold.fold_enc}
            given = await tx.one(_SQL["give_fold"], named | back)
            if given is None or not given["given"]:
                raise _mismatch()
        await tx.run(_SQL["drop_objects"], named)
        await tx.run(_SQL["drop_archive"], named)


class _UndoneError(Exception):
    """A dry run takes back what it did."""


def _job(actor: Actor) -> Actor:
    return replace(actor, project=None, session=None, purpose="job")


def _behaviour(row: Mapping[str, Any] | None) -> Behaviour | None:
    if row is None or row["vector"] is None:
        return None
    return Behaviour(tuple(row["vector"]), row["weight"], row["at"], row["model_id"])


def _columns(behaviour: Behaviour | None) -> dict[str, Any]:
    if behaviour is None:
        return {"vector": None, "model_id": None, "weight": None, "behavior_at": None}
    return {
        "vector": HalfVector(behaviour.mean),
        "model_id": behaviour.model_id,
        "weight": behaviour.weight,
        "behavior_at": behaviour.at,
    }


def _mismatch() -> StorageError:
    return StorageError(
        "profile_archive_mismatch",
        "A profile and its archive do not belong together: restore both from one backup.",
    )
