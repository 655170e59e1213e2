"""How much does a chat turn bear on a query, seen with what stands around it?

Pure. A short turn ("Yes, in May!") says little alone: its neighbours and its session lend it strength.
Speaker, side, date and the kind of sentence move it up or down, none of them decides. Nothing is scaled by
the other hits, so that one floor tells whether anything fits (``reaches_floor``).
docs/explain/turn-ranking.md shows the measurements behind the constants; ADR 0006 says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from math import exp, log
from uuid import UUID

from mnemic.retrieval.asked import Asked
from mnemic.retrieval.dates import closeness
from mnemic.retrieval.span import Span

K1, B = 1.2, 0.75
PRIOR_DOCUMENTS = 20
"""Unseen texts that every scope is thought to hold."""
ATTAINABLE, LEAST_DEMAND, HALF_AMOUNT = 8, 4.0, 8.0
"""As in ``rank``: lexemes that one text can be asked to hold, the least demand, half of the share."""
_VECTOR_ANCHORS = ((0.2, 0.15), (0.55, 0.48), (0.85, 0.79))
"""Calibrated cosine to strength; straight on below and above."""
FLOOR, FLOOR_STEP = 1.13, 0.05
"""What a turn needs in a scope of 100 to be put before a model unasked, and more for each e-fold."""
_SIZES = (1, 2_000)
_LIKELY, _SHARPNESS = 1.13, 4.0


@dataclass(frozen=True, slots=True)
class Weights:
    """What each ingredient counts; a turn's own strength is about 0 to 1.2. Set to 0 for an ablation."""

    words: float = 0.5
    vectors: float = 0.5
    window: float = 0.5
    near: tuple[float, float] = (0.2, 0.1)
    session: float = 0.5
    side: float = 0.15
    asking: float = 0.25
    stands: float = 0.2
    speaker: float = 0.35
    date: float = 0.9


_FEW, _IDENTIFIER, _DIGITS = 3, 5, 3
"""Texts of a scope that may hold an identifier; its least length, and digits in it."""
NOISE = 0.1
"""Strength that a neighbour must exceed to lend any."""
SHORT = 80
"""Tokens up to which a turn leans fully on its neighbours; a long message speaks for itself."""
SESSION_BEST = 3
_COVER = 0.5
DEFAULT = Weights()


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """What the database found for one turn, or one piece of a document.

    ``passage`` (its best passage) and ``window`` (with its surroundings) are cosines, None without a vector
    of the query's model. ``tf`` is aligned with the query's lexemes. ``named`` says that its speaker's name
    stands in the query, ``day`` when it was said.
    """

    id: UUID
    conversation: UUID
    ordinal: int
    passage: float | None
    window: float | None
    tf: tuple[int, ...]
    n_tokens: int
    role: int = 1
    asking: float = 0.0
    stands: bool = False
    named: bool = False
    day: date | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """What the readable scopes know: how many texts, their mean length, ``df`` of each lexeme, their first
    and last day, and which of the query's names have spoken there. ``partial`` says that it is so large
    that not all of it was looked at.
    """

    documents: int
    average_tokens: float
    df: tuple[int, ...]
    first: date | None = None
    last: date | None = None
    speakers: frozenset[int] = frozenset()
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """One turn with its score. ``evidence`` leaves out what only its date or kind say; ``relevance`` is what
    the floor is held against; ``words`` and ``vector`` are the strengths of its own arms.
    """

    row: TurnEvidence
    score: float
    relevance: float
    words: float
    vector: float


def worths(asked: Asked, scope: Scope) -> tuple[float, ...]:
    """Return what each lexeme of the query is worth; those of a speaker's name nothing."""
    names = {index for name in scope.speakers for index in asked.of_name[name]}
    total = scope.documents + PRIOR_DOCUMENTS
    return tuple(
        0.0 if index in names else tell * log(1 + (total - df + 0.5) / (df + 0.5))
        for index, (tell, df) in enumerate(zip(asked.tells, scope.df, strict=True))
    )


def rank(
    rows: Sequence[TurnEvidence],
    asked: Asked,
    scope: Scope,
    vector_line: Sequence[tuple[float, float]],
    weights: Weights = DEFAULT,
) -> list[Ranked]:
    """Return the turns best first; of equal ones the earlier given first.

    ``vector_line`` holds the points of ``vector_points``. Neighbours count as far as they are among ``rows``.
    """
    worth = worths(asked, scope)
    demand = worth[: len(worth) - asked.lent]
    own_words = [word_strength(row, worth, scope.average_tokens, demand) for row in rows]
    own_vector = [vector_strength(row, vector_line, weights.window) for row in rows]
    own = [
        weights.words * words + weights.vectors * vector
        for words, vector in zip(own_words, own_vector, strict=True)
    ]
    around = supports(rows, own, weights, alone_at_ends=not scope.partial)
    covers = coverages(rows, demand)
    named = _spans(asked, scope)
    memo: dict[date, float] = {}
    found = []
    for index, row in enumerate(rows):
        evidence = own[index] + around[index] + _lasting_prior(row, asked, weights)
        if row.day is not None and named and row.day not in memo:
            memo[row.day] = closeness(row.day, named)
        score = evidence + weights.date * (memo[row.day] if named and row.day else 0.0)
        score += weights.stands * (asked.request and row.stands)
        relevance = evidence + _COVER * covers[index]
        found.append(Ranked(row, score, relevance, own_words[index], own_vector[index]))
    return sorted(found, key=lambda one: -one.score)


