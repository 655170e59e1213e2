"""What is one measured or dated spot in a text, and do two of them say the same?"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Mark", "agree", "blank"]

_HALF_DAY = 720
_MONTH = 2_628_000.0


class Mark(NamedTuple):
    """One quantity, date, time or numbered thing.

    ``kind`` is what is measured (``duration``, ``money``, ``date``, ``time``, ``weekday``, ``count``,
    ``item`` for a numbered thing ...), ``value`` its value in the base unit of the kind, ``start`` and
    ``end`` the span, ``noun`` what an item is (room; "" when the text leaves that open).
    """

    kind: str
    value: tuple[float | str | None, ...]
    start: int
    end: int
    noun: str = ""

    @property
    def is_item(self) -> bool:
        """Whether the number names a thing (room 12) rather than measures one."""
        return self.kind == "item"


def agree(first: Mark, second: Mark) -> bool:
    """Return whether two marks of one kind can be the same value.

    Dates agree when no part that both give differs (May 20 and 2026-05-20); clock times agree by the
    half day when either leaves morning or afternoon open.
    """
    if first.kind == "date":
        pairs = zip(first.value, second.value, strict=True)
        shared = [(a, b) for a, b in pairs if a is not None and b is not None]
        return bool(shared) and all(a == b for a, b in shared)
    if first.kind == "time":
        (one, open_one), (two, open_two) = _clock(first), _clock(second)
        if open_one or open_two:
            return one % _HALF_DAY == two % _HALF_DAY
        return one == two
    if first.kind == "duration" and first.value != second.value:
        return _calendar_alike(first, second)
    return first.value == second.value


def _calendar_alike(first: Mark, second: Mark) -> bool:
    """Whether months stand against days or weeks that make up as many: 30 days, one month."""
    one, two = (float(mark.value[0] or 0) for mark in (first, second))
    calendar = (one % _MONTH == 0) != (two % _MONTH == 0)
    return calendar and abs(one - two) < 0.02 * max(one, two)


def _clock(mark: Mark) -> tuple[int, bool]:
    minutes, is_open = mark.value
    return int(minutes or 0), bool(is_open)


def blank(text: str, marks: list[Mark]) -> str:
    """Return the text with the spans of the marks blanked out, positions unchanged."""
    for mark in marks:
        text = text[: mark.start] + "\x00" * (mark.end - mark.start) + text[mark.end :]
    return text
