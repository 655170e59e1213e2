"""Does no statement of the store reach what is somebody else's, and does an erasure take everything?"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from conftest import Connect
from mnemic.errors import MnemicError
from mnemic.integrations.langgraph import MnemicStore
from mnemic.model import Actor
from mnemic.storage.halfvec import HalfVectors
from mnemic.storage.statements import statements

if TYPE_CHECKING:
    from mnemic.service import MemoryService

KIM, LEE = Actor("kim", session="s1"), Actor("lee", session="s1")
STATEMENTS = statements("store")
CANARY = "Quoribund" + "elvasting"


class _Undo(Exception):
    """Nothing that was tried is kept."""


async def outcome(memory: MemoryService, actor: Actor, name: str, params: Any) -> Any:
    """Return how many rows a statement gives or touches, or "refused"."""
    result: Any = "refused"
    with suppress(_Undo, MnemicError):
        async with memory.deployment.database.transaction(actor) as tx:
            cursor = await tx.conn.execute(STATEMENTS[name], params)
            result = len(await cursor.fetchall()) if cursor.description else cursor.rowcount
            raise _Undo
    return result


@pytest.fixture
async def aimed(stub_memory: MemoryService, connect: Connect) -> dict[str, Any]:
    """Parameters that make each statement do something for kim."""
    store = MnemicStore(stub_memory, actor=KIM)
    await store.aput(("notes",), "k", {"text": "the ferry leaves at nine"}, ttl=10)
    await store.aput(("kim", "memories"), "m", {"text": "The ferry leaves at nine"})
    await MnemicStore(stub_memory, actor=LEE).aput(("notes",), "k", {"text": "the ferry"})
    owner = await connect("owner")
    rows = await (
        await owner.execute("select * from store_item where scope_key = 'user:kim'")
    ).fetchall()
    macs = [bytes(row["entry_mac"]) for row in rows]
    model = await (await owner.execute("select max(model_id) as n from embedding_model")).fetchone()
    assert model is not None
    linked = next(row for row in rows if row["item_id"])
    return {
        "scope_key": "user:kim",
        "scopes": ["user:kim"],
        "places": ["user:kim"] * 2,
        "entries": macs,
        "prefixes": [bytes(rows[0]["prefixes_mac"][0])] * 2,
        "entry_mac": macs[0],
        "id": rows[0]["id"],
        "owner_id": "kim",
        "prefixes_mac": rows[0]["prefixes_mac"],
        "fields_mac": [],
        "entry_enc": os.urandom(60),
        "value_enc": os.urandom(60),
        "embeddings": HalfVectors(),
        "model_id": None,
        "lexemes": "",
        "n_tokens": 0,
        "ttl": None,
        "item_id": linked["item_id"],
        "made": True,
        "declared": [],
        "equal": [],
        "before_id": None,
        "before_at": None,
        "limit": 10,
        "items": None,
        "of_scopes": ["user:kim"],
        "models": [model["n"]],
        "vectors": HalfVectors(((1.0,) * 64,)),
        "lexeme_scopes": [],
    }


@pytest.mark.parametrize("role", ["somebody else", "kim"])
async def test_a_statement_aimed_at_kims_values_works_for_kim_alone(
    stub_memory: MemoryService, aimed: dict[str, Any], connect: Connect, role: str
) -> None:
    owner = await connect("owner")
    await owner.execute("update store_item set expires_at = now() + ttl")
    for name in sorted(STATEMENTS):
        params = dict(aimed)
        if name == "found":
            params["lexemes"] = []
        if name == "there":
            params["id"] = aimed["item_id"]
        if name == "sweep":
            await owner.execute("update store_item set expires_at = now() - ttl")
        got = await outcome(stub_memory, KIM if role == "kim" else LEE, name, params)
        await owner.execute("update store_item set expires_at = now() + ttl")
        if role == "kim":
            assert got not in (0, "refused"), name
        else:
            assert got in (0, "refused"), name
    left = await (
        await owner.execute("select count(*) as n from store_item where scope_key = 'user:kim'")
    ).fetchone()
    assert left is not None
    assert left["n"] == 2


async def test_nothing_of_a_value_its_key_or_its_namespace_stands_there_in_clear(
    stub_memory: MemoryService, connect: Connect
) -> None:
    store = MnemicStore(stub_memory, actor=KIM, indexed=("tag",))
    word = CANARY
    await store.aput(
        (word, f"{word}2"), f"{word}3", {"text": f"{word}4 and more", "tag": f"{word}5"}
    )
    await store.aput(
        ("kim", "memories"), f"{word}6", {"text": f"{word}7 is a word", "x": f"{word}8"}
    )
    owner = await connect("owner")
    for table in ("store_item", "memory_item", "audit_log"):
        rows = await (
            await owner.execute(f"select to_jsonb(t)::text as row from {table} t")
        ).fetchall()  # type: ignore[arg-type]
        assert rows
        for row in rows:
            assert word.lower() not in row["row"].lower()
            assert word.encode().hex() not in row["row"]


async def test_an_erased_user_leaves_no_value_and_others_keep_theirs(
    stub_memory: MemoryService, connect: Connect
) -> None:
    shared = Actor("kim", project="apollo")
    await stub_memory.projects.create(Actor("lee", project="apollo"), "apollo", "Apollo")
    await stub_memory.projects.grant(Actor("lee", project="apollo"), "apollo", "kim", "editor")
    store = MnemicStore(stub_memory, actor=KIM)
    await store.aput(("notes",), "k", {"n": 1})
    await store.aput(("sessions", "s1", "notes"), "k", {"n": 1})
    await store.aput(("kim", "memories"), "k", {"text": "The ferry leaves at nine"})
    await MnemicStore(stub_memory, actor=shared).aput(("projects", "apollo"), "of kim", {"n": 2})
    lee = MnemicStore(stub_memory, actor=Actor("lee", project="apollo"))
    await lee.aput(("projects", "apollo"), "of lee", {"n": 3})
    await lee.aput(("notes",), "k", {"n": 4})
    report = await stub_memory.forget_user(KIM)
    assert report.counts["store_item"] == 4
    assert {item.key: item.value["n"] for item in await lee.asearch(())} == {"of lee": 3, "k": 4}
    owner = await connect("owner")
    rows = await (await owner.execute("select owner_id from store_item")).fetchall()
    assert {row["owner_id"] for row in rows} == {"lee"}


async def test_pf_078_puts_and_deletions_are_in_the_audit_with_their_states(
    stub_memory: MemoryService, connect: Connect
) -> None:
    store = MnemicStore(stub_memory, actor=KIM)
    for number in (1, 2):
        await store.aput(("notes",), "k", {"n": number})
    await store.adelete(("notes",), "k")
    await store.adelete(("notes",), "k")
    owner = await connect("owner")
    rows = await owner.execute(
        "select action, before_mac is not null as before, after_mac is not null as after"
        " from audit_log order by at, seq"
    )
    assert [tuple(row.values()) for row in await rows.fetchall()] == [
        ("put_value", False, True),
        ("put_value", True, True),
        ("delete_value", True, False),
    ]
