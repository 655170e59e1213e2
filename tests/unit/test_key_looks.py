"""How often is a key looked up, and from when on is a revoked one worthless?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from mnemic.access.apikeys import FRESH, KeyCheck, new_key, parsed, secret_mac
from mnemic.errors import Unauthenticated
from mnemic.storage.pool import Database

DEPLOYMENT = "d1"
MANY = 50


@dataclass
class Table:
    """Stands for the database: one key, and how long a connection and an answer take to come."""

    mac: bytes
    revoked: bool = False
    looks: int = 0
    connect: asyncio.Event = field(default_factory=asyncio.Event)
    answer: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def system(self) -> AsyncIterator[Table]:
        await self.connect.wait()
        yield self

    async def one(self, statement: str, params: dict[str, Any]) -> dict[str, Any]:
        self.looks += 1
        seen = self.revoked  # what the statement sees is settled when it begins
        await self.answer.wait()
        return {
            "secret_mac": self.mac, "revoked": seen, "expired": False, "used_lately": True,
            "kind": "user", "user_id": "kim", "scopes": ["read"],
        }  # fmt: skip


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def world() -> tuple[KeyCheck, Table, Clock, str]:
    text, _ = new_key()
    found = parsed(text)
    assert found is not None
    table, clock = Table(secret_mac(DEPLOYMENT, *found)), Clock()
    table.connect.set()
    table.answer.set()
    return KeyCheck(cast(Database, table), DEPLOYMENT, clock=clock), table, clock, text


World = tuple[KeyCheck, Table, Clock, str]


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_all_who_ask_at_once_share_one_look(world: World) -> None:
    check, table, clock, text = world
    holders = await asyncio.gather(*(check.holder(text) for _ in range(MANY)))
    assert {holder.user for holder in holders} == {"kim"}
    assert table.looks == 1
    clock.now += FRESH
    await asyncio.gather(*(check.holder(text) for _ in range(MANY)))
    assert table.looks == 2


async def test_nobody_waits_for_a_look_that_renews_in_time(world: World) -> None:
    check, table, clock, text = world
    await check.holder(text)
    table.answer.clear()
    clock.now += 0.6 * FRESH
    assert (await check.holder(text)).user == "kim"  # while the look has no answer
    await settle()
    assert table.looks == 2
    table.answer.set()
    await settle()
    clock.now += 0.6 * FRESH
    await check.holder(text)
    await settle()
    assert table.looks == 3


async def test_a_revoked_key_is_worthless_after_its_time_whoever_looks_meanwhile(
    world: World,
) -> None:
    check, table, clock, text = world
    await check.holder(text)
    clock.now += 0.9 * FRESH
    table.answer.clear()
    await check.holder(text)  # a look begins, and sees the key as it was
    await settle()
    table.revoked = True
    revoked_at = clock.now
    clock.now = revoked_at + FRESH  # now `revoke` returns
    late = asyncio.ensure_future(check.holder(text))
    await settle()
    table.answer.set()
    with pytest.raises(Unauthenticated) as refused:
        await late
    assert refused.value.code == "credential_revoked"
    with pytest.raises(Unauthenticated):
        await check.holder(text)


async def test_the_answer_to_a_look_counts_from_when_it_was_asked_not_from_when_it_waited(
    world: World,
) -> None:
    """Under load a connection may take seconds to come: nobody is turned away for that."""
    check, table, clock, text = world
    table.connect.clear()
    waiting = [asyncio.ensure_future(check.holder(text)) for _ in range(MANY)]
    await settle()
    clock.now += 5 * FRESH
    table.connect.set()
    assert {holder.user for holder in await asyncio.gather(*waiting)} == {"kim"}
    await check.holder(text)
    assert table.looks == 1


async def test_who_gives_up_takes_nobody_along(world: World) -> None:
    check, table, _, text = world
    table.answer.clear()
    first, second = (asyncio.ensure_future(check.holder(text)) for _ in range(2))
    await settle()
    first.cancel()
    table.answer.set()
    assert (await second).user == "kim"
    assert table.looks == 1


async def test_wrong_secrets_are_refused_each_time_and_leave_nothing(world: World) -> None:
    check, table, _, text = world
    other = text[:12] + new_key()[0][12:]
    for _ in range(3):
        with pytest.raises(Unauthenticated) as refused:
            await check.holder(other)
        assert refused.value.code == "credential_invalid"
    assert table.looks == 3
    assert check._fresh == {}
    assert check._looks == {}
