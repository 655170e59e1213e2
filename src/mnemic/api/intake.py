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
    try:
        async with asyncio.timeout(patience):
            return b"".join([block async for block in limited(request, limit)])
    except TimeoutError:
        raise InvalidInput(
            "body_too_slow", f"The body did not arrive within {patience:g} s.", seconds=patience
        ) from None


async def limited(request: Request, limit: int) -> AsyncIterator[bytes]:
    """Yield a body's blocks as they come. Raises InvalidInput (``body_too_large``)."""
    declared = _declared(request)
    if declared is not None and declared > limit:
        raise _too_large(limit)
    size = 0
    async for block in request.stream():
        size += len(block)
        if size > limit:
            raise _too_large(limit)
        if block:
            yield block


def _declared(request: Request) -> int | None:
    value = request.headers.get("content-length", "")
    return int(value) if value.isascii() and value.isdigit() else None


def _too_large(limit: int) -> InvalidInput:
    return InvalidInput("body_too_large", f"The body holds at most {limit:,} bytes.", limit=limit)
