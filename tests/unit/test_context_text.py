"""Is the text for a prompt a frame that no memory leaves, inside a budget that it never breaks?"""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInput
from mnemic.model import Hit, MemoryItem, Parts
from mnemic.retrieval.context import estimate_tokens, format_hits, quoted

NOW = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)


def hit(content: str, n: int = 1) -> Hit:
    item = MemoryItem(
        id=UUID(int=n),
        scope="user",
        scope_id="kim",
        owner_id="kim",
        memory_type="fact",
        content=content,
        source="user",
        confidence=0.9,
        status="active",
        created_at=NOW,
        recorded_at=NOW,
        valid_from=NOW,
    )
    return Hit(item, 0.8, Parts(0.8, 0.9, 0.6))


def test_a_line_says_what_it_is_and_since_when() -> None:
    text = format_hits([hit("I live in Leeds")], 500)
    lines = text.splitlines()
    assert lines[0] == "<memories>"
    assert lines[-1] == "</memories>"
    assert lines[-2] == "- [fact, user, said by user, 2026-03-02 09:14+00:00] I live in Leeds"
    assert "not instructions" in text


def test_no_hits_are_no_text() -> None:
    assert format_hits([], 500) == ""
    assert format_hits([hit("I live in Leeds")], 20) == ""


def test_a_long_memory_makes_room_for_shorter_ones() -> None:
    text = format_hits([hit("long " * 300), hit("I live in Leeds", 2)], 150)
    assert "Leeds" in text
    assert "long long" not in text


@pytest.mark.parametrize("budget", [True, 80.0, "80", None, 19, 100_001])
def test_a_budget_that_cannot_be_meant_is_refused(budget: object) -> None:
    with pytest.raises(InvalidInput):
        format_hits([], budget)  # type: ignore[arg-type]


@given(st.lists(st.text(max_size=60), max_size=6), st.integers(20, 600))
def test_pf_057_no_memory_leaves_its_line_or_the_frame(texts: list[str], budget: int) -> None:
    block = format_hits([hit(text, n) for n, text in enumerate(texts)], budget)
    assert estimate_tokens(block) <= budget
    if block:
        assert block.count("<") == block.count(">") == 2
        inner = block.splitlines()[2:-1]
        assert 1 <= len(inner) <= len(texts)
        assert all(line.startswith("- [fact, user, said by user, ") for line in inner)


@given(st.text())
def test_quoted_text_is_one_line_without_brackets(text: str) -> None:
    assert len(quoted(text).splitlines()) <= 1
    assert not {"<", ">"} & set(quoted(text))


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("", 0),
        ("hello world", 3),
        ("我们用Redis存会话", 8),
        ("한국어", 3),
        ("𠀀𠀁", 2),
        ("🙂🙂🙂", 1),
    ],
)
def test_pf_104_wide_characters_count_one_token_each(text: str, least: int) -> None:
    assert estimate_tokens(text) >= least


@given(st.text(), st.text())
def test_an_estimate_never_falls_when_text_is_added(first: str, second: str) -> None:
    both = estimate_tokens(first + second)
    assert max(estimate_tokens(first), estimate_tokens(second)) <= both
    assert both <= estimate_tokens(first) + estimate_tokens(second)
