"""Is a score absolute, monotone and the order of hits total?"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.model import SCOPES, Scope
from mnemic.retrieval.rank import (
    Evidence,
    Statistics,
    final_score,
    precedence,
    relevance_floor,
    similarity,
    word_score,
    wording,
)

NOW = datetime(2025, 3, 1, tzinfo=UTC)
share = st.floats(0, 1)
scopes = st.sampled_from(SCOPES)


def curve(cosine: float) -> float:
    return min(1.0, max(0.0, cosine))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Evidence, Statistics]:
    lexemes = draw(st.integers(0, 12))
    documents = draw(st.integers(1, 5_000))
    df = draw(st.tuples(*[st.integers(0, documents)] * lexemes))
    tf = draw(st.tuples(*[st.integers(0, 9)] * lexemes))
    weights = draw(st.tuples(*[st.sampled_from([0.25, 1.0])] * lexemes))
    cosine = draw(st.none() | st.floats(-1, 1))
    evidence = Evidence(cosine, tf, draw(st.integers(0, 3_000)), draw(st.booleans()))
    return evidence, Statistics(documents, draw(st.floats(0, 500)), df, weights)


@given(cases())
def test_similarity_lies_between_zero_and_one(case: tuple[Evidence, Statistics]) -> None:
    found = similarity(*case, curve)
    assert 0.0 <= found.value <= 1.0
    assert 0.0 <= found.words <= 1.0


@given(case=cases(), step=st.floats(0, 2), which=st.integers(0, 11), more=st.integers(1, 5))
def test_similarity_never_falls_when_cosine_or_frequency_rises(
    case: tuple[Evidence, Statistics], step: float, which: int, more: int
) -> None:
    evidence, statistics = case
    before = similarity(evidence, statistics, curve).value
    tf = tuple(n + more * (place == which) for place, n in enumerate(evidence.tf))
    more_words = Evidence(evidence.cosine, tf, evidence.n_tokens, evidence.foreign)
    assert similarity(more_words, statistics, curve).value >= before
    if evidence.cosine is not None:
        nearer = Evidence(evidence.cosine + step, evidence.tf, evidence.n_tokens, evidence.foreign)
        assert similarity(nearer, statistics, curve).value >= before


@given(case=cases(), step=share)
def test_a_rarer_word_is_worth_at_least_as_much(
    case: tuple[Evidence, Statistics], step: float
) -> None:
    _, statistics = case
    rarer = Statistics(
        statistics.documents,
        statistics.average_tokens,
        tuple(int(df * step) for df in statistics.df),
        statistics.weights,
    )
    assert all(a >= b for a, b in zip(rarer.worth, statistics.worth, strict=True))


def test_nothing_in_common_is_zero_and_a_repeated_query_is_almost_one() -> None:
    statistics = Statistics(40, 9.0, (1, 2, 1))
    assert similarity(Evidence(0.0, (0, 0, 0), 9), statistics, curve).value == 0.0
    assert similarity(Evidence(1.0, (1, 1, 1), 9), statistics, curve).value > 0.95


def test_a_score_does_not_hang_on_the_other_hits() -> None:
    statistics = Statistics(40, 9.0, (1, 2, 1))
    weak = [Evidence(0.1, (0, 0, 0), n) for n in (4, 9, 30)]
    assert all(similarity(one, statistics, curve).value < relevance_floor(40) for one in weak)


def test_repeats_and_length_count_as_in_bm25() -> None:
    statistics = Statistics(100, 10.0, (3,))
    once, often, long = (
        word_score(Evidence(None, (tf,), length), statistics)
        for tf, length in ((1, 10), (4, 10), (1, 60))
    )
    assert long < once < often < 4 * once


def test_one_telling_word_in_common_says_more_than_two_everyday_ones() -> None:
    statistics = Statistics(100, 10.0, (2, 2, 2), (1.0, 0.25, 0.25))
    telling = word_score(Evidence(None, (1, 0, 0), 10), statistics)
    everyday = word_score(Evidence(None, (0, 1, 1), 10), statistics)
    assert telling > everyday


def test_a_query_of_everyday_words_alone_demands_nothing_in_particular() -> None:
    everyday = Statistics(100, 10.0, (5, 5), (0.25, 0.25))
    assert word_score(Evidence(None, (1, 1), 10), everyday) < 0.5


def test_a_text_in_another_script_is_not_blamed_for_having_no_words_in_common() -> None:
    statistics = Statistics(20, 8.0, (0, 0))
    own, foreign = (
        similarity(Evidence(0.6, (0, 0), 8, is_foreign), statistics, curve).value
        for is_foreign in (False, True)
    )
    assert foreign > own


def test_without_a_vector_words_decide() -> None:
    statistics = Statistics(20, 8.0, (1, 0))
    found = similarity(Evidence(None, (2, 0), 8), statistics, curve)
    assert found.vector is None
    assert found.value > similarity(Evidence(None, (0, 0), 8), statistics, curve).value


def test_statistics_must_be_aligned() -> None:
    with pytest.raises(ValueError, match=r"shorter|longer"):
        Statistics(3, 5.0, (1, 2), (1.0,))
    with pytest.raises(ValueError, match=r"shorter|longer"):
        word_score(Evidence(None, (1,), 3), Statistics(3, 5.0, (1, 2)))


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_the_floor_rises_with_the_number_of_texts(few: int, many: int) -> None:
    few, many = sorted((few, many))
    assert 0.0 < relevance_floor(few) <= relevance_floor(many) < 1.0
    assert relevance_floor(100) == pytest.approx(0.5)


@given(share, share, scopes, share)
def test_final_score_is_a_share_and_monotone_in_each_part(
    similar: float, confidence: float, scope: Scope, step: float
) -> None:
    score = final_score(similar, confidence, scope)
    assert 0.0 <= score <= 1.0
    assert final_score(min(1.0, similar + step), confidence, scope) >= score
    assert final_score(similar, min(1.0, confidence + step), scope) >= score
    assert final_score(similar, confidence, "session") >= score


def test_final_score_is_the_specified_sum() -> None:
    assert final_score(0.5, 0.9, "project") == pytest.approx(0.25 + 0.27 + 0.16)


def place(number: int, score: float, age: int) -> tuple[float, float, UUID]:
    return precedence(score, NOW - timedelta(days=age), UUID(int=number))


def test_best_first_then_newer_then_by_id() -> None:
    places = [place(4, 0.5, 1), place(3, 0.5, 0), place(2, 0.9, 9), place(1, 0.5, 0)]
    assert [number.int for *_, number in sorted(places)] == [2, 1, 3, 4]


@given(
    st.lists(st.tuples(st.sampled_from([0.2, 0.5]), st.integers(0, 3)), min_size=1, max_size=12),
    st.randoms(use_true_random=False),
)
def test_the_order_is_the_same_whatever_came_first(
    rows: list[tuple[float, int]], draw: random.Random
) -> None:
    places = [place(n, score, age) for n, (score, age) in enumerate(rows)]
    shuffled = places.copy()
    draw.shuffle(shuffled)
    assert sorted(shuffled) == sorted(places)
    assert len(set(places)) == len(places), "no two hits share a place"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I keep bees.", "i keep bees"),
        ("I like plums, figs and pears.", "I like pears and figs, and plums!"),
        ("我喜欢茶和咖啡。", "我喜欢咖啡、茶"),
        ("Ｍｙ desk is 12", "my desk is 12."),
        ("The pool is closed. Use the lake.", "Use the lake! The pool is closed."),
        ("軟體升級完成", "软体升级完成"),
        ("The price is 1,250", "the price is 1250"),
    ],
)
def test_the_same_words_in_other_dress_are_nearly_identical(first: str, second: str) -> None:
    assert wording(first) == wording(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("My desk is 12", "My desk is 13"),
        ("The deposit is 1.5", "The deposit is 15"),
        ("Set the heating to -5", "Set the heating to 5"),
        ("Lena moved from Graz to Linz", "Lena moved from Linz to Graz"),
        ("小明送给小红一本书", "小红送给小明一本书"),
        ("I eat fish", "I do not eat fish"),
        ("我吃鱼", "我不吃鱼"),
        ("It costs $40", "It costs €40"),
        ("We write C++", "We write C"),
        ("The cabin is at 47.1, 13.2", "The cabin is at 13.2, 47.1"),
        ("tea or coffee", "tea and coffee"),
    ],
)
def test_another_digit_sign_or_order_is_another_memory(first: str, second: str) -> None:
    assert wording(first) != wording(second)
