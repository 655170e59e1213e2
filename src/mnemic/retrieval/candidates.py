"""What is each candidate worth, judged by its evidence alone?

The database returns what both arms found; no text is opened here. Only the winners are unsealed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any
from uuid import UUID

from mnemic.lexical import script, telling
from mnemic.model import SCOPE_PRIORITY, Hit, MemoryItem, Parts
from mnemic.retrieval.rank import (
    Evidence,
    Similarity,
    Statistics,
    final_score,
    precedence,
    similarity,
)
from mnemic.storage.answer import Answer

_EVIDENCE = (
    *("id", "scope", "confidence", "recorded_at", "n_tokens", "script", "same_slot"),
    *("ns", "tfs", "cosine"),
)
_Row = tuple[Any, ...]
_Judged = tuple[tuple[float, float, UUID], _Row, float, Similarity, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row with its final score and what made it."""

    columns: Sequence[str]
    values: Sequence[Any]
    score: float
    found: Similarity
    tf: tuple[int, ...]

    def row(self) -> Mapping[str, Any]:
        """Return the values by name."""
        return dict(zip(self.columns, self.values, strict=True))

    def hit(self, item: MemoryItem, words: Sequence[str]) -> Hit:
        """Return the hit that explains itself, once the item is opened."""
        return Hit(
            item,
            self.score,
            Parts(self.found.value, item.confidence, SCOPE_PRIORITY[item.scope]),
            self.values[self.columns.index("cosine")],
            self.found.words,
            tuple(word for word, count in zip(words, self.tf, strict=True) if count),
        )


def compared(answer: Answer) -> bool:
    """Tell whether any vector was compared with the query's."""
    cosine = answer.columns.index("cosine")
    return any(row[cosine] is not None for row in answer.rows)


def best_first(
    answer: Answer, query: str, words: Sequence[str], curve: Callable[[float], float], k: int
) -> Iterator[Candidate]:
    """Yield the candidates, best first; of equal ones the newer first, then by id.

    The answer's head tells what BM25 must know of the scopes: ``documents``, ``average_tokens``, ``df``.
    Whoever takes about ``k`` of them does not pay for the others: of rows that differ in the cosine alone a
    nearer one is never worse, so the farther ones are judged only when one of the nearest is reached.
    """
    if not answer.rows:
        return
    judge = _judge(answer, query, words, curve)
    heads, rests = _by_cosine(answer, k + 2)
    ranked = sorted(map(judge, heads), key=itemgetter(0))
    bounds = [judge(rest[0]) for rest in rests]
    if bounds:
        reached = max(score for _, _, score, _, _ in bounds)
        while ranked and ranked[0][2] > reached:
            yield _candidate(answer, ranked.pop(0))
        others = [judge(row) for rest in rests for row in rest[1:]]
        ranked = sorted([*ranked, *bounds, *others], key=itemgetter(0))
    for one in ranked:
        yield _candidate(answer, one)


def _candidate(answer: Answer, judged: _Judged) -> Candidate:
    _, row, score, found, tf = judged
    return Candidate(answer.columns, row, score, found, tf)


def _judge(
    answer: Answer, query: str, words: Sequence[str], curve: Callable[[float], float]
) -> Callable[[_Row], _Judged]:
    """Return what tells of one row: its place in the order, itself, its score and what made it."""
    asked, weights, head = script(query), tuple(telling(word) for word in words), answer.head
    statistics = Statistics(head["documents"], head["average_tokens"], tuple(head["df"]), weights)
    evidence = itemgetter(*map(answer.columns.index, _EVIDENCE))

    def judged(row: _Row) -> _Judged:
        id_, scope, confidence, recorded_at, length, written, slot, ns, tfs, cosine = evidence(row)
        tf = _counts(ns, tfs, len(words))
        told = Evidence(cosine, tf, length, written != asked, slot is True)
        found = similarity(told, statistics, curve)
        score = final_score(found.value, round(confidence, 4), scope)
        return precedence(score, recorded_at, id_), row, score, found, tf

    return judged


def _by_cosine(answer: Answer, nearest: int) -> tuple[list[_Row], list[list[_Row]]]:
    """Return the rows to be judged at once, and the others, nearest first, by what they have in common.

    Rows that say no word and fill no attribute of the query, of one scope, confidence and script, differ in
    the cosine alone.
    """
    alike = itemgetter(*map(answer.columns.index, ("scope", "confidence", "script")))
    ns, slot, cosine = map(answer.columns.index, ("ns", "same_slot", "cosine"))
    heads: list[_Row] = []
    groups: dict[object, list[_Row]] = {}
    for row in answer.rows:
        if row[ns] is not None or row[slot] or row[cosine] is None:
            heads.append(row)
        else:
            groups.setdefault(alike(row), []).append(row)
    rests = []
    for group in groups.values():
        group.sort(key=itemgetter(cosine), reverse=True)
        heads += group[:nearest]
        if len(group) > nearest:
            rests.append(group[nearest:])
    return heads, rests


def _counts(ns: Sequence[int] | None, tfs: Sequence[int] | None, words: int) -> tuple[int, ...]:
    """Return how often each word of the query is said; ``ns`` counts from 1."""
    if ns is None or tfs is None:
        return (0,) * words
    counts = [0] * words
    for n, count in zip(ns, tfs, strict=True):
        counts[n - 1] = count
    return tuple(counts)
