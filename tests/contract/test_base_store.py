"""Does the store keep the contract of LangGraph's ``BaseStore``? The same steps on LangGraph's own store.

Where the two differ on purpose, a test of its own says so. Nothing here is about memories.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from conftest import Server, adopt
from mnemic.errors import InvalidInput
from mnemic.integrations.langgraph import MnemicStore
from mnemic.model import Actor

if TYPE_CHECKING:
    from mnemic.service import MemoryService

pytestmark = pytest.mark.asyncio(loop_scope="module")
Step = Callable[[BaseStore], Awaitable[Any]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory_of_all(server: Server) -> AsyncIterator[MemoryService]:
    """One memory for all tests here: each is a user of its own."""
    from mnemic.service import MemoryService
    from stub_embedder import StubEmbedder, curve

    settings_ = server.settings(f"t_{uuid4().hex[:12]}")
    await adopt(settings_, StubEmbedder(), curve())
    async with MemoryService.open(settings=settings_, embedder=StubEmbedder()) as service:
        yield service


@pytest.fixture
def store(memory_of_all: MemoryService) -> MnemicStore:
    return MnemicStore(memory_of_all, actor=Actor(uuid4().hex))


def like(store: MnemicStore, *indexed: str) -> MnemicStore:
    """The same store, with declared fields."""
    return MnemicStore(store._crossing._memory, actor=store._actor, indexed=indexed)


async def same(store: BaseStore, *steps: Step) -> list[Any]:
    """Take the steps on both stores and return the answers, which must be the same."""
    theirs = InMemoryStore()
    answers = []
    for number, step in enumerate(steps):
        ours, expected = await step(store), await step(theirs)
        assert plain(ours) == plain(expected), f"step {number}"
        answers.append(ours)
    return answers


def plain(answer: Any) -> Any:
    """Return an answer without times, what was found as a set."""
    if isinstance(answer, list) and answer and all(hasattr(one, "key") for one in answer):
        return sorted((one.namespace, one.key, repr(one.value)) for one in answer)
    if isinstance(answer, list):
        return [plain(one) for one in answer]
    if hasattr(answer, "key"):
        return answer.namespace, answer.key, answer.value
    return answer


async def told(work: Awaitable[Any]) -> str:
    """Return the reason code of what is refused."""
    with pytest.raises(InvalidInput) as caught:
        await work
    return caught.value.code


VALUES: dict[str, dict[str, Any]] = {
    "numbers": {"n": 3, "f": 2.5, "zero": 0, "big": 2**40, "minus": -1.0},
    "text": {
        "kind": "note",
        "empty": "",
        "han": "你好，世界",
        "emoji": "👩\u200d🚀",
        "nul": "a\0b",
    },
    "nested": {"a": {"b": {"c": [1, [2, {"d": None}]]}}, "list": [], "object": {}},
    "odd keys": {"": 1, "a.b": 2, "$set": 3, "x' or '1'='1": 4, "[0]": 5},
    "truths": {"yes": True, "no": False, "nothing": None},
    "nothing": {},
    "lone": {"surrogate": "\ud800 alone"},
}


async def test_what_is_put_comes_back_as_it_was(store: MnemicStore) -> None:
    for name in VALUES:
        await same(
            store,
            lambda s: s.aput(("docs", "a"), name, VALUES[name]),  # noqa: B023
            lambda s: s.aget(("docs", "a"), name),  # noqa: B023
            lambda s: s.asearch(("docs",)),
            lambda s: s.adelete(("docs", "a"), name),  # noqa: B023
            lambda s: s.aget(("docs", "a"), name),  # noqa: B023
            lambda s: s.asearch(()),
        )


async def test_a_second_put_replaces_the_whole_value_and_keeps_the_first_time(
    store: MnemicStore,
) -> None:
    await same(
        store,
        lambda s: s.aput(("docs",), "k", {"a": 1, "b": 2}),
        lambda s: s.aput(("docs",), "k", {"b": 3}),
        lambda s: s.aget(("docs",), "k"),
        lambda s: s.asearch(("docs",), filter={"a": 1}),
        lambda s: s.asearch(("docs",), filter={"b": 3}),
    )
    item = await store.aget(("docs",), "k")
    assert item is not None
    assert item.created_at < item.updated_at


async def test_the_last_of_two_puts_in_a_batch_counts_and_reads_come_before_puts(
    store: MnemicStore,
) -> None:
    def ops() -> list[Any]:
        return [
            PutOp(("docs",), "k", {"n": 1}),
            GetOp(("docs",), "k"),
            PutOp(("docs",), "k", {"n": 2}),
            SearchOp(("docs",)),
            PutOp(("docs",), "gone", {"n": 3}),
            PutOp(("docs",), "gone", None),
        ]

    await same(
        store,
        lambda s: s.abatch(ops()),
        lambda s: s.aget(("docs",), "k"),
        lambda s: s.abatch(ops()[:2]),
        lambda s: s.asearch(("docs",)),
    )


async def test_a_prefix_is_made_of_whole_labels(store: MnemicStore) -> None:
    spaces = [("a",), ("a", "b"), ("ab",), ("a b",), ("A",), ("b", "a"), ("a", "bc"), ("a%", "b")]
    steps: list[Step] = [
        lambda s, one=one: s.aput(one, "k", {"at": list(one)})  # type: ignore[misc]
        for one in spaces
    ]
    steps += [
        lambda s, prefix=prefix: s.asearch(prefix, limit=100)  # type: ignore[misc]
        for prefix in [(), ("a",), ("a", "b"), ("a", "b", "c"), ("ab",), ("b",), ("_",), ("%",)]
    ]
    await same(store, *steps)


async def test_namespaces_are_listed_by_prefix_suffix_wildcard_and_depth(
    store: MnemicStore,
) -> None:
    spaces = [
        ("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "b", "f"), ("a", "c", "f"), ("z",),
    ]  # fmt: skip
    steps: list[Step] = [lambda s, one=one: s.aput(one, "k", {}) for one in spaces]  # type: ignore[misc]
    asked: list[dict[str, Any]] = [
        {},
        {"prefix": ("a", "b")},
        {"prefix": ("a", "*", "d")},
        {"suffix": ("f",)},
        {"suffix": ("*", "f")},
        {"prefix": ("a",), "suffix": ("f",)},
        {"prefix": ("a", "b"), "max_depth": 3},
        {"max_depth": 1},
        {"limit": 2},
        {"limit": 2, "offset": 2},
        {"prefix": ("nowhere",)},
    ]
    steps += [lambda s, one=one: s.alist_namespaces(**one) for one in asked]  # type: ignore[misc]
    await same(store, *steps)
    none = ListNamespacesOp(match_conditions=None)
    both = (MatchCondition("prefix", ("a",)), MatchCondition("prefix", ("a", "c")))
    await same(store, *steps[:6], lambda s: s.abatch([none, ListNamespacesOp(both)]))


FILTERS: list[dict[str, Any]] = [
    {"n": 3},
    {"n": 3.0},
    {"n": {"$eq": 3}},
    {"n": {"$ne": 3}},
    {"n": None},
    {"missing": None},
    {"missing": {"$ne": 1}},
    {"n": {"$gt": 2, "$lt": 10}, "kind": "note"},
    {"n": {"$gte": 3, "$lte": 3}},
    {"meta": {"lang": "zh"}},
    {"meta": {"lang": "zh", "deep": {"x": 1}}},
    {"meta": {"deep": {"x": {"$gte": 1}}}},
    {"meta": {"lang": {"$ne": "zh"}}},
    {"tags": ["a", "b"]},
    {"tags": []},
    {"kind": {"$eq": "note"}},
    {"meta": {}},
    {},
]
ROWS: list[dict[str, Any]] = [
    {"n": 3, "kind": "note", "meta": {"lang": "zh", "deep": {"x": 1}}, "tags": ["a", "b"]},
    {"n": 10, "kind": "note", "meta": {"lang": "en", "deep": {"x": 2}}, "tags": ["b", "a"]},
    {"n": 2.5, "kind": "plan", "meta": {"lang": "zh", "deep": {"x": 0}}, "tags": []},
    {"n": -1, "meta": {"lang": "fr", "deep": {"x": 1}, "more": None}},
]


async def test_filters_find_what_langgraphs_own_store_finds(store: MnemicStore) -> None:
    indexed = like(store, "n", "kind", "meta.lang", "missing")
    for one in (store, indexed):
        steps: list[Step] = [
            lambda s, n=n, row=row: s.aput(("f", one.__class__.__name__), str(n), row)  # type: ignore[misc] # noqa: B023
            for n, row in enumerate(ROWS)
        ]
        steps += [
            lambda s, wanted=wanted: s.asearch(("f",), filter=wanted, limit=50)  # type: ignore[misc]
            for wanted in FILTERS
        ]
        await same(one, *steps)


NOT_MEANT: list[tuple[Any, str]] = [
    ({"n": {"$near": 3}}, "unknown_operator"),
    ({"n": {"$gt": 3, "plain": 1}}, "unknown_operator"),
    ({"n": {"m": {"$regex": ".*"}}}, "unknown_operator"),
    (["n"], "invalid_filter"),
    ({1: 2}, "invalid_filter"),
    ({"n": {1: 2}}, "invalid_filter"),
    ({"n": float("nan")}, "invalid_filter"),
    ({"n": object()}, "invalid_filter"),
    ({"n": "x" * 20_000}, "invalid_filter"),
]


async def test_a_filter_that_is_deeper_than_people_think_is_refused_and_a_deep_value_is_found(
    store: MnemicStore,
) -> None:
    def nested(depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {"a": 1}
        for _ in range(depth):
            value = {"a": value}
        return value

    await store.aput(("docs",), "k", nested(150))
    assert await told(store.asearch(("docs",), filter=nested(100))) == "invalid_filter"
    assert await told(store.asearch(("docs",), filter={"a": [[nested(70)]]})) == "invalid_filter"
    assert [one.key for one in await store.asearch(("docs",), filter={"a": {"a": {}}})] == ["k"]


async def test_a_filter_that_cannot_be_meant_is_refused(store: MnemicStore) -> None:
    for wanted, code in NOT_MEANT:
        assert await told(store.asearch(("docs",), filter=wanted)) == code


ODD = ["topic' = 'x' OR '1'='1' --", 'a"b', "a.b", "a[0]", "'; drop table store_item; --", "%"]


async def test_pf_066_a_filter_key_is_data_and_never_part_of_a_statement(
    store: MnemicStore,
) -> None:
    indexed = like(store, *ODD)
    for key in ODD:
        for one in (store, indexed):
            await one.aput(("docs",), "plain", {"topic": "x"})
            await one.aput(("docs",), "odd", {key: key})
            assert await one.asearch(("docs",), filter={key: "x"}) == []
            found = await one.asearch(("docs",), filter={key: key})
            assert [item.key for item in found] == ["odd"]


async def test_pages_of_a_search_hold_everything_once_with_and_without_a_filter(
    store: MnemicStore,
) -> None:
    await store.abatch([PutOp(("docs",), str(n), {"n": n, "even": n % 2 == 0}) for n in range(23)])
    for wanted, total in ((None, 23), ({"even": True}, 12)):
        seen: list[str] = []
        for offset in range(0, 30, 5):
            page = await store.asearch(("docs",), filter=wanted, limit=5, offset=offset)
            seen += [item.key for item in page]
        assert len(seen) == len(set(seen)) == total


async def test_pf_090_a_limit_of_zero_and_a_blank_query_are_errors_here_as_everywhere(
    store: MnemicStore,
) -> None:
    for limit in (0, -1, 1_001):
        assert await told(store.asearch(("docs",), limit=limit)) == "limit_out_of_range"
        assert await told(store.alist_namespaces(limit=limit)) == "limit_out_of_range"
    assert await told(store.asearch(("docs",), offset=-1)) == "offset_out_of_range"
    assert await told(store.asearch(("docs",), query="  ")) == "blank_query"
    assert await told(store.asearch(("docs",), query=3)) == "query_not_text"  # type: ignore[arg-type]


async def test_pf_070_a_namespace_that_would_be_mistaken_for_another_is_refused(
    store: MnemicStore,
) -> None:
    for namespace in (
        (), ("",), ("a.b",), ("kim ",), (" kim",), ("a\u200bb",), ("langgraph", "x"), ("x",) * 40,
        (3,), "docs",
    ):  # fmt: skip
        where: Any = namespace
        for op in (PutOp(where, "k", {"n": 1}), PutOp(where, "k", None), GetOp(where, "k")):
            assert await told(store.abatch([op])) == "invalid_namespace"
    assert await store.alist_namespaces() == []


async def test_paths_and_conditions_that_cannot_be_meant_are_refused(store: MnemicStore) -> None:
    for index in (True, "a", 5, [1], [None], {"a": 1}):
        given_: Any = index
        assert await told(store.abatch([PutOp(("docs",), "k", {"a": "x"}, given_)])) == (
            "invalid_index"
        )
    for condition in ("prefix", MatchCondition("infix", ("docs",))):  # type: ignore[arg-type]
        listed: Any = (condition,)
        op = ListNamespacesOp(match_conditions=listed)
        assert await told(store.abatch([op])) == "unknown_match_type"
    assert await store.aget(("docs",), "k") is None


async def test_what_json_cannot_hold_is_refused_and_not_changed(store: MnemicStore) -> None:
    deep: dict[str, Any] = {}
    for _ in range(3_000):
        deep = {"a": deep}
    for value in (
        {1: "a"}, {"a": {2: 3}}, {"a": float("nan")}, {"a": object()}, ["a"], "text", {"a": {1, 2}}, deep,
    ):  # fmt: skip
        given_: Any = value
        assert await told(store.aput(("docs",), "k", given_)) == "value_not_json"
    assert await told(store.aput(("docs",), "k", {"a": "x" * 1_000_001})) == "value_too_large"
    assert await told(store.aput(("docs",), "k" * 2_000, {})) == "invalid_key"
    for minutes in (0, -1, float("nan"), float("inf")):
        assert await told(store.aput(("docs",), "k", {}, ttl=minutes)) == "ttl_out_of_range"
    assert await store.aget(("docs",), "k") is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9_999, 9_999) | st.floats(-9, 9) | st.text("ab你 ", max_size=4),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text("ab$", max_size=2), one, max_size=3),
    max_leaves=6,
)  # fmt: skip


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(value=st.dictionaries(st.text("ab你", max_size=3), _JSON, max_size=4))
async def test_any_json_comes_back_as_it_was(store: MnemicStore, value: dict[str, Any]) -> None:
    await store.aput(("any",), "k", value)
    found = await store.aget(("any",), "k")
    assert found is not None
    assert found.value == value
