"""Where does a query over turns point to: its whole, its sentences, and what its user wishes in general?"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from mnemic.embedding.registry import Model
from mnemic.errors import EmbeddingError
from mnemic.model import Vector
from mnemic.retrieval.asked import sentences

LENT_VECTOR = 0.1
"""How much of their own direction standing memories add to the vector of a wish for help."""


async def query_vector(model: Model, query: str, standing: Sequence[str] = ()) -> Vector:
    """Return the vector of a query: half whole, half the mean of its sentences if it has several.

    A little of the mean of ``standing`` is added, so that what is near to it comes nearer and nothing else
    moves away. What of all this has no vector is left out, but for the query: raises EmbeddingError.
    """
    parts = sentences(query)
    if not parts and not standing:
        return await model.vector(query)
    whole, *rest = await model.vectors([query, *parts, *standing])
    if isinstance(whole, EmbeddingError):
        return await model.vector(query)
    vector = whole
    said, lent = rest[: len(parts)], rest[len(parts) :]
    for texts, kept, added in ((said, 0.5, 0.5), (lent, 1.0, LENT_VECTOR)):
        found = [answer for answer in texts if not isinstance(answer, EmbeddingError)]
        if found and len(found) == len(texts):
            vector = _blend(vector, kept, found, added)
    return vector


def _blend(vector: Vector, kept: float, others: Sequence[Vector], added: float) -> Vector:
    """Return so much of ``vector`` and so much of the direction of the others' mean."""
    sums = [sum(column) for column in zip(*others, strict=True)]
    length = sqrt(sum(value * value for value in sums)) or 1.0
    return tuple(
        kept * own + added * value / length for own, value in zip(vector, sums, strict=True)
    )
