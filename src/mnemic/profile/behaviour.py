"""Where do a user's intents lie on average, the latest counting most? Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from mnemic.errors import InvalidInput
from mnemic.model import Vector

HALF_LIFE = timedelta(days=30)
"""After this time an intent counts half."""
_LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A mean of vectors of one model, how much weight it carries, and since when."""

    mean: Vector
    weight: float
    at: datetime
    model_id: int


def note(before: Behaviour | None, intent: Vector, model_id: int, at: datetime) -> Behaviour:
    """Return the mean with one more intent.

    Vectors of another model or length begin anew: the two cannot be compared. The intent counts at length 1.
    Raises InvalidInput (``invalid_vector``) for one that is empty, not finite, or zero.
    """
    unit = _unit(intent)
    if before is None or before.model_id != model_id or len(before.mean) != len(unit):
        return Behaviour(unit, 1.0, at, model_id)
    age = max(0.0, (at - before.at) / HALF_LIFE)
    weight = before.weight * 0.5**age
    total = weight + 1.0
    mean = tuple((old * weight + new) / total for old, new in zip(before.mean, unit, strict=True))
    return Behaviour(mean, total, max(at, before.at), model_id)


def _unit(vector: Vector) -> Vector:
    numbers = isinstance(vector, tuple | list) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in vector
    )
    length = math.hypot(*vector) if numbers and 1 <= len(vector) <= 4_000 else 0.0
    if not (math.isfinite(length) and length > _LEAST):
        raise InvalidInput("invalid_vector", "An intent is a vector of 1 to 4,000 finite numbers.")
    return tuple(value / length for value in vector)
