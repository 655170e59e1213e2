"""Which queries are the end of a conversation?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.retrieval.dialogue import Line, lines_of


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        (
            "User: My lamp broke\nAssistant: Which one?\nUser: The red one",
            [("", "My lamp broke"), ("", "Which one?"), ("", "The red one")],
        ),
        ("用户：我的灯坏了\n助手：哪一盏？", [("", "我的灯坏了"), ("", "哪一盏？")]),
        ("Ida: Hello\nBen: Hi\nIda: Tea?", [("Ida", "Hello"), ("Ben", "Hi"), ("Ida", "Tea?")]),
        ("李梅：早\n我: 早，喝茶吗", [("李梅", "早"), ("", "早，喝茶吗")]),
        (
            "Anna-Maria O'Neil : one\n  two\n\nAI: three",
            [("Anna-Maria O'Neil", "one\ntwo"), ("", "three")],
        ),
        ("HUMAN: a\r\nASSISTANT: b", [("", "a"), ("", "b")]),
    ],
)
def test_a_conversation_is_taken_apart(query: str, lines: list[tuple[str, str]]) -> None:
    assert [(line.speaker, line.text) for line in lines_of(query)] == lines


@pytest.mark.parametrize(
    "query",
    [
        "",
        "What did Ida say about tea?",
        "User: what is my locker number?",
        "port: 8080\nhost: heron",
        "My notes\nUser: one\nUser: two",
        "Note: the lift is broken\nWhere is the stair?",
        "https://example.org/a\nhttps://example.org/b",
        "12:30 lunch\n12:45 coffee",
        "Meet me at 5: the red door\nand bring tea: green",
    ],
)
def test_anything_else_is_none(query: str) -> None:
    assert lines_of(query) == ()


def test_a_name_counts_as_a_word_and_a_part_does_not() -> None:
    assert Line("Ida", "Tea?").words == "Ida: Tea?"
    assert Line("", "Tea?").words == "Tea?"


@given(st.text(max_size=400))
def test_no_text_is_lost(query: str) -> None:
    said = "".join(line.speaker + line.text for line in lines_of(query))
    assert len(said) <= len(query)
    assert lines_of(query) == () or len(lines_of(query)) >= 2
