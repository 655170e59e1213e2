"""Does the index of a large scope find what comparing all finds, and does each user get their model?"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from psycopg import sql

from conftest import Connect, Prepare, Server
from embedding_endpoint import endpoint
from mnemic import Actor, MemoryService
from mnemic.embedding.indexes import add_index
from mnemic.embedding.models import Models
from mnemic.errors import NotFound
from mnemic.longterm.draft import Draft
from mnemic.settings import Settings
from mnemic.storage.migrate import connect_owner
from mnemic.storage.pool import learn
from stub_embedder import DIMS, StubEmbedder, curve

HUGE, SMALL = Actor("huge"), Actor("small")
ROWS = 20_000
QUERIES = 40


@pytest.fixture
async def memory(settings: Settings, prepare: Prepare) -> AsyncIterator[MemoryService]:
    await prepare(settings, StubEmbedder(), curve())
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as service:
        yield service


async def index(server: Server, schema: str, name: str = StubEmbedder.name) -> list[str]:
    conn = await connect_owner(server.owner)
    async with conn:
        return await add_index(conn, schema, await learn(conn), name)


def subject(rng: random.Random, dims: int = DIMS) -> str:
    """A random vector that lies near one of a hundred topics, as vectors of texts do."""
    topic = random.Random(rng.randrange(100))
    return str([round(topic.gauss(0, 1) + rng.gauss(0, 0.6), 3) for _ in range(dims)])


async def multiply(owner: Any, actor: Actor, rows: int, rng: random.Random) -> None:
    """Copy the one item of an actor with other vectors; its sealed text is of no account here."""
    columns = sql.SQL(
        "scope, scope_id, owner_id, memory_type, content_enc, source, confidence, status, created_at,"
        " recorded_at, valid_from, version, model_id, lexemes, n_tokens"
    )
    statement = sql.SQL(
        "insert into memory_item (scope_key, id, content_mac, embedding, {0})"
        " select m.scope_key, gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), v::halfvec, {0}"
        " from (select * from memory_item where scope_key = %s limit 1) m,"
        " unnest(%s::text[]) with ordinality as u (v, n)"
    ).format(columns)
    for start in range(0, rows, 2_000):
        vectors = [subject(rng) for _ in range(min(2_000, rows - start))]
        await owner.execute(statement, [actor.user_scope, vectors])


async def nearest(
    memory: MemoryService, actor: Actor, vector: str, k: int, *, by_index: bool
) -> list[Any]:
    """Ids of the k nearest, by the search's own statements."""
    from mnemic.retrieval.meaning import Meaning
    from mnemic.storage.halfvec import HalfVector

    parts = memory._parts
    model = parts.models.deployments
    values = tuple(float(x) for x in vector.strip("[]").split(","))
    meaning = Meaning(model.model_id, HalfVector(values), model.curve, DIMS)
    params: dict[str, Any] = {
        "scopes": [actor.user_scope], "statuses": ["active"], "memory_type": None, "as_of": None,
        "known_at": None, "model_id": model.model_id, "embedding": meaning.vector, "candidates": k,
    }  # fmt: skip
    async with parts.deployment.database.transaction(actor) as tx:
        if by_index:
            found = await parts.search.items._nearest.ids(tx, meaning, params["scopes"], params)
            return found or []
        rows = await tx.all(
            "select id from memory_item where scope_key = any(%(scopes)s) and status = any(%(statuses)s)"
            " and model_id = %(model_id)s order by embedding <=> %(embedding)s, id limit %(candidates)s",
            params,
        )
    return [row["id"] for row in rows]


async def test_an_index_finds_what_comparing_everything_finds(
    memory: MemoryService, server: Server, schema: str, connect: Connect
) -> None:
    rng = random.Random(7)
    for actor in (HUGE, SMALL):
        await memory.add_explicit_memory(actor, "The bicycle is parked behind the library")
    owner = await connect("owner")
    await multiply(owner, HUGE, ROWS, rng)
    await multiply(owner, SMALL, 300, rng)
    assert await index(server, schema) == ["memory_item_hnsw_1", "chunk_hnsw_1"]
    assert await index(server, schema) == ["memory_item_hnsw_1", "chunk_hnsw_1"], "safe to repeat"
    await owner.execute("analyze memory_item")
    memory._parts.search.items._nearest.learn([HUGE.user_scope], ROWS)
    memory._parts.search.items._nearest.learn([SMALL.user_scope], 301)
    same = total = 0
    spent = {False: 0.0, True: 0.0}
    for _ in range(QUERIES):
        query = subject(rng)
        answers = {}
        for by_index in (False, True):
            began = time.perf_counter()
            answers[by_index] = await nearest(memory, HUGE, query, 64, by_index=by_index)
            spent[by_index] += time.perf_counter() - began
        assert len(answers[True]) == 64, "the index was used and found enough"
        same += len(set(answers[False]) & set(answers[True]))
        total += 64
        assert await nearest(memory, SMALL, query, 64, by_index=True) == [], (
            "a small scope is compared"
        )
    print(
        f"recall {same / total:.4f}", {k: f"{v / QUERIES * 1000:.1f} ms" for k, v in spent.items()}
    )
    assert same / total >= 0.99
    plan = await plan_of(connect, schema, rng)
    assert "memory_item_hnsw_1" in plan


