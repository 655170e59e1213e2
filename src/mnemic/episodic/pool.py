"""On which connections do checkpoints travel? On a pool of their own, opened at the first call.

An agent's many small writes must not starve searches, nor searches an agent. The login, the schema and the
checks of a transaction are those of the main pool.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from mnemic.deployment import Deployment
from mnemic.errors import StorageUnavailable
from mnemic.model import Actor
from mnemic.settings import Settings
from mnemic.storage.embedded import Joined
from mnemic.storage.pool import Database, Transaction


class Pool:
    """The pool of checkpoints. Belongs to the event loop that it is first used in."""

    def __init__(self, make: Callable[[], Database]) -> None:
        self._make = make
        self._database: Database | None = None
        self._opening: asyncio.Lock | None = None
        self._closed = False

    @classmethod
    def of(cls, deployment: Deployment, settings: Settings) -> Pool:
        """Return a pool beside that of a deployment, as its service login."""

        def make() -> Database:
            joined = deployment.joined
            database = Database(
                _address(joined, settings),
                schema=settings.db_schema,
                size=settings.pool_size,
                timeout=settings.pool_timeout,
                prepare=settings.prepare == "on",
                consent_required=settings.consent == "required",
                revive=joined.revive if joined else None,
            )
            database.recorder = deployment.database.recorder
            database.noticed, database.waker = (
                deployment.database.noticed,
                deployment.database.waker,
            )
            return database

        return cls(make)

    @asynccontextmanager
    async def transaction(self, actor: Actor) -> AsyncIterator[Transaction]:
        """Open a transaction of an actor; see ``Database.transaction``."""
        async with (await self._opened()).transaction(actor) as tx:
            yield tx

    @asynccontextmanager
    async def system(self) -> AsyncIterator[Transaction]:
        """Open a transaction of nobody; see ``Database.system``."""
        async with (await self._opened()).system() as tx:
            yield tx

    async def aclose(self) -> None:
        """Close all connections; idempotent."""
        self._closed = True
        database, self._database = self._database, None
        if database is not None:
            await database.close()

    async def _opened(self) -> Database:
        if self._closed:
            raise StorageUnavailable(
                "service_closed", "This memory service is closed; open a new one."
            )
        if self._database is None:
            if self._opening is None:
                self._opening = asyncio.Lock()
            async with self._opening:
                if self._database is None:
                    self._database = await self._make().__aenter__()
        return self._database


def _address(joined: Joined | None, settings: Settings) -> str:
    """Return where the service login connects to: the server that is set, else the one that we started."""
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    assert joined is not None, "where no server is set, there is one of our own"
    return joined.url("service")
