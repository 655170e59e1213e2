"""How long does anybody wait for a Redis that is slow, silent, gone or has forgotten its scripts?"""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from mnemic.storage.redis_calls import Calls, RedisAway, Script
from mnemic.storage.redis_url import target_of
from mnemic.storage.valkey import JoinedValkey, join_valkey

TIMEOUT = 0.2


def script(text: str) -> Script:
    return Script(hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), text)


ECHO = script("return ARGV[1]")
PUT = script("redis.call('SET', KEYS[1], ARGV[1]) return 'put'")
WRONG = script("return redis.call('LPUSH', KEYS[1])")


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JoinedValkey]:
    server = join_valkey(tmp_path_factory.mktemp("calls") / "data")
    yield server
    server.leave()


@pytest.fixture
async def bare(joined: JoinedValkey) -> AsyncIterator[Redis]:
    joined.revive()
    async with Redis(unix_socket_path=str(joined.socket)) as client:
        await client.flushall()
        yield client


@pytest.fixture
async def calls(joined: JoinedValkey, bare: Redis) -> AsyncIterator[Calls]:
    made = Calls(target_of(joined.url), connections=2, timeout=TIMEOUT, pause=0.1)
    yield made
    await made.close()


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    deadline = time.monotonic() + 10
    while not await condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def test_calls_that_come_together_share_pipelines_and_each_gets_its_answer(
    calls: Calls, bare: Redis
) -> None:
    answers = await asyncio.gather(*(calls.run(ECHO, b"k", f"call {n}") for n in range(500)))
    assert answers == [f"call {n}".encode() for n in range(500)]
    clients = await bare.client_list()
    assert len(clients) <= 2 + 1 + 1


async def test_a_server_that_forgot_its_scripts_is_told_them_again(
    calls: Calls, bare: Redis
) -> None:
    assert await calls.run(ECHO, b"k", "one") == b"one"
    epoch = calls.epoch
    await bare.script_flush()
    assert await calls.run(ECHO, b"k", "two") == b"two"
    assert calls.epoch == epoch


async def test_a_refused_script_fails_alone(calls: Calls, caplog: pytest.LogCaptureFixture) -> None:
    good = asyncio.ensure_future(calls.run(ECHO, b"k", "good"))
    with pytest.raises(RedisAway):
        await calls.run(WRONG, b"private key name", "private value")
    assert await good == b"good"
    assert not calls.away
    assert "private" not in caplog.text
    assert "refused a script" in caplog.text


async def test_connections_that_died_while_idle_are_no_outage_and_a_reason_for_doubt(
    calls: Calls, bare: Redis
) -> None:
    await calls.run(ECHO, b"k", "x")
    await calls.run(ECHO, b"k", "x")
    epoch = calls.epoch
    await asyncio.gather(*(calls.run(ECHO, b"k", "x") for _ in range(200)))
    assert calls.epoch == epoch, "a pool that grows is no reason for doubt"
    await bare.client_kill_filter(_type="normal", skipme=True)
    assert await calls.run(ECHO, b"k", "again") == b"again"
    assert not calls.away


async def test_pf_109_nobody_waits_long_for_a_stopped_server_and_debts_are_paid_when_it_goes_on(
    calls: Calls, bare: Redis
) -> None:
    await calls.run(PUT, b"owed", "stale")
    pid = (await bare.info("server"))["process_id"]
    os.kill(pid, signal.SIGSTOP)
    try:
        waits = await asyncio.gather(*(waited(calls) for _ in range(200)))
        assert max(waits) < 2 * TIMEOUT + 0.3
        assert calls.away
        assert await waited(calls) < 0.05  # nobody waits while it is known to be away
        calls.owe(b"owed")
        await asyncio.sleep(0.5)
    finally:
        os.kill(pid, signal.SIGCONT)
    epoch = calls.epoch

    async def back() -> bool:
        return not calls.away

    await until(back)
    assert calls.epoch > epoch
    assert not await bare.exists("owed")
    assert await calls.run(ECHO, b"k", "x") == b"x"


async def test_a_debt_is_paid_also_where_redis_is_not_away(calls: Calls, bare: Redis) -> None:
    await calls.run(PUT, b"owed", "x")
    calls.owe(b"owed")

    async def paid() -> bool:
        return not await bare.exists("owed")

    await until(paid)


async def test_a_server_that_takes_connections_and_says_nothing_costs_a_bounded_wait() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    silence = Calls(target_of(f"redis://127.0.0.1:{port}/0"), timeout=TIMEOUT, pause=0.1)
    assert await waited(silence) < 2 * TIMEOUT + 0.3
    await asyncio.sleep(0.5)
    assert silence.away
    await silence.close()
    server.close()


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1:1/0",
        "unix:///nowhere/at/all.sock",
        "redis+cluster://127.0.0.1:1,127.0.0.1:2",
        "redis+sentinel://127.0.0.1:1,127.0.0.1:2/main",
    ],
)
async def test_a_redis_that_is_nowhere_fails_at_once_on_every_kind_of_address(url: str) -> None:
    nowhere = Calls(target_of(url), timeout=TIMEOUT, pause=0.1)
    assert await waited(nowhere) < 2 * TIMEOUT + 0.3
    assert nowhere.away
    await nowhere.close()
    await nowhere.close()
    with pytest.raises(RedisAway):
        await nowhere.run(ECHO, b"k", "x")


async def test_cancelled_callers_disturb_nobody(calls: Calls) -> None:
    async def impatient() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(calls.run(ECHO, b"k", "x"), 0.000_01)

    await asyncio.gather(*(impatient() for _ in range(50)))
    answers = await asyncio.gather(*(calls.run(ECHO, b"k", str(n)) for n in range(50)))
    assert answers == [str(n).encode() for n in range(50)]
    assert not calls.away


async def test_an_embedded_server_that_was_killed_is_started_by_the_one_who_notices(
    tmp_path: Path,
) -> None:
    joined = join_valkey(tmp_path / "data")
    calls = Calls(target_of(joined.url), timeout=1.0, revive=joined.revive)
    await calls.run(PUT, b"k", "x")
    async with Redis(unix_socket_path=str(joined.socket)) as bare:
        pid = (await bare.info("server"))["process_id"]
    os.kill(pid, signal.SIGKILL)
    await waited(calls)

    async def back() -> bool:
        return not calls.away

    await until(back)
    assert await calls.run(ECHO, b"k", "x") == b"x"
    await calls.close()
    joined.leave()


async def waited(calls: Calls) -> float:
    """Return how many seconds a call took that Redis did not do."""
    started = time.perf_counter()
    with pytest.raises(RedisAway):
        await calls.run(ECHO, b"k", "x")
    return time.perf_counter() - started
