"""Was the audit log changed by anybody since it was written?

Reads every entry once, as the owner, in constant memory, and recomputes its hash from the entry before it.
Whoever can write to the database but has no audit key is found out whatever they change, remove, add or
move; only putting back an older true state of everything goes unseen, unless a head was kept elsewhere.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from psycopg.rows import dict_row

from mnemic.audit import AuditKey, AuditPage, page_of, read_cursor
from mnemic.audit.chain import CHAINS, Place, same
from mnemic.checks import whole
from mnemic.errors import InvalidInput
from mnemic.model import Actor
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements

_SQL = statements("audit")
_BATCH = 2_000
_SHOWN = 100
Kind = Literal[
    "entry_changed",
    "entries_missing",
    "chain_cut",
    "chain_missing",
    "head_changed",
    "audit_missing",
    "head_unknown",
    "head_not_reached",
]
Progress = Callable[[int, int], None]
"""Is told how many entries are read, of how many."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, and where: ``seq`` is the first entry concerned."""

    kind: Kind
    chain: int | None = None
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class Verified:
    """What was read and found; ``problems`` holds the first 100 of ``n_problems``.

    ``head`` stands for the whole log as it is now, to be kept elsewhere; None when something is wrong.
    """

    entries: int
    n_problems: int
    problems: tuple[Problem, ...]
    head: str | None

    @property
    def sound(self) -> bool:
        return self.n_problems == 0


@dataclass(slots=True)
class _Chain:
    """How far a chain was read: the hash of its last entry, and where it must come to."""

    head: Place
    head_mac: bytes
    last_mac: bytes
    seq: int = 0
    kept_seq: int = 0
    kept_mac: bytes = b""


@dataclass(slots=True)
class _Findings:
    problems: list[Problem] = field(default_factory=list)
    count: int = 0

    def add(self, kind: Kind, chain: int | None = None, seq: int | None = None) -> None:
        self.count += 1
        if len(self.problems) < _SHOWN:
            self.problems.append(Problem(kind, chain, seq))


async def verify(
    database: Database, key: AuditKey, *, head: str | None = None, progress: Progress | None = None
) -> Verified:
    """Read the whole log with the owner's login. With ``head``, one that was printed before, see to it that
    everything of then is still there.

    Raises InvalidInput (``invalid_head``) for what is no head.
    """
    kept = None if head is None else _hex(head)
    found = _Findings()
    async with database.system() as tx:
        marker = await _marker(tx, found)
        chains = await _chains(tx, key, marker, found)
        kept_seqs = await _kept(tx, kept, found)
        for chain, seq in enumerate(kept_seqs or ()):
            if chain in chains:
                chains[chain].kept_seq, chains[chain].kept_mac = seq, chains[chain].last_mac
        entries = await _read(tx, key, chains, found, progress)
        _require_ends(key, chains, found)
        await _require_grown(tx, chains, found)
        if kept is not None and kept_seqs is not None:
            _require_kept(key, marker, kept, chains, found)
        now = await _keep_head(tx, key, marker, chains) if not found.count else None
    return Verified(entries, found.count, tuple(found.problems), now)


