"""Does a needle, or another cheap look, ever keep a pattern from what it would have found?"""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from mnemic.longterm.judge import dates, folding, moods, naming, numerals, quantities
from mnemic.longterm.judge.folding import fold_cased
from mnemic.longterm.judge.marks import Mark, blank
from mnemic.longterm.judge.seeking import Sought, any_of, plain

_LOWER = (
    dates._WEEKDAYS,
    quantities._OFTEN,
    *moods._TENSES.values(),
)
_PIECES = [
    *("at 7 in the morning", "8:30 pm", "20:15", "8.30 a.m.", "9am", "下午三点", "3点半"),
    *(
        "3 o'clock",
        "half past 3",
        "a quarter to 9",
        "at 9 every evening",
        "at 6,",
        "on Mon",
    ),
    *(
        "fridays",
        "周三",
        "星期日",
        "礼拜四",
        "2026-05-20",
        "5/20/2026",
    ),
    *(
        "20.5.2026",
        "2026年5月",
        "5月20日",
        "May 20",
        "20th of May",
        "March 2019",
    ),
    *(
        "in July",
        "september",
        "05-20",
        "12/5",
        "20日",
        "12号",
    ),
    *(
        "the 3rd",
        "since 2020",
        "twice",
        "once a week",
        "finished reading",
        "吃完了",
    ),
    *(
        "had my tooth out",
        "不去了",
        "I worked there",
        "was a nurse",
        "are moving",
        "正在学",
    ),
    *(
        "have moved",
        "已经",
        "three quarters of an hour",
        "a quarter of an hour",
        "an hour and a half",
        "one and a half",
    ),
    *(
        "一刻钟",
        "1米75",
        "twenty-first",
        "Twelfth",
        "third",
        "a hundred and five",
    ),
    *(
        "half a dozen",
        "two million",
        "3.5 million",
        "12 years old",
        "70th birthday",
        "ninetieth",
    ),
    *(
        "forty-two",
        "eleven",
        "three",
        "一千二",
        "İ",
        "ı",
    ),
    *(
        " ",
        ", ",
        ".",
        "我",
    ),
]
_TEXTS = st.lists(st.sampled_from(_PIECES), max_size=6).map(" ".join)


@given(st.one_of(_TEXTS, _TEXTS.map(lambda text: text.replace(" ", "")), st.text(max_size=40)))
def test_every_match_holds_a_needle(text: str) -> None:
    low = fold_cased(text).lower()
    for sought in _LOWER:
        found = [match.group() for match in sought.pattern.finditer(low)]
        assert [match.group() for match in sought.all_in(low)] == found
        assert sought.is_in(low) == bool(found)


@given(st.one_of(_TEXTS, _TEXTS.map(lambda text: text.replace(" ", "")), st.text(max_size=40)))
def test_every_notation_is_tried_where_it_matches(text: str) -> None:
    low = numerals.with_digits(fold_cased(text)).lower()
    assert dates.scan(low) == _scanned_with_everything(low)


def _scanned_with_everything(text: str) -> list[Mark]:
    found: list[Mark] = []
    for notations, reader in ((dates._DATES, dates._date), (dates._TIMES, dates._time)):
        for pattern in (pattern for notation in notations for pattern in notation.patterns):
            marks = [reader(match) for match in pattern.finditer(text)]
            found += marks
            text = blank(text, marks)
    days = dates._WEEKDAYS.pattern.finditer(text)
    return found + [mark for match in days for mark in dates._weekdays(match)]


_NUMBERS = [
    *("v", "version", "minus", "-", "零下", "负", "$", "¥", " ", ".", ",", "1", "20", "4.2"),
    *("half", "half-", "a ", "an ", "hour", "minute", "半", "个", "年", "am", "one", "万", "k"),
]
_WORDS = st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=6)


@given(_WORDS, st.text("abcd", max_size=12))
def test_words_are_found_together_as_one_by_one(words: list[str], text: str) -> None:
    found = re.search(any_of(words), text) is not None
    assert found == any(word in text for word in words)


