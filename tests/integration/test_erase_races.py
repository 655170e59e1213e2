"""Is nothing left, and nothing sealed with an erased key, when others write at the same time?"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
import pytest
from erase_world import (
    Services,
    made,
    of_kim,
    one,
    roles,
    services,
)

from conftest import Connect, Connection, Server
from mnemic.deployment import Deployment
from mnemic.errors import Conflict, PermissionDenied
from mnemic.model import Actor, Turn
from mnemic.storage.migrate import private_schema

if TYPE_CHECKING:
    from mnemic.service import MemoryService

KIM = Actor("kim", session="s1")


@pytest.fixture
async def parts(stub_memory: MemoryService, server: Server) -> Services:
    return await services(stub_memory, server)


@pytest.fixture
async def owner(connect: Connect, parts: Services) -> Connection:
    return await connect("owner")


async def hammer(memory: MemoryService, number: int, stop: asyncio.Event) -> int:
    """Write through every door that seals, until told to stop; return how many writes were answered."""
    done = 0
    actor = Actor("kim", session=f"s{number}")
    while not stop.is_set():
        await memory.add_explicit_memory(actor, f"Shelf {done} of room {number} holds books")
        await memory.sessions.append(
            actor, [Turn("user", f"line {done} of {number}", speaker="Kim")]
        )
        if done % 3 == 0:
            with suppress(Conflict):  # pieces of a document went with an erasure: it says so
                await memory.resources.add(
                    actor, f"Page {done} of book {number}", title=f"{number}/{done}"
                )
        await memory.search_memories(actor, "books")
        done += 1
    return done


async def sealed_by(owner: Any, schema: str) -> dict[str, set[str]]:
    """Which keys seal a value, by table; of every bytea column that ends in _enc."""
    columns = await owner.execute(
        "select table_schema, table_name, column_name from information_schema.columns"
        " where table_schema = any(%s) and right(column_name, 4) = '_enc' and udt_name = 'bytea'",
        [[schema, private_schema(schema)]],
    )
    found: dict[str, set[str]] = {}
    for row in await columns.fetchall():
        query = psycopg.sql.SQL("select distinct encode(substr({0}, 1, 16), 'hex') as key from {1}"
                                " where {0} is not null").format(
            psycopg.sql.Identifier(row["column_name"]),
            psycopg.sql.Identifier(row["table_schema"], row["table_name"]),
        )  # fmt: skip
        keys = await (await owner.execute(query)).fetchall()
        found.setdefault(row["table_name"], set()).update(key["key"] for key in keys)
    return found


async def keys_of_kim(owner: Any) -> set[str]:
    rows = await owner.execute("select key_id from data_key where scope_key = 'user:kim'")
    return {UUID(str(row["key_id"])).hex for row in await rows.fetchall()}


async def test_pf_080_writers_that_hammer_leave_nothing_under_the_old_key(
    parts: Services, owner: Connection, schema: str
) -> None:
    memory = parts.memory
    await memory.add_explicit_memory(Actor("lee"), "The stranger lives in a lighthouse")
    old: set[str] = set()
    stop = asyncio.Event()
    writers = [asyncio.create_task(hammer(memory, number, stop)) for number in range(5)]
    for _ in range(3):
        await asyncio.sleep(0.7)
        old |= await keys_of_kim(owner)
        report = await parts.erase.forget_user(KIM)
        assert report.counts["data_key"] == 1
    await asyncio.sleep(0.3)
    stop.set()
    assert all(await asyncio.gather(*writers))
    assert len(old) >= 3
    for table, keys in (await sealed_by(owner, schema)).items():
        assert not keys & old, f"{table} holds values of an erased key"
    live = await keys_of_kim(owner)
    assert len(live) == 1, "whoever wrote afterwards is somebody new, with a key of their own"
    assert not live & old
    page = await memory.list(KIM, limit=1000)
    assert all(item.content.startswith("Shelf") for item in page.items)
    await parts.erase.forget_user(KIM)
    assert await of_kim(owner, schema) == {}


async def test_an_erasure_waits_for_what_is_being_written_and_then_takes_it(
    parts: Services, owner: Connection, schema: str
) -> None:
    deployment = parts.memory._parts.deployment
    async with deployment.database.transaction(KIM) as tx:
        await deployment.keys.obtain(tx, KIM)
        erasing = asyncio.create_task(parts.erase.forget_user(KIM))
        await asyncio.sleep(0.3)
        assert not erasing.done()
    assert (await erasing).counts["app_user"] == 1
    assert await of_kim(owner, schema) == {}


async def test_another_process_does_not_seal_with_a_key_that_it_still_remembers(
    parts: Services, server: Server, schema: str, owner: Connection
) -> None:
    other = await Deployment.start(server.settings(schema))
    try:
        async with other.database.transaction(KIM) as tx:
            await other.keys.obtain(tx, KIM)
        async with other.database.transaction(KIM) as tx:
            remembered = await other.keys.find(tx, KIM)
        await parts.erase.forget_user(KIM)
        await parts.memory.add_explicit_memory(KIM, "Somebody new is here")
        async with other.database.transaction(KIM) as tx:
            now = await other.keys.find(tx, KIM)
        assert remembered is not None
        assert now is not None
        assert now.key_id != remembered.key_id
        assert {now.key_id.hex} == await keys_of_kim(owner)
    finally:
        await other.close()


async def test_members_of_one_project_who_are_erased_at_once_leave_one_owner(
    parts: Services, owner: Connection, schema: str
) -> None:
    users = ["kim", "lee", "mo", "nan"]
    for number in range(4):
        project = f"p{number}"
        await made(parts, project, *((user, "admin") for user in users if user != users[number]),
                   ("stays", "viewer"), by=users[number])  # fmt: skip
    await asyncio.gather(*(parts.erase.forget_user(Actor(user)) for user in users))
    for number in range(4):
        assert await roles(owner, f"p{number}") == {"stays": "owner"}
        assert (await parts.memory.projects.get(Actor("stays"), f"p{number}")).role == "owner"


async def somebody_new(memory: MemoryService) -> None:
    """Let a new user of the same id write, as another request."""
    turns = [Turn("user", "Somebody new is here")]
    await asyncio.create_task(memory.sessions.append(KIM, turns), context=Context())  # type: ignore[arg-type]


async def test_pf_080_a_pass_under_way_stores_nothing_of_who_was_erased_for_who_comes_after(
    parts: Services, owner: Connection
) -> None:
    memory, passes = parts.memory, parts.memory._parts.passes
    await memory.sessions.append(KIM, [Turn("user", "Please remember that I live in Leipzig.")])
    propose = passes._propose

    async def late(*given: Any) -> Any:
        proposed = await propose(*given)
        await parts.erase.forget_user(KIM)
        await somebody_new(memory)
        return proposed

    passes._propose = late  # type: ignore[method-assign]
    with pytest.raises(PermissionDenied) as caught:
        await memory.extract(KIM)
    assert caught.value.code == "user_erased"
    assert (await memory.list(KIM)).total == 0
    row = await one(owner, "select extracted_seq from session")
    assert row["extracted_seq"] == 0


async def test_pf_080_vectors_of_who_was_erased_are_not_written_for_who_comes_after(
    parts: Services, owner: Connection
) -> None:
    memory, conversations = parts.memory, parts.memory.resources.index.__self__
    await memory.sessions.append(KIM, [Turn("user", "I live beside the lighthouse")])
    write = conversations._write  # type: ignore[attr-defined]

    async def late(*given: Any) -> Any:
        await parts.erase.forget_user(KIM)
        await somebody_new(memory)
        return await write(*given)

    conversations._write = late  # type: ignore[attr-defined]
    with pytest.raises(PermissionDenied):
        await memory.resources.index(KIM)
    conversations._write = write  # type: ignore[attr-defined]
    assert (await one(owner, "select count(*) as n from chunk"))["n"] == 0
    assert (await one(owner, "select count(*) as n from message"))["n"] == 1
