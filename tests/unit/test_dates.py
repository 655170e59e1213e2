"""Does a query's date become the days that were meant, and nothing else a date?"""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.retrieval.dates import closeness, read_day, spans
from mnemic.retrieval.span import Span, month_of, week_of

WEDNESDAY = date(2025, 11, 19)
DAYS = st.dates(date(1990, 1, 1), date(2080, 12, 31))


def days(text: str, years: tuple[int, ...] = (2024,)) -> list[tuple[str, str]]:
    return [
        (span.first.isoformat(), span.last.isoformat()) for span in spans(text, years, WEDNESDAY)
    ]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("the trip of 7 July 2023", "2023-07-07", "2023-07-07"),
        ("what happened on July 7th, 2023?", "2023-07-07", "2023-07-07"),
        ("on 7 July", "2024-07-07", "2024-07-07"),
        ("what did Anna say in May", "2024-05-01", "2024-05-31"),
        ("in Feb 2023", "2023-02-01", "2023-02-28"),
        ("the last week of August 2023", "2023-08-22", "2023-08-31"),
        ("early March 2023", "2023-03-01", "2023-03-10"),
        ("the week before 16 November 2023", "2023-11-08", "2023-11-16"),
        ("what changed in 2022?", "2022-01-01", "2022-12-31"),
        ("2023-05-04 的会议", "2023-05-04", "2023-05-04"),
        ("2023年5月4日去了哪里", "2023-05-04", "2023-05-04"),
        ("2023年5月", "2023-05-01", "2023-05-31"),
        ("三月份说过的计划", "2024-03-01", "2024-03-31"),
        ("十一月二十三日的晚饭", "2024-11-23", "2024-11-23"),
        ("5/23 那天", "2024-05-23", "2024-05-23"),
        ("the invoice of 23/5", "2024-05-23", "2024-05-23"),
    ],
)
def test_dates_of_the_calendar(text: str, first: str, last: str) -> None:
    assert days(text) == [(first, last)]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what did I say yesterday", "2025-11-18", "2025-11-18"),
        ("the day before yesterday", "2025-11-17", "2025-11-17"),
        ("昨天聊了什么", "2025-11-18", "2025-11-18"),
        ("前天的事", "2025-11-17", "2025-11-17"),
        ("大前天", "2025-11-16", "2025-11-16"),
        ("three days ago", "2025-11-16", "2025-11-16"),
        ("三天前", "2025-11-16", "2025-11-16"),
        ("last week", "2025-11-10", "2025-11-16"),
        ("上周我说了什么", "2025-11-10", "2025-11-16"),
        ("上上周", "2025-11-03", "2025-11-09"),
        ("上周三", "2025-11-12", "2025-11-12"),
        ("上个星期五", "2025-11-14", "2025-11-14"),
        ("last Friday", "2025-11-14", "2025-11-14"),
        ("last weekend", "2025-11-15", "2025-11-16"),
        ("上周末", "2025-11-15", "2025-11-16"),
        ("last month", "2025-10-01", "2025-10-31"),
        ("上个月", "2025-10-01", "2025-10-31"),
        ("two months ago", "2025-09-01", "2025-09-30"),
        ("两个月前", "2025-09-01", "2025-09-30"),
        ("last May", "2025-05-01", "2025-05-31"),
        ("last December", "2024-12-01", "2024-12-31"),
        ("last summer", "2025-06-01", "2025-08-31"),
        ("去年夏天", "2024-06-01", "2024-08-31"),
        ("去年三月份去了哪", "2024-03-01", "2024-03-31"),
        ("去年5月12日", "2024-05-12", "2024-05-12"),
        ("前年", "2023-01-01", "2023-12-31"),
        ("the past two weeks", "2025-11-05", "2025-11-18"),
        ("最近三天", "2025-11-16", "2025-11-18"),
    ],
)
def test_dates_seen_from_today(text: str, first: str, last: str) -> None:
    assert days(text) == [(first, last)]


@pytest.mark.parametrize(
    "text",
    [
        "I may go, or I may march on",
        "what should I cook today",
        "今天吃什么",
        "周末去哪里玩",
        "我们结婚一周年",
        "half of 3/4 of a cup of sugar, 1/2 cup of oil",
        "the score was 100/7%",
        "August Strindberg",
        "a decade of 80 years",
        "",
        "😀🎉!!",
    ],
)
def test_what_is_no_date_of_the_past(text: str) -> None:
    assert days(text) == []


def test_a_day_without_year_is_meant_in_every_year() -> None:
    assert days("on 29 February", (2023, 2024, 2025)) == [("2024-02-29", "2024-02-29")]
    assert len(spans("in May", (2021, 2022, 2023))) == 3


def test_without_a_today_nothing_is_relative() -> None:
    assert spans("yesterday and last week", (2024,)) == ()


@pytest.mark.parametrize(
    ("label", "day"),
    [
        ("11:01 am on 17 December, 2022", date(2022, 12, 17)),
        ("March-15-2024", date(2024, 3, 15)),
        ("2025-12-15 (Monday)", date(2025, 12, 15)),
        ("2023/07/12 (Wed) 10:14", date(2023, 7, 12)),
        ("2023-02-30", None),
        ("soon", None),
        (None, None),
    ],
)
def test_a_label_of_a_day(label: str | None, day: date | None) -> None:
    assert read_day(label) == day


@given(DAYS, st.integers(0, 60), DAYS)
def test_closeness_is_a_share_and_full_inside(first: date, length: int, day: date) -> None:
    span = Span(first, first + timedelta(length))
    near = closeness(day, [span])
    assert 0.0 <= near <= 1.0
    assert (near == 1.0) == (span.first <= day <= span.last)


@given(DAYS, st.integers(1, 40))
def test_a_day_farther_from_the_span_is_never_nearer(first: date, distance: int) -> None:
    span = [Span(first, first)]
    for step in (-1, 1):
        one = closeness(first + timedelta(step * distance), span)
        next_one = closeness(first + timedelta(step * (distance + 1)), span)
        assert next_one <= one


@given(st.text(max_size=300), DAYS)
def test_every_text_has_ordered_spans(text: str, today: date) -> None:
    for span in spans(text, (today.year,), today):
        assert span.first <= span.last
        assert 0 < span.weight <= 1


@given(DAYS, st.integers(-40, 40))
def test_weeks_and_months_follow_each_other(day: date, step: int) -> None:
    week, month = week_of(day, step), month_of(day, step)
    assert (week.first.weekday(), (week.last - week.first).days) == (0, 6)
    assert month_of(day, step + 1).first == month.last + timedelta(1)
    assert week_of(day).first <= day <= week_of(day).last


@given(
    st.from_regex(
        r"(上{1,40}周|[0-9]{1,30}(天|年|个月)前|[0-9]{1,9} (days|years) ago)", fullmatch=True
    )
)
def test_a_time_before_all_calendars_is_no_error(text: str) -> None:
    for span in spans(text, (2024,), date(2, 1, 1)):
        assert span.first <= span.last
