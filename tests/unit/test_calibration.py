"""Does a calibrated similarity mean the same for every model?"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.embedding.calibration import (
    Curve,
    builtin_pairs,
    calibrate,
    cosines,
    curve_from,
)
from mnemic.errors import ConfigurationError, EmbeddingError

NEAR = 0.85


def spread(low: float, high: float, count: int = 40) -> list[float]:
    return [low + (high - low) * n / (count - 1) for n in range(count)]


WIDE = {
    "unrelated": spread(-0.05, 0.25),
    "related": spread(0.1, 0.65),
    "newer": spread(0.42, 0.95),
    "same": spread(0.6, 0.97),
}
NARROW = {label: [0.74 + 0.26 * x for x in values] for label, values in WIDE.items()}
"""The same model, if all its vectors leant to one side."""


@pytest.mark.parametrize("found", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_anchors_mean_the_same_for_a_wide_and_a_narrow_model(
    found: dict[str, list[float]],
) -> None:
    curve = curve_from(found)
    calibrated = {label: sorted(map(curve, values)) for label, values in found.items()}
    assert calibrated["unrelated"][int(0.95 * 39)] <= 0.25
    assert calibrated["related"][len(calibrated["related"]) // 2] > 0.4
    for label in ("newer", "same"):
        nominated = [value >= NEAR for value in calibrated[label]]
        assert sum(nominated) / len(nominated) >= 0.85


@given(cosine=st.floats(-1, 1), step=st.floats(0, 1), found=st.sampled_from([WIDE, NARROW]))
def test_a_curve_never_falls_and_stays_between_zero_and_one(
    cosine: float, step: float, found: dict[str, list[float]]
) -> None:
    curve = curve_from(found)
    assert 0.0 <= curve(cosine) <= curve(min(1.0, cosine + step)) <= 1.0


@given(value=st.floats(0.01, 1.0))
def test_raw_is_the_inverse_of_the_curve(value: float) -> None:
    curve = curve_from(WIDE)
    assert curve(curve.raw(value)) == pytest.approx(value, abs=1e-6)


def test_no_cosine_reaches_a_value_above_the_curve() -> None:
    assert Curve(((0.0, 0.0), (1.0, 0.9))).raw(0.95) == float("inf")


def test_a_curve_survives_the_database() -> None:
    curve = curve_from(NARROW)
    assert Curve.from_json(json.loads(json.dumps(curve.to_json()))) == curve


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"points": None},
        {"points": [[0.1]]},
        {"points": [["a", 1], [1, 1]]},
        {"points": [[0, 0]]},
    ],
)
def test_a_broken_stored_curve_is_a_configuration_error(stored: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Curve.from_json(stored)
    assert caught.value.code == "bad_calibration"


@pytest.mark.parametrize(
    "points",
    [
        ((0.0, 0.0),),
        ((0.0, 0.0), (0.0, 1.0)),
        ((0.0, 0.5), (1.0, 0.2)),
        ((0.0, -0.1), (1.0, 1.0)),
        ((0.0, 0.0), (1.0, 1.1)),
    ],
)
def test_points_that_are_no_rising_curve_are_refused(
    points: tuple[tuple[float, float], ...],
) -> None:
    with pytest.raises(ValueError, match=r"curve|calibrated"):
        Curve(points)


def test_the_built_in_pairs_cover_every_label_in_both_languages_and_across() -> None:
    counts = Counter((pair.label, han(pair.first), han(pair.second)) for pair in builtin_pairs())
    for label in ("unrelated", "related", "newer", "same"):
        assert counts[label, False, False] >= 10
        assert counts[label, True, True] >= 10
        assert counts[label, True, False] + counts[label, False, True] >= 4


def test_a_text_on_both_sides_of_unrelated_pairs_is_not_compared_with_itself() -> None:
    pairs = [pair for pair in builtin_pairs() if pair.label == "unrelated"]
    vectors = {
        text: unit(n) for n, text in enumerate({t for p in pairs for t in (p.first, p.second)})
    }
    assert max(cosines(pairs, vectors)["unrelated"]) < 0.999


async def test_a_model_that_tells_nothing_apart_is_refused() -> None:
    with pytest.raises(EmbeddingError) as caught:
        await calibrate(Noise())
    assert caught.value.code == "model_tells_nothing_apart"


async def test_a_text_without_a_vector_stops_the_calibration() -> None:
    with pytest.raises(EmbeddingError) as caught:
        await calibrate(Silent())
    assert caught.value.code == "out_of_order"


def han(text: str) -> bool:
    return any("\u4e00" <= char <= "\u9fff" for char in text)


def unit(seed: int) -> tuple[float, ...]:
    draw = random.Random(seed)
    values = [draw.gauss(0, 1) for _ in range(64)]
    length = sum(value * value for value in values) ** 0.5
    return tuple(value / length for value in values)


class Noise:
    """Gives every text a direction of its own, whatever it says."""

    name = "noise"
    dims = 64
    max_chars = 1000

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...] | EmbeddingError]:
        return [unit(sum(text.encode())) for text in texts]


class Silent(Noise):
    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...] | EmbeddingError]:
        return [EmbeddingError("out_of_order", "The model is out of order.") for _ in texts]
