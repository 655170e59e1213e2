"""How much of a body is read, and how long is it waited for?

A body that says that it is too large is refused before a byte of it is read; one that does not say, as soon
as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import Request

from mnemic.errors import InvalidInput


async def read_whole(request: Request, limit: int, patience: float) -> bytes:
    """Return the body, at most ``limit`` bytes, that arrives within ``patience`` seconds.

    Raises InvalidInput (``body_too_large``, ``body_too_slow``).
    """
    return b"".join([block async for block in limited(request, limit, patience)])


async def limited(request: Request, limit: int, patience: float) -> AsyncIterator[bytes]:
    """Yield a body's blocks as they come, within ``patience`` seconds from the first that is asked for.

    Raises InvalidInput (``body_too_large``, ``body_too_slow``).
    """
    if (declared(request) or 0) > limit:
        raise _too_large(limit)
    blocks, until = aiter(request.stream()), asyncio.get_running_loop().time() + patience
    size = 0
    while True:
        try:
            async with asyncio.timeout_at(until):
                block = await anext(blocks, None)
        except TimeoutError:
            raise _too_slow(patience) from None
        if block is None:
            return
        size += len(block)
        if size > limit:
            raise _too_large(limit)
        if block:
            yield block


def declared(request: Request) -> int | None:
    """Return how many bytes the body says that it has; None when it does not."""
    value = request.headers.get("content-length", "")
    digits = value.isascii() and value.isdigit()
    return int(value[:19]) if digits else None  # with more of them it is too large anyway


def _too_slow(patience: float) -> InvalidInput:
    return InvalidInput(
        "body_too_slow", f"The body did not arrive within {patience:g} s.", seconds=patience
    )


def _too_large(limit: int) -> InvalidInput:
    return InvalidInput("body_too_large", f"The body holds at most {limit:,} bytes.", limit=limit)
