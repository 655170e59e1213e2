"""Do addresses and numbers that are one get one form and one index, and does what is shown hide them?"""

from __future__ import annotations

import unicodedata

import phonenumbers
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.contact import (
    ContactIndex,
    mask_email,
    mask_phone,
    normalise_email,
    normalise_phone,
)
from mnemic.crypto import new_secret
from mnemic.errors import InvalidInput

NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789_-+", min_size=1, max_size=20)
LABEL = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=15)
EMAILS = st.builds(lambda n, h, e: f"{n}@{h}.{e}", NAMES, LABEL, st.sampled_from(["org", "com.cn"]))
REGIONS = ("CN", "DE", "US", "GB", "JP", "IT", "FR", "BR")
NUMBERS = st.builds(
    lambda region, tail: _number(region, tail), st.sampled_from(REGIONS), st.integers(0, 99)
)
HIDDEN = ["​", "‍", "﻿", "­"]


def _number(region: str, tail: int) -> tuple[str, str]:
    """A valid national number of a region, near the example that the library has, and the region."""
    example = phonenumbers.example_number_for_type(region, phonenumbers.PhoneNumberType.MOBILE)
    digits = phonenumbers.national_significant_number(example)
    near = phonenumbers.parse(digits[:-2] + f"{tail:02}", region)
    shown = phonenumbers.format_number(near, phonenumbers.PhoneNumberFormat.NATIONAL)
    return shown, region


def wide(text: str) -> str:
    """The full-width form of ASCII text."""
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


@given(EMAILS, st.sampled_from(HIDDEN), st.integers(0, 30))
def test_an_address_has_one_form_however_it_is_written(address: str, char: str, at: int) -> None:
    form = normalise_email(address)
    for other in (
        address.upper(),
        address.title(),
        f" \t{address} \n",
        wide(address),
        address.replace("@", " @ "),
        address[:at] + char + address[at:],
        unicodedata.normalize("NFD", address),
        form,
    ):
        assert normalise_email(other) == form


@given(EMAILS, EMAILS)
def test_other_addresses_have_another_index(one: str, two: str) -> None:
    index = ContactIndex(b"k" * 32)
    equal = normalise_email(one) == normalise_email(two)
    assert (
        index.of("email", normalise_email(one)) == index.of("email", normalise_email(two))
    ) is equal


@given(NUMBERS)
def test_a_number_has_one_form_with_and_without_country_code(found: tuple[str, str]) -> None:
    national, region = found
    form = normalise_phone(national, region)
    number = phonenumbers.parse(form, None)
    plus = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    for other in (plus, wide(plus), f"  {plus}​ ", plus.replace(" ", "-"), "00" + plus[1:], form):
        assert normalise_phone(other) == form
    assert normalise_phone(wide(national), region) == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Test.User@Example.com", "test.user@example.com"),
        ("kim@例子。公司", "kim@xn--fsqu00a.xn--55qx5d"),
        ("KIM@Bücher.example", "kim@xn--bcher-kva.example"),
        ("李雷@example.cn", "李雷@example.cn"),
        ("kim+lists@example.com", "kim+lists@example.com"),
    ],
)
def test_addresses_as_people_write_them(text: str, form: str) -> None:
    assert normalise_email(text) == form


@pytest.mark.parametrize(
    "text",
    [
        "", "@", "kim", "kim@", "@lumen.example", "kim@host", "k im@example.com", "kim@@example.com",
        "a@b@example.com", ".kim@example.com", "kim.@example.com", "k..m@example.com", "kim@exam ple.com",
        "kim@-x.com", "kim@a..b", "k" * 65 + "@example.com", "kim@" + "a" * 64 + ".com", "x" * 400,
        "Kim <kim@example.com>", "kim@example.com, lee@example.com", "kim@.", "kim@..", "kim@.com",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        normalise_email(text)
    assert caught.value.code == "invalid_email"
    assert len(text) < 4 or text not in caught.value.message


@pytest.mark.parametrize(
    ("text", "region", "code"),
    [
        ("", None, "invalid_phone"), ("call me", None, "invalid_phone"), ("+49", None, "invalid_phone"),
        ("12", "DE", "invalid_phone"), ("+1 555", None, "invalid_phone"), ("9" * 400, None, "invalid_phone"),
        ("0" * 30, "DE", "invalid_phone"), ("030 1234567", None, "phone_without_country"),
        ("030 1234567", "XX", "unknown_region"), ("030 1234567", "", "unknown_region"),
        ("030 1234567", "de", "unknown_region"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_refused(text: str, region: str | None, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        normalise_phone(text, region)
    assert caught.value.code == code


def test_an_extension_makes_another_number() -> None:
    plain = normalise_phone("030 1234567", "DE")
    extended = normalise_phone("030 1234567 ext. 89", "DE")
    assert extended == f"{plain};ext=89"
    assert normalise_phone(extended) == extended


@given(EMAILS)
def test_a_masked_address_shows_no_more_than_two_letters_and_the_ending(address: str) -> None:
    masked = mask_email(normalise_email(address))
    local, _, domain = address.partition("@")
    assert masked.count("***") == 2
    assert len(masked.replace("***", "")) <= 4 + len(domain.rpartition(".")[2])
    assert len(local) < 2 or local not in masked.replace("*", "") or local in domain


@given(NUMBERS)
def test_a_masked_number_shows_country_and_two_digits(found: tuple[str, str]) -> None:
    form = normalise_phone(*found)
    masked = mask_phone(form)
    country = phonenumbers.parse(form, None).country_code
    assert masked == f"+{country}***{form[-2:]}"
    assert mask_phone(f"{form};ext=1234") == masked


def test_what_cannot_be_read_is_hidden_wholly() -> None:
    assert mask_phone("secret") == "***"
    assert mask_email("a@localhost") == "***@***"


def test_kinds_and_deployments_have_indexes_of_their_own() -> None:
    one, two = ContactIndex(new_secret()), ContactIndex(new_secret())
    assert one.of("email", "x") == one.of("email", "x")
    assert len({one.of("email", "x"), one.of("phone", "x"), two.of("email", "x")}) == 3
    assert len(one.of("email", "x")) == 32
    assert "ContactIndex()" in (repr(one), str(one))
