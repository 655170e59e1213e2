"""Can this input be meant at all? Checks that every door shares."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeVar

from mnemic.errors import InvalidInput

Word = TypeVar("Word", bound=str)

# one year off the ends of what a datetime can hold, so that no time zone carries a stored time past them
_EARLIEST, _LATEST = datetime(2, 1, 1, tzinfo=UTC), datetime(9998, 12, 31, tzinfo=UTC)


def one_of(value: object, allowed: tuple[Word, ...], name: str) -> Word:
    """Return ``value`` if it is allowed. Raises InvalidInput (``unknown_<name>``) that lists what is."""
    for word in allowed:
        if isinstance(value, str) and word == value:
            return word
    raise InvalidInput(f"unknown_{name}", f"{name} must be one of {', '.join(allowed)}.")


def aware(value: datetime | None, name: str) -> datetime | None:
    """Return a time that names its zone.

    Raises InvalidInput: ``naive_datetime`` for one that does not, ``invalid_datetime`` for what is no
    datetime, ``datetime_out_of_range`` outside the years 2 to 9998.
    """
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidInput("invalid_datetime", f"{name} must be a datetime.")
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidInput("naive_datetime", f"{name} must name its zone, such as +08:00 or Z.")
    if not _EARLIEST <= value <= _LATEST:
        raise InvalidInput("datetime_out_of_range", f"{name} must lie in the years 2 to 9998.")
    return value


def share(value: object, name: str) -> float:
    """Return a number from 0 to 1. Raises InvalidInput (``<name>_out_of_range``), also for NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{name}_out_of_range", f"{name} must be a number from 0 to 1.")
    return float(value)


def whole(value: object, low: int, high: int, name: str) -> int:
    """Return a whole number within bounds. Raises InvalidInput (``<name>_out_of_range``)."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInput(
            f"{name}_out_of_range", f"{name} must be a whole number from {low:,} to {high:,}."
        )
    return value
