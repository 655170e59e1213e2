"""Do calls that wait at once go out together, without anybody waiting for company or for another's fault?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from mnemic.storage.gathered import FEW, Gathered


class Post:
    """Doubles numbers; a batch is on its way until it is let through."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.open = asyncio.Event()
        self.fails: Exception | None = None
        self.keeps = 0

    async def send(self, batch: Sequence[int]) -> Sequence[int]:
        self.batches.append(list(batch))
        await self.open.wait()
        if self.fails is not None:
            raise self.fails
        return [2 * number for number in batch[self.keeps :]]


@pytest.fixture
async def post() -> Post:
    return Post()


async def turn() -> None:
    """Let everything run that can."""
    for _ in range(5):
        await asyncio.sleep(0)


def gathered(post: Post, *, lanes: int = 1, most: int = 100, size: int = 100) -> Gathered[int, int]:
    return Gathered(post.send, lanes=lanes, most=most, size=size)


async def test_a_call_that_comes_alone_goes_at_once(post: Post) -> None:
    post.open.set()
    assert await gathered(post).run(4, 1) == 8
    assert post.batches == [[4]]


async def test_calls_that_come_meanwhile_go_together_in_their_order(post: Post) -> None:
    calls = gathered(post)
    tasks = [asyncio.create_task(calls.run(0, 1))]
    await turn()
    for number in range(1, 7):
        tasks.append(asyncio.create_task(calls.run(number, 1)))
        await turn()
    assert post.batches == [[0]]
    post.open.set()
    assert await asyncio.gather(*tasks) == [0, 2, 4, 6, 8, 10, 12]
    assert post.batches == [[0], [1, 2, 3, 4, 5, 6]]


@pytest.mark.parametrize(
    ("most", "size", "expected"),
    [
        (3, 100, [[0], [1, 2, 3], [4, 5, 6]]),
        (9, 25, [[0], [1, 2], [3, 4], [5, 6]]),
        (9, 5, [[0], [1], [2], [3], [4], [5], [6]]),
    ],
)
async def test_a_batch_is_bounded_and_takes_one_call_at_least(
    most: int, size: int, expected: list[list[int]], post: Post
) -> None:
    calls = gathered(post, most=most, size=size)
    tasks = [asyncio.create_task(calls.run(0, 1))]
    await turn()
    tasks += [asyncio.create_task(calls.run(number, 10)) for number in range(1, 7)]
    await turn()
    post.open.set()
    await asyncio.gather(*tasks)
    assert post.batches == expected


async def test_many_are_shared_out_among_free_lanes_and_few_are_not(post: Post) -> None:
    calls = gathered(post, lanes=2)
    tasks = [asyncio.create_task(calls.run(number, 1)) for number in range(2 * FEW + 1)]
    await turn()
    assert [len(batch) for batch in post.batches] == [FEW + 1, FEW]
    post.open.set()
    await asyncio.gather(*tasks)
    post.batches.clear()
    await asyncio.gather(*(calls.run(number, 1) for number in range(FEW)))
    assert [len(batch) for batch in post.batches] == [FEW]


async def test_who_is_cancelled_before_it_went_out_is_left_out_and_harms_nobody(post: Post) -> None:
    calls = gathered(post)
    first, gone, last = (asyncio.create_task(calls.run(number, 1)) for number in range(3))
    await turn()
    assert post.batches == [[0, 1, 2]]
    waiting, stays = (asyncio.create_task(calls.run(number, 1)) for number in (3, 4))
    await turn()
    gone.cancel()
    waiting.cancel()
    post.open.set()
    assert [await first, await last, await stays] == [0, 4, 8]
    assert post.batches == [[0, 1, 2], [4]]
    for cancelled in (gone, waiting):
        with pytest.raises(asyncio.CancelledError):
            await cancelled


async def test_who_is_cancelled_under_way_hears_of_it_when_the_call_is_over(post: Post) -> None:
    calls = gathered(post)
    gone = asyncio.create_task(calls.run(1, 1))
    await turn()
    gone.cancel()
    await turn()
    assert not gone.done()
    post.open.set()
    with pytest.raises(asyncio.CancelledError):
        await gone


async def test_who_is_cancelled_twice_does_not_wait(post: Post) -> None:
    calls = gathered(post)
    gone = asyncio.create_task(calls.run(1, 1))
    for _ in range(2):
        await turn()
        gone.cancel()
    await turn()
    assert gone.cancelled()
    post.open.set()
    assert await calls.run(2, 1) == 4


async def test_what_a_batch_raises_each_of_its_calls_raises_and_the_next_batch_goes(
    post: Post,
) -> None:
    calls = gathered(post)
    post.open.set()
    post.fails = KeyError("lost")
    told = await asyncio.gather(*(calls.run(n, 1) for n in range(3)), return_exceptions=True)
    assert [type(error) for error in told] == [KeyError] * 3
    post.fails = None
    assert await calls.run(5, 1) == 10


async def test_too_few_answers_leave_nobody_waiting(post: Post) -> None:
    post.open.set()
    post.keeps = 1
    calls = gathered(post)
    told = await asyncio.gather(*(calls.run(n, 1) for n in range(3)), return_exceptions=True)
    assert [type(error) for error in told] == [ValueError] * 3


async def test_a_call_that_comes_when_a_lane_has_just_ended_is_sent(post: Post) -> None:
    post.open.set()
    calls = gathered(post)
    for number in range(50):
        assert await asyncio.wait_for(calls.run(number, 1), 5) == 2 * number
