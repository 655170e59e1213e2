"""Does the store of agents keep users apart, find by meaning and word, and let values end?"""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore, PutOp
from typing_extensions import TypedDict

from conftest import Connect
from mnemic.embedding.registry import Model
from mnemic.errors import EmbeddingError, InvalidInput, MnemicError
from mnemic.integrations.langgraph import MemoryRefused, MnemicStore
from mnemic.integrations.langgraph.entries import fields_mac
from mnemic.model import Actor
from mnemic.sync import SyncMemoryService

if TYPE_CHECKING:
    from mnemic.service import MemoryService
    from mnemic.settings import Settings

KIM, LEE = Actor("kim", session="s1"), Actor("lee", session="s1")
CARD = "4" + "0" * 11 + "0002"


async def told(work: Any) -> str:
    """Return the reason code of what is refused."""
    with pytest.raises(MnemicError) as caught:
        await work
    return caught.value.code


class Notes(TypedDict, total=False):
    note: str
    found: list[str]


async def keep(state: Notes, *, store: BaseStore) -> Notes:
    await store.aput(("notes",), "last", {"text": state["note"]})
    return {}


async def look(state: Notes, *, store: BaseStore) -> Notes:
    return {"found": [str(item.value["text"]) for item in await store.asearch(("notes",))]}


def graph(store: MnemicStore) -> Any:
    builder = StateGraph(Notes)
    builder.add_node("keep", keep)
    builder.add_node("look", look)
    builder.add_edge(START, "keep")
    builder.add_edge("keep", "look")
    builder.add_edge("look", END)
    return builder.compile(store=store)


def of(user: str, **more: str) -> Any:
    return {"configurable": {"user_id": user, **more}}


# ---- whose


async def test_a_graph_keeps_values_for_the_user_of_its_run(stub_memory: MemoryService) -> None:
    agent = graph(MnemicStore(stub_memory))
    mine = await agent.ainvoke({"note": "the harbour is closed"}, of("kim"))
    other = await agent.ainvoke({"note": "the lighthouse is open"}, of("lee"))
    assert mine["found"] == ["the harbour is closed"]
    assert other["found"] == ["the lighthouse is open"]


async def test_a_run_without_a_user_is_refused_and_so_is_one_with_two(
    stub_memory: MemoryService,
) -> None:
    agent = graph(MnemicStore(stub_memory))
    assert await told(agent.ainvoke({"note": "x"})) == "user_required"
    assert await told(agent.ainvoke({"note": "x"}, of("kim"), context={"user_id": "lee"})) == (
        "identity_unclear"
    )
    fixed = graph(MnemicStore(stub_memory, actor=KIM))
    assert await told(fixed.ainvoke({"note": "x"}, of("lee"))) == "identity_unclear"
    assert (await agent.ainvoke({"note": "x"}, context={"user_id": "kim"}))["found"] == ["x"]


async def test_a_namespace_names_nobody_but_who_asks(stub_memory: MemoryService) -> None:
    store = MnemicStore(stub_memory, actor=KIM)
    for namespace in (
        ("users", "lee"),
        ("user", "lee", "prefs"),
        ("sessions", "s2"),
        ("lee", "memories"),
        ("kim", "notes", "memories"),
        ("users", "kim", "old", "memories"),
    ):
        assert await told(store.aput(namespace, "k", {"text": "I like tea"})) == (
            "namespace_not_yours"
        )
        assert await told(store.aget(namespace, "k")) == "namespace_not_yours"
        if namespace[0] != "kim":
            assert await told(store.asearch(namespace)) == "namespace_not_yours"
    assert await told(store.asearch(("projects", "apollo"))) == "project_required"
    assert await told(store.alist_namespaces(prefix=("users", "lee"))) == "namespace_not_yours"
    dotted = MnemicStore(stub_memory, actor=Actor("kim@example.org"))
    await dotted.aput(("users", "kim@example%2Eorg", "prefs"), "k", {"n": 1})
    assert await dotted.aget(("users", "kim@example%2Eorg", "prefs"), "k") is not None


