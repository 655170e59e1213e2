"""Is every change of the audit found, by whomever it was made who has the database and not the key?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from typing import Any

import pytest
from psycopg import sql

from conftest import Connect, Connection, Server
from mnemic.audit import Audit
from mnemic.audit.verify import Verified, verify
from mnemic.deployment import Addresses, Deployment, as_owner
from mnemic.errors import InvalidInput, StorageError
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


async def busy(audit: Audit) -> Actor:
    """Write to six chains, two entries each, and four more to one; return the user whose chain has six.

    The key says which chain a user has, and it is another one in each run: no two of these share one.
    """
    writers: dict[int, Actor] = {}
    for number in count():
        actor = Actor(f"user {number}")
        writers.setdefault(chain_of(audit, actor), actor)
        if len(writers) == 6:
            break
    for writer in writers.values():
        await deeds(audit, writer, 2)
    await deeds(audit, actor, 4)
    return actor


def chain_of(audit: Audit, actor: Actor) -> int:
    return audit.key.chain(audit.key.user(actor))


CHANGES = {
    "another action": ("update audit_log set action = 'x' where chain = {c} and seq = 3", "entry_changed"),
    "another time": (
        "update audit_log set at = at + interval '1 ms' where chain = {c} and seq = 3",
        "entry_changed",
    ),
    "another reason": ("update audit_log set why = 'web' where chain = {c} and seq = 3", "entry_changed"),
    "another user": (
        "update audit_log set user_mac = sha256('x') where chain = {c} and seq = 3",
        "entry_changed",
    ),
    "no credential": (
        "update audit_log set credential_mac = sha256('x') where chain = {c} and seq = 3",
        "entry_changed",
    ),
    "another target": (
        "update audit_log set target_mac = null where chain = {c} and seq = 3",
        "entry_changed",
    ),
    "another state": (
        "update audit_log set after_mac = before_mac where chain = {c} and seq = 3",
        "entry_changed",
    ),
    "an unkeyed hash": (
        "update audit_log set action = 'x', entry_mac = sha256('x') where chain = {c} and seq = 6",
        "entry_changed",
    ),
    "the first entry gone": ("delete from audit_log where chain = {c} and seq = 1", "entries_missing"),
    "a middle entry gone": ("delete from audit_log where chain = {c} and seq = 3", "entries_missing"),
    "middle entries gone": (
        "delete from audit_log where chain = {c} and seq between 2 and 4",
        "entries_missing",
    ),
    "a gap closed": (
        "delete from audit_log where chain = {c} and seq = 3;"
        " update audit_log set seq = seq - 1 where chain = {c} and seq > 3",
        "entry_changed",
    ),
    "the last entry gone": ("delete from audit_log where chain = {c} and seq = 6", "chain_cut"),
    "all entries gone": ("delete from audit_log where chain = {c}", "chain_cut"),
    "the tail gone and the head moved": (
        "delete from audit_log where chain = {c} and seq > 4;"
        " update audit_chain set seq = 4, last_mac = (select entry_mac from audit_log where chain = {c}"
        " and seq = 4) where chain = {c}",
        "head_changed",
    ),
    "the head moved back": (
        "update audit_chain set seq = 4, last_mac = (select entry_mac from audit_log where chain = {c}"
        " and seq = 4) where chain = {c}",
        "head_changed",
    ),
    "a whole chain gone": (
        "delete from audit_log where chain = {c}; delete from audit_chain where chain = {c}",
        "chain_missing",
    ),
    "an empty chain gone": (
        "delete from audit_chain where chain = (select max(chain) from audit_chain where seq = 0)",
        "chain_missing",
    ),
    "a chain begun anew": (
        "delete from audit_log where chain = {c}; update audit_chain c set seq = 0, last_mac = o.last_mac,"
        " head_mac = o.head_mac from (select * from audit_chain where seq = 0 limit 1) o where c.chain = {c}",
        "head_changed",
    ),
    "everything gone": ("delete from audit_log; delete from audit_chain", "chain_missing"),
    "everything gone, the beginning too": (
        "delete from audit_log; delete from audit_chain; update deployment set audit_mac = null",
        "audit_missing",
    ),
    "another beginning": ("update deployment set audit_mac = sha256('x')", "entry_changed"),
    "two entries swapped": (
        "update audit_log set seq = seq + 100 where chain = {c} and seq in (3, 4);"
        " update audit_log set seq = 207 - seq - 100 where chain = {c} and seq > 100",
        "entry_changed",
    ),
    "an entry put in": (
        "insert into audit_log select chain, 7, at, action, why, user_mac, credential_mac, target_mac,"
        " before_mac, after_mac, entry_mac from audit_log where chain = {c} and seq = 6",
        "entry_changed",
    ),
    "an entry moved to another chain": (
        "with gone as (delete from audit_log where chain = {c} and seq = 6 returning *)"
        " insert into audit_log select (chain + 1) % 256, 99, at, action, why, user_mac, credential_mac,"
        " target_mac, before_mac, after_mac, entry_mac from gone",
        "entries_missing",
    ),
    "two chains exchanged": (
        "update audit_log set chain = (select max(chain) from audit_chain where seq = 0) where chain = {c}",
        "chain_cut",
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
async def test_whoever_has_the_database_and_not_the_key_is_found_out(
    change: str, audit: Audit, check: Check, connect: Connect
) -> None:
    actor = await busy(audit)
    assert (await check()).sound
    owner, (statement, kind) = await connect("owner"), CHANGES[change]
    await owner.execute(statement.format(c=chain_of(audit, actor)).encode())
    found = await check()
    assert not found.sound
    assert kind in {problem.kind for problem in found.problems}
    assert found.head is None


async def test_going_on_after_a_cut_does_not_mend_it(
    audit: Audit, check: Check, connect: Connect
) -> None:
    actor = await busy(audit)
    owner, (statement, _) = await connect("owner"), CHANGES["the tail gone and the head moved"]
    await owner.execute(statement.format(c=chain_of(audit, actor)).encode())
    await deeds(audit, actor, 3)
    found = await check()
    assert [problem.kind for problem in found.problems] == ["head_changed"]


async def test_an_entry_is_told_by_chain_and_number(
    audit: Audit, check: Check, connect: Connect
) -> None:
    actor = await busy(audit)
    owner, chain = await connect("owner"), chain_of(audit, actor)
    await owner.execute(
        "update audit_log set why = 'web' where chain = %s and seq in (2, 5)", [chain]
    )
    found = await check()
    assert [(p.kind, p.chain, p.seq) for p in found.problems] == [
        ("entry_changed", chain, 2),
        ("entry_changed", chain, 5),
    ]


async def test_writers_stop_when_their_chain_is_gone(audit: Audit, connect: Connect) -> None:
    await (await connect("owner")).execute("delete from audit_chain")
    with pytest.raises(StorageError) as caught:
        await deeds(audit, KIM, 1)
    assert caught.value.code == "audit_chain_missing"


async def test_a_kept_head_holds_while_the_log_grows(audit: Audit, check: Check) -> None:
    actor = await busy(audit)
    first = (await check()).head
    assert first is not None
    assert (await check()).head == first, "nothing was written: nothing changed"
    await deeds(audit, actor, 3)
    found = await check(head=first)
    assert found.sound
    assert found.head != first
    assert (await check(head=found.head)).sound


async def snapshot(owner: Connection, schema: str) -> None:
    for table in ("audit_log", "audit_chain", "audit_head"):
        copy = sql.SQL("create table {} as table {}").format(
            sql.Identifier(f"old_{table}"), sql.Identifier(table)
        )
        await owner.execute(copy)


async def roll_back(owner: Connection, *tables: str) -> None:
    for table in tables:
        name, old = sql.Identifier(table), sql.Identifier(f"old_{table}")
        await owner.execute(sql.SQL("delete from {}").format(name))
        await owner.execute(sql.SQL("insert into {} select * from {}").format(name, old))


async def test_only_a_head_kept_elsewhere_finds_that_an_older_true_state_was_put_back(
    audit: Audit, check: Check, connect: Connect, schema: str
) -> None:
    owner, actor = await connect("owner"), await busy(audit)
    await snapshot(owner, schema)
    await deeds(audit, actor, 2)
    kept = (await check()).head
    await roll_back(owner, "audit_log", "audit_chain", "audit_head")
    assert (await check()).sound, (
        "nothing in the database tells that there was more: the page says so"
    )
    found = await check(head=kept)
    assert [problem.kind for problem in found.problems] == ["head_unknown"]


async def test_a_head_is_no_good_without_the_entries_that_it_stands_for(
    audit: Audit, check: Check, connect: Connect, schema: str
) -> None:
    owner, actor = await connect("owner"), await busy(audit)
    await snapshot(owner, schema)
    await deeds(audit, actor, 2)
    kept = (await check()).head
    await roll_back(owner, "audit_log", "audit_chain")
    found = await check(head=kept)
    assert {problem.kind for problem in found.problems} == {"head_not_reached"}
    await deeds(audit, actor, 2)  # as many as before, but others
    found = await check(head=kept)
    assert {problem.kind for problem in found.problems} == {"head_not_reached"}


@pytest.mark.parametrize("head", ["", "zz", "00", "0" * 63, "'; drop table audit_log"])
async def test_what_is_no_head_is_refused(head: str, check: Check) -> None:
    with pytest.raises(InvalidInput) as caught:
        await check(head=head)
    assert caught.value.code == "invalid_head"
    assert {p.kind for p in (await check(head="0" * 64)).problems} == {"head_unknown"}


async def test_verifying_while_others_write_finds_nothing_wrong(audit: Audit, check: Check) -> None:
    writers = [
        asyncio.create_task(deeds(audit, Actor(f"user {number}"), 60)) for number in range(4)
    ]
    heads = []
    while not all(writer.done() for writer in writers):
        found = await check(head=heads[-1] if heads else None)
        assert found.sound, found.problems
        heads.append(found.head)
    await asyncio.gather(*writers)
    assert (await check(head=heads[0])).entries == 240


async def test_progress_is_told_to_the_end(audit: Audit, check: Check) -> None:
    await busy(audit)
    told: list[tuple[int, int]] = []
    await check(progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (16, 16)
