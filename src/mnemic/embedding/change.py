"""How does a whole deployment change its model, while its users search?

The owner's work. All texts are embedded anew beside the vectors in use, user by user, each with that user's
key; a run that was killed is continued by the next one. Then one transaction, for which all writers wait,
exchanges the vectors of everybody and names the new model. Vectors of users' own models are left alone.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import structlog

from mnemic.embedding.calibration import builtin_pairs
from mnemic.embedding.follow import Count, Progress, Refused
from mnemic.embedding.protocol import Embedder, embed_all
from mnemic.embedding.refill import BATCH, ChunkTexts, Opened, Refill, Row, inside
from mnemic.embedding.registry import Model, known
from mnemic.errors import Conflict, ConsentRequired, EmbeddingError
from mnemic.keys import KeyRing
from mnemic.model import Actor
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements

_SQL = statements("maintenance")
_MODELS = statements("models")
_LOG = structlog.get_logger("mnemic.reembed")
_NOBODY = "nobody"
_ROUNDS, _OPEN_ROUNDS = 50, 3


@dataclass(frozen=True, slots=True)
class Size:
    """Rows that a change has to embed: items (archived and superseded ones included) and chunks.

    ``ready`` counts those that an earlier run has done already.
    """

    items: int
    chunks: int
    ready: int

    @property
    def waiting(self) -> int:
        return max(0, self.items + self.chunks - self.ready)


@dataclass(frozen=True, slots=True)
class Changed:
    """What a change did: ``rows`` of vectors were exchanged; ``before`` is the old model's name.

    ``in_use``: it was the deployment's model already, so that only stragglers followed. ``given_up`` names
    the model of another change that was under way.
    """

    rows: int
    model: str
    dims: int
    before: str
    refused: tuple[Refused, ...] = ()
    in_use: bool = False
    given_up: str | None = None


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A change that was begun and not finished."""

    model: str
    dims: int
    size: Size


