"""Is what is wrong with a field said in our words, and never in pydantic's?"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from mnemic.access.wording import accepted


def _ours(value: str) -> str:
    raise ValueError("must be a list of texts")


class Inner(BaseModel):
    name: str = ""


class Every(BaseModel):
    word: Literal["confirm", "deny"] = "deny"
    one: Literal["only"] = "only"
    text: Annotated[str, Field(min_length=2, max_length=3)] = "ab"
    count: Annotated[int, Field(ge=1, le=9)] = 1
    number: float = 0.5
    flag: bool = True
    many: Annotated[list[Inner], Field(min_length=1, max_length=2)] = [Inner()]
    inner: Inner = Inner()
    table: dict[str, str] = {}
    time: datetime | None = None
    ours: Annotated[str, AfterValidator(_ours)] = ""


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("word", "perhaps-secret", "must be one of confirm, deny"),
        ("one", 7, "must be one of only"),
        ("text", 7, "must be text"),
        ("text", "a", "must have at least 2 characters"),
        ("text", "abcd", "must have at most 3 characters"),
        ("count", "many", "must be a whole number"),
        ("count", 0, "must be at least 1"),
        ("count", 10, "must be at most 9"),
        ("number", "much", "must be a number"),
        ("flag", "secret", "must be true or false"),
        ("many", {}, "must be a list"),
        ("many", [], "must have at least 1 entry"),
        ("many", [{}, {}, {}], "must have at most 2 entries"),
        ("many", ["secret"], "must be a JSON object"),
        ("inner", 7, "must be a JSON object"),
        ("table", [], "must be a JSON object"),
        ("time", "soon", "must be a time in ISO 8601 with its zone"),
        ("ours", "x", "must be a list of texts"),
    ],
)
def test_every_kind_of_fault_says_what_is_accepted(field: str, value: Any, told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Every.model_validate({field: value})
    (error,) = caught.value.errors()
    said = accepted(error)
    assert said == told
    assert "nput" not in said
    assert "secret" not in said


def test_a_fault_that_nobody_foresaw_is_no_sentence_of_pydantics() -> None:
    assert accepted({"type": "new_kind", "msg": "Input should be new"}) == (
        "is not what this field accepts"
    )
