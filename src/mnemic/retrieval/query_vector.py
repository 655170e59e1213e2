"""Where does a query point to: its whole, its parts, and what its user wishes in general?"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from mnemic.embedding.registry import Model
from mnemic.errors import EmbeddingError
from mnemic.model import Vector
from mnemic.retrieval.asked import parts_of, whole

LENT_VECTOR = 0.1
"""How much of their own direction standing memories add to the vector of a wish for help."""


async def query_vector(
    model: Model, query: str, standing: Sequence[str] = (), *, by_sentence: bool = True
) -> Vector:
    """Return the vector of a query: half whole, half the mean of its parts if it has several.

    These are the lines of a conversation, and of any other query its sentences, if ``by_sentence``.

    A little of the mean of ``standing`` is added, so that what is near to it comes nearer and nothing else
    moves away. What of all this has no vector is left out, but for the query: raises EmbeddingError.
    """
    text, parts = whole(query), parts_of(query, by_sentence=by_sentence)
    if not parts and not standing:
        return await model.vector(text)
    first, *rest = await model.vectors([text, *(part for part, _ in parts), *standing])
    if isinstance(first, EmbeddingError):
        return await model.vector(text)
    said, lent = rest[: len(parts)], rest[len(parts) :]
    vector = _blend(first, 0.5, said, [count for _, count in parts], 0.5)
    return _blend(vector, 1.0, lent, [1.0] * len(lent), LENT_VECTOR)


def _blend(
    vector: Vector,
    kept: float,
    others: Sequence[Vector | EmbeddingError],
    counts: Sequence[float],
    added: float,
) -> Vector:
    """Return so much of ``vector`` and so much of the direction of the others' mean, where all have one."""
    found = [other for other in others if not isinstance(other, EmbeddingError)]
    if not found or len(found) < len(others):
        return vector
    sums = [
        sum(count * value for count, value in zip(counts, column, strict=True))
        for column in zip(*found, strict=True)
    ]
    length = sqrt(sum(value * value for value in sums)) or 1.0
    return tuple(
        kept * own + added * value / length for own, value in zip(vector, sums, strict=True)
    )
