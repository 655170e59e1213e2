"""Does the score of an extraction count what its definition says?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mnemic.evaluation.extract import holds, score
from mnemic.model import Candidate, MemoryType, Scope, Turn


def entry(*words: str, kind: MemoryType = "fact", scope: Scope = "user") -> dict[str, Any]:
    return {"memory_type": kind, "must_contain": list(words), "scope": scope}


def row(text: str, *expected: dict[str, Any], lang: str = "en") -> dict[str, Any]:
    return {"lang": lang, "turns": [{"role": "user", "content": text}], "expected": list(expected)}


def pieces(turns: Sequence[Turn]) -> list[Candidate]:
    return [Candidate(p, "fact", "user", 0.9) for p in turns[0].content.split("|") if p]


@pytest.mark.parametrize(
    ("content", "words", "expected"),
    [
        ("I have FIVE cats", ["five|5", "cat"], True),
        ("I have 5 cats", ["five|5", "cat"], True),
        ("I have 5 dogs", ["five|5", "cat"], False),
        ("我不吃香菜", ["香菜", "不|别"], True),
    ],
)
def test_an_entry_is_held_by_one_alternative_of_every_keyword(
    content: str, words: list[str], expected: bool
) -> None:
    assert holds(content, {"must_contain": words}) is expected


def test_a_repeat_costs_precision_and_a_loss_costs_recall() -> None:
    rows = [row("tea is good|more tea", entry("tea"), entry("milk"))]
    figures = score(rows, pieces)["by"]["en"]
    assert figures["precision"] == 0.5
    assert figures["recall"] == 0.5
    assert figures["silence"] is None


def test_one_memory_may_hold_two_entries() -> None:
    figures = score([row("tea and milk", entry("tea"), entry("milk"))], pieces)["by"]["all"]
    assert (figures["precision"], figures["recall"]) == (1.0, 1.0)


def test_silence_counts_rows_that_expect_nothing() -> None:
    by = score([row(""), row("noise", lang="zh"), row("", lang="zh")], pieces)["by"]
    assert by["en"]["silence"] == 1.0
    assert by["zh"]["silence"] == 0.5
    assert by["all"]["silence"] == pytest.approx(2 / 3, abs=1e-4)
    assert by["all"]["n"] == 3


def test_scope_and_type_are_shares_of_what_was_found() -> None:
    rows = [
        row("tea|milk", entry("tea", kind="preference"), entry("milk", scope="project")),
        row("", entry("lost")),
    ]
    figures = score(rows, pieces)["by"]["en"]
    assert figures["scope"] == 0.5
    assert figures["memory_type"] == 0.5
    assert figures["recall"] == pytest.approx(2 / 3, abs=1e-4)


def test_rules_are_scored_unless_another_extraction_is_given() -> None:
    result = score([row("My name is Odile.", entry("Odile")), row("Thanks!")])
    assert result["kind"] == "extract"
    assert result["by"]["all"] == {
        "n": 2,
        "precision": 1.0,
        "recall": 1.0,
        "silence": 1.0,
        "scope": 1.0,
        "memory_type": 1.0,
    }
