"""Does a filtered search find what comparing everything finds, for small tenants and huge ones of one index?

A small tenant (300 vectors), two just below and above the limit up to which all are compared, and a huge
one share the index that an operator made. Sealed texts are of no account here: rows are multiplied with other
vectors.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from typing import Any, LiteralString

import pytest
from psycopg import sql

from conftest import Connect, Prepare, Server
from mnemic import Actor, MemoryService, Turn
from mnemic.embedding.indexes import add_index
from mnemic.retrieval import nearest, turns
from mnemic.retrieval.meaning import Meaning
from mnemic.retrieval.nearest import LEAST, Nearest, Table
from mnemic.settings import Settings
from mnemic.storage.halfvec import HalfVector
from mnemic.storage.migrate import connect_owner
from mnemic.storage.pool import learn
from stub_embedder import DIMS, StubEmbedder, curve

SIZES = {"small": 300, "limit": LEAST - 2, "middle": LEAST + 500, "huge": 10_000}
WANTED: dict[Table, int] = {"memory_item": 64, "chunk": turns.POOL_BY_INDEX}
QUERIES = 20
_EXACT: dict[Table, LiteralString] = {
    "memory_item": "select id from memory_item where scope_key = any(%(scopes)s) and model_id = %(model_id)s"
    " order by embedding <=> %(embedding)s, id limit %(candidates)s",
    "chunk": "select id from chunk where scope_key = any(%(scopes)s) and model_id = %(model_id)s"
    " order by embedding <=> %(embedding)s, id limit %(candidates)s",
}
_COLUMNS: dict[Table, LiteralString] = {
    "memory_item": "scope, scope_id, owner_id, memory_type, content_enc, source, confidence, status,"
    " created_at, recorded_at, valid_from, version, model_id, lexemes, n_tokens",
    "chunk": "resource_id, text_enc, model_id, lexemes, n_tokens",
}
_OWN: dict[Table, tuple[LiteralString, LiteralString]] = {
    "memory_item": ("content_mac", "sha256(gen_random_uuid()::text::bytea)"),
    "chunk": ("ordinal", "1 + %s + n"),
}


@pytest.fixture
async def memory(settings: Settings, prepare: Prepare) -> AsyncIterator[MemoryService]:
    await prepare(settings, StubEmbedder(), curve())
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as service:
        yield service


async def index(server: Server, schema: str) -> None:
    """What ``mnemic db model add`` does."""
    conn = await connect_owner(server.owner)
    async with conn:
        made = await add_index(conn, schema, await learn(conn), StubEmbedder.name)
    assert made == ["memory_item_hnsw_1", "chunk_hnsw_1"]


def subject(rng: random.Random) -> list[float]:
    """A random vector that lies near one of a hundred topics, as vectors of texts do."""
    topic = random.Random(rng.randrange(100))
    return [round(topic.gauss(0, 1) + rng.gauss(0, 0.6), 3) for _ in range(DIMS)]


async def multiply(owner: Any, table: Table, user: str, rng: random.Random) -> None:
    """Copy the one row of a user, each time with another vector."""
    name, value = _OWN[table]
    statement = sql.SQL(
        "insert into {table} (scope_key, id, embedding, {own}, {columns})"
        " select o.scope_key, gen_random_uuid(), v::halfvec, {value}, {columns}"
        " from (select * from {table} where scope_key = %s limit 1) o,"
        " unnest(%s::text[]) with ordinality as u (v, n)"
    ).format(
        table=sql.Identifier(table),
        own=sql.SQL(name),
        value=sql.SQL(value),
        columns=sql.SQL(_COLUMNS[table]),
    )
    scope = Actor(user).user_scope
    for start in range(0, SIZES[user], 2_000):
        vectors = [str(subject(rng)) for _ in range(min(2_000, SIZES[user] - start))]
        first = [start] if table == "chunk" else []
        await owner.execute(statement, [*first, scope, vectors])


@pytest.mark.parametrize("table", ["memory_item", "chunk"])
async def test_recall_of_filtered_search(
    table: Table, memory: MemoryService, server: Server, schema: str, connect: Connect
) -> None:
    """1.0 where everything is compared, at least 0.99 where the index is walked."""
    rng = random.Random(7)
    owner = await connect("owner")
    for user in SIZES:
        await memory.add_explicit_memory(Actor(user), "The bicycle is parked behind the library")
        await memory.resources.add(Actor(user), "The bicycle is parked behind the library")
        await multiply(owner, table, user, rng)
    await index(server, schema)
    await owner.execute("analyze")
    found = Nearest(table)
    for user, size in SIZES.items():
        found.learn((Actor(user).user_scope,), size + 1)
    recall = {user: await recall_of(memory, found, table, user, rng) for user in SIZES}
    print(table, recall)
    assert recall["small"] is recall["limit"] is None, "all of these are compared: 1.0"
    assert recall["huge"] is not None, "the index was walked"
    assert min(share for share in recall.values() if share is not None) >= 0.99


async def recall_of(
    memory: MemoryService, found: Nearest, table: Table, user: str, rng: random.Random
) -> float | None:
    """Share of the nearest that the index finds, None where it is not asked."""
    model, actor = memory._parts.models.deployments, Actor(user)
    same = asked = 0
    for _ in range(QUERIES):
        meaning = Meaning(model.model_id, HalfVector(tuple(subject(rng))), model.curve, DIMS)
        params: dict[str, Any] = {
            "scopes": [actor.user_scope], "statuses": ["active"], "memory_type": None, "as_of": None,
            "known_at": None, "model_id": model.model_id, "embedding": meaning.vector,
            "candidates": WANTED[table],
        }  # fmt: skip
        async with memory._parts.deployment.database.transaction(actor) as tx:
            by_index = await found.ids(tx, meaning, params["scopes"], params)
            exact = [row["id"] for row in await tx.all(_EXACT[table], params)]
        if by_index is not None:
            assert len(by_index) == WANTED[table], "never fewer than asked for"
            asked += len(exact)
            same += len(set(exact) & set(by_index))
    return same / asked if asked else None


async def test_a_search_of_turns_by_index_answers_as_without(
    memory: MemoryService,
    server: Server,
    schema: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same hits, never fewer than k, with the limits made small enough for real texts."""
    huge, small = Actor("huge", session="s1"), Actor("small", session="s1")
    kinds = ("kettle", "bicycle", "violin", "harbour", "lantern", "orchard")
    said = [
        Turn("user", f"Remark {n} about the {kinds[n % 6]} of number {n * 7}") for n in range(600)
    ]
    await memory.sessions.append(huge, said)
    await memory.resources.index(huge)
    await memory.sessions.append(small, said[:30])
    await memory.resources.index(small)
    monkeypatch.setattr(turns, "EXACT", 100)
    monkeypatch.setattr(turns, "POOL", turns.POOL_BY_INDEX)
    queries = ["Which kettle was number 84?", "the orchard", "量子色动力学", "lantern remark 599"]
    before = {(a.user, q): await found(memory, a, q) for a in (huge, small) for q in queries}
    await index(server, schema)
    monkeypatch.setattr(nearest, "LEAST", 200)
    monkeypatch.setattr(nearest, "STEP_COST", 1)
    memory._parts.search.turns._nearest._indexes.clear()
    walks: list[int | None] = []
    ask = Nearest.ids

    async def watched(self: Nearest, *args: Any) -> Any:
        ids = await ask(self, *args)
        walks.append(ids if ids is None else len(ids))
        return ids

    monkeypatch.setattr(Nearest, "ids", watched)
    await found(memory, huge, queries[0])  # learns the size
    walks.clear()
    after = {(a.user, q): await found(memory, a, q) for a in (huge, small) for q in queries}
    assert walks == [turns.POOL_BY_INDEX] * 4 + [None] * 4
    for (user, query), hits in before.items():
        assert len(after[user, query]) == len(hits) == (30 if user == "small" else 100)
        assert after[user, query][:10] == hits[:10], query
    assert all(after["small", query] == before["small", query] for query in queries)


async def found(memory: MemoryService, actor: Actor, query: str) -> list[Any]:
    hits = await memory.search_memories(Actor(actor.user), query, 100, include=("resource",))
    return [(hit.content, hit.score) for hit in hits]
