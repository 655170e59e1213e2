"""Does every starter find a ready schema, whoever else starts, and is a wrong server told in one sentence?"""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from conftest import Connect, Prepare, Server
from mnemic.deployment import Deployment
from mnemic.errors import ConfigurationError, MnemicError
from mnemic.model import Actor, Turn
from mnemic.settings import Settings
from mnemic.storage import migrate as migrating
from mnemic.storage.migrate import connect_owner, migrate, migrations, status
from stub_embedder import StubEmbedder, curve

STARTER = """
import asyncio
from mnemic.deployment import Deployment
from mnemic.settings import Settings

async def main():
    deployment = await Deployment.start(Settings.read())
    async with deployment.database.system() as tx:
        row = await tx.one("select kek_id from deployment")
    print(row["kek_id"], flush=True)
    await deployment.close()

asyncio.run(main())
"""


async def start_processes(settings: Settings, count: int) -> list[str]:
    """Start processes at once on one schema and return the key id that each of them saw."""
    assert settings.database_url is not None
    assert settings.migration_url is not None
    environment = {
        "PATH": os.environ["PATH"],
        "MNEMIC_DATABASE_URL": settings.database_url.get_secret_value(),
        "MNEMIC_MIGRATION_URL": settings.migration_url.get_secret_value(),
        "MNEMIC_KEY_FILE": str(settings.key_file),
        "MNEMIC_SCHEMA": settings.db_schema,
    }
    started = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            STARTER,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        for _ in range(count)
    ]
    told = [await process.communicate() for process in started]
    assert [process.returncode for process in started] == [0] * count, told
    return [out.decode().strip() for out, _ in told]


async def applied(connect: Connect) -> list[int]:
    owner = await connect("owner")
    rows = await (
        await owner.execute("select number from schema_migration order by number")
    ).fetchall()
    return [row["number"] for row in rows]


ALL = [migration.number for migration in migrations()]


@pytest.fixture
def schema() -> str:
    """A schema that is still to be made."""
    return f"t_{uuid4().hex[:12]}"


async def refusal(settings: Settings) -> MnemicError:
    """Return what a start says; the sentence must be one, and for people."""
    with pytest.raises(MnemicError) as caught:
        await Deployment.start(settings)
    assert caught.value.message.endswith(".")
    assert "\n" not in caught.value.message
    return caught.value


async def test_four_processes_at_once_on_an_empty_database(
    settings: Settings, connect: Connect
) -> None:
    keys = await start_processes(settings, 4)
    assert len(set(keys)) == 1
    assert await applied(connect) == ALL


async def test_pf_121_eight_starters_while_a_session_sits_idle_in_a_transaction(
    settings: Settings, server: Server, connect: Connect
) -> None:
    async with await psycopg.AsyncConnection.connect(server.superuser) as idle:
        await idle.execute("select count(*) from pg_class")
        begun = time.monotonic()
        await start_all(settings, 8)
        assert time.monotonic() - begun < 60
        assert await applied(connect) == ALL
        # and on the populated schema, whose tables the idle session has read meanwhile
        await idle.execute(
            sql.SQL("select count(*) from {}.memory_item").format(
                sql.Identifier(settings.db_schema)
            )
        )
        await start_all(settings, 8)
    assert await applied(connect) == ALL
    owner = await connect("owner")
    broken = await owner.execute("select count(*) as n from pg_index where not indisvalid")
    assert await broken.fetchone() == {"n": 0}


async def start_all(settings: Settings, count: int) -> None:
    """Start within this process: each starter has its own connections, which is what races."""
    for deployment in await asyncio.gather(*(Deployment.start(settings) for _ in range(count))):
        await deployment.close()


async def test_running_twice_applies_nothing_more(settings: Settings, server: Server) -> None:
    first = await migrate(server.owner, schema=settings.db_schema, service_role="mnemic_service")
    again = await migrate(server.owner, schema=settings.db_schema, service_role="mnemic_service")
    assert (first, again) == (ALL, [])


async def test_the_digest_on_record_is_that_of_the_file(settings: Settings, server: Server) -> None:
    await migrate(server.owner, schema=settings.db_schema, service_role="mnemic_service")
    async with await connect_owner(server.owner) as conn:
        recorded = await status(conn, settings.db_schema)
    assert recorded == {
        one.number: hashlib.sha256(one.sql.encode()).hexdigest() for one in migrations()
    }


