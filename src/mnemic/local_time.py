"""Which time did the clock show where something was said? Its offset is kept beside the instant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

_MINUTE = timedelta(minutes=1)


def offset_of(time: datetime | None) -> int | None:
    """Return by how many minutes (-1439 to 1439) a time is ahead of UTC; None for UTC, and no zone."""
    ahead = None if time is None else time.utcoffset()
    return None if ahead is None else int(ahead / _MINUTE) or None


def instant(time: datetime | None) -> datetime | None:
    """Return the same instant in UTC.

    Times of one zone are compared by what its clock shows, which shows an hour twice a year; and the database
    reads no text with an offset of 16 hours, or of parts of a second.
    """
    return None if time is None else time.astimezone(UTC)


def local(time: datetime, offset: int | None) -> datetime:
    """Return the same instant on a clock that is so many minutes ahead of UTC; None is UTC itself."""
    return time.astimezone(UTC if offset is None else timezone(offset * _MINUTE))
