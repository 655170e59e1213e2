"""When is an erasure final in every copy of the data, and how does it become so?

An erase takes the user's data key. Backups from before hold it still, wrapped by the key of keys of then.
Closing the epoch wraps the keys of everybody who is left with a newer key of keys and destroys the earlier
ones: from then on nothing opens what was erased, and no backup from before can be restored either.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from mnemic.audit import Audit
from mnemic.deployment import as_owner
from mnemic.errors import Conflict
from mnemic.keys import KeyProvider
from mnemic.model import Actor
from mnemic.privacy.rotate import Progress, Rotation
from mnemic.settings import Settings
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements

_SQL = statements("rotation")
GRACE = 5.0
"""Seconds for which the earlier key stays after the last data key left it: for who has read a row by then."""


@dataclass(frozen=True, slots=True)
class Kek:
    """A key of keys and its life; ``held`` tells whether the provider holds it."""

    kek_id: str
    current: bool
    held: bool
    data_keys: int
    opened_at: datetime
    replaced_at: datetime | None = None
    destroyed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Closing:
    """What one closing made final: erasures before ``final_until``. Times and counts, no ids."""

    closed_at: datetime
    final_until: datetime
    destroyed: int
    erasures: int
    first_erasure_at: datetime | None
    last_erasure_at: datetime | None


@dataclass(frozen=True, slots=True)
class KeyState:
    """Which keys there are, and what waits to be made final.

    ``unknown`` counts data keys under a key that this database never had. ``open_erasures`` counts erasures
    that are not final, ``open_since`` is the first of them (or of a project's end), ``due_at`` when the
    epoch is to be closed for it, at the latest. ``prepared`` is the key that the next rotation would bring
    into use, where there is one already.
    """

    kek_id: str
    keks: tuple[Kek, ...]
    unknown: int
    open_erasures: int
    open_since: datetime | None
    due_at: datetime | None
    closings: tuple[Closing, ...]
    prepared: str | None = None


class Epochs:
    """Tells the state of the keys and closes epochs; ``database`` is a pool of the owner's login."""

    def __init__(
        self, database: Database, provider: KeyProvider, audit: Audit, *, days: int
    ) -> None:
        """``days`` (0 to 3,650) is how long an erasure may wait. Raises ConfigurationError
        (``provider_cannot_rotate``)."""
        self._database = database
        self._rotation = Rotation(database, provider, audit)
        self._provider = self._rotation.provider
        self._audit = audit
        self._days = days

    async def state(self) -> KeyState:
        """Return the state of the keys. Raises what the provider raises when it cannot be asked."""
        ids = await self._provider.ids()
        held = set(ids)
        async with self._database.system() as tx:
            rows = await tx.all(_SQL["keks"])
            unknown = await tx.one(_SQL["unknown"])
            waiting = await tx.one(_SQL["open_erasures"])
            closings = await tx.all(_SQL["closings"])
        assert unknown is not None
        assert waiting is not None
        first = waiting["first_at"]
        return KeyState(
            kek_id=next(row["kek_id"] for row in rows if row["current"]),
            keks=tuple(_kek(row, held) for row in rows),
            unknown=unknown["n"],
            open_erasures=waiting["erasures"],
            open_since=first,
            due_at=None if first is None else first + timedelta(days=self._days),
            closings=tuple(map(_closing, closings)),
            prepared=_prepared(ids, {row["kek_id"] for row in rows}),
        )

    async def due(self, now: datetime | None = None) -> bool:
        """Tell whether an erasure has waited long enough."""
        at = (await self.state()).due_at
        return at is not None and at <= (now or datetime.now(UTC))

    async def close(
        self, actor: Actor, *, progress: Progress | None = None, grace: float = GRACE
    ) -> Closing | None:
        """Make every erasure up to now final and return what was closed; None when there is nothing to.

        A closing that was killed is ended by the next one. Afterwards copies of the data from before cannot
        be read by anybody. Raises as ``Rotation.run`` does, and what the provider raises when it does not
        destroy a key: nothing counts as final then.
        """
        async with self._rotation.alone():
            waiting = await self._waiting()
            earlier = await self._earlier()
            if not earlier and waiting["first_at"] is None:
                return None
            await self._rotation.renewed(actor, needed=waiting["later"] > 0, progress=progress)
            await asyncio.sleep(grace)
            earlier = await self._earlier()
            for kek_id in earlier:
                await self._destroy(kek_id)
            return await self._note(actor, len(earlier))

    async def _waiting(self) -> Mapping[str, Any]:
        async with self._database.system() as tx:
            row = await tx.one(_SQL["open_erasures"])
        assert row is not None
        return row

    async def _earlier(self) -> list[str]:
        """Return the keys that were replaced and not destroyed."""
        async with self._database.system() as tx:
            rows = await tx.all(_SQL["keks"])
        return [row["kek_id"] for row in rows if not row["current"] and not row["destroyed_at"]]

    async def _destroy(self, kek_id: str) -> None:
        async with self._database.system() as tx:
            rows = {row["kek_id"]: row for row in await tx.all(_SQL["keks"])}
            if rows[kek_id]["current"] or rows[kek_id]["data_keys"]:
                raise Conflict(
                    "kek_in_use",
                    "Data keys are wrapped with this key still; rotate the keys again.",
                )
        await self._provider.destroy(kek_id)
        async with self._database.system() as tx:
            await tx.run(_SQL["destroyed"], {"kek_id": kek_id})

    async def _note(self, actor: Actor, destroyed: int) -> Closing:
        async with self._database.system() as tx:
            waiting = await tx.one(_SQL["open_erasures"])
            assert waiting is not None
            params = dict(waiting) | {"n_destroyed": destroyed}
            await tx.one(_SQL["add_closing"], params)
            closing = _closing((await tx.all(_SQL["closings"]))[-1])
            await self._audit.record(
                tx,
                actor,
                "close_key_epoch",
                target=closing.closed_at.isoformat(),
                after={"destroyed": destroyed, "erasures": closing.erasures},
            )
        return closing


async def close_if_due(settings: Settings, actor: Actor, *, grace: float = GRACE) -> Closing | None:
    """Close the epoch, with the owner's login, if an erasure has waited ``key_epoch_days``: a nightly job.

    Returns None where nothing is due. Raises as ``as_owner`` and ``Epochs.close`` do.
    """
    async with _as_owner(settings) as epochs:
        return await epochs.close(actor, grace=grace) if await epochs.due() else None


async def is_due(settings: Settings) -> bool:
    """Tell whether ``close_if_due`` would close an epoch. Raises as that does."""
    async with _as_owner(settings) as epochs:
        return await epochs.due()


@asynccontextmanager
async def _as_owner(settings: Settings) -> AsyncIterator[Epochs]:
    async with as_owner(settings) as (deployment, _):
        provider = deployment.keys.provider
        audit = await Audit.open(deployment.database, provider)
        days = settings.key_epoch_days
        yield Epochs(deployment.database, provider, audit, days=days)


def _prepared(ids: Sequence[str], known: Collection[str]) -> str | None:
    """Return the newest key of a provider where it was never in use here."""
    return ids[-1] if ids and ids[-1] not in known else None


def _kek(row: Mapping[str, Any], held: set[str]) -> Kek:
    return Kek(
        row["kek_id"],
        row["current"],
        row["kek_id"] in held,
        row["data_keys"],
        row["opened_at"],
        row["replaced_at"],
        row["destroyed_at"],
    )


def _closing(row: Mapping[str, Any]) -> Closing:
    return Closing(
        row["closed_at"],
        row["final_until"],
        row["n_destroyed"],
        row["n_erasures"],
        row["first_erasure_at"],
        row["last_erasure_at"],
    )
