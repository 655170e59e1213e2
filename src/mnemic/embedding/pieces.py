"""What goes to a model in one piece? The texts of all who wait for it, up to a bound.

A model bound by the processor computes one piece at a time, in a thread of its own. Eight short texts in one
piece take half the time of eight pieces, so whoever comes while it computes is served with the next piece,
and a piece waits for some turns of the event loop: a tenth of a millisecond where nothing else happens, and
where much does, long enough for others to come along. A vector differs by less than 1e-6 with its company.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from mnemic.model import Vector

Compute = Callable[[list[str]], list[Vector]]
SHARED_TEXTS, SHARED_CHARS = 16, 2_000
"""Texts and characters that calls of several tasks may fill a piece with."""
_TURNS = 8
"""Turns of the event loop for which a piece waits for company."""


@dataclass(frozen=True, slots=True)
class _Call:
    texts: list[str]
    answer: Future[list[Vector]] = field(default_factory=Future)

    @property
    def chars(self) -> int:
        return sum(map(len, self.texts))


class Pieces:
    """Serves any number of tasks and event loops of one process with one thread."""

    def __init__(self, compute: Compute) -> None:
        """``compute`` runs in the thread; it returns one vector a text, in order."""
        self._compute = compute
        self._waiting: deque[_Call] = deque()
        self._worker: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self._called = False

    async def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector a text. Raises what computing them raises."""
        call = _Call(list(texts))
        self._waiting.append(call)
        self._begin(asyncio.get_running_loop(), _TURNS)
        return await asyncio.wrap_future(call.answer)

    def close(self) -> None:
        """Let the thread end after what waits for it; the next call starts a new one."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.shutdown(wait=False)

    def _begin(self, loop: asyncio.AbstractEventLoop, turns: int) -> None:
        """Let the thread take what waits, soon; unless somebody else has done so, or is going to."""
        thread = self._thread()
        if self._called or not self._waiting:
            return
        if turns and len(self._waiting) < SHARED_TEXTS:
            # every call counts for itself: the loop of another one may have ended
            loop.call_soon(self._begin, loop, turns - 1)
            return
        self._called = True
        thread.submit(self._serve)

    def _thread(self) -> ThreadPoolExecutor:
        if self._worker is None or self._process != os.getpid():
            if (
                self._process != os.getpid()
            ):  # a forked child has the calls, but not who waits for them
                self._process = os.getpid()
                self._waiting = deque(list(self._waiting)[-1:])
                self._called = False
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="mnemic-encoder")
        return self._worker

    def _serve(self) -> None:
        """Compute until nobody waits; in the thread. Who comes from now on is seen, or calls it again."""
        self._called = False
        while calls := self._taken():
            self._answer(calls)

    def _answer(self, calls: list[_Call]) -> None:
        try:
            vectors = self._compute([text for call in calls for text in call.texts])
            parts = iter(vectors)
            # a model that gives too few must not leave anybody waiting
            answers = [[vector for _, vector in zip(c.texts, parts, strict=False)] for c in calls]
        except Exception as error:  # noqa: BLE001 - it is raised where the calls are awaited
            for call in calls:
                call.answer.set_exception(error)
            return
        for call, answer in zip(calls, answers, strict=True):
            call.answer.set_result(answer)

    def _taken(self) -> list[_Call]:
        """Return the calls that come first and fit into a piece, but for those that nobody waits for."""
        calls: list[_Call] = []
        texts = chars = 0
        while self._waiting:
            call = self._waiting[0]
            texts, chars = texts + len(call.texts), chars + call.chars
            if calls and (texts > SHARED_TEXTS or chars > SHARED_CHARS):
                break
            self._waiting.popleft()
            if call.answer.set_running_or_notify_cancel():
                calls.append(call)
            else:
                texts, chars = texts - len(call.texts), chars - call.chars
        return calls
