"""What was said, word for word and in order? The append-only message log of a session."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from weakref import WeakValueDictionary

from mnemic.checks import whole
from mnemic.crypto import DataKey
from mnemic.errors import Conflict, InvalidInput, NotFound
from mnemic.keys import KeyRing
from mnemic.local_time import local
from mnemic.model import Actor, Turn, known_actor
from mnemic.session.one_trip import Logged, Name, OneTrip
from mnemic.session.turn_checks import MAX_CHARS, checked_turns
from mnemic.session.turn_rows import client_mac, open_calls, open_turn, turn_row
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements
from mnemic.storage.transaction import Deed, Params, Transaction

__all__ = [
    "MAX_CHARS",
    "MAX_READ",
    "Logged",
    "MessageLog",
    "closed",
    "read_turns",
    "session_ids",
    "unknown_session",
]

_SQL = statements("messages")
MAX_READ = 10_000
MAX_PINNED = 100
_LAST = 2**62
_CALLS_AT_ONCE = 100


class MessageLog:
    """Appends and reads turns; the session comes from the actor."""

    def __init__(self, database: Database, keys: KeyRing, *, one_trip: bool = True) -> None:
        """``one_trip`` is False where the database must be told who asks by statements of their own."""
        self._database = database
        self._keys = keys
        self._one_trip = OneTrip(database, keys) if one_trip else None
        self._turns: WeakValueDictionary[Name, asyncio.Lock] = WeakValueDictionary()

    async def append(self, actor: Actor, turns: Sequence[Turn]) -> list[int]:
        """Append turns in order, in one transaction, and return their sequence numbers (from 1).

        A turn with a ``client_id`` that this session has already is not added again: its seq is the old one.
        Raises InvalidInput for what ``checked_turns`` does not let pass, for an actor without session
        (``session_required``), a tool's turn whose call is not in the session (``tool_call_not_found``), and
        a client id that another turn has (``client_id_reused``); Conflict for a session that was closed
        (``session_closed``). Nothing is kept then.
        """
        return list((await self.log(actor, turns)).seqs)

    async def log(self, actor: Actor, turns: Sequence[Turn]) -> Logged:
        """Append turns as ``append`` does, and return them as they are read from now on."""
        checked = checked_turns(turns)
        ids = session_ids(actor)
        if not checked:
            return Logged()
        self._database.require_own_loop()
        turn = self._turns.setdefault((ids["scope_key"], ids["session_id"]), asyncio.Lock())
        async with turn:  # the log keeps the order of calls
            quick, logged = self._one_trip, None
            if quick is not None:
                logged = await quick.log(actor, ids, checked)
            if logged is None:
                logged = await self._logged(actor, ids, checked)
            if quick is not None:
                quick.remember(ids, logged)
        return logged

    async def _logged(self, actor: Actor, ids: Params, turns: Sequence[Turn]) -> Logged:
        """Append turns the long way: look at everything, in a transaction."""
        async with self._database.transaction(actor) as tx:
            key = await self._keys.obtain(tx, actor)
            await tx.run(_SQL["open_session"], ids)
            logged = await _appended(tx, key, ids, turns)
            await tx.answer(list(logged.seqs))
        return logged

    async def read(
        self, actor: Actor, *, after: int = 0, until: int | None = None, limit: int = MAX_READ
    ) -> list[Turn]:
        """Return the turns with ``after < seq <= until``, oldest first, at most ``limit`` (1 to 10,000).

        Raises NotFound (``session_not_found``) for a session that has no log, InvalidInput for bounds that
        are no whole numbers from 0 (``after_out_of_range``, ``until_out_of_range``, ``limit_out_of_range``).
        """
        whole(limit, 1, MAX_READ, "limit")
        whole(after, 0, _LAST, "after")
        if until is not None:
            whole(until, 0, _LAST, "until")
        async with self._database.transaction(actor) as tx:
            if await tx.one(_SQL["session_state"], session_ids(actor)) is None:
                raise unknown_session()
            key = await self._keys.obtain(tx, actor)
            return await read_turns(tx, key, actor, after=after, until=until, limit=limit)

    async def tail(self, actor: Actor, last: int) -> list[Turn]:
        """Return the newest ``last`` turns (0 to 10,000), oldest first. Raises as ``read``."""
        whole(last, 0, MAX_READ, "last")
        async with self._database.transaction(actor) as tx:
            row = await tx.one(_SQL["session_state"], session_ids(actor))
            if row is None:
                raise unknown_session()
            if last == 0:
                return []
            key = await self._keys.obtain(tx, actor)
            return await read_turns(tx, key, actor, after=max(0, row["last_seq"] - last))

    async def pin(self, actor: Actor, seqs: Sequence[int], *, pinned: bool = True) -> int:
        """Keep turns when the conversation is shortened, or no longer; return how many there were.

        Raises InvalidInput (``seqs_out_of_range``) for anything but 1 to 100 turn numbers, NotFound
        (``session_not_found``).
        """
        wanted = list(seqs) if isinstance(seqs, list | tuple) else []
        whole(len(wanted), 1, MAX_PINNED, "seqs")
        for seq in wanted:
            whole(seq, 1, _LAST, "seqs")
        ids = session_ids(actor)
        async with self._database.transaction(actor) as tx:
            if await tx.one(_SQL["session_state"], ids) is None:
                raise unknown_session()
            row = await tx.one(_SQL["pin"], ids | {"seqs": wanted, "pinned": bool(pinned)})
            assert row is not None
            deed = Deed(
                "pin_turns" if pinned else "unpin_turns", ids["scope_key"], None, row["changed"]
            )
            await tx.answer(row["found"], *([deed] if row["changed"] else []))
        return int(row["found"])

    async def pinned(self, actor: Actor, *, before: int) -> list[Turn]:
        """Return the newest pinned turns (at most 100) with a seq under ``before``, oldest first."""
        ids = session_ids(actor)
        async with self._database.transaction(actor) as tx:
            key = await self._keys.find(tx, actor)
            rows = await tx.all(_SQL["pinned"], ids | {"before": before, "limit": MAX_PINNED})
        return [open_turn(key, ids, row) for row in reversed(rows) if key is not None]


async def _appended(tx: Transaction, key: DataKey, ids: Params, turns: Sequence[Turn]) -> Logged:
    """Append inside a transaction; the session's row is held from its first statement to the end."""
    known = await _sent_before(tx, key, ids, turns)
    new = [turn for turn in _once(turns) if turn.client_id not in known]
    if not new:
        return Logged(tuple(known[str(turn.client_id)] for turn in turns))
    row = await tx.one(_SQL["reserve"], ids | {"count": len(new)})
    if row is None:
        raise closed()
    first = row["last_seq"] + 1
    numbered = [
        replace(turn, seq=seq, created_at=turn.created_at or local(row["now"], None))
        for seq, turn in enumerate(new, first)
    ]
    await _require_calls(tx, key, ids, numbered)
    await tx.many(_SQL["append"], [turn_row(key, ids, turn, turn.seq or 0) for turn in numbered])
    known |= {turn.client_id: turn.seq for turn in numbered if turn.client_id and turn.seq}
    rest = iter(turn.seq or 0 for turn in numbered if turn.client_id is None)
    seqs = tuple(next(rest) if turn.client_id is None else known[turn.client_id] for turn in turns)
    return Logged(seqs, tuple(replace(turn, client_id=None) for turn in numbered))


