"""What stands in for a model where meaning does not matter? Hashed character n-grams, the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b

from mnemic.embedding.calibration import Curve, builtin_pairs, cosines, curve_from

DIMS = 64


class StubEmbedder:
    """An Embedder without a model: texts with many characters in common are near to each other."""

    name = "stub-character-ngrams"
    dims = DIMS
    max_chars = 8_000

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return one vector of length 1 a text."""
        return [vector(text) for text in texts]


def vector(text: str) -> tuple[float, ...]:
    """Return the vector of a text. Characters say nothing across languages, so the second text of a pair
    that is made for calibration leans on the first."""
    own, first = _counted(text), _partners().get(text)
    return (
        own if first is None else _unit([a + b for a, b in zip(own, _counted(first), strict=True)])
    )


@cache
def curve() -> Curve:
    """Return the curve that calibration draws for the stub."""
    texts = {text for pair in builtin_pairs() for text in (pair.first, pair.second)}
    return curve_from(cosines(builtin_pairs(), {text: vector(text) for text in texts}))


@cache
def _partners() -> dict[str, str]:
    return {pair.second: pair.first for pair in builtin_pairs() if pair.label != "unrelated"}


def _counted(text: str) -> tuple[float, ...]:
    folded = text.casefold()
    values = [0.0] * DIMS
    for piece in [folded[i : i + n] for n in (2, 3) for i in range(len(folded) - n + 1)]:
        digest = blake2b(piece.encode(), digest_size=4).digest()
        values[digest[0] % DIMS] += 1.0 if digest[1] % 2 else -1.0
    return _unit(values)


def _unit(values: Sequence[float]) -> tuple[float, ...]:
    length = math.sqrt(sum(value * value for value in values))
    return tuple(value / length for value in values) if length else (1.0,) + (0.0,) * (DIMS - 1)
