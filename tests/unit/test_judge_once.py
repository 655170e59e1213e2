"""Is a text taken apart once within a call, and never remembered beyond it?"""

from __future__ import annotations

from mnemic.longterm.judge.once import once, reading_once


def test_answers_are_remembered_inside_the_block_only() -> None:
    asked: list[str] = []

    @once
    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    @once
    def first(text: str) -> str:
        return text[0]

    assert [length("tea"), length("tea")] == [3, 3]
    with reading_once():
        assert [length("tea"), first("tea"), length("tea"), length("milk")] == [3, "t", 3, 4]
    with reading_once():
        assert length("tea") == 3
    assert asked == ["tea", "tea", "tea", "milk", "tea"]
