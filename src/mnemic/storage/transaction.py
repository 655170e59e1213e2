"""What can be done inside an open transaction, and what is told of it before it commits?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, LiteralString, Protocol

from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import DictRow

from mnemic.model import Actor, ProjectRole
from mnemic.storage.answer import Answer
from mnemic.storage.held import HeldPipeline

Params = dict[str, Any]

ON_WRITE: ContextVar[Callable[[Transaction, object], Awaitable[None]] | None] = ContextVar(
    "mnemic_on_write", default=None
)
"""What a caller wants done with the answer of a write, inside the write's own transaction."""
LIFE: ContextVar[int | None] = ContextVar("mnemic_life", default=None)


@contextmanager
def of_one_life(key_epoch: int) -> Iterator[None]:
    """Let transactions in here fail once their user was erased, whoever has come under that id since.

    For work that reads in one transaction and writes what came of it in another. ``key_epoch`` is that of
    the reading one.
    """
    token = LIFE.set(key_epoch)
    try:
        yield
    finally:
        LIFE.reset(token)


@dataclass(frozen=True, slots=True)
class Deed:
    """What is done to what: a code such as ``delete_memory``, an id, and the states before and after.

    Of the states (whatever JSON can hold) only a keyed hash is kept.
    """

    action: str
    target: object = None
    before: object = None
    after: object = None


class Recorder(Protocol):
    """Writes deeds into the audit, inside the transaction that they are done in."""

    def chain(self, actor: Actor) -> int:
        """Return in which chain the deeds of the actor's user stand."""

    async def record_all(self, tx: Transaction, actor: Actor, deeds: Sequence[Deed]) -> None:
        """Write deeds; comes last in a transaction."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """An open transaction of one actor: statements in, rows as dictionaries out.

    ``model_id`` is the embedding model of its user's vectors when the transaction began,
    ``deployment_model_id`` that of all projects; ``role`` is the user's role in the actor's project, None for
    no member; ``project_keys`` changes with that project's keys. ``audit`` is where the audit's next entry
    goes, where that was read ahead; who counts on it commits only if nobody wrote one meanwhile. ``seen`` is
    what the look told that it began with, if it did, and ``held`` the pipeline that it then is. ``keyed`` are
    the scopes that got a key in it: nobody may count on such a key before the commit.
    """

    conn: AsyncConnection[DictRow]
    known_user: bool
    key_epoch: int
    model_id: int | None = None
    role: ProjectRole | None = None
    project_keys: str | None = None
    actor: Actor | None = None
    recorder: Recorder | None = None
    deployment_model_id: int | None = None
    audit: DictRow | None = None
    seen: Answer | None = None
    waiting: list[tuple[LiteralString, Params]] = field(default_factory=list)
    keyed: set[str] = field(default_factory=set)
    held: HeldPipeline | None = None

    async def all(self, statement: LiteralString, params: Params | None = None) -> list[DictRow]:
        """Run a statement and return its rows."""
        return await (await self._done(statement, params)).fetchall()

    async def one(self, statement: LiteralString, params: Params | None = None) -> DictRow | None:
        """Run a statement and return its first row, if any."""
        return await (await self._done(statement, params)).fetchone()

    async def run(self, statement: LiteralString, params: Params | None = None) -> int:
        """Run a statement and return the number of rows that it touched."""
        return (await self._done(statement, params)).rowcount

    async def many(self, statement: LiteralString, params: list[Params]) -> None:
        """Run a statement once a parameter set, in one batch."""
        await self.flush()
        async with self.conn.cursor() as cursor:
            await cursor.executemany(statement, params)

    def later(self, statement: LiteralString, params: Params) -> None:
        """Run a statement whose outcome nobody reads with what comes next: the commit, or a statement.

        It saves a round trip. An error of it shows there.
        """
        self.waiting.append((statement, params))

    async def hasten(self) -> None:
        """Send what waits where nobody has to wait for it: the database is at it while we go on."""
        if self.held is not None and self.held.is_open:
            await self.send()

    async def flush(self) -> None:
        """Run what waits, in one round trip."""
        if self.held is not None and self.held.is_open:
            async with self.held.settled():
                await self.send()
        elif self.waiting:
            async with self.conn.pipeline():
                await self.send()

    async def send(self) -> None:
        """Send what waits into the pipeline that is open."""
        waiting = self.waiting[:]
        self.waiting.clear()
        for statement, params in waiting:
            await self.conn.execute(statement, params)

    async def _done(self, statement: LiteralString, params: Params | None) -> AsyncCursor[DictRow]:
        if self.held is not None and self.held.is_open:
            async with self.held.settled():
                await self.send()
                return await self.conn.execute(statement, params)
        await self.flush()
        return await self.conn.execute(statement, params)

    async def answer(self, result: object, *deeds: Deed) -> None:
        """Record what was done, and tell who waits for this write what it is going to answer.

        Comes last in a transaction, while nothing is committed yet.
        """
        if deeds and self.recorder is not None and self.actor is not None:
            await self.recorder.record_all(self, self.actor, deeds)
        waiting = ON_WRITE.get()
        if waiting is not None:
            await waiting(self, result)
