"""Are uses of many users written in few transactions, and is none lost?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from conftest import Connect
from mnemic.errors import StorageError
from mnemic.model import Actor
from mnemic.retrieval.usage import UsageMarks
from mnemic.storage.pool import Database

if TYPE_CHECKING:
    from mnemic.model import MemoryItem
    from mnemic.service import MemoryService

USERS = [Actor(f"user {n}") for n in range(7)]


@pytest.fixture
async def shown(stub_memory: MemoryService) -> dict[Actor, MemoryItem]:
    """One item of each user, found by a search that nobody else noted."""
    found = {}
    for actor in USERS:
        await stub_memory.add_explicit_memory(actor, "The tide tables hang by the door")
        page = await stub_memory.list(actor)
        found[actor] = page.items[0]
    return found


async def counts(connect: Connect) -> dict[UUID, int]:
    owner = await connect("owner")
    rows = await (await owner.execute("select id, use_count from item_usage")).fetchall()
    return {row["id"]: row["use_count"] for row in rows}


async def test_many_users_are_one_transaction(
    stub_memory: MemoryService,
    shown: dict[Actor, MemoryItem],
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database, begun = stub_memory._parts.deployment.database, 0
    begin = Database._begin

    async def counted(this: Database, *args: Any) -> Any:
        nonlocal begun
        begun += 1
        return await begin(this, *args)

    monkeypatch.setattr(Database, "_begin", counted)
    marks = UsageMarks(database, delay=60)
    for round_ in range(2):
        for actor, item in list(shown.items())[round_:]:
            marks.note(actor, [(actor.user_scope, item)])
    await marks.close()
    assert begun == 1
    first, *others = shown.values()
    assert await counts(connect) == {first.id: 1} | {item.id: 2 for item in others}


async def test_an_item_that_is_gone_costs_nobody_a_mark(
    stub_memory: MemoryService, shown: dict[Actor, MemoryItem], connect: Connect
) -> None:
    marks = UsageMarks(stub_memory._parts.deployment.database, delay=60)
    for actor, item in shown.items():
        marks.note(actor, [(actor.user_scope, item)])
    gone = USERS[3]
    await stub_memory.delete(gone, shown[gone].id)
    await marks.close()
    assert set(await counts(connect)) == {item.id for actor, item in shown.items() if actor != gone}


async def test_when_the_common_transaction_fails_each_user_is_written_alone(
    stub_memory: MemoryService,
    shown: dict[Actor, MemoryItem],
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scopes = Database.scopes

    @asynccontextmanager
    async def failing(this: Database, scope_keys: list[str]) -> AsyncIterator[Any]:
        if len(scope_keys) > 1 or scope_keys == [USERS[0].user_scope]:
            raise StorageError("database_error", "The database refused the work.")
        async with scopes(this, scope_keys) as tx:
            yield tx

    monkeypatch.setattr(Database, "scopes", failing)
    marks = UsageMarks(stub_memory._parts.deployment.database, delay=60)
    for actor, item in shown.items():
        marks.note(actor, [(actor.user_scope, item)])
    await marks.flush()
    assert set(await counts(connect)) == {shown[actor].id for actor in USERS[1:]}


async def test_marks_of_one_user_never_reach_the_items_of_another(
    stub_memory: MemoryService, shown: dict[Actor, MemoryItem], connect: Connect
) -> None:
    marks = UsageMarks(stub_memory._parts.deployment.database, delay=60)
    marks.note(USERS[0], [(USERS[0].user_scope, shown[USERS[1]])])
    await marks.close()
    assert await counts(connect) == {}
