"""What goes out together? The calls that wait at the same moment, up to a bound.

Nobody waits for company: a call that comes alone goes at once. While as many batches are under way as there
are lanes, the calls that come gather for the next one. Many that wait while several lanes are free are shared
out among them, so that the other side and this one work at the same time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Generic, TypeVar

A = TypeVar("A")
B = TypeVar("B")
FEW = 4
"""So many calls are not worth two batches."""
LONGEST = 5.0
"""Seconds for which a cancelled call that is under way is waited for."""


@dataclass(slots=True, eq=False)
class _Call(Generic[A, B]):
    what: A
    size: int
    answer: asyncio.Future[B]
    trip: asyncio.Future[None] | None = None
    """Ends with the batch that the call went out with."""


class Gathered(Generic[A, B]):
    """Serves the tasks of one event loop."""

    def __init__(
        self,
        send: Callable[[Sequence[A]], Awaitable[Sequence[B]]],
        *,
        lanes: int,
        most: int,
        size: int,
    ) -> None:
        """``send`` takes a batch and returns one answer a call, in order; what it raises, each call raises.

        ``lanes`` batches are under way at once at most, each of at most ``most`` calls that together have at
        most ``size``; a call that has more goes alone.
        """
        self._send = send
        self._bounds = lanes, most, size
        self._waiting: deque[_Call[A, B]] = deque()
        self._under_way = 0
        self._lanes: set[asyncio.Task[None] | None] = set()

    async def run(self, what: A, size: int) -> B:
        """Return the answer to a call.

        Whoever is cancelled before it went out takes it along. Later it is done, or not, before they hear of
        the cancellation, unless that takes longer than ``LONGEST``, or they are cancelled once more.
        """
        loop = asyncio.get_running_loop()
        call: _Call[A, B] = _Call(what, size, loop.create_future())
        self._waiting.append(call)
        if len(self._lanes) < self._bounds[0]:
            lane = loop.create_task(self._lane())
            self._lanes.add(lane)
            lane.add_done_callback(self._lanes.discard)
        try:
            return await call.answer
        except asyncio.CancelledError:
            if call.trip is not None:
                await asyncio.wait([call.trip], timeout=LONGEST)
            raise

    async def _lane(self) -> None:
        """Send batch after batch until nothing waits."""
        try:
            while calls := self._taken():
                await self._served(calls)
        finally:  # at once: who comes next must find that this lane is free
            self._lanes.discard(asyncio.current_task())

    async def _served(self, calls: Sequence[_Call[A, B]]) -> None:
        self._under_way += 1
        trip = asyncio.get_running_loop().create_future()
        for call in calls:
            call.trip = trip
        try:
            answers = await self._send([call.what for call in calls])
            answered = list(zip(calls, answers, strict=True))
        except asyncio.CancelledError:
            for call in calls:
                call.answer.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - it is raised where the calls are awaited
            for call in calls:
                if not call.answer.done():
                    call.answer.set_exception(error)
            return
        finally:
            self._under_way -= 1
            trip.set_result(None)
        for call, answer in answered:
            if not call.answer.done():
                call.answer.set_result(answer)

    def _taken(self) -> list[_Call[A, B]]:
        """Return the calls that come first and fit into a batch, but for those that nobody waits for."""
        lanes, most, room = self._bounds
        most = min(most, max(FEW, ceil(len(self._waiting) / (lanes - self._under_way))))
        calls: list[_Call[A, B]] = []
        while self._waiting and len(calls) < most:
            call = self._waiting[0]
            if calls and call.size > room:
                break
            self._waiting.popleft()
            if not call.answer.done():
                calls.append(call)
                room -= call.size
        return calls
