"""Who did what to what, when and why? Entries that nobody changes unnoticed, written with the deed itself.

An entry is written in the transaction of the deed: both are there or neither. It holds a code for the deed,
a time in milliseconds and keyed hashes, never content or ids of people. The service may only append.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from mnemic.audit.chain import CHAINS, AuditKey, Place, same, why
from mnemic.checks import whole
from mnemic.crypto import derive, new_secret
from mnemic.cursors import decode_cursor, encode_cursor
from mnemic.errors import StorageError
from mnemic.keys import KeyProvider, deployment_secret
from mnemic.model import Actor, known_actor
from mnemic.storage.pool import Database, Deed, Transaction
from mnemic.storage.statements import statements

__all__ = ["Audit", "AuditEntry", "AuditKey", "AuditPage", "Place", "open_key"]

_SQL = statements("audit")
_LABEL = "mnemic/audit"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One deed. ``user``, ``credential``, ``target``, ``before`` and ``after`` are keyed hashes, in hex."""

    chain: int
    seq: int
    at: datetime
    action: str
    why: str
    user: str
    credential: str | None = None
    target: str | None = None
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Entries, the newest first; ``cursor`` continues after them, None at the end."""

    entries: tuple[AuditEntry, ...]
    cursor: str | None = None


class Audit:
    """Writes entries, and shows users their own."""

    def __init__(self, database: Database, key: AuditKey) -> None:
        self._database = database
        self.key = key

    @classmethod
    async def open(cls, database: Database, provider: KeyProvider) -> Self:
        """Return the audit of a deployment, after making its chains at the very first start."""
        async with database.system() as tx:
            key = await open_key(tx, provider)
            row = await tx.one(_SQL["begun"])
            if row is None or row["marker"] is None:
                await _begin(tx, key)
        return cls(database, key)

    async def record(
        self,
        tx: Transaction,
        actor: Actor,
        action: str,
        *,
        target: object = None,
        before: object = None,
        after: object = None,
    ) -> None:
        """Write what the actor does in this transaction: two statements, to be called last in it.

        ``action`` is a code such as ``erase_user``, ``target`` an id. ``before`` and ``after`` are states
        (anything that JSON can hold), of which only a keyed hash is kept; None stands for nothing there.
        Raises StorageError (``audit_chain_missing``) when the chains were removed from the database.
        """
        await self.record_all(tx, actor, [Deed(action, target, before, after)])

    def chain(self, actor: Actor) -> int:
        """Return in which chain the deeds of the actor's user stand."""
        return self.key.chain(self.key.user(actor))

    async def record_all(self, tx: Transaction, actor: Actor, deeds: Sequence[Deed]) -> None:
        """Write several deeds, as ``record`` does one, in two statements.

        Where the transaction read ahead which place is next, one: it can only commit if that is still so.
        """
        user_mac = self.key.user(actor)
        chain = self.key.chain(user_mac)
        held = tx.audit or await tx.one(_SQL["hold_chain"], {"chain": chain})
        if held is None:
            raise StorageError(
                "audit_chain_missing",
                "The audit log was damaged, and nothing is written without it: run `mnemic audit verify`.",
            )
        for deed in deeds:
            entry = {
                "at": held["at"],
                "action": deed.action,
                "why": why(actor),
                "user_mac": user_mac,
                "credential_mac": self.key.credential(actor),
                "target_mac": self.key.target(deed.target),
                "before_mac": self.key.state(actor, deed.target, deed.before),
                "after_mac": self.key.state(actor, deed.target, deed.after),
            }
            new = entry | self._next(chain, held, entry)
            tx.later(_SQL["append"], new)
            held.update(seq=new["seq"], last_mac=new["entry_mac"], head_mac=new["head_mac"])

    def _next(
        self, chain: int, held: Mapping[str, Any], entry: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the columns of the chain's next place; what was damaged before is not mended by going on."""
        last = Place(chain, held["seq"], held["last_mac"])
        entry_mac = self.key.entry(Place(chain, last.seq + 1, last.last_mac), entry)
        new = Place(chain, last.seq + 1, entry_mac)
        sound = same(held["head_mac"], self.key.head(last))
        head_mac = self.key.head(new) if sound else self.key.damaged(new)
        return {"chain": chain, "seq": new.seq, "entry_mac": entry_mac, "head_mac": head_mac}

    async def mine(self, actor: Actor, *, limit: int = 50, cursor: str | None = None) -> AuditPage:
        """Return the user's own entries since they were last erased, the newest first.

        ``limit`` is 1 to 1,000. Raises InvalidInput (``limit_out_of_range``, ``invalid_cursor``). A user who
        refused to be remembered may still see what was done.
        """
        user_mac = self.key.user(known_actor(actor))
        params = {
            "chain": self.key.chain(user_mac),
            "user_mac": user_mac,
            "before": None if cursor is None else read_cursor(cursor)[2],
            "limit": whole(limit, 1, 1000, "limit") + 1,
        }
        async with self._database.transaction(actor, consent=False) as tx:
            rows = await tx.all(_SQL["mine"], params)
        return page_of(rows, limit)

    async def erased_at(self, actor: Actor) -> datetime | None:
        """Return when the actor's user was erased last, None for never."""
        async with self._database.system() as tx:
            return await self.last_erasure(tx, actor)

    async def last_erasure(self, tx: Transaction, actor: Actor) -> datetime | None:
        """Return when this user was erased last: what was handed out before then is of somebody else."""
        row = await tx.one(_SQL["last_erasure"], {"user_mac": self.key.user(actor)})
        return row["at"] if row else None


async def open_key(tx: Transaction, provider: KeyProvider) -> AuditKey:
    """Return the audit key. Raises KeyUnavailable when the provider does not hold the deployment's key.

    It is derived from the random value by which a start proves its key, which lies in the database wrapped.
    """
    return AuditKey(derive(await deployment_secret(tx, provider), _LABEL))


async def _begin(tx: Transaction, key: AuditKey) -> None:
    marker = new_secret()
    starts = [Place(chain, 0, key.start(marker, chain)) for chain in range(CHAINS)]
    params = {
        "marker": marker,
        "last_macs": [place.last_mac for place in starts],
        "head_macs": [key.head(place) for place in starts],
    }
    await tx.one(_SQL["begin"], params)


def page_of(rows: list[dict[str, Any]], limit: int) -> AuditPage:
    """Return the page of rows of which one more than ``limit`` was asked for."""
    entries = tuple(map(entry_of, rows[:limit]))
    more = len(rows) > limit
    return AuditPage(entries, write_cursor(entries[-1]) if more else None)


def entry_of(row: Mapping[str, Any]) -> AuditEntry:
    """Return a row as it is shown."""

    def shown(name: str) -> str | None:
        value = row[name]
        return None if value is None else bytes(value).hex()

    return AuditEntry(
        row["chain"],
        row["seq"],
        row["at"],
        row["action"],
        row["why"],
        shown("user_mac") or "",
        shown("credential_mac"),
        shown("target_mac"),
        shown("before_mac"),
        shown("after_mac"),
    )


def write_cursor(entry: AuditEntry) -> str:
    """Return a cursor that continues after this entry; chain and number take the place of a row's id."""
    return encode_cursor(entry.at, UUID(int=entry.chain << 64 | entry.seq))


def read_cursor(cursor: object) -> tuple[datetime, int, int]:
    """Return time, chain and number of the last entry shown. Raises InvalidInput (``invalid_cursor``)."""
    at, row = decode_cursor(cursor)
    return at, (row.int >> 64) % CHAINS, row.int % 2**63
