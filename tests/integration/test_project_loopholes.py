"""Is there a way round the policies: temporary tables, foreign keys, moved rows, keyed hashes, old rights?"""

from __future__ import annotations

from typing import Any

import pytest
from project_rows import (
    DRAFT,
    FORMER,
    INSERT,
    MEMBERS,
    Planted,
    allowed,
    ask_as,
    plant,
    touched,
)

from conftest import Connect, Connection
from mnemic.deployment import Deployment
from mnemic.model import VISIBILITIES

WRITERS = [user for user, role in MEMBERS.items() if role != "viewer"]


@pytest.fixture
async def owner(deployment: Deployment, connect: Connect) -> Connection:
    return await connect("owner")


@pytest.fixture
async def planted(owner: Connection) -> Planted:
    return await plant(owner)


@pytest.fixture
async def service(planted: Planted, connect: Connect) -> Connection:
    return await connect("service")


async def test_a_temporary_table_gives_nobody_a_role(planted: Planted, connect: Connect) -> None:
    """Where the service may make such tables, they come first in the search path unless it says otherwise."""
    session = await connect("superuser")
    for statement in (
        "create temporary table project_member (scope_key text, user_id text, role text)",
        "create temporary table project (scope_key text, created_by text)",
        f"insert into pg_temp.project_member values ('{planted.scope_key}', 'lee', 'owner')",
        f"insert into pg_temp.project values ('{planted.scope_key}', 'lee')",
        "grant all on pg_temp.project_member, pg_temp.project to public",
        "set role mnemic_service",
    ):
        await session.execute(statement.encode())
    await ask_as(session, "lee")
    row = await (
        await session.execute("select my_role() as role, founding() as founding")
    ).fetchone()
    assert row == {"role": None, "founding": False}
    assert not await allowed(session, planted, "memory_item", "read", "members", "olga")
    assert await touched(session, "select * from drop_project(true)") == 0
    await session.execute(
        "delete from pg_temp.project_member"
    )  # a project of nobody, "made" by lee
    row = await (await session.execute("select founding() as founding")).fetchone()
    assert row == {"founding": False}


async def test_functions_with_the_owners_rights_are_for_the_service_and_look_nowhere_else(
    deployment: Deployment, owner: Connection, schema: str
) -> None:
    found = await owner.execute(
        "select proname as name, proacl::text as acl, array_to_string(proconfig, ';') as config from pg_proc"
        " where pronamespace = %s::regnamespace and prosecdef",
        [schema],
    )
    functions = await found.fetchall()
    assert {"member_role", "founding", "drop_project"} <= {one["name"] for one in functions}
    for one in functions:
        assert not any(entry.startswith("=") for entry in one["acl"].strip("{}").split(",")), one
        assert one["config"].rpartition("search_path=")[2].endswith("pg_temp"), one


@pytest.mark.parametrize("visibility", VISIBILITIES)
async def test_nobody_puts_a_piece_into_anothers_document(
    visibility: str, planted: Planted, service: Connection
) -> None:
    theirs = planted.ids["resource", FORMER, visibility]
    for user in MEMBERS:
        await ask_as(service, user)
        piece = planted.values(user, "members", theirs)
        assert await touched(service, INSERT["chunk"], piece) == 0, user


async def test_a_piece_is_not_shown_to_more_than_its_document(
    planted: Planted, service: Connection
) -> None:
    await ask_as(service, "edda")
    private = planted.ids["resource", "edda", "owner_only"]
    for visibility, wanted in (("owner_only", 1), ("members", 0), ("public", 0)):
        piece = planted.values("edda", visibility, private)
        assert await touched(service, INSERT["chunk"], piece) == wanted, visibility


async def test_questions_about_an_item_are_changed_by_who_may_change_the_item(
    planted: Planted, service: Connection
) -> None:
    answer = (
        "update verification set answered_at = now(), answer = 'confirmed' where item_id = %(id)s"
    )
    for user, role in MEMBERS.items():
        await ask_as(service, user)
        for author in (FORMER, user):
            known = {"id": planted.ids["memory_item", author, "members"]}
            wanted = role in ("owner", "admin") or (role == "editor" and author == user)
            assert bool(await touched(service, answer, known)) is wanted, (user, author)


async def test_only_who_writes_leaves_drafts(planted: Planted, service: Connection) -> None:
    for user, role in MEMBERS.items():
        await ask_as(service, user)
        made = await touched(service, DRAFT, planted.values(user, "members"))
        assert bool(made) is (role != "viewer"), user


async def test_who_made_a_project_and_left_sees_it_no_more(
    planted: Planted, service: Connection, owner: Connection
) -> None:
    await owner.execute("update project set created_by = %s", [FORMER])
    await ask_as(service, FORMER)
    for table in ("project", "project_member", "data_key", "memory_item"):
        assert await touched(service, f"select from {table}") == 0, table


async def test_without_settings_nobody_founds_a_project(service: Connection) -> None:
    for name in ("scopes", "sessions", "actor", "project"):
        await service.execute("select set_config(%s, '', false)", [f"mnemic.{name}"])
    found = "insert into project (scope_key, project_id, created_by) values ('', 'x', '')"
    assert await touched(service, found) == 0
    await service.execute("select set_config('mnemic.actor', 'lee', false)")
    found = "insert into project (scope_key, project_id, created_by) values ('', 'x', 'lee')"
    assert await touched(service, found) == 0


@pytest.mark.parametrize("change", ["owner_id = 'olga'", "owner_id = 'nobody'"])
async def test_no_edit_makes_it_anothers_word(
    change: str, planted: Planted, service: Connection
) -> None:
    for user in WRITERS:
        await ask_as(service, user)
        for author in {user, FORMER} - {"olga"}:
            known = {"id": planted.ids["memory_item", author, "members"]}
            edit = f"update memory_item set {change} where id = %(id)s"
            assert await touched(service, edit, known) == 0, (user, author)


async def test_no_edit_takes_from_all_what_another_wrote(
    planted: Planted, service: Connection
) -> None:
    for user in WRITERS:
        await ask_as(service, user)
        for table in ("memory_item", "resource", "chunk"):
            for author, wanted in ((user, 1), (FORMER, 0)):
                known = {"id": planted.ids[table, author, "members"]}
                edit = f"update {table} set visibility = 'owner_only' where id = %(id)s"
                assert await touched(service, edit, known) == wanted, (user, table, author)


async def test_a_private_item_is_not_moved_into_the_project_under_anothers_name(
    planted: Planted, service: Connection
) -> None:
    for user in MEMBERS:
        await ask_as(service, user)
        own = planted.values(FORMER, "members") | {"scope_key": f"user:{user}"}
        move = "update memory_item set scope_key = 'project:apollo' where id = %(id)s"
        async with service.transaction(force_rollback=True):
            await service.execute(INSERT["memory_item"], own)
            assert await touched(service, move, {"id": own["id"]}) == 0, user


async def test_what_another_keeps_to_themselves_does_not_show_in_what_may_be_written(
    planted: Planted, service: Connection, owner: Connection
) -> None:
    """Equal texts have equal keyed hashes in a project: a refusal would tell that the text is there."""
    await ask_as(service, "edda")
    for table in ("memory_item", "resource"):
        known = [planted.ids[table, "olga", "owner_only"]]
        row = await (
            await owner.execute(f"select content_mac from {table} where id = %s", known)
        ).fetchone()
        assert row is not None
        same: dict[str, Any] = planted.values("edda", "members") | {"mac": row["content_mac"]}
        assert await touched(service, INSERT[table], same) == 1, table
