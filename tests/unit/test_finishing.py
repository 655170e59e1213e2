"""Does work end although its caller is cancelled, and does it cost a task only where it waits?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mnemic.storage.finishing import finish

Going = set[asyncio.Task[None]]


class Work:
    """Takes a lock, as the return of a connection does, and notes how far it came."""

    def __init__(self, failure: BaseException | None = None, pauses: int = 0) -> None:
        self.lock = asyncio.Lock()
        self.failure = failure
        self.pauses = pauses
        self.steps: list[str] = []

    async def done(self) -> None:
        self.steps.append("begun")
        async with self.lock:
            for _ in range(self.pauses):
                await asyncio.sleep(0)
            if self.failure is not None:
                raise self.failure
            self.steps.append("ended")


@asynccontextmanager
async def held_up(work: Work, going: Going) -> AsyncIterator[asyncio.Task[None]]:
    """Have somebody wait for work that cannot go on before we leave."""
    async with work.lock:
        caller = asyncio.create_task(finish(work.done(), going))
        await asyncio.sleep(0)
        assert going
        yield caller


async def test_what_waits_for_nothing_makes_no_task() -> None:
    work, going = Work(), Going()
    with pytest.raises(StopIteration):
        finish(work.done(), going).send(None)  # by hand, where a task could not even begin
    assert (work.steps, going) == (["begun", "ended"], set())


@pytest.mark.parametrize("pauses", [0, 1, 3])
async def test_what_waits_is_waited_for(pauses: int) -> None:
    work, going = Work(pauses=pauses), Going()
    async with held_up(work, going) as caller:
        assert work.steps == ["begun"]
    await caller
    assert (work.steps, going, work.lock.locked()) == (["begun", "ended"], set(), False)


@pytest.mark.parametrize("pauses", [0, 3])
@pytest.mark.parametrize("times", [1, 2])
async def test_a_cancelled_caller_leaves_the_work_going(times: int, pauses: int) -> None:
    work, going = Work(pauses=pauses), Going()
    async with held_up(work, going) as caller:
        for _ in range(times):
            caller.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await caller
        (rest,) = going
    await rest
    assert (work.steps, going, work.lock.locked()) == (["begun", "ended"], set(), False)


async def test_who_was_cancelled_before_still_does_what_waits_for_nothing() -> None:
    work, going = Work(), Going()

    async def caller() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await finish(work.done(), going)

    running = asyncio.create_task(caller())
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (work.steps, going) == (["begun", "ended"], set())


async def test_what_fails_at_once_tells_its_caller() -> None:
    work, going = Work(failure=RuntimeError("no")), Going()
    with pytest.raises(RuntimeError, match="no"):
        await finish(work.done(), going)
    assert (work.steps, going, work.lock.locked()) == (["begun"], set(), False)


async def test_what_fails_after_waiting_tells_its_caller() -> None:
    work, going = Work(failure=RuntimeError("no"), pauses=1), Going()
    async with held_up(work, going) as caller:
        pass
    with pytest.raises(RuntimeError, match="no"):
        await caller
    assert (work.steps, going, work.lock.locked()) == (["begun"], set(), False)


async def test_work_that_is_itself_cancelled_cleans_up() -> None:
    work, going = Work(), Going()
    async with held_up(work, going) as caller:
        await asyncio.sleep(0)
        (rest,) = going
        rest.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
    async with asyncio.timeout(1):
        await work.lock.acquire()
    assert work.steps == ["begun"]
