"""How does a transaction begin and end on its connection?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, tuple_row

from mnemic.errors import StorageError
from mnemic.storage.answer import Answer, Look, answered, qualified
from mnemic.storage.transaction import Transaction

Begin = Callable[[AsyncConnection[DictRow]], Awaitable[tuple[DictRow, Answer | None]]]
"""Begins a transaction; returns what its beginning tells, and what a look with it does."""


def said(begin: sql.Composed) -> Begin:
    """Return the beginning that these statements make, the last of which tells who asks."""

    async def begun(conn: AsyncConnection[DictRow]) -> tuple[DictRow, None]:
        cursor = await conn.execute(begin, prepare=False)
        while cursor.nextset():
            pass
        row = await cursor.fetchone()
        assert row is not None, "the deployment has no row"
        return row, None

    return begun


def looked(schema: str, look: Look) -> Begin:
    """Return the beginning that a look makes, in one round trip."""

    async def begun(conn: AsyncConnection[DictRow]) -> tuple[DictRow, Answer]:
        async with conn.cursor(binary=True, row_factory=tuple_row) as cursor:
            async with conn.pipeline():
                await conn.execute("begin", prepare=False)
                await cursor.execute(qualified(look.statement, schema), look.params)
                look.meanwhile()
            seen = await answered(cursor)
        return seen.head, seen

    return begun


async def commit(tx: Transaction) -> None:
    """Commit, or raise: PostgreSQL answers COMMIT of a failed transaction with a quiet ROLLBACK."""
    if tx.conn.info.transaction_status != TransactionStatus.INTRANS:
        raise StorageError(
            "transaction_failed", "A statement of this transaction failed; nothing was kept."
        )
    await tx.flush("commit")


async def roll_back(conn: AsyncConnection[DictRow]) -> None:
    """Roll back; a connection that died has done so, and must not hide why we are here."""
    status = conn.info.transaction_status
    if conn.closed or status == TransactionStatus.IDLE:
        return
    with suppress(psycopg.Error):
        if status == TransactionStatus.INTRANS:
            await conn.execute("rollback", prepare=False)
        else:  # what came behind a failed statement was not prepared, and the driver takes it for that
            await conn.rollback()
