"""How are stored texts embedded anew, in batches that a crash interrupts and the next run continues?

Vectors of the next model go into a table beside the rows, each with the version of the row that it was made
from. Nothing that is searched changes before the switch. A text that the model refuses keeps its old vector
and the reason is kept instead; an endpoint that does not answer stops the run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from uuid import UUID

from mnemic.crypto import DataKey, place
from mnemic.embedding.registry import Model
from mnemic.errors import EmbeddingError, KeyUnavailable
from mnemic.keys import KeyRing
from mnemic.model import Actor, Vector
from mnemic.storage.halfvec import HalfVector, HalfVectors
from mnemic.storage.pool import Transaction
from mnemic.storage.statements import statements

_SQL = statements("embedding")
BATCH = 64
"""Rows that are embedded and kept together, whosever they are."""
PAGE = 256
NOBODY = UUID(int=0)
_ABOUT_TEXT = frozenset(
    (
        "embedding_blank",
        "embedding_bad_text",
        "embedding_zero",
        "embedding_not_finite",
        "embedding_bad_answer",
        "text_too_long_for_model",
    )
)
_REFUSED = (400, 413, 422)
Row = Mapping[str, Any]
Opened = Callable[[Actor], AbstractAsyncContextManager[Transaction]]
Progress = Callable[[int], None]
"""Is told the number of rows that became ready."""


@dataclass(frozen=True, slots=True)
class ChunkText:
    """What a chunk's vectors are made of: the window around it, and its own passages."""

    window: str
    passages: tuple[str, ...] = ()


class ChunkTexts(Protocol):
    """Reads the texts of chunks: from the message log, or from the chunk itself."""

    async def __call__(
        self, tx: Transaction, key: DataKey, actor: Actor, rows: Sequence[Row]
    ) -> Mapping[UUID, ChunkText]:
        """Return the texts by chunk id; a chunk whose text is gone is left out.

        Rows hold id, resource_id, ordinal, text_enc, kind and session_id.
        """


@dataclass(frozen=True, slots=True)
class _Waiting:
    table: str
    scope_key: str
    id: UUID
    version: int
    texts: tuple[str, ...]
    damaged: str | None = None


