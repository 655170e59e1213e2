"""How do a million items get into the database within minutes?

Rows are sealed by the same functions that the gate uses, and copied in PostgreSQL's binary format
by the owner. COPY straight into a table under forced row-level security is refused, so they pass
through a temporary table. The floor's table gets the same texts and vectors in the clear.
"""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from psycopg import AsyncConnection, AsyncCopy
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types import TypeInfo
from psycopg.types.json import Jsonb

from benchmarks.data import CURVE, DIMS, Corpus, Memories, Prepared
from mnemic.crypto import DataKey
from mnemic.deployment import Deployment
from mnemic.embedding.registry import Model, register
from mnemic.ids import new_id
from mnemic.item_rows import seal_texts, search_columns
from mnemic.model import Actor

_COLUMNS = {
    "scope_key": "text",
    "id": "uuid",
    "scope": "text",
    "scope_id": "text",
    "owner_id": "text",
    "memory_type": "text",
    "content_enc": "bytea",
    "content_mac": "bytea",
    "source": "text",
    "confidence": "float4",
    "status": "text",
    "created_at": "timestamptz",
    "recorded_at": "timestamptz",
    "valid_from": "timestamptz",
    "embedding": "halfvec",
    "model_id": "int2",
    "lexemes": "tsvector",
    "n_tokens": "int4",
}
_FLOOR = {"user_id": "text", "id": "uuid", "content": "text", "embedding": "halfvec"}
_USERS_A_ROUND = 200
_HALF_HEADER = struct.pack(">hh", DIMS, 0)


@dataclass(frozen=True, slots=True)
class Halves:
    """A halfvec in its binary form."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Lexemes:
    """A tsvector in its binary form."""

    data: bytes


class _PackedDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Halves | Lexemes) -> Buffer | None:
        return obj.data


async def adopt(deployment: Deployment, embedder: Prepared) -> Model:
    """Register the prepared vectors as a model whose curve is known, so that nothing is calibrated."""
    async with deployment.database.system() as tx:
        await tx.run(
            "insert into embedding_model (name, dims, calibration)"
            " values (%(name)s, %(dims)s, %(curve)s) on conflict (name, dims) do nothing",
            {"name": embedder.name, "dims": embedder.dims, "curve": Jsonb(CURVE.to_json())},
        )
    return await register(deployment.database, embedder)


async def load(
    conn: AsyncConnection[Any], deployment: Deployment, model_id: int, corpus: Corpus
) -> None:
    """Copy a corpus into our table and the floor's; ``conn`` is the owner's, on the schema."""
    types = await _types(conn)
    for first in range(0, corpus.users, _USERS_A_ROUND):
        numbers = range(first, min(first + _USERS_A_ROUND, corpus.users))
        await _round(conn, deployment, model_id, [corpus.memories(n) for n in numbers], types)


async def settle(conn: AsyncConnection[Any]) -> None:
    """Let the planner know the tables, and write what is waiting, before anything is measured."""
    await conn.execute("vacuum (analyze) memory_item")
    await conn.execute("vacuum (analyze) floor_item")
    await conn.execute("vacuum (analyze) app_user")
    await conn.execute("vacuum (analyze) data_key")


async def _round(
    conn: AsyncConnection[Any],
    deployment: Deployment,
    model_id: int,
    users: list[Memories],
    types: Mapping[str, int],
) -> None:
    keys = [await _key(deployment, Actor(memories.user)) for memories in users]
    ids = [[new_id() for _ in memories.texts] for memories in users]
    names = ", ".join(_COLUMNS)
    async with conn.transaction():
        await conn.execute("create temporary table staged (like memory_item) on commit drop")
        await conn.execute("alter table staged alter visibility drop not null")
        await conn.execute("alter table staged alter version drop not null")
        ours = [
            _rows(memories, key, row_ids, model_id)
            for memories, key, row_ids in zip(users, keys, ids, strict=True)
        ]
        async with _copy(conn, "staged", _COLUMNS, types) as copy:
            for row in _mingled(ours):
                await copy.write_row(row)
        await conn.execute(f"insert into memory_item ({names}) select {names} from staged")
        plain = [_plain(memories, row_ids) for memories, row_ids in zip(users, ids, strict=True)]
        async with _copy(conn, "floor_item", _FLOOR, types) as copy:
            for row in _mingled(plain):
                await copy.write_row(row)


def _mingled(users: list[Iterator[tuple[object, ...]]]) -> Iterator[tuple[object, ...]]:
    """Yield one row of each user in turn: rows of a user lie apart, as when all write every day."""
    return chain.from_iterable(zip(*users, strict=True))


@asynccontextmanager
async def _copy(
    conn: AsyncConnection[Any], table: str, columns: Mapping[str, str], types: Mapping[str, int]
) -> AsyncIterator[AsyncCopy]:
    statement = f"copy {table} ({', '.join(columns)}) from stdin (format binary)"
    async with conn.cursor() as cursor, cursor.copy(statement.encode()) as copy:
        copy.set_types([types[kind] for kind in columns.values()])
        yield copy


async def _types(conn: AsyncConnection[Any]) -> dict[str, int]:
    """Return the ids of the columns' types; the connection learns to send both packed ones."""
    found = {}
    for name in {*_COLUMNS.values(), *_FLOOR.values()}:
        info = await TypeInfo.fetch(conn, name)
        assert info is not None, name
        found[name] = info.oid
    for kind, name in ((Halves, "halfvec"), (Lexemes, "tsvector")):
        conn.adapters.register_dumper(kind, type(name, (_PackedDumper,), {"oid": found[name]}))
    return found


async def _key(deployment: Deployment, actor: Actor) -> DataKey:
    async with deployment.database.transaction(actor) as tx:
        return await deployment.keys.obtain(tx, actor)


def _packed(memories: Memories) -> Iterator[Halves]:
    halves = memories.vectors.astype(">f2")
    return (Halves(_HALF_HEADER + row.tobytes()) for row in halves)


def _plain(memories: Memories, ids: list[Any]) -> Iterator[tuple[object, ...]]:
    """Yield rows of floor_item in the order of ``_FLOOR``."""
    for text, row_id, vector in zip(memories.texts, ids, _packed(memories), strict=True):
        yield memories.user, row_id, text, vector


def _rows(
    memories: Memories, key: DataKey, ids: list[Any], model_id: int
) -> Iterator[tuple[object, ...]]:
    """Yield rows of memory_item in the order of ``_COLUMNS``."""
    actor, now = Actor(memories.user), datetime.now(UTC)
    scope_key = actor.user_scope
    for text, row_id, vector in zip(memories.texts, ids, _packed(memories), strict=True):
        sealed = seal_texts(key, scope_key, row_id, 1, content=text, reason=None, metadata={})
        found_by = search_columns(key, text, (), model_id)
        yield (
            *(scope_key, row_id, "user", actor.user, actor.user, "fact"),
            *(sealed["content_enc"], found_by["content_mac"], "user", 0.9, "active"),
            *(now, now, now, vector, model_id),
            *(_tsvector(str(found_by["lexemes"])), found_by["n_tokens"]),
        )


def _tsvector(literal: str) -> Lexemes:
    """Return the binary form of a tsvector literal whose lexemes are hexadecimal with one position."""
    pairs = sorted(pair.split(":") for pair in literal.split())
    body = b"".join(
        lexeme.encode() + b"\0" + struct.pack(">HH", 1, int(position)) for lexeme, position in pairs
    )
    return Lexemes(struct.pack(">i", len(pairs)) + body)
