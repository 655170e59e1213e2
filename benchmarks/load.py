"""How do a million items get into the database within minutes?

Rows are sealed by the same functions that the gate uses, and copied in PostgreSQL's binary format
by the owner. COPY straight into a table under forced row-level security is refused, so they pass
through a temporary table. The floor's table gets the same texts and vectors in the clear.
"""

from __future__ import annotations

import re
import struct
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from typing import Any

from psycopg import AsyncConnection, AsyncCopy
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types.json import Jsonb

from benchmarks.data import CURVE, DIMS, Corpus, Memories, Prepared
from mnemic.crypto import DataKey
from mnemic.deployment import Deployment
from mnemic.embedding.registry import Model, register
from mnemic.ids import new_id
from mnemic.item_rows import seal_texts, search_columns
from mnemic.longterm.judge import slots
from mnemic.model import Actor

_OURS = (
    *("scope_key", "id", "scope", "scope_id", "owner_id", "memory_type", "content_enc"),
    *("content_mac", "source", "confidence", "status", "created_at", "recorded_at", "valid_from"),
    *("embedding", "model_id", "lexemes", "n_tokens", "slots", "script"),
)
_FLOOR = ("user_id", "id", "content", "embedding")
_USERS_A_ROUND = 200
_NUMBER = re.compile(r"\d+")
_HALF_HEADER = struct.pack(">hh", DIMS, 0)


Types = Mapping[tuple[str, str], int]


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
    types: Types,
) -> None:
    keys = [await _key(deployment, Actor(memories.user)) for memories in users]
    ids = [[new_id() for _ in memories.texts] for memories in users]
    names = ", ".join(_OURS)
    async with conn.transaction():
        await conn.execute("create temporary table staged (like memory_item) on commit drop")
        await conn.execute("alter table staged alter visibility drop not null")
        await conn.execute("alter table staged alter version drop not null")
        ours = [
            _rows(memories, key, row_ids, model_id)
            for memories, key, row_ids in zip(users, keys, ids, strict=True)
        ]
        async with _copy(conn, "staged", "memory_item", _OURS, types) as copy:
            for row in _mingled(ours):
                await copy.write_row(row)
        await conn.execute(f"insert into memory_item ({names}) select {names} from staged")
        plain = [_plain(memories, row_ids) for memories, row_ids in zip(users, ids, strict=True)]
        async with _copy(conn, "floor_item", "floor_item", _FLOOR, types) as copy:
            for row in _mingled(plain):
                await copy.write_row(row)


def _mingled(users: list[Iterator[tuple[object, ...]]]) -> Iterator[tuple[object, ...]]:
    """Yield one row of each user in turn: rows of a user lie apart, as when all write every day."""
    return chain.from_iterable(zip(*users, strict=True))


@asynccontextmanager
async def _copy(
    conn: AsyncConnection[Any], into: str, like: str, columns: Sequence[str], types: Types
) -> AsyncIterator[AsyncCopy]:
    statement = f"copy {into} ({', '.join(columns)}) from stdin (format binary)"
    async with conn.cursor() as cursor, cursor.copy(statement.encode()) as copy:
        copy.set_types([types[like, column] for column in columns])
        yield copy


async def _types(conn: AsyncConnection[Any]) -> Types:
    """Return the types of both tables' columns; the connection learns to send the packed ones."""
    cursor = await conn.execute(
        "select c.relname, a.attname, a.atttypid from pg_attribute a join pg_class c on c.oid = attrelid"
        " where attrelid in ('memory_item'::regclass, 'floor_item'::regclass) and attnum > 0"
    )
    types = {(table, column): oid for table, column, oid in await cursor.fetchall()}
    for kind, column in ((Halves, "embedding"), (Lexemes, "lexemes")):
        oid = types["memory_item", column]
        conn.adapters.register_dumper(kind, type(column, (_PackedDumper,), {"oid": oid}))
    return types


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
    """Yield rows of memory_item in the order of ``_OURS``."""
    actor, now = Actor(memories.user), datetime.now(UTC)
    scope_key = actor.user_scope
    for text, row_id, vector in zip(memories.texts, ids, _packed(memories), strict=True):
        sealed = seal_texts(key, scope_key, row_id, 1, content=text, reason=None, metadata={})
        found_by = search_columns(key, text, (), model_id, _slots(_NUMBER.sub("7", text)))
        yield (
            *(scope_key, row_id, "user", actor.user, actor.user, "fact"),
            *(sealed["content_enc"], found_by["content_mac"], "user", 0.9, "active"),
            *(now, now, now, vector, model_id),
            *(_tsvector(str(found_by["lexemes"])), found_by["n_tokens"]),
            *(found_by["slots"], found_by["script"]),
        )


@lru_cache(maxsize=65_536)
def _slots(text: str) -> tuple[str, ...]:
    """Return the attributes that a text fills; they do not hang on the number in it."""
    return tuple(slots(text))


def _tsvector(literal: str) -> Lexemes:
    """Return the binary form of a tsvector literal whose lexemes are hexadecimal with one position."""
    pairs = sorted(pair.split(":") for pair in literal.split())
    body = b"".join(
        lexeme.encode() + b"\0" + struct.pack(">HH", 1, int(position)) for lexeme, position in pairs
    )
    return Lexemes(struct.pack(">i", len(pairs)) + body)
