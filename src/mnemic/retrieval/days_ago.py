"""Which days are meant by "yesterday", "three weeks ago", 上周三 or 去年三月, said today?

Only what lies behind today is read: a query that says "today" or "this week" wants an answer for now
as often as it asks what was said. A weekday alone means the last one before today, vaguely, since it may
as well be the next one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta

from mnemic.retrieval.span import (
    HAN_NUMBER,
    MONTH_NAME,
    MONTHS,
    Span,
    month_end,
    month_of,
    week_of,
    year_of,
)

Place = tuple[int, int]
Rule = Callable[[re.Match[str], date], Span | None]

VAGUE = 0.6
"""Weight of "a few weeks ago" and other spans whose ends nobody means exactly."""
_NUMBER_WORDS = "one two three four five six seven eight nine ten eleven twelve"
_WEEKDAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
_ENGLISH_NUMBER = {word: number for number, word in enumerate(_NUMBER_WORDS.split(), start=1)} | {
    "a": 1,
    "an": 1,
    "couple of": 2,
    "a couple of": 2,
    "few": 4,
    "a few": 4,
    "several": 4,
}
_COUNT = "|".join(sorted(_ENGLISH_NUMBER, key=len, reverse=True))
_WEEKDAYS = {name: number for number, name in enumerate(_WEEKDAY_NAMES.split())}
_HAN_WEEKDAYS = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6, "末": 5}
_HAN_COUNT = r"\d{1,3}|[一二两三四五六七八九十几半]{1,3}"
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_HAN_SEASONS = {"春": 3, "夏": 6, "秋": 9, "冬": 12}
_MOST_YEARS = 60


def relative_spans(text: str, today: date) -> Iterator[tuple[Span, Place]]:
    """Yield the spans that a text names relative to ``today``, with where they stand in it."""
    used: list[Place] = []
    for pattern, rule in _RULES:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(a < end and start < b for a, b in used):
                continue
            try:
                span = rule(match, today)
            except (ValueError, OverflowError):
                continue  # a time before all calendars
            if span is not None:
                used.append((start, end))
                yield span, (start, end)


def _day(back: int) -> Rule:
    return lambda match, today: Span(today - timedelta(back), today - timedelta(back))


def _ago(match: re.Match[str], today: date) -> Span:
    count, unit = _count(match["n"]), match["unit"].lower()
    if unit.startswith(("day", "天", "日")):
        slack = 0 if count < 4 else max(1, count // 5)
        day = today - timedelta(count)
        return Span(day - timedelta(slack), day + timedelta(slack), 1.0 if not slack else VAGUE)
    if unit.startswith(("week", "周", "星期", "礼拜")):
        day = today - timedelta(7 * count)
        return Span(day - timedelta(4), day + timedelta(4), VAGUE)
    if unit.startswith(("month", "个月", "月")):
        return _weighed(month_of(today, -count), VAGUE)
    return _weighed(year_of(today, -min(count, _MOST_YEARS)), VAGUE * VAGUE)


def _past(match: re.Match[str], today: date) -> Span:
    """The past N days, weeks or months, up to yesterday."""
    days = {
        "d": 1,
        "w": 7,
        "m": 30,
        "天": 1,
        "日": 1,
        "周": 7,
        "星": 7,
        "礼": 7,
        "个": 30,
        "月": 30,
    }
    length = _count(match["n"] or "1") * days[match["unit"][0].lower()]
    return Span(today - timedelta(length), today - timedelta(1), VAGUE)


def _last_unit(match: re.Match[str], today: date) -> Span:
    unit = match["unit"].lower()
    if unit == "weekend":
        return _weekend(week_of(today, -1))
    if unit == "week":
        return week_of(today, -1)
    return month_of(today, -1) if unit == "month" else _weighed(year_of(today, -1), VAGUE * VAGUE)


def _weekday(match: re.Match[str], today: date) -> Span:
    back = (today.weekday() - _WEEKDAYS[match["day"].lower()] - 1) % 7 + 1
    day = today - timedelta(back)
    return Span(day, day, VAGUE if match["which"].lower() == "on" else 1.0)


def _han_week(match: re.Match[str], today: date) -> Span | None:
    """上周, 上上周三, 周五."""
    weeks = -len(match["back"] or "")
    week = week_of(today, weeks)
    name = match["day"]
    if not name:
        return week if weeks else None
    if name == "末":
        return _weekend(week) if weeks else None
    day = week.first + timedelta(_HAN_WEEKDAYS[name])
    if not weeks and day >= today:
        day -= timedelta(7)
    return Span(day, day, 1.0 if weeks else VAGUE)


def _han_month(match: re.Match[str], today: date) -> Span:
    return month_of(today, -len(match["back"]))


def _han_year(match: re.Match[str], today: date) -> Span:
    """去年, 前年三月, 今年5月12日."""
    year = today.year - {"今": 0, "去": 1, "前": 2}[match["year"]]
    month, day = _count(match["m"] or ""), _count(match["d"] or "")
    if month and day:
        return Span(date(year, month, day), date(year, month, day))
    if month:
        return Span(date(year, month, 1), month_end(year, month))
    return Span(date(year, 1, 1), date(year, 12, 31), VAGUE * VAGUE)


def _english_month(match: re.Match[str], today: date) -> Span:
    """The last May: the latest one that is over or running."""
    month = MONTHS[match["mn"].lower()]
    year = today.year - (month >= today.month)
    return Span(date(year, month, 1), month_end(year, month))


def _season(match: re.Match[str], today: date) -> Span:
    start = (_SEASONS | _HAN_SEASONS)[match["season"].lower()]
    year = today.year - 1
    if match["last"] == "last" and start + 2 < today.month:
        year += 1  # last summer, said in November
    end = month_of(date(year, start, 1), 2).last
    return Span(date(year, start, 1), end, VAGUE)


def _count(text: str) -> int:
    low = text.lower().strip()
    if low.isdigit():
        return int(low)
    return _ENGLISH_NUMBER.get(low) or HAN_NUMBER.get(low, 0)


def _weekend(week: Span) -> Span:
    return Span(week.first + timedelta(5), week.last)


def _weighed(span: Span, weight: float) -> Span:
    return Span(span.first, span.last, weight)


_RULES: tuple[tuple[re.Pattern[str], Rule], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), rule)
    for pattern, rule in (
        (r"大前天", _day(3)),
        (r"\bday before yesterday\b|前天|前晚", _day(2)),
        (r"\byesterday\b|\blast (?:night|evening)\b|昨[天日晚夜]|昨儿", _day(1)),
        (
            rf"\b(?P<n>\d{{1,3}}|{_COUNT}) (?P<unit>days?|weeks?|months?|years?) (?:ago|earlier|back)\b",
            _ago,
        ),
        (rf"(?P<n>{_HAN_COUNT})\s?(?P<unit>天|日|周|个?星期|个?礼拜|个月|年)(?:之|以)?前", _ago),
        (
            rf"\b(?:past|last|previous) (?P<n>\d{{1,3}}|{_COUNT}) (?P<unit>days|weeks|months)\b",
            _past,
        ),
        (rf"(?:最近|过去|近)(?:这)?(?P<n>{_HAN_COUNT})(?P<unit>天|周|星期|礼拜|个月)", _past),
        (r"\b(?:last|previous|past) (?P<unit>weekend|week|month|year)\b(?! of)", _last_unit),
        (rf"\b(?P<which>last|on|this past) (?P<day>{'|'.join(_WEEKDAYS)})\b", _weekday),
        (rf"\blast (?P<mn>{MONTH_NAME})\b(?! \d)", _english_month),
        (r"\b(?P<last>last) (?P<season>spring|summer|autumn|fall|winter)\b", _season),
        (r"(?P<last>去年)的?(?P<season>[春夏秋冬])[天季]?", _season),
        (
            r"(?P<year>[今去前])年(?:的?(?P<m>\d{1,2}|十[一二]?|[一二三四五六七八九])月份?"
            r"(?:(?P<d>\d{1,2}|[一二三四五六七八九十]{1,3})[日号])?)?",
            _han_year,
        ),
        (r"(?P<back>上+)个?月", _han_month),
        (
            r"(?P<back>上*)(?:个)?(?:周|星期|礼拜)(?P<day>[一二三四五六日天末])?(?![年期岁])",
            _han_week,
        ),
    )
)
