"""How does one get to the database? Only through ``Database.transaction(actor)``.

A transaction opens with one round trip: BEGIN, the search path, who asks for row-level security, and the
user's status, consent, key epoch, embedding model and role in the project. All of it is local to the
transaction, so a transaction pooler between us and PostgreSQL changes nothing. Prepared statements are not:
a connection that reaches its session through a pooler prepares none.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, LiteralString, Self

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row, tuple_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from mnemic.errors import (
    ConsentRequired,
    InvalidInput,
    PermissionDenied,
    StorageUnavailable,
)
from mnemic.model import Actor, known_actor
from mnemic.storage import beginning, halfvec
from mnemic.storage.answer import Answer, Look, asker, qualified, read
from mnemic.storage.boundaries import Begin, Begun, commit, looked, roll_back, said
from mnemic.storage.failures import NO_ANSWER, translate, unusable
from mnemic.storage.finishing import finish
from mnemic.storage.held import HeldPipeline
from mnemic.storage.transaction import (
    LIFE,
    ON_WRITE,
    Deed,
    Params,
    Recorder,
    Transaction,
    of_one_life,
)

__all__ = ["ON_WRITE", "Database", "Deed", "Recorder", "Transaction", "learn", "of_one_life"]

_SERVER = """
    select pg_backend_pid(), n.nspname, has_schema_privilege(n.oid, 'usage'), current_user,
           to_regtype('halfvec') is not null
    from (select) as always
    left join pg_extension e on e.extname = 'vector'
    left join pg_namespace n on n.oid = e.extnamespace"""
_ATTEMPTS = 3


class Database:
    """The pool of the service login. It belongs to the event loop that opened it."""

    def __init__(
        self,
        conninfo: str,
        *,
        schema: str,
        size: int,
        timeout: float,
        prepare: bool,
        consent_required: bool = False,
        revive: Callable[[], None] | None = None,
    ) -> None:
        """``revive`` starts a server that died, where it is ours to start; it runs in a thread."""
        self.schema = schema
        self.consent_required = consent_required
        self.recorder: Recorder | None = None
        self.noticed: Callable[[str], None] | None = None
        self.waker: Callable[[Actor], Awaitable[object]] | None = None
        self._revive = revive
        self._returning: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._busy = 0
        self._types = "public"
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
            configure=self._configure,
            open=False,
            name="mnemic",
        )

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        await self._pool.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; idempotent. Raises InvalidInput (``other_event_loop``)."""
        if self._loop is not None:
            self.require_own_loop()
        await self._pool.close()

    @asynccontextmanager
    async def transaction(
        self,
        actor: Actor,
        *,
        consent: bool = True,
        writes: str | None = None,
        look: Look | None = None,
    ) -> AsyncIterator[Transaction]:
        """Open a transaction in which the database shows and takes only this actor's rows.

        ``writes`` names a scope that nobody else writes to meanwhile; then the audit's place is read ahead,
        and Conflict (``audit_moved``) tells that somebody else took it: nothing was kept, begin again. With
        ``look`` it begins with that statement, which does the same.

        Leaving it normally commits, an exception rolls back. Raises PermissionDenied (``user_erased``) for
        an erased user, ConsentRequired (``consent_required``) for one who refused or has not been asked
        where that is required, unless ``consent`` is False: for what must work without it. Raises
        InvalidInput (``other_event_loop``), and the errors of ``storage.failures``.
        """
        known_actor(actor)
        chain = -1 if writes is None or self.recorder is None else self.recorder.chain(actor)
        if look is None:
            begin = said(beginning.of_actor(self.schema, self._types, actor, writes, chain))
        else:
            path = beginning.path(self.schema, self._types)
            asked = asker(actor) | {"path": path, "chain": chain}
            begin = looked(self.schema, replace(look, params=look.params | asked))
        remember: dict[str, str] = {} if consent else {"remember": "granted"}
        async with self._begun(
            begin,
            lambda conn, row, seen, held: self._opened(conn, actor, row | remember, seen, held),
            actor,
        ) as tx:
            yield tx

    def _opened(
        self,
        conn: AsyncConnection[DictRow],
        actor: Actor,
        row: DictRow,
        seen: Answer | None,
        held: HeldPipeline | None,
    ) -> Transaction:
        known = row["status"] is not None
        self.admit(row["status"], row["remember"])
        if LIFE.get() not in (None, row["key_epoch"]):
            raise PermissionDenied("user_erased", "This user was erased meanwhile.")
        return Transaction(
            conn,
            known,
            row["key_epoch"] if known else 1,
            row["model_id"],
            row["role"],
            row["project_keys"],
            actor,
            self.recorder,
            row["deployment_model_id"],
            row if row.get("seq") is not None else None,
            seen,
            held=held,
        )

    def admit(self, status: str | None, remember: str | None) -> None:
        """Turn away an erased user, and one who does not agree; None stands for a user not seen yet."""
        if status == "erased":
            raise PermissionDenied("user_erased", "This user was erased.")
        if remember == "refused":
            raise ConsentRequired(
                "consent_required", "This user refused to be remembered.", state="refused"
            )
        if remember is None and self.consent_required:
            raise ConsentRequired(
                "consent_required",
                "Ask this user first whether they agree to be remembered, and record the answer.",
                state="unasked",
            )

    async def ask(
        self,
        actor: Actor,
        statement: LiteralString,
        params: Params,
        *,
        consent: bool = True,
    ) -> Answer:
        """Run one statement that reads and says itself who asks, in one round trip.

        It names what it needs as ``{schema}.name``, takes the actor as ``asker...`` and tells the user's
        ``user_status`` and ``remember`` in its first row. Raises as ``transaction`` does.
        """
        named = qualified(statement, self.schema)
        try:
            answer = await self._answer(named, params | asker(known_actor(actor)), _ATTEMPTS)
            if self._sleeps(actor, answer.head["user_status"], answer.head):
                await self._wake(actor)
                answer = await self._answer(named, params | asker(actor), _ATTEMPTS)
        except psycopg.Error as error:
            raise translate(error) from error
        self.admit(answer.head["user_status"], answer.head["remember"] if consent else "granted")
        return answer

    async def ask_for_many(self, statement: LiteralString, params: Params) -> list[DictRow]:
        """Run one statement that writes for several actors and says itself who they are; return its rows.

        It has a single attempt: whether it did its work when its connection was lost, nobody knows. ``meet``
        takes a row of it. Raises the errors of ``storage.failures``.
        """
        try:
            answer = await self._answer(qualified(statement, self.schema), params, 1)
        except psycopg.Error as error:
            raise translate(error) from error
        return answer.all

    def meet(self, actor: Actor, row: DictRow) -> bool:
        """Return whether an actor is awake whom a statement for many has met; raises as ``admit``."""
        if self._sleeps(actor, row["user_status"], row):
            return False
        self.admit(row["user_status"], row["remember"])
        return True

    @asynccontextmanager
    async def system(self) -> AsyncIterator[Transaction]:
        """Open a transaction of nobody: it sees the tables without personal data, and no row of others."""
        async with self.scopes(()) as tx:
            yield tx

    @asynccontextmanager
    async def scopes(self, scope_keys: Sequence[str]) -> AsyncIterator[Transaction]:
        """Open a transaction on the own scopes of several users, for what is written of all at once."""
        begin = said(beginning.of_scopes(self.schema, self._types, scope_keys))
        async with self._begun(begin, lambda conn, *_: Transaction(conn, False, 1)) as tx:
            yield tx

    @asynccontextmanager
    async def _begun(
        self,
        begin: Begin,
        opened: Callable[
            [AsyncConnection[DictRow], DictRow, Answer | None, HeldPipeline | None], Transaction
        ],
        actor: Actor | None = None,
    ) -> AsyncIterator[Transaction]:
        try:
            conn, row, seen, held = await self._begin(begin)
            if actor is not None and self._sleeps(actor, row["status"], row):
                try:
                    await roll_back(conn, held)
                finally:
                    await self._give_back(conn)  # to wake needs one too
                await self._wake(actor)
                conn, row, seen, held = await self._begin(begin)
            try:
                tx = opened(conn, row, seen, held)
                yield tx
                await commit(tx)
            except BaseException:
                await roll_back(conn, held)
                raise
            finally:
                await self._give_back(conn)
        except psycopg.Error as error:
            raise translate(error) from error

    def _sleeps(self, actor: Actor, status: str | None, row: DictRow) -> bool:
        """Note that a user is here, and tell whether they are to be woken first; a job disturbs nobody."""
        if status is None or status == "erased" or actor.purpose == "job":
            return False
        if self.noticed is not None and row["remember"] != "refused":
            self.noticed(actor.user_scope)
        return status == "dormant" and self.waker is not None and row["remember"] != "refused"

    async def _wake(self, actor: Actor) -> None:
        assert self.waker is not None
        await self.waker(actor)

    async def _begin(self, begin: Begin) -> tuple[AsyncConnection[DictRow], *Begun]:
        """Take a connection that answers: one that died in the pool is dropped and the next one tried."""
        for attempt in range(_ATTEMPTS):
            conn = await self._take()
            try:
                return conn, *await begin(conn)
            except BaseException as error:
                lost = isinstance(error, psycopg.OperationalError) and conn.closed
                try:
                    await roll_back(conn)
                finally:
                    await self._give_back(conn)
                if not lost or attempt == _ATTEMPTS - 1:
                    raise
            await self._recover()
        raise AssertionError("unreachable")

    async def _answer(self, statement: bytes, params: Params, attempts: int) -> Answer:
        """Run a statement in a transaction of its own, on a connection that answers."""
        for attempt in range(attempts):
            conn = await self._take()
            try:
                return await read(conn, statement, params)
            except BaseException as error:
                lost = isinstance(error, psycopg.OperationalError) and conn.closed
                await roll_back(conn)
                if not lost or attempt == attempts - 1:
                    raise
            finally:
                await self._give_back(conn)
            await self._recover()
        raise AssertionError("unreachable")

    async def _take(self) -> AsyncConnection[DictRow]:
        self.require_own_loop()
        try:
            conn = await self._pool.getconn()
        except PoolTimeout as error:
            if self._busy:
                raise
            # nobody holds one, so there is none: the server is away, not busy
            if self._revive is not None:
                await self._recover()
            raise StorageUnavailable("database_unreachable", NO_ANSWER) from error
        self._busy += 1
        return conn

    async def _recover(self) -> None:
        """After a lost connection: start the server if it is ours, drop what died with it, as a rule all."""
        if self._revive is not None:
            await asyncio.to_thread(self._revive)
        await self._pool.check()

    async def _give_back(self, conn: AsyncConnection[DictRow]) -> None:
        """Return a connection; a caller that is cancelled meanwhile must not take it along."""
        self._busy -= 1
        if conn.pgconn.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
            await (
                conn.close()
            )  # it could not be rolled back, and the pool would try again, with a timer
        await finish(self._pool.putconn(conn), self._returning)

    async def _configure(self, conn: AsyncConnection[DictRow]) -> None:
        self._types = await learn(conn)

    def require_own_loop(self) -> None:
        """Raise InvalidInput (``service_not_open``, ``other_event_loop``) for whoever must not use this."""
        if self._loop is None:
            raise InvalidInput("service_not_open", "Open the database first: async with.")
        if asyncio.get_running_loop() is not self._loop:
            raise InvalidInput(
                "other_event_loop",
                "This service belongs to the event loop that opened it: open one in each loop, or use"
                " SyncMemoryService from threads.",
            )


async def learn(conn: AsyncConnection[Any]) -> str:
    """Teach one connection pgvector's types, wherever they live; return the schema they live in.

    A connection whose session is not its own, for a pooler lends it one, prepares no statements from then
    on: the next session would not know them, or know others by their names. Raises ConfigurationError
    (``pgvector_missing``) when the extension is not there or this login may not use its schema.
    """
    async with conn.cursor(row_factory=tuple_row) as cursor:
        row = await (await cursor.execute(_SERVER, prepare=False)).fetchone()
    assert row is not None
    session, schema, usable, login, seen = row
    if session != conn.info.backend_pid:
        conn.prepare_threshold = None
    if schema is not None and not usable:
        raise unusable(schema, login)
    if schema is None or seen:
        await halfvec.register(conn)
        return schema or "public"
    async with conn.transaction():
        await conn.execute(sql.SQL("set local search_path = {}").format(sql.Identifier(schema)))
        await halfvec.register(conn)
    return str(schema)
