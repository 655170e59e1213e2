"""Is the bundled sample what `mnemic demo` and its reader may rely on?"""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from importlib.resources import files
from itertools import pairwise

import pytest

PLACEHOLDERS = {"{secret:github_token}", "{secret:password}", "{id:national}", "{card}"}
CHINESE = re.compile(r"[\u4e00-\u9fff]")
ENGLISH = re.compile(r"[A-Za-z]{3,}(?:[ ,']+[A-Za-z]+){2,}")
SECRET_SHAPES = (
    re.compile(r"\d(?:[ \-.]?\d){11,}[Xx]?"),  # cards, accounts and id numbers
    re.compile(r"(?=[A-Za-z0-9_\-]*\d)(?=[A-Za-z0-9_\-]*[A-Za-z])[A-Za-z0-9_\-]{20,}"),
    re.compile(r"\b(?:gh[a-z]_|sk-|xox[a-z]-|AKIA|eyJ)[A-Za-z0-9_\-]{6,}"),
    re.compile(
        r"(?i)(?:password|passwd|token|密码|口令)\s*(?:is|are|[:=是\uff1a])\s*(?!\{)[^\s{,\uff0c。]+"
    ),
    re.compile(r"-----BEGIN"),
)


def rows(name: str) -> list[dict[str, object]]:
    text = files("mnemic.demo").joinpath(name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def looks_secret(text: str) -> bool:
    return any(shape.search(text) for shape in SECRET_SHAPES)


@pytest.fixture(scope="module")
def turns() -> list[dict[str, object]]:
    return rows("sample.jsonl")


@pytest.fixture(scope="module")
def questions() -> list[dict[str, object]]:
    return rows("questions.jsonl")


def test_every_turn_has_the_same_four_text_fields(turns: list[dict[str, object]]) -> None:
    assert len(turns) >= 84
    for turn in turns:
        assert list(turn) == ["session", "role", "content", "time"]
        assert all(isinstance(value, str) and value.strip() == value for value in turn.values())
        assert turn["role"] in ("user", "assistant")
        assert 2 <= len(str(turn["content"])) <= 2000


def test_user_and_assistant_take_turns_in_every_session(turns: list[dict[str, object]]) -> None:
    for before, after in pairwise(turns):
        if before["session"] == after["session"]:
            assert before["role"] != after["role"]
        else:
            assert (before["role"], after["role"]) == ("assistant", "user")


def test_times_carry_a_zone_and_increase(turns: list[dict[str, object]]) -> None:
    times = [datetime.fromisoformat(str(turn["time"])) for turn in turns]
    assert all(time.utcoffset() is not None for time in times)
    assert all(before < after for before, after in pairwise(times))


def test_three_unbroken_sessions_span_about_two_weeks(turns: list[dict[str, object]]) -> None:
    names = [str(turn["session"]) for turn in turns]
    starts = [0] + [i for i in range(1, len(names)) if names[i] != names[i - 1]]
    assert len(starts) == len(set(names)) == 3
    times = [datetime.fromisoformat(str(turns[i]["time"])) for i in (*starts, -1)]
    assert timedelta(days=12) <= times[-1] - times[0] <= timedelta(days=16)
    assert all(after - before > timedelta(days=3) for before, after in pairwise(times[:3]))


def test_the_user_speaks_both_languages_in_every_session(turns: list[dict[str, object]]) -> None:
    for session in {turn["session"] for turn in turns}:
        said = [
            str(turn["content"])
            for turn in turns
            if turn["session"] == session and turn["role"] == "user"
        ]
        assert sum(bool(CHINESE.search(text)) for text in said) >= len(said) / 3
        assert sum(bool(ENGLISH.search(text)) for text in said) >= len(said) / 3


def test_placeholders_are_known_and_each_is_said_by_the_user(
    turns: list[dict[str, object]],
) -> None:
    found = [
        (match, turn["role"])
        for turn in turns
        for match in re.findall(r"\{[^{}]*\}", str(turn["content"]))
    ]
    assert {match for match, _ in found} == PLACEHOLDERS
    assert {role for _, role in found} == {"user"}
    left = (re.sub(r"\{[^{}]*\}", "", str(turn["content"])) for turn in turns)
    assert not any("{" in text or "}" in text for text in left)


def test_no_turn_or_question_holds_a_secret_shaped_literal(
    turns: list[dict[str, object]], questions: list[dict[str, object]]
) -> None:
    texts = [str(turn["content"]) for turn in turns]
    texts += [json.dumps(question, ensure_ascii=False) for question in questions]
    assert [text for text in texts if looks_secret(text)] == []


@pytest.mark.parametrize(
    "planted",
    [
        "token " + "gh" + "p_" + "a1" * 18,
        "card " + "4" + "1" * 15,
        "card " + " ".join(["4" + "1" * 3, *["1" * 4] * 3]),
        "我的号码是" + "1" * 17 + "X",
        "the password is " + "hunter" + "2",
        "密码:" + "abc" + "123",
        "密码\uff1a" + "abc" + "123",
        "-----" + "BEGIN PRIVATE KEY" + "-----",
    ],
)
def test_the_secret_check_finds_planted_shapes(planted: str) -> None:
    assert looks_secret(planted)


def test_ten_questions_are_complete_and_mixed(questions: list[dict[str, object]]) -> None:
    assert len(questions) == 10
    for question in questions:
        assert list(question) == ["query", "lang", "expect", "note"]
        assert question["query"]
        assert question["note"]
        assert bool(CHINESE.search(str(question["query"]))) == (question["lang"] == "zh")
    assert {question["lang"] for question in questions} == {"zh", "en"}


def test_one_question_is_unrelated_and_every_other_is_answered_by_one_turn(
    turns: list[dict[str, object]], questions: list[dict[str, object]]
) -> None:
    def answers(expect: list[str], content: str) -> bool:
        said = content.casefold()
        return all(any(word.casefold() in said for word in e.split("|")) for e in expect)

    unrelated = 0
    for question in questions:
        expect = question["expect"]
        assert isinstance(expect, list)
        unrelated += not expect
        assert any(answers(expect, str(turn["content"])) for turn in turns), question["query"]
    assert unrelated == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("在霁桥科技做后端工程师", "在 Quillmoor 做平台工程师"),
        ("我喜欢深色主题", "我现在喜欢浅色主题"),
        ("dev server runs on port 8080", "dev server now runs on port 9090"),
        ("云服务预算是 3000 元", "云服务预算提高到 4500 元"),
        ("I prefer concise answers", "I prefer detailed answers now"),
        ("一共 5 个人", "现在有 7 个人"),
        ("每周一上午 9:30", "每周一上午 10:00"),
        ("I drink coffee every morning", "I drink tea every morning now"),
    ],
)
def test_a_changed_value_is_said_once_and_replaced_later(
    turns: list[dict[str, object]], old: str, new: str
) -> None:
    said = [str(turn["content"]) for turn in turns]
    (first,) = (i for i, text in enumerate(said) if old in text)
    (second,) = (i for i, text in enumerate(said) if new in text)
    assert first < second
    assert turns[first]["session"] != turns[second]["session"]
