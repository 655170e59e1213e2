"""Does the database itself keep users apart, whatever statement the service sends?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb
from statement_world import (
    FOR_NEWCOMERS,
    NEWCOMER,
    STRANGER,
    VICTIM,
    WITHOUT_ROWS,
    World,
    fill,
    parameters,
    scoped_statements,
)

from conftest import Connect, Server
from mnemic.deployment import Deployment
from mnemic.errors import InvalidInput, PermissionDenied
from mnemic.model import Actor
from mnemic.settings import Settings

if TYPE_CHECKING:
    from mnemic.service import MemoryService

SHARED = {"deployment", "embedding_model", "schema_migration"}
"""The tables without personal data; any other must have a scope key."""
TABLES_WITH_SCOPE = """
    select c.oid, c.relname, c.relrowsecurity, c.relforcerowsecurity, pg_get_userbyid(c.relowner) as owner
    from pg_class c
    where c.relnamespace = %s::regnamespace and c.relkind in ('r', 'p')
      and exists (select from pg_attribute a
                  where a.attrelid = c.oid and a.attname = 'scope_key' and not a.attisdropped)
    order by c.relname"""


@pytest.fixture
async def world(stub_memory: MemoryService, connect: Connect) -> World:
    return await fill(stub_memory, await connect("owner"))


async def tables(conn: Any, schema: str) -> list[str]:
    rows = await (await conn.execute(TABLES_WITH_SCOPE, [schema])).fetchall()
    return [row["relname"] for row in rows]


async def rows_of(conn: Any, table: str) -> int:
    query = sql.SQL("select count(*) as n from {}").format(sql.Identifier(table))
    return int((await (await conn.execute(query)).fetchone())["n"])


async def act_as(conn: Any, actor: Actor | None) -> None:
    """Set what a transaction of an actor sets, by hand; None sets empty values."""
    scopes = ",".join(actor.scope_keys) if actor else ""
    sessions = actor.session_prefix if actor else ""
    await conn.execute("select set_config('mnemic.scopes', %s, false)", [scopes])
    await conn.execute("select set_config('mnemic.sessions', %s, false)", [sessions])


async def test_without_settings_every_personal_table_is_empty(
    world: World, connect: Connect, schema: str
) -> None:
    service, owner = await connect("service"), await connect("owner")
    for table in await tables(owner, schema):
        assert await rows_of(owner, table) > 0, f"{table} is empty: this would prove nothing"
        assert await rows_of(service, table) == 0


async def test_empty_settings_and_those_of_others_show_nothing(
    world: World, connect: Connect, schema: str
) -> None:
    service, owner = await connect("service"), await connect("owner")
    for actor in (None, NEWCOMER, Actor("ki_"), Actor("___"), Actor("%"), Actor("ki", session="m")):
        await act_as(service, actor)
        for table in await tables(owner, schema):
            assert await rows_of(service, table) == 0
    await act_as(service, VICTIM)
    for table in await tables(owner, schema):
        assert await rows_of(service, table) > 0


async def test_every_table_with_a_scope_key_forces_its_policies(
    deployment: Deployment, connect: Connect, schema: str
) -> None:
    owner = await connect("owner")
    found = await (await owner.execute(TABLES_WITH_SCOPE, [schema])).fetchall()
    assert len(found) >= 8
    for table in found:
        assert (table["relrowsecurity"], table["relforcerowsecurity"]) == (True, True), table
        assert table["owner"] == "mnemic_owner"
        policies = await owner.execute(
            "select polname, polroles::regrole[]::text[] as roles, polcmd::text as commands,"
            " pg_get_expr(polqual, polrelid) = pg_get_expr(polwithcheck, polrelid) as both"
            " from pg_policy where polrelid = %s order by polname",
            [table["oid"]],
        )
        assert await policies.fetchall() == [
            {"polname": "maintenance", "roles": ["mnemic_owner"], "commands": "*", "both": True},
            {"polname": "own_scopes", "roles": ["mnemic_service"], "commands": "*", "both": True},
        ]
        key = await owner.execute(
            "select a.attname from pg_index i join pg_attribute a on a.attrelid = i.indrelid"
            " and a.attnum = i.indkey[0] where i.indrelid = %s",
            [table["oid"]],
        )
        assert {row["attname"] for row in await key.fetchall()} == {"scope_key"}, table


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
    assert every - set(await tables(owner, schema)) == SHARED


async def test_rows_cannot_be_written_into_the_scope_of_another(
    world: World, connect: Connect, schema: str
) -> None:
    service, owner = await connect("service"), await connect("owner")
    for table in await tables(owner, schema):
        name = sql.Identifier(table)
        query = sql.SQL(
            "select to_jsonb(t) as row from {} t where scope_key in ('user:kim', 'session:kim/s1') limit 1"
        )
        row = await (await owner.execute(query.format(name))).fetchone()
        assert row is not None
        insert = sql.SQL("insert into {0} select (jsonb_populate_record(null::{0}, %s)).*").format(
            name
        )
        for actor in (STRANGER, None):
            await act_as(service, actor)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await service.execute(insert, [Jsonb(row["row"])])
        await act_as(service, VICTIM)
        with pytest.raises(psycopg.errors.UniqueViolation):  # past the policy, and there already
            await service.execute(insert, [Jsonb(row["row"])])


async def test_a_row_cannot_be_moved_into_the_scope_of_another(
    world: World, connect: Connect
) -> None:
    service = await connect("service")
    await act_as(service, STRANGER)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await service.execute("update memory_item set scope_key = 'user:kim'")
    moved = await service.execute("update memory_item set scope_key = 'session:lee/s1'")
    assert moved.rowcount == 1


@pytest.mark.parametrize(
    "statement",
    [
        "update message set role = 'user'",
        "delete from message",
        "update app_user set status = 'active'",
        "delete from app_user",
        "update data_key set retired_at = null",
        "delete from data_key",
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


class Undo(Exception):
    """Leaves a transaction without a trace."""


async def outcome(deployment: Deployment, actor: Actor, statement: Any, params: Any) -> Any:
    """Return what a statement gives an actor: rows, a count of rows, or "refused"; nothing is kept."""
    result: Any = "refused"
    with suppress(Undo, PermissionDenied):
        async with deployment.database.transaction(actor) as tx:
            cursor = await tx.conn.execute(statement, params)
            result = await cursor.fetchall() if cursor.description else cursor.rowcount
            raise Undo
    return result


OF_ITS_OWN = {
    "items.insert", "items.ask", "messages.append", "messages.log_pass",
    "embedding.put_settings", "resources.add_turn", "resources.add_draft", "resources.add_document",
}  # fmt: skip
"""What writes a row that was not there, and so does something for anybody in his own scope."""


async def test_no_statement_reaches_the_rows_of_another_user(
    world: World, stub_memory: MemoryService
) -> None:
    deployment, void = stub_memory._parts.deployment, Actor("void", session="void")
    every, wrong = scoped_statements(), dict[str, Any]()
    for name, statement in every.items():
        of = NEWCOMER if name in FOR_NEWCOMERS else VICTIM
        aimed = parameters(name, world, of)
        own = await outcome(deployment, of, statement, aimed)
        others = await outcome(deployment, STRANGER, statement, aimed)
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


LOOK_ALIKES = [
    "kim", "kim_1", "kimA1", "KIM", "%", "_", "'", "/", ",", "kim/", "kim/s1", "kim,lee", "k%m", "kim%2F",
    "user:kim", "ｋｉｍ", "kìm", "к\u0456м", '"kim"', "\\", "kim\\", "{kim}", "kim;", "NULL", "kim s1",
]  # fmt: skip


async def test_pf_034_pf_070_ids_that_look_alike_never_meet(stub_memory: MemoryService) -> None:
    for user in LOOK_ALIKES:
        for actor, scope in ((Actor(user), "user"), (Actor(user, session="s1"), "session")):
            verdict = await stub_memory.add_explicit_memory(
                actor,
                f"A lighthouse keeper of row {LOOK_ALIKES.index(user)}",
                scope=scope,  # type: ignore[arg-type]
            )
            assert verdict.outcome == "stored", user
    for number, user in enumerate(LOOK_ALIKES):
        for session, most in ((None, 1), ("s1", 2), ("s2", 1)):
            page = await stub_memory.list(Actor(user, session=session))
            assert page.total == most, (user, session)
            assert {item.content for item in page.items} == {f"A lighthouse keeper of row {number}"}
        hits = await stub_memory.search_memories(Actor(user), "lighthouse keeper", k=50)
        assert [hit.item.owner_id for hit in hits] == [user]
    for left, user in enumerate(reversed(LOOK_ALIKES)):
        assert (await stub_memory.delete_all(Actor(user))).count == 2
        others = LOOK_ALIKES[: len(LOOK_ALIKES) - left - 1]
        assert [(await stub_memory.list(Actor(one))).total for one in others] == [1] * len(others)


async def test_pf_034_pf_070_white_space_is_trimmed_and_invisible_characters_are_refused(
    stub_memory: MemoryService,
) -> None:
    await stub_memory.add_explicit_memory(Actor("kim "), "I keep three goats")
    assert (await stub_memory.list(Actor("kim"))).total == 1
    with pytest.raises(InvalidInput):
        Actor("ki\u206am")


async def test_a_user_session_pair_is_no_other_pair(stub_memory: MemoryService) -> None:
    pairs = [("a", "b/c"), ("a/b", "c"), ("a", "b%2Fc"), ("a%2Fb", "c"), ("a,session:a", "b")]
    for user, session in pairs:
        await stub_memory.add_explicit_memory(
            Actor(user, session=session), "There is a harbour here", scope="session"
        )
    for user, session in pairs:
        assert (await stub_memory.list(Actor(user, session=session))).total == 1


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
