"""Does it matter in which schema a provider has put pgvector?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg
import pytest
from psycopg import AsyncConnection, sql
from psycopg.conninfo import make_conninfo

from mnemic import Actor, MemoryService, Turn
from mnemic.deployment import Deployment
from mnemic.errors import ConfigurationError
from mnemic.settings import Settings
from stub_embedder import StubEmbedder, curve

if TYPE_CHECKING:
    from conftest import Prepare, Server

KIM = Actor("kim", session="s1")
OURS = "mem"


@pytest.fixture
async def hosted(server: Server) -> AsyncIterator[str]:
    """The name of a database of its own, without pgvector."""
    name = f"hosted_{uuid4().hex[:8]}"
    async with await AsyncConnection.connect(server.superuser, autocommit=True) as admin:
        made = sql.SQL("create database {} owner mnemic_owner")
        await admin.execute(made.format(sql.Identifier(name)))
        yield name
        await admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


async def install(server: Server, database: str, home: str, *users: str) -> None:
    """Put pgvector into a schema as a provider does, for these logins to use."""
    url = make_conninfo(server.superuser, dbname=database)
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as admin:
        schema = sql.Identifier(home)
        await admin.execute(sql.SQL("create schema if not exists {}").format(schema))
        await admin.execute(sql.SQL("create extension vector schema {}").format(schema))
        for user in users:
            grant = sql.SQL("grant usage on schema {} to {}")
            await admin.execute(grant.format(schema, sql.Identifier(user)))


def settings(server: Server, database: str) -> Settings:
    return server.settings(
        OURS,
        database_url=make_conninfo(server.service, dbname=database),
        migration_url=make_conninfo(server.owner, dbname=database),
    )


@pytest.mark.parametrize("home", ["extensions", "Hosted Extensions", "public"])
async def test_everything_works_wherever_pgvector_lies(
    home: str, server: Server, hosted: str, prepare: Prepare
) -> None:
    await install(server, hosted, home, "mnemic_owner", "mnemic_service")
    await lives(settings(server, hosted), prepare)


async def test_everything_works_where_pgvector_lies_in_our_own_schema(
    server: Server, hosted: str, prepare: Prepare
) -> None:
    url = make_conninfo(server.owner, dbname=hosted)
    async with await AsyncConnection.connect(url, autocommit=True) as owner:
        await owner.execute(sql.SQL("create schema {}").format(sql.Identifier(OURS)))
    await install(server, hosted, OURS)
    await lives(settings(server, hosted), prepare)


async def lives(given: Settings, prepare: Prepare) -> None:
    """Prepare the schema, and let a memory live through its life as the service alone."""
    await prepare(given, StubEmbedder(), curve())
    alone = given.model_copy(update={"migration_url": None})
    async with MemoryService.open(settings=alone, embedder=StubEmbedder()) as memory:
        first = await memory.add_explicit_memory(KIM, "My bicycle is parked at the station")
        again = await memory.add_explicit_memory(KIM, "My bicycle is parked at the station")
        assert (first.outcome, again.outcome) == ("stored", "duplicate")
        await memory.update(KIM, first.id, content="My bicycle is parked behind the library")
        await memory.sessions.append(KIM, [Turn("user", "记住：我喜欢喝乌龙茶")])
        await memory.extract(KIM)
        (hit,) = await memory.search_memories(KIM, "bicycle", k=1)
        assert hit.content == "My bicycle is parked behind the library"
        assert (await memory.list(KIM)).total == 2
        await memory.delete_all(KIM)
        assert (await memory.list(KIM, status="all")).total == 0


@pytest.mark.parametrize(
    ("admitted", "refused"),
    [("mnemic_service", "mnemic_owner"), ("mnemic_owner", "mnemic_service")],
)
async def test_a_login_that_may_not_use_that_schema_is_told_what_to_ask_for(
    admitted: str, refused: str, server: Server, hosted: str
) -> None:
    await install(server, hosted, "extensions", admitted)
    with pytest.raises(ConfigurationError) as caught:
        await Deployment.start(settings(server, hosted))
    assert caught.value.code == "pgvector_missing"
    assert f"GRANT USAGE ON SCHEMA extensions TO {refused}" in caught.value.message