async def test_values_of_a_session_are_of_that_session_of_that_user_only(
    stub_memory: MemoryService,
) -> None:
    await MnemicStore(stub_memory, actor=KIM).aput(("sessions", "s1", "draft"), "k", {"n": 1})
    for actor, expected in (
        (KIM, 1),
        (Actor("kim", session="s2"), 0),
        (Actor("kim"), 0),
        (LEE, 0),
    ):
        assert len(await MnemicStore(stub_memory, actor=actor).asearch(())) == expected


async def test_members_share_values_of_a_project_as_their_roles_allow(
    stub_memory: MemoryService,
) -> None:
    owner = Actor("kim", project="apollo")
    await stub_memory.projects.create(owner, "apollo", "Apollo")
    for user, role in (("edda", "editor"), ("ed", "editor"), ("vera", "viewer"), ("adam", "admin")):
        await stub_memory.projects.grant(owner, "apollo", user, role)  # type: ignore[arg-type]
    at = ("projects", "apollo", "plans")
    stores = {
        user: MnemicStore(stub_memory, actor=Actor(user, project="apollo"))
        for user in ("kim", "edda", "ed", "vera", "adam", "zoe")
    }
    await stores["edda"].aput(at, "k", {"n": 1, "text": "the launch moves to the island"})
    for user in ("kim", "ed", "vera", "adam"):
        found = await stores[user].asearch(at, query="island launch")
        assert [item.value["n"] for item in found] == [1], user
    assert await told(stores["zoe"].asearch(at)) == "not_a_member"
    assert await told(stores["zoe"].aget(at, "k")) == "not_a_member"
    assert await told(stores["zoe"].aput(at, "z", {})) == "not_a_member"
    assert await told(stores["vera"].aput(at, "v", {})) == "role_too_low"
    for change in ({"n": 2}, None):
        for user in ("ed", "vera"):
            assert await told(stores[user].abatch([PutOp(at, "k", change)])) == "role_too_low"
    await stores["edda"].aput(at, "k", {"n": 3})
    await stores["adam"].aput(at, "k", {"n": 4})
    assert (await stores["vera"].asearch(at))[0].value == {"n": 4}
    assert await told(stores["edda"].adelete(at, "k")) == "role_too_low"  # adam put it last
    await stores["kim"].adelete(at, "k")
    assert await stores["adam"].asearch(at) == []
    await stores["edda"].aput(at, "k", {"n": 5})
    await stub_memory.projects.delete(owner, "apollo")
    async with stub_memory.deployment.database.scopes(["project:apollo"]) as tx:
        assert await tx.all("select id from store_item where scope_key = 'project:apollo'") == []


# ---- what may be stored


async def test_a_secret_is_refused_wherever_it_stands_and_nothing_of_the_batch_is_put(
    stub_memory: MemoryService,
) -> None:
    store = MnemicStore(stub_memory, actor=KIM)
    token = "gh" + "p_" + "aB3dE6gH9" * 4
    for value in (
        {"note": f"use {token}"},
        {"deep": [{"token": token}]},
        {token: 1},
        {"card": int(CARD)},
        {"card number": CARD},
    ):
        with pytest.raises(MemoryRefused) as caught:
            await store.abatch([PutOp(("a",), "fine", {"n": 1}), PutOp(("a",), "k", value)])
        assert caught.value.code.startswith("sensitive_")
        assert caught.value.verdict.outcome == "rejected"
        assert token not in str(caught.value)
    assert (await told(store.aput(("a",), token, {}))).startswith("sensitive_")
    assert (await told(store.aput((token,), "k", {}))).startswith("sensitive_")
    assert await store.asearch(()) == []
    verdicts: list[tuple[str, str | None]] = []
    skipping = MnemicStore(
        stub_memory,
        actor=KIM,
        on_refusal="skip",
        on_verdict=lambda _, key, verdict: verdicts.append((key, verdict.reason)),
    )
    await skipping.abatch(
        [PutOp(("a",), "fine", {"n": 1}), PutOp(("a",), "k", {"note": f"use {token}"})]
    )
    assert [item.key for item in await store.asearch(())] == ["fine"]
    assert [key for key, _ in verdicts] == ["k"]


