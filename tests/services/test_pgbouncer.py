"""Does everything work, and stay apart, where users share few sessions behind a transaction pooler?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import AsyncConnection, errors, sql

from mnemic import Actor, MemoryService, Turn
from mnemic.deployment import Deployment
from mnemic.errors import StorageError, StorageUnavailable
from mnemic.settings import Settings
from mnemic.storage.failures import translate
from mnemic.storage.migrate import migrations
from services.poolers import Pooler
from stub_embedder import StubEmbedder, curve

if TYPE_CHECKING:
    from conftest import Connect, Prepare, Server

WORDS = (
    "harbour",
    "lantern",
    "violin",
    "meadow",
    "puzzle",
    "anchor",
    "saddle",
    "velvet",
    "orchard",
    "copper",
)
QUERY = "bicycle, cellar, dinner or tea 茶"


def through(pooler: Pooler, server: Server, schema: str, **more: Any) -> Settings:
    """Settings that reach the server by the pooler with both logins."""
    given = {
        "database_url": pooler.url("service"),
        "migration_url": pooler.url("owner"),
        "prepare": "off",
        "pool_size": 20,
    }
    return server.settings(schema, **(given | more))


@pytest.fixture
async def by_pooler(
    server: Server, pooler: Pooler, schema: str, prepare: Prepare, request: pytest.FixtureRequest
) -> AsyncIterator[MemoryService]:
    """The service behind three sessions; the parameter is MNEMIC_PREPARE."""
    settings = through(pooler, server, schema, prepare=getattr(request, "param", "off"))
    await prepare(settings, StubEmbedder(), curve())
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        yield memory


@pytest.fixture
async def narrow(
    server: Server, narrow_pooler: Pooler, schema: str, prepare: Prepare
) -> AsyncIterator[MemoryService]:
    """The service behind one session."""
    settings = through(narrow_pooler, server, schema, pool_size=4)
    await prepare(settings, StubEmbedder(), curve())
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        yield memory


def base(word: str) -> str:
    return f"My bicycle is parked behind the {word}"


def texts_after(word: str) -> set[str]:
    """What a user of this word knows in the end."""
    return {
        f"My bicycle is parked in front of the {word}",
        f"The {word} key opens the cellar door",
        f"We eat dinner at the {word} table on Tuesdays",
        "我喜欢喝乌龙茶",
    }


async def five_requests(memory: MemoryService, word: str) -> list[Awaitable[Any]]:
    """Prepare a user, and return five requests of theirs that may run at once."""
    actor = Actor(word, session="s1")
    first = await memory.add_explicit_memory(actor, base(word))
    assert first.outcome == "stored"
    await memory.sessions.append(actor, [Turn("user", "记住：我喜欢喝乌龙茶")])
    updated, added, eaten = sorted(texts_after(word) - {"我喜欢喝乌龙茶"})
    return [
        memory.update(actor, first.id, content=updated),
        memory.add_explicit_memory(actor, added),
        memory.add_explicit_memory(actor, eaten),
        memory.search_memories(actor, QUERY, k=20),
        memory.extract(actor),
    ]


@pytest.mark.parametrize("by_pooler", ["off", "on"], indirect=True)
async def test_pf_119_fifty_requests_at_once_on_three_sessions(
    by_pooler: MemoryService, pooler: Pooler, schema: str, connect: Connect
) -> None:
    requests = [await five_requests(by_pooler, word) for word in WORDS]
    answers = await asyncio.gather(
        *(request for user in zip(*requests, strict=True) for request in user)
    )
    assert len(answers) == 50
    assert pooler.sessions() == 3
    found = answers[30:40]
    for word, hits in zip(WORDS, found, strict=True):
        assert {hit.content for hit in hits} <= texts_after(word) | {base(word)}
    for word in WORDS:
        items = (await by_pooler.list(Actor(word, session="s1"), status="current")).items
        assert {item.content for item in items} == texts_after(word)
    direct = await connect("superuser")
    row = await (
        await direct.execute(
            "select count(*) as rows, count(*) filter (where status = 'active') as current,"
            " count(distinct scope_key) as users from memory_item"
        )
    ).fetchone()
    assert row == {"rows": 50, "current": 40, "users": 10}


async def rows_of_nobody(conn: AsyncConnection[Any], schema: str) -> tuple[Any, ...] | None:
    """Return the session, and what it shows to a login that names no user."""
    query = sql.SQL(
        "select pg_backend_pid(), count(*), coalesce(current_setting('mnemic.scopes', true), ''),"
        " coalesce(current_setting('mnemic.sessions', true), '') from {}.memory_item"
    )
    return await (await conn.execute(query.format(sql.Identifier(schema)))).fetchone()


async def session_of(memory: MemoryService, actor: Actor) -> tuple[int, int]:
    """Return the session of a transaction, and how many items it shows to its user."""
    async with memory._parts.deployment.database.transaction(actor) as tx:
        row = await tx.one("select pg_backend_pid() as pid, count(*) as n from memory_item")
    assert row is not None
    return int(row["pid"]), int(row["n"])


async def test_pf_119_users_in_turn_on_one_session_see_their_own_only(
    narrow: MemoryService, narrow_pooler: Pooler, schema: str
) -> None:
    actors = {word: Actor(word, session="s1") for word in WORDS[:4]}
    for number, (word, actor) in enumerate(actors.items(), 1):
        for n in range(number):
            await narrow.add_explicit_memory(actor, f"Box {n} by the {word} holds {WORDS[-n - 1]}")
    sessions = set()
    async with await AsyncConnection.connect(
        narrow_pooler.url("service"), autocommit=True, prepare_threshold=None
    ) as nobody:
        for _ in range(3):
            for number, (word, actor) in enumerate(actors.items(), 1):
                hits = await narrow.search_memories(actor, "Which box holds what?", k=50)
                assert len(hits) == number
                assert all(f"by the {word} " in hit.content for hit in hits)
                session, seen = await session_of(narrow, actor)
                assert seen == number
                # the same session, just left by that user
                told = await rows_of_nobody(nobody, schema)
                assert told == (session, 0, "", "")
                sessions.add(session)
    assert len(sessions) == 1


@pytest.mark.parametrize("how", ["error", "cancelled"])
async def test_nothing_of_a_user_stays_when_a_request_breaks_off(
    how: str, narrow: MemoryService, narrow_pooler: Pooler, schema: str
) -> None:
    kim, lee = Actor("kim"), Actor("lee")
    await narrow.add_explicit_memory(kim, "My locker is by the harbour")
    database = narrow._parts.deployment.database

    async def break_off() -> None:
        async with database.transaction(kim) as tx:
            await tx.run("update memory_item set confidence = 0")
            await tx.one("select 1 / 0" if how == "error" else "select pg_sleep(20)")

    task = asyncio.create_task(break_off())
    await asyncio.sleep(0.3)
    task.cancel()
    with suppress(asyncio.CancelledError, StorageError):
        await task
    assert (await narrow.list(lee)).total == 0
    async with await AsyncConnection.connect(narrow_pooler.url("service")) as nobody:
        told = await rows_of_nobody(nobody, schema)
    assert told is not None
    assert told[1:] == (0, "", "")
    (item,) = (await narrow.list(kim)).items
    assert item.confidence > 0.5


async def test_pf_121_four_starters_at_once_migrate_through_the_pooler(
    server: Server, pooler: Pooler, schema: str, connect: Connect
) -> None:
    settings = through(pooler, server, schema)
    started = await asyncio.gather(*(Deployment.start(settings) for _ in range(4)))
    for deployment in started:
        await deployment.close()
    direct = await connect("superuser")
    rows = await (await direct.execute("select number from schema_migration order by 1")).fetchall()
    assert [row["number"] for row in rows] == [migration.number for migration in migrations()]
    locks = await direct.execute("select count(*) as n from pg_locks where locktype = 'advisory'")
    assert await locks.fetchone() == {"n": 0}


def test_pf_119_this_pooler_is_one_that_loses_prepared_statements(narrow_pooler: Pooler) -> None:
    def connection() -> psycopg.Connection[Any]:
        url = narrow_pooler.url("service")
        return psycopg.connect(url, autocommit=True, prepare_threshold=0)

    with connection() as first, connection() as second:
        assert first.execute("select 1").fetchone() == (1,)
        with pytest.raises(errors.DuplicatePreparedStatement) as caught:
            second.execute("select 2")
        second.execute("deallocate all", prepare=False)
        with pytest.raises(errors.InvalidSqlStatementName):
            first.execute("select 1")
    told = translate(caught.value)
    assert told.code == "database_error"
    assert "MNEMIC_PREPARE=off" in told.message


async def test_pf_119_a_service_that_may_prepare_notices_the_pooler(
    server: Server, narrow_pooler: Pooler, schema: str, prepare: Prepare
) -> None:
    settings = through(narrow_pooler, server, schema, prepare="on", pool_size=4)
    await prepare(settings, StubEmbedder(), curve())
    for _ in range(2):
        async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
            for number in range(4):
                await memory.add_explicit_memory(
                    Actor("kim"), f"Box {number} holds {WORDS[number]}"
                )
                await memory.search_memories(Actor("kim"), "box")
            async with memory._parts.deployment.database.system() as tx:
                row = await tx.one("select count(*) as n from pg_prepared_statements")
            assert row == {"n": 0}


async def test_a_pooler_without_a_free_session_does_not_answer_until_one_is_free(
    narrow: MemoryService,
) -> None:
    settings = narrow.settings.model_copy(update={"pool_timeout": 0.5})
    lee = Actor("lee")
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as other:
        async with narrow._parts.deployment.database.transaction(Actor("kim")) as tx:
            await tx.one("select 1")
            with pytest.raises(StorageUnavailable) as caught:
                await other.list(lee)
            # busy where a task in the background waits for the pooler with a connection of its own
            assert caught.value.code in ("database_unreachable", "database_busy")
        assert (await other.list(lee)).total == 0


async def test_what_a_pooler_says_while_all_sessions_are_taken(narrow_pooler: Pooler) -> None:
    url = narrow_pooler.url("service")
    with psycopg.connect(url) as holder, psycopg.connect(url, autocommit=True) as waiting:
        holder.execute("select 1")
        with pytest.raises(psycopg.OperationalError) as caught:
            waiting.execute("select 1")
    assert translate(caught.value).code == "database_unreachable"


@pytest.mark.parametrize(
    ("database", "code"),
    [("nowhere", "database_login_refused"), ("elsewhere", "database_unreachable")],
)
async def test_a_login_through_the_pooler_that_fails_says_why(
    database: str, code: str, server: Server, narrow_pooler: Pooler, schema: str
) -> None:
    url = narrow_pooler.url("service", database)
    settings = through(narrow_pooler, server, schema, database_url=url)
    alone = settings.model_copy(update={"migration_url": None})
    with pytest.raises(StorageUnavailable) as caught:
        await Deployment.start(alone)
    assert caught.value.code == code


async def test_a_wrong_password_is_refused_by_the_pooler(
    server: Server, narrow_pooler: Pooler, schema: str
) -> None:
    url = narrow_pooler.url("service").replace(":", ":x", 2).replace(":x//", "://")
    with pytest.raises(StorageUnavailable) as caught:
        await Deployment.start(
            server.settings(schema, database_url=url).model_copy(update={"migration_url": None})
        )
    assert caught.value.code == "database_login_refused"
