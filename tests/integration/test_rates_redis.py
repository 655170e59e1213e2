"""Do workers share one limit in Redis, and what holds while it is away?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from mnemic.access.rates import REDIS_PAUSE, REDIS_TIMEOUT, Rates
from mnemic.api.metrics import Metrics
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


async def test_a_refusal_is_logged_once_for_each_cause_and_counted_every_time(
    redis: Valkey, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A login that may not run the limiter's scripts looks like an outage that never ends."""
    monkeypatch.setattr("mnemic.access.rates.REDIS_TIMEOUT", 10.0)
    admin = Redis.from_url(redis.url)
    await admin.execute_command("ACL", "SETUSER", "poor", "on", "nopass", "~*", "+ping", "+info")  # type: ignore[no-untyped-call]
    await admin.aclose()
    metrics = Metrics()
    poor = redis.url.replace("//", "//poor:any@")
    rates = Rates("100/minute", redis_url=poor, clock=clock, fell_back=metrics.fell_back)
    with capture_logs() as logged:
        for number in range(3):
            for _ in range(4):
                await rates.admit(f"key:{number}")
            clock.ahead += REDIS_PAUSE
        redis.stop()
        for _ in range(2):
            await rates.admit("key:kim")
            clock.ahead += REDIS_PAUSE
        redis.start()
    await rates.close()
    assert [(one["log_level"], one["event"], one["cause"]) for one in logged] == [
        ("warning", "rates counted without redis", "not_permitted"),
        ("warning", "rates counted without redis", "unreachable"),
    ]
    assert "poor" not in repr(logged)
    shown = metrics.shown().decode()
    assert 'mnemic_rate_fallbacks_total{cause="not_permitted"} 3.0' in shown
    assert 'mnemic_rate_fallbacks_total{cause="unreachable"} 2.0' in shown


async def test_after_redis_counted_again_a_cause_is_told_anew(
    workers: list[Rates], redis: Valkey, clock: Clock
) -> None:
    with capture_logs() as logged:
        for number in range(2):
            redis.stop()
            await workers[0].admit(f"key:{number}")
            redis.start()
            clock.ahead += REDIS_PAUSE
            await workers[0].admit(f"key:{number}")
            assert not workers[0].degraded
    assert [one["cause"] for one in logged] == ["unreachable"] * 2
