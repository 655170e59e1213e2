"""How good is one ranking, given what should have been found?

Shares from 0 to 1, after the usual definitions with binary gains. R@k is the share of the evidence found
among the first k, not "any hit".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log2

KS = (5, 10, 20)
DEEPEST = 50
"""Places that are looked at for the curve of recall over k."""

Figures = Mapping[str, float]


def figures(ranked: Iterable[str], wanted: Iterable[str]) -> dict[str, float]:
    """Return r5, r10, r20, ndcg10 and mrr of one ranking; an id given twice counts once."""
    gold = set(wanted)
    order = list(dict.fromkeys(ranked))
    places = [place for place, one in enumerate(order) if one in gold]
    found = {f"r{k}": sum(place < k for place in places) / len(gold) for k in KS}
    gain = sum(1 / log2(place + 2) for place in places if place < 10)
    ideal = sum(1 / log2(place + 2) for place in range(min(10, len(gold))))
    return found | {"ndcg10": gain / ideal, "mrr": 1 / (places[0] + 1) if places else 0.0}


def recall_curve(ranked: Iterable[str], wanted: Iterable[str]) -> list[float]:
    """Return the recall among the first 1, 2, ... 50 of one ranking."""
    gold = set(wanted)
    order = list(dict.fromkeys(ranked))
    found, curve = 0, []
    for place in range(DEEPEST):
        found += place < len(order) and order[place] in gold
        curve.append(found / len(gold))
    return curve


def mean(rows: Sequence[Figures]) -> dict[str, float | int]:
    """Return n and the mean of each figure over some queries."""
    count = len(rows)
    names = rows[0].keys() if rows else ()
    means = {name: round(sum(row[name] for row in rows) / count, 4) for name in names}
    return {"n": count, **means}


def mean_curve(curves: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean of curves of one length, place by place."""
    return [round(sum(column) / len(curves), 4) for column in zip(*curves, strict=True)]
