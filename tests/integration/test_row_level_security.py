"""Does the database itself keep users apart, whatever statement the service sends?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb
from shared_world import SHARED, plant, share
from statement_world import (
    FOR_NEWCOMERS,
    NEWCOMER,
    STRANGER,
    VICTIM,
    WITHOUT_ROWS,
    Undo,
    World,
    fill,
    outcome,
    parameters,
    scoped_statements,
)

from conftest import Connect, Server
from mnemic.deployment import Deployment
from mnemic.model import Actor
from mnemic.settings import Settings

if TYPE_CHECKING:
    from mnemic.service import MemoryService

WITHOUT_SCOPE = {
    "deployment", "embedding_model", "schema_migration", "audit_chain", "audit_head", "audit_log",
    "kek", "key_closing", "cold_removal", "job_run",
}  # fmt: skip
"""The tables without personal data, or with keyed hashes of it alone; any other must have a scope key."""
OF_LANGGRAPH = {"checkpoint_migrations", "checkpoints", "checkpoint_blobs", "checkpoint_writes"}
"""LangGraph's own tables: rows are somebody's through ``thread`` (tests/integration/test_episode_rows.py)."""
NOT_FOR_THE_SERVICE = {"api_key", "outbox"}
"""Tables that the service does not read at all, or does not write: functions do."""
OWN = {"maintenance": "*", "own_scopes": "*"}
CONTENT = OWN | {
    "project_read": "r",
    "project_create": "a",
    "project_edit": "w",
    "project_delete": "d",
}
OF_PROJECT = {name: command for name, command in CONTENT.items() if name != "own_scopes"}
POLICIES = {
    "project": {"maintenance": "*", "founded": "a", "joined": "r", "renamed": "w"},
    "project_member": {
        "maintenance": "*",
        "known": "r",
        "admitted": "a",
        "changed": "w",
        "gone": "d",
    },
    "data_key": OWN | {"of_projects": "r", "of_project": "a"},
    "memory_item": CONTENT | {"project_history": "a"},
    "resource": CONTENT,
    "chunk": CONTENT,
    "store_item": CONTENT,
    "chunk_draft": OWN | {"project_drafts": "*"},
    "item_usage": OWN | {"project_items": "*"},
    "verification": OWN | {"project_items": "r", "project_insert": "a", "project_update": "w"},
    "outbox": OWN | {"project_read": "r", "project_delete": "d"},
    "project_profile": OF_PROJECT,
    "key_decision": OF_PROJECT,
}
"""Policies and their commands of the tables that hold more than a user's own."""
IN_PROJECTS = {"project_profile", "key_decision"}
"""Tables that hold nothing of a user alone."""
LEADING = {
    "project": {"project_id"},
    "project_member": {"user_id"},
    "api_key": {"prefix"},
    "idempotency_key": {"expires_at"},
    "task_state": {"task_type", "updated_at"},
    "session": {"last_active_at"},
    "user_profile": {"stale_at", "email_mac", "phone_mac"},
    "project_profile": {"stale_at"},
    "app_user": {"user_id", "last_active_at"},
    "thread": {"thread_id", "looked_at"},
}
"""What else leads an index: what is found before its scope is known."""
TABLES_WITH_SCOPE = """
    select c.oid, c.relname, c.relrowsecurity, c.relforcerowsecurity, pg_get_userbyid(c.relowner) as owner
    from pg_class c
    where c.relnamespace = %s::regnamespace and c.relkind in ('r', 'p')
      and exists (select from pg_attribute a
                  where a.attrelid = c.oid and a.attname = 'scope_key' and not a.attisdropped)
    order by c.relname"""


@pytest.fixture
async def world(stub_memory: MemoryService, connect: Connect) -> World:
    owner = await connect("owner")
    filled = await fill(stub_memory, owner)
    await plant(owner)
    await share(stub_memory, owner, filled, SHARED)
    await stub_memory.profiles.consumer.close()  # nothing changes beside the tests
    return filled


