"""Which values fit a filter of the store, where LangGraph's own store fails or takes one for another?"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.integrations.langgraph.filters import checked_filter, matches

_PLAIN = st.dictionaries(
    st.sampled_from("abc"), st.integers(0, 3) | st.sampled_from(["x", "y"]), max_size=3
)


@pytest.mark.parametrize(
    ("value", "wanted", "fits"),
    [
        # where LangGraph's own store fails, or takes one thing for another
        ({"n": "10"}, {"n": {"$gt": 9}}, False),
        ({}, {"n": {"$gt": 9}}, False),
        ({"n": None}, {"n": {"$lte": 9}}, False),
        ({"t": "2026-03-02"}, {"t": {"$gt": "2026-03-01"}}, True),
        ({"t": "b"}, {"t": {"$lt": "a"}}, False),
        ({"yes": True}, {"yes": 1}, False),
        ({"one": 1}, {"one": True}, False),
        ({"yes": True}, {"yes": True}, True),
        ({"yes": True}, {"yes": {"$gte": 1}}, False),
        ({"list": [True]}, {"list": [1]}, False),
        ({"o": {"a": 1}}, {"o": {"$eq": {"a": 1.0}}}, True),
        ({"o": {"a": 1, "b": 2}}, {"o": {"$eq": {"a": 1}}}, False),
    ],
)
def test_comparison_knows_the_types(
    value: dict[str, Any], wanted: dict[str, Any], fits: bool
) -> None:
    assert matches(value, checked_filter(wanted)) is fits


@given(value=_PLAIN, wanted=_PLAIN)
def test_a_filter_of_equal_fields_fits_exactly_the_values_that_have_them(
    value: dict[str, Any], wanted: dict[str, Any]
) -> None:
    expected = all(value.get(name) == one for name, one in wanted.items())
    assert matches(value, checked_filter(wanted)) is expected
