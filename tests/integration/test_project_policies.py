"""Do the database's own policies give every role what the matrix gives it, whatever statement is sent?"""

from __future__ import annotations

from itertools import product
from typing import Any, get_args

import pytest
from project_rows import AUTHORS, CONTENT, FORMER, MEMBERS, Planted, allowed, ask_as, plant, touched

from conftest import Connect, Connection
from mnemic.deployment import Deployment
from mnemic.ids import new_id
from mnemic.model import Actor, Visibility
from mnemic.permissions import ACTIONS, Action, may

STRANGER = "lee"
OF_PROJECTS = (
    "project", "project_member", *CONTENT, "item_usage", "verification", "chunk_draft", "data_key",
)  # fmt: skip
"""Every table that can hold what belongs to a project."""
LOOK_ALIKES = [
    "kim", "kim_1", "kimA1", "%", "_", "'", "Kim", "KIM", "kim%", "kim/", "kim,lee", "k%m"
]  # fmt: skip
PROJECTS = [
    "apollo", "apollo_", "apollo%", "Apollo", "apollo'", "apollo,", "apollo/", "%", "_", "a%o", "apoll_"
]  # fmt: skip


async def rows(conn: Any, table: str, scope_key: str) -> int:
    found = await conn.execute(f"select from {table} where scope_key = %s", [scope_key])
    return int(found.rowcount)


@pytest.fixture
async def owner(deployment: Deployment, connect: Connect) -> Connection:
    return await connect("owner")


@pytest.fixture
async def planted(owner: Connection) -> Planted:
    return await plant(owner)


@pytest.mark.parametrize("action", ACTIONS)
async def test_every_cell_of_the_matrix_by_raw_statements(
    action: Action, planted: Planted, connect: Connect
) -> None:
    service, wrong = await connect("service"), []
    for user in (*AUTHORS, STRANGER):
        await ask_as(service, user)
        role: Any = MEMBERS.get(user)
        for table, visibility, author in product(CONTENT, get_args(Visibility), AUTHORS):
            wanted = may(role, action, visibility, own=author == user)
            if await allowed(service, planted, table, action, visibility, author) != wanted:
                wrong.append((role, table, visibility, "own" if author == user else author))
    assert wrong == []


async def test_who_belongs_to_no_project_reads_and_writes_nothing_of_it(
    planted: Planted, connect: Connect, owner: Connection
) -> None:
    service = await connect("service")
    for table in OF_PROJECTS:
        assert await rows(owner, table, planted.scope_key) > 0, table
    for user, project in product((STRANGER, FORMER, "Olga", "olg_", "%"), ("apollo", None)):
        await ask_as(service, user, project)
        for table in OF_PROJECTS:
            assert await rows(service, table, planted.scope_key) == 0, (user, table)
            assert await touched(service, f"delete from {table}") == 0, (user, table)
    for (
        user
    ) in MEMBERS:  # a member who names no project, or another one, does not reach what it holds
        for project in (None, "artemis"):
            await ask_as(service, user, project)
            for table in (*CONTENT, "item_usage", "verification", "chunk_draft"):
                assert await rows(service, table, planted.scope_key) == 0, (user, table)
                assert await touched(service, f"delete from {table}") == 0, (user, table)


async def test_without_settings_a_project_is_closed(planted: Planted, connect: Connect) -> None:
    service = await connect("service")
    for value in (None, ""):
        for name in ("scopes", "sessions", "actor", "project") if value is not None else ():
            await service.execute("select set_config(%s, %s, false)", [f"mnemic.{name}", value])
        for table in OF_PROJECTS:
            assert await rows(service, table, planted.scope_key) == 0


async def test_who_leaves_loses_everything_with_the_next_statement(
    planted: Planted, connect: Connect, owner: Connection
) -> None:
    service = await connect("service")
    await ask_as(service, "edda")
    async with service.transaction():
        for table in OF_PROJECTS:
            assert await rows(service, table, planted.scope_key) > 0
        await owner.execute("delete from project_member where user_id = 'edda'")
        for table in OF_PROJECTS:
            assert await rows(service, table, planted.scope_key) == 0, table
        values = planted.values("edda", "members")
        assert not await allowed(service, planted, "memory_item", "create", "members", "edda")
        assert await touched(service, "delete from memory_item where id = %(id)s", values) == 0


async def test_a_role_holds_from_the_next_statement_on(
    planted: Planted, connect: Connect, owner: Connection
) -> None:
    service = await connect("service")
    await ask_as(service, "adam")
    assert await allowed(service, planted, "memory_item", "edit", "members", "olga")
    await owner.execute("update project_member set role = 'editor' where user_id = 'adam'")
    assert not await allowed(service, planted, "memory_item", "edit", "members", "olga")


async def test_ids_that_look_alike_never_meet(
    deployment: Deployment, owner: Connection, connect: Connect
) -> None:
    service = await connect("service")
    for user, project in zip(LOOK_ALIKES, PROJECTS, strict=False):
        await plant(owner, project, {user: "owner"})
    for user, (place, own) in product(LOOK_ALIKES, enumerate(PROJECTS)):
        await ask_as(service, user, own)
        scope_key = str(Actor(user, project=own).project_scope)
        member = LOOK_ALIKES[place] == user
        for table in OF_PROJECTS:
            seen = await rows(service, table, scope_key)
            assert (seen > 0) is member, (user, own, table)
        shown = await service.execute("select distinct scope_key from memory_item")
        assert [row["scope_key"] for row in await shown.fetchall()] == [scope_key] * member


async def test_what_hangs_on_an_item_is_seen_by_whoever_sees_the_item(
    planted: Planted, connect: Connect
) -> None:
    service = await connect("service")
    for user, role in (*MEMBERS.items(), (FORMER, None), (STRANGER, None)):
        await ask_as(service, user)
        for (table, author, visibility), item in planted.ids.items():
            if table == "memory_item":
                wanted = may(role, "read", visibility, own=author == user)  # type: ignore[arg-type]
                for query in (
                    "select from item_usage where id = %(id)s",
                    "select from verification where item_id = %(id)s",
                ):
                    assert bool(await touched(service, query, {"id": item})) is wanted, (
                        user,
                        query,
                    )


async def test_drafts_are_their_authors(planted: Planted, connect: Connect) -> None:
    service = await connect("service")
    for user, role in MEMBERS.items():
        await ask_as(service, user)
        shown = await service.execute("select owner_id from chunk_draft")
        whose = [row["owner_id"] for row in await shown.fetchall()]
        assert whose == ([user] if role != "viewer" else [])  # left from when they could write
        assert await touched(service, "delete from chunk_draft") == len(whose)


async def test_keys_are_opened_by_members_and_made_by_who_writes(
    planted: Planted, connect: Connect
) -> None:
    service = await connect("service")
    insert = (
        "insert into data_key (scope_key, author_id, key_id, wrapped, kek_id, retired_at)"
        " values (%s, %s, %s, '', 'kek', now())"
    )
    for user, role in MEMBERS.items():
        await ask_as(service, user)
        assert await rows(service, "data_key", planted.scope_key) == len(AUTHORS) + 1
        for author in (*AUTHORS, ""):
            made = await touched(service, insert, [planted.scope_key, author, new_id()])
            assert bool(made) is (role != "viewer" and author in (user, "")), (user, author)
        assert await touched(service, "update data_key set retired_at = now()") == 0
        assert await touched(service, "delete from data_key") == 0
