"""What was said last, within a few milliseconds? The hot window in front of a session's message log.

The log (PostgreSQL) is written first and holds the truth; the window (Redis) can be lost at any time. A read
takes the window only when it is whole and as new as what is known of the log (``window_trust``); otherwise
the turns come from the log, and the window is built anew (docs/explain/session-window.md).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from mnemic.checks import whole
from mnemic.crypto import DataKey
from mnemic.errors import InvalidInput, MnemicError
from mnemic.keys import KeyRing
from mnemic.model import Actor, Turn, Vector, known_actor
from mnemic.session.messages import MAX_READ, MessageLog, read_turns, session_ids
from mnemic.session.window_blocks import (
    Block,
    DamagedBlock,
    Mark,
    blocks_of,
    fitting,
    marks_in,
    turns_in,
)
from mnemic.session.window_counts import WindowCounts
from mnemic.session.window_keys import WindowKey
from mnemic.session.window_store import Bounds, Found, WindowStore
from mnemic.session.window_trust import Place, Trust, newest
from mnemic.storage.pool import Database
from mnemic.storage.redis_calls import RedisAway
from mnemic.storage.statements import statements
from mnemic.text import normalise

__all__ = ["Bounds", "Encode", "Mark", "Marked", "Window", "WindowCounts"]

VERIFY_EVERY = 60.0
"""Seconds for which a process takes a window without asking the log how new it is."""
_SQL = statements("window")
_NO_MARK = Mark()
Encode = Callable[[Actor, Sequence[str]], Awaitable[Sequence[Vector | None]]]
"""The one encoder of a user's texts, whatever their kind (docs/adr/0011-one-encoder-for-turns.md)."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A turn with its mark; an empty one where the window does not know it (any more)."""

    turn: Turn
    mark: Mark


@dataclass(frozen=True, slots=True)
class _Sealed:
    """What a window answered, and what opens it."""

    place: Place
    blocks: Sequence[Block]


