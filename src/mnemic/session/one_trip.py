"""Can turns be logged in one round trip?

They can where nothing has to be looked up first: the session's newest number and the user's key are known to
this process, and no turn answers a call. The database appends only if both are still true. Appends that wait
at the same moment, of whichever users, go in one trip together; each is let in, or not, by itself. After a
lost connection the log tells whether the turns arrived: what was sealed is in it byte for byte, or is not.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter
from typing import Any

from mnemic.errors import MnemicError, StorageUnavailable
from mnemic.keys import KeyRing
from mnemic.local_time import local
from mnemic.model import Actor, Turn
from mnemic.session.turn_rows import turn_row
from mnemic.storage.answer import asker
from mnemic.storage.gathered import Gathered
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements
from mnemic.storage.transaction import LIFE, ON_WRITE, Params

_SQL = statements("messages")
_MOST = 10_000
_LONG = 64 * 1024
_TRIPS, _APPENDS, _BYTES = 2, 32, 4 * _LONG
"""Trips under way at once, and what one of them takes at most: appends, and sealed bytes."""
_COLUMNS = ("content_enc", "speaker_enc", "tool_calls_enc", "intent_enc", "client_mac")
_written = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
Name = tuple[str, str]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Logged:
    """What an append came to: the seq of each turn that was given, and the turns that are new in the log.

    A turn that was sent before has its old seq, and is not among the ``new`` ones.
    """

    seqs: tuple[int, ...] = ()
    new: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class _Append:
    """Rows for one session, which reaches number ``last`` and whose user has the key of ``epoch``."""

    actor: Actor
    ids: Params
    last: int
    epoch: int
    rows: Sequence[Params]

    @property
    def size(self) -> int:
        return sum(len(row[name] or b"") for row in self.rows for name in _COLUMNS)

    def told(self, n: int) -> Params:
        """Return what number ``n`` of a batch says of itself."""
        newest = self.last + len(self.rows)
        mine = {"n": n, "last": self.last, "newest": newest, "epoch": self.epoch}
        return mine | self.ids | asker(self.actor)

    def turns(self, n: int) -> Iterator[Params]:
        """Yield the rows, as JSON takes them."""
        for row in self.rows:
            told = {"n": n, "seq": row["seq"], "role": row["role"], "pinned": row["pinned"]}
            if row["created_at"] is not None:
                told["created_at"] = local(row["created_at"], None).isoformat()
                told["local_offset"] = row["local_offset"]
            yield told | {name: f"\\x{row[name].hex()}" for name in _COLUMNS if row[name]}


class OneTrip:
    """Logs plain turns; belongs to one process, and knows the newest numbers that it saw."""

    def __init__(self, database: Database, keys: KeyRing) -> None:
        self._database = database
        self._keys = keys
        self._newest: OrderedDict[Name, int] = OrderedDict()
        self._trips = Gathered(self._sent, lanes=_TRIPS, most=_APPENDS, size=_BYTES)

    def remember(self, ids: Params, logged: Logged) -> None:
        """Keep how far a session's log reached."""
        if logged.seqs:
            name = _name(ids)
            self._newest[name] = max(logged.seqs)
            self._newest.move_to_end(name)
            while len(self._newest) > _MOST:
                self._newest.popitem(last=False)

    async def log(self, actor: Actor, ids: Params, turns: Sequence[Turn]) -> Logged | None:
        """Append turns, or return None: nothing was kept, and the long way tells why.

        Raises StorageUnavailable, and as ``Database.meet``.
        """
        known, last = self._keys.recent(actor), self._newest.pop(_name(ids), None)
        if known is None or last is None or not _plain(turns):
            return None
        key, epoch = known
        seqs = range(last + 1, last + 1 + len(turns))
        rows = [turn_row(key, ids, *pair) for pair in zip(turns, seqs, strict=True)]
        at = await self._appended(_Append(actor, ids, last, int(epoch), rows))
        if at is None:
            return None
        new = [
            replace(turn, seq=seq, created_at=turn.created_at or at, client_id=None)
            for turn, seq in zip(turns, seqs, strict=True)
        ]
        return Logged(tuple(seqs), tuple(new))

    async def _appended(self, append: _Append) -> datetime | None:
        """Return when an append was logged; None when it was not."""
        try:
            row = await self._trips.run(append, append.size)
        except StorageUnavailable as error:
            if error.code == "database_busy":  # it was never sent
                raise
            return await self._arrived(append)
        except MnemicError:  # nothing of the batch was kept, whoever it was for
            return None
        awake = self._database.meet(append.actor, row)
        return local(row["at"], None) if awake and row["appended"] else None

    async def _sent(self, batch: Sequence[_Append]) -> Sequence[Row]:
        """Log appends of whichever users in one trip; return what came of each."""
        params = {
            "appends": _written([append.told(n) for n, append in enumerate(batch)]),
            "turns": _written([row for n, append in enumerate(batch) for row in append.turns(n)]),
            "unasked": not self._database.consent_required,
        }
        rows = await self._database.ask_for_many(_SQL["append_many"], params)
        return sorted(rows, key=itemgetter("place"))

    async def _arrived(self, append: _Append) -> datetime | None:
        """Return when turns were logged whose answer was lost; None when they did not arrive."""
        first = append.rows[0]
        async with self._database.transaction(append.actor) as tx:
            await tx.one(_SQL["hold_session"], append.ids)  # whoever is still appending ends first
            row = await tx.one(_SQL["logged_as"], append.ids | {"seq": first["seq"]})
        if row is None or bytes(row["content_enc"]) != first["content_enc"]:
            return None
        return local(row["created_at"], None)


def _plain(turns: Sequence[Turn]) -> bool:
    """Tell whether nothing has to be looked up for these turns, nobody waits for their write, and they are
    short: what is long travels better in binary, by itself."""
    given = [turn.client_id for turn in turns if turn.client_id is not None]
    return (
        ON_WRITE.get() is None
        and LIFE.get() is None
        and len(set(given)) == len(given)
        and all(turn.tool_call_id is None for turn in turns)
        and sum(len(turn.content) for turn in turns) <= _LONG
    )


def _name(ids: Params) -> Name:
    return ids["scope_key"], ids["session_id"]
