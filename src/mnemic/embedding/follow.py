"""How do a user's vectors follow to another model, while everything stays searchable?

Rows are embedded anew beside the vectors in use (``refill``), in rounds, for more may be written meanwhile.
Then one transaction, for which the user's writers wait, exchanges all vectors of all scopes and makes the
choice the active one. A crash at any moment leaves the old model in use; the next run goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from mnemic.embedding.models import Models, close_embedder
from mnemic.embedding.own import Kept, kept
from mnemic.embedding.refill import ChunkTexts, Opened, Refill, inside
from mnemic.embedding.registry import Model
from mnemic.errors import Conflict
from mnemic.keys import KeyRing
from mnemic.model import Actor
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements

_SQL = statements("embedding")
_ROUNDS, _OPEN_ROUNDS = 50, 3
"""A round embeds what was written during the one before; after three, the rest while writers wait."""
Progress = Callable[[int, int], None]
"""Is told how many rows are ready, of how many."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that the new model gave no vector for: words find it, and a later run tries again."""

    table: str
    id: UUID
    reason: str


@dataclass(frozen=True, slots=True)
class Reembedded:
    """How many rows have new vectors, and which model embeds now."""

    rows: int
    model: str
    dims: int
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True, slots=True)
class Chosen:
    """The model that somebody has just chosen; ``model_id`` is None for the deployment's."""

    model_id: int | None


@dataclass(frozen=True, slots=True)
class _Change:
    """Where one run leads: ``next`` is None when only stragglers are to follow the model in use."""

    target: Model
    next: Kept | None
    scopes: tuple[str, ...]


