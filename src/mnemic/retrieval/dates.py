"""Which days does a query name, and how near is a day to them?

Rules for Chinese and English, absolute ("7 May 2023", 三月份, 5/23) and relative to a given today
("yesterday", "three weeks ago", 上周三, 去年三月). A date without a year is meant in every year that
is given. Nothing is filtered by a date: people report what happened a few days later, and recall
days wrongly, so a day near a span counts too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta

from mnemic.retrieval.days_ago import relative_spans
from mnemic.retrieval.span import HAN_NUMBER, MONTH_NAME, MONTHS, Span, month_end

NEAR = 0.6
"""What the day beside a span is worth, where a day inside it is worth 1."""
GRACE, AHEAD, BACK = 3, 14, 7
"""Days after a span that count as near in full, over which nearness falls after that, and before."""
ONLY_A_YEAR = 0.4
_BEFORE = 40
"""Characters before a date in which "last week of" or "late" may stand."""

_YEAR = r"(?P<y>(?:19|20)\d\d)"
_ABSOLUTE = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_YEAR}(?:[-/.]|\s?年\s?)(?P<m>\d{{1,2}})(?:(?:[-/.]|\s?月\s?)(?P<d>\d{{1,2}}))?(?!\d)",
        rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?[ -](?P<mn>{MONTH_NAME})\b\.?,?(?:[ -]+{_YEAR})?",
        rf"\b(?P<mn>{MONTH_NAME})\b\.?[ -](?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)"
        rf"(?:,?[ -]+{_YEAR})?",
        rf"\b(?P<mn>{MONTH_NAME})\b\.?,?(?:\s+of)?\s+{_YEAR}",
        r"\b(?:in|during|of|by|since|until|till|from|before|after|late|early|mid|this|last|next|back in)[ -]"
        rf"(?P<mn>{MONTH_NAME})\b",
        r"(?P<m>\d{1,2}|十[一二]?|[一二三四五六七八九])月份?(?:(?P<d>\d{1,2}|[一二三四五六七八九十]{1,3})[日号]?)?",
        r"(?<![\d/.])(?P<m>\d{1,2})/(?P<d>\d{1,2})(?![\d/%])(?!\s?(?:cups?|of|tsp|tbsp|lbs?|inch|hours?|miles?)\b)",
        rf"\b(?:in|during|of|since|by|back in)\s+{_YEAR}\b|(?P<y2>(?:19|20)\d\d)\s?年",
    )
)
_WEEK_AT_END = re.compile(r"last week of|late |end of|下旬|月底|月末")
_WEEK_AT_START = re.compile(r"first week of|early |beginning of|start of|上旬|月初")
_MIDDLE = re.compile(r"\bmid|middle of|中旬")
_WEEK_BEFORE = re.compile(r"week(?:end)? (?:before|prior to|preceding)|前一周")
_WEEK_AFTER = re.compile(r"week(?:end)? (?:of|after|following)|后一周|那周")
_DAYS_BEFORE = re.compile(r"(?:few|several|couple of) days before|前几天")


def spans(text: str, years: Sequence[int], today: date | None = None) -> tuple[Span, ...]:
    """Return the spans of days that a text names.

    A date without a year gives one span for each of ``years``. Relative dates need ``today``.
    """
    found: list[Span] = []
    used: list[tuple[int, int]] = []
    if today is not None:
        for span, place in relative_spans(text, today):
            found.append(span)
            used.append(place)
    for match in _dates(text, used):
        found += _spans_of(match, text, years)
    return tuple(found)


def read_day(text: str | None) -> date | None:
    """Return the one full date that a label such as "11:01 am on 17 December, 2022" holds."""
    for pattern in _ABSOLUTE[:3]:
        match = pattern.search(text or "")
        if match and match["y"] and match["d"]:
            span = next(_spans_of(match, "", ()), None)
            return span.first if span else None
    return None


def closeness(day: date, named: Iterable[Span]) -> float:
    """Return how near a day is to the nearest span, 0 to 1 (inside it)."""
    return max((_near(day, span) * span.weight for span in named), default=0.0)


def _near(day: date, span: Span) -> float:
    if span.first <= day <= span.last:
        return 1.0
    if day < span.first:
        return NEAR * max(0.0, 1 - (span.first - day).days / BACK)
    late = (day - span.last).days - GRACE
    return NEAR * min(1.0, max(0.0, 1 - late / AHEAD))


def _dates(text: str, used: list[tuple[int, int]]) -> Iterator[re.Match[str]]:
    """Yield dates that do not overlap, in the order of the patterns: the fullest first."""
    for pattern in _ABSOLUTE:
        for match in pattern.finditer(text):
            start, end = match.span()
            if not any(a < end and start < b for a, b in used):
                used.append((start, end))
                yield match


def _spans_of(match: re.Match[str], text: str, years: Sequence[int]) -> Iterator[Span]:
    parts = match.groupdict()
    year = parts.get("y") or parts.get("y2")
    month = _month(parts)
    day = _number(parts.get("d"))
    if month and day and month > 12 >= day:
        month, day = day, month  # 23/5
    around = text[max(0, match.start() - _BEFORE) : match.start()].lower()
    behind = text[match.end() : match.end() + 3]
    for one in [int(year)] if year else years:
        span = _span(one, month, day)
        if span is not None:
            yield _moved(span, month, day, around + behind)


def _span(year: int, month: int | None, day: int | None) -> Span | None:
    try:
        if month and day:
            return Span(date(year, month, day), date(year, month, day))
        if month:
            return Span(date(year, month, 1), month_end(year, month))
        return Span(date(year, 1, 1), date(year, 12, 31), ONLY_A_YEAR)
    except ValueError:
        return None


def _moved(span: Span, month: int | None, day: int | None, around: str) -> Span:
    """Narrow or move a span by the words beside the date."""
    first, last = span.first, span.last
    if month and not day:
        if _WEEK_AT_END.search(around):
            first = last - timedelta(9)
        elif _WEEK_AT_START.search(around):
            last = first + timedelta(9)
        elif _MIDDLE.search(around):
            first, last = first + timedelta(9), first + timedelta(19)
    elif day:
        if _WEEK_BEFORE.search(around):
            first -= timedelta(8)
        elif _WEEK_AFTER.search(around):
            last += timedelta(8)
        elif _DAYS_BEFORE.search(around):
            first -= timedelta(5)
    return Span(first, last, span.weight)


def _month(parts: dict[str, str | None]) -> int | None:
    name = parts.get("mn")
    return MONTHS[name.lower()] if name else _number(parts.get("m"))


def _number(text: str | None) -> int | None:
    if not text:
        return None
    return int(text) if text.isdigit() else HAN_NUMBER.get(text, 0)