class ModelChange:
    """Changes the model of a deployment; ``database`` is a pool of the owner's login, of 3 or more."""

    def __init__(self, database: Database, keys: KeyRing, chunk_texts: ChunkTexts) -> None:
        self._database = database
        self._keys = keys
        self._chunk_texts = chunk_texts

    async def run(self, embedder: Embedder, progress: Progress | None = None) -> Changed:
        """Change to the model of ``embedder``, or go on with it; without anything to do, nothing is done.

        Raises Conflict (``reembedding_under_way``) while another process does the same, EmbeddingError
        when the model does not answer (what is ready is kept), and what ``registry.known`` raises.
        """
        target = await known(self._database, embedder)
        async with self._database.system() as alone:
            row = await alone.one(_SQL["one_at_a_time"])
            if row is None or not row["alone"]:
                raise Conflict(
                    "reembedding_under_way", "Another process is changing the model: wait for it."
                )
            async with self._database.system() as tx:
                state = await self._begin(tx, target)
            count = Count(progress)
            for attempt in range(_ROUNDS):
                count.expect((await self.size(target)).waiting)
                await self._fill(self._database.transaction, target, count)
                done = await self._switch(target, count if attempt >= _OPEN_ROUNDS else None)
                if done is not None:
                    return _changed(target, state, *done)
        raise Conflict(
            "reembedding_outrun", "More was written than embedded anew: try again in a quiet hour."
        )

    async def preview(self, embedder: Embedder) -> tuple[Size, float]:
        """Return what a change to this embedder would have to do, and about how many seconds it takes.

        Its pace is measured with texts that come with Mnemic; nothing is changed or kept.
        """
        names = {"name": embedder.name, "dims": embedder.dims}
        async with self._database.system() as tx:
            row = await tx.one(_MODELS["find_model"], names)
            size = await _size(tx, row["model_id"] if row else 0)
        return size, size.waiting * await _pace(embedder)

    async def size(self, target: Model) -> Size:
        """Return how many rows the change to ``target`` has to embed."""
        async with self._database.system() as tx:
            return await _size(tx, target.model_id)

    async def _begin(self, tx: Transaction, target: Model) -> Row:
        """Name the model that the change leads to; return which one was in use, and which on its way."""
        params = {"model_id": target.model_id}
        state = await tx.one(_SQL["state"])
        await tx.run(_SQL["begin_change"], params)
        await tx.run(_SQL["drop_others"], params)
        return state or {}

    async def _fill(self, opened: Opened, target: Model, count: Count) -> None:
        async for scope_key in self._scopes():
            # one batch a scope: nobody's texts wait in it until somebody else's fill it
            refill = Refill(opened, self._keys, target, self._chunk_texts, False, count.add)
            actor = actor_of(scope_key)
            try:
                await refill.scope(actor, scope_key)
                await refill.flush(actor)
            except ConsentRequired:
                _LOG.info("reembedding skipped a user who refused")

    async def _scopes(self) -> AsyncIterator[str]:
        """Walk along the index, from each scope key to the next greater one, past users who refused."""
        after = ""
        while True:
            async with self._database.system() as tx:
                row = await tx.one(_SQL["next_scope"], {"after": after})
            if row is None or row["scope_key"] is None:
                return
            after = row["scope_key"]
            if not row["refused"]:
                yield after

    async def _switch(
        self, target: Model, last: Count | None
    ) -> tuple[int, tuple[Refused, ...]] | None:
        """Exchange all vectors in one transaction; None when rows have come that are not ready.

        With ``last`` these are embedded here, while all writers wait.
        """
        params: dict[str, Any] = {"model_id": target.model_id}
        async with self._database.system() as tx:
            await tx.one(_SQL["hold_everyone"])
            if last is not None:
                await self._fill(inside(tx), target, last)
            waiting = await tx.one(_SQL["unready"], params)
            if waiting is None or waiting["waiting"]:
                return None
            rows = await tx.run(_SQL["switch_items"], params)
            rows += await tx.run(_SQL["switch_chunks"], params)
            refused = tuple(Refused(**row) for row in await tx.all(_SQL["refused"], params))
            await tx.run(_SQL["end_change"], params)
            await tx.run(_SQL["clear"], params)
        return rows, refused


async def under_way(database: Database) -> UnderWay | None:
    """Return the change that waits to be finished, as the owner sees it."""
    async with database.system() as tx:
        state = await tx.one(_SQL["state"])
        if state is None or state["next_model_id"] is None:
            return None
        size = await _size(tx, state["next_model_id"])
    return UnderWay(state["next_name"], state["next_dims"], size)


def _changed(target: Model, state: Row, rows: int, refused: tuple[Refused, ...]) -> Changed:
    dropped = state.get("next_model_id") not in (None, target.model_id)
    return Changed(
        rows,
        target.embedder.name,
        target.embedder.dims,
        state.get("name") or "",
        refused,
        in_use=state.get("model_id") == target.model_id,
        given_up=state["next_name"] if dropped else None,
    )


async def _size(tx: Transaction, model_id: int) -> Size:
    row = await tx.one(_SQL["size"], {"model_id": model_id})
    assert row is not None
    return Size(row["items"], row["chunks"], row["ready"])


async def _pace(embedder: Embedder) -> float:
    """Return the seconds that a row takes, about."""
    texts = [pair.first for pair in builtin_pairs()[:BATCH]]
    await embed_all(embedder, texts[:1])  # a model that must be loaded first is loaded once
    began = time.monotonic()
    for answer in await embed_all(embedder, texts):
        if isinstance(answer, EmbeddingError):
            raise answer
    return (time.monotonic() - began) / len(texts)


def actor_of(scope_key: str) -> Actor:
    """Return the actor whose own scope this is; for a project's, nobody in particular on a job there."""
    kind, _, rest = scope_key.partition(":")
    user, _, session = rest.partition("/")
    if kind == "user":
        return Actor(unquote(user), purpose="job")
    if kind == "session":
        return Actor(unquote(user), session=unquote(session), purpose="job")
    return Actor(_NOBODY, project=unquote(rest), purpose="job")
