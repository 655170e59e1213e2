"""What is a span of days, and what are months and numbers called?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

_NAMES = "january february march april may june july august september october november december"
MONTHS = (
    {name: number for number, name in enumerate(_NAMES.split(), start=1)}
    | {name[:3]: number for number, name in enumerate(_NAMES.split(), start=1)}
    | {"sept": 9}
)
MONTH_NAME = "|".join(sorted(MONTHS, key=len, reverse=True))

_DIGITS = "一二三四五六七八九"
HAN_NUMBER = (
    {digit: number for number, digit in enumerate(_DIGITS, start=1)}
    | {"两": 2, "俩": 2, "几": 4, "十": 10, "半": 1}
    | {"十" + digit: 10 + number for number, digit in enumerate(_DIGITS, start=1)}
    | {tens + "十": 10 * number for number, tens in enumerate(_DIGITS[:3], start=1)}
    | {
        tens + "十" + digit: 10 * number + one
        for number, tens in enumerate(_DIGITS[:3], start=1)
        for one, digit in enumerate(_DIGITS, start=1)
    }
)
"""Chinese numbers up to thirty-nine; 几 ("a few") counts as four."""


@dataclass(frozen=True, slots=True)
class Span:
    """The days from ``first`` to ``last``, both inside; ``weight`` (0 to 1) is less for a vague one."""

    first: date
    last: date
    weight: float = 1.0


def month_end(year: int, month: int) -> date:
    """Return the last day of a month."""
    return date(year + (month == 12), month % 12 + 1, 1) - timedelta(1)


def week_of(day: date, weeks: int = 0) -> Span:
    """Return the week (Monday to Sunday) of a day, or the one ``weeks`` later."""
    monday = day - timedelta(day.weekday()) + timedelta(7 * weeks)
    return Span(monday, monday + timedelta(6))


def month_of(day: date, months: int = 0) -> Span:
    """Return the month of a day, or the one ``months`` later."""
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    return Span(date(year, month + 1, 1), month_end(year, month + 1))


def year_of(day: date, years: int = 0) -> Span:
    """Return the year of a day, or the one ``years`` later."""
    return Span(date(day.year + years, 1, 1), date(day.year + years, 12, 31))
