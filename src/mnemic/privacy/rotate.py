"""How does a deployment get a new key of keys while it is read and written?

First a new key comes into use: whoever makes a data key wraps it with that from then on. Then all data keys
are wrapped anew, in batches that wait for nobody. A data key stays as it is, and so does what it sealed.
A rotation that was killed is continued by the next one; the earlier key is kept until its epoch closes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mnemic.audit import Audit
from mnemic.errors import ConfigurationError, Conflict, KeyUnavailable, StorageError
from mnemic.keys import KeyProvider, RotatingKeys, check_context, context_of
from mnemic.model import Actor
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements

Progress = Callable[[int, int], None]
"""Is told how many data keys are done, of how many."""

_SQL = statements("rotation")
_KEYS = statements("keys")
_BATCH = 500
_AT_ONCE = 8
_ATTEMPTS = 30
_PATIENCE = 60.0
_LOCK_TIMEOUT = "55P03"
_START = ("", UUID(int=0))


@dataclass(frozen=True, slots=True)
class _Share:
    """What one sweep does of a whole."""

    progress: Progress | None
    before: int
    total: int

    def tell(self, done: int) -> None:
        if self.progress is not None:
            self.progress(self.before + done, self.total)


@dataclass(frozen=True, slots=True)
class Rotated:
    """``kek_id`` is in use now; ``keys`` data keys were wrapped anew (with ``dry_run``: would be)."""

    kek_id: str
    before: str
    keys: int
    resumed: bool = False
    dry_run: bool = False


class Rotation:
    """Changes the key of keys; ``database`` is a pool of the owner's login, of 3 or more."""

    def __init__(self, database: Database, provider: KeyProvider, audit: Audit) -> None:
        """Raises ConfigurationError (``provider_cannot_rotate``)."""
        self._database = database
        self.provider = rotating(provider)
        self._audit = audit

    async def run(
        self, actor: Actor, *, progress: Progress | None = None, dry_run: bool = False
    ) -> Rotated:
        """Bring a new key into use and wrap everything with it, or end what an earlier run began.

        Raises Conflict (``rotation_under_way``) while another process does the same, KeyUnavailable
        (``data_keys_unreadable``) when some data keys do not open: the others are wrapped anew then. What a
        provider raises ends the run, and another run goes on where it ended.
        """
        if dry_run:
            return await self._preview()
        async with self.alone():
            current = await self.current()
            resumed = await self._unfinished()
            new = current if resumed else await self._switch(actor, current)
            keys = await self.finish(actor, new, progress)
        return Rotated(new, current, keys, resumed)

    async def prepare(self) -> str:
        """Make the next key without using it yet, so that it can be taken to other machines first."""
        async with self.alone():
            return await self.provider.renew(await self.current())

    async def current(self) -> str:
        """Return the id of the key in use."""
        async with self._database.system() as tx:
            row = await tx.one(_KEYS["deployment"])
        assert row is not None, "the deployment has no row"
        return str(row["kek_id"])

    async def renewed(self, actor: Actor, *, needed: bool, progress: Progress | None) -> int:
        """As ``run``, for who is ``alone`` already; a new key comes only where it is ``needed``."""
        new = await self.current()
        if await self._unfinished():
            await self.finish(actor, new, progress)
        if needed:
            new = await self._switch(actor, new)
        return await self.finish(actor, new, progress)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Let no other process rotate or close meanwhile. Raises Conflict (``rotation_under_way``)."""
        async with self._database.system() as tx:
            row = await tx.one(_SQL["one_at_a_time"])
            if row is None or not row["alone"]:
                raise Conflict(
                    "rotation_under_way", "Another process is rotating the keys: wait for it."
                )
            yield

    async def _preview(self) -> Rotated:
        current = await self.current()
        resumed = await self._unfinished()
        # a new key would wrap every data key; an unfinished rotation has those left that are not yet
        keys = await self._waiting(current if resumed else "")
        return Rotated(current, current, keys, resumed, dry_run=True)

    async def _unfinished(self) -> bool:
        async with self._database.system() as tx:
            return await tx.one(_SQL["unfinished"]) is not None

    async def _waiting(self, kek_id: str) -> int:
        async with self._database.system() as tx:
            row = await tx.one(_SQL["waiting"], {"kek_id": kek_id})
        return int(row["n"]) if row else 0

    async def _switch(self, actor: Actor, before: str) -> str:
        """Bring a new key into use, once nobody is making a data key."""
        new = await self.provider.renew(before)
        for _ in range(_ATTEMPTS):
            try:
                await self._switched(actor, before, new)
                return new
            except StorageError as error:
                if error.details.get("sqlstate") != _LOCK_TIMEOUT:
                    raise
        raise Conflict(
            "rotation_outrun",
            "Somebody is making data keys all the time: try again in a quiet hour.",
        )

    async def _switched(self, actor: Actor, before: str, new: str) -> None:
        async with self._database.system() as tx:
            await tx.one(_SQL["be_patient"])
            await tx.one(_SQL["hold_alone"])
            row = await tx.one(_KEYS["deployment_for_update"])
            assert row is not None, "the deployment has no row"
            at = check_context(row["id"])
            secret = await self.provider.unwrap(before, row["kek_check"], at)
            proof = await self.provider.wrap(new, secret, at)
            if await self.provider.unwrap(new, proof, at) != secret:
                raise KeyUnavailable("wrong_key", "The new key does not open what it wrapped.")
            params = {"kek_id": new, "before": before, "kek_check": proof}
            await tx.run(_SQL["replace_kek"], params)
            await self._audit.record(tx, actor, "rotate_keys", target=new, before=before, after=new)

    async def finish(self, actor: Actor, kek_id: str, progress: Progress | None) -> int:
        """Wrap everything with the key in use, note that nothing needs another, and return how many."""
        total, done, until = await self._waiting(kek_id), 0, time.monotonic() + _PATIENCE
        while left := await self._waiting(kek_id):
            swept = await self._sweep(kek_id, _Share(progress, done, total))
            done += swept
            if swept == left:
                continue
            if time.monotonic() > until:
                raise Conflict(
                    "rotation_outrun",
                    "An erasure holds its data keys: run this again when it ended.",
                )
            await asyncio.sleep(0.2)  # what is locked now is gone, or free, in a moment
        async with self._database.system() as tx:
            if await tx.run(_SQL["emptied"], {"kek_id": kek_id}):
                await self._audit.record(tx, actor, "finish_rotation", target=kek_id, after=done)
        return done

    async def _sweep(self, kek_id: str, share: _Share) -> int:
        """Go through all data keys under other keys once; return how many are under this one now."""
        done, shut, after = 0, 0, _START
        while rows := await self._batch(kek_id, after):
            after = (rows[-1]["scope_key"], rows[-1]["key_id"])
            fresh = await self._wrapped_anew(kek_id, rows)
            shut += len(rows) - len(fresh)
            done += await self._write(kek_id, fresh)
            share.tell(done)
        if shut:
            raise KeyUnavailable(
                "data_keys_unreadable",
                f"{shut:,} data keys do not open with the key that they name and were left as they are:"
                " restore these rows from a backup. The earlier key is kept.",
                keys=shut,
            )
        return done

    async def _batch(self, kek_id: str, after: tuple[str, UUID]) -> list[dict[str, Any]]:
        params = {"kek_id": kek_id, "after_scope": after[0], "after_key": after[1], "most": _BATCH}
        async with self._database.system() as tx:
            return await tx.all(_SQL["batch"], params)

    async def _wrapped_anew(
        self, kek_id: str, rows: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Return the rows with ``fresh``, without those that are damaged."""
        places = asyncio.Semaphore(_AT_ONCE)

        async def one(row: dict[str, Any]) -> dict[str, Any] | None:
            at = context_of(row["scope_key"], row["key_id"])
            async with places:
                try:
                    secret = await self.provider.unwrap(row["kek_id"], row["wrapped"], at)
                except KeyUnavailable as error:
                    if error.code != "wrong_key":
                        raise
                    return None
                return row | {"fresh": await self.provider.wrap(kek_id, secret, at)}

        return [row for row in await asyncio.gather(*map(one, rows)) if row is not None]

    async def _write(self, kek_id: str, rows: Sequence[dict[str, Any]]) -> int:
        params = {
            "kek_id": kek_id,
            "places": [row["scope_key"] for row in rows],
            "keys": [row["key_id"] for row in rows],
            "wraps": [row["fresh"] for row in rows],
            "befores": [row["kek_id"] for row in rows],
        }
        async with self._database.system() as tx:
            return await tx.run(_SQL["rewrap"], params)


def rotating(provider: KeyProvider) -> RotatingKeys:
    """Return the provider. Raises ConfigurationError (``provider_cannot_rotate``)."""
    if not isinstance(provider, RotatingKeys):
        raise ConfigurationError(
            "provider_cannot_rotate",
            "This key provider has no `ids`, `renew` and `destroy`: see its protocol.",
        )
    return provider
