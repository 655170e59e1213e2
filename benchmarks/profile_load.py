"""How do half a million sealed profiles get into the database within minutes? By COPY, from every core."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from psycopg import AsyncConnection, sql

from benchmarks import floor
from benchmarks.profile_rows import COLUMNS, Rows, Sealing
from mnemic.contact import ContactIndex
from mnemic.deployment import Deployment
from mnemic.keychoice import provider_of
from mnemic.keys import deployment_id, deployment_secret
from mnemic.settings import Settings

_A_ROUND = 2_500
"""Users a transaction."""


async def load(settings: Settings, deployment: Deployment, owner_url: str, users: int) -> None:
    """Copy the profiles of users ``user0`` and so on, with their keys, in one process a core."""
    async with deployment.database.system() as tx:
        secret = await deployment_secret(tx, deployment.keys.provider)
    workers = os.cpu_count() or 1
    shares = [range(n, users, workers) for n in range(min(workers, users))]
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        await asyncio.gather(
            *(loop.run_in_executor(pool, _share, settings, owner_url, secret, s) for s in shares)
        )


async def settle(owner: floor.Connection) -> None:
    """Let the planner know the tables before anything is measured."""
    for table in COLUMNS:
        await owner.execute(sql.SQL("vacuum (analyze) {}").format(sql.Identifier(table)))


def _share(settings: Settings, owner_url: str, secret: bytes, numbers: range) -> None:
    asyncio.run(_loaded(settings, owner_url, secret, numbers))


async def _loaded(settings: Settings, owner_url: str, secret: bytes, numbers: range) -> None:
    async with await floor.connect(owner_url, settings.db_schema) as conn:
        provider = provider_of(settings, await deployment_id(conn, settings.db_schema))
        row = await (await conn.execute("select kek_id from deployment")).fetchone()
        assert row is not None
        sealing, types = Sealing(provider, row[0], ContactIndex(secret)), await _types(conn)
        for some in _rounds(numbers):
            await _copied(conn, types, [await sealing.rows(f"user{n}", n) for n in some])


def _rounds(numbers: range) -> Iterator[range]:
    return (numbers[n : n + _A_ROUND] for n in range(0, len(numbers), _A_ROUND))


async def _copied(
    conn: AsyncConnection[Any], types: dict[str, list[int]], users: list[Rows]
) -> None:
    """COPY straight into a table under forced row-level security is refused: so through a temporary one."""
    async with conn.transaction():
        for table, columns in COLUMNS.items():
            names = sql.SQL(", ").join(map(sql.Identifier, columns))
            into, staged = sql.Identifier(table), sql.Identifier(f"staged_{table}")
            await conn.execute(
                sql.SQL(
                    "create temporary table {} on commit drop as select {} from {} where false"
                ).format(staged, names, into),
                prepare=False,
            )
            statement = sql.SQL("copy {} ({}) from stdin (format binary)").format(staged, names)
            async with conn.cursor() as cursor, cursor.copy(statement) as copy:
                copy.set_types(types[table])
                for rows in users:
                    await copy.write_row(rows[table])
            await conn.execute(
                sql.SQL("insert into {} ({}) select {} from {}").format(into, names, names, staged),
                prepare=False,
            )


async def _types(conn: AsyncConnection[Any]) -> dict[str, list[int]]:
    """Return the types of the columns that are copied."""
    query = (
        "select attname, atttypid from pg_attribute where attrelid = %s::regclass and attnum > 0"
    )
    found = {}
    for table, columns in COLUMNS.items():
        types = dict(await (await conn.execute(query, [table])).fetchall())
        found[table] = [types[column] for column in columns]
    return found
