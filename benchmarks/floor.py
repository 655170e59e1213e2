"""What does PostgreSQL cost without us? Hand-written psycopg and pgvector, as fast as they go.

A plain table with a b-tree on the user, an exact scoped nearest-neighbour query as one prepared
statement in autocommit, binary both ways; and a bare INSERT of the very row that we would write.
No policies, no encryption, no words, no ranking, no gate.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from psycopg import AsyncConnection, AsyncCursor, sql

from benchmarks.data import Question
from mnemic.model import Vector
from mnemic.storage.halfvec import HalfVector, register

K = 5
_NEAREST = """
select id, content, 1 - (embedding <=> %s) as cosine
from floor_item
where user_id = %s
order by embedding <=> %s
limit %s
"""
_BARE = """
insert into floor_row (
    scope_key, id, scope, scope_id, owner_id, memory_type, content_enc, content_mac, source,
    confidence, status, created_at, recorded_at, valid_from, embedding, model_id, lexemes, n_tokens,
    slots, script)
values (%s, %s, 'user', %s, %s, 'fact', %s, %s, 'user', 0.9, 'active', now(), now(), now(), %s, %s,
    %s::tsvector, %s, %s, %s)
"""
_MOVE = "update floor_chain set seq = %s, last_mac = %s, head_mac = %s where chain = 0 and seq = %s"
_ENTRY = """
insert into floor_entry (chain, seq, at, action, why, user_mac, target_mac, after_mac, entry_mac)
values (0, %s, now(), 'add_memory', 'app', %s, %s, %s, %s)
"""
_ASK = """
insert into floor_outbox (scope_key, xact) values (%s, pg_current_xact_id()) on conflict do nothing
"""
Connection = AsyncConnection[tuple[Any, ...]]


async def connect(url: str, schema: str) -> Connection:
    """Open a connection of the owner on ``schema`` that knows halfvec and prepares at once."""
    conn = await AsyncConnection.connect(url, autocommit=True, prepare_threshold=0)
    await conn.execute(
        sql.SQL("set search_path = {}, public").format(sql.Identifier(schema)), prepare=False
    )
    await register(conn)
    return conn


async def create(conn: Connection) -> None:
    """Make the floor's tables; ``floor_row`` has the columns and checks of ours and one index.

    The others are as ours: the audit's chain and entries, and the outbox.
    """
    await conn.execute(
        "create table if not exists floor_item"
        " (user_id text not null, id uuid not null, content text not null,"
        " embedding halfvec(512) not null)"
    )
    await conn.execute("create index if not exists floor_item_user on floor_item (user_id)")
    await conn.execute(
        "create table if not exists floor_row"
        " (like memory_item including defaults including constraints, primary key (scope_key, id))"
    )
    for table, like in (
        ("floor_chain", "audit_chain"),
        ("floor_entry", "audit_log"),
        ("floor_outbox", "outbox"),
    ):
        statement = sql.SQL("create table if not exists {} (like {} including all)")
        await conn.execute(statement.format(sql.Identifier(table), sql.Identifier(like)))
    await conn.execute(
        "insert into floor_chain values (0, 0, ''::bytea, ''::bytea) on conflict do nothing"
    )


async def nearest(conn: Connection, question: Question, k: int = K) -> list[UUID]:
    """Return the ids of the ``k`` nearest items of the user."""
    vector = HalfVector(question.vector)
    async with AsyncCursor(conn) as cursor:
        await cursor.execute(_NEAREST, (vector, question.user, vector, k), binary=True)
        return [row[0] for row in await cursor.fetchall()]


async def insert(conn: Connection, row: tuple[object, ...]) -> None:
    """Insert one row in a transaction of its own."""
    await conn.execute(_BARE, row)


async def entries(conn: Connection) -> int:
    """Return how far the floor's chain has come."""
    row = await (await conn.execute("select seq from floor_chain")).fetchone()
    assert row is not None
    return int(row[0])


async def insert_all(conn: Connection, row: tuple[object, ...], seq: int) -> None:
    """Insert a row, entry ``seq`` of one chain and an outbox row: one transaction, no BEGIN, no COMMIT."""
    mac = bytes(32)
    async with conn.pipeline():
        await conn.execute(_BARE, row)
        await conn.execute(_ASK, (row[0],))
        await conn.execute(_MOVE, (seq, mac, mac, seq - 1))
        await conn.execute(_ENTRY, (seq, mac, mac, mac, mac))


def bare_row(
    scope_key: str, user: str, row_id: UUID, sealed: dict[str, Any], found_by: dict[str, Any]
) -> tuple[object, ...]:
    """Return the parameters of ``insert``: what we would store for one text."""
    return (
        *(scope_key, row_id, user, user, sealed["content_enc"], found_by["content_mac"]),
        *(found_by["embedding"], found_by["model_id"], found_by["lexemes"], found_by["n_tokens"]),
        *(found_by["slots"], found_by["script"]),
    )


def exact(vectors: Any, vector: Vector, k: int) -> list[int]:
    """Return the places of the ``k`` nearest rows of a matrix, computed without a database."""
    import numpy as np

    halves = np.asarray(vectors, dtype=np.float16).astype(np.float32)
    asked = np.asarray(vector, dtype=np.float16).astype(np.float32)
    cosines = halves @ asked / (np.linalg.norm(halves, axis=1) * np.linalg.norm(asked))
    return [int(place) for place in np.argsort(-cosines, kind="stable")[:k]]
