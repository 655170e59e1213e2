"""What holds for the extraction whatever is said?"""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.longterm.extract import extract_rules
from mnemic.longterm.extract.sentences import split
from mnemic.longterm.extract.silence import readable
from mnemic.model import MEMORY_TYPES, SCOPES, Turn

WORDS = st.sampled_from(
    [
        "记住",
        "帮我记住：",
        "我叫",
        "我是",
        "我喜欢",
        "以后",
        "我们决定",
        "必须",
        "项目",
        "他",
        "我女儿",
        "如果",
        "吗？",
        "，",
        "。",
        "：",
        "“",
        "”",
        "```",
        "\n",
        "> ",
        "always ",
        "from now on ",
        "my name is ",
        "I prefer ",
        "we decided ",
        "must ",
        "remember that ",
        "he ",
        "my son Theo ",
        "if ",
        "?",
        ", ",
        ". ",
        '"',
        "'",
        "haha",
        "Should I always ",
        "yes",
        "no, ",
        "对",
        "不，",
        "订单号 A1B2",
        "done ",
        "reference KD-55",
        "\ue000",
        "\x00",
        "’",
    ]
)
TEXTS = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=40).map("".join))
TURNS = st.lists(
    st.builds(Turn, st.sampled_from(["user", "assistant", "system", "tool"]), TEXTS), max_size=5
)
LONGEST_SUBJECT = 80


@settings(max_examples=300, deadline=None)
@given(TURNS, st.integers(min_value=0, max_value=5))
def test_any_conversation_is_read_the_same_way_twice(turns: list[Turn], first_new: int) -> None:
    found = extract_rules(turns, first_new=first_new)
    assert found == extract_rules(turns, first_new=first_new)
    contents = [candidate.content for candidate in found]
    assert len(set(contents)) == len(contents)
    for candidate in found:
        assert candidate.content.strip() == candidate.content != ""
        assert len(candidate.content) <= 2000
        assert candidate.memory_type in MEMORY_TYPES
        assert candidate.scope in SCOPES
        assert 0.8 <= candidate.confidence <= 0.95
        assert candidate.reason.islower()
        assert candidate.reason.isidentifier()
        assert set(candidate.seqs) <= set(range(1, len(turns) + 1))
        longest = sum(len(turns[seq - 1].content) for seq in candidate.seqs)
        assert len(candidate.content) <= longest + LONGEST_SUBJECT


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_what_is_blanked_keeps_its_length_and_clauses_lie_in_order(text: str) -> None:
    view = readable(text)
    assert len(view) == len(text)
    at = 0
    for sentence in split(view):
        for clause in sentence.clauses:
            assert at <= clause.start < clause.end <= len(text)
            assert view[clause.start : clause.end].strip() == view[clause.start : clause.end]
            at = clause.end


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_quoted_text_and_code_state_nothing(text: str) -> None:
    inner = text.replace("`", "")
    assert extract_rules([Turn("user", f"```\n{inner}\n```")]) == ()
    assert extract_rules([Turn("system", text), Turn("tool", text)]) == ()


REPEATS = [
    "记住",
    "记住，",
    "我喜欢",
    "我叫",
    "以后",
    "以后请",
    "我们决定",
    "项目必须",
    "如果",
    "“",
    "我的",
    "我 ",
    "remember that ",
    "always ",
    "from now on ",
    "I prefer ",
    "my name is ",
    "we decided ",
    "must ",
    "if I ",
    "my son ",
    "and I ",
    '"',
    "<a>",
    "```",
    "> I prefer\n",
    "I am a ",
    "no, ",
    "project is in ",
    "翻译",
    "this file says ",
    "a",
    "我",
    "，",
    "\n",
    "every day ",
]


@pytest.mark.parametrize("piece", REPEATS)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_hundred_thousand_characters_of_triggers_are_read_in_seconds(
    piece: str, role: str
) -> None:
    extract_rules([Turn("user", "我住在这里。 I live here.")])
    text = (piece * (100_000 // len(piece) + 1))[:100_000]
    turns = [Turn("assistant", text), Turn("user" if role == "user" else "assistant", text)]
    start = time.process_time()
    extract_rules(turns, first_new=1)
    assert time.process_time() - start < 10.0


@pytest.mark.parametrize(
    "sentence",
    [
        "I was thinking about the report for our client, and my manager said the layout needs work. ",
        "我最近在整理客户的预算报告，截止时间快到了，所以在想怎么重新安排任务。",
    ],
)
def test_a_longer_turn_takes_in_proportion_longer(sentence: str) -> None:
    def least_of_five(length: int) -> float:
        turn = Turn("user", (sentence * 200)[:length])
        times = []
        for _ in range(5):
            start = time.process_time()
            extract_rules([turn])
            times.append(time.process_time() - start)
        return min(times)

    least_of_five(1_000)
    assert least_of_five(4_000) < 12 * least_of_five(1_000), "four times is in proportion"