@dataclass(slots=True)
class Refill:
    """One run towards ``target``. ``opened`` gives the transactions that it reads and keeps in.

    ``own_too``: whether vectors of users' own models are replaced as well (in one user's change), or only
    those of the deployment's (in a change of the deployment's).
    """

    opened: Opened
    keys: KeyRing
    target: Model
    chunk_texts: ChunkTexts
    own_too: bool
    progress: Progress
    _batch: list[_Waiting] = field(default_factory=list)

    async def scope(self, actor: Actor, scope_key: str) -> None:
        """Embed what waits in one scope; the last of it may stay in the batch until ``flush``."""
        for read in (self._items, self._chunks):
            after = NOBODY
            while True:
                found, last = await read(actor, scope_key, after)
                for waiting in found:
                    self._batch.append(waiting)
                    if len(self._batch) >= BATCH:
                        await self.flush(actor)
                if last is None:
                    break
                after = last

    async def flush(self, actor: Actor) -> None:
        """Embed and keep the batch. Raises EmbeddingError when the model does not answer."""
        batch, self._batch = self._batch, []
        if not batch:
            return
        most = self.target.embedder.max_chars
        # a chunk is cut to what the model reads, as it was when it was indexed; an item never is
        texts = [t[:most] if one.table == "chunk" else t for one in batch for t in one.texts]
        answers = await self.target.vectors(texts)
        rows: dict[str, list[dict[str, Any]]] = {"memory_item": [], "chunk": []}
        start = 0
        for one in batch:
            end = start + len(one.texts)
            rows[one.table].append(self._row(one, answers[start:end]))
            start = end
        async with self.opened(actor) as tx:
            await tx.many(_SQL["keep_item"], rows["memory_item"])
            await tx.many(_SQL["keep_chunk"], rows["chunk"])
        self.progress(len(batch))

    def _row(self, one: _Waiting, answers: Sequence[Vector | EmbeddingError]) -> dict[str, Any]:
        for answer in answers:
            if isinstance(answer, EmbeddingError) and not is_about_text(answer):
                raise answer
        found = _arranged(answers)
        refused = [answer.code for answer in answers if isinstance(answer, EmbeddingError)]
        return {
            "scope_key": one.scope_key,
            "id": one.id,
            "model_id": self.target.model_id,
            "row_version": one.version,
            "embedding": HalfVector(found[0]) if found else None,
            "passages": HalfVectors(found[1:]),
            "reason": None if found else one.damaged or refused[0],
        }

    def _params(self, scope_key: str, after: UUID) -> dict[str, Any]:
        return {
            "scope_key": scope_key,
            "model_id": self.target.model_id,
            "own_too": self.own_too,
            "after": after,
            "limit": PAGE,
        }

    async def _items(
        self, actor: Actor, scope_key: str, after: UUID
    ) -> tuple[list[_Waiting], UUID | None]:
        async with self.opened(actor) as tx:
            rows = await tx.all(_SQL["waiting_items"], self._params(scope_key, after))
            key = await self.keys.find(tx, actor, scope_key) if rows else None
        found = [_item(key, scope_key, row) for row in rows]
        return found, rows[-1]["id"] if len(rows) == PAGE else None

    async def _chunks(
        self, actor: Actor, scope_key: str, after: UUID
    ) -> tuple[list[_Waiting], UUID | None]:
        async with self.opened(actor) as tx:
            rows = await tx.all(_SQL["waiting_chunks"], self._params(scope_key, after))
            key = await self.keys.find(tx, actor, scope_key) if rows else None
            texts = await self.chunk_texts(tx, key, actor, rows) if key else {}
        found = [_chunk(scope_key, row, texts.get(row["id"])) for row in rows]
        return found, rows[-1]["id"] if len(rows) == PAGE else None


def _arranged(answers: Sequence[Vector | EmbeddingError]) -> tuple[Vector, ...]:
    """Return the vectors, that of the whole first; the first part stands in for a whole without one."""
    found = tuple(answer for answer in answers if not isinstance(answer, EmbeddingError))
    stands_in = bool(found) and isinstance(answers[0], EmbeddingError)
    return found[:1] if stands_in and len(found) == 1 else found[:1] * stands_in + found


def inside(tx: Transaction) -> Opened:
    """Return what hands out an open transaction: for the last rows, while all writers wait for it."""

    @asynccontextmanager
    async def opened(actor: Actor) -> AsyncIterator[Transaction]:
        yield replace(tx, known_user=True, project_keys=actor.project_scope)

    return opened


def is_about_text(error: EmbeddingError) -> bool:
    """Tell whether an error speaks of its text alone, so that the others can go on."""
    if error.code == "embedding_refused":
        return error.details.get("status") in _REFUSED
    return error.code in _ABOUT_TEXT


def _item(key: DataKey | None, scope_key: str, row: Row) -> _Waiting:
    version = row["row_version"]
    if key is None:
        return _Waiting("memory_item", scope_key, row["id"], version, (), "data_key_missing")
    try:
        at = place("memory_item", scope_key, row["id"], "content", version)
        texts = (key.open(row["content_enc"], at),)
    except KeyUnavailable as damaged:
        return _Waiting("memory_item", scope_key, row["id"], version, (), damaged.code)
    return _Waiting("memory_item", scope_key, row["id"], version, texts)


def _chunk(scope_key: str, row: Row, text: ChunkText | None) -> _Waiting:
    version = row["row_version"]
    if text is None:
        return _Waiting("chunk", scope_key, row["id"], version, (), "chunk_text_missing")
    return _Waiting("chunk", scope_key, row["id"], version, (text.window, *text.passages))
