"""Does every text that a costly pattern matches pass the cheap look before it?"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mnemic.longterm import instructions
from mnemic.longterm.sensitive import (
    accounts,
    assignments,
    biometrics,
    commands,
    described,
    health_en,
    health_en_words,
    health_zh,
    id_rules,
    ids,
    logins,
    secrets,
)
from mnemic.longterm.sensitive.fold import fold
from mnemic.longterm.sensitive.hints import Hints, openings
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
    ("header", logins._HEADER, lambda text: logins.HINTS.in_text(text.lower())),
    ("answer", described._ANSWER, lambda text: described._ANSWER_HINTS.in_text(text.lower())),
    ("vector", biometrics._VECTOR, biometrics._PIECE.search),
    ("variant", biometrics._VARIANT, biometrics._PIECE.search),
    ("ending", health_zh._ENDING_HINT, health_zh._HINTS.in_text),
    ("loose ending", health_zh._LOOSE, health_zh._HINTS.in_text),
    ("chinese medicine", health_zh._DRUG, health_zh._HINTS.in_text),
    ("treatment", health_zh._TREATMENT, health_zh._HINTS.in_text),
    ("abbreviation", health_zh._ASCII, health_zh._HINTS.in_text),
    ("result", health_zh._RESULT_HINT, health_zh._HINTS.in_text),
    ("tested", health_zh._TESTED_HINT, health_zh._HINTS.in_text),
    ("spelled out", instructions._LETTERED, instructions._APART.search),
    ("mark", instructions._MARKS, instructions._MARK_HINTS.in_text),
    *(
        (f"order {n}", form, instructions._OBJECTS_ZH.in_text)
        for n, form in enumerate(instructions._ZH)
    ),
    *(
        (f"english order {n}", form, instructions._ORDERS.in_text)
        for n, form in enumerate(instructions._EN_WORDS)
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


@given(data=st.data())
@EACH
def test_what_is_taken_for_a_pair_is_not_looked_over(data: st.DataObject) -> None:
    form = commands._PAIR._compiled
    user, value = (data.draw(st.text("aB3.-_!/:", min_size=6, max_size=12)) for _ in range(2))
    join = data.draw(st.sampled_from(("/", "|", ":", " / ", ": '")))
    text = f"服务器 a{user}{join}{value}"
    if any(commands._is_pair(match) for match in form.finditer(text)):
        assert commands.may_hold_pair(text)


@pytest.mark.parametrize(
    "text", ["ak=", "我的ak是", "sk: x", "pw", "my pw.", "sid", "(sid=", "1sk "]
)
def test_a_short_name_of_a_secret_is_seen(text: str) -> None:
    assert assignments.is_abbreviated(text)


@pytest.mark.parametrize("text", ["make:", "ask ", "task=", "xpw", "pwx", "aside", "ak", "sk-"])
def test_the_end_of_a_word_is_no_short_name(text: str) -> None:
    assert not assignments.is_abbreviated(text)


def test_all_words_for_secrets_count() -> None:
    for module in secrets._SPEAKING:
        for word in (*module._words, *(f"门{wide}" for wide in module._wide)):
            assert secrets._HINTS.in_text(f" {word} ")


def test_openings_are_read_up_to_what_may_be_anything() -> None:
    assert openings(r"ab[cd]e|f-?[\d值](?!x)|\(\+|g$") == (
        "abce",
        "abde",
        *(f"f{digit}" for digit in "0123456789"),
        "f值",
        *(f"f-{digit}" for digit in "0123456789"),
        "f-值",
        "(+",
        "g",
    )


@pytest.mark.parametrize("source", ["ab|.c", "a?", "[^a]b"])
def test_what_may_begin_with_anything_has_no_opening(source: str) -> None:
    with pytest.raises(ValueError, match="nothing begins"):
        openings(source)


@given(st.data())
@EACH
def test_many_words_are_found_like_few(data: st.DataObject) -> None:
    words = data.draw(st.sets(st.text("一二三ab", min_size=1, max_size=3), min_size=1, max_size=9))
    many = {f"甲{chr(0x4E00 + number)}" for number in range(250)}
    text = data.draw(st.text("一二三ab", max_size=8)) + "。"
    assert Hints(words | many).in_text(text) is any(word in text for word in words)


@pytest.mark.parametrize("text", ["a key", "我的 key", "密码", "中文 密码", "é key"])
def test_a_word_is_found_in_any_script(text: str) -> None:
    assert Hints(("key", "密码")).in_text(text)


@pytest.mark.parametrize("text", ["", "KEY", "k e y", "中文", "密 码"])
def test_a_text_without_the_words_has_none(text: str) -> None:
    assert not Hints(("key", "密码")).in_text(text)
