"""How is Redis asked by many at once, and what happens while it is away?

Calls that come together go out together, as one pipeline. A call never waits longer than twice the timeout.
After a lost connection a batch is repeated once; when that fails too, Redis counts as away: calls fail at
once (``RedisAway``) and a task in the background asks until it is there again. Every call must therefore be
safe to repeat. ``epoch`` changes whenever Redis was away, a connection was lost, or another run of a server
answers: what Redis held before may be gone.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from mnemic.errors import MnemicError
from mnemic.storage.redis_client import Client, Command, connect, failures
from mnemic.storage.redis_url import Target

_MOST_OWED = 10_000
_logger = logging.getLogger(__name__)


class RedisAway(Exception):
    """Redis did not do it; whoever asked does without."""


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script on one key. It may be repeated."""

    sha: str
    text: str = field(repr=False)


@dataclass(slots=True, eq=False)
class _Call:
    script: Script
    arguments: tuple[Any, ...]
    answer: asyncio.Future[Any]


class Calls:
    """The connections of one process to Redis; they belong to the event loop that uses them."""

    def __init__(
        self,
        target: Target,
        *,
        connections: int = 4,
        timeout: float = 0.25,
        pause: float = 1.0,
        revive: Callable[[], None] | None = None,
    ) -> None:
        """``timeout`` (seconds) is for a batch, its repetition included; ``pause`` lies between two attempts
        while Redis is away. ``revive`` starts a server that is ours to start; it runs in a thread."""
        self.epoch = 0
        self.away = False
        self._client: Client = connect(
            target, connections=connections, timeout=timeout, on_connect=self._connected
        )
        self._connections, self._timeout, self._pause = connections, timeout, pause
        self._revive = revive
        self._runs: dict[str, str] = {}
        self._told: set[str] = set()
        self._waiting: deque[_Call] = deque()
        self._lanes = 0
        self._owed: set[bytes] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._mending = False

    async def run(self, script: Script, key: bytes, *arguments: Any) -> Any:
        """Run a script on one key and return its answer. Raises RedisAway."""
        if self.away:
            raise RedisAway
        call = _Call(script, (1, key, *arguments), asyncio.get_running_loop().create_future())
        self._waiting.append(call)
        if self._lanes < self._connections:
            self._lanes += 1
            self._spawn(self._lane())
        return await call.answer

    def owe(self, key: bytes) -> None:
        """See to it that a key is removed as soon as Redis answers."""
        if len(self._owed) < _MOST_OWED:
            self._owed.add(key)
        self._mend()

    async def close(self) -> None:
        """Remove what is owed, let what is under way end in failure, close all connections; idempotent."""
        if self._owed and not self.away:
            await self._recovered()
        self.away = self._mending = True
        self._fail(self._waiting)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.aclose()

    async def _lane(self) -> None:
        """Send batch after batch until nothing waits."""
        try:
            while self._waiting:
                count = min(len(self._waiting), self._client.most)
                await self._send([self._waiting.popleft() for _ in range(count)])
        finally:
            self._lanes -= 1

    async def _send(self, batch: Sequence[_Call]) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                answers = await self._answers(batch)
        except failures() as error:
            self._lose(error)
            self._fail([*batch, *self._waiting])
            self._waiting.clear()
            return
        except BaseException:
            self._fail(batch)
            raise
        for call, answer in zip(batch, answers, strict=True):
            if not isinstance(answer, Exception):
                if not call.answer.done():
                    call.answer.set_result(answer)
                continue
            self._fail([call])
            if _lost(answer):
                self._lose(answer)
            else:
                self._refused(type(answer).__name__)

    async def _answers(self, batch: Sequence[_Call]) -> list[Any]:
        """Run a batch; what a server has no script for goes out again with its text."""
        from redis.exceptions import NoScriptError

        answers = await self._repeated(
            [("EVALSHA", call.script.sha, *call.arguments) for call in batch]
        )
        unknown = [n for n, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
        if unknown:
            again = [("EVAL", batch[n].script.text, *batch[n].arguments) for n in unknown]
            for n, answer in zip(unknown, await self._repeated(again), strict=True):
                answers[n] = answer
        return answers

    async def _repeated(self, commands: Sequence[Command]) -> list[Any]:
        """Send, and once more when a connection that lay idle turns out to be dead."""
        from redis.exceptions import ConnectionError as Lost

        try:
            answers = await self._client.send(commands)
        except Lost:
            self.epoch += 1
            return await self._client.send(commands)
        dead = [n for n, answer in enumerate(answers) if isinstance(answer, Lost)]
        if dead:
            self.epoch += 1
            again = await self._client.send([commands[n] for n in dead])
            for n, answer in zip(dead, again, strict=True):
                answers[n] = answer
        return answers

    def _fail(self, calls: Sequence[_Call] | deque[_Call]) -> None:
        for call in calls:
            if not call.answer.done():
                call.answer.set_exception(RedisAway())

    def _lose(self, error: BaseException) -> None:
        self.epoch += 1
        if not self.away:
            _logger.warning("redis is away: error=%s", type(error).__name__)
        self.away = True
        self._mend()

    def _refused(self, error: str) -> None:
        """Say once what a server refuses: it goes on doing so at every call."""
        if error not in self._told:
            self._told.add(error)
            _logger.warning("redis refused a script: error=%s", error)

    def _connected(self, node: str, run: str | None) -> None:
        """A pool that grows is no reason for doubt; another server, or one that was started again, is."""
        if run is None or self._runs.get(node) != run:
            self.epoch += 1
        if run is not None:
            self._runs[node] = run

    def _mend(self) -> None:
        if not self._mending:
            self._mending = True
            self._spawn(self._mended())

    async def _mended(self) -> None:
        """Wait until Redis answers, and remove what is owed before anybody reads it again."""
        wait = 0.0 if self._revive is not None and self.away else self._pause
        try:
            while self.away or self._owed:
                await asyncio.sleep(wait)
                wait = self._pause
                if await self._recovered():
                    if self.away:
                        _logger.info("redis is back")
                    self.away = False
        finally:
            self._mending = False

    async def _recovered(self) -> bool:
        try:
            if self.away and self._revive is not None:
                await asyncio.to_thread(self._revive)
            async with asyncio.timeout(8 * self._timeout):
                await self._client.ping()
                await self._pay()
        except failures():
            return False
        except MnemicError as error:
            _logger.warning("redis cannot be started: code=%s", error.code)
            return False
        self.epoch += 1
        return True

    async def _pay(self) -> None:
        while self._owed:
            keys = list(self._owed)[: self._client.most]
            for key, answer in zip(
                keys, await self._client.send([("UNLINK", key) for key in keys]), strict=True
            ):
                if isinstance(answer, Exception):
                    raise answer
                self._owed.discard(key)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _lost(error: BaseException) -> bool:
    """Whether an answer means that the server, or its place in a cluster, is gone for now."""
    from redis import exceptions as redis

    gone = (
        *(redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError, redis.ClusterError),
        *(redis.RedisClusterException, redis.MasterDownError, OSError),
    )
    return isinstance(error, gone)