async def test_numbers_that_only_look_like_secrets_are_stored(stub_memory: MemoryService) -> None:
    store = MnemicStore(stub_memory, actor=KIM)
    value = {
        "at": 1_772_000_000_000,
        "order": 20_260_302_000_017,
        "hash": "0f" * 20,
        "n": 12_345_678,
    }
    await store.aput(("a",), "k", value)
    item = await store.aget(("a",), "k")
    assert item is not None
    assert item.value == value


async def test_without_consent_nothing_is_read_or_put(stub_memory: MemoryService) -> None:
    store = MnemicStore(stub_memory, actor=KIM)
    await store.aput(("a",), "k", {"n": 1})
    await stub_memory.consent.refuse(KIM)
    for work in (
        store.aput(("a",), "k", {"n": 2}),
        store.aget(("a",), "k"),
        store.asearch(()),
        store.asearch((), query="n"),
        store.adelete(("a",), "k"),
        store.alist_namespaces(),
    ):
        assert await told(work) == "consent_required"
    await stub_memory.consent.grant(KIM)
    assert [item.value for item in await store.asearch(())] == [{"n": 1}]


# ---- searching


async def test_a_query_finds_by_word_and_by_meaning_and_a_new_put_leaves_no_old_vector(
    memory: MemoryService,
) -> None:
    store = MnemicStore(memory, actor=KIM)
    texts = {
        "ferry": "The ferry to the island leaves at nine",
        "tea": "我最喜欢喝乌龙茶",
        "rent": "Rent is due on the fifteenth",
        "bike": "The bicycle stands behind the library",
    }
    await store.abatch([PutOp(("n",), key, {"text": text}) for key, text in texts.items()])
    for query, best in (
        ("when does the boat sail to the island", "ferry"),
        ("乌龙茶", "tea"),
        ("what does the flat cost and when must it be paid", "rent"),
    ):
        found = await store.asearch(("n",), query=query)
        assert found[0].key == best, query
        assert found[0].score is not None
        assert len(found) == 4
        scores = [item.score or 0.0 for item in found]
        assert scores == sorted(scores, reverse=True)
    before = (await store.asearch(("n",), query="乌龙茶", limit=1))[0].score or 0.0
    await store.aput(("n",), "tea", {"text": "The printer is out of paper"})
    after = {item.key: item.score for item in await store.asearch(("n",), query="乌龙茶")}
    assert (after["tea"] or 0.0) < before / 4
    await store.aput(("n",), "tea", {"text": "我最喜欢喝乌龙茶"}, index=False)
    unseen = {item.key: item.score for item in await store.asearch(("n",), query="乌龙茶")}
    assert (unseen["tea"] or 0.0) < before / 4
    await store.aput(("n",), "tea", {"a": "我最喜欢喝乌龙茶", "b": "irrelevant"}, index=["a"])
    assert (await store.asearch(("n",), query="乌龙茶"))[0].key == "tea"


async def test_a_filter_narrows_what_a_query_finds_and_never_adds(
    stub_memory: MemoryService,
) -> None:
    store = MnemicStore(stub_memory, actor=KIM, indexed=("kind", "meta.lang"))
    for n in range(12):
        value = {
            "text": f"note {n} about harbours",
            "kind": "even" if n % 2 else "odd",
            "n": n,
            "meta": {"lang": "zh" if n < 6 else "en"},
        }
        await store.aput(("n",), str(n), value)
    every = {item.key for item in await store.asearch(("n",), query="harbours", limit=50)}
    wanted: dict[str, Any] = {}
    for name, condition in (("kind", "even"), ("n", {"$gte": 2}), ("meta", {"lang": "en"})):
        wanted[name] = condition
        found = {
            item.key
            for item in await store.asearch(("n",), query="harbours", filter=wanted, limit=50)
        }
        assert found == {item.key for item in await store.asearch(("n",), filter=wanted, limit=50)}
        assert found < every
        every = found
    assert every == {"7", "9", "11"}


