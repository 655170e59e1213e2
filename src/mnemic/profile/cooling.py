"""How does an archived profile get out of the database, and its bytes back?

The object is written and read back first, then its row is written and the archive in the database
emptied, in one transaction. A crash before that leaves the archive where it was, and an object that is
swept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import uuid4

from mnemic.cold import ColdStore, not_configured, unreachable
from mnemic.cold.guarded import guarded
from mnemic.cold.removals import Removals
from mnemic.crypto import DataKey, place
from mnemic.errors import KeyUnavailable, StorageError
from mnemic.keys import KeyRing
from mnemic.model import Actor
from mnemic.profile.sleeping import Fold, bundled, unbundled
from mnemic.storage.pool import Database, Deed, Transaction
from mnemic.storage.statements import statements

_SQL = statements("hibernation")
_HISTORY = statements("history")
_PROFILES = statements("profiles")


class _ChangedError(Exception):
    """What was written is not what is there any more: nothing of the transaction holds."""


class Cooling:
    """Moves archives into the cold store; ``store`` is None where none is configured."""

    def __init__(self, database: Database, keys: KeyRing, store: ColdStore | None) -> None:
        self._database = database
        self._keys = keys
        self._store = guarded(store)
        self.removals = Removals(database, self._store)

    @property
    def configured(self) -> bool:
        """Whether there is a store at all."""
        return self._store is not None

    async def cool(self, actor: Actor, before: datetime) -> tuple[int, int] | None:
        """Move the archive of one sleeper who was last here before a time; the actor is a job's.

        Returns the bytes in the database before and after, None where there is nothing to move any more.
        Raises StorageUnavailable (``cold_store_unreachable``, ``cold_store_missing``), ConfigurationError
        (``cold_store_not_ours``), and KeyUnavailable where the archive does not open: then it stays where it
        is.
        """
        if self._store is None:
            raise not_configured()
        named = {"scope_key": actor.user_scope}
        name = _new_name()
        async with self._database.transaction(actor, consent=False) as tx:
            archive = await _to_move(tx, named, before)
            if archive is None:
                return None
            n_before = await n_bytes(tx, actor)
            fold = _fold(await tx.one(_HISTORY["fold"], named))
            key = await self._key(tx, actor)
            plain = open_archive(key, actor, archive)
            data = key.seal_bytes(bundled(plain, fold), _place(actor, name))
            await self.removals.note(tx, name)
        await self._store.put(name, data)
        await self.removals.owner.claim()
        if await self._store.get(name) != data:
            raise unreachable()  # it is not what it was given: the archive stays
        return await self._moved(actor, archive, fold, name, data, n_before)

    async def preview(self, actor: Actor, before: datetime) -> tuple[int, int] | None:
        """Return what ``cool`` would, and change nothing."""
        named = {"scope_key": actor.user_scope}
        would = {"n_bytes": 1, "sha256": "0" * 64, "name": _new_name()}
        counted = None
        try:
            async with self._database.transaction(actor, consent=False) as tx:
                archive = await _to_move(tx, named, before)
                if archive is not None:
                    n_before = await n_bytes(tx, actor)
                    fold = _fold(await tx.one(_HISTORY["fold"], named))
                    await self._emptied(tx, named, archive, fold)
                    await tx.run(_SQL["add_object"], named | would)
                    counted = n_before, await n_bytes(tx, actor)
                raise _ChangedError
        except _ChangedError:
            return counted

    async def fetch(self, actor: Actor, row: Mapping[str, Any]) -> bytes:
        """Return the object of a row of ``cold_object``, as it was written.

        Raises StorageError (``cold_object_lost``, ``cold_object_damaged``), StorageUnavailable.
        """
        if self._store is None:
            raise not_configured()
        data = await self._store.get(row["name"])
        if hashlib.sha256(data).hexdigest() != row["sha256"]:
            raise _damaged()
        return data

    def open(self, key: DataKey, actor: Actor, name: str, data: bytes) -> tuple[bytes, Fold | None]:
        """Return what an object holds: the packed fields, and the fold of the history."""
        return unbundled(key.open_bytes(data, _place(actor, name)))

    async def _moved(
        self,
        actor: Actor,
        archive: Mapping[str, Any],
        fold: Fold | None,
        name: str,
        data: bytes,
        n_before: int,
    ) -> tuple[int, int] | None:
        """Let the row say where the archive is now, if all is still as it was read."""
        named = {"scope_key": actor.user_scope}
        told = {"n_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "name": name}
        try:
            async with self._database.transaction(actor, consent=False) as tx:
                await tx.one(_PROFILES["hold"], named)
                await tx.one(_SQL["hold_user"], named)
                if not await tx.run(_SQL["take_note_back"], {"name": name}):
                    raise _ChangedError  # so slow that the object was swept
                await self._emptied(tx, named, archive, fold)
                await tx.run(_SQL["add_object"], named | told)
                n_after = await n_bytes(tx, actor)
                await note(tx, actor, Deed("cool_profile", actor.user_scope, n_before, n_after))
        except _ChangedError:
            return None  # the user woke, or was erased: the object is swept
        return n_before, n_after

    async def _emptied(
        self,
        tx: Transaction,
        named: dict[str, Any],
        archive: Mapping[str, Any],
        fold: Fold | None,
    ) -> None:
        """Empty the archive and the fold, if they are what was written."""
        there = _fold(await tx.one(_HISTORY["fold"], named))
        if there != fold or not await tx.run(_SQL["empty_archive"], named | dict(archive)):
            raise _ChangedError
        if fold is not None:
            row = await tx.one(_SQL["take_fold"], named | {"fold_no": fold.fold_no})
            assert row is not None
            if not row["taken"]:
                raise _ChangedError

    async def _key(self, tx: Transaction, actor: Actor) -> DataKey:
        key = await self._keys.find(tx, actor)
        if key is None:
            raise no_key()
        return key


async def n_bytes(tx: Transaction, actor: Actor) -> int:
    """Return how many bytes of the user's profile lie in the database: row, history, archive, object row."""
    row = await tx.one(_SQL["bytes"], {"scope_key": actor.user_scope})
    return 0 if row is None or row["n_bytes"] is None else int(row["n_bytes"])