async def test_a_schema_of_a_newer_version_is_left_alone(
    deployment: Deployment, settings: Settings, connect: Connect
) -> None:
    owner = await connect("owner")
    await owner.execute(
        "insert into schema_migration (number, name, sha256) values (9999, 'n', 'x')"
    )
    assert (await refusal(settings)).code == "schema_too_new"
    only_service = settings.model_copy(update={"migration_url": None})
    assert (await refusal(only_service)).code == "schema_too_new"


async def test_a_migration_whose_text_was_changed_is_refused(
    deployment: Deployment, settings: Settings, connect: Connect
) -> None:
    owner = await connect("owner")
    await owner.execute("update schema_migration set sha256 = repeat('0', 64)")
    assert (await refusal(settings)).code == "migration_changed"


async def test_a_server_that_is_too_old_is_named(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrating, "MINIMUM_POSTGRES", 990000)
    error = await refusal(settings)
    assert error.code == "postgres_too_old"
    assert error.message.endswith("this server is 18.")


async def test_a_pgvector_that_is_too_old_is_named(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrating, "MINIMUM_PGVECTOR", (99, 0))
    assert (await refusal(settings)).code == "pgvector_too_old"


async def test_a_service_alone_needs_a_prepared_schema(settings: Settings) -> None:
    error = await refusal(settings.model_copy(update={"migration_url": None}))
    assert error.code == "schema_missing"
    assert "mnemic db init" in error.message


@pytest.fixture
async def bare(server: Server) -> AsyncIterator[Any]:
    """A database of its own, without pgvector, and a way to make roles; both are removed again."""
    name, roles = f"bare_{uuid4().hex[:8]}", list[str]()
    async with await psycopg.AsyncConnection.connect(server.superuser, autocommit=True) as admin:
        await admin.execute(
            sql.SQL("create database {} owner mnemic_owner").format(sql.Identifier(name))
        )

        async def role(attributes: str) -> str:
            roles.append(f"r_{uuid4().hex[:8]}")
            made = sql.SQL("create role {} " + attributes).format(sql.Identifier(roles[-1]))
            await admin.execute(made)
            return roles[-1]

        yield name, role
        await admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))
        for made in roles:
            await admin.execute(sql.SQL("drop role {}").format(sql.Identifier(made)))


async def test_a_database_without_pgvector_says_so_to_both_logins(
    bare: Any, server: Server, schema: str
) -> None:
    service, owner = (
        psycopg.conninfo.make_conninfo(url, dbname=bare[0])
        for url in (server.service, server.owner)
    )
    error = await refusal(server.settings(schema, database_url=service, migration_url=owner))
    assert error.code == "pgvector_missing"
    alone = server.settings(schema, database_url=service).model_copy(update={"migration_url": None})
    begun = time.monotonic()
    assert (await refusal(alone)).code == "pgvector_missing"
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        (None, "service_login_missing"),
        ("login superuser", "service_login_too_powerful"),
        ("login bypassrls", "service_login_too_powerful"),
        ("login in role mnemic_owner", "service_login_too_powerful"),
        ("login in role postgres", "service_login_too_powerful"),
    ],
)
async def test_a_service_login_that_could_see_everything_is_refused(
    attributes: str | None, code: str, bare: Any, server: Server, schema: str
) -> None:
    role = await bare[1](attributes) if attributes else "nobody_of_this_name"
    with pytest.raises(ConfigurationError) as caught:
        await migrate(server.owner, schema=schema, service_role=role)
    assert caught.value.code == code
    assert role in caught.value.message


async def test_owner_and_superuser_are_refused_as_service_at_the_start(
    deployment: Deployment, settings: Settings, server: Server
) -> None:
    for url in (server.owner, server.superuser):
        alone = server.settings(settings.db_schema, database_url=url)
        error = await refusal(alone.model_copy(update={"migration_url": None}))
        assert error.code == "service_login_too_powerful"
        assert (await refusal(alone)).code == "service_login_too_powerful"


