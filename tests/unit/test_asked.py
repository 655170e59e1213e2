"""Is a query read for whose turn, which side and what kind of answer it asks?"""

from __future__ import annotations

from datetime import UTC, date, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.model import Hit, MemoryItem, MemoryType, Parts, Scope
from mnemic.retrieval.asked import (
    FADING,
    LENT,
    lend,
    parts_of,
    read,
    speaker_candidates,
    standing,
    wants_help,
    whole,
)

TODAY = date(2025, 11, 19)


@pytest.mark.parametrize(
    "query",
    [
        "Which book did you recommend for the flight?",
        "What was your earlier suggestion about the boiler?",
        "you told me a recipe with lentils",
        "你上次推荐过哪家面馆",
        "你之前给我推荐了什么课程",
        "您告诉过我怎么重置路由器吗",
    ],
)
def test_a_question_about_what_the_assistant_said(query: str) -> None:
    assert read(query, TODAY).side == -1


@pytest.mark.parametrize(
    "query",
    [
        "Can you recommend a book for the flight?",
        "What did I tell you about the boiler?",
        "What did Priya recommend?",
        "帮我推荐一家面馆",
        "我跟你说过我住哪吗",
        "",
    ],
)
def test_any_other_question_is_about_people(query: str) -> None:
    assert read(query, TODAY).side == 1


@pytest.mark.parametrize(
    "query", ["Can you suggest a quiet hotel?", "How should I repot a fern?", "帮我安排周日的午饭"]
)
def test_a_request_for_help(query: str) -> None:
    assert read(query, TODAY).request


@pytest.mark.parametrize(
    "query", ["What plan did I have for Sunday?", "Which hotel was recommended?", "我推荐过什么书"]
)
def test_a_question_about_the_past_is_no_request(query: str) -> None:
    assert not read(query, TODAY).request


def test_names_come_with_the_words_that_they_take_away() -> None:
    asked = read("What does Mary Ann's brother keep?", TODAY)
    of = dict(zip(asked.names, asked.of_name, strict=True))
    assert [asked.lexemes[n] for n in of["mary ann"]] == ["mari", "ann"]
    assert "brother" in asked.lexemes


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("What does JOSÉ grow?", "josé"),
        ("Jean-Luc's garden", "jean-luc"),
        ("O'Neil said so", "o'neil"),
        ("小林上周去了哪里", "小林"),
        ("欧阳晓明喜欢什么", "欧阳晓明"),
        ("Ｐｒｉｙａ likes what", "priya"),
    ],
)
def test_a_name_is_among_the_candidates(query: str, name: str) -> None:
    assert name in set(speaker_candidates(query))


def test_roles_are_nobodys_names() -> None:
    assert not {"user", "assistant", "用户"} & set(speaker_candidates("user assistant system 用户"))


def test_the_actors_own_name_is_not_looked_for() -> None:
    asked = read("Where does Linda keep the ladder?", TODAY, "linda")
    assert "linda" not in asked.lexemes
    assert "ladder" in asked.lexemes
    assert "linda" in read("Where does Linda keep the ladder?", TODAY, "bob").lexemes


def test_the_ends_of_the_conversations() -> None:
    assert read("What did we talk about in our first conversation?", TODAY).first
    assert read("我们第一次聊天说了什么", TODAY).first
    assert read("and in the most recent chat?", TODAY).latest
    assert read("上次聊天", TODAY).latest
    assert not read("the first floor and the last bus", TODAY).first


def test_only_a_longer_query_is_read_by_sentences() -> None:
    assert parts_of("One sentence here. And another one.") == ()
    assert parts_of("I moved house. My desk is new! What fits it?") == (
        ("I moved house.", 1.0),
        ("My desk is new!", 1.0),
        ("What fits it?", 1.0),
    )
    assert len(parts_of("我搬家了。桌子是新买的。配什么灯好？")) == 3
    assert parts_of("我搬家了。桌子是新买的。配什么灯好？", by_sentence=False) == ()


TALK = """User: Did you say that the red lamp fits my desk?
Assistant: I did.
User: How do I hang it on Friday?"""


