"""What is left of a text that may be stored, and what stays exactly as it was?"""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.text import exact_form, fold_width, normalise, reading_length

ANY = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)
TROUBLE = st.text(
    st.sampled_from(
        "\x00\x07\x1b\x7f\x85\x9f\ud83d\ude00\u202e\u2066\u2069\u206a\u200d\u200cé\u0301 e\n你"
    ),
    max_size=30,
)
HONEST = [
    "👨‍👩‍👧‍👦 and 🏳️‍🌈 and 👍🏽 and 🇨🇳",  # joiners, selectors, skin tones, flags
    "می‌خواهم کتاب‌ها را ببینم",  # Persian that needs its non-joiners
    "أحب القهوة بدون سكر",
    "שלום עולם, אני גר בחיפה",
    "קפה\u200f (חזק)",  # a right-to-left mark turns nothing around
    "第一行\n第二行\r\n第三行\t完",
    "naïve café, Łódź, Đà Nẵng",
]


@given(ANY | TROUBLE)
@example("e\x00\u0301")
@example("\ud83d\x00\ude00")
@example(" \u0301\x85")
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    once = normalise(text)
    again = normalise(once.text)
    assert again.text == once.text
    assert again.removed == ()


@given(ANY | TROUBLE)
def test_nothing_that_breaks_or_turns_a_text_is_left(text: str) -> None:
    result = normalise(text).text
    result.encode()
    assert unicodedata.is_normalized("NFC", result)
    assert result == result.strip()
    assert not any(unicodedata.category(char) == "Cs" for char in result)
    assert not any(
        unicodedata.category(char) == "Cc" and char not in "\t\n\r\x85" for char in result
    )
    assert not any(unicodedata.bidirectional(char) in BIDI for char in result)


BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(st.text(st.characters(categories=("L", "N", "P", "S")), max_size=40))
def test_plain_text_only_gets_its_canonical_form(text: str) -> None:
    assert normalise(text).text == unicodedata.normalize("NFC", text)
    assert normalise(text).removed == ()


@given(ANY | TROUBLE)
def test_a_removal_is_reported_when_there_was_one_and_only_then(text: str) -> None:
    result = normalise(text)
    unwanted = any(map(_unwanted, _joined(text)))
    assert bool(result.removed) == unwanted
    if not unwanted:
        assert result.text == unicodedata.normalize("NFC", _joined(text)).strip()


def _unwanted(char: str) -> bool:
    category = unicodedata.category(char)
    if category == "Cc":
        return char not in "\t\n\r\x85"
    return category == "Cs" or 0x202A <= ord(char) <= 0x202E or 0x2066 <= ord(char) <= 0x206F


def _joined(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@pytest.mark.parametrize("text", HONEST)
def test_pf_034_emoji_persian_arabic_and_hebrew_stay_as_they_are(text: str) -> None:
    result = normalise(text)
    assert result.text == unicodedata.normalize("NFC", text)
    assert result.removed == ()


def test_pf_030_a_nul_byte_is_removed_and_reported() -> None:
    result = normalise("Acme moved\x00 to Shenzhen")
    assert result.text == "Acme moved to Shenzhen"
    assert result.removed == ("control_characters",)


def test_pf_032_half_a_surrogate_pair_is_removed_and_reported() -> None:
    assert normalise("Hello \ud83d").removed == ("lone_surrogates",)
    assert normalise("Hello \ud83d").text == "Hello"
    assert normalise("\ude00\ud83d mixed up").text == "mixed up"


def test_pf_032_a_whole_surrogate_pair_is_the_character_that_it_spells() -> None:
    assert normalise("Hello \ud83d\ude00").text == "Hello 😀"
    assert normalise("Hello \ud83d\ude00").removed == ()


def test_pf_035_overrides_isolates_and_deprecated_controls_are_removed() -> None:
    for code in (*range(0x202A, 0x202F), *range(0x2066, 0x2070)):
        result = normalise(f"pay {chr(code)}001 to Kim")
        assert result.text == "pay 001 to Kim"
        assert result.removed == ("direction_overrides",)


def test_each_kind_is_reported_once_in_a_fixed_order() -> None:
    result = normalise("\u202ea\x00b\x01c\ud800")
    assert result.text == "abc"
    assert result.removed == ("control_characters", "lone_surrogates", "direction_overrides")


@given(ANY)
def test_the_exact_form_is_stable_and_has_single_spaces(text: str) -> None:
    form = exact_form(normalise(text).text)
    assert exact_form(form) == form
    assert "  " not in form


def test_width_and_white_space_make_no_other_text() -> None:
    assert exact_form("ＡＢＣ　１２３") == exact_form("ABC  123\n")
    assert exact_form("我 姓王") != exact_form("我姓王")
    assert fold_width("（５０％）！") == "(50%)!"


@pytest.mark.parametrize(
    ("text", "columns"), [("我姓王", 6), ("kim", 3), ("ＡＢ", 4), ("", 0), ("한국", 4)]
)
def test_pf_038_a_wide_character_reads_as_two(text: str, columns: int) -> None:
    assert reading_length(text) == columns
