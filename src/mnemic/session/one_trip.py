"""Can turns be logged in one round trip?

They can where nothing has to be looked up first: the session's newest number and the user's key are known to
this process, and no turn answers a call. The database appends only if both are still true. After a lost
connection the log tells whether the turns arrived: what was sealed is in it byte for byte, or is not.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mnemic.errors import Conflict, StorageUnavailable
from mnemic.keys import KeyRing
from mnemic.model import Actor, Turn
from mnemic.session.turn_rows import turn_row
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements
from mnemic.storage.transaction import LIFE, ON_WRITE, Params

_SQL = statements("messages")
_MOST = 10_000
_LISTS = {
    "roles": "role",
    "contents": "content_enc",
    "speakers": "speaker_enc",
    "times": "created_at",
    "calls": "tool_calls_enc",
    "intents": "intent_enc",
    "client_macs": "client_mac",
    "pinned": "pinned",
}
Name = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Logged:
    """What an append came to: the seq of each turn that was given, and the turns that are new in the log.

    A turn that was sent before has its old seq, and is not among the ``new`` ones.
    """

    seqs: tuple[int, ...] = ()
    new: tuple[Turn, ...] = ()


class OneTrip:
    """Logs plain turns; belongs to one process, and knows the newest numbers that it saw."""

    def __init__(self, database: Database, keys: KeyRing) -> None:
        self._database = database
        self._keys = keys
        self._newest: OrderedDict[Name, int] = OrderedDict()

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

        Raises as ``Database.ask``.
        """
        known, last = self._keys.recent(actor), self._newest.pop(_name(ids), None)
        if known is None or last is None or not _plain(turns):
            return None
        key, epoch = known
        numbered = [replace(turn, seq=seq) for seq, turn in enumerate(turns, last + 1)]
        rows = [turn_row(key, ids, turn) for turn in numbered]
        params = {
            **ids,
            "last": last,
            "epoch": int(epoch),
            "unasked": not self._database.consent_required,
            **{name: [row[column] for row in rows] for name, column in _LISTS.items()},
        }
        try:
            answer = await self._database.ask(actor, _SQL["append_turns"], params, attempts=1)
            head: dict[str, Any] | None = answer.head
        except Conflict:  # a turn that was sent before
            return None
        except StorageUnavailable:
            head = await self._arrived(actor, ids, rows[0])
        if head is None or not head["appended"]:
            return None
        new = [replace(t, created_at=t.created_at or head["at"], client_id=None) for t in numbered]
        logged = Logged(tuple(turn.seq or 0 for turn in new), tuple(new))
        self.remember(ids, logged)
        return logged

    async def _arrived(
        self, actor: Actor, ids: Params, first: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Return the answer that was lost with the connection; None when the turns did not arrive."""
        async with self._database.transaction(actor) as tx:
            await tx.one(_SQL["hold_session"], ids)  # whoever is still appending ends first
            row = await tx.one(_SQL["logged_as"], ids | {"seq": first["seq"]})
        if row is None or bytes(row["content_enc"]) != first["content_enc"]:
            return None
        return {"appended": True, "at": row["created_at"]}


def _plain(turns: Sequence[Turn]) -> bool:
    """Tell whether nothing has to be looked up for these turns, and nobody waits for their write."""
    given = [turn.client_id for turn in turns if turn.client_id is not None]
    return (
        ON_WRITE.get() is None
        and LIFE.get() is None
        and len(set(given)) == len(given)
        and all(turn.tool_call_id is None for turn in turns)
    )


def _name(ids: Params) -> Name:
    return ids["scope_key"], ids["session_id"]
