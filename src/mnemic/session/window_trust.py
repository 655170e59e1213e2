"""How new is the log at least, and may a window be believed without asking it?

A window cannot show that its newest turn is missing: whoever logged it may have been killed before it pushed,
and a Redis that failed over or came back may have lost it. So a process asks the log how new a session is
before it first believes a window, once a minute after that, and again whenever Redis was away or another
server answers for it. What it logged itself it knows without asking.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass

from mnemic.crypto import DataKey
from mnemic.keys import KeyRing
from mnemic.model import Actor
from mnemic.session.messages import session_ids, unknown_session
from mnemic.session.window_keys import WindowKey
from mnemic.storage.pool import Database
from mnemic.storage.redis_calls import Calls
from mnemic.storage.statements import statements
from mnemic.storage.transaction import Transaction

_MOST = 10_000
_SQL = statements("window")


@dataclass(slots=True)
class Place:
    """What is known of one session's window: its key and name, and that the log reaches ``seq`` at least.

    To be believed until ``until`` (monotonic seconds), while connections are those of ``epoch``.
    """

    key: WindowKey
    name: bytes
    seq: int
    until: float
    epoch: int


@dataclass(frozen=True, slots=True)
class Newest:
    """What the log says of a session."""

    seq: int
    closed: bool


async def newest(tx: Transaction, actor: Actor) -> Newest:
    """Return how far a session's log reaches. Raises NotFound (``session_not_found``)."""
    row = await tx.one(_SQL["newest"], session_ids(actor))
    if row is None:
        raise unknown_session()
    return Newest(row["last_seq"], row["closed"])


class Trust:
    """What one process knows of the sessions that it used lately."""

    def __init__(self, database: Database, keys: KeyRing, calls: Calls, every: float) -> None:
        self._database = database
        self._keys = keys
        self._calls = calls
        self._every = every
        self._places: OrderedDict[tuple[str, str | None], Place] = OrderedDict()
        self.questions = 0
        """How often the log was asked."""

    def known(self, actor: Actor) -> Place | None:
        """Return the place of a session that may be believed without asking."""
        place = self._places.get((actor.user, actor.session))
        if (
            place is None
            or place.epoch != self._calls.epoch
            or place.until < time.monotonic()
            or not self._is_current(place, actor)
        ):
            return None
        return place

    async def asked(self, actor: Actor) -> Place:
        """Ask the log how new a session is, and whether its user is there and agrees to be remembered.

        Raises NotFound (``session_not_found``) and what opening a transaction raises.
        """
        epoch = self._calls.epoch
        async with self._database.transaction(actor) as tx:
            found = await newest(tx, actor)
            key = await self._keys.obtain(tx, actor)
        self.questions += 1
        place = self._place(actor, key)
        place.seq = max(place.seq, found.seq)
        place.until, place.epoch = time.monotonic() + self._every, epoch
        return place

    async def logged(self, actor: Actor, seq: int) -> Place:
        """Note that this process has logged up to ``seq``."""
        recent = self._keys.recent(actor)
        place = await self.asked(actor) if recent is None else self._place(actor, recent[0])
        place.seq = max(place.seq, seq)
        return place

    def forget(self, actor: Actor) -> Place | None:
        """Know nothing of a session any more; return what was known."""
        return self._places.pop((actor.user, actor.session), None)

    def forget_names(self, names: frozenset[bytes]) -> None:
        """Know nothing any more of sessions by the names of their windows."""
        for slot in [slot for slot, place in self._places.items() if place.name in names]:
            del self._places[slot]

    def _is_current(self, place: Place, actor: Actor) -> bool:
        recent = self._keys.recent(actor)
        return recent is not None and recent[0].key_id == place.key.key_id

    def _place(self, actor: Actor, key: DataKey) -> Place:
        slot = (actor.user, actor.session)
        place = self._places.get(slot)
        if place is None or place.key.key_id != key.key_id:
            secret = WindowKey.of(key)
            place = self._places[slot] = Place(secret, secret.name(actor), 0, 0.0, -1)
            if len(self._places) > _MOST:
                self._places.popitem(last=False)
        self._places.move_to_end(slot)
        return place