async def test_pf_073_a_value_without_vector_is_found_by_its_words_and_gets_one_later(
    memory: MemoryService, monkeypatch: pytest.MonkeyPatch, connect: Connect
) -> None:
    store = MnemicStore(memory, actor=KIM)
    owner = await connect("owner")

    async def rows() -> list[Any]:
        query = "select model_id, cardinality(embeddings) as n from store_item order by created_at"
        return [(r["model_id"], r["n"]) for r in await (await owner.execute(query)).fetchall()]  # type: ignore[arg-type]

    await store.aput(("n",), "bay", {"text": "I park in bay 12"})
    (usual,) = await rows()

    async def away(model: Any, texts: Any) -> list[EmbeddingError]:
        return [EmbeddingError("embedding_unreachable", "Away.") for _ in texts]

    with monkeypatch.context() as patched:
        patched.setattr(Model, "vectors", away)
        await store.aput(("n",), "bay", {"text": "I park my car in bay 90"})
        assert await rows() == [(None, 0)]
        found = await store.asearch(("n",), query="bay 90")
        assert [item.value["text"] for item in found] == ["I park my car in bay 90"]
        assert await rows() == [(None, 0)]
    before = (await store.asearch(("n",), query="where is the automobile"))[0].score or 0.0
    assert await rows() == [usual]
    after = (await store.asearch(("n",), query="where is the automobile"))[0].score or 0.0
    assert after > before
    await owner.execute("update store_item set model_id = model_id + 1")  # another model was in use
    await store.asearch(("n",), query="bay")
    assert await rows() == [usual]
    await store.aput(("n",), "hidden", {"text": "not to be searched"}, index=False)
    await store.asearch(("n",), query="bay")
    assert await rows() == [usual, (None, 0)]


async def test_a_field_declared_later_finds_also_what_was_put_before(
    stub_memory: MemoryService, connect: Connect
) -> None:
    old = MnemicStore(stub_memory, actor=KIM)
    new = MnemicStore(stub_memory, actor=KIM, indexed=("kind",))
    await old.aput(("n",), "before", {"kind": "note"})
    await new.aput(("n",), "after", {"kind": "note"})
    await new.aput(("n",), "other", {"kind": "plan"})
    found = await new.asearch(("n",), filter={"kind": "note"})
    assert {item.key for item in found} == {"before", "after"}
    owner = await connect("owner")
    rows = await (await owner.execute("select fields_mac from store_item")).fetchall()
    assert sorted(len(row["fields_mac"]) for row in rows) == [0, 2, 2]


def test_equal_fields_have_equal_hashes_and_other_types_others() -> None:
    from uuid import UUID

    from mnemic.crypto import DataKey, new_secret

    key = DataKey(UUID(int=1), new_secret())
    hashes = {
        repr(value): fields_mac(key, {"f": value}, [("f",)])[-1]
        for value in (1, 1.0, True, "1", None, 2)
    }
    assert hashes["1"] == hashes["1.0"]
    assert len(set(hashes.values())) == 5
    assert fields_mac(key, {}, [("f",)])[-1] == hashes["None"]


# ---- time to live


async def test_pf_110_a_value_lives_from_its_last_use_and_ends_everywhere_at_once(
    stub_memory: MemoryService, connect: Connect
) -> None:
    store = MnemicStore(stub_memory, actor=KIM)
    owner = await connect("owner")

    async def pass_by(minutes: float) -> None:
        await owner.execute(
            "update store_item set expires_at = expires_at - %s", [timedelta(minutes=minutes)]
        )

    await store.aput(("t",), "k", {"text": "fleeting"}, ttl=10)
    await store.aput(("t",), "stays", {"text": "lasting"})
    for read in (
        lambda: store.aget(("t",), "k"),
        lambda: store.asearch(("t",)),
        lambda: store.asearch(("t",), query="fleeting"),
    ):
        await pass_by(9)
        assert await read()
    await pass_by(9)
    assert await store.aget(("t",), "k", refresh_ttl=False)
    await pass_by(2)
    assert await store.aget(("t",), "k") is None
    assert [item.key for item in await store.asearch(("t",))] == ["stays"]
    assert [item.key for item in await store.asearch(("t",), query="fleeting")] == ["stays"]
    await store.aput(("t", "other"), "n", {})  # a write sweeps
    rows = await (await owner.execute("select ttl from store_item")).fetchall()
    assert [row["ttl"] for row in rows] == [None, None]