async def tables(conn: Any, schema: str) -> list[str]:
    rows = await (await conn.execute(TABLES_WITH_SCOPE, [schema])).fetchall()
    return [row["relname"] for row in rows]


async def rows_of(conn: Any, table: str) -> int:
    query = sql.SQL("select count(*) as n from {}").format(sql.Identifier(table))
    return int((await (await conn.execute(query)).fetchone())["n"])


async def act_as(conn: Any, actor: Actor | None) -> None:
    """Set what a transaction of an actor sets, by hand; None sets empty values."""
    values = {
        "scopes": ",".join(actor.scope_keys) if actor else "",
        "sessions": actor.session_prefix if actor else "",
        "actor": actor.user if actor else "",
        "project": actor.project_scope or "" if actor else "",
    }
    for name, value in values.items():
        await conn.execute("select set_config(%s, %s, false)", [f"mnemic.{name}", value])


async def seen_of(conn: Any, table: str) -> int:
    """Return how many rows of a table somebody sees; none where even the question is refused."""
    try:
        return await rows_of(conn, table)
    except psycopg.errors.InsufficientPrivilege:
        assert table in NOT_FOR_THE_SERVICE
        return 0


async def test_without_settings_every_personal_table_is_empty(
    world: World, connect: Connect, schema: str
) -> None:
    service, owner = await connect("service"), await connect("owner")
    for table in await tables(owner, schema):
        assert await rows_of(owner, table) > 0, f"{table} is empty: this would prove nothing"
        assert await seen_of(service, table) == 0


async def test_empty_settings_and_those_of_others_show_nothing(
    world: World, connect: Connect, schema: str
) -> None:
    service, owner = await connect("service"), await connect("owner")
    strangers = (NEWCOMER, Actor("ki_"), Actor("___"), Actor("%"), Actor("ki", session="m"))
    for actor in (None, *strangers, *(replace(one, project=SHARED) for one in strangers)):
        await act_as(service, actor)
        for table in await tables(owner, schema):
            assert await seen_of(service, table) == 0
    for table in await tables(owner, schema):
        await act_as(service, replace(VICTIM, project=SHARED) if table in IN_PROJECTS else VICTIM)
        assert await seen_of(service, table) > 0 or table in NOT_FOR_THE_SERVICE


async def test_every_table_with_a_scope_key_forces_its_policies(
    deployment: Deployment, connect: Connect, schema: str
) -> None:
    owner = await connect("owner")
    found = await (await owner.execute(TABLES_WITH_SCOPE, [schema])).fetchall()
    assert len(found) >= 8
    for table in found:
        assert (table["relrowsecurity"], table["relforcerowsecurity"]) == (True, True), table
        assert table["owner"] == "mnemic_owner"
        found_policies = await owner.execute(
            "select polname, polroles::regrole[]::text[] as roles, polcmd::text as commands,"
            " pg_get_expr(polqual, polrelid) as using, pg_get_expr(polwithcheck, polrelid) as checked"
            " from pg_policy where polrelid = %s order by polname",
            [table["oid"]],
        )
        policies = {row["polname"]: row for row in await found_policies.fetchall()}
        told = {name: row["commands"] for name, row in policies.items()}
        assert told == POLICIES.get(table["relname"], OWN), table
        for name, row in policies.items():
            login = "mnemic_owner" if name == "maintenance" else "mnemic_service"
            assert row["roles"] == [login], (table, name)
            if row["commands"] == "*":  # what may be written is what may be read
                assert row["checked"] in (row["using"], None), (table, name)
        key = await owner.execute(
            "select a.attname from pg_index i join pg_attribute a on a.attrelid = i.indrelid"
            " and a.attnum = i.indkey[0] where i.indrelid = %s",
            [table["oid"]],
        )
        led_by = {row["attname"] for row in await key.fetchall()}
        assert led_by == {"scope_key"} | LEADING.get(table["relname"], set()), table


