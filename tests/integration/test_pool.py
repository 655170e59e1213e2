"""Does a transaction begin on a living connection, end either way, and give the connection back?"""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import threading
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from conftest import Connect, Prepare, Server
from lost_sessions import end_sessions, sessions_of
from mnemic.deployment import Addresses, Deployment
from mnemic.errors import (
    ConfigurationError,
    InvalidInput,
    MnemicError,
    PermissionDenied,
    StorageError,
    StorageUnavailable,
)
from mnemic.model import Actor
from mnemic.settings import Settings
from mnemic.storage.halfvec import HalfVector
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements
from stub_embedder import StubEmbedder, curve

KIM = Actor("kim", session="s1")
FACTS = [
    "There is a pond in my garden",
    "Two cherry trees shade the garden in summer",
    "Hedgehogs sleep under the garden shed",
    "I water the garden before breakfast",
]
PASSWORD = "open" + "sesame" + "-" + "9"


def database(deployment: Deployment, server: Server, **more: Any) -> Database:
    given: dict[str, Any] = {"size": 4, "timeout": 10.0, "prepare": True}
    return Database(server.service, schema=deployment.database.schema, **(given | more))


@pytest.fixture
async def small(deployment: Deployment, server: Server) -> AsyncIterator[Database]:
    async with database(deployment, server, size=2, timeout=0.3) as opened:
        yield opened


async def ask(opened: Database, actor: Actor = KIM, seconds: float = 0.0) -> int:
    async with opened.transaction(actor) as tx:
        row = await tx.one("select pg_backend_pid() as pid, pg_sleep(%(s)s)", {"s": seconds})
    assert row is not None
    return int(row["pid"])


async def ask_together(opened: Database, number: int) -> list[int]:
    """Ask in so many transactions that are open at the same time, however busy the machine is."""
    inside = asyncio.Barrier(number)

    async def held() -> int:
        async with opened.transaction(KIM) as tx:
            row = await tx.one("select pg_backend_pid() as pid")
            await asyncio.wait_for(inside.wait(), 30)
        assert row is not None
        return int(row["pid"])

    return await asyncio.gather(*(held() for _ in range(number)))


@pytest.mark.parametrize("connections", [1, 4])
async def test_pf_116_sessions_that_died_between_two_requests_are_replaced(
    connections: int, deployment: Deployment, server: Server, connect: Connect
) -> None:
    async with database(deployment, server) as opened:
        before = set(await ask_together(opened, connections))
        assert len(before) == connections
        assert before <= set(sessions_of(opened))
        await end_sessions(connect, sessions_of(opened))
        assert await ask(opened) not in before
        after = await ask_together(opened, 4)
        assert len(set(after)) == 4
        assert not before & set(after)


async def test_pf_116_the_service_answers_after_all_its_sessions_died(
    settings: Settings, prepare: Prepare, connect: Connect
) -> None:
    from mnemic.service import MemoryService

    await prepare(settings, StubEmbedder(), curve())
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        await memory.add_explicit_memory(KIM, "I keep bees on the roof")
        for _ in range(3):
            await end_sessions(connect, sessions_of(memory._parts.deployment.database))
            assert (await memory.list(KIM)).total == 1


async def test_a_session_that_dies_inside_a_transaction_is_an_error_and_not_a_commit(
    small: Database, connect: Connect
) -> None:
    async def work(statement: str | None) -> None:
        async with small.transaction(KIM) as tx:
            await end_sessions(connect, sessions_of(small, tx))
            if statement:
                await tx.conn.execute(statement.encode())

    for statement in ("select 1", None):
        with pytest.raises(StorageUnavailable) as caught:
            await work(statement)
        assert caught.value.code == "database_unreachable"
        await ask(small)


async def test_an_error_of_our_own_is_not_hidden_by_a_lost_session(
    small: Database, connect: Connect
) -> None:
    async def work() -> None:
        async with small.transaction(KIM) as tx:
            await end_sessions(connect, sessions_of(small, tx))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await work()
    await ask(small)