async def note(tx: Transaction, actor: Actor, deed: Deed) -> None:
    """Put what a job did into the audit; ``tx.answer`` would tell whoever waits for a request."""
    if tx.recorder is not None:
        await tx.recorder.record_all(tx, actor, [deed])


def archive_place(actor: Actor, version: int) -> bytes:
    """Return what an archive is bound to."""
    return place("profile_archive", actor.user_scope, "profile", "archive", version)


def open_archive(key: DataKey, actor: Actor, row: Mapping[str, Any]) -> bytes:
    """Return the packed fields of a row of ``profile_archive``."""
    return key.open_bytes(bytes(row["archive_enc"]), archive_place(actor, row["version"]))


def no_key() -> KeyUnavailable:
    """Return the error of a user whose data key is gone."""
    return KeyUnavailable("data_key_missing", "This user's data key is not there: restore it.")


async def _to_move(
    tx: Transaction, named: Mapping[str, Any], before: datetime
) -> Mapping[str, Any] | None:
    user = await tx.one(_SQL["look_at_user"], dict(named))
    if user is None or user["status"] != "dormant" or user["last_active_at"] >= before:
        return None
    archive = await tx.one(_SQL["archive"], dict(named))
    return None if archive is None or archive["archive_enc"] is None else archive


def _fold(row: Mapping[str, Any] | None) -> Fold | None:
    return None if row is None else Fold(row["fold_no"], bytes(row["fold_enc"]))


def _new_name() -> str:
    """Return a random name; the first two characters spread objects over directories."""
    text = uuid4().hex
    return f"{text[:2]}/{text[2:]}"


def _place(actor: Actor, name: str) -> bytes:
    return place("cold_object", actor.user_scope, name, "bundle")


def _damaged() -> StorageError:
    return StorageError(
        "cold_object_damaged",
        "An object of the cold store is not the one that was put there: bring it back from a backup, or"
        " give it up with `mnemic profile wake --abandon`.",
    )
