"""Does a turn gain by what stands around it, and by nothing else than what was asked?"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.retrieval.asked import Asked
from mnemic.retrieval.span import Span
from mnemic.retrieval.surroundings import (
    Scope,
    TurnEvidence,
    Weights,
    coverages,
    holds_identifier,
    likelihood,
    rank,
    reaches_floor,
    supports,
    vector_points,
    vector_strength,
    word_strength,
    worths,
)

LINE = vector_points((0.2, 0.35, 0.5))
ASKED = Asked(("ladder", "shed"), (1.0, 1.0))
SCOPE = Scope(100, 12.0, (3, 5))
TALK, OTHER = UUID(int=1), UUID(int=2)


def turn(n: int, talk: UUID = TALK, **more: object) -> TurnEvidence:
    given: dict[str, object] = {
        "id": UUID(int=1000 * talk.int + n),
        "conversation": talk,
        "ordinal": n,
        "passage": 0.2,
        "window": 0.2,
        "tf": (0, 0),
        "n_tokens": 12,
    }
    return TurnEvidence(**(given | more))  # type: ignore[arg-type]


def first(rows: list[TurnEvidence], asked: Asked = ASKED, scope: Scope = SCOPE) -> TurnEvidence:
    return rank(rows, asked, scope, LINE)[0].row


def test_words_and_meaning_both_lift_a_turn() -> None:
    assert first([turn(1), turn(5, tf=(1, 0))]).ordinal == 5
    assert first([turn(1), turn(5, window=0.4, passage=0.4)]).ordinal == 5


def test_a_turn_beside_a_good_one_beats_a_turn_beside_nothing() -> None:
    rows = [turn(1), turn(2, tf=(1, 1)), turn(8), turn(20, OTHER)]
    order = [one.row.ordinal for one in rank(rows, ASKED, SCOPE, LINE)]
    assert order == [2, 1, 8, 20]


def test_a_long_message_leans_less_on_its_neighbours() -> None:
    short = [turn(1), turn(2, tf=(1, 1))]
    long = [turn(1, n_tokens=800), turn(2, tf=(1, 1))]
    own = [0.2, 1.0]
    assert supports(long, own)[0] < supports(short, own)[0]


def test_a_session_of_several_good_turns_beats_one_with_a_single() -> None:
    rows = [turn(n, TALK) for n in (1, 10, 20)] + [turn(n, OTHER) for n in (1, 10, 20)]
    lent = supports(rows, [0.8, 0.8, 0.8, 0.8, 0.1, 0.1], Weights(near=(0.0, 0.0)))
    assert lent[0] > lent[3]


def test_who_is_named_comes_first_and_the_name_is_no_word() -> None:
    asked = Asked(("anna", "ladder"), (1.0, 1.0), ("anna",), ((0,),))
    scope = replace(SCOPE, speakers=frozenset((0,)))
    assert worths(asked, scope)[0] == 0.0
    assert worths(asked, SCOPE)[0] > 0.0
    spoken, about = turn(1, named=True), turn(9, tf=(1, 0))
    assert first([about, spoken], asked, scope).ordinal == 1


def test_the_side_that_was_asked_for() -> None:
    rows = [turn(1, role=1), turn(9, role=-1)]
    assert first(rows).ordinal == 1
    assert first(rows, replace(ASKED, side=-1)).ordinal == 9


def test_a_statement_beats_a_question_and_a_wish_serves_a_request() -> None:
    assert first([turn(1, asking=1.0), turn(9)]).ordinal == 9
    wish = [turn(1), turn(9, stands=True)]
    assert first(wish).ordinal == 1
    assert first(wish, replace(ASKED, request=True)).ordinal == 9


def test_the_day_that_was_named() -> None:
    asked = replace(ASKED, spans=(Span(date(2024, 5, 1), date(2024, 5, 31)),))
    rows = [turn(1, day=date(2024, 2, 1)), turn(9, day=date(2024, 5, 9)), turn(20)]
    assert first(rows, asked).ordinal == 9
    latest = replace(ASKED, latest=True)
    assert first(rows, latest, replace(SCOPE, last=date(2024, 5, 9))).ordinal == 9


def test_a_date_alone_does_not_reach_the_floor() -> None:
    asked = replace(ASKED, spans=(Span(date(2024, 5, 1), date(2024, 5, 31)),))
    dated, plain = turn(1, day=date(2024, 5, 9)), turn(1)
    (one,), (other,) = (rank([row], asked, SCOPE, LINE) for row in (dated, plain))
    assert one.score > other.score
    assert one.relevance == other.relevance


def test_the_floor_rises_with_the_number_of_texts() -> None:
    assert reaches_floor(1.14, 100)
    assert not reaches_floor(1.14, 1_000)
    assert reaches_floor(9.0, 10**9)
    assert not reaches_floor(0.0, 0)


@pytest.mark.parametrize(
    ("word", "df", "held"),
    [
        ("qx-007777", 1, True),
        ("v2.14.3", 3, True),
        ("qx-007777", 4, False),
        ("harbour", 1, False),
        ("2024", 1, False),
        ("room12", 1, False),
    ],
)
def test_an_identifier_that_few_texts_hold_is_enough(word: str, df: int, held: bool) -> None:
    asked, scope = replace(ASKED, lexemes=(word, "the")), replace(SCOPE, df=(df, 90))
    assert holds_identifier(turn(1, tf=(1, 0)), asked, scope) == held
    assert not holds_identifier(turn(1, tf=(0, 1)), asked, scope)
    assert not holds_identifier(turn(1, tf=(1, 1)), replace(asked, lent=2), scope)


def test_coverage_looks_two_turns_around() -> None:
    rows = [turn(1, tf=(1, 0)), turn(3, tf=(0, 1)), turn(9), turn(2, OTHER)]
    assert coverages(rows, (2.0, 1.0)) == pytest.approx([1.0, 1.0, 0.0, 0.0])
    assert coverages(rows, (0.0, 0.0)) == [0.0] * 4


def test_a_turn_without_a_vector_is_found_by_words() -> None:
    rows = [turn(1), turn(9, window=None, passage=None, tf=(2, 1))]
    assert first(rows).ordinal == 9


@given(st.floats(-1, 1), st.floats(0, 0.2))
def test_a_nearer_vector_is_never_worth_less(cosine: float, more: float) -> None:
    far, near = (turn(1, passage=c, window=c) for c in (cosine, cosine + more))
    assert vector_strength(near, LINE) >= vector_strength(far, LINE)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 2_000))
def test_word_strength_is_bounded_and_rises_with_the_words(a: int, b: int, length: int) -> None:
    worth = worths(ASKED, SCOPE)
    strength = word_strength(turn(1, tf=(a, b), n_tokens=length), worth, 12.0)
    more = word_strength(turn(1, tf=(a + 1, b), n_tokens=length), worth, 12.0)
    assert 0.0 <= strength <= more <= 1.5


@given(
    st.lists(
        st.tuples(st.integers(1, 30), st.floats(-0.2, 1.5)), max_size=20, unique_by=lambda t: t[0]
    )
)
def test_support_is_never_negative_where_strengths_are_not(given: list[tuple[int, float]]) -> None:
    rows = [turn(n) for n, _ in given]
    assert all(lent >= 0 for lent in supports(rows, [max(s, 0.0) for _, s in given]))


@given(st.permutations(range(1, 8)))
def test_the_order_of_the_rows_does_not_matter(order: list[int]) -> None:
    rows = [
        turn(n, tf=(n % 3, n % 2), passage=0.1 + 0.03 * n, window=0.1 + 0.02 * n) for n in order
    ]
    assert [one.row.ordinal for one in rank(rows, ASKED, SCOPE, LINE)] == [
        one.row.ordinal
        for one in rank(sorted(rows, key=lambda row: row.ordinal), ASKED, SCOPE, LINE)
    ]


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_likelihood_keeps_the_order(one: float, two: float) -> None:
    low, high = sorted((one, two))
    assert 0.0 <= likelihood(low) <= likelihood(high) <= 1.0


counts = st.integers(0, 3)


@given(st.lists(st.tuples(counts, counts, counts), min_size=1, max_size=8))
def test_what_is_lent_lifts_who_holds_it_and_lowers_nobody(held: list[tuple[int, ...]]) -> None:
    lent = replace(ASKED, lexemes=(*ASKED.lexemes, "ivy"), tells=(1.0, 1.0, 0.2), lent=1)
    scope = replace(SCOPE, df=(3, 5, 4))
    talks = [UUID(int=n + 1) for n in range(len(held))]
    rows = [turn(1, talk, tf=tf) for talk, tf in zip(talks, held, strict=True)]
    bare = [replace(row, tf=row.tf[:2]) for row in rows]
    before = {one.row.id: one for one in rank(bare, ASKED, SCOPE, LINE)}
    for one in rank(rows, lent, scope, LINE):
        gain = one.score - before[one.row.id].score
        assert gain > 0 if one.row.tf[2] else gain == pytest.approx(0, abs=1e-12)
        assert one.relevance - before[one.row.id].relevance == pytest.approx(gain, abs=1e-12)
