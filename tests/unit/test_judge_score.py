"""Are the judge's figures counted as the shares they claim to be?"""

from __future__ import annotations

import pytest

from mnemic.errors import InvalidInput
from mnemic.evaluation.judge import score

ROWS = [
    {"lang": "en", "first": "I like tea.", "second": "I like tea!", "label": "same", "why": "a: b"},
    {"lang": "en", "first": "I like tea.", "second": "I like tea.", "label": "newer", "why": "c"},
    {
        "lang": "zh",
        "first": "上限是3。",
        "second": "上限是5。",
        "label": "different",
        "why": "a: d",
    },
    {"lang": "zh", "first": "上限是3。", "second": "上限是5。", "label": "newer", "why": "c"},
]


def test_shares_and_confusion_by_language_and_kind() -> None:
    result = score(ROWS)
    assert result["kind"] == "judge"
    everything = result["by"]["all"]
    assert (everything["n"], everything["accuracy"]) == (4, 0.5)
    assert everything["lost"] == pytest.approx(1 / 3)
    assert everything["wrongly_retired"] == 1.0
    assert everything["confusion"]["different"] == {"same": 0, "newer": 1, "different": 0}
    assert result["by"]["en"]["lost"] == 1.0
    assert result["by"]["zh"]["lost"] == 0.0
    assert result["kinds"] == {"a": {"n": 2, "accuracy": 0.5}, "c": {"n": 2, "accuracy": 0.5}}


def test_similarity_is_asked_for_every_pair() -> None:
    asked: list[tuple[str, str]] = []

    def alike(first: str, second: str) -> float:
        asked.append((first, second))
        return 0.5

    score(ROWS, alike)
    assert asked == [(row["first"], row["second"]) for row in ROWS]


def test_nothing_to_share_is_zero() -> None:
    result = score(ROWS[:1])
    assert result["by"]["all"]["lost"] == 0.0
    assert result["by"]["all"]["wrongly_retired"] == 0.0


def test_a_row_with_another_label_is_refused_by_number() -> None:
    with pytest.raises(InvalidInput) as caught:
        score([*ROWS, {"first": "a", "second": "b", "label": "older"}])
    assert caught.value.code == "invalid_row"
    assert caught.value.details == {"row": 5}
