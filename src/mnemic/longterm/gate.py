"""May this text be stored, and beside, instead of, or not because of what is known already?

Pure: ``screen`` looks at the text alone, ``decide`` at the text and its nearest neighbours. The order is the
design's (section 4): normalise, confidence, sensitive, length, exact hash, near-duplicate and judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from mnemic.errors import InvalidInput
from mnemic.longterm.instructions import instruction_like
from mnemic.longterm.judge import Judgement
from mnemic.longterm.sensitive import DEFAULT_CATEGORIES, find_sensitive, mask
from mnemic.model import Verdict
from mnemic.text import normalise, reading_length

Judge = Callable[[str, str, float | None], Judgement]


@dataclass(frozen=True, slots=True)
class Limits:
    """The gate's settings; shares from 0 to 1, lengths in characters."""

    min_confidence: float = 0.7
    confirm_below: float = 0.8
    min_length: int = 5
    max_length: int = 2000
    duplicate_threshold: float = 0.85
    categories: frozenset[str] = DEFAULT_CATEGORIES
    on_sensitive: Literal["refuse", "mask"] = "refuse"


@dataclass(frozen=True, slots=True)
class Screened:
    """A text that passed on its own. ``pending`` names why it awaits confirmation, if it does."""

    text: str
    confidence: float
    pending: str | None = None
    removed: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A stored text that may be the same, or older."""

    id: UUID
    text: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What the neighbours say: ``duplicate_of`` one, or a new row that supersedes some."""

    duplicate_of: UUID | None = None
    supersedes: tuple[UUID, ...] = ()
    why: str | None = None


def screen(content: object, confidence: object, limits: Limits, user: str) -> Screened | Verdict:
    """Return the text as it would be stored, or the verdict that refuses it.

    Raises InvalidInput for what is no text (``content_not_text``) and for a confidence outside 0 to 1
    (``confidence_out_of_range``).
    """
    if not isinstance(content, str):
        raise InvalidInput("content_not_text", "The content of a memory must be text.")
    trust = checked_confidence(confidence)
    if len(content) > 8 * limits.max_length:
        return _too_long(limits)  # no pattern runs over a text that cannot pass anyway
    normalised = normalise(content)
    if trust < limits.min_confidence:
        return _refusal("confidence_too_low", f"Confidence is below {limits.min_confidence}.")
    text = normalised.text
    masked: tuple[str, ...] = ()
    findings = find_sensitive(text, limits.categories)
    if findings:
        masked = tuple(sorted({finding.category for finding in findings}))
        if limits.on_sensitive == "refuse":
            reason = f"sensitive_{findings[0].category}"
            return _refusal(reason, f"Not stored: it holds {' and '.join(masked)}.", masked=masked)
        text = mask(text, findings, user)
    refused = _length(text, limits)
    if refused is not None:
        return refused
    return Screened(text, trust, _pending(text, trust, limits), normalised.removed, masked)


def decide(text: str, neighbours: Sequence[Neighbour], judge: Judge, threshold: float) -> Decision:
    """Judge the neighbours at or above ``threshold``, most similar first.

    One that says the same makes the text a duplicate; those that say an older value are superseded.
    """
    retired: list[UUID] = []
    why: str | None = None
    for neighbour in sorted(neighbours, key=lambda n: -n.similarity):
        if neighbour.similarity < threshold:
            break
        judgement = judge(neighbour.text, text, neighbour.similarity)
        if judgement.label == "same":
            return Decision(duplicate_of=neighbour.id, why=judgement.why)
        if judgement.label == "newer":
            retired.append(neighbour.id)
            why = why or judgement.why
    return Decision(supersedes=tuple(retired), why=why)


def checked_confidence(value: object) -> float:
    """Return a share from 0 to 1. Raises InvalidInput (``confidence_out_of_range``)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput("confidence_out_of_range", "Confidence must be a number from 0 to 1.")
    if not math.isfinite(value) or not 0 <= value <= 1:
        raise InvalidInput("confidence_out_of_range", "Confidence must be a number from 0 to 1.")
    return float(value)


def _pending(text: str, confidence: float, limits: Limits) -> str | None:
    if instruction_like(text):
        return "instruction_like"
    return "confidence_unsure" if confidence < limits.confirm_below else None


def _length(text: str, limits: Limits) -> Verdict | None:
    if not text:
        return _refusal("text_blank", "There is no text to store.")
    if len(text) > limits.max_length:
        return _too_long(limits)
    if reading_length(text) < limits.min_length:
        return _refusal(
            "text_too_short",
            f"A memory has at least {limits.min_length} characters; a wide one counts as two.",
        )
    return None


def _too_long(limits: Limits) -> Verdict:
    return _refusal("text_too_long", f"A memory has at most {limits.max_length} characters.")


def _refusal(reason: str, message: str, masked: tuple[str, ...] = ()) -> Verdict:
    return Verdict("rejected", reason=reason, message=message, masked=masked)
