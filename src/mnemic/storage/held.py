"""How does a transaction do without BEGIN and COMMIT?

Between two syncs of a pipeline PostgreSQL keeps all statements in one transaction and commits it with the
second. Held open, a pipeline is a transaction that costs no statement to begin and none to end.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection


class HeldPipeline:
    """A pipeline that is a transaction. Who leaves it commits, so after an error it is ``settled`` first."""

    def __init__(self, conn: AsyncConnection[Any]) -> None:
        self._conn = conn
        self._stack = AsyncExitStack()
        self.is_open = False

    async def open(self) -> None:
        """Begin."""
        await self._stack.enter_async_context(self._conn.pipeline())
        self.is_open = True

    async def commit(self) -> None:
        """Commit what was done; raises the error of a statement whose outcome nobody has read yet."""
        await self._leave()

    @asynccontextmanager
    async def settled(self) -> AsyncIterator[None]:
        """Leave the pipeline, with what is sent in here, and stay in the transaction: BEGIN takes it over."""
        try:
            await self._conn.execute("begin", prepare=False)
            yield
        finally:
            await self._leave()

    async def _leave(self) -> None:
        self.is_open = False
        try:
            await self._stack.aclose()
        except psycopg.OperationalError as error:
            # where the sync itself fails, the driver cannot leave either; the pool closes the connection
            if isinstance(error.__context__, psycopg.Error):
                raise error.__context__ from None
            raise
        except IndexError as error:
            # the answer to a sync that failed came so soon that the driver had no place for it
            raise psycopg.DatabaseError("the commit failed") from error