async def test_a_table_without_a_scope_key_holds_nothing_personal(
    deployment: Deployment, connect: Connect, schema: str
) -> None:
    owner = await connect("owner")
    found = await owner.execute(
        "select relname from pg_class where relnamespace = %s::regnamespace"
        " and relkind in ('r', 'p', 'v', 'm', 'f')",
        [schema],
    )
    every = {row["relname"] for row in await found.fetchall()}
    assert every - set(await tables(owner, schema)) <= WITHOUT_SCOPE | OF_LANGGRAPH


async def test_rows_cannot_be_written_into_the_scope_of_another(
    world: World, connect: Connect, schema: str
) -> None:
    service, owner = await connect("service"), await connect("owner")
    for table in await tables(owner, schema):
        name = sql.Identifier(table)
        of_project = table in {"project", "project_member"} | IN_PROJECTS
        scopes = ["project:apollo"] if of_project else ["user:kim", "session:kim/s1"]
        query = sql.SQL("select to_jsonb(t) as row from {} t where scope_key = any(%s) limit 1")
        row = await (await owner.execute(query.format(name), [scopes])).fetchone()
        assert row is not None
        insert = sql.SQL("insert into {0} select (jsonb_populate_record(null::{0}, %s)).*").format(
            name
        )
        for actor in (STRANGER, replace(STRANGER, project=SHARED), None):
            await act_as(service, actor)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await service.execute(insert, [Jsonb(row["row"])])
        await act_as(service, replace(VICTIM, project=SHARED))
        there = psycopg.errors.UniqueViolation  # past the policy, and there already
        refused = psycopg.errors.InsufficientPrivilege
        with pytest.raises(refused if table in NOT_FOR_THE_SERVICE else there):
            await service.execute(insert, [Jsonb(row["row"])])


