"""How fast are other libraries on the same texts and vectors, on the same server?

mem0's pgvector store (what ``infer=False`` comes down to; its embedder is left out, as ours is) and
LangGraph's PostgresStore. Neither encrypts, ranks by words or has a gate. Nothing here touches a
network; a library that is not installed is skipped with a line that says so.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

from psycopg import sql

from benchmarks import floor
from benchmarks.data import Corpus, Question, tuple_of
from benchmarks.measure import interleaved
from benchmarks.ours import World, world
from benchmarks.table import Line
from mnemic.ids import new_id
from mnemic.model import Vector
from mnemic.settings import Settings

_SCHEMA = "bench_peers"
_INDEXES = """
select format('%%I.%%I', schemaname, indexname), indexdef
from pg_indexes
where schemaname = %s and indexdef like '%% USING hnsw %%'
"""


class Peer(Protocol):
    """A library with one corpus in it."""

    async def search(self, question: Question) -> object:
        """Find the five nearest texts of the user."""

    async def add(self, user: str, text: str, vector: Vector) -> object:
        """Store one text."""


class Mem0Store:
    """mem0's PGVector, as its Memory calls it. Its calls block."""

    def __init__(self, store: Any) -> None:
        self._store = store

    async def search(self, question: Question) -> object:
        filters = {"user_id": question.user}
        return self._store.search(question.text, list(question.vector), floor.K, filters)

    async def add(self, user: str, text: str, vector: Vector) -> object:
        return self._store.insert([list(vector)], [_payload(user, text)], [str(new_id())])

    def fill(self, corpus: Corpus) -> None:
        for number in range(corpus.users):
            memories = corpus.memories(number)
            payloads = [_payload(memories.user, text) for text in memories.texts]
            ids = [str(new_id()) for _ in memories.texts]
            self._store.insert(memories.vectors.tolist(), payloads, ids)


class LangGraphStore:
    """LangGraph's AsyncPostgresStore with one namespace a user."""

    def __init__(self, store: Any, known: dict[str, Vector]) -> None:
        self._store = store
        self._known = known

    async def search(self, question: Question) -> object:
        self._known[question.text] = question.vector
        return await self._store.asearch((question.user,), query=question.text, limit=floor.K)

    async def add(self, user: str, text: str, vector: Vector) -> object:
        self._known[text] = vector
        return await self._store.aput((user,), str(new_id()), {"text": text})

    async def fill(self, corpus: Corpus) -> None:
        put = importlib.import_module("langgraph.store.base").PutOp
        for number in range(corpus.users):
            memories = corpus.memories(number)
            for text, vector in zip(memories.texts, memories.vectors, strict=True):
                self._known[text] = tuple_of(vector)
            of_user = (memories.user,)
            await self._store.abatch(
                [put(of_user, str(new_id()), {"text": text}) for text in memories.texts]
            )


async def measured(settings: Settings, corpus: Corpus, count: int = 100) -> list[Line]:
    """Return the lines of every installed peer, and one for each that is missing."""
    lines: list[Line] = []
    async with world(settings) as ground:
        await ground.load(corpus)
        await ground.owner.execute(f"create schema if not exists {_SCHEMA}", prepare=False)
        for name, module, opened in _PEERS:
            if importlib.util.find_spec(module.split(".")[0]) is None:
                lines.append(Line(name, "skipped: pip install '.[bench-peers]' in the clone"))
                continue
            async with opened(ground, corpus) as peer:
                lines += await _beside_floor(ground, corpus, name, peer, count)
    return lines


async def _beside_floor(
    ground: World, corpus: Corpus, name: str, peer: Peer, count: int
) -> list[Line]:
    questions = list(corpus.questions(count, seed=5))
    found = await interleaved(
        {"floor": lambda question: floor.nearest(ground.owner, question), "peer": peer.search},
        questions,
    )
    texts = [(q.user, f"{q.text} ({number})", q.vector) for number, q in enumerate(questions)]
    added = await interleaved({"add": lambda one: peer.add(*one)}, texts, warm=0)
    base, theirs = found["floor"], found["peer"]
    return [
        Line(
            f"{name}: search p50, {corpus.items:,} items (vectors only)",
            f"{theirs.p50:.2f} ms",
            f"{base.p50:.2f} ms",
            round(theirs.ratio(base), 2),
        ),
        Line(f"{name}: add p50 (no gate)", f"{added['add'].p50:.2f} ms"),
    ]


@asynccontextmanager
async def _mem0(ground: World, corpus: Corpus) -> AsyncIterator[Mem0Store]:
    os.environ["MEM0_TELEMETRY"] = "False"  # read when the module is imported
    module = importlib.import_module("mem0.vector_stores.pgvector")
    store = module.PGVector(
        dbname="",
        collection_name=f"mem0_{corpus.items}",
        embedding_model_dims=512,
        user="",
        password="",
        host="",
        port=0,
        diskann=False,
        hnsw=True,
        connection_string=_url(ground),
    )
    peer = Mem0Store(store)
    async with _indexed_later(ground):
        peer.fill(corpus)
    yield peer
    store.connection_pool.close()


@asynccontextmanager
async def _langgraph(ground: World, corpus: Corpus) -> AsyncIterator[LangGraphStore]:
    module = importlib.import_module("langgraph.store.postgres")
    known: dict[str, Vector] = {}

    async def embed(texts: Sequence[str]) -> list[list[float]]:
        return [list(known[text]) for text in texts]

    index = {"dims": 512, "embed": embed, "fields": ["text"]}
    async with AsyncExitStack() as stack:
        opened = module.AsyncPostgresStore.from_conn_string(_url(ground), index=index)
        store = await stack.enter_async_context(opened)
        await store.setup()
        peer = LangGraphStore(store, known)
        async with _indexed_later(ground):
            await peer.fill(corpus)
        yield peer
    await ground.owner.execute(
        sql.SQL("drop schema {} cascade").format(sql.Identifier(_SCHEMA)), prepare=False
    )


@asynccontextmanager
async def _indexed_later(ground: World) -> AsyncIterator[None]:
    """Let a corpus be filled in without the index of its vectors, which is made at once in the end."""
    cursor = await ground.owner.execute(_INDEXES, (_SCHEMA,), prepare=False)
    found = await cursor.fetchall()
    for name, _ in found:
        await ground.owner.execute(f"drop index {name}", prepare=False)
    yield
    for _, definition in found:
        await ground.owner.execute(definition, prepare=False)
    await ground.owner.execute("analyze", prepare=False)


def _url(ground: World) -> str:
    return f"{ground.floor_url} options='-c search_path={_SCHEMA},public'"


def _payload(user: str, text: str) -> dict[str, str]:
    return {"data": text, "user_id": user, "text_lemmatized": text.lower()}


Opened = Callable[[World, Corpus], AbstractAsyncContextManager[Peer]]
_PEERS: tuple[tuple[str, str, Opened], ...] = (
    ("mem0's pgvector store", "mem0.vector_stores.pgvector", _mem0),
    ("LangGraph's PostgresStore", "langgraph.store.postgres", _langgraph),
)