def _once(turns: Sequence[Turn]) -> Iterable[Turn]:
    """Yield the turns, of those with one client id the first. Raises InvalidInput (``client_id_reused``)."""
    seen: dict[str, Turn] = {}
    for turn in turns:
        if turn.client_id is None or seen.setdefault(turn.client_id, turn) is turn:
            yield turn
        else:
            _require_same(turn, seen[turn.client_id])


async def _sent_before(
    tx: Transaction, key: DataKey, ids: Params, turns: Sequence[Turn]
) -> dict[str, int]:
    """Return the seqs of turns that this session has already, by client id; holds the session's row."""
    given = {client_mac(key, turn.client_id): turn for turn in turns if turn.client_id}
    if not given:
        return {}
    await tx.one(_SQL["hold_session"], ids)
    known: dict[str, int] = {}
    for row in await tx.all(_SQL["sent_before"], ids | {"client_macs": list(given)}):
        again = given[bytes(row["client_mac"])]
        _require_same(again, open_turn(key, ids, row))
        known[str(again.client_id)] = row["seq"]
    return known


def _require_same(again: Turn, kept: Turn) -> None:
    """Of a turn that is sent again the words count; its time may be another, and a pin may have changed."""
    for name in ("role", "content", "speaker", "tool_calls", "tool_call_id", "intent"):
        if getattr(again, name) != getattr(kept, name):
            raise InvalidInput(
                "client_id_reused", "Another turn of this session has this client id: choose one."
            )


async def _require_calls(tx: Transaction, key: DataKey, ids: Params, turns: Sequence[Turn]) -> None:
    """See to it that every result answers a call before it, in this append or in the log."""
    called: set[str] = set()
    missing: set[str] = set()
    for turn in turns:
        called |= {call.id for call in turn.tool_calls}
        if turn.tool_call_id is not None and turn.tool_call_id not in called:
            missing.add(turn.tool_call_id)
    before = turns[0].seq
    while missing:
        page = ids | {"before": before, "limit": _CALLS_AT_ONCE}
        rows = await tx.all(_SQL["calls"], page)
        missing -= {call.id for row in rows for call in open_calls(key, ids, row)}
        if missing and len(rows) < _CALLS_AT_ONCE:
            raise InvalidInput(
                "tool_call_not_found", "No turn of this session calls a tool under this id."
            )
        before = rows[-1]["seq"] if rows else 0


async def read_turns(
    tx: Transaction,
    key: DataKey,
    actor: Actor,
    *,
    after: int = 0,
    until: int | None = None,
    limit: int = MAX_READ,
) -> list[Turn]:
    """Return turns inside an open transaction."""
    ids = session_ids(actor)
    bounds = {"after": after, "until": until if until is not None else _LAST, "limit": limit}
    return [open_turn(key, ids, row) for row in await tx.all(_SQL["read"], ids | bounds)]


def session_ids(actor: Actor) -> Params:
    """Return the columns that name the actor's session. Raises InvalidInput (``session_required``)."""
    if known_actor(actor).session is None:
        raise InvalidInput(
            "session_required",
            "A conversation needs a session: name one (Actor's session, --session, Mnemic-Session).",
        )
    return {
        "scope_key": actor.session_scope,
        "session_id": actor.session,
        "user_id": actor.user,
        "project_id": actor.project,
    }


def closed() -> Conflict:
    """Return the error for a session that takes nothing more."""
    return Conflict("session_closed", "This session was closed: open another one.")


def unknown_session() -> NotFound:
    """Return the error for a session that is not there, or somebody else's."""
    return NotFound("session_not_found", "There is no such session.")
