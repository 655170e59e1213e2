"""How does a large scope find its nearest vectors without comparing all of them?

By an HNSW index over the vectors of one model, which an operator asks for (``mnemic db model add``): it
costs memory and time at every write, and small scopes are faster without. pgvector indexes half-precision
vectors up to 4,000 dimensions, which is what every model is limited to.
"""

from __future__ import annotations

from typing import Any, LiteralString

import psycopg
from psycopg import AsyncConnection, sql

from mnemic.errors import NotFound
from mnemic.storage.failures import translate
from mnemic.storage.statements import statements

_SQL = statements("maintenance")
_MODELS = statements("models")
_TABLES: tuple[LiteralString, ...] = ("memory_item", "chunk")
M, EF_CONSTRUCTION = 16, 128


async def add_index(
    conn: AsyncConnection[Any], schema: str, types: str, name: str, dims: int | None = None
) -> list[str]:
    """Index the vectors of the model ``name`` and return the names of the indexes.

    ``conn`` is the owner's, in autocommit: the indexes are made while others read and write. One that an
    interrupted run left half-made is made again. Raises NotFound (``embedding_model_not_found``).
    """
    try:
        path = sql.SQL("set search_path = {}, {}").format(
            sql.Identifier(schema), sql.Identifier(types)
        )
        await conn.execute(path)
        model_id, width = await _find(conn, name, dims)
        made = [await _make(conn, schema, table, model_id, width) for table in _TABLES]
        await conn.execute(_SQL["mark_indexed"], {"model_id": model_id})
    except psycopg.Error as error:
        raise translate(error) from error
    return made


async def _find(conn: AsyncConnection[Any], name: str, dims: int | None) -> tuple[int, int]:
    rows = await (await conn.execute(_MODELS["list_models"])).fetchall()
    found = [row for row in rows if row[1] == name and dims in (None, row[2])]
    if len(found) != 1:
        raise NotFound(
            "embedding_model_not_found",
            "There is not exactly one such model: `mnemic db model list` shows them; name the --dims too.",
        )
    return int(found[0][0]), int(found[0][2])


async def _make(
    conn: AsyncConnection[Any], schema: str, table: LiteralString, model_id: int, dims: int
) -> str:
    index = f"{table}_hnsw_{model_id}"
    state = {"schema": schema, "index": index}
    row = await (await conn.execute(_SQL["index_state"], state)).fetchone()
    if row is not None and not row[0]:
        drop = sql.SQL("drop index concurrently if exists {}.{}")
        await conn.execute(drop.format(sql.Identifier(schema), sql.Identifier(index)))
    create = sql.SQL(
        "create index concurrently if not exists {index} on {table}"
        " using hnsw ((embedding::halfvec({dims})) halfvec_cosine_ops)"
        " with (m = {m}, ef_construction = {ef}) where model_id = {model}"
    ).format(
        index=sql.Identifier(index),
        table=sql.Identifier(table),
        dims=sql.Literal(dims),
        m=sql.Literal(M),
        ef=sql.Literal(EF_CONSTRUCTION),
        model=sql.Literal(model_id),
    )
    await conn.execute(create)
    return index
