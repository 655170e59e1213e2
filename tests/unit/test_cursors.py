"""Does a cursor come back as the row that it names, and is everything else refused?"""

from __future__ import annotations

import base64
from contextlib import suppress
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.cursors import decode_cursor, encode_cursor
from mnemic.errors import InvalidInput

TIMES = st.datetimes(timezones=st.timezones())


@given(TIMES, st.uuids())
def test_a_cursor_names_its_row_again(time: datetime, row: UUID) -> None:
    cursor = encode_cursor(time, row)
    found, found_row = decode_cursor(cursor)
    assert (found.isoformat(), found_row) == (time.isoformat(), row)
    assert cursor.isascii()
    assert not set(cursor) & set("+/ ")


@given(
    st.text(max_size=80)
    | st.binary(max_size=60).map(lambda b: base64.urlsafe_b64encode(b).decode())
)
def test_what_is_no_cursor_is_an_input_error_and_nothing_else(text: str) -> None:
    with suppress(InvalidInput):
        time, row = decode_cursor(text)
        assert time.tzinfo is not None
        assert isinstance(row, UUID)


@pytest.mark.parametrize(
    "inner",
    ["", "|", "2026-01-01T00:00:00+00:00|", "2026-01-01T00:00:00|" + "0" * 32, "soon|" + "0" * 32],
)
def test_a_cursor_without_time_zone_or_row_is_refused(inner: str) -> None:
    with pytest.raises(InvalidInput):
        decode_cursor(base64.urlsafe_b64encode(inner.encode()).decode())


@pytest.mark.parametrize("value", [None, 7, b"abc", "ünï", "\ud800", "a"])
def test_other_types_and_broken_text_are_refused(value: object) -> None:
    with pytest.raises(InvalidInput):
        decode_cursor(value)


def test_a_cursor_cut_short_is_refused() -> None:
    whole = encode_cursor(datetime.now(UTC), UUID(int=7))
    for length in range(0, len(whole) - 4):
        with pytest.raises(InvalidInput):
            decode_cursor(whole[:length])
