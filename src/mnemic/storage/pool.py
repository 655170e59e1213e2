"""How does one get to the database? Only through ``Database.transaction(actor)``.

A transaction opens with one round trip: BEGIN, the search path, the actor's scopes for row-level security,
and the user's status and key epoch. All of it is local to the transaction, so a transaction pooler between
us and PostgreSQL changes nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, LiteralString, Self

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from mnemic.errors import PermissionDenied
from mnemic.model import Actor
from mnemic.storage import halfvec
from mnemic.storage.failures import translate

Params = dict[str, Any]

_BEGIN = sql.SQL(
    "begin; set local search_path = {schema}, public; set local mnemic.scopes = {scopes};"
    " set local mnemic.sessions = {sessions};"
    " select status, key_epoch from app_user where scope_key = {user}"
)
_BEGIN_SYSTEM = sql.SQL("begin; set local search_path = {schema}, public; select null")
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Transaction:
    """An open transaction of one actor: statements in, rows as dictionaries out."""

    conn: AsyncConnection[DictRow]
    known_user: bool
    key_epoch: int

    async def all(self, statement: LiteralString, params: Params | None = None) -> list[DictRow]:
        """Run a statement and return its rows."""
        return await (await self.conn.execute(statement, params)).fetchall()

    async def one(self, statement: LiteralString, params: Params | None = None) -> DictRow | None:
        """Run a statement and return its first row, if any."""
        return await (await self.conn.execute(statement, params)).fetchone()

    async def run(self, statement: LiteralString, params: Params | None = None) -> int:
        """Run a statement and return the number of rows that it touched."""
        return (await self.conn.execute(statement, params)).rowcount

    async def many(self, statement: LiteralString, params: list[Params]) -> None:
        """Run a statement once a parameter set, in one batch."""
        async with self.conn.cursor() as cursor:
            await cursor.executemany(statement, params)


class Database:
    """The pool of the service login."""

    def __init__(
        self, conninfo: str, *, schema: str, size: int, timeout: float, prepare: bool
    ) -> None:
        self.schema = schema
        self._prepare = prepare
        self._pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
            conninfo,
            kwargs={
                "autocommit": True,
                "row_factory": dict_row,
                "application_name": "mnemic",
                "prepare_threshold": 2 if prepare else None,
            },
            min_size=1,
            max_size=size,
            timeout=timeout,
            configure=halfvec.register,
            open=False,
            name="mnemic",
        )

    async def __aenter__(self) -> Self:
        await self._pool.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Give all connections back; idempotent."""
        await self._pool.close()

    @asynccontextmanager
    async def transaction(self, actor: Actor) -> AsyncIterator[Transaction]:
        """Open a transaction in which the database shows and takes only this actor's rows.

        Raises PermissionDenied (``user_erased``) for an erased user, StorageUnavailable and the other
        errors of ``storage.failures`` otherwise. Leaving it normally commits, an exception rolls back.
        """
        try:
            conn, row = await self._begin(self._opening(actor))
            try:
                if row is not None and row["status"] == "erased":
                    raise PermissionDenied("user_erased", "This user was erased.")
                yield Transaction(conn, row is not None, row["key_epoch"] if row else 1)
            except BaseException:
                await self._end(conn, "rollback")
                raise
            await self._end(conn, "commit")
        except psycopg.Error as error:
            raise translate(error) from error

    @asynccontextmanager
    async def system(self) -> AsyncIterator[Transaction]:
        """Open a transaction of nobody: it sees the tables without personal data, and no row of others."""
        begin = _BEGIN_SYSTEM.format(schema=sql.Identifier(self.schema))
        try:
            conn, _ = await self._begin(begin)
            try:
                yield Transaction(conn, known_user=False, key_epoch=1)
            except BaseException:
                await self._end(conn, "rollback")
                raise
            await self._end(conn, "commit")
        except psycopg.Error as error:
            raise translate(error) from error

    async def _begin(self, begin: sql.Composed) -> tuple[AsyncConnection[DictRow], DictRow | None]:
        """Take a connection that answers: one that died in the pool is dropped and the next one tried."""
        for attempt in range(_ATTEMPTS):
            conn = await self._pool.getconn()
            try:
                cursor = await conn.execute(begin, prepare=False)
                while cursor.nextset():
                    pass
                return conn, await cursor.fetchone()
            except psycopg.OperationalError:
                await self._pool.putconn(conn)
                if not conn.closed or attempt == _ATTEMPTS - 1:
                    raise
                await self._pool.check()
            except BaseException:
                await self._pool.putconn(conn)
                raise
        raise AssertionError("unreachable")

    def _opening(self, actor: Actor) -> sql.Composed:
        return _BEGIN.format(
            schema=sql.Identifier(self.schema),
            scopes=sql.Literal(",".join(actor.scope_keys)),
            sessions=sql.Literal(actor.session_prefix),
            user=sql.Literal(actor.user_scope),
        )

    async def _end(self, conn: AsyncConnection[DictRow], word: LiteralString) -> None:
        try:
            if not conn.closed and conn.info.transaction_status != TransactionStatus.IDLE:
                await conn.execute(word, prepare=False)
        finally:
            await self._pool.putconn(conn)
