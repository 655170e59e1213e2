"""How does a piece of work get to its end although its caller is cancelled?"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any


async def finish(work: Coroutine[Any, Any, None], going: set[asyncio.Task[None]]) -> None:
    """Do ``work`` to its end; a caller that is cancelled meanwhile leaves it in ``going``.

    It becomes a task only once it has to wait: nobody can be cancelled before that, and a task costs more
    than most such work does. What it waits for first must not depend on which task it is in.
    """
    try:
        awaited = work.send(None)
    except StopIteration:
        return
    rest = asyncio.ensure_future(_resumed(work, awaited))
    going.add(rest)
    rest.add_done_callback(going.discard)
    await asyncio.shield(rest)


@coroutine
def _resumed(work: Coroutine[Any, Any, None], awaited: Any) -> Generator[Any, Any, None]:
    """Go on with work that has begun to wait."""
    try:
        while True:
            try:
                answer = yield awaited
            except BaseException as error:  # noqa: BLE001 - the work says what comes of it
                awaited = work.throw(error)
            else:
                awaited = work.send(answer)
    except StopIteration:
        return
