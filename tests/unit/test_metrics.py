"""Are rankings scored after the usual definitions, and drawn where they stand?"""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.evaluation.metrics import figures, mean, mean_curve, recall_curve
from mnemic.evaluation.plot import recall_plot
from mnemic.evaluation.rows import kind_of

IDS = st.lists(st.sampled_from([str(n) for n in range(60)]), max_size=80)
GOLD = st.sets(st.sampled_from([str(n) for n in range(60)]), min_size=1, max_size=12)


def test_all_at_the_top() -> None:
    assert figures(["a", "b", "c"], ["b", "a"]) == {
        "r5": 1.0, "r10": 1.0, "r20": 1.0, "ndcg10": 1.0, "mrr": 1.0,
    }  # fmt: skip


def test_half_found_at_the_sixth_place() -> None:
    found = figures(["x", "y", "z", "v", "w", "a"], ["a", "b"])
    assert found["r5"] == 0.0
    assert found["r10"] == 0.5
    assert found["mrr"] == pytest.approx(1 / 6)
    assert found["ndcg10"] == pytest.approx(0.35621 / 1.63093, abs=1e-4)


def test_an_id_given_twice_takes_one_place() -> None:
    assert figures(["x", "x", "x", "x", "x", "a"], ["a"])["mrr"] == 0.5


@given(IDS, GOLD)
def test_figures_are_shares_and_recall_grows(ranked: list[str], gold: set[str]) -> None:
    found = figures(ranked, gold)
    curve = recall_curve(ranked, gold)
    assert all(0.0 <= value <= 1.0 + 1e-9 for value in found.values())
    assert curve == sorted(curve)
    assert [curve[4], curve[9], curve[19]] == [found["r5"], found["r10"], found["r20"]]


def test_means() -> None:
    assert mean([{"r5": 1.0}, {"r5": 0.5}]) == {"n": 2, "r5": 0.75}
    assert mean_curve([[0.0, 1.0], [1.0, 1.0]]) == [0.5, 1.0]


def test_the_plot_is_svg_with_a_line_a_curve() -> None:
    root = ElementTree.fromstring(
        recall_plot({"a <set>": [0.1, 0.5, 1.0], "b": [0.0] * 3}, "R & k")
    )
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 2
    heights = [float(point.split(",")[1]) for point in lines[0].attrib["points"].split()]
    assert heights == sorted(heights, reverse=True)


def test_a_plot_of_nothing_is_an_empty_frame() -> None:
    assert ElementTree.fromstring(recall_plot({}, "nothing")).tag.endswith("svg")


def test_the_kind_of_a_conversation_with_queries() -> None:
    assert kind_of({"conv_id": "c", "corpus": [], "queries": []}) == "retrieval"
