"""How many requests does one worker let in, with no Redis beside it?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis import exceptions

from mnemic.access.rates import CAUSES, Limit, LocalWindows, Rates, cause_of, limit_of
from mnemic.errors import ConfigurationError, RateLimited
from mnemic.settings import Settings


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def admitted(rates: Rates, key: str, times: int) -> int:
    let_in = 0
    for _ in range(times):
        try:
            await rates.admit(key)
        except RateLimited:
            continue
        let_in += 1
    return let_in


def test_settings_spell_limits() -> None:
    assert limit_of("600/minute") == Limit(600, 60)
    assert limit_of("1/day") == Limit(1, 86_400)
    assert limit_of("off") is None
    rates = Rates.of(Settings.read(rate_limit="100/hour"), workers=4)
    assert (rates.limit, rates.share, rates.fallback) == (
        Limit(100, 3600),
        Limit(25, 3600),
        Limit(2, 3600),
    )
    assert Rates("2/minute", workers=4).share == Limit(1, 60)  # nobody is shut out altogether


async def test_pf_125_exactly_the_limit_is_let_in_for_each_credential() -> None:
    clock = Clock()
    rates = Rates("10/minute", clock=clock)
    assert await admitted(rates, "kim", 40) == 10
    assert await admitted(rates, "lee", 40) == 10
    clock.now += 59
    assert await admitted(rates, "kim", 5) == 0
    clock.now += 1
    assert await admitted(rates, "kim", 40) == 10


async def test_pf_125_workers_without_redis_never_let_in_more_than_the_limit_together() -> None:
    workers = [Rates("10/minute", workers=4, clock=Clock()) for _ in range(4)]
    total = sum([await admitted(rates, "kim", 40) for rates in workers])
    assert total == 8  # declared: each has a quarter, rounded down


async def test_a_refusal_says_when_to_come_back_and_is_true() -> None:
    clock = Clock()
    rates = Rates("2/minute", clock=clock)
    await rates.admit("kim")
    clock.now += 10
    await rates.admit("kim")
    with pytest.raises(RateLimited) as caught:
        await rates.admit("kim")
    assert (caught.value.code, caught.value.details) == ("rate_limited", {"retry_after": 50})
    clock.now += 50
    await rates.admit("kim")
    with pytest.raises(RateLimited):
        await rates.admit("kim")


async def test_off_is_off() -> None:
    assert await admitted(Rates("off"), "kim", 1_000) == 1_000


def test_windows_that_nobody_uses_are_dropped() -> None:
    clock = Clock()
    windows = LocalWindows(clock)
    for number in range(5_000):
        windows.hit(f"user-{number}", Limit(5, 60))
    assert len(windows) == 5_000
    clock.now += 61
    windows.hit("kim", Limit(5, 60))
    assert len(windows) == 1


@given(st.lists(st.floats(0, 40), max_size=60), st.integers(1, 6), st.integers(1, 60))
def test_in_no_window_are_more_than_the_limit(
    pauses: list[float], amount: int, seconds: int
) -> None:
    clock = Clock()
    windows, let_in = LocalWindows(clock), []
    for pause in pauses:
        clock.now += pause
        wait = windows.hit("kim", Limit(amount, seconds))
        if wait is None:
            let_in.append(clock.now)
        else:
            assert 1 <= wait <= seconds
    for start in let_in:
        assert sum(start <= at < start + seconds for at in let_in) <= amount


@pytest.mark.parametrize("url", ["nothing", "http://localhost", "redis+nowhere://x", ""])
def test_an_address_that_is_no_redis_stops_the_start(url: str) -> None:
    if not url:
        assert Rates("5/minute", redis_url=url).limit is not None
        return
    with pytest.raises(ConfigurationError) as caught:
        Rates("5/minute", redis_url=url)
    assert caught.value.code == "redis_url_invalid"


@pytest.mark.parametrize(
    ("behind", "cause"),
    [
        (exceptions.NoPermissionError("NOPERM"), "not_permitted"),
        (exceptions.AuthenticationError("WRONGPASS"), "login_refused"),
        (exceptions.TimeoutError("slow"), "timeout"),
        (TimeoutError(), "timeout"),
        (exceptions.OutOfMemoryError("OOM"), "out_of_memory"),
        (exceptions.ConnectionError("refused"), "unreachable"),
        (ConnectionResetError(), "unreachable"),
        (exceptions.ResponseError("ERR"), "failed"),
    ],
)
def test_why_redis_did_not_count_has_a_name(behind: Exception, cause: str) -> None:
    assert cause_of(behind) == cause
    wrapped = ValueError("wrapped")
    wrapped.__cause__ = behind
    assert cause_of(wrapped) == cause
    assert cause in CAUSES
