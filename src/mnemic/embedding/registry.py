"""Which model made the vectors of this deployment, and what do its cosines mean?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.types.json import Jsonb

from mnemic.embedding.calibration import Curve, calibrate
from mnemic.embedding.protocol import Embedder, embed_all
from mnemic.errors import ConfigurationError, EmbeddingError
from mnemic.model import Vector
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements

_SQL = statements("models")


@dataclass(frozen=True, slots=True)
class Model:
    """An embedder with its place in the database and its calibration curve."""

    embedder: Embedder
    model_id: int
    curve: Curve

    async def vectors(self, texts: Sequence[str]) -> list[Vector | EmbeddingError]:
        """Return one vector, or the reason why there is none, for each text."""
        return await embed_all(self.embedder, texts) if texts else []

    async def vector(self, text: str) -> Vector:
        """Return the vector of one text. Raises EmbeddingError."""
        (result,) = await self.vectors([text])
        if isinstance(result, EmbeddingError):
            raise result
        return result


async def register(database: Database, embedder: Embedder) -> Model:
    """Return the model of this embedder as the deployment's; the first one ever is adopted.

    Raises ConfigurationError (``embedding_model_changed``) when the stored vectors are of another model.
    """
    model = await known(database, embedder)
    async with database.system() as tx:
        await tx.run(_SQL["adopt_model"], {"model_id": model.model_id})
        current = await tx.one(_SQL["deployment_model"])
    if current is None or current["model_id"] != model.model_id:
        raise _changed(current or {}, embedder)
    return model


async def known(database: Database, embedder: Embedder) -> Model:
    """Return the model of this embedder; one seen for the first time is calibrated and kept."""
    names = {"name": embedder.name, "dims": embedder.dims}
    async with database.system() as tx:
        row = await tx.one(_SQL["find_model"], names)
    if row is None:
        curve = await calibrate(embedder)
        async with database.system() as tx:
            await tx.run(_SQL["add_model"], names | {"calibration": Jsonb(curve.to_json())})
            row = await tx.one(_SQL["find_model"], names)
    assert row is not None
    return Model(embedder, row["model_id"], Curve.from_json(row["calibration"]))


async def models(database: Database) -> list[dict[str, object]]:
    """Return the deployment's models: id, name, dimensions, whether one is in use, and is indexed."""
    async with database.system() as tx:
        return [dict(row) for row in await tx.all(_SQL["list_models"])]


def _changed(current: dict[str, object], embedder: Embedder) -> ConfigurationError:
    return ConfigurationError(
        "embedding_model_changed",
        f"The stored vectors are of the model {current.get('name')} ({current.get('dims')} dimensions),"
        f" the configured one is {embedder.name} ({embedder.dims} dimensions):"
        f" configure the first one, or run `mnemic db reembed --model {embedder.name}`."
        " Nothing was changed.",
    )
