"""What was said last, within a few milliseconds? The hot window in front of a session's message log.

The log (PostgreSQL) is written first and holds the truth; the window (Redis) can be lost at any time. A read
takes the window only when it is whole and as new as what is known of the log (``window_trust``); otherwise
the turns come from the log, and the window is built anew (docs/explain/session-window.md).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import structlog
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mnemic.checks import whole
from mnemic.crypto import DataKey
from mnemic.errors import InvalidInput, MnemicError, reason_of
from mnemic.keys import KeyRing
from mnemic.model import Actor, Turn, Vector, known_actor
from mnemic.session.messages import MAX_READ, Logged, MessageLog, read_turns, session_ids
from mnemic.session.window_blocks import (
    Block,
    DamagedBlock,
    blocks_of,
    fitting,
    turns_in,
    vectors_in,
)
from mnemic.session.window_counts import WindowCounts
from mnemic.session.window_keys import WindowKey
from mnemic.session.window_store import Bounds, Found, WindowStore
from mnemic.session.window_trust import Place, Trust, newest
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.redis_calls import RedisAway
from mnemic.storage.statements import statements

__all__ = ["Bounds", "Encode", "Window", "WindowCounts"]

VERIFY_EVERY = 60.0
"""Seconds for which a process takes a window without asking the log how new it is."""
_LOG = structlog.get_logger("mnemic.window")
_SQL = statements("window")
Told = Callable[[Actor, Sequence[Vector]], None]
"""Is given the vectors of what an actor's user said; must not wait."""
Encode = Callable[[Actor, Sequence[str]], Awaitable[Sequence[Vector | None]]]
"""The one encoder of a user's texts, whatever their kind (docs/adr/0011-one-encoder-for-turns.md)."""


