"""Which texts get a vector, and is a missing one the text's fault or the endpoint's?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import structlog

from mnemic.embedding.registry import Model
from mnemic.errors import EmbeddingError
from mnemic.model import Vector
from mnemic.resources.turns import Reading

_LOG = structlog.get_logger("mnemic.resources")
_ABOUT_TEXT = frozenset(
    (
        "embedding_blank",
        "embedding_bad_text",
        "embedding_zero",
        "embedding_not_finite",
        "embedding_bad_answer",
        "text_too_long_for_model",
    )
)
_REFUSED = (400, 413, 422)


async def vectors_of(model: Model, texts: Iterable[str]) -> dict[str, Vector]:
    """Return the vectors of texts by text; one that the model cannot read is cut, or left out.

    Raises EmbeddingError when the model did not answer for some of them: nothing may be kept then, or
    texts would stay without a vector because of a fault that passes.
    """
    most = model.embedder.max_chars
    wanted = list(dict.fromkeys(text for text in texts if text.strip()))
    found: dict[str, Vector] = {}
    refused: list[EmbeddingError] = []
    for text, result in zip(
        wanted, await model.vectors([text[:most] for text in wanted]), strict=True
    ):
        if not isinstance(result, EmbeddingError):
            found[text] = result
        elif _is_about(result):
            refused.append(result)
        else:
            raise result
    if refused:
        _settle(refused, bool(found))
    return found


def vectors_of_turn(
    reading: Reading, vectors: Mapping[str, Vector]
) -> tuple[Vector | None, tuple[Vector, ...]]:
    """Return a turn's window vector and those of its passages (none where they are the same).

    A window without a vector is stood in for by the turn's first passage.
    """
    own = tuple(vectors[text] for text in reading.passages if text in vectors)
    around = vectors.get(reading.window)
    if around is not None:
        return around, own
    return (own[0] if own else None), (own if len(own) > 1 else ())


def _is_about(error: EmbeddingError) -> bool:
    """Tell whether an error speaks of this text, so that trying again would not help."""
    if error.code == "embedding_refused":
        return error.details.get("status") in _REFUSED
    return error.code in _ABOUT_TEXT


def _settle(refused: list[EmbeddingError], others_passed: bool) -> None:
    """Go on without these vectors, unless every text was refused: that looks like a wrong model."""
    for error in refused:
        if error.code == "embedding_refused" and not others_passed:
            raise error
    _LOG.warning("no_vector", texts=len(refused), reasons=sorted({e.code for e in refused}))