async def test_a_row_cannot_be_moved_into_another_scope(world: World, connect: Connect) -> None:
    service = await connect("service")
    await act_as(service, STRANGER)
    for scope_key in ("user:kim", "session:lee/s1", "project:apollo"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await service.execute("update memory_item set scope_key = %s", [scope_key])


@pytest.mark.parametrize(
    "statement",
    [
        "update message set role = 'user'",
        "delete from message",
        "update app_user set status = 'active'",
        "delete from app_user",
        "update data_key set retired_at = null",
        "delete from data_key",
        "update data_key set wrapped = ''",
        "update data_key set kek_id = 'x'",
        "select from kek",
        "delete from kek",
        "insert into key_closing (final_until, n_destroyed, n_erasures) values (now(), 0, 0)",
        "update session set scope_key = scope_key",
        "delete from extraction_log",
        "update deployment set kek_id = 'x'",
        "insert into deployment (id) values (gen_random_uuid())",
        "update embedding_model set dims = dims",
        "delete from schema_migration",
        "update resource set content_mac = null",
        "update chunk set lexemes = ''",
        "update chunk_draft set ordinal = 7",
        "update app_user set key_epoch = 9",
        "update embedding_model set own = false",
        "update deployment set next_model_id = null",
        "truncate memory_item",
        "alter table memory_item disable row level security",
        "drop policy own_scopes on memory_item",
        "update project set created_by = 'kim'",
        "update project set project_id = 'mine'",
        "delete from project",
        "update project_member set user_id = 'kim'",
        "update data_key set author_id = ''",
        "update resource set owner_id = 'kim'",
        "update chunk set owner_id = 'kim'",
        "update chunk_draft set owner_id = 'kim'",
        "select from api_key",
        "delete from api_key",
        "create table stray (id int)",
        "set role mnemic_owner",
    ],
)
async def test_the_service_may_do_only_what_it_needs(
    statement: str, deployment: Deployment, connect: Connect
) -> None:
    service = await connect("service")
    await act_as(service, VICTIM)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await service.execute(statement.encode())


async def test_the_owner_maintains_every_row_without_being_superuser(
    world: World, connect: Connect, schema: str
) -> None:
    owner = await connect("owner")
    row = await (
        await owner.execute(
            "select rolsuper or rolbypassrls as p from pg_roles where rolname = current_user"
        )
    ).fetchone()
    assert row == {"p": False}
    for table in await tables(owner, schema):
        query = sql.SQL("update {} set scope_key = scope_key").format(sql.Identifier(table))
        assert (await owner.execute(query)).rowcount == await rows_of(owner, table) > 0
    assert (await owner.execute("delete from memory_item")).rowcount >= 4


OF_ITS_OWN = {
    "items.insert", "items.ask", "messages.append", "messages.log_pass", "access.reserve",
    "embedding.put_settings", "resources.add_turn", "resources.add_draft", "resources.add_document",
}  # fmt: skip
"""What writes a row that was not there, and so does something for anybody in his own scope."""
OF_OPERATORS = {"access.add_api_key"}


async def test_no_statement_reaches_the_rows_of_another_user(
    world: World, stub_memory: MemoryService
) -> None:
    deployment, void = stub_memory._parts.deployment, Actor("void", session="void")
    every, wrong = scoped_statements(), dict[str, Any]()
    for name, statement in every.items():
        if name in OF_OPERATORS:
            continue
        of = NEWCOMER if name in FOR_NEWCOMERS else VICTIM
        stranger = STRANGER
        if name.startswith("projects."):
            new = "athena" if name in FOR_NEWCOMERS else SHARED
            of, stranger, void = (replace(one, project=new) for one in (of, stranger, void))
            void = replace(void, project="void")
        aimed = parameters(name, world, of)
        own = await outcome(deployment, of, statement, aimed)
        others = await outcome(deployment, stranger, statement, aimed)
        scopes = {parameter for parameter in aimed if "scope" in parameter} - {"scope", "scope_id"}
        elsewhere = aimed | {
            parameter: parameters(name, world, void)[parameter]
            for parameter in scopes | {"sessions"}
        }
        nothing: Any = 0
        if name not in OF_ITS_OWN | FOR_NEWCOMERS:
            nothing = await outcome(deployment, void, statement, elsewhere)
        if name in WITHOUT_ROWS:
            assert own == others == nothing
        elif own in ("refused", nothing) or others not in ("refused", nothing):
            wrong[name] = {"own": own, "others": others, "nothing": nothing}
    assert len(every) > 30
    assert wrong == {}


@pytest.fixture
async def single(server: Server, schema: str) -> AsyncIterator[Deployment]:
    """A deployment with one connection, which everybody therefore uses in turn."""
    deployment = await Deployment.start(server.settings(schema, pool_size=1))
    yield deployment
    await deployment.close()


async def test_a_reused_connection_forgets_the_actor_before(
    single: Deployment, settings: Settings, connect: Connect
) -> None:
    for user in ("kim", "lee"):
        actor = Actor(user, session="s1")
        async with single.database.transaction(actor) as tx:
            await single.keys.obtain(tx, actor)
    seen = []
    read = (
        "select pg_backend_pid() as pid, array(select scope_key from app_user) as users,"
        " current_setting('mnemic.scopes', true) as scopes,"
        " current_setting('mnemic.sessions', true) as sessions"
    )
    for actor in (Actor("kim"), Actor("lee"), Actor("none")):
        with suppress(Undo):
            async with single.database.transaction(actor) as tx:
                seen.append(await tx.one(read))
                if actor.user == "lee":
                    raise Undo
        async with single.database.system() as tx:
            seen.append(await tx.one(read))
    assert len({row["pid"] for row in seen if row}) == 1
    assert [row["users"] for row in seen if row] == [["user:kim"], [], ["user:lee"], [], [], []]
    # a custom setting that was set locally comes back empty, not as NULL
    assert [row["scopes"] for row in seen if row][1::2] == ["", "", ""]
    assert [row["sessions"] for row in seen if row][1::2] == ["", "", ""]
