"""How does a user bring a model of their own, and how do their vectors follow?

The endpoint is tried and its model measured, the choice is stored as the next one, and the vectors follow
(``follow``). Whatever fails before all of them have leaves the old model in use and everything searchable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mnemic.checks import whole
from mnemic.crypto import DataKey
from mnemic.embedding import deeds
from mnemic.embedding.calibration import Curve, calibrate
from mnemic.embedding.follow import Chosen, Following, Progress, Reembedded, scopes_of
from mnemic.embedding.models import Models, close_embedder
from mnemic.embedding.own import Choice, Kept, Stage, add_model, kept, put
from mnemic.embedding.protocol import MAX_DIMS, Embedder
from mnemic.embedding.refill import ChunkTexts
from mnemic.errors import Conflict, EmbeddingError, InvalidInput
from mnemic.keys import KeyRing
from mnemic.model import Actor
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements

_SQL = statements("embedding")
_MAX_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A user's endpoint as it is shown: whether there is a key, never the key."""

    base_url: str
    model: str
    dims: int
    key_set: bool
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """What embeds for a user: ``own`` is None for the deployment's model.

    While a change is under way, ``changing`` is true and ``next`` the endpoint that it leads to (None: back
    to the deployment's model).
    """

    own: Endpoint | None
    changing: bool = False
    next: Endpoint | None = None


class Embeddings:
    """The embedding settings of users."""

    def __init__(
        self, database: Database, keys: KeyRing, models: Models, chunk_texts: ChunkTexts
    ) -> None:
        self._database = database
        self._keys = keys
        self._models = models
        self._following = Following(database, keys, models, chunk_texts)

    async def get(self, actor: Actor) -> EmbeddingSettings:
        """Return what embeds for the actor's user."""
        async with self._database.transaction(actor) as tx:
            key = await self._keys.find(tx, actor)
            found = await kept(tx, key, actor) if key is not None else {}
        coming = found.get("next")
        return EmbeddingSettings(_shown(found.get("active")), coming is not None, _shown(coming))

    async def set(
        self,
        actor: Actor,
        base_url: str,
        model: str,
        api_key: str | None = None,
        dims: int | None = None,
        *,
        progress: Progress | None = None,
    ) -> Reembedded:
        """Let an OpenAI-compatible endpoint embed for the actor's user, and embed anew what is stored.

        ``dims`` is 1 to 4,000, None for what the endpoint answers. The endpoint is tried and the model
        calibrated first: whatever is raised up to there changed nothing. An EmbeddingError after that left
        the old model in use; ``reembed`` goes on. A new key of the same model embeds nothing anew. Raises
        InvalidInput (``embedding_choice_invalid``, ``dims_out_of_range``), HostNotAllowed, and Conflict
        (``embedding_settings_changed``) when another choice was made meanwhile, which stands.
        """
        choice = _checked(base_url, model, api_key, dims)
        embedder = self._models.connect(choice)
        try:
            choice = replace(choice, dims=await _width(embedder))
            async with self._database.transaction(actor) as tx:
                key = await self._keys.obtain(tx, actor)
                known = [one.choice for one in (await kept(tx, key, actor)).values()]
            familiar = any(choice.same_model(one) for one in known)
            curve = None if familiar else await calibrate(embedder)
        finally:
            await close_embedder(embedder)
        async with self._database.transaction(actor) as tx:
            await tx.one(_SQL["hold_user"], {"scope_key": actor.user_scope})
            key = await self._keys.obtain(tx, actor)
            chosen = await self._choose(tx, key, actor, choice, curve)
        self._models.forget(actor)
        return await self._following.run(actor, progress, chosen)

    async def clear(self, actor: Actor, *, progress: Progress | None = None) -> Reembedded:
        """Let the deployment's model embed for the actor's user again; as ``set`` in all else."""
        async with self._database.transaction(actor) as tx:
            await tx.one(_SQL["hold_user"], {"scope_key": actor.user_scope})
            key = await self._keys.find(tx, actor)
            found = await kept(tx, key, actor) if key is not None else {}
            coming = found.get("next")
            if found and not (coming is not None and coming.choice is None):
                await self._give_up(tx, actor)
                if key is not None and "active" in found:
                    await put(tx, key, actor, "next", None, None)
                await tx.answer(None, deeds.cleared(actor, _meant(found)))
        return await self._following.run(actor, progress, Chosen(None))

    async def reembed(self, actor: Actor, *, progress: Progress | None = None) -> Reembedded:
        """Go on with a change that was interrupted; without one, embed what was left behind.

        Raises EmbeddingError when the model does not answer; what is ready is kept for the next call.
        """
        return await self._following.run(actor, progress)

    async def _choose(
        self, tx: Transaction, key: DataKey, actor: Actor, choice: Choice, curve: Curve | None
    ) -> Chosen:
        found = await kept(tx, key, actor)
        active, coming = found.get("active"), found.get("next")
        if active is not None and choice.same_model(active.choice):
            model_id = active.model_id
            await put(tx, key, actor, "active", choice, model_id)
            await self._give_up(tx, actor)
        else:
            if coming is not None and choice.same_model(coming.choice):
                model_id = coming.model_id
            elif curve is not None:
                model_id = await add_model(tx, choice.dims, curve)
            else:
                raise Conflict(
                    "embedding_settings_changed", "The settings were changed just now: try again."
                )
            await put(tx, key, actor, "next", choice, model_id)
            await tx.run(_SQL["clear_user"], scopes_of(actor) | {"model_id": model_id})
        await tx.answer(None, *deeds.chosen(actor, _meant(found), choice))
        return Chosen(model_id)

    async def _give_up(self, tx: Transaction, actor: Actor) -> None:
        """Drop a change that was under way, with the vectors made for it."""
        await tx.run(_SQL["drop_settings"], scopes_of(actor) | {"stage": "next"})
        await tx.run(_SQL["clear_user"], scopes_of(actor) | {"model_id": None})


async def _width(embedder: Embedder) -> int:
    """Try the endpoint with one word, and return the width of its vectors."""
    (answer,) = await embedder.embed(["memory"])
    if isinstance(answer, EmbeddingError):
        raise answer
    return whole(len(answer), 1, MAX_DIMS, "dims")


def _checked(base_url: object, model: object, api_key: object, dims: object) -> Choice:
    texts: Sequence[object] = (base_url, model) if api_key is None else (base_url, model, api_key)
    for text in texts:
        if not (isinstance(text, str) and text.strip() and len(text) <= _MAX_TEXT):
            raise InvalidInput(
                "embedding_choice_invalid",
                f"Base URL, model and key must be text of 1 to {_MAX_TEXT:,} characters.",
            )
    width = 0 if dims is None else whole(dims, 1, MAX_DIMS, "dims")
    key = api_key.strip() if isinstance(api_key, str) else None
    return Choice(str(base_url).strip().rstrip("/"), str(model).strip(), width, key)


def _meant(found: Mapping[Stage, Kept]) -> Choice | None:
    """Return what the user chose last, None for the deployment's model."""
    last = found.get("next") or found.get("active")
    return None if last is None else last.choice


def _shown(found: Kept | None) -> Endpoint | None:
    if found is None or found.choice is None:
        return None
    choice = found.choice
    return Endpoint(
        choice.base_url, choice.model, choice.dims, choice.api_key is not None, found.updated_at
    )
