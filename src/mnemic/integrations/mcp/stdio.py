"""How is a memory served to the one client that started us? On standard input and output.

The server answers while the memory is still being opened; whatever needs it waits. Nothing but protocol goes
to standard output.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from mnemic.errors import MnemicError
from mnemic.integrations.mcp.door import Memory, fixed
from mnemic.integrations.mcp.server import make_server
from mnemic.model import Actor
from mnemic.service import MemoryService


async def serve_stdio(opening: AbstractAsyncContextManager[MemoryService], actor: Actor) -> None:
    """Serve until the client closes our input. What stops the memory from opening is told to each call."""
    async with _opened(opening) as memory:
        await make_server(fixed(memory, actor)).run_stdio_async()


@asynccontextmanager
async def _opened(
    opening: AbstractAsyncContextManager[MemoryService],
) -> AsyncIterator[Memory]:
    """Open a memory in a task of its own, which closes it at the end; yield what waits for it."""
    ready: asyncio.Future[MemoryService] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def hold() -> None:
        try:
            async with opening as memory:
                ready.set_result(memory)
                await done.wait()
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)

    async def memory() -> MemoryService:
        return await asyncio.shield(ready)

    holding = asyncio.create_task(hold())
    try:
        yield memory
    finally:
        done.set()
        await holding
        error = ready.exception() if ready.done() and not ready.cancelled() else None
        if error is not None and not isinstance(error, MnemicError):
            raise error