class Window:
    """The windows of all sessions; methods are safe to call from many tasks of one event loop."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        store: WindowStore | None,
        log: MessageLog,
        *,
        encode: Encode | None = None,
        verify_every: float = VERIFY_EVERY,
    ) -> None:
        """Without a ``store`` everything comes from the log. ``encode`` gives new turns their vectors."""
        self.counts = WindowCounts()
        self._database = database
        self._keys = keys
        self._store = store
        self._log = log
        self._encode = encode
        self._trust = Trust(database, keys, store.calls, verify_every) if store else None
        self._token = os.urandom(8)

    @property
    def away(self) -> bool:
        """Whether there is no Redis at the moment, so that everything comes from the log."""
        return self._store is None or self._store.calls.away

    async def append(
        self, actor: Actor, turns: Sequence[Turn], marks: Sequence[Mark] = ()
    ) -> list[int]:
        """Append turns to the log, then to the window; return their sequence numbers.

        ``marks`` is empty or has one for each turn; a mark without a vector gets one from the encoder. Raises
        as ``MessageLog.append``, and InvalidInput (``marks_not_matching``); never for Redis.
        """
        if marks and len(marks) != len(turns):
            raise InvalidInput("marks_not_matching", "Give one mark for each turn, or none.")
        stamped = _stamped(turns)
        if self._store is None or self._trust is None or not isinstance(stamped, list):
            return await self._log.append(actor, stamped)
        if self._encode is None:
            seqs = await self._log.append(actor, stamped)
        else:
            encoding = asyncio.ensure_future(self._encoded(self._encode, actor, stamped, marks))
            try:
                seqs = await self._log.append(actor, stamped)
                marks = await encoding
            finally:
                encoding.cancel()
        if seqs:
            place = await self._trust.logged(actor, seqs[-1])
            kept = [_kept(turn, seq) for turn, seq in zip(stamped, seqs, strict=True)]
            await self._push(self._store, place, kept, marks)
        return seqs

    async def read(self, actor: Actor, last: int = 20) -> list[Turn]:
        """Return the newest ``last`` turns (0 to 10,000), oldest first; all when there are fewer.

        Raises NotFound (``session_not_found``) for a session that has no log, InvalidInput
        (``last_out_of_range``, ``session_required``), and the errors of the database when it is asked.
        """
        if not _checked(actor, last):
            return []
        sealed = await self._sealed(actor, last, marks=False)
        if isinstance(sealed, _Sealed):
            try:
                place = sealed.place
                turns = turns_in(place.key.cipher, place.name, sealed.blocks)[-last:]
            except DamagedBlock:
                self.counts.broken += 1
                sealed = True
            else:
                self.counts.hits += 1
                return turns
        return await self._from_log(actor, last, rebuild=sealed)

    async def marked(self, actor: Actor, last: int = 20) -> list[Marked]:
        """Return the newest turns with their marks, as ``read``."""
        if not _checked(actor, last):
            return []
        sealed = await self._sealed(actor, last, marks=True)
        if isinstance(sealed, _Sealed):
            cipher, name = sealed.place.key.cipher, sealed.place.name
            try:
                turns = turns_in(cipher, name, sealed.blocks)[-last:]
                marks = marks_in(cipher, name, sealed.blocks)[-last:]
            except DamagedBlock:
                self.counts.broken += 1
                sealed = True
            else:
                self.counts.hits += 1
                return [Marked(turn, mark) for turn, mark in zip(turns, marks, strict=True)]
        logged = await self._from_log(actor, last, rebuild=sealed)
        return [Marked(turn, _NO_MARK) for turn in logged]

    async def drop(self, actor: Actor) -> None:
        """Remove the window of the actor's session; the log stays. If Redis is away: once it is back."""
        session_ids(actor)
        recent = self._keys.recent(actor)
        key = recent[0] if recent is not None else None
        if key is None:
            async with self._database.transaction(actor, consent=False) as tx:
                key = await self._keys.find(tx, actor)
        if key is not None:
            await self.remove([WindowKey.of(key).name(actor)])

    async def names(self, actor: Actor) -> list[bytes]:
        """Return the names of all windows of the actor's user: before an erase, for ``remove`` after it."""
        scope = {"user_id": known_actor(actor).user, "sessions_scope": actor.session_prefix}
        async with self._database.transaction(actor, consent=False) as tx:
            rows = await tx.all(_SQL["sessions"], scope)
            key = await self._keys.find(tx, actor)
        if key is None:
            return []
        secret = WindowKey.of(key)
        return [secret.name_of(actor.user_scope, row["scope_key"]) for row in rows]

    async def remove(self, names: Sequence[bytes]) -> None:
        """Remove windows by name: after an erase, or when a user no longer agrees to be remembered."""
        store = self._store
        if store is None or self._trust is None:
            return
        self._trust.forget_names(frozenset(names))
        for name in names:
            try:
                await store.drop(name)
            except RedisAway:
                store.calls.owe(name)

    async def close(self) -> None:
        """Close the connections to Redis; idempotent."""
        if self._store is not None:
            await self._store.calls.close()

    async def _sealed(self, actor: Actor, last: int, *, marks: bool) -> _Sealed | bool:
        """Return what the window has of the newest turns, or whether the log shall build it anew."""
        store, trust = self._store, self._trust
        if store is None or trust is None:
            return False
        if store.calls.away:
            self.counts.away += 1
            return False
        place = trust.known(actor) or await trust.asked(actor)
        try:
            found = await store.read(place.name, last, self._token, marks=marks)
        except RedisAway:
            self.counts.away += 1
            return False
        if place.epoch != store.calls.epoch:
            place = await trust.asked(actor)
        return self._judged(place, found, last)

    def _judged(self, place: Place, found: Found, last: int) -> _Sealed | bool:
        if found.state != "whole":
            self.counts.broken += found.state == "broken"
            self.counts.absent += found.state != "broken"
            return found.state != "others"
        if found.last < place.seq:
            self.counts.stale += 1
            return True
        if found.last - found.first + 1 < last and found.first != 1:
            self.counts.short += 1
            return False
        return _Sealed(place, found.blocks)

    async def _from_log(self, actor: Actor, last: int, *, rebuild: bool) -> list[Turn]:
        store = self._store
        wanted = max(last, store.bounds.turns) if store is not None and rebuild else last
        async with self._database.transaction(actor) as tx:
            log = await newest(tx, actor)
            key = await self._keys.obtain(tx, actor)
            after = max(0, log.seq - wanted)
            turns = await read_turns(tx, key, actor, after=after, until=log.seq)
        if store is not None and rebuild and turns and not log.closed:
            await self._fill(store, actor, key, turns)
        return turns[-last:]

    async def _fill(
        self, store: WindowStore, actor: Actor, key: DataKey, turns: Sequence[Turn]
    ) -> None:
        secret = WindowKey.of(key)
        name = secret.name(actor)
        blocks = blocks_of(secret.cipher, name, turns[-store.bounds.turns :])
        try:
            filled = await store.fill(name, self._token, fitting(blocks, store.bounds.size))
        except RedisAway:
            return
        self.counts.rebuilt += filled

    async def _push(
        self, store: WindowStore, place: Place, turns: Sequence[Turn], marks: Sequence[Mark]
    ) -> None:
        """Put new turns into the window; where that fails it must go before anybody believes it."""
        newest = slice(-store.bounds.turns, None)
        blocks = blocks_of(place.key.cipher, place.name, turns[newest], marks[newest])
        try:
            if len(fitting(blocks, store.bounds.size)) == len(blocks):
                await store.push(place.name, blocks)
            else:
                await store.drop(place.name)
        except RedisAway:
            self.counts.unpushed += 1
            store.calls.owe(place.name)
        else:
            self.counts.pushed += 1

    async def _encoded(
        self, encode: Encode, actor: Actor, turns: Sequence[Turn], marks: Sequence[Mark]
    ) -> Sequence[Mark]:
        """Return the marks with vectors; a turn whose vector fails goes without."""
        known = marks or [_NO_MARK] * len(turns)
        wanted = [n for n, mark in enumerate(known) if mark.vector is None]
        if not wanted:
            return known
        try:
            vectors = await encode(actor, [turns[n].content for n in wanted])
        except MnemicError:
            self.counts.unencoded += len(wanted)
            return known
        self.counts.unencoded += sum(vector is None for vector in vectors)
        found = dict(zip(wanted, vectors, strict=True))
        return [replace(mark, vector=found.get(n, mark.vector)) for n, mark in enumerate(known)]


def _checked(actor: Actor, last: int) -> bool:
    """Whether anything is wanted. Raises InvalidInput for what cannot be."""
    session_ids(actor)
    return whole(last, 0, MAX_READ, "last") > 0


def _stamped(turns: Sequence[Turn]) -> Sequence[Turn]:
    """Return the turns with a time each; what is no list of turns is left to the log to refuse."""
    if not isinstance(turns, list | tuple) or not all(isinstance(turn, Turn) for turn in turns):
        return turns
    now = datetime.now(UTC)
    return [turn if turn.created_at else replace(turn, created_at=now) for turn in turns]


def _kept(turn: Turn, seq: int) -> Turn:
    """Return a turn as the log keeps it."""
    speaker = normalise(turn.speaker).text or None if turn.speaker else None
    return replace(turn, content=normalise(turn.content).text, speaker=speaker, seq=seq)
