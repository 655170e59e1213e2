"""By what is a turn found?"""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.lexical import tokens
from mnemic.model import Turn
from mnemic.resources.turns import (
    MAX_LEXEMES,
    asking,
    counted,
    passages,
    read_turn,
    role,
    speaker_name,
    stands,
    window,
)


def test_a_window_holds_the_end_before_and_the_beginning_after() -> None:
    before, after = "a" * 400 + "END", "BEGIN" + "b" * 400
    found = window("own", before, after).split("\n")
    assert [len(part) for part in found] == [300, 3, 300]
    assert found[0].endswith("END")
    assert found[2].startswith("BEGIN")


def test_a_window_without_neighbours_is_the_turn() -> None:
    assert window("own") == window("own", "  \n", "") == "own"
    assert len(window("o" * 5_000)) == 1_500
    assert window("own", None, "next") == "own\nnext"


def test_short_turns_are_one_passage() -> None:
    assert passages("Hello. There.") == ("Hello. There.",)
    assert len(passages("x. " * 151)) == 1


def test_long_turns_are_packed_sentences() -> None:
    found = passages("I keep three goats and a very old donkey in the yard. " * 40)
    assert len(found) > 4
    assert all(250 < len(part) <= 400 and part.endswith(".") for part in found[:-1])


@given(st.text("ab 。.?\n", max_size=4_000))
def test_passages_keep_every_letter_in_order(text: str) -> None:
    found = passages(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(len(part) <= 900 for part in found)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("", 0.0),
        ("No.", 0.0),
        ("Where is it?", 1.0),
        ("它在哪里？", 1.0),
        ("I bought tea. Where is it?", 0.52),
        ("我买了茶。它在哪里？", 0.5),
        ("why???", 1.0),
        ("x" * 100 + "\nok?", 0.03),
    ],
)
def test_the_share_that_asks(text: str, share: float) -> None:
    assert asking(text) == pytest.approx(share, abs=0.04)


@given(st.text("ab ?？。.\n", max_size=500))
def test_a_share_is_a_share(text: str) -> None:
    assert 0 <= asking(text) <= 1


@pytest.mark.parametrize(
    "text",
    [
        "I always take the stairs.",
        "Please don't use emoji in your answers",
        "From now on, answer in French.",
        "I'd rather sit by the window",
        "I really don't like spicy food, I can't stand it",
        "I am allergic to nuts",
        "我对花生过敏",
        "以后回答请简短一些",
        "我從不喝咖啡",
        "我更愿意坐火车",
    ],
)
def test_wishes_that_stand(text: str) -> None:
    assert stands(text)


@pytest.mark.parametrize(
    "text", ["I went to the station.", "What time is it?", "我昨天去了车站", "他明天来", "Thanks!"]
)
def test_what_states_no_wish(text: str) -> None:
    assert not stands(text)


@pytest.mark.parametrize(
    ("of", "speaker", "expected"),
    [
        ("user", None, 1),
        ("user", "User", 1),
        ("assistant", None, -1),
        ("assistant", "Assistant", -1),
        ("assistant", "AI", -1),
        ("assistant", "助手", -1),
        ("assistant", "Bob", 1),
        ("user", "安娜", 1),
        ("system", None, 0),
        ("tool", "tool", 0),
    ],
)
def test_roles(of: str, speaker: str | None, expected: int) -> None:
    assert role(Turn(of, "x", speaker=speaker)) == expected  # type: ignore[arg-type]


def test_names_are_compared_without_case_width_and_script() -> None:
    assert speaker_name("  Ａnna  Maria ") == speaker_name("anna maria") == "anna maria"
    assert speaker_name("劉華") == speaker_name("刘华")
    assert speaker_name("Assistant") is speaker_name("  ") is speaker_name(None) is None


def test_only_people_state_wishes() -> None:
    said = "You should always drink water."
    assert read_turn(Turn("user", said), None, None).stands
    assert not read_turn(Turn("assistant", said), None, None).stands
    assert not read_turn(Turn("system", said), None, None).stands


def test_a_lone_short_turn_has_no_passages_of_its_own() -> None:
    turn = Turn("user", "Only this.")
    assert read_turn(turn, None, None).passages == ()
    assert read_turn(turn, Turn("user", "Before."), None).passages == ("Only this.",)


def test_words_of_a_short_text_are_counted_as_everywhere() -> None:
    text = "用Redis存会话, v1.2.3 and goats, goats"
    assert sorted(counted(text).elements()) == sorted(tokens(text))


def test_words_of_a_long_text_are_all_counted_up_to_what_an_index_holds() -> None:
    long = "goat " * 20_000 + "zebra"
    assert counted(long) == {"goat": 20_000, "zebra": 1}
    many = counted(" ".join(f"w{number:x}" for number in range(40_000)))
    assert len(many) == MAX_LEXEMES


@pytest.mark.parametrize("char", ["a", "?", "。", "i ", "\n", "中", "<", "never "])
def test_a_million_characters_are_read_in_time_that_grows_with_them(char: str) -> None:
    text = (char * 1_000_000)[:1_000_000]
    started = time.process_time()
    read_turn(Turn("user", text), Turn("user", text), Turn("user", text))
    assert time.process_time() - started < 30