async def test_a_member_of_the_service_role_may_serve_and_others_may_not(
    deployment: Deployment, bare: Any, connect: Connect
) -> None:
    from mnemic.deployment import _SQL, _require_service

    conn = await connect("superuser")
    cases = {
        "in role mnemic_service": None,
        "": "service_login_not_admitted",
        "in role mnemic_owner": "service_login_too_powerful",
        "in role postgres": "service_login_too_powerful",
        "bypassrls": "service_login_too_powerful",
    }
    for attributes, code in cases.items():
        role = await bare[1](f"login {attributes}")
        await conn.execute(sql.SQL("set role {}").format(sql.Identifier(role)))
        found = await conn.execute(_SQL["service_login"], {"schema": deployment.database.schema})
        login = await found.fetchone()
        await conn.execute("reset role")
        if code is None:
            _require_service(login)
        else:
            with pytest.raises(ConfigurationError) as caught:
                _require_service(login)
            assert caught.value.code == code


async def test_an_owner_who_may_not_create_is_told_what_to_ask_for(
    server: Server, schema: str, connect: Connect
) -> None:
    admin = await connect("superuser")
    await admin.execute(sql.SQL("create schema {}").format(sql.Identifier(schema)))
    with pytest.raises(ConfigurationError) as caught:
        await migrate(server.owner, schema=schema, service_role="mnemic_service")
    assert caught.value.code == "schema_not_writable"
    assert schema in caught.value.message
    await admin.execute(
        sql.SQL("alter schema {} owner to mnemic_owner").format(sql.Identifier(schema))
    )
    assert await migrate(server.owner, schema=schema, service_role="mnemic_service") == ALL


async def test_pf_130_everything_works_in_a_schema_called_mem(
    server: Server, prepare: Prepare
) -> None:
    from mnemic.service import MemoryService

    settings = server.settings("mem")
    await prepare(settings, StubEmbedder(), curve())
    kim = Actor("kim", session="s1")
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        first = await memory.add_explicit_memory(kim, "My bicycle is parked at the station")
        unsure = await memory.add_explicit_memory(kim, "我的办公室在四楼", confidence=0.75)
        assert (first.outcome, unsure.outcome) == ("stored", "pending")
        assert (
            await memory.add_explicit_memory(kim, "My bicycle is parked at the station")
        ).outcome == "duplicate"
        await memory.confirm(kim, unsure.id)
        await memory.update(kim, first.id, content="My bicycle is parked behind the library")
        assert len(await memory.history(kim, first.id)) == 2
        assert (await memory.search_memories(kim, "bicycle"))[0].id == first.id
        assert await memory.build_context(kim, "Where is my bicycle?")
        await memory.sessions.append(kim, [Turn("user", "记住：我喜欢喝乌龙茶")])
        assert len(await memory.sessions.read(kim)) == 1
        assert (await memory.extract(kim)).turns == 1
        assert (await memory.check_rate_limit(kim)).used == 1
        assert await memory.questions(kim) == []
        assert (await memory.delete(kim, first.id)).count == 2
        await memory.delete_all(kim)
        assert (await memory.list(kim, status="all")).total == 0


async def test_pf_069_foreign_tables_are_left_alone(
    server: Server, schema: str, connect: Connect, prepare: Prepare
) -> None:
    from mnemic.service import MemoryService

    owner = await connect("owner")
    await owner.execute(sql.SQL("create schema {}").format(sql.Identifier(schema)))
    # in our schema, and in public under names that are ours
    admin = await connect("superuser")
    await owner.execute("create table foreign_table as select 42 as answer")
    await admin.execute("create table public.schema_migration as select 'theirs' as version")
    await admin.execute("grant select on public.schema_migration to public")
    try:
        settings = server.settings(schema)
        await prepare(settings, StubEmbedder(), curve())
        async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
            await memory.add_explicit_memory(Actor("kim"), "I have two cats")
            await memory.delete_all(Actor("kim"))
        theirs = await (
            await owner.execute("select version from public.schema_migration")
        ).fetchall()
        alone = await refusal(
            server.settings(f"{schema}_x").model_copy(update={"migration_url": None})
        )
    finally:
        await admin.execute("drop table public.schema_migration")
    foreign = await (await owner.execute("select answer from foreign_table")).fetchall()
    assert foreign == [{"answer": 42}]
    assert theirs == [{"version": "theirs"}]
    assert alone.code == "schema_missing"
