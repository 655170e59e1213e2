"""Does a summary stay within its room, name its turns, and say what was said?"""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInput
from mnemic.model import Turn
from mnemic.session.digest import digest
from mnemic.session.summarize import Summary, ranges, read_summary, summarise
from mnemic.session.tokens import estimate_tokens, turn_tokens
from mnemic.session.turn_checks import checked_turns
from session_world import Scripted

TALK = [
    Turn("user", "Hello! Can you help me with the cellar?", seq=1),
    Turn("assistant", "Sure. What about the cellar?", seq=2),
    Turn("user", "The cellar in Bremen is damp. The builder Ortega asks 4,300 euros.", seq=3),
    Turn("assistant", "Is the wall damp, or the floor of the cellar?", seq=4),
    Turn("user", "The north wall of the cellar is damp. ok. thanks", seq=5),
]


def test_sentences_with_figures_and_names_come_first() -> None:
    said = [
        Turn("user", "The builder wants his money soon", seq=1),
        Turn("user", "The builder Ortega wants 4,300 euros", seq=2),
        Turn("assistant", "The builder Ortega wants 4,300 euros. Shall I write him?", seq=3),
    ]
    assert digest(said, 20) == "[2] user: The builder Ortega wants 4,300 euros"
    text = digest(TALK, 200)
    assert "[5] user: The north wall of the cellar is damp." in text
    assert "thanks" not in text
    order = [int(line[1 : line.index("]")]) for line in text.splitlines()]
    assert order == sorted(order)


def test_chinese_sentences_are_told_apart() -> None:
    said = [Turn("user", "地下室在不来梅。奥特加报价四千三百欧元！你好吗？", seq=1)]
    assert "[1] user: 奥特加报价四千三百欧元！" in digest(said, 200)


def test_where_nothing_fits_the_beginning_stands_for_all() -> None:
    assert estimate_tokens(digest([Turn("user", "word " * 500, seq=1)], 20)) <= 20
    assert digest([Turn("user", "", seq=1)], 20) == "…"
    assert digest([], 20) == "…"


@given(
    st.lists(
        st.builds(Turn, st.sampled_from(["user", "assistant", "tool"]), st.text(max_size=200))
    ),
    st.integers(20, 300),
)
def test_a_digest_has_room(turns: list[Turn], budget: int) -> None:
    assert 0 < estimate_tokens(digest(turns, budget)) <= budget


@given(st.sets(st.integers(1, 60)))
def test_ranges_name_every_number_once(seqs: set[int]) -> None:
    named: list[int] = []
    for part in filter(None, ranges(seqs).split(", ")):
        first, _, last = part.partition("-")
        named += range(int(first), int(last or first) + 1)
    assert named == sorted(seqs)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ('{"summary": " a damp cellar "}', "a damp cellar"),
        ('Here it is:\n```json\n{"summary": "a damp cellar"}\n```', "a damp cellar"),
        ('{"summary": "a\\u0000 damp\\ud800 cellar"}', "a damp cellar"),
        ('{"summary": null}', None),
        ('{"summary": ["a"]}', None),
        ('["a damp cellar"]', None),
        ("}{", None),
        ("", None),
    ],
)
def test_answers_of_models_are_read_with_patience(answer: str, text: str | None) -> None:
    assert read_summary(answer) == text


@given(st.text())
def test_no_answer_breaks_the_reader(answer: str) -> None:
    assert read_summary(answer) is None or "summary" in answer


def test_a_summary_covers_what_it_did_and_what_is_new() -> None:
    before = Summary("a damp cellar", (1, 2), "model", 4)
    chat = Scripted([json.dumps({"summary": "a damp cellar, 4,300 euros"})])
    after = asyncio.run(summarise(TALK[2:4], budget_tokens=200, chat=chat, before=before))
    assert (after.seqs, after.by, after.text) == (
        (1, 2, 3, 4),
        "model",
        "a damp cellar, 4,300 euros",
    )
    assert after.shown == "Summary of turns 1-4:\na damp cellar, 4,300 euros"
    again = asyncio.run(summarise(TALK[2:4], budget_tokens=200, before=before, covered=TALK[:2]))
    assert (again.seqs, again.by, again.problem) == ((1, 2, 3, 4), "extract", None)


def test_the_prompt_speaks_the_users_language() -> None:
    chat = Scripted([json.dumps({"summary": "地下室潮湿"})])
    said = [Turn("user", "我的地下室北墙潮湿，请帮我找施工队", seq=1)]
    asyncio.run(summarise(said, budget_tokens=100, chat=chat))
    assert "请用中文" in chat.asked[0][0].content
    asyncio.run(summarise(TALK, budget_tokens=100, chat=chat))
    assert "in English" in chat.asked[1][0].content


def test_tool_calls_count_as_tokens() -> None:
    plain = Turn("assistant", "look")
    calling = Turn(
        "assistant",
        "look",
        tool_calls=[{"id": "a", "name": "search", "args": {"query": "x" * 300}}],  # type: ignore[arg-type]
    )
    assert turn_tokens(calling) > turn_tokens(plain) + 90
    assert turn_tokens(plain, lambda text: 7) == 11


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_turn_that_passed_passes_again_unchanged(content: str, speaker: str) -> None:
    (once,) = checked_turns([Turn("user", content, speaker=speaker)])
    assert checked_turns([once]) == [once]


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda x: st.lists(x) | st.dictionaries(st.text(max_size=9), x),
        max_leaves=8,
    )
)
def test_whatever_comes_as_tool_calls_is_taken_or_refused(value: object) -> None:
    try:
        turn = Turn("assistant", "", tool_calls=value)  # type: ignore[arg-type]
    except InvalidInput:
        return
    assert all(isinstance(call.id, str) for call in turn.tool_calls)
