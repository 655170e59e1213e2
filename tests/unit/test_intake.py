"""What does a request say about the length of its body?"""

from __future__ import annotations

import pytest
from starlette.requests import Request

from mnemic.api.intake import declared


@pytest.mark.parametrize(
    ("told", "length"),
    [("0", 0), ("17", 17), ("", None), ("-1", None), ("1e3", None), ("\u0663", None)],
)
def test_a_length_is_digits_or_not_told(told: str, length: int | None) -> None:
    headers = [(b"content-length", told.encode("utf-8"))]
    assert declared(Request({"type": "http", "headers": headers})) == length


def test_a_length_of_thousands_of_digits_is_too_large_and_no_error() -> None:
    headers = [(b"content-length", b"9" * 5_000)]
    assert (declared(Request({"type": "http", "headers": headers})) or 0) > 10**15
