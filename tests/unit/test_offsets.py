"""Is the local day of a time kept as a number, and nothing made up where nobody told it?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.cli.views import day, day_there
from mnemic.local_time import local, offset_of

RUN = datetime(2024, 3, 3, 6, 17, tzinfo=timezone(timedelta(hours=8)))


@pytest.mark.parametrize(
    ("time", "offset"),
    [
        (RUN, 480),
        (datetime(2024, 7, 1, tzinfo=ZoneInfo("America/New_York")), -240),
        (datetime(2024, 1, 1, tzinfo=ZoneInfo("Asia/Kathmandu")), 345),
        (datetime(1890, 1, 1, tzinfo=ZoneInfo("Asia/Shanghai")), 485),  # 8 h 5 min 43 s then
        (datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=-23, minutes=-59))), -1439),
        (datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=23, minutes=59, seconds=59))), 1439),
        (datetime(2024, 1, 1, tzinfo=UTC), None),
        (datetime(2024, 1, 1, tzinfo=ZoneInfo("Europe/London")), None),
        (datetime(2024, 1, 1, tzinfo=timezone(timedelta(seconds=-30))), None),
        (datetime(2024, 1, 1), None),
        (None, None),
    ],
)
def test_an_offset_is_told_in_whole_minutes(time: datetime | None, offset: int | None) -> None:
    assert offset_of(time) == offset


def test_the_local_day_comes_back() -> None:
    kept = RUN.astimezone(UTC)
    assert kept.date() != RUN.date()
    assert local(kept, offset_of(RUN)).isoformat() == "2024-03-03T06:17:00+08:00"


def test_without_an_offset_it_is_utc_whatever_zone_the_database_has() -> None:
    assert local(RUN, None).isoformat() == "2024-03-02T22:17:00+00:00"


def test_the_command_line_names_the_day_where_it_was_said() -> None:
    for ahead in (14, -12):
        there = RUN.astimezone(timezone(timedelta(hours=ahead)))
        assert day_there(there) == there.date().isoformat()
    assert day_there(RUN.astimezone(UTC)) == day(RUN)


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)), st.integers(-1439, 1439))
def test_the_instant_never_changes(clock: datetime, minutes: int) -> None:
    time = clock.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    again = local(time.astimezone(UTC), offset_of(time))
    assert again == time
    assert (again.replace(tzinfo=None), offset_of(again)) == (clock, minutes or None)