class _Sealed(NamedTuple):
    """What a window answered, and what opens it."""

    cipher: AESGCM
    name: bytes
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
        told: Told | None = None,
        verify_every: float = VERIFY_EVERY,
    ) -> None:
        """Without a ``store`` everything comes from the log. ``encode`` gives new turns their vectors, and
        ``told`` gets those of what users said."""
        self.counts = WindowCounts()
        self._database = database
        self._keys = keys
        self._store = store
        self._log = log
        self._encode = encode
        self._told = told
        self._trust = Trust(database, keys, store.calls, verify_every) if store else None
        self._token = os.urandom(8)

    @property
    def away(self) -> bool:
        """Whether there is no Redis at the moment, so that everything comes from the log."""
        return self._store is None or self._store.calls.away

    async def append(
        self, actor: Actor, turns: Sequence[Turn], vectors: Sequence[Vector | None] = ()
    ) -> list[int]:
        """Append turns to the log, then to the window; return their sequence numbers.

        ``vectors`` is empty or has one for each turn; the encoder makes those that are not given. Raises as
        ``MessageLog.log``, and InvalidInput (``vectors_not_matching``); never for Redis.
        """
        if vectors and len(vectors) != len(turns):
            raise InvalidInput("vectors_not_matching", "Give one vector for each turn, or none.")
        store = self._store
        try:
            logged, vectors = await self._logged(actor, turns, vectors)
            place = await self._place(actor, logged)
        except InvalidInput:
            raise  # before anything was logged
        except BaseException:
            self._doubt(actor)  # what was logged then is not known
            raise
        if store is not None and place is not None:
            if len(logged.new) != len(vectors):  # some were there before
                known = dict(zip(logged.seqs, vectors, strict=False))
                vectors = [known.get(turn.seq or 0) for turn in logged.new] if known else ()
            await self._push(store, place, logged.new, vectors)
            if self._told is not None:
                said = zip(logged.new, vectors, strict=False)
                self._told(actor, [v for turn, v in said if v is not None and turn.role == "user"])
        return list(logged.seqs)

    async def _logged(
        self, actor: Actor, turns: Sequence[Turn], vectors: Sequence[Vector | None]
    ) -> tuple[Logged, Sequence[Vector | None]]:
        """Append to the log, and meanwhile make the vectors."""
        if self._store is None or self._encode is None:
            return await self._log.log(actor, turns), vectors
        encoding = asyncio.ensure_future(self._encoded(self._encode, actor, turns, vectors))
        try:
            return await self._log.log(actor, turns), await encoding
        finally:
            encoding.cancel()

    async def _place(self, actor: Actor, logged: Logged) -> Place | None:
        """Return where the window lies that logged turns go into, None where that cannot be told.

        They are in the log all the same, so that an error here (the user was erased meanwhile, the database
        went away) must not look as if they were not.
        """
        if self._trust is None or not logged.seqs:
            return None
        try:
            return await self._trust.logged(actor, max(logged.seqs))
        except MnemicError:
            self._doubt(actor)
            return None

    def _doubt(self, actor: Actor) -> None:
        """See to it that nobody takes the window of a session for as new as its log."""
        if self._store is not None and self._trust is not None:
            place = self._trust.forget(actor)
            if place is not None:
                self._store.calls.owe(place.name)

    async def read(self, actor: Actor, last: int = 20) -> list[Turn]:
        """Return the newest ``last`` turns (0 to 10,000), oldest first; all when there are fewer.

        Raises NotFound (``session_not_found``) for a session that has no log, InvalidInput
        (``last_out_of_range``, ``session_required``), and the errors of the database when it is asked.
        """
        if not _wanted(actor, last):
            return []
        sealed = await self._sealed(actor, last, vectors=False)
        if isinstance(sealed, _Sealed):
            try:
                turns = turns_in(*sealed)[-last:]
            except DamagedBlock:
                sealed = await self._damaged(sealed)
            else:
                self.counts.hits += 1
                return turns
        return await self._from_log(actor, last, rebuild=sealed)

    async def with_vectors(self, actor: Actor, last: int = 20) -> list[tuple[Turn, Vector | None]]:
        """Return the newest turns as ``read``, each with its vector, None where the window has none."""
        if not _wanted(actor, last):
            return []
        sealed = await self._sealed(actor, last, vectors=True)
        if isinstance(sealed, _Sealed):
            try:
                pairs = list(zip(turns_in(*sealed), vectors_in(*sealed), strict=True))[-last:]
            except DamagedBlock:
                sealed = await self._damaged(sealed)
            else:
                self.counts.hits += 1
                return pairs
        return [(turn, None) for turn in await self._from_log(actor, last, rebuild=sealed)]

    async def pin(self, actor: Actor, seqs: Sequence[int], *, pinned: bool = True) -> int:
        """Pin turns in the log, or no longer, as ``MessageLog.pin``; the window is built anew."""
        count = await self._log.pin(actor, seqs, pinned=pinned)
        await self.drop(actor)
        return count

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

    async def names(self, tx: Transaction, actor: Actor) -> list[bytes]:
        """Return the names of all windows of the actor's user: before an erase, for ``remove`` after it.

        ``tx`` has the user to itself, so that no session begins meanwhile.
        """
        scope = {"user_id": known_actor(actor).user, "sessions_scope": actor.session_prefix}
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

    async def _sealed(self, actor: Actor, last: int, *, vectors: bool) -> _Sealed | bool:
        """Return what the window has of the newest turns, or whether the log shall build it anew."""
        store, trust = self._store, self._trust
        if store is None or trust is None:
            return False
        if store.calls.away:
            self.counts.away += 1
            return False
        place = trust.known(actor) or await trust.asked(actor)
        try:
            found = await store.read(place.name, last, self._token, vectors=vectors)
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
        return _Sealed(place.key.cipher, place.name, found.blocks)

    async def _from_log(self, actor: Actor, last: int, *, rebuild: bool) -> list[Turn]:
        store = self._store
        wanted = max(last, store.bounds.turns) if store is not None and rebuild else last
        async with self._database.transaction(actor) as tx:
            log = await newest(tx, actor)
            key = await self._keys.obtain(tx, actor)
            after = max(0, log.seq - wanted)
            turns = await read_turns(tx, key, actor, after=after, until=log.seq)
        if store is not None and rebuild:
            await self._fill(store, actor, key, [] if log.closed else turns)
        return turns[-last:]

    async def _fill(
        self, store: WindowStore, actor: Actor, key: DataKey, turns: Sequence[Turn]
    ) -> None:
        secret = WindowKey.of(key)
        name = secret.name(actor)
        blocks = blocks_of(secret.cipher, name, turns[-store.bounds.turns :])
        room = fitting(blocks, store.bounds.size)
        try:
            if room:
                self.counts.rebuilt += await store.fill(name, self._token, room)
            else:
                await store.drop(name)
        except RedisAway:
            return

    async def _damaged(self, sealed: _Sealed) -> bool:
        """Remove a window whose values do not open; whoever reads next builds it anew."""
        self.counts.broken += 1
        await self.remove([sealed.name])
        return False

    async def _push(
        self,
        store: WindowStore,
        place: Place,
        turns: Sequence[Turn],
        vectors: Sequence[Vector | None],
    ) -> None:
        """Put new turns into the window; where that fails it must go before anybody believes it."""
        if not turns:
            return
        part = slice(-store.bounds.turns, None)
        blocks = blocks_of(place.key.cipher, place.name, turns[part], vectors[part])
        try:
            if len(fitting(blocks, store.bounds.size)) == len(blocks):
                await store.push(place.name, blocks)
            else:
                await store.drop(place.name)
        except (RedisAway, asyncio.CancelledError) as error:
            self.counts.unpushed += 1
            store.calls.owe(place.name)
            if not isinstance(error, RedisAway):
                raise
        else:
            self.counts.pushed += 1

    async def _encoded(
        self,
        encode: Encode,
        actor: Actor,
        turns: Sequence[Turn],
        vectors: Sequence[Vector | None],
    ) -> Sequence[Vector | None]:
        """Return a vector for each turn; one that cannot be made is None and costs nothing else."""
        known = list(vectors or [None] * len(turns))
        wanted = [n for n, vector in enumerate(known) if vector is None]
        try:
            made = await encode(actor, [turns[n].content for n in wanted]) if wanted else ()
        except Exception as error:  # noqa: BLE001 - the turn is logged all the same
            if not isinstance(error, MnemicError):
                _LOG.warning("turns not encoded", **reason_of(error))
            made = [None] * len(wanted)
        self.counts.unencoded += sum(vector is None for vector in made)
        for n, vector in zip(wanted, made, strict=True):
            known[n] = vector
        return known


def _wanted(actor: Actor, last: int) -> bool:
    """Whether any turn is wanted. Raises InvalidInput for what cannot be."""
    session_ids(actor)
    return whole(last, 0, MAX_READ, "last") > 0
