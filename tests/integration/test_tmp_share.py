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
            found = await parts.search._nearest.ids(tx, meaning, params["scopes"], params)
            return found or []
        rows = await tx.all(
            "select id from memory_item where scope_key = any(%(scopes)s) and status = any(%(statuses)s)"
            " and model_id = %(model_id)s order by embedding <=> %(embedding)s, id limit %(candidates)s",
            params,
        )
    return [row["id"] for row in rows]


async def test_share(memory, server, schema, connect, monkeypatch) -> None:
    import mnemic.retrieval.nearest as nn
    rng = random.Random(7)
    sizes = [(Actor("a"), 20_000), (Actor("b"), 10_000), (Actor("c"), 5_000), (Actor("d"), 4_000)]
    owner = await connect("owner")
    for actor, rows in sizes:
        await memory.add_explicit_memory(actor, "The bicycle is parked behind the library")
        await multiply(owner, actor, rows, rng)
    t=time.perf_counter(); await index(server, schema); print("index s", time.perf_counter()-t)
    await owner.execute("analyze memory_item")
    real = nn.pays
    monkeypatch.setattr(nn, "pays", lambda *a: True)
    for actor, rows in sizes:
        memory._parts.search._nearest._sizes[(actor.user_scope,)] = rows
        same = total = 0
        spent = {False: 0.0, True: 0.0}
        for _ in range(30):
            query = subject(rng)
            answers = {}
            for by_index in (False, True):
                began = time.perf_counter()
                answers[by_index] = await nearest(memory, actor, query, 64, by_index=by_index)
                spent[by_index] += time.perf_counter() - began
            same += len(set(answers[False]) & set(answers[True]))
            total += 64
        print("SHARE", rows, real(rows, 64, 39000), f"recall {same / total:.4f}", {k: f"{v / 30 * 1000:.1f} ms" for k, v in spent.items()})
