"""Is the index asked only where it is faster than comparing everything?"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemic.retrieval.meaning import WORDS_ALONE
from mnemic.retrieval.nearest import LEAST, Nearest, pays

counts = st.integers(0, 10_000_000)


@given(counts, st.integers(1, 400), counts)
def test_without_an_index_or_in_a_small_scope_everything_is_compared(
    documents: int, wanted: int, indexed: int
) -> None:
    assert not pays(documents, wanted, 0)
    assert not pays(min(documents, LEAST - 1), wanted, indexed)


@given(counts, st.integers(1, 400), counts)
def test_a_larger_share_of_the_index_never_speaks_against_it(
    documents: int, wanted: int, indexed: int
) -> None:
    if pays(documents, wanted, indexed):
        assert pays(documents * 2, wanted, indexed)
        assert pays(documents, max(1, wanted // 2), indexed)


def test_a_small_tenant_beside_a_huge_one_is_compared_whole() -> None:
    assert not pays(5_000, 64, 1_000_000)
    assert pays(900_000, 64, 1_000_000)


def test_sizes_are_forgotten_when_a_scope_shrinks() -> None:
    nearest = Nearest()
    nearest.learn(("user:kim",), LEAST)
    assert nearest._sizes == {("user:kim",): LEAST}
    nearest.learn(("user:kim",), 3)
    assert not nearest._sizes


def test_a_large_scope_may_have_an_index_until_that_was_looked_up() -> None:
    nearest = Nearest()
    assert nearest.size(("user:kim",)) == 0
    assert not nearest.may_pay(WORDS_ALONE, ("user:kim",), 64)
    nearest.learn(("user:kim",), 20_000)
    assert nearest.size(("user:kim",)) == 20_000
    assert nearest.may_pay(WORDS_ALONE, ("user:kim",), 64)
    nearest._indexes[WORDS_ALONE.model_id] = (0, float("inf"))
    assert not nearest.may_pay(WORDS_ALONE, ("user:kim",), 64)
