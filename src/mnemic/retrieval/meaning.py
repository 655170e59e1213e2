"""What does a query mean to the model of whoever asks, and what when that model does not answer?

Then words alone find something: a search never fails for want of a vector, and the log says why there was
none. Writing is another matter, and fails.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from mnemic.embedding.calibration import Curve
from mnemic.embedding.models import Models
from mnemic.embedding.registry import Model
from mnemic.errors import ConfigurationError, EmbeddingError, HostNotAllowed
from mnemic.model import Actor, Vector
from mnemic.storage.halfvec import HalfVector
from mnemic.storage.pool import Transaction

_LOG = structlog.get_logger("mnemic.search")


@dataclass(frozen=True, slots=True)
class Meaning:
    """A query's vector, with the model whose vectors it can be compared with; 0: with none."""

    model_id: int
    vector: HalfVector
    curve: Curve
    dims: int = 0


WORDS_ALONE = Meaning(0, HalfVector((1.0,)), Curve(((0.0, 0.0), (1.0, 1.0))))


class Meanings:
    """Embeds queries, each with the model of its actor."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def of(
        self,
        actor: Actor,
        embed: Callable[[Model], Awaitable[Vector]],
        *,
        of_project: bool = False,
    ) -> Meaning:
        """Return the meaning that ``embed`` makes with the actor's model; without vector, a warning.

        What is a project's has vectors of the deployment's model, whoever asks.
        """
        model = await self._models.for_scope(actor, "project" if of_project else "user")
        return await self.by(model, embed)

    async def by(self, model: Model, embed: Callable[[Model], Awaitable[Vector]]) -> Meaning:
        """Return the meaning that ``embed`` makes with this model; without vector, a warning."""
        try:
            vector = await embed(model)
        except (EmbeddingError, ConfigurationError) as reason:
            if not _passable(reason):
                raise
            _LOG.warning("search_by_words_alone", reason=reason.code, model_id=model.model_id)
            return WORDS_ALONE
        return Meaning(model.model_id, HalfVector(vector), model.curve, model.embedder.dims)

    def fits(
        self, tx: Transaction, actor: Actor, meaning: Meaning, *, of_project: bool = False
    ) -> bool:
        """Tell whether the vectors were of this model when the transaction began."""
        in_use = tx.deployment_model_id if of_project else tx.model_id
        if meaning.model_id in (0, in_use) or in_use is None:
            return True
        if not of_project:
            self._models.forget(actor)
        return False

    async def still_fits(
        self, tx: Transaction, actor: Actor, meaning: Meaning, *, of_project: bool = False
    ) -> bool:
        """Tell whether the vectors are of this model now; asked when a search compared none."""
        if meaning.model_id == 0:
            return True
        home = str(actor.project_scope) if of_project else actor.user_scope
        return (await self._models.in_use(tx, actor, home)).model_id == meaning.model_id


def _passable(reason: EmbeddingError | ConfigurationError) -> bool:
    """Tell a model that is away, or no longer allowed, from an installation that is broken."""
    return (
        isinstance(reason, EmbeddingError | HostNotAllowed)
        or reason.code == "embedding_model_changed"
    )
