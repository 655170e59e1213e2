"""May this text be stored, and beside, instead of, or not because of what is known already?

Pure: ``screen`` looks at the text alone, ``decide`` at the text and its nearest neighbours. The order is the
design's (section 4): normalise, confidence, sensitive, length, exact hash, near-duplicate and judge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from mnemic.checks import share
from mnemic.errors import InvalidInput
from mnemic.longterm.instructions import reads_as_order
from mnemic.longterm.judge import Judgement
from mnemic.longterm.judge.reading import read
from mnemic.longterm.judge.sentences import LONG
from mnemic.longterm.sensitive import DEFAULT_CATEGORIES, Finding, find_in, mask
from mnemic.longterm.sensitive.fold import Folded, fold
from mnemic.model import Verdict
from mnemic.text import normalise, reading_length, says_something

Judge = Callable[[str, str, float | None], Judgement]

DISTANT = 0.5
"""Calibrated similarity from which a statement that announces a change may retire another."""
_CERTAIN = frozenset({"slot_changed", "kind_denied"})
"""Reasons of the judge that hold however different the wording: one employer, a kind and its members."""
OLDER = "older_than_known"


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
    """A stored text that may be the same, or older, or newer, with the time since when it is true.

    ``same_slot`` says that both fill an attribute of which there is one at a time, such as an employer.
    ``others`` names the member of a project who wrote it, where the asker may not change it.
    """

    id: UUID
    text: str
    similarity: float
    valid_from: datetime | None = None
    same_slot: bool = False
    others: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What the neighbours say: ``duplicate_of`` one, or a new row that supersedes some.

    ``superseded_by`` is set for a text that arrives late: what is known since ``until`` replaced it. What
    would be superseded and is another's stays beside it as ``contested``; what is said again and is
    another's (``untouched``) gains nothing from it.
    """

    duplicate_of: UUID | None = None
    supersedes: tuple[UUID, ...] = ()
    why: str | None = None
    superseded_by: UUID | None = None
    until: datetime | None = None
    contested: tuple[Neighbour, ...] = ()
    untouched: bool = False


def screen(content: object, confidence: object, limits: Limits, user: str) -> Screened | Verdict:
    """Return the text as it would be stored, or the verdict that refuses it.

    Raises InvalidInput for what is no text (``content_not_text``) and for a confidence outside 0 to 1
    (``confidence_out_of_range``).
    """
    if not isinstance(content, str):
        raise InvalidInput("content_not_text", "The content of a memory must be text.")
    trust = share(confidence, "confidence")
    if len(content) > 8 * limits.max_length:
        return _too_long(limits)  # no pattern runs over a text that cannot pass anyway
    normalised = normalise(content)
    if trust < limits.min_confidence:
        return _refusal("confidence_too_low", f"Confidence is below {limits.min_confidence}.")
    text = normalised.text
    masked: tuple[str, ...] = ()
    folded = fold(text)
    findings = find_in(folded, limits.categories)
    if findings:
        masked = tuple(sorted({finding.category for finding in findings}))
        if limits.on_sensitive == "refuse":
            return refused_sensitive(findings)
        text = mask(text, findings, user)
        folded = fold(text)
    refused = _length(text, limits)
    if refused is not None:
        return refused
    return Screened(text, trust, _pending(folded, trust, limits), normalised.removed, masked)


def refused_sensitive(findings: Sequence[Finding]) -> Verdict:
    """Return the refusal of what holds these findings, of which there is one at least."""
    masked = tuple(sorted({finding.category for finding in findings}))
    reason = f"sensitive_{findings[0].category}"
    return _refusal(reason, f"Not stored: it holds {' and '.join(masked)}.", masked=masked)


def decide(
    text: str,
    neighbours: Sequence[Neighbour],
    judge: Judge,
    threshold: float,
    since: datetime | None = None,
) -> Decision:
    """Judge the neighbours, most similar first; ``since`` is when the text began to be true (None: now).

    One at or above ``threshold``, or in the same slot, that says the same makes the text a duplicate.
    Those that say an older value are superseded; one that says a value of a later time supersedes the text
    itself. Other neighbours are of use for a text that announces a change; of them only what is certain
    counts.
    """
    retired: list[UUID] = []
    contested: list[Neighbour] = []
    later: list[tuple[datetime, UUID]] = []
    why: str | None = None
    for neighbour in sorted(neighbours, key=lambda n: -n.similarity):
        late = since is not None and (neighbour.valid_from or since) > since
        if neighbour.similarity >= threshold or neighbour.same_slot:
            found = _judged(text, neighbour, judge, late)
        else:
            found = None if late else _certain(text, neighbour, judge)
        if found is None:
            continue
        if found.label == "same":
            return Decision(neighbour.id, why=found.why, untouched=neighbour.others is not None)
        if late and neighbour.valid_from is not None:
            later.append((neighbour.valid_from, neighbour.id))
        elif neighbour.others is not None:
            contested.append(neighbour)
        else:
            retired.append(neighbour.id)
            why = why or found.why
    if later:
        until, by = min(later)
        return Decision(None, tuple(retired), OLDER, by, until, tuple(contested))
    return Decision(supersedes=tuple(retired), why=why, contested=tuple(contested))


def announces_change(text: str) -> bool:
    """Tell whether a text says itself that something changed, ended or is not so."""
    if len(text) > LONG:
        return False
    reading = read(text)
    if "change" in reading.flags or "end" in reading.flags:
        return True
    return any(token.sign < 0 for token in reading.tokens)


def _judged(text: str, neighbour: Neighbour, judge: Judge, late: bool) -> Judgement | None:
    """Return the judgement when it says same, or that the one of the later time replaces the other."""
    found = judge(neighbour.text, text, neighbour.similarity)
    if late and found.label != "same":
        found = judge(text, neighbour.text, neighbour.similarity)
        return found if found.label == "newer" else None
    return None if found.label == "different" else found


def _certain(text: str, neighbour: Neighbour, judge: Judge) -> Judgement | None:
    """Return the judgement about a distant text when it is sure to be replaced."""
    if neighbour.similarity < DISTANT:
        return None
    found = judge(neighbour.text, text, neighbour.similarity)
    sure = found.label == "newer" and found.sure and found.why in _CERTAIN
    return found if sure else None


def _pending(folded: Folded, confidence: float, limits: Limits) -> str | None:
    if reads_as_order(folded):
        return "instruction_like"
    return "confidence_unsure" if confidence < limits.confirm_below else None


def _length(text: str, limits: Limits) -> Verdict | None:
    if not says_something(text):
        message = "There is no text to store: no letter, no digit, no picture."
        return _refusal("text_blank", message)
    if len(text) > limits.max_length:
        return _too_long(limits)
    if len(text) < limits.min_length and reading_length(text) < limits.min_length:
        return _refusal(
            "text_too_short",
            f"A memory has at least {limits.min_length} characters; a wide one counts as two.",
        )
    return None


def _too_long(limits: Limits) -> Verdict:
    return _refusal("text_too_long", f"A memory has at most {limits.max_length} characters.")


def _refusal(reason: str, message: str, masked: tuple[str, ...] = ()) -> Verdict:
    return Verdict("rejected", reason=reason, message=message, masked=masked)
