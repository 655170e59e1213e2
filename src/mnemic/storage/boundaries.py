"""How does a transaction begin and end on its connection?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress

import psycopg
from psycopg import AsyncConnection, AsyncCursor, sql
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, tuple_row

from mnemic.errors import StorageError
from mnemic.storage.answer import Answer, Look, answered, qualified
from mnemic.storage.held import HeldPipeline
from mnemic.storage.transaction import Transaction

Begun = tuple[DictRow, Answer | None, HeldPipeline | None]
Begin = Callable[[AsyncConnection[DictRow]], Awaitable[Begun]]
"""Begins a transaction; returns what its beginning tells, what a look with it does, and its pipeline."""


def said(begin: sql.Composed) -> Begin:
    """Return the beginning that these statements make, the last of which tells who asks."""

    async def begun(conn: AsyncConnection[DictRow]) -> Begun:
        cursor = await conn.execute(begin, prepare=False)
        while cursor.nextset():
            pass
        row = await cursor.fetchone()
        assert row is not None, "the deployment has no row"
        return row, None, None

    return begun


def looked(schema: str, look: Look) -> Begin:
    """Return the beginning that a look makes, in one round trip."""

    async def begun(conn: AsyncConnection[DictRow]) -> Begun:
        held = HeldPipeline(conn)
        await held.open()
        try:
            cursor = AsyncCursor(conn, row_factory=tuple_row)
            await cursor.execute(qualified(look.statement, schema), look.params, binary=True)
            look.meanwhile()
            seen = await answered(cursor)
        except BaseException:
            await roll_back(conn, held)
            raise
        return seen.head, seen, held

    return begun


async def commit(tx: Transaction) -> None:
    """Commit, or raise: PostgreSQL answers COMMIT of a failed transaction with a quiet ROLLBACK."""
    if tx.held is not None and tx.held.is_open:
        await tx.send()
        await tx.held.commit()
        return
    if tx.conn.info.transaction_status != TransactionStatus.INTRANS:
        raise StorageError(
            "transaction_failed", "A statement of this transaction failed; nothing was kept."
        )
    async with tx.conn.pipeline() if tx.waiting else nullcontext():
        await tx.send()
        await tx.conn.execute("commit", prepare=False)


async def roll_back(conn: AsyncConnection[DictRow], held: HeldPipeline | None = None) -> None:
    """Roll back; a connection that died has done so, and must not hide why we are here."""
    if held is not None and held.is_open:
        with suppress(psycopg.Error):
            async with held.settled():
                pass
    status = conn.info.transaction_status
    if conn.closed or status == TransactionStatus.IDLE:
        return
    with suppress(psycopg.Error):
        if status == TransactionStatus.INTRANS:
            await conn.execute("rollback", prepare=False)
        else:  # what came behind a failed statement was not prepared, and the driver takes it for that
            await conn.rollback()
