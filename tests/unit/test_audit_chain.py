"""Do keyed hashes tell apart what differs, and nothing to whoever lacks the key?"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.audit.chain import CHAINS, FIELDS, AuditKey, Place, why
from mnemic.model import Actor

KEY = AuditKey(bytes(range(32)))
OTHER = AuditKey(bytes(range(1, 33)))
KIM = Actor("kim")
PLACE = Place(7, 3, b"l" * 32)
ROW: dict[str, Any] = {
    "at": datetime(2026, 3, 2, 9, 14, 5, 123000, UTC),
    "action": "add_item",
    "why": "api",
    "user_mac": b"u" * 32,
    "credential_mac": None,
    "target_mac": b"t" * 32,
    "before_mac": None,
    "after_mac": b"a" * 32,
}


@pytest.mark.parametrize(
    "change",
    [
        {"at": ROW["at"] + timedelta(milliseconds=1)},
        {"action": "add_items"},
        {"why": "web"},
        {"user_mac": b"v" * 32},
        {"credential_mac": b""},
        {"credential_mac": b"t" * 32, "target_mac": None},
        {"before_mac": b"a" * 32, "after_mac": None},
        {"after_mac": b"a" * 31},
    ],
)
def test_every_field_of_an_entry_counts(change: dict[str, Any]) -> None:
    assert KEY.entry(PLACE, ROW | change) != KEY.entry(PLACE, ROW)


def test_the_place_of_an_entry_counts_and_so_does_the_key() -> None:
    hashes = {
        KEY.entry(PLACE, ROW),
        KEY.entry(replace(PLACE, chain=8), ROW),
        KEY.entry(replace(PLACE, seq=4), ROW),
        KEY.entry(replace(PLACE, last_mac=b"m" * 32), ROW),
        OTHER.entry(PLACE, ROW),
        KEY.head(PLACE),
        KEY.damaged(PLACE),
        KEY.head(replace(PLACE, seq=4)),
    }
    assert len(hashes) == 8
    assert all(len(one) == 32 for one in hashes)


def test_the_time_counts_in_any_zone() -> None:
    elsewhere = ROW["at"].astimezone(tz=None)
    assert KEY.entry(PLACE, ROW | {"at": elsewhere}) == KEY.entry(PLACE, ROW)


@given(st.lists(st.one_of(st.none(), st.binary(max_size=4)), min_size=5, max_size=5))
def test_fields_cannot_run_into_each_other(parts: list[bytes | None]) -> None:
    moved = [parts[-1], *parts[:-1]]
    left, right = (ROW | dict(zip(FIELDS, given, strict=True)) for given in (parts, moved))
    assert (KEY.entry(PLACE, left) == KEY.entry(PLACE, right)) is (parts == moved)


def test_users_spread_over_the_chains() -> None:
    chains = [KEY.chain(KEY.user(Actor(f"user {number}"))) for number in range(4000)]
    assert len(set(chains)) == CHAINS
    assert max(map(chains.count, set(chains))) < 50


def test_states_are_equal_within_a_user_only_and_targets_for_everybody() -> None:
    lee = Actor("lee")
    assert KEY.state(KIM, 1, {"a": 1, "b": 2}) == KEY.state(KIM, 1, {"b": 2, "a": 1})
    assert KEY.state(KIM, 1, "x") != KEY.state(lee, 1, "x")
    assert KEY.state(KIM, 1, "x") != KEY.state(KIM, 2, "x")
    assert KEY.state(KIM, 1, None) is None
    assert KEY.state(KIM, 1, b"\x01") != KEY.state(KIM, 1, b"\x02")
    assert KEY.target("i") == KEY.target("i") != OTHER.target("i")
    assert KEY.target(None) is None
    assert KEY.user(KIM) != KEY.user(Actor("KIM"))
    assert KEY.credential(KIM) is None
    assert KEY.credential(replace(KIM, credential="key:a")) is not None


def test_the_key_does_not_show_and_a_made_up_purpose_is_the_applications() -> None:
    assert repr(KEY) == "AuditKey()"
    assert why(replace(KIM, purpose="job")) == "job"
    assert why(replace(KIM, purpose="kim@example.org wanted it")) == "app"
