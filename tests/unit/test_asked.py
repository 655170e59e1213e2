"""Is a query read for whose turn, which side and what kind of answer it asks?"""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.retrieval.asked import read, sentences, speaker_candidates

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
    assert sentences("One sentence here. And another one.") == ()
    assert sentences("I moved house. My desk is new! What fits it?") == (
        "I moved house.",
        "My desk is new!",
        "What fits it?",
    )
    assert len(sentences("我搬家了。桌子是新买的。配什么灯好？")) == 3


@given(st.text(max_size=2_000))
def test_every_query_can_be_read(query: str) -> None:
    asked = read(query, TODAY, "kim")
    assert len(asked.lexemes) == len(asked.tells)
    assert len(asked.names) == len(asked.of_name) <= 256
    assert all(0 <= n < len(asked.lexemes) for places in asked.of_name for n in places)
    assert len(sentences(query)) <= 24