async def test_a_failed_statement_that_was_caught_does_not_look_committed(
    small: Database, deployment: Deployment
) -> None:
    async def work() -> None:
        async with small.transaction(KIM) as tx:
            await deployment.keys.obtain(tx, KIM)
            with suppress(psycopg.errors.DivisionByZero):
                await tx.one("select 1 / 0")

    with pytest.raises(StorageError) as caught:
        await work()
    assert caught.value.code == "transaction_failed"
    async with small.transaction(KIM) as tx:
        assert not tx.known_user


async def test_what_came_behind_a_failed_statement_works_afterwards(
    deployment: Deployment, server: Server
) -> None:
    """The third use of a statement prepares it; here it is skipped, for the one before it failed."""
    async with database(deployment, server, size=1) as opened:
        with suppress(ZeroDivisionError):  # nothing was prepared yet
            async with opened.transaction(KIM):
                raise ZeroDivisionError
        for number in range(2):
            async with opened.transaction(KIM) as tx:
                await tx.run("select %(n)s::int", {"n": number})

        async def failing() -> None:
            async with opened.transaction(KIM) as tx:
                tx.later("select 1 / %(n)s::int", {"n": 0})
                tx.later("select %(n)s::int", {"n": 2})

        with pytest.raises(StorageError):
            await failing()
        async with opened.transaction(KIM) as tx:
            assert await tx.run("select %(n)s::int", {"n": 3}) == 1


async def test_an_exhausted_pool_says_busy_and_recovers(small: Database) -> None:
    sleepers = [asyncio.create_task(ask(small, seconds=0.8)) for _ in range(2)]
    await asyncio.sleep(0.2)
    with pytest.raises(StorageUnavailable) as caught:
        await ask(small)
    assert caught.value.code == "database_busy"
    assert "MNEMIC_POOL_SIZE" in caught.value.message
    await asyncio.gather(*sleepers)
    await ask(small)


async def test_fifty_transactions_share_four_connections(
    deployment: Deployment, server: Server
) -> None:
    users = [Actor(f"user{n}") for n in range(50)]

    async def first_contact(actor: Actor) -> int:
        async with opened.transaction(actor) as tx:
            await deployment.keys.obtain(tx, actor)
            row = await tx.one(
                "select pg_backend_pid() as pid, array(select user_id from app_user) as seen, pg_sleep(0.01)"
            )
        assert row is not None
        assert row["seen"] == [actor.user]
        return int(row["pid"])

    async with database(deployment, server) as opened:
        begun = time.monotonic()
        pids = await asyncio.gather(*map(first_contact, users))
        assert time.monotonic() - begun < 5
    assert 1 <= len(set(pids)) <= 4


async def test_pf_118_transactions_run_beside_each_other(
    deployment: Deployment, server: Server
) -> None:
    async with database(deployment, server, size=10) as opened:
        await asyncio.gather(*(ask(opened, seconds=0.05) for _ in range(10)))
        begun = time.monotonic()
        await asyncio.gather(*(ask(opened, seconds=0.2) for _ in range(20)))
        assert time.monotonic() - begun < 3.0, "one after another it takes four seconds"


def test_pf_122_another_event_loop_gets_a_clear_error_and_never_hangs(
    server: Server, schema: str
) -> None:
    settings = server.settings(schema)
    opened: list[Deployment] = []

    async def first() -> None:
        opened.append(await Deployment.start(settings))
        await ask(opened[0].database)

    async def second() -> None:
        for attempt in (ask(opened[0].database), opened[0].database.close()):
            with pytest.raises(InvalidInput) as caught:
                await asyncio.wait_for(attempt, 5)
            assert caught.value.code == "other_event_loop"

    loop = asyncio.new_event_loop()
    loop.run_until_complete(first())
    thread = threading.Thread(target=asyncio.run, args=(second(),))
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    asyncio.run(second())
    loop.run_until_complete(ask(opened[0].database))
    loop.run_until_complete(opened[0].close())
    loop.close()


async def test_a_database_that_was_not_opened_or_is_closed_says_so(
    deployment: Deployment, server: Server
) -> None:
    never = database(deployment, server)
    with pytest.raises(InvalidInput) as unopened:
        await ask(never)
    assert unopened.value.code == "service_not_open"
    await never.close()
    async with database(deployment, server) as opened:
        pass
    with pytest.raises(StorageUnavailable) as closed:
        await ask(opened)
    assert closed.value.code == "service_closed"
    await opened.close()


