"""Do workers share one limit in Redis, and what holds while it is away?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from mnemic.access.rates import REDIS_PAUSE, REDIS_TIMEOUT, Rates
from mnemic.errors import RateLimited
from redis_server import Valkey, valkey


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Valkey]:
    with valkey(tmp_path) as server:
        yield server


class Clock:
    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def workers(
    redis: Valkey, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[list[Rates]]:
    """Four workers with a limit of 10 a minute, and time enough for an answer on a busy machine."""
    monkeypatch.setattr("mnemic.access.rates.REDIS_TIMEOUT", 10.0)
    made = [Rates("10/minute", workers=4, redis_url=redis.url, clock=clock) for _ in range(4)]
    yield made
    for one in made:
        await one.close()


async def admitted(workers: list[Rates], key: str, times: int) -> tuple[int, list[int]]:
    """Return how many of ``times`` requests, spread over the workers at once, were let in, and the waits."""
    waits: list[int] = []

    async def ask(number: int) -> bool:
        try:
            await workers[number % len(workers)].admit(key)
        except RateLimited as error:
            waits.append(int(str(error.details["retry_after"])))
            return False
        return True

    let_in = await asyncio.gather(*(ask(number) for number in range(times)))
    return sum(let_in), waits


async def test_pf_125_four_workers_let_in_exactly_the_limit_of_each_user(
    workers: list[Rates],
) -> None:
    for user in ("kim", "lee"):
        let_in, waits = await admitted(workers, f"key:{user}", 40)
        assert let_in == 10
        assert len(waits) == 30
        assert all(1 <= wait <= 60 for wait in waits)
    assert not any(one.degraded for one in workers)


async def test_pf_126_while_redis_is_away_a_smaller_local_cap_holds(
    workers: list[Rates], redis: Valkey, clock: Clock
) -> None:
    assert (await admitted(workers, "key:kim", 4))[0] == 4
    redis.stop()
    let_in, waits = await admitted(workers, "key:kim", 40)
    assert let_in == 4  # one a worker: a tenth of each one's share, and one at least
    assert all(1 <= wait <= 60 for wait in waits)
    assert all(one.degraded for one in workers)
    redis.start()
    assert (await admitted(workers, "key:lee", 40))[0] == 4  # nobody asks Redis meanwhile
    clock.ahead += REDIS_PAUSE
    assert (await admitted(workers, "key:lee", 40))[0] == 10
    assert not any(one.degraded for one in workers)


async def test_pf_126_nobody_waits_long_for_a_redis_that_hangs(redis: Valkey, clock: Clock) -> None:
    worker = Rates("10/minute", redis_url=redis.url, clock=clock)
    await worker.admit("key:kim")
    with redis.hanging():
        started = time.perf_counter()
        await worker.admit("key:kim")
        assert REDIS_TIMEOUT <= time.perf_counter() - started < 5
        assert worker.degraded
        with pytest.raises(RateLimited):
            await worker.admit("key:kim")
    await worker.close()


async def test_pf_109_a_restart_of_redis_is_no_outage(workers: list[Rates], redis: Valkey) -> None:
    assert (await admitted(workers, "key:kim", 8))[0] == 8
    redis.stop()
    redis.start()
    assert (await admitted(workers, "key:lee", 8))[0] == 8
    assert not any(one.degraded for one in workers)


async def test_counts_lie_under_the_rate_key_and_go_by_themselves(
    workers: list[Rates], redis: Valkey
) -> None:
    from redis.asyncio import Redis

    await workers[0].admit("key:mk_aaaaaaaa")
    async with Redis.from_url(redis.url) as client:
        names = [name.decode() for name in await client.keys("*")]
        assert len(names) == 1
        assert "key:mk_aaaaaaaa" in names[0]
        assert 0 < await client.ttl(names[0]) <= 61
