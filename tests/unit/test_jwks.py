"""When are the issuer's keys fetched, and what does not lead us astray?"""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from jwt_issuer import issuer, jwk
from mnemic.access.jwks import KEPT, LARGEST, PAUSE, STALE, Jwks
from mnemic.errors import ConfigurationError, HostNotAllowed

LOOPBACK = ("127.0.0.1",)
URL = "https://issuer.example/keys.json"


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Source:
    """A key set that is not fetched over any network."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.asked = 0
        self.broken = False

    def __call__(self, url: str) -> bytes:
        self.asked += 1
        if self.broken:
            raise ConnectionRefusedError
        return json.dumps({"keys": [jwk(kid=name) for name in self.names]}).encode()


def kids(keys: object) -> list[str]:
    return [key.kid for key in keys]  # type: ignore[attr-defined]


async def test_the_set_is_kept_and_asked_for_again_after_a_while() -> None:
    clock, source = Clock(), Source("a")
    found = Jwks(URL, ("issuer.example",), fetch=source, clock=clock)
    assert source.asked == 0
    assert kids(await found.keys("a")) == ["a"]
    clock.now += KEPT - 1
    await found.keys("a")
    await found.keys(None)
    assert source.asked == 1
    clock.now += 2
    await found.keys("a")
    assert source.asked == 2


async def test_an_unknown_key_id_asks_again_at_most_once_a_minute() -> None:
    clock, source = Clock(), Source("a")
    found = Jwks(URL, ("issuer.example",), fetch=source, clock=clock)
    await found.keys("a")
    for number in range(200):
        await found.keys(f"made-up-{number}")
    assert source.asked == 1
    source.names = ("a", "b")
    clock.now += PAUSE + 1
    assert kids(await found.keys("b")) == ["a", "b"]
    for number in range(200):
        await found.keys(f"made-up-{number}")
    assert source.asked == 2


async def test_many_at_once_ask_once() -> None:
    source = Source("a")
    found = Jwks(URL, ("issuer.example",), fetch=source)
    await asyncio.gather(*(found.keys("a") for _ in range(50)))
    assert source.asked == 1


async def test_while_the_issuer_is_away_the_last_set_serves_for_a_day() -> None:
    clock, source = Clock(), Source("a")
    found = Jwks(URL, ("issuer.example",), fetch=source, clock=clock)
    await found.keys("a")
    source.broken = True
    clock.now += STALE - 1
    assert kids(await found.keys("a")) == ["a"]
    clock.now += 2
    with pytest.raises(ConfigurationError) as caught:
        await found.keys("a")
    assert caught.value.code == "jwks_unreachable"


async def test_without_any_set_nobody_is_let_in_and_the_issuer_is_not_stormed() -> None:
    clock, source = Clock(), Source("a")
    source.broken = True
    found = Jwks(URL, ("issuer.example",), fetch=source, clock=clock)
    for _ in range(20):
        with pytest.raises(ConfigurationError):
            await found.keys("a")
    assert source.asked == 1
    source.broken = False
    clock.now += 6
    assert kids(await found.keys("a")) == ["a"]


@pytest.mark.parametrize(
    "url",
    [
        "https://elsewhere.example/keys.json",
        "http://issuer.example/keys.json",
        "https://issuer.example@evil.example/keys.json",
        "file:///etc/passwd",
        "ftp://issuer.example/keys.json",
        "https://2130706433/keys.json",
    ],
)
def test_only_an_allowed_host_is_asked(url: str) -> None:
    with pytest.raises(HostNotAllowed):
        Jwks(url, ("issuer.example",))


async def test_keys_come_over_http_from_loopback() -> None:
    with issuer() as told:
        told.publishes(jwk(kid="a"))
        assert kids(await Jwks(told.url, LOOPBACK).keys("a")) == ["a"]


@pytest.mark.parametrize("status", [301, 302, 307, 404, 500, 204])
async def test_redirects_are_not_followed_and_errors_are_no_keys(status: int) -> None:
    with issuer() as there, issuer() as told:
        there.publishes(jwk(kid="a"))
        told.status = status
        told.headers = {"Location": there.url}
        told.publishes(jwk(kid="a"))
        if status == 204:
            told.body = b""
        with pytest.raises(ConfigurationError):
            await Jwks(told.url, LOOPBACK).keys("a")
        assert (told.asked, there.asked) == (1, 0)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"keys": []}', b"[" * 50_000, b"\xff\xfe"]
)
async def test_what_is_no_key_set_gives_no_keys(body: bytes) -> None:
    with issuer() as told:
        told.body = body
        with pytest.raises(ConfigurationError):
            await Jwks(told.url, LOOPBACK).keys("a")


async def test_an_endless_answer_is_cut_off() -> None:
    with issuer() as told:
        told.body = json.dumps({"keys": [jwk(kid="a")], "more": "x" * LARGEST}).encode()
        with pytest.raises(ConfigurationError):
            await Jwks(told.url, LOOPBACK).keys("a")


async def test_a_slow_issuer_costs_seconds_and_blocks_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mnemic.access.jwks.TIMEOUT", 0.3)
    with issuer() as told:
        told.publishes(jwk(kid="a"))
        told.pause = 2.0
        started, ticks = time.perf_counter(), 0
        asking = asyncio.ensure_future(Jwks(told.url, LOOPBACK).keys("a"))
        while not asking.done():
            await asyncio.sleep(0.01)
            ticks += 1
        with pytest.raises(ConfigurationError):
            await asking
        assert time.perf_counter() - started < 1.9
        assert ticks > 10


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with issuer() as proxy, issuer() as told:
        told.publishes(jwk(kid="a"))
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert kids(await Jwks(told.url, LOOPBACK).keys("a")) == ["a"]
        assert proxy.asked == 0
