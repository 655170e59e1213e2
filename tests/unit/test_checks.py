"""Does every door refuse what cannot be meant, by a code that names the field?"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.checks import aware, one_of, share, whole
from mnemic.errors import InvalidInput


def code(check: Any, *args: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        check(*args)
    return caught.value.code


@given(st.datetimes(datetime(3, 1, 1), datetime(9997, 1, 1), timezones=st.timezones()))
def test_a_time_with_a_zone_passes_unchanged(value: datetime) -> None:
    assert aware(value, "as_of") is value


def test_no_time_is_no_time() -> None:
    assert aware(None, "as_of") is None


@pytest.mark.parametrize("value", ["2026-01-01", 0, 1.5, datetime(2026, 1, 1).date()])
def test_what_is_no_time_is_refused(value: Any) -> None:
    assert code(aware, value, "as_of") == "invalid_datetime"


def test_a_time_without_a_zone_is_refused_with_its_name() -> None:
    with pytest.raises(InvalidInput, match="as_of") as caught:
        aware(datetime(2026, 1, 1), "as_of")
    assert caught.value.code == "naive_datetime"


@pytest.mark.parametrize("hours", [-14, 0, 14])
@pytest.mark.parametrize("value", [datetime.min, datetime.max])
def test_a_time_that_a_zone_would_carry_out_of_range_is_refused(
    value: datetime, hours: int
) -> None:
    there = value.replace(tzinfo=timezone(timedelta(hours=hours)))
    assert code(aware, there, "valid_to") == "datetime_out_of_range"


@given(st.integers(-5, 105) | st.booleans() | st.floats() | st.text(max_size=3) | st.none())
def test_a_whole_number_is_within_its_bounds_or_refused(value: Any) -> None:
    if type(value) is int and 1 <= value <= 100:
        assert whole(value, 1, 100, "k") == value
    else:
        assert code(whole, value, 1, 100, "k") == "k_out_of_range"


@given(st.floats() | st.integers(-3, 3) | st.booleans() | st.text(max_size=2) | st.none())
def test_a_share_lies_between_nothing_and_all(value: Any) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and not math.isnan(value) and 0 <= value <= 1:
        assert share(value, "min_score") == value
    else:
        assert code(share, value, "min_score") == "min_score_out_of_range"


@pytest.mark.parametrize("value", ["Fact", "", "fact ", None, 7, ["fact"], b"fact"])
def test_a_word_that_is_not_on_the_list_is_refused_and_the_list_is_told(value: Any) -> None:
    assert one_of("fact", ("fact", "skill"), "memory_type") == "fact"
    with pytest.raises(InvalidInput, match="fact, skill") as caught:
        one_of(value, ("fact", "skill"), "memory_type")
    assert caught.value.code == "unknown_memory_type"


def test_the_present_is_in_range() -> None:
    assert aware(datetime.now(UTC), "valid_from") is not None