def word_strength(
    row: TurnEvidence,
    worth: Sequence[float],
    average_tokens: float,
    demand: Sequence[float] | None = None,
) -> float:
    """Return the word arm's strength, 0 to 1.5: half the share of what could be had, and the amount.

    ``demand`` is the worth of what is asked for, where some lexemes are only lent: these lift who holds them
    and lower nobody else.
    """
    norm = K1 * (1 - B + B * row.n_tokens / max(average_tokens, 1.0))
    amount = sum(w * tf / (tf + norm) for tf, w in zip(row.tf, worth, strict=True) if tf)
    asked = sorted(worth if demand is None else demand, reverse=True)
    attainable = max(sum(asked[:ATTAINABLE]), LEAST_DEMAND)
    return 0.5 * min(1.0, amount * (K1 + 1) / attainable) + amount / (amount + HALF_AMOUNT)


def vector_points(raw_cosines: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Return (cosine, strength) points, given a model's raw cosines at calibrated 0.2, 0.55 and 0.85."""
    return tuple(
        (raw, strength) for raw, (_, strength) in zip(raw_cosines, _VECTOR_ANCHORS, strict=True)
    )


def vector_strength(
    row: TurnEvidence, line: Sequence[tuple[float, float]], window: float = 0.5
) -> float:
    """Return the vector arm's strength: about 0 for chance and 0.5 for an answer; 0 without a vector."""
    if row.window is None or row.passage is None:
        return 0.0
    cosine = (1 - window) * row.passage + window * row.window
    for (x0, y0), (x1, y1) in pairwise(line):
        if cosine <= x1 or (x1, y1) == line[-1]:
            return y0 + (y1 - y0) * (cosine - x0) / (x1 - x0)
    return 0.0


def supports(
    rows: Sequence[TurnEvidence],
    own: Sequence[float],
    weights: Weights = DEFAULT,
    *,
    alone_at_ends: bool = True,
) -> list[float]:
    """Return what its neighbours and its session lend each turn. Never negative where ``own`` is not.

    With ``alone_at_ends`` a neighbour that is not among ``rows`` does not exist, and the turn stands in for
    it; without, it was too weak to be looked at.
    """
    place = {(row.conversation, row.ordinal): index for index, row in enumerate(rows)}
    sessions: dict[UUID, list[float]] = {}
    for row, strength in zip(rows, own, strict=True):
        sessions.setdefault(row.conversation, []).append(strength)
    best = {
        key: weights.session
        * sum(sorted(found, reverse=True)[:SESSION_BEST])
        / min(len(found), SESSION_BEST)
        for key, found in sessions.items()
    }
    return [
        _near(place, row, own, index if alone_at_ends else None, weights.near)
        + best[row.conversation]
        for index, row in enumerate(rows)
    ]


def _near(
    place: Mapping[tuple[UUID, int], int],
    row: TurnEvidence,
    own: Sequence[float],
    instead: int | None,
    weights: tuple[float, float],
) -> float:
    total = 0.0
    for step, weight in ((-1, weights[0]), (1, weights[0]), (-2, weights[1]), (2, weights[1])):
        neighbour = place.get((row.conversation, row.ordinal + step), instead)
        if neighbour is not None:
            total += weight * max(own[neighbour] - NOISE, 0.0)
    return min(1.0, SHORT / max(row.n_tokens, 1)) * total


def coverages(rows: Sequence[TurnEvidence], worth: Sequence[float]) -> list[float]:
    """Return the share of the query's worth that stands within two turns of each turn, 0 to 1."""
    total = sum(worth)
    if not total:
        return [0.0] * len(rows)
    held = {
        (row.conversation, row.ordinal): {n for n, tf in enumerate(row.tf[: len(worth)]) if tf}
        for row in rows
    }
    return [
        sum(
            worth[index]
            for index in set().union(
                *(held.get((row.conversation, row.ordinal + step), ()) for step in range(-2, 3))
            )
        )
        / total
        for row in rows
    ]


def reaches_floor(relevance: float, documents: int, floor: float = FLOOR) -> bool:
    """Tell whether a turn is worth putting before a model unasked, among so many texts."""
    low, high = _SIZES
    return relevance >= floor + FLOOR_STEP * log(min(max(documents, low), high) / 100)


def holds_identifier(row: TurnEvidence, asked: Asked, scope: Scope) -> bool:
    """Tell whether a turn holds an identifier of the query ("QX-0077", "v2.14.3") that few texts hold.

    Nothing is as telling, however little else the query says.
    """
    own = asked.lexemes[: len(asked.lexemes) - asked.lent]
    return any(
        count and df <= _FEW and _is_identifier(word)
        for word, count, df in zip(own, row.tf, scope.df, strict=False)
    )


def _is_identifier(word: str) -> bool:
    return len(word) >= _IDENTIFIER and sum(map(str.isdigit, word)) >= _DIGITS


def likelihood(score: float) -> float:
    """Return a score as a similarity between 0 and 1 in the same order; 0.5 at the floor's height."""
    return 1 / (1 + exp(-_SHARPNESS * max(-20.0, min(score - _LIKELY, 20.0))))


def _lasting_prior(row: TurnEvidence, asked: Asked, weights: Weights) -> float:
    return (
        weights.side * asked.side * row.role
        - weights.asking * row.asking
        + weights.speaker * row.named
    )


def _spans(asked: Asked, scope: Scope) -> tuple[Span, ...]:
    ends = ((asked.first, scope.first), (asked.latest, scope.last))
    return asked.spans + tuple(Span(day, day) for wanted, day in ends if wanted and day)
