"""How do the turns of a conversation become searchable?

Every turn of the message log becomes a chunk of its session's one resource, in the user's scope. The text
stays in the log; the chunk holds vectors and blind words. A batch is embedded without a transaction, then
written together with the watermark: a crash leaves a turn indexed or not, and of two runs at once the later
one finds the watermark moved and looks again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from mnemic.crypto import DataKey
from mnemic.embedding.models import Models
from mnemic.embedding.registry import Model
from mnemic.errors import NotFound
from mnemic.ids import new_id
from mnemic.item_rows import blind_lexemes
from mnemic.keys import KeyRing
from mnemic.model import Actor, Turn, Vector
from mnemic.resources.turns import READ, Reading, counted, read_turn, speaker_mac
from mnemic.resources.vectors import vectors_of, vectors_of_turn
from mnemic.session.messages import read_turns, session_ids
from mnemic.storage.halfvec import HalfVector, HalfVectors
from mnemic.storage.pool import Database, of_one_life
from mnemic.storage.statements import statements

_SQL = statements("resources")
_LOG = structlog.get_logger("mnemic.resources")
BATCH = 48
"""Turns that are embedded and written together."""


@dataclass(frozen=True, slots=True)
class _Work:
    """Turns to index, ``after < seq <= until``, with the turns around them."""

    key: DataKey
    life: int
    after: int
    until: int
    turns: Mapping[int, Turn]

    def reading(self, seq: int) -> Reading:
        return read_turn(self.turns[seq], self.turns.get(seq - 1), self.turns.get(seq + 1))


class Conversations:
    """Indexes the message log of sessions."""

    def __init__(self, database: Database, keys: KeyRing, models: Models) -> None:
        self._database = database
        self._keys = keys
        self._models = models

    async def index(self, actor: Actor) -> int:
        """Index what the actor's session has said since the last time; return the number of new turns.

        Blank turns count and leave no chunk. Raises InvalidInput (``session_required``), NotFound
        (``session_not_found``), and EmbeddingError when the embedder does not answer: what was written
        stays, and the next call goes on behind it.
        """
        done, seen = 0, 0
        while work := await self._next(actor):
            # the turn before the new ones, where it was indexed without them: its window is made again
            again = [work.after] if seen != work.after and work.after in work.turns else []
            new = [seq for seq in work.turns if work.after < seq <= work.until]
            readings = {seq: work.reading(seq) for seq in (*again, *new)}
            model = await self._models.for_actor(actor)
            vectors = await vectors_of(model, _texts(readings))
            rows = await asyncio.to_thread(self._rows, actor, work, readings, vectors, model)
            with of_one_life(work.life):
                written = await self._write(
                    actor, work, model, rows[: len(again)], rows[len(again) :]
                )
            if written:
                done += len(new)
                seen = work.until if work.until + 1 in work.turns else 0
        return done

    async def _next(self, actor: Actor) -> _Work | None:
        async with self._database.transaction(actor) as tx:
            state = await tx.one(_SQL["session_watermark"], _session(actor))
            if state is None:
                raise NotFound("session_not_found", "There is no such session.")
            after = state["indexed_seq"]
            until = min(state["last_seq"], after + BATCH)
            if after >= until:
                return None
            key = await self._keys.obtain(tx, actor)
            turns = await read_turns(tx, key, actor, after=max(0, after - 2), until=until + 1)
        return _Work(
            key, tx.key_epoch, after, until, {turn.seq: turn for turn in turns if turn.seq}
        )

    def _rows(
        self,
        actor: Actor,
        work: _Work,
        readings: Mapping[int, Reading],
        vectors: Mapping[str, Vector],
        model: Model,
    ) -> list[dict[str, Any]]:
        """Return one row a turn, in order; a blank turn's is empty of words and has no vector of its own."""
        rows = []
        for seq, reading in readings.items():
            turn = work.turns[seq]
            if len(turn.content) > READ:
                _LOG.info("long_turn_cut_for_vectors", seq=seq, chars=len(turn.content), read=READ)
            around, own = vectors_of_turn(reading, vectors)
            words = counted(turn.content) if seq > work.after else {}
            rows.append(
                {
                    "scope_key": actor.user_scope,
                    "ordinal": seq,
                    "role": reading.role,
                    "asking": reading.asking,
                    "stands": reading.stands,
                    "speaker_mac": reading.speaker and speaker_mac(work.key, reading.speaker),
                    "occurred_at": turn.created_at,
                    "embedding": around and HalfVector(around),
                    "passages": HalfVectors(own),
                    "model_id": model.model_id,
                    "lexemes": blind_lexemes(work.key, words),
                    "n_tokens": sum(words.values()),
                    "blank": not turn.content.strip(),
                }
            )
        return rows

    async def _write(
        self,
        actor: Actor,
        work: _Work,
        model: Model,
        again: Sequence[dict[str, Any]],
        new: Sequence[dict[str, Any]],
    ) -> bool:
        """Write a batch and move the watermark; False when another run was faster."""
        session = _session(actor)
        async with self._database.transaction(actor) as tx:
            await self._models.hold(tx, actor, actor.user_scope, model)
            now = await tx.one(_SQL["lock_watermark"], session)
            if now is None or now["indexed_seq"] != work.after:
                return False
            conversation = session | {
                "scope_key": actor.user_scope,
                "id": new_id(),
                "owner_id": actor.user,
                "occurred_at": new[0]["occurred_at"] if new else None,
            }
            await tx.run(_SQL["add_conversation"], conversation)
            row = await tx.one(_SQL["conversation"], conversation)
            assert row is not None
            of = {"resource_id": row["id"]}
            kept = [row | of | {"id": new_id()} for row in new if not row["blank"]]
            await tx.many(_SQL["look_again"], [row | of for row in again])
            await tx.many(_SQL["add_turn"], kept)
            counts = {"scope_key": actor.user_scope, "id": row["id"], "count": len(kept)}
            await tx.run(_SQL["count_chunks"], counts)
            await tx.run(_SQL["mark_indexed"], session | {"seq": work.until})
        return True


def _session(actor: Actor) -> dict[str, Any]:
    ids = session_ids(actor)
    return {"session_scope": ids["scope_key"], "session_id": ids["session_id"]}


def _texts(readings: Mapping[int, Reading]) -> list[str]:
    return [text for one in readings.values() for text in (one.window, *one.passages)]
