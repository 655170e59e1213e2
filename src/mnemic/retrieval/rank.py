"""How near is this memory to this query, and which of two hits comes first?

Pure: the database gives the evidence of both arms (the cosine; how often each lexeme of the query
occurs in the text), this module says what it is worth. Nothing is scaled by the other hits of an
answer, so a query that has nothing to do with anything scores low everywhere.
docs/explain/ranking.md shows the measurements behind the constants; ADR 0005 says why.

* vector arm: the calibrated cosine, unfolded so that equal steps mean equal evidence,
* word arm: BM25 with the frequencies of the readable scopes, half as the share of what the query
  could score at best, half as the amount itself (one rare word in common says more than one of
  two common ones),
* similarity: both arms count the same, then an S-curve from 0 (nothing in common) over 0.5 (as
  likely to bear on the query as not) towards 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from math import log
from typing import NamedTuple
from uuid import UUID

from mnemic.lexical import words
from mnemic.model import SCOPE_PRIORITY, Scope

SIMILARITY_WEIGHT, CONFIDENCE_WEIGHT, SCOPE_WEIGHT = 0.5, 0.3, 0.2

K1, B = 1.2, 0.75
"""BM25: how fast repeats lose worth, and how much longer texts must say to count the same."""
PRIOR_DOCUMENTS = 50
"""Unseen texts that every scope is thought to hold, so that the first memories rank sensibly."""
ATTAINABLE = 8
"""Lexemes of a query that one text can be asked to hold: a long query is not a long demand."""
LEAST_DEMAND = 4.0
"""Attainable amount below which a query asks for nothing in particular (about one telling word)."""
HALF_AMOUNT = 8.0
"""Amount of BM25 (natural log units) that is worth half of the amount's share."""
_UNFOLDED = ((0.0, 0.0), (0.2, 0.21), (0.55, 0.35), (0.85, 0.48), (0.95, 0.9), (1.0, 1.0))
"""Calibrated cosine to evidence. Calibration spends most of its range between chance and
near-duplicate.
"""

HALF_STRENGTH = 0.305
"""Mean of both arms at which a text bears on a query as likely as not, in a scope of 100 texts."""
STEEPNESS = 4
FOREIGN = 0.75
"""What the vector counts alone, between two languages, where it counts 0.5 beside the words."""
SIZE_STEP = 0.035
"""Strength by which the floor rises when a scope grows e-fold: the best of many is good by
chance.
"""
_SIZES = (1, 2_000)

_SENTENCE_END = re.compile(r"(?:[!?;\n。！？；]|\.(?=\s|$))+")
_COMMA = re.compile(r"[、，]|,(?!\d)")
_AND = frozenset(("and", "&", "和", "与", "及", "以及"))


SAME_SLOT = 0.2
"""Strength that a text gains by filling the attribute that the query asks for; the words may be others."""


class Evidence(NamedTuple):
    """What the database found for one candidate.

    ``cosine`` is -1 to 1, None where the row has no vector of the query's model. ``tf`` is
    aligned with the query's lexemes; ``n_tokens`` is the length of the text in tokens.
    ``foreign`` says that text and query are in different scripts (``lexical.script``), so that
    words in common cannot be expected. ``same_slot`` says that the text fills the very attribute that
    the query asks for, such as the employer.
    """

    cosine: float | None
    tf: tuple[int, ...]
    n_tokens: int
    foreign: bool = False
    same_slot: bool = False


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the readable scopes know about the query's lexemes.

    ``documents`` counts the texts searched, ``df`` those that hold each lexeme,
    ``average_tokens`` is their mean length. ``weights`` (``lexical.telling`` of each lexeme)
    default to 1.
    """

    documents: int
    average_tokens: float
    df: tuple[int, ...]
    weights: tuple[float, ...] = ()
    worth: tuple[float, ...] = field(init=False, repr=False)
    attainable: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        weights = self.weights or (1.0,) * len(self.df)
        worth = tuple(
            weight * inverse_frequency(df, self.documents)
            for weight, df in zip(weights, self.df, strict=True)
        )
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "worth", worth)
        best = sum(sorted(worth, reverse=True)[:ATTAINABLE])
        object.__setattr__(self, "attainable", max(best, LEAST_DEMAND))


class Similarity(NamedTuple):
    """``value`` fuses ``vector`` (the calibrated cosine, None without one) and ``words``; all 0
    to 1.
    """

    value: float
    vector: float | None
    words: float


def inverse_frequency(df: int, documents: int) -> float:
    """Return BM25's weight of a lexeme that ``df`` of ``documents`` texts hold; above 0."""
    total = max(documents, df) + PRIOR_DOCUMENTS
    return log(1.0 + (total - df + 0.5) / (df + 0.5))


