"""Are ids, hashes and commits that machines make left alone, and the numbers that they resemble found?"""

from __future__ import annotations

import random
from uuid import UUID

import pytest

from mnemic.longterm.sensitive import find_sensitive
from mnemic.longterm.sensitive.checks import iban, luhn

FORMS = (
    "{hex}", "{uuid}", "Fixed in commit {hex}0a1b2c3d", "trace id {hex} in the log", "Request {upper}",
    "请求编号 {uuid} 失败了", "run {short}", "id={uuid}&page=2",
)  # fmt: skip


def test_pf_054_random_ids_and_hashes_are_no_account_card_or_number_of_a_person() -> None:
    chosen = random.Random(54)
    for _ in range(4_000):
        text = f"{chosen.getrandbits(128):032x}"
        filled = {"hex": text, "uuid": UUID(text), "upper": text.upper(), "short": text[:20]}
        for form in FORMS:
            shown = form.format(**filled)
            assert find_sensitive(shown) == (), shown


def test_pf_054_a_hash_that_passes_mod_97_is_no_account() -> None:
    chosen, met = random.Random(97), 0
    while met < 25:
        text = f"{'abcdef'[met % 6]}e{chosen.randrange(100):02}{chosen.getrandbits(112):028x}"
        if iban(text.upper()):
            met += 1
            assert find_sensitive(text) == (), text
            assert find_sensitive(f"see {text} for more") == (), text


def proved(country: str, rest: str) -> str:
    """Return an IBAN with the check digits that it needs."""
    digits = "".join(str(int(char, 36)) for char in f"{rest}{country}00")
    return f"{country}{98 - int(digits) % 97:02}{rest}"


@pytest.mark.parametrize(
    ("country", "rest"),
    [("DE", "37040044" + "0532013000"), ("GB", "WEST" + "12345698765432"), ("AE", "033" + "1234567890123456"),
     ("FR", "20041010050500013M02606"), ("NO", "86011117947"), ("MT", "MALT011000012345MTLCAST001S"),
     ("EE", "2200221020145685"), ("BE", "539007547034")],
)  # fmt: skip
def test_accounts_are_found_however_they_are_written(country: str, rest: str) -> None:
    number = proved(country, rest)
    grouped = " ".join(number[at : at + 4] for at in range(0, len(number), 4))
    for text in (
        number,
        number.lower(),
        grouped,
        f"Pay to {grouped}, please",
        f"账户 {number} 收款",
    ):
        found = find_sensitive(text)
        assert [finding.category for finding in found] == ["bank_account"], text


def test_an_unregistered_shape_is_an_account_beside_a_banks_word() -> None:
    number = proved("ZZ", "12345678901234567")
    assert find_sensitive(f"part {number}") == ()
    for text in (f"IBAN {number}", f"transfer it to {number}", f"汇款到 {number}"):
        assert [finding.category for finding in find_sensitive(text)] == ["bank_account"], text


def test_a_card_beside_a_hash_is_found_and_one_inside_is_a_piece_of_it() -> None:
    body = "411111111111111"
    card = next(body + str(last) for last in range(10) if luhn(body + str(last)))
    digest = "9f" + "0c" * 15
    found = find_sensitive(f"commit {digest}, card {card}")
    assert [finding.category for finding in found] == ["payment_card"]
    assert find_sensitive(f"commit {digest[:8]}{card}{digest[:8]}") == ()