async def plan_of(connect: Connect, schema: str, rng: random.Random) -> str:
    """How the service's login reads the index, row-level security included."""
    service = await connect("service")
    await service.execute("select set_config('mnemic.scopes', %s, false)", [HUGE.user_scope])
    rows = await service.execute(
        "explain select id from memory_item where model_id = 1 and scope_key = any(%s)"
        f" order by embedding::halfvec({DIMS}) <=> %s::halfvec limit 64",
        [[HUGE.user_scope], subject(rng)],
    )
    return "\n".join(row["QUERY PLAN"] for row in await rows.fetchall())


async def test_searches_of_a_small_tenant_beside_a_huge_one_are_exact_and_full(
    memory: MemoryService, server: Server, schema: str, connect: Connect
) -> None:
    rng = random.Random(8)
    await memory.add_explicit_memory(HUGE, "The bicycle is parked behind the library")
    owner = await connect("owner")
    await multiply(owner, HUGE, 6_000, rng)
    await memory.add_many(
        SMALL, [Draft(f"Shelf number {n} holds the {n * 7} folders") for n in range(30)]
    )
    before = [hit.id for hit in await memory.search_memories(SMALL, "Shelf number 3", k=30)]
    await index(server, schema)
    after = [hit.id for hit in await memory.search_memories(SMALL, "Shelf number 3", k=30)]
    assert len(after) == 30
    assert before == after


async def test_an_unknown_model_has_no_index(
    memory: MemoryService, server: Server, schema: str
) -> None:
    with pytest.raises(NotFound) as caught:
        await index(server, schema, "no-such-model")
    assert caught.value.code == "embedding_model_not_found"


async def test_a_half_made_index_is_made_again(
    memory: MemoryService, server: Server, schema: str, connect: Connect
) -> None:
    await index(server, schema)
    superuser = await connect("superuser")
    invalid = "update pg_index set indisvalid = %s where indexrelid = to_regclass(%s)"
    await superuser.execute(invalid, [False, f"{schema}.memory_item_hnsw_1"])
    await index(server, schema)
    row = await (
        await superuser.execute(
            "select indisvalid from pg_index where indexrelid = to_regclass(%s)",
            [f"{schema}.memory_item_hnsw_1"],
        )
    ).fetchone()
    assert row == {"indisvalid": True}


async def test_the_cache_of_models_is_bounded_and_closes_what_it_drops(
    settings: Settings, prepare: Prepare
) -> None:
    with endpoint(256) as made:
        allowing = settings.model_copy(update={"allowed_hosts": frozenset({made.server.host})})
        await prepare(allowing, StubEmbedder(), curve())
        async with MemoryService.open(settings=allowing, embedder=StubEmbedder()) as memory:
            users = [Actor(f"user{n}") for n in range(4)]
            for user in users:
                await memory.embeddings.set(user, made.url, "narrow-1")
            parts = memory._parts
            models = Models(
                parts.deployment.database, parts.deployment.keys, parts.models.deployments,
                parts.models.connect, capacity=2, remembered=3,
            )  # fmt: skip
            for user in [*users, *users]:
                assert (await models.for_actor(user)).embedder.name == "narrow-1"
                assert len(models._opened) <= 2
                assert len(models._of_user) <= 3
            await models.aclose()
            assert not models._opened
            assert not models._retired


async def test_a_model_that_is_known_costs_no_question_to_the_database(
    memory: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = memory._parts.models
    first = await models.for_actor(SMALL)
    monkeypatch.setattr(memory._parts.deployment.database, "transaction", None)
    assert await models.for_actor(SMALL) is first
    assert await models.for_scope(Actor("somebody"), "project") is first
