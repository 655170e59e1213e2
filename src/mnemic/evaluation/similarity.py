"""How similar does the local encoder find two texts?"""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.embedding.calibration import calibrate
from mnemic.embedding.local import LocalEncoder
from mnemic.embedding.protocol import embed_all
from mnemic.errors import EmbeddingError


async def pair_similarity(pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """Return the calibrated similarity of each pair of texts. Raises EmbeddingError."""
    encoder = LocalEncoder()
    try:
        curve = await calibrate(encoder)
        texts = list({text for pair in pairs for text in pair})
        found = dict(zip(texts, await embed_all(encoder, texts), strict=True))
    finally:
        await encoder.aclose()
    similarities = {}
    for first, second in pairs:
        a, b = found[first], found[second]
        if isinstance(a, EmbeddingError):
            raise a
        if isinstance(b, EmbeddingError):
            raise b
        similarities[first, second] = curve(sum(x * y for x, y in zip(a, b, strict=True)))
    return similarities