class Count:
    """Rows that are ready, of those that were expected so far; tells ``progress`` of both."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self.done = self.total = 0

    def expect(self, waiting: int) -> None:
        """Say how many rows still wait."""
        self.total = self.done + waiting

    def add(self, rows: int) -> None:
        """Count rows that became ready."""
        self.done += rows
        if self._progress is not None:
            self._progress(self.done, max(self.total, self.done))


class Following:
    """Runs the change of one user's vectors."""

    def __init__(
        self, database: Database, keys: KeyRing, models: Models, chunk_texts: ChunkTexts
    ) -> None:
        self._database = database
        self._keys = keys
        self._models = models
        self._chunk_texts = chunk_texts

    async def run(
        self, actor: Actor, progress: Progress | None = None, chosen: Chosen | None = None
    ) -> Reembedded:
        """Go on with a change that was interrupted; without one, embed what was left behind by others.

        With ``chosen`` only towards that model: raises Conflict (``embedding_settings_changed``) when another
        choice was made since. Raises EmbeddingError when the model does not answer; what is ready is kept for
        the next call.
        """
        count = Count(progress)
        for attempt in range(_ROUNDS):
            change = await self._planned(actor, chosen)
            try:
                count.expect(await self._waiting(actor, change))
                await self._fill(self._database.transaction, actor, change, count)
                last = count if attempt >= _OPEN_ROUNDS else None
                report = await self._switch(actor, change, last)
            finally:
                if change.target is not self._models.deployments:
                    await close_embedder(change.target.embedder)
            if report is not None:
                return report
        raise Conflict(
            "reembedding_outrun", "More was written than embedded anew: try again in a quiet hour."
        )

    async def _fill(self, opened: Opened, actor: Actor, change: _Change, count: Count) -> None:
        refill = Refill(opened, self._keys, change.target, self._chunk_texts, True, count.add)
        for scope_key in change.scopes:
            await refill.scope(actor, scope_key)
        await refill.flush(actor)

    async def _planned(self, actor: Actor, chosen: Chosen | None) -> _Change:
        async with self._database.transaction(actor) as tx:
            key = await self._keys.find(tx, actor)
            found = await kept(tx, key, actor) if key is not None else {}
            rows = await tx.all(_SQL["scopes_of_user"], scopes_of(actor))
            coming = found.get("next")
            meant = coming or found.get("active")
            if chosen is not None and chosen.model_id != (meant.model_id if meant else None):
                raise Conflict(
                    "embedding_settings_changed",
                    "Another choice of the embedding model was made meanwhile, and stands.",
                )
            target = await self._target(tx, actor, meant)
        return _Change(target, coming, tuple(row["scope_key"] for row in rows))

    async def _target(self, tx: Transaction, actor: Actor, meant: Kept | None) -> Model:
        if meant is None or meant.choice is None or meant.model_id is None or meant.curve is None:
            return await self._models.in_use(tx, actor, "project:")
        return Model(self._models.reach(meant.choice), meant.model_id, meant.curve)

    async def _waiting(self, actor: Actor, change: _Change) -> int:
        total = 0
        async with self._database.transaction(actor) as tx:
            for scope_key in change.scopes:
                total += await _unready(tx, scope_key, change.target)
        return total

    async def _switch(self, actor: Actor, change: _Change, last: Count | None) -> Reembedded | None:
        """Exchange the vectors in one transaction; None when rows have come that are not ready.

        With ``last`` these are embedded here, while the user's writers wait.
        """
        target = change.target
        async with self._database.transaction(actor) as tx:
            await tx.one(_SQL["hold_user"], {"scope_key": actor.user_scope})
            if not await self._still_meant(tx, actor, change):
                return None
            found = await tx.all(_SQL["scopes_of_user"], scopes_of(actor))
            scopes = tuple(row["scope_key"] for row in found)
            if last is not None:
                await self._fill(inside(tx), actor, replace(change, scopes=scopes), last)
            for scope_key in scopes:
                if await _unready(tx, scope_key, target):
                    return None
            rows, refused = await _exchange(tx, scopes, target)
            await self._activate(tx, actor, change.next)
        self._models.forget(actor)
        return Reembedded(rows, target.embedder.name, target.embedder.dims, refused)

    async def _still_meant(self, tx: Transaction, actor: Actor, change: _Change) -> bool:
        """Tell whether nobody has chosen otherwise since, nor changed the deployment's model."""
        key = await self._keys.find(tx, actor)
        found = await kept(tx, key, actor) if key is not None else {}
        coming = found.get("next")
        if _id_of(coming) != _id_of(change.next):
            return False
        meant = await self._target_id(tx, actor, coming or found.get("active"))
        return meant == change.target.model_id

    async def _target_id(self, tx: Transaction, actor: Actor, meant: Kept | None) -> int:
        if meant is not None and meant.model_id is not None:
            return meant.model_id
        return (await self._models.in_use(tx, actor, "project:")).model_id

    async def _activate(self, tx: Transaction, actor: Actor, coming: Kept | None) -> None:
        if coming is None:
            return
        await tx.run(_SQL["drop_settings"], scopes_of(actor) | {"stage": "active"})
        if coming.choice is None:
            await tx.run(_SQL["drop_settings"], scopes_of(actor) | {"stage": "next"})
        else:
            await tx.run(_SQL["activate_settings"], scopes_of(actor))
        await tx.run(_SQL["use_model"], scopes_of(actor) | {"model_id": coming.model_id})


def scopes_of(actor: Actor) -> dict[str, Any]:
    """Return the parameters that name all scopes of the actor's user."""
    return {
        "scope_key": actor.user_scope,
        "user_scope": actor.user_scope,
        "sessions": actor.session_prefix,
    }


def _id_of(coming: Kept | None) -> tuple[bool, int | None]:
    """Tell a change to a model, one back to the deployment's, and none apart."""
    return coming is not None, coming.model_id if coming else None


async def _exchange(
    tx: Transaction, scopes: tuple[str, ...], target: Model
) -> tuple[int, tuple[Refused, ...]]:
    rows = 0
    refused: list[Refused] = []
    for scope_key in scopes:
        params = {"scope_key": scope_key, "model_id": target.model_id}
        rows += await tx.run(_SQL["switch_items"], params)
        rows += await tx.run(_SQL["switch_chunks"], params)
        refused += [Refused(**row) for row in await tx.all(_SQL["refused"], params)]
        await tx.run(_SQL["clear_scope"], params)
    return rows, tuple(refused)


async def _unready(tx: Transaction, scope_key: str, target: Model) -> int:
    row = await tx.one(_SQL["unready"], {"scope_key": scope_key, "model_id": target.model_id})
    return int(row["waiting"]) if row else 0