def test_a_conversation_asks_what_its_last_line_asks() -> None:
    asked = read(TALK, TODAY)
    alone = read("How do I hang it on Friday?", TODAY)
    assert (asked.side, asked.request, asked.spans) == (alone.side, alone.request, alone.spans)
    assert asked.request
    assert read(TALK.splitlines()[0], TODAY).side == -1
    assert {"lamp", "desk", "hang"} <= set(asked.lexemes)
    assert not {"user", "assistant"} & set(asked.lexemes), "a part is no word of the query"
    assert wants_help(TALK)
    assert not wants_help("User: Can you recommend a lamp?\nUser: It was red")


def test_a_conversation_is_read_line_by_line_the_last_first() -> None:
    assert parts_of(TALK) == (
        ("How do I hang it on Friday?", 1.0),
        ("I did.", FADING),
        ("Did you say that the red lamp fits my desk?", FADING**2),
    )
    assert parts_of(TALK, by_sentence=False) == parts_of(TALK)
    assert whole(TALK).splitlines() == [text for text, _ in reversed(parts_of(TALK))]
    assert whole("Ida: Tea?\nUser: Yes\nIda: Green?") == "Ida: Tea?\nYes\nIda: Green?"
    long = "\n".join(f"User: line number {n}" for n in range(60))
    assert parts_of(long)[0][0] == "line number 59"
    assert len(parts_of(long)) == 24
    assert whole("What fits my desk?") == "What fits my desk?"


@given(st.text(max_size=2_000))
def test_every_query_can_be_read(query: str) -> None:
    asked = read(query, TODAY, "kim")
    assert len(asked.lexemes) == len(asked.tells)
    assert len(asked.names) == len(asked.of_name) <= 256
    assert all(0 <= n < len(asked.lexemes) for places in asked.of_name for n in places)
    assert len(parts_of(query)) <= 24


def test_what_is_lent_comes_last_and_counts_little() -> None:
    asked = read("Can you recommend a snack?", TODAY)
    richer = lend(asked, ["I never eat peanuts or any other snack", "我不吃花生"])
    own = len(asked.lexemes)
    assert richer.lexemes[:own] == asked.lexemes
    assert richer.tells[:own] == asked.tells
    assert {"peanut", "花生"} <= set(richer.lexemes[own:])
    assert set(richer.tells[own:]) == {LENT}
    assert richer.lent == len(richer.lexemes) - own
    assert len(set(richer.lexemes)) == len(richer.lexemes), "no word twice"
    assert not {"i", "any", "or"} & set(richer.lexemes[own:]), "everyday words tell nothing"


@given(st.text(max_size=100), st.lists(st.text(max_size=2_000), max_size=3))
def test_anything_can_be_lent(query: str, texts: list[str]) -> None:
    asked = read(query, TODAY)
    richer = lend(asked, texts)
    assert len(richer.lexemes) == len(richer.tells) <= len(asked.lexemes) + 64
    assert lend(asked, []) == asked


def found(content: str, memory_type: MemoryType, scope: Scope = "user") -> Hit:
    at = datetime(2025, 3, 1, tzinfo=UTC)
    item = MemoryItem(
        id=UUID(int=1),
        scope=scope,
        scope_id="mia",
        owner_id="mia",
        memory_type=memory_type,
        content=content,
        source="user",
        confidence=0.9,
        status="active",
        created_at=at,
        recorded_at=at,
        valid_from=at,
    )
    return Hit(item, 0.5, Parts(0.5, 0.9, 0.6))


def test_only_the_users_own_wishes_and_habits_stand_until_further_notice() -> None:
    hits = [
        found("I live in Graz", "fact"),
        found("no peanuts", "constraint"),
        found("we use tabs", "preference", "project"),
        found("I like tea", "preference", "session"),
        found("I run at six", "habit"),
        found("I like figs", "preference"),
    ]
    assert standing(hits) == ("no peanuts", "I like tea", "I run at six")


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("Can you suggest a restaurant?", True),
        ("帮我推荐一部电影", True),
        ("Where did I park?", False),
        ("我上次推荐过什么", False),
        ("", False),
    ],
)
def test_standing_wishes_apply_to_wishes_for_help(query: str, wanted: bool) -> None:
    assert wants_help(query) is wanted
