"""What does a cosine of this model mean, from 0 (unrelated) to 1 (the same)?

Raw cosines of two models cannot be compared: unrelated sentences score about 0.05 in one and 0.80
in another. Each model is therefore measured once, at registration, on labelled pairs in Chinese,
in English and across both (``calibration_pairs.jsonl``, written for this project):

* ``unrelated``: two things that have nothing to do with each other,
* ``related``: a question or request, and the memory that answers it or bears on it,
* ``newer``: one attribute with another value (changed, negated, cancelled),
* ``same``: one statement in other words.

The curve is drawn through percentiles of these, so that for every model 0.2 is where chance ends,
0.55 is a typical answer to a question, and 0.85 nominates nine in ten restated or changed
memories for the judge.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from math import sqrt

from mnemic.embedding.protocol import Embedder, embed_all
from mnemic.errors import ConfigurationError, EmbeddingError
from mnemic.model import Vector

MIN_GAP = 0.02
"""Least distance of two anchors, as a share of what lies between an unrelated pair and a cosine
of 1.
"""


@dataclass(frozen=True, slots=True)
class Curve:
    """A non-decreasing, piecewise linear map from raw cosine to [0, 1].

    ``points`` are (raw, calibrated) pairs in increasing order of raw; outside them the curve is
    level.
    """

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        raws = [raw for raw, _ in self.points]
        values = [value for _, value in self.points]
        rising = all(a < b for a, b in pairwise(raws))
        if len(raws) < 2 or not rising or values != sorted(values):
            raise ValueError("a curve needs two or more points that rise")
        if values[0] < 0.0 or values[-1] > 1.0:
            raise ValueError("calibrated values lie between 0 and 1")

    def __call__(self, cosine: float) -> float:
        """Return the calibrated similarity, 0 to 1, of one raw cosine."""
        points = self.points
        if cosine <= points[0][0]:
            return points[0][1]
        if cosine >= points[-1][0]:
            return points[-1][1]
        right = bisect_right(points, (cosine, 2.0))
        (x0, y0), (x1, y1) = points[right - 1], points[right]
        return y0 + (y1 - y0) * (cosine - x0) / (x1 - x0)

    def raw(self, value: float) -> float:
        """Return the least raw cosine whose calibrated similarity reaches ``value`` (0 to 1).

        A database can compare raw cosines with it; inf when no cosine reaches the value.
        """
        points = self.points
        if value <= points[0][1]:
            return -1.0
        for (x0, y0), (x1, y1) in pairwise(points):
            if value <= y1:
                return x0 + (x1 - x0) * (value - y0) / (y1 - y0)
        return float("inf")

    def to_json(self) -> dict[str, object]:
        return {"points": [list(point) for point in self.points]}

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Curve:
        """Read what ``to_json`` wrote. Raises ConfigurationError (``bad_calibration``)."""
        try:
            points = data["points"]
            if not isinstance(points, list):
                raise TypeError("points")
            return cls(tuple((float(raw), float(value)) for raw, value in points))
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(
                "bad_calibration",
                "The stored calibration cannot be read: register the model again.",
            ) from error


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts and what they are to each other."""

    label: str
    first: str
    second: str


async def calibrate(embedder: Embedder) -> Curve:
    """Measure the model on the built-in pairs (about 230 short texts) and return its curve.

    Raises EmbeddingError when a text gets no vector, or (``model_tells_nothing_apart``) when
    changed memories are no closer to each other than unrelated sentences.
    """
    pairs = builtin_pairs()
    texts = sorted({text for pair in pairs for text in (pair.first, pair.second)})
    vectors: dict[str, Vector] = {}
    for text, answer in zip(texts, await embed_all(embedder, texts), strict=True):
        if isinstance(answer, EmbeddingError):
            raise answer
        vectors[text] = answer
    return curve_from(cosines(pairs, vectors))


@cache
def builtin_pairs() -> tuple[Pair, ...]:
    """Read the labelled pairs that come with the package."""
    text = files("mnemic.embedding").joinpath("calibration_pairs.jsonl").read_text("utf-8")
    rows = (json.loads(line) for line in text.splitlines())
    return tuple(Pair(row["label"], row["first"], row["second"]) for row in rows)


def cosines(pairs: Iterable[Pair], vectors: Mapping[str, Vector]) -> dict[str, list[float]]:
    """Return the raw cosines by label, sorted.

    Unrelated sentences stay unrelated when they are crossed, so thirty pairs give nine hundred
    cosines and their percentiles do not hang on two of them.
    """
    by_label: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_label.setdefault(pair.label, []).append(pair)
    unrelated = by_label.pop("unrelated")
    crossed = [(a.first, b.second) for a in unrelated for b in unrelated if a.first != b.second]
    found = {"unrelated": sorted(_cosine(vectors[a], vectors[b]) for a, b in crossed)}
    for label, rows in by_label.items():
        found[label] = sorted(_cosine(vectors[row.first], vectors[row.second]) for row in rows)
    return found


def curve_from(found: Mapping[str, Sequence[float]]) -> Curve:
    """Draw the curve through percentiles of sorted raw cosines by label.

    Raises EmbeddingError (``model_tells_nothing_apart``).
    """
    unrelated = found["unrelated"]
    gap = MIN_GAP * max(1.0 - _percentile(unrelated, 50), MIN_GAP)
    chance, nomination = _percentile(unrelated, 90), _percentile(found["newer"], 10)
    if nomination - chance < 3 * gap:
        raise EmbeddingError(
            "model_tells_nothing_apart",
            "This embedding model cannot tell related texts from unrelated ones: use another one.",
        )
    answer = min(max(_percentile(found["related"], 50), chance + gap), nomination - gap)
    same = min(max(_percentile(found["same"], 60), nomination + gap), 1.0 - gap)
    anchors = [
        (min(_percentile(unrelated, 25), chance - gap), 0.0),
        (chance, 0.2),
        (answer, 0.55),
        (nomination, 0.85),
        (same, 0.95),
        (1.0, 1.0),
    ]
    return Curve(tuple((round(raw, 5), value) for raw, value in anchors))


def _percentile(ordered: Sequence[float], percent: float) -> float:
    place = (len(ordered) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _cosine(a: Vector, b: Vector) -> float:
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    norms = sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    return dot / norms if norms else 0.0
