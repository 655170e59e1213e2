"""Do candidates come in the order of their worth, whoever takes how many of them?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from mnemic.embedding.calibration import Curve
from mnemic.retrieval.candidates import best_first, compared
from mnemic.retrieval.rank import precedence
from mnemic.storage.answer import Answer

COLUMNS = (
    *("id", "scope", "confidence", "recorded_at", "n_tokens", "script", "same_slot"),
    *("ns", "tfs", "cosine"),
)
CURVE = Curve(((0.0, 0.0), (0.3, 0.4), (0.5, 0.4), (1.0, 1.0)))
"""Level in places, so that equal scores are common."""
WORDS = ("tide", "table")
START = datetime(2026, 5, 4, tzinfo=UTC)

told = st.lists(
    st.tuples(
        st.sampled_from(("user", "session")),
        st.sampled_from((0.7, 0.9)),
        st.integers(0, 3),
        st.sampled_from(("letters", "han")),
        st.sampled_from((None, False, True)),
        st.sampled_from(((None, None), ([1], [2]), ([2, 1], [1, 1]))),
        st.none() | st.integers(-20, 100),
    ),
    max_size=40,
)


def answer(rows: list[Any]) -> Answer:
    found = [
        (UUID(int=n), scope, sure, START + timedelta(days=day), 9, script, slot, ns, tfs,
         cosine and cosine / 100)
        for n, (scope, sure, day, script, slot, (ns, tfs), cosine) in enumerate(rows)
    ]  # fmt: skip
    head = {"documents": 40, "average_tokens": 9.0, "df": [3, 8]}
    return Answer(head, COLUMNS, found)


@given(told, st.integers(0, 12))
def test_the_order_does_not_hang_on_how_many_are_taken(rows: list[Any], k: int) -> None:
    everything = list(best_first(answer(rows), "tide table", WORDS, CURVE, 100))
    few = list(best_first(answer(rows), "tide table", WORDS, CURVE, k))
    assert [one.values for one in few] == [one.values for one in everything]
    assert [one.score for one in few] == [one.score for one in everything]
    keys = [precedence(one.score, one.values[3], one.values[0]) for one in everything]
    assert keys == sorted(keys)
    assert len(keys) == len(rows)


def test_a_candidate_knows_its_row_by_name_and_its_words() -> None:
    (one,) = best_first(
        answer([("user", 0.9, 0, "letters", None, ([2], [4]), 90)]), "tide", WORDS, CURVE, 5
    )
    assert one.row()["script"] == "letters"
    assert one.tf == (0, 4)


def test_an_answer_without_any_vector_has_compared_none() -> None:
    assert not compared(answer([("user", 0.9, 0, "letters", None, ([1], [1]), None)]))
    assert compared(answer([("user", 0.9, 0, "letters", None, (None, None), 0)]))
    assert not compared(answer([]))