async def newest(
    database: Database,
    key: AuditKey,
    *,
    user: Actor | None = None,
    target: str | None = None,
    action: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> AuditPage:
    """Return entries of all users, the newest first, with the owner's login; the rest narrows them.

    Raises InvalidInput (``limit_out_of_range``, ``invalid_cursor``).
    """
    whole(limit, 1, 1000, "limit")
    before = (None, None, None) if cursor is None else read_cursor(cursor)
    params = {
        "user_mac": None if user is None else key.user(user),
        "target_mac": key.target(target),
        "action": action,
        "before_at": before[0],
        "before_chain": before[1],
        "before_seq": before[2],
        "limit": limit + 1,
    }
    async with database.system() as tx:
        return page_of(await tx.all(_SQL["newest"], params), limit)


async def _marker(tx: Transaction, found: _Findings) -> bytes:
    row = await tx.one(_SQL["begun"])
    if row is None or row["marker"] is None:
        found.add("audit_missing")
        return b""
    return bytes(row["marker"])


async def _chains(
    tx: Transaction, key: AuditKey, marker: bytes, found: _Findings
) -> dict[int, _Chain]:
    """Read the heads before the entries: whatever comes meanwhile is only more than they promise."""
    chains = {}
    for row in await tx.all(_SQL["chains"]):
        head = Place(row["chain"], row["seq"], bytes(row["last_mac"]))
        chains[head.chain] = _Chain(head, bytes(row["head_mac"]), key.start(marker, head.chain))
    for chain in range(CHAINS):
        if chain not in chains and marker:
            found.add("chain_missing", chain)
    return chains


async def _kept(tx: Transaction, head: bytes | None, found: _Findings) -> Sequence[int] | None:
    if head is None:
        return None
    row = await tx.one(_SQL["head"], {"head_mac": head})
    if row is None or len(row["seqs"]) != CHAINS:
        found.add("head_unknown")
        return None
    return [int(seq) for seq in row["seqs"]]


async def _read(
    tx: Transaction,
    key: AuditKey,
    chains: dict[int, _Chain],
    found: _Findings,
    progress: Progress | None,
) -> int:
    expected = sum(chain.head.seq for chain in chains.values())
    entries = 0
    stray: int | None = None
    async for row in _entries(tx):
        entries += 1
        chain = chains.get(row["chain"])
        if chain is not None:
            _check(key, chain, row, found)
        elif row["chain"] != stray:
            stray = row["chain"]
            found.add("chain_missing", stray, row["seq"])
        if progress is not None and entries % _BATCH == 0:
            progress(entries, max(entries, expected))
    if progress is not None:
        progress(entries, max(entries, expected))
    return entries


async def _entries(tx: Transaction) -> AsyncIterator[dict[str, Any]]:
    async with tx.conn.cursor(name="audit", row_factory=dict_row) as cursor:
        cursor.itersize = _BATCH
        await cursor.execute(_SQL["entries"])
        async for row in cursor:
            yield row


def _check(key: AuditKey, chain: _Chain, row: dict[str, Any], found: _Findings) -> None:
    """Compare one entry with its hash; behind a gap, which is told, there is nothing to compare it with."""
    here, seq, entry_mac = chain.head.chain, row["seq"], bytes(row["entry_mac"])
    if seq != chain.seq + 1:
        found.add("entries_missing", here, chain.seq + 1)
    elif not same(key.entry(Place(here, seq, chain.last_mac), row), entry_mac):
        found.add("entry_changed", here, seq)
    chain.seq, chain.last_mac = seq, entry_mac
    if seq == chain.kept_seq:
        chain.kept_mac = entry_mac
    if seq == chain.head.seq and not same(entry_mac, chain.head.last_mac):
        found.add("head_changed", here, seq)


def _require_ends(key: AuditKey, chains: dict[int, _Chain], found: _Findings) -> None:
    for number, chain in sorted(chains.items()):
        if chain.seq < chain.head.seq:
            found.add("chain_cut", number, chain.seq + 1)
        elif not same(key.head(chain.head), chain.head_mac):
            found.add("head_changed", number, chain.head.seq)


async def _require_grown(tx: Transaction, chains: dict[int, _Chain], found: _Findings) -> None:
    """See to it that entries beyond a head were written meanwhile: then its head has moved on too."""
    for row in await tx.all(_SQL["chains"]):
        chain = chains.get(row["chain"])
        if chain is not None and row["seq"] < chain.seq:
            found.add("head_changed", row["chain"], row["seq"])


def _require_kept(
    key: AuditKey, marker: bytes, kept: bytes, chains: dict[int, _Chain], found: _Findings
) -> None:
    places = []
    for number, chain in sorted(chains.items()):
        if chain.seq < chain.kept_seq:
            found.add("head_not_reached", number, chain.seq + 1)
        places.append(Place(number, chain.kept_seq, chain.kept_mac))
    if not same(key.whole(marker, places), kept):
        found.add("head_not_reached")


async def _keep_head(
    tx: Transaction, key: AuditKey, marker: bytes, chains: dict[int, _Chain]
) -> str:
    heads = [chains[number].head for number in range(CHAINS)]
    head_mac = key.whole(marker, heads)
    await tx.run(_SQL["keep_head"], {"head_mac": head_mac, "seqs": [head.seq for head in heads]})
    return head_mac.hex()


def _hex(head: str) -> bytes:
    try:
        raw = bytes.fromhex(head.strip())
    except ValueError:
        raw = b""
    if len(raw) != 32:
        raise InvalidInput(
            "invalid_head", "A head is 64 hexadecimal digits, as `mnemic audit verify` prints it."
        )
    return raw