async def test_a_store_may_give_every_value_a_time_to_live(stub_memory: MemoryService) -> None:
    store = MnemicStore(
        stub_memory, actor=KIM, ttl={"default_ttl": 0.0005, "refresh_on_read": False}
    )
    await store.aput(("t",), "k", {"n": 1})
    await asyncio.sleep(0.05)
    assert await store.aget(("t",), "k") is None
    await store.aput(("t",), "k", {"n": 2}, ttl=None)
    assert await store.aget(("t",), "k") is not None


# ---- from threads and other loops


async def test_pf_124_a_blocking_call_inside_the_loop_says_what_to_call_instead(
    stub_memory: MemoryService,
) -> None:
    store = MnemicStore(stub_memory, actor=KIM)
    with pytest.raises(InvalidInput) as caught:
        store.put(("a",), "k", {"n": 1})
    assert caught.value.code == "sync_call_inside_loop"
    assert "abatch" in caught.value.message
    await asyncio.to_thread(store.put, ("a",), "k", {"n": 1})
    assert (await asyncio.to_thread(store.get, ("a",), "k")).value == {"n": 1}  # type: ignore[union-attr]
    await asyncio.to_thread(lambda: asyncio.run(store.aput(("a",), "k", {"n": 2})))
    assert (await store.asearch(("a",)))[0].value == {"n": 2}
    sync_node = await asyncio.to_thread(graph_of_sync_nodes(store).invoke, {"note": "y"}, of("kim"))
    assert sync_node["found"] == ["y"]


def graph_of_sync_nodes(store: MnemicStore) -> Any:
    def keep_it(state: Notes, *, store: BaseStore) -> Notes:
        store.put(("notes",), "last", {"text": state["note"]})
        return {"found": [str(item.value["text"]) for item in store.search(("notes",))]}

    builder = StateGraph(Notes)
    builder.add_node("keep", keep_it)
    builder.add_edge(START, "keep")
    return builder.compile(store=store)


def test_a_store_on_a_blocking_memory_works_from_plain_code_and_from_loops(
    settings: Settings,
) -> None:
    from stub_embedder import StubEmbedder

    with SyncMemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        store = MnemicStore(memory)
        assert graph_of_sync_nodes(store).invoke({"note": "z"}, of("kim"))["found"] == ["z"]
        found = asyncio.run(graph(store).ainvoke({"note": "w"}, of("kim")))
        assert found["found"] == ["w"]
    with pytest.raises(InvalidInput) as caught:
        MnemicStore(memory, actor=KIM).get(("a",), "k")
    assert caught.value.code == "service_not_open"


# ---- at once


async def test_batches_that_name_the_same_keys_in_other_orders_wait_for_nobody(
    stub_memory: MemoryService,
) -> None:
    store = MnemicStore(stub_memory, actor=KIM)
    names = [f"k{n}" for n in range(12)]

    def puts(seed: int) -> list[PutOp]:
        mixed = random.Random(seed).sample(names, len(names))
        gone = seed % 3 == 0
        return [PutOp(("notes",), name, None if gone else {"n": seed}, ttl=5) for name in mixed]

    for _ in range(3):
        works = [store.abatch(puts(seed)) for seed in range(12)]
        works += [store.asearch(("notes",), limit=100) for _ in range(6)]
        await asyncio.gather(*works)
    await store.abatch(puts(1))
    found = await store.asearch(("notes",), limit=100)
    assert {item.key: item.value for item in found} == {name: {"n": 1} for name in names}


async def test_what_has_outlived_its_time_is_swept_by_many_at_once(
    stub_memory: MemoryService, connect: Connect
) -> None:
    store = MnemicStore(stub_memory, actor=KIM)
    names = [f"k{n}" for n in range(12)]
    for _ in range(2):
        await asyncio.gather(
            *(
                store.abatch(
                    [
                        PutOp(("notes",), name, {"n": seed}, ttl=1e-6)
                        for name in random.Random(seed).sample(names, len(names))
                    ]
                )
                for seed in range(12)
            )
        )
    await store.aput(("notes",), "last", {"n": 1})
    owner = await connect("owner")
    rows = await (await owner.execute("select count(*) as n from store_item")).fetchone()
    assert rows == {"n": 1}