async def test_a_cancelled_transaction_rolls_back_and_gives_its_connection_back(
    deployment: Deployment, server: Server
) -> None:
    async def long_work(opened: Database) -> None:
        async with opened.transaction(KIM) as tx:
            await deployment.keys.obtain(tx, KIM)
            await tx.one("select pg_sleep(30)")

    async with database(deployment, server, size=1, timeout=2.0) as opened:
        for wait in (0.0, 0.001, 0.005, 0.02, 0.2):
            work = asyncio.create_task(long_work(opened))
            await asyncio.sleep(wait)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            async with opened.transaction(KIM) as tx:
                assert not tx.known_user


async def test_a_transaction_cancelled_twice_still_gives_its_connection_back(
    deployment: Deployment, server: Server
) -> None:
    async with database(deployment, server, size=1, timeout=2.0) as opened:
        for pause in (0.0, 0.001, 0.003):
            work = asyncio.create_task(ask(opened, seconds=30))
            await asyncio.sleep(0.1)
            work.cancel()
            await asyncio.sleep(pause)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            await ask(opened)


@pytest.mark.parametrize("again", [False, True])
async def test_who_is_cancelled_while_giving_back_leaves_the_connection_there(
    deployment: Deployment, server: Server, again: bool
) -> None:
    async with database(deployment, server, size=1, timeout=2.0) as opened:
        greet = statements("retrieval")["greet"]
        await opened.ask(KIM, greet, {})
        asked = asyncio.create_task(opened.ask(KIM, greet, {}))
        await asyncio.sleep(0)
        assert opened._busy
        async with opened._pool._lock:  # as when the pool makes or drops a connection meanwhile
            for _ in range(500):
                await asyncio.sleep(0.01)
                if opened._returning:
                    break
            for _ in range(1 + again):
                asked.cancel()
                await asyncio.sleep(0)
            with pytest.raises(asyncio.CancelledError):
                await asked
        await opened.ask(KIM, greet, {})
        assert not opened._returning


@pytest.mark.parametrize("wait", [0.0, 0.001, 0.005, 0.1])
async def test_a_cancelled_question_gives_its_connection_back(
    deployment: Deployment, server: Server, wait: float
) -> None:
    slow = (
        "select null as user_status, null as remember, pg_sleep(30)"
        " where %(asker)s <> %(asker_scopes)s"
    )
    async with database(deployment, server, size=1, timeout=2.0) as opened:
        for _ in range(3):
            asked = asyncio.create_task(opened.ask(KIM, slow, {}))
            await asyncio.sleep(wait)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            await opened.ask(KIM, statements("retrieval")["greet"], {})


async def test_an_exception_rolls_back(small: Database, deployment: Deployment) -> None:
    async def work() -> None:
        async with small.transaction(KIM) as tx:
            await deployment.keys.obtain(tx, KIM)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await work()
    async with small.transaction(KIM) as tx:
        assert not tx.known_user
        assert await deployment.keys.find(tx, KIM) is None


async def test_nobodys_transaction_sees_shared_tables_only(
    small: Database, deployment: Deployment
) -> None:
    async with small.transaction(KIM) as tx:
        await deployment.keys.obtain(tx, KIM)
    async with small.system() as tx:
        assert await tx.all("select 1 from app_user") == []
        assert len(await tx.all("select 1 from deployment")) == 1


async def test_a_vector_arrives_as_it_was_sent(small: Database) -> None:
    values = (0.5, -0.25, 65504.0, 0.0)
    async with small.system() as tx:
        row = await tx.one(
            "select %(v)s::real[] as floats, %(v)s::text as shown", {"v": HalfVector(values)}
        )
    assert row == {"floats": list(values), "shown": "[0.5,-0.25,65504,0]"}


@pytest.mark.parametrize("prepare", [True, False])
async def test_pf_119_statements_are_prepared_on_the_server_only_when_asked(
    prepare: bool, deployment: Deployment, server: Server
) -> None:
    async with database(deployment, server, size=1, prepare=prepare) as opened:
        for number in range(6):
            async with opened.transaction(KIM) as tx:
                await tx.one("select %(n)s::int as n", {"n": number})
        async with opened.system() as tx:
            row = await tx.one("select count(*) as n from pg_prepared_statements")
    assert row is not None
    assert (row["n"] > 0) == prepare


