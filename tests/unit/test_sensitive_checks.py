"""Do the checksums accept published examples and refuse their neighbours?"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemic.longterm.sensitive import checks, find_sensitive
from mnemic.longterm.sensitive.fold import fold

EXAMPLES: list[tuple[Callable[[str], bool], str]] = [
    (checks.luhn, "7992739871" + "3"),
    (checks.cn_resident, "11010519491231" + "002X"),
    (checks.hk_identity, "A123456" + "3"),
    (checks.tw_identity, "A12345678" + "9"),
    (checks.sg_identity, "S0000001" + "I"),
    (checks.de_health_insurance, "A12345678" + "0"),
    (checks.de_pension, "15070649C10" + "3"),
    (checks.au_medicare, "212345670" + "1"),
    (checks.fi_identity, "131052-308" + "T"),
    (checks.za_identity, "800101500908" + "7"),
    (checks.th_identity, "123456789012" + "1"),
    (checks.es_identity, "12345678" + "Z"),
    (checks.iban, "GB82WEST12345698765432"),
]


@pytest.mark.parametrize(("check", "number"), EXAMPLES)
def test_a_published_example_passes_and_another_check_character_fails(
    check: Callable[[str], bool], number: str
) -> None:
    assert check(number)
    at = len(number) - 2 if check is checks.au_medicare else len(number) - 1
    pool = "0123456789" if number[at].isdigit() else "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    other = pool[(pool.index(number[at]) + 1) % len(pool)]
    assert not check(number[:at] + other + number[at + 1 :])


@pytest.mark.parametrize(
    "text",
    [
        "131052-308" + "T",
        "My Aadhaar is 3123 4567 " + "8909",
        "CPF 111.444.777-" + "35",
        "NIE X1234567" + "L",
        "PESEL 0207080362" + "8",
        "TCKN 1000000014" + "6",
        "personnummer 871220-" + "2384",
        "NRIC S0000001" + "I",
        "Rodné číslo 710319/" + "2745",
        "주민등록번호 000505-" + "3637892",
    ],
)
def test_national_numbers_of_many_countries(text: str) -> None:
    assert {finding.category for finding in find_sensitive(text)} == {"national_id"}


@pytest.mark.parametrize(
    "text", ["call 2213951837 tomorrow", "we sold 10000000146 units", "lot 131052-3080"]
)
def test_a_number_that_passes_a_check_by_chance_needs_a_word(text: str) -> None:
    assert find_sensitive(text) == ()


@pytest.mark.parametrize(
    ("disguised", "plain"),
    [
        ("ｐａｓｓｗｏｒｄ", "password"),
        ("p\u0430ssword", "password"),
        ("１２３", "123"),
        ("𝟙𝟚𝟛", "123"),
        ("١٢٣", "123"),
        ("a\u200bb\u0301c", "abc"),
        ("1\u30002\u20133", "1 2-3"),
        ("一二三四五六", "123456"),
        ("①4111", "①4111"),
        ("10²", "10²"),
        ("二〇二四年", "二〇二四年"),
    ],
)
def test_disguises_come_off(disguised: str, plain: str) -> None:
    assert fold(disguised).text == plain


def test_folded_offsets_lead_back() -> None:
    text = "a\u200b\u200bb\u3000c①㍿d"
    folded = fold(text)
    for char in "abcd":
        assert text[folded.original(folded.text.index(char))] == char
