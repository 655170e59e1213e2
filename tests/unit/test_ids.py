"""Are new ids UUIDv7, in the order of time, and are foreign ones told apart?"""

from __future__ import annotations

import time
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInput
from mnemic.ids import new_id, parse_id


def test_version_and_variant_are_those_of_rfc_9562() -> None:
    for _ in range(500):
        made = new_id()
        assert made.version == 7
        assert made.variant == RFC_4122


def test_the_first_48_bits_are_the_milliseconds() -> None:
    before = time.time_ns() // 1_000_000
    made = new_id()
    after = time.time_ns() // 1_000_000
    assert before <= made.int >> 80 <= after


def test_ids_of_later_milliseconds_sort_later(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(range(1_700_000_000_000, 1_700_000_000_000 + 200, 3))
    monkeypatch.setattr(time, "time_ns", lambda: next(moments) * 1_000_000)
    made = [new_id() for _ in range(60)]
    assert made == sorted(made)
    assert [str(one) for one in made] == sorted(str(one) for one in made)


def test_ids_of_one_moment_differ() -> None:
    assert len({new_id() for _ in range(10_000)}) == 10_000


@given(st.uuids())
def test_every_spelling_of_a_uuid_is_understood(value: UUID) -> None:
    assert parse_id(value) == parse_id(str(value)) == parse_id(value.hex.upper()) == value


@pytest.mark.parametrize("value", ["", "12", "no-uuid", None, 7, b"x" * 16, "0" * 33, ["a"]])
def test_what_is_no_uuid_is_refused_without_being_repeated(value: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_id(value)
    assert caught.value.code == "invalid_item_id"
    assert "no-uuid" not in str(caught.value)
