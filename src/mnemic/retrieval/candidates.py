"""What is each candidate worth, judged by its evidence alone?

The database returns what both arms found; no text is opened here. Only the winners are unsealed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row with its final score and what made it."""

    row: Row
    score: float
    found: Similarity
    tf: tuple[int, ...]

    def hit(self, item: MemoryItem, words: Sequence[str]) -> Hit:
        """Return the hit that explains itself, once the item is opened."""
        return Hit(
            item,
            self.score,
            Parts(self.found.value, item.confidence, SCOPE_PRIORITY[item.scope]),
            self.row["cosine"],
            self.found.words,
            tuple(word for word, count in zip(words, self.tf, strict=True) if count),
        )


def best_first(
    rows: Sequence[Row], query: str, words: Sequence[str], curve: Callable[[float], float]
) -> list[Candidate]:
    """Return the candidates, best first; of equal ones the newer first, then by id."""
    if not rows:
        return []
    first, asked = rows[0], script(query)
    weights = tuple(telling(word) for word in words)
    statistics = Statistics(
        first["documents"], first["average_tokens"], tuple(first["df"]), weights
    )
    candidates = [_candidate(row, len(words), statistics, asked, curve) for row in rows]
    return sorted(candidates, key=lambda c: precedence(c.score, c.row["recorded_at"], c.row["id"]))


def _candidate(
    row: Row, words: int, statistics: Statistics, asked: str, curve: Callable[[float], float]
) -> Candidate:
    tf = [0] * words
    for n, count in zip(row["ns"] or (), row["tfs"] or (), strict=True):
        tf[n - 1] = count
    foreign = row["script"] != asked
    evidence = Evidence(row["cosine"], tuple(tf), row["n_tokens"], foreign, row["same_slot"])
    found = similarity(evidence, statistics, curve)
    score = final_score(found.value, round(row["confidence"], 4), row["scope"])
    return Candidate(row, score, found, evidence.tf)