def word_score(evidence: Evidence, statistics: Statistics) -> float:
    """Return the word arm's score, 0 (no word in common) to 1, of one candidate."""
    norm = K1 * (1.0 - B + B * evidence.n_tokens / max(statistics.average_tokens, 1.0))
    covered = amount = 0.0
    for tf, worth in zip(evidence.tf, statistics.worth, strict=True):
        if tf:
            part = tf / (tf + norm)
            amount += worth * part
            covered += worth * min(1.0, part * (K1 + 1.0))
    share = min(1.0, covered / statistics.attainable)
    return (0.5 * share + amount / (amount + HALF_AMOUNT)) / 1.5


def similarity(
    evidence: Evidence, statistics: Statistics, curve: Callable[[float], float]
) -> Similarity:
    """Fuse both arms into [0, 1]. It never falls when the cosine or a term frequency rises.

    A text without a vector is judged by its words alone, one in another script by its vector.
    """
    by_words = word_score(evidence, statistics)
    if evidence.cosine is None:
        return Similarity(_likelihood(by_words), None, by_words)
    by_vector = curve(evidence.cosine)
    unfolded = _unfold(by_vector)
    strength = (unfolded + by_words) / 2
    if evidence.foreign:
        strength = max(strength, FOREIGN * unfolded)
    if evidence.same_slot:
        strength += SAME_SLOT
    return Similarity(_likelihood(strength), by_vector, by_words)


def relevance_floor(documents: int) -> float:
    """Return the similarity from which a text is worth adding to a prompt unasked.

    ``documents`` is the number of texts that were searched. The floor is 0.5 at 100 texts and
    rises with their number, since the best of many unrelated texts is near to any query by
    chance.
    """
    low, high = _SIZES
    size = min(max(documents, low), high)
    return _likelihood(HALF_STRENGTH + SIZE_STEP * log(size / 100))


def final_score(similarity: float, confidence: float, scope: Scope) -> float:
    """Return similarity x 0.5 + confidence x 0.3 + scope priority x 0.2, from 0 to 1."""
    return (
        SIMILARITY_WEIGHT * similarity
        + CONFIDENCE_WEIGHT * confidence
        + SCOPE_WEIGHT * SCOPE_PRIORITY[scope]
    )


def precedence(score: float, recorded_at: datetime, item: UUID) -> tuple[float, float, UUID]:
    """Return the sort key of every answer: best first, of equal ones the newer first, then by id."""
    return -score, -recorded_at.timestamp(), item


def wording(text: str) -> tuple[tuple[str, ...], ...]:
    """Return what a text says, in words, numbers and signs: equal values mean nearly identical texts.

    Case, width, script variant, punctuation, the order of sentences and the order inside a list
    of single words do not matter. Any other order does (who moved from where to where), and so
    does every digit.
    """
    sentences = (_sentence(part) for part in _SENTENCE_END.split(text))
    return tuple(sorted(sentence for sentence in sentences if sentence))


def _sentence(text: str) -> tuple[str, ...]:
    """Words of one sentence, where neighbours in a list stand sorted unless they hold digits."""
    members = [part for clause in _COMMA.split(text) for part in _split_and(words(clause))]
    if not members:
        return ()
    said, run = members[0][:-1], members[0][-1:]
    for member in members[1:]:
        run.append(member[0])
        if len(member) > 1:
            said += _sorted_run(run) + member[1:-1]
            run = member[-1:]
    return (*said, *_sorted_run(run))


def _split_and(found: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in found:
        if word in _AND:
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def _sorted_run(run: list[str]) -> list[str]:
    if any(char.isdigit() for word in run for char in word):
        return run
    return sorted(run)


def _likelihood(strength: float) -> float:
    raised = max(strength, 0.0) ** STEEPNESS
    return raised / (raised + HALF_STRENGTH**STEEPNESS)


def _unfold(calibrated: float) -> float:
    for (x0, y0), (x1, y1) in pairwise(_UNFOLDED):
        if calibrated <= x1:
            return y0 + (y1 - y0) * max(calibrated - x0, 0.0) / (x1 - x0)
    return 1.0