def test_every_misspelling_is_looked_for() -> None:
    assert all(folding._is_misspelt(f"a {wrong} b") for wrong in folding._variants()[1])
    assert all(folding._is_misspelt(f"的{wrong}的") for wrong in folding._variants()[1])
    assert not folding._is_misspelt("Wrong 的 right")


@given(st.text("ab' &#-._1号no", max_size=14))
def test_a_noun_before_a_number_is_sought_wherever_one_can_stand(near: str) -> None:
    whole = naming._ENGLISH.pattern
    slow = re.compile(whole.removeprefix("(?<![a-z])"))
    found, expected = naming._ENGLISH.search(near), slow.search(near)
    assert (found and found.groupdict()) == (expected and expected.groupdict())
    assert expected is None or near[-1:] in naming._ENDS_ENGLISH


@given(st.one_of(_TEXTS, _TEXTS.map(str.upper), _TEXTS.map(str.title), st.text(max_size=40)))
def test_number_words_are_found_whatever_their_case(text: str) -> None:
    folded = fold_cased(text)
    low = plain(folded)
    spoken = any(piece in low for piece in numerals._SPOKEN)
    for quarters, _ in numerals._QUARTERS:
        assert spoken or not quarters.search(folded)
    assert numerals._NUMERAL.search(folded) or not numerals._CHINESE.search(folded)
    spelt = (numerals._RANKS, numerals._ENGLISH_RUN, numerals._MILLIONS)
    for pattern in spelt:
        assert numerals._SPELT.search(low) or not pattern.search(folded)
    assert numerals._SPELT_WORD.search(folded) or not numerals._ENGLISH_RUN.search(folded)
    ranked = any(piece in low for piece in numerals._SPELT_RANK)
    assert ranked or not numerals._RANKS.search(folded)
    assert "old" in low or not numerals._YEARS_OLD.search(folded)
    assert "birthday" in low or not numerals._BIRTHDAY.search(folded)
    assert "米" in low or not numerals._METRES.search(folded)


@given(_TEXTS)
def test_the_first_look_of_numbers_turns_nothing_down(text: str) -> None:
    low = numerals.with_digits(fold_cased(text)).lower()
    whole = quantities._NUMBER.pattern
    bare = re.compile(whole[whole.index(")") + 1 :])
    assert [m.span() for m in quantities._NUMBER.finditer(low)] == [
        m.span() for m in bare.finditer(low)
    ]


@given(st.lists(st.sampled_from(_NUMBERS), max_size=8).map("".join))
def test_numbers_are_sought_only_where_one_can_stand(text: str) -> None:
    halved = any(piece in text for piece in quantities._HALVES)
    for start in range(len(text)):
        found = quantities._next(text, start, halved)
        expected = quantities._NUMBER.search(text, start)
        assert (found and found.span()) == (expected and expected.span())


@given(st.text("#no.r 1\n", max_size=12))
def test_a_label_before_a_number_is_sought_as_far_as_one_reaches(text: str) -> None:
    near = quantities._LABEL.search(text, max(0, len(text) - quantities._LABEL_REACH))
    anywhere = quantities._LABEL.search(text)
    assert (near and near.span()) == (anywhere and anywhere.span())


@given(st.lists(st.sampled_from(sorted(naming._unnamed())), min_size=1, max_size=4))
def test_what_no_number_names_is_none_however_it_is_found(words: list[str]) -> None:
    near = " ".join(["the", *words, ""])
    match = naming._ENGLISH.search(near)
    assert match is not None
    assert (match["noun"], match["label"]) == (words[-1], None)
    assert naming._english(near) is None
    assert not naming._names(words[-1])


def test_a_pattern_without_its_needle_is_not_tried() -> None:
    sought = Sought(("moon",), re.compile("sun"))
    assert list(sought.all_in("the sun")) == []
    assert not sought.is_in("the sun")
    assert sought.is_in("sun and moon")
