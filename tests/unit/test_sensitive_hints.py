"""Does every text that a costly pattern matches pass the cheap look before it?"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mnemic.longterm import instructions
from mnemic.longterm.sensitive import accounts, commands, health_en, health_en_words, id_rules, ids
from mnemic.longterm.sensitive.fold import fold
from mnemic.longterm.sensitive.hints import Hints
from mnemic.longterm.sensitive.lazy import Pattern

Look = Callable[[str], object]
EACH = settings(
    max_examples=12,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
AHEAD = re.compile(r"\((?:\?=|\?!|\?<!|\?<=)(?:[^()]|\([^()]*\))*\)")

LOOKS: tuple[tuple[str, Pattern | re.Pattern[str] | str, Look], ...] = (
    ("condition", rf" {health_en_words.CONDITIONS}", health_en.names_health),
    ("medicine", rf" {health_en_words.DRUGS}", health_en.names_health),
    ("value", rf" {health_en_words.LABS}", health_en.names_health),
    ("iban", accounts._IBAN, accounts._NUMBERED.search),
    ("pair", commands._PAIR, commands._JOINED.search),
    ("spelled out", instructions._LETTERED, instructions._APART.search),
    ("mark", instructions._MARKS, instructions._MARK_HINTS.in_text),
    *(
        (f"order {n}", form, instructions._OBJECTS_ZH.in_text)
        for n, form in enumerate(instructions._ZH)
    ),
    *((rule.name, rule.form, ids._starts) for rule in id_rules.RULES),
)


@pytest.mark.parametrize(
    ("form", "look"), [pytest.param(form, look, id=name) for name, form, look in LOOKS]
)
@given(data=st.data())
@EACH
def test_what_matches_is_not_looked_over(
    form: Pattern | re.Pattern[str] | str, look: Look, data: st.DataObject
) -> None:
    if isinstance(form, Pattern):
        form = form._compiled
    source, flags = (form, 0) if isinstance(form, str) else (form.pattern, form.flags)
    drawn = data.draw(st.from_regex(re.compile(AHEAD.sub("", source), flags), fullmatch=True))
    text = fold(drawn).text
    if re.search(source, text, flags):
        assert look(text)


@pytest.mark.parametrize("text", ["a key", "我的 key", "密码", "中文 密码", "é key"])
def test_a_word_is_found_in_any_script(text: str) -> None:
    assert Hints(("key", "密码")).in_text(text)


@pytest.mark.parametrize("text", ["", "KEY", "k e y", "中文", "密 码"])
def test_a_text_without_the_words_has_none(text: str) -> None:
    assert not Hints(("key", "密码")).in_text(text)