async def test_pf_119_the_whole_service_works_without_prepared_statements(
    server: Server, schema: str, prepare: Prepare
) -> None:
    from mnemic.service import MemoryService

    settings = server.settings(schema, prepare="off", pool_size=2)
    await prepare(settings, StubEmbedder(), curve())
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        for number, fact in enumerate(FACTS, 1):
            assert (await memory.add_explicit_memory(KIM, fact)).outcome == "stored"
            assert len(await memory.search_memories(KIM, "garden", k=10)) == number


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


BROKEN = {
    "refused": (f"postgresql://kim:{PASSWORD}@127.0.0.1:{{port}}/m", "database_unreachable"),
    "no such host": (f"postgresql://kim:{PASSWORD}@nowhere.invalid/m", "database_unreachable"),
    "no address": (f"postgresql://kim:{PASSWORD}@[::1/m", "bad_setting"),
    "bad option": (f"host=/tmp nosuchoption={PASSWORD}", "bad_setting"),
    "bad words": (f"password {PASSWORD}", "bad_setting"),
    "no database": ("{service} dbname=nowhere", "database_login_refused"),
    "no role": (f"{{service}} user=nobody_known password={PASSWORD}", "database_login_refused"),
}


@pytest.mark.parametrize("login", ["service", "owner"])
@pytest.mark.parametrize("name", BROKEN)
async def test_a_login_that_fails_says_what_to_do_and_never_the_password(
    name: str, login: str, server: Server, schema: str, deployment: Deployment
) -> None:
    address, code = BROKEN[name]
    url = address.format(port=free_port(), service=server.service)
    service, owner = (url, None) if login == "service" else (server.service, url)
    settings = server.settings(schema, database_url=service).model_copy(
        update={"migration_url": Settings.read(migration_url=owner).migration_url}
    )
    begun = time.monotonic()
    with pytest.raises(MnemicError) as caught:
        await Deployment.start(settings)
    assert time.monotonic() - begun < 8
    assert caught.value.code == code
    assert isinstance(
        caught.value, StorageUnavailable if "database" in code else ConfigurationError
    )
    variable = "MNEMIC_DATABASE_URL" if login == "service" else "MNEMIC_MIGRATION_URL"
    assert variable in caught.value.message
    shown = "".join(traceback.format_exception(caught.value)) + repr(settings) + repr(caught.value)
    assert PASSWORD not in shown


async def test_a_service_address_that_is_none_is_told_before_the_owner_works_with_it(
    server: Server, schema: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await Deployment.start(server.settings(schema, database_url=f"password {PASSWORD}"))
    assert caught.value.code == "bad_setting"
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


async def test_a_server_that_is_away_is_not_called_busy(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = f"postgresql://kim:{PASSWORD}@127.0.0.1:{free_port()}/m"
    async with Database(url, schema="t", size=2, timeout=0.3, prepare=True) as opened:
        with pytest.raises(StorageUnavailable) as caught:
            await ask(opened)
    assert caught.value.code == "database_unreachable"
    assert PASSWORD not in caplog.text
    assert PASSWORD not in repr(opened) + repr(Addresses(url, url)) + repr(vars(caught.value))


async def test_a_start_that_fails_leaves_no_connection_behind(
    deployment: Deployment, settings: Settings, connect: Connect
) -> None:
    await (await connect("owner")).execute("update schema_migration set sha256 = 'x'")
    before = psutil.Process().num_fds()
    for url in (settings.migration_url, None):
        with pytest.raises(ConfigurationError):
            await Deployment.start(settings.model_copy(update={"migration_url": url}))
    gc.collect()  # a connection that was dropped unclosed would warn here
    assert psutil.Process().num_fds() == before


async def test_an_erased_user_gets_no_transaction(deployment: Deployment, connect: Connect) -> None:
    async with deployment.database.transaction(KIM) as tx:
        await deployment.keys.obtain(tx, KIM)
    await (await connect("owner")).execute("update app_user set status = 'erased'")
    with pytest.raises(PermissionDenied) as caught:
        await ask(deployment.database)
    assert caught.value.code == "user_erased"
    await ask(deployment.database, Actor("lee"))
