"""Is every deed in the audit once, together with what it is about, and who gets to see it?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from conftest import Connect, Server
from mnemic.audit import Audit
from mnemic.audit.verify import Verified, newest, verify
from mnemic.deployment import Addresses, Deployment, as_owner
from mnemic.errors import Conflict, InvalidInput, KeyUnavailable
from mnemic.keyfile import KeyFile
from mnemic.model import Actor
from mnemic.settings import Settings
from mnemic.storage.pool import Database

KIM, LEE = Actor("kim", purpose="api", credential="key:one"), Actor("lee", purpose="job")
Check = Callable[..., Awaitable[Verified]]


@pytest.fixture
async def audit(deployment: Deployment, server: Server) -> Audit:
    return await Audit.open(deployment.database, KeyFile(server.key_file))


@pytest.fixture
async def owners(audit: Audit, settings: Settings) -> AsyncIterator[Database]:
    async with as_owner(settings) as opened:
        found: tuple[Deployment, Addresses] = opened
        yield found[0].database


@pytest.fixture
def check(owners: Database, audit: Audit) -> Check:
    async def checked(**more: Any) -> Verified:
        return await verify(owners, audit.key, **more)

    return checked


async def deeds(audit: Audit, actor: Actor, number: int, action: str = "add_item") -> None:
    for one in range(number):
        async with audit._database.transaction(actor) as tx:
            await audit.record(tx, actor, action, target=f"item {one}", after={"version": 1})


# ---- writing


async def test_an_entry_says_who_what_when_and_why_in_hashes_and_codes_only(
    audit: Audit, connect: Connect
) -> None:
    await deeds(audit, KIM, 1)
    owner = await connect("owner")
    row = await (await owner.execute("select * from audit_log")).fetchone()
    assert row is not None
    assert (row["action"], row["why"], row["seq"]) == ("add_item", "api", 1)
    assert row["at"].microsecond % 1000 == 0
    assert row["before_mac"] is None, "a create has nothing before it"
    assert bytes(row["user_mac"]) == audit.key.user(Actor("kim"))
    assert bytes(row["target_mac"]) == audit.key.target("item 0")
    assert bytes(row["credential_mac"]) == audit.key.credential(KIM)
    clear = {name for name, value in row.items() if isinstance(value, str)}
    assert clear == {"action", "why"}


async def test_an_entry_and_its_deed_are_there_together_or_not_at_all(
    audit: Audit, check: Check
) -> None:
    with suppress(ZeroDivisionError):
        async with audit._database.transaction(KIM) as tx:
            await audit.record(tx, KIM, "add_item")
            raise ZeroDivisionError
    await deeds(audit, KIM, 1)
    found = await check()
    assert (found.sound, found.entries) == (True, 1)


async def test_an_entry_costs_two_statements(audit: Audit) -> None:
    ran: list[str] = []

    class Counting:
        def __init__(self, tx: Any) -> None:
            self._tx = tx

        def __getattr__(self, name: str) -> Any:
            ran.append(name)
            return getattr(self._tx, name)

    async with audit._database.transaction(KIM) as tx:
        await audit.record(Counting(tx), KIM, "add_item")  # type: ignore[arg-type]
    assert ran == ["audit", "one", "later"]


async def test_where_the_place_was_read_ahead_an_entry_waits_for_the_commit(
    audit: Audit, check: Check
) -> None:
    audit._database.recorder = audit
    async with audit._database.transaction(KIM, writes=KIM.user_scope) as tx:
        await audit.record(tx, KIM, "add_item")
        await audit.record(tx, KIM, "add_item")
        assert len(tx.waiting) == 2
    assert (await check()).sound
    assert [entry.action for entry in (await audit.mine(KIM)).entries] == ["add_item"] * 2


async def test_a_place_that_was_taken_meanwhile_lets_nothing_be_kept(
    audit: Audit, check: Check
) -> None:
    audit._database.recorder = audit

    async def overtaken() -> None:
        async with audit._database.transaction(KIM, writes=KIM.user_scope) as tx:
            await audit.record(tx, KIM, "add_item")
            async with audit._database.transaction(KIM) as other:
                await audit.record(other, KIM, "edit_item")

    with pytest.raises(Conflict) as raised:
        await overtaken()
    assert raised.value.code == "audit_moved"
    assert (await check()).sound
    assert [entry.action for entry in (await audit.mine(KIM)).entries] == ["edit_item"]


async def test_pf_078_every_deed_is_one_entry_whoever_writes_at_the_same_time(
    audit: Audit, check: Check, connect: Connect
) -> None:
    actors = [Actor(f"user {number % 7}") for number in range(40)]
    await asyncio.gather(*(deeds(audit, actor, 5) for actor in actors))
    found = await check()
    assert (found.sound, found.entries) == (True, 200)
    owner = await connect("owner")
    rows = await owner.execute(
        "select max(seq) as top, count(*) as n from audit_log group by chain"
    )
    assert all(row["top"] == row["n"] for row in await rows.fetchall())


async def test_writers_of_other_users_do_not_wait(audit: Audit) -> None:
    one = Actor("one")
    others = (Actor(f"other {number}") for number in range(100))
    other = next(o for o in others if audit.key.user(o)[0] != audit.key.user(one)[0])
    async with audit._database.transaction(one) as tx:
        await audit.record(tx, one, "add_item")
        await asyncio.wait_for(deeds(audit, other, 1), 5)


async def test_the_service_may_append_and_nothing_else(audit: Audit, connect: Connect) -> None:
    await deeds(audit, KIM, 1)
    service = await connect("service")
    for statement in (
        "select * from audit_log",
        "update audit_log set action = 'x'",
        "delete from audit_log",
        "truncate audit_log",
        "select * from audit_head",
        "insert into audit_chain select * from audit_chain",
        "delete from audit_chain",
        "update audit_chain set chain = 3",
        "update deployment set audit_mac = null",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await service.execute(statement.encode())


async def test_without_the_deployments_key_there_is_no_audit(
    audit: Audit, deployment: Deployment, tmp_path: Any
) -> None:
    stranger = KeyFile(tmp_path / "other" / "k")
    await stranger.create()
    with pytest.raises(KeyUnavailable):
        await Audit.open(deployment.database, stranger)


async def test_starters_at_once_agree_on_the_chains(
    deployment: Deployment, server: Server, settings: Settings
) -> None:
    provider = KeyFile(server.key_file)
    opened = await asyncio.gather(*(Audit.open(deployment.database, provider) for _ in range(5)))
    await asyncio.gather(*(deeds(audit, KIM, 2) for audit in opened))
    async with as_owner(settings) as (owner, _):
        found = await verify(owner.database, opened[0].key)
    assert (found.sound, found.entries) == (True, 10)


# ---- reading


async def test_pf_092_entries_of_one_millisecond_are_all_reached_by_pages(
    audit: Audit, owners: Database, connect: Connect
) -> None:
    for number in range(5):
        await deeds(audit, Actor(f"user {number}"), 10)
    owner = await connect("owner")
    await owner.execute("update audit_log set at = '2026-03-02 09:14:00.123+00'")
    seen, cursor = [], None
    for _ in range(5):
        page = await newest(owners, audit.key, limit=10, cursor=cursor)
        seen += [(entry.chain, entry.seq) for entry in page.entries]
        cursor = page.cursor
    assert cursor is None
    assert len(seen) == len(set(seen)) == 50


async def test_users_see_their_own_entries_and_nobody_elses(audit: Audit) -> None:
    await deeds(audit, KIM, 7)
    for user in ("kim_1", "kimA1", "%", "_"):
        await deeds(audit, Actor(user), 1)
    first = await audit.mine(Actor("kim"), limit=4)
    rest = await audit.mine(Actor("kim"), limit=4, cursor=first.cursor)
    assert [entry.seq for entry in (*first.entries, *rest.entries)] == [7, 6, 5, 4, 3, 2, 1]
    assert rest.cursor is None
    assert len((await audit.mine(Actor("%"))).entries) == 1
    assert (await audit.mine(Actor("nobody"))).entries == ()
    with pytest.raises(InvalidInput):
        await audit.mine(KIM, limit=0)
    with pytest.raises(InvalidInput):
        await audit.mine(KIM, cursor="7")


async def test_the_operator_narrows_by_user_target_and_action(
    audit: Audit, owners: Database
) -> None:
    await deeds(audit, KIM, 3)
    await deeds(audit, LEE, 2, "delete_item")

    async def found(**more: Any) -> int:
        return len((await newest(owners, audit.key, **more)).entries)

    assert await found() == 5
    assert await found(user=Actor("kim")) == 3
    assert await found(user=Actor("ki_")) == 0
    assert await found(action="delete_item") == 2
    assert await found(target="item 1") == 2
    assert await found(user=LEE, target="item 2") == 0
