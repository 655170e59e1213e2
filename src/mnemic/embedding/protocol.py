"""What must an embedder promise, and which of its vectors may be stored?

Anything with these three attributes and one method is an Embedder; see
docs/reference/embedder-protocol.md. Callers go through ``embed_all``, which asks only for texts
that can have a vector and lets no zero, infinite, NaN or wrong-sized vector through: one of these
in a table would upset every later search.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import Protocol

from mnemic.errors import EmbeddingError
from mnemic.model import Vector

MAX_DIMS = 4000
"""The widest half-precision vector that pgvector can index."""


class Embedder(Protocol):
    """Turns texts into vectors of one fixed width."""

    @property
    def name(self) -> str:
        """Stable name of the model; name and dims together identify its vectors."""

    @property
    def dims(self) -> int:
        """Width of every vector, 1 to 4000."""

    @property
    def max_chars(self) -> int:
        """Longest text taken, in characters. Longer texts are refused, never cut."""

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float] | EmbeddingError]:
        """Return one result a text, in order: ``dims`` numbers, or why this text has no vector.

        Raises EmbeddingError when the whole call failed. Must not block the event loop.
        """


_UNIT = 1e-6
"""How far the length of a vector may be from 1: a half float tells no smaller difference."""


def checked(vector: Sequence[float], dims: int) -> Vector:
    """Return ``vector`` scaled to length 1.

    Raises EmbeddingError: ``embedding_wrong_dimension``, ``embedding_not_finite`` (also for what is
    no number) or ``embedding_zero``.
    """
    if len(vector) != dims:
        raise EmbeddingError(
            "embedding_wrong_dimension",
            f"The model gave {len(vector)} numbers, not {dims}: check its name and dimensions.",
            expected=dims,
            got=len(vector),
        )
    try:
        values = list(map(float, vector))
    except (TypeError, ValueError, OverflowError):
        values = [math.nan]
    length = math.hypot(*values)
    if abs(length - 1.0) < _UNIT:
        return tuple(values)
    if 0.0 < length < math.inf:
        return tuple(value / length for value in values)
    if not all(map(math.isfinite, values)):
        raise EmbeddingError(
            "embedding_not_finite", "The model gave a vector with a value that is no finite number."
        )
    largest = max(map(abs, values))
    if largest == 0.0:
        raise EmbeddingError("embedding_zero", "The model gave a vector of zeros for this text.")
    # its length alone leaves the range of a float
    scaled = [value / largest for value in values]
    length = math.hypot(*scaled)
    return tuple(value / length for value in scaled)


async def embed_all(embedder: Embedder, texts: Sequence[str]) -> list[Vector | EmbeddingError]:
    """Return one checked vector of length 1, or the reason why there is none, for each text.

    Blank (``embedding_blank``), broken (``embedding_bad_text``: unpaired surrogates) and over-long
    texts (``text_too_long_for_model``) never reach the embedder. Raises EmbeddingError when the
    whole call failed, or (``embedding_bad_answer``) when the count of answers is wrong.
    """
    results: list[Vector | EmbeddingError | None] = [
        refusal(text, embedder.max_chars) for text in texts
    ]
    wanted = [index for index, result in enumerate(results) if result is None]
    if wanted:
        answers = await embedder.embed([texts[index] for index in wanted])
        if len(answers) != len(wanted):
            raise EmbeddingError(
                "embedding_bad_answer",
                f"The embedder gave {len(answers)} answers for {len(wanted)} texts.",
                expected=len(wanted),
                got=len(answers),
            )
        for index, answer in zip(wanted, answers, strict=True):
            results[index] = _vector_or_reason(answer, embedder.dims)
    return [result for result in results if result is not None]


def refusal(text: str, max_chars: int) -> EmbeddingError | None:
    """Return why ``text`` can have no vector, None when it can."""
    if len(text) > max_chars:
        return too_long(len(text), max_chars)
    if any("\ud800" <= char <= "\udfff" for char in text):
        return EmbeddingError("embedding_bad_text", "The text holds half a character: repair it.")
    if all(char.isspace() or unicodedata.category(char)[0] == "C" for char in text):
        return EmbeddingError("embedding_blank", "A blank text has no vector: send words.")
    return None


def too_long(chars: int, limit: int | None = None) -> EmbeddingError:
    """Return the refusal of a text longer than the model reads (``limit`` in characters)."""
    most = "than the model reads" if limit is None else f"than {limit} characters"
    return EmbeddingError(
        "text_too_long_for_model",
        f"The text is longer {most}: split it into chunks first.",
        chars=chars,
        limit=limit,
    )


def _vector_or_reason(
    answer: Sequence[float] | EmbeddingError, dims: int
) -> Vector | EmbeddingError:
    if isinstance(answer, EmbeddingError):
        return answer
    try:
        return checked(answer, dims)
    except EmbeddingError as reason:
        return reason
