"""Does Mnemic work on a PostgreSQL that is not ours, reached by URL: version 17, 32 bits, one session?

Not covered here: passwords and several sessions at once, which this server has not (see pglite.mjs).
"""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql

from mnemic import Actor, MemoryService, Turn
from mnemic.deployment import Deployment
from mnemic.errors import ConfigurationError, NotFound
from mnemic.settings import Settings
from mnemic.storage.scripts import roles_script
from stub_embedder import StubEmbedder, curve

if TYPE_CHECKING:
    from conftest import Prepare

MNEMIC = Path(sys.executable).parent / "mnemic"
KIM, LEE = Actor("kim", session="s1"), Actor("lee", session="s1")


def url(address: str, login: str) -> str:
    return f"postgresql://{login}:{login}@{address}/postgres?sslmode=disable&gssencmode=disable"


@pytest.fixture(scope="module")
def prepared(pglite: str) -> str:
    """The server after an administrator's work (own-postgresql.md)."""
    lines = [line for line in roles_script().splitlines() if not line.startswith("--")]
    statements = [line for line in lines if not line.startswith("\\connect")]
    assert len(statements) == len(lines) - 1 == 4
    with psycopg.connect(url(pglite, "postgres"), autocommit=True) as admin:
        for statement in statements:
            admin.execute(statement.encode())
        # it has made the database, but nobody can connect to another one than the first
        (database,) = admin.execute("select current_database()").fetchone() or ("",)
        given = sql.SQL("alter database {} owner to mnemic_owner").format(sql.Identifier(database))
        admin.execute(given)
    return pglite


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys") / "pglite.key"


def settings(address: str, key_file: Path, schema: str, login: str = "mnemic_service") -> Settings:
    return Settings.read(
        database_url=url(address, login),
        migration_url=url(address, "mnemic_owner"),
        key_file=key_file,
        db_schema=schema,
        pool_size=1,
    )


def serving(given: Settings) -> Settings:
    """The settings of a process that has the service login only."""
    return given.model_copy(update={"migration_url": None})


def test_each_login_is_the_role_that_it_names(prepared: str) -> None:
    for login in ("mnemic_owner", "postgres", "mnemic_service"):
        with psycopg.connect(url(prepared, login), autocommit=True) as conn:
            row = conn.execute("select session_user::text, current_user::text").fetchone()
            assert row == (login, login)
            conn.execute("set search_path = nowhere")
    with psycopg.connect(url(prepared, "mnemic_service"), autocommit=True) as conn:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("create role another")
        assert conn.execute("show search_path").fetchone() == ('"$user", public',)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url(prepared, "nobody"))


def test_a_client_that_goes_without_a_word_takes_nobody_with_it(prepared: str) -> None:
    host, _, port = prepared.partition(":")
    for _ in range(5):
        with (
            socket.create_connection((host, int(port))) as first,
            socket.create_connection((host, int(port))) as waiting,
        ):
            for client in (first, waiting):
                client.sendall(struct.pack("!IIII", 16, 3 << 16, 0, 0)[:13])
                # closed by a reset
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with psycopg.connect(url(prepared, "postgres"), autocommit=True) as conn:
            assert conn.execute("select repeat('x', 300000)").fetchone() == ("x" * 300_000,)


def test_db_init_and_status_by_url(prepared: str, key_file: Path) -> None:
    environment = {
        "MNEMIC_DATABASE_URL": url(prepared, "mnemic_service"),
        "MNEMIC_MIGRATION_URL": url(prepared, "mnemic_owner"),
        "MNEMIC_KEY_FILE": str(key_file),
        "MNEMIC_POOL_SIZE": "1",
        "MNEMIC_SCHEMA": "by_command",
    }

    def run(*words: str) -> dict[str, object]:
        command = [str(MNEMIC), "db", *words, "--json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert isinstance(told, dict)
        return told

    assert run("init")["ready"] is True
    assert run("init")["ready"] is True
    status = run("status")
    assert status["pending"] == []
    assert str(status["server"]).startswith("PostgreSQL 17.")
    assert str(status["server"]).endswith("pgvector 0.8.0")


async def test_a_memory_lives_through_its_life_on_one_connection(
    prepared: str, key_file: Path, schema: str, prepare: Prepare
) -> None:
    given = settings(prepared, key_file, schema)
    await prepare(given, StubEmbedder(), curve())
    async with MemoryService.open(settings=serving(given), embedder=StubEmbedder()) as memory:
        first = await memory.add_explicit_memory(KIM, "My bicycle is parked at the station")
        unsure = await memory.add_explicit_memory(KIM, "我的办公室在四楼", confidence=0.75)
        again = await memory.add_explicit_memory(KIM, "My bicycle is parked at the station")
        assert (first.outcome, unsure.outcome, again.outcome) == ("stored", "pending", "duplicate")
        await memory.update(KIM, first.id, content="My bicycle is parked behind the library")
        await memory.confirm(KIM, unsure.id)
        await memory.sessions.append(KIM, [Turn("user", "记住：我喜欢喝乌龙茶")])
        assert (await memory.extract(KIM)).turns == 1
        hits = await memory.search_memories(KIM, "bicycle", k=1)
        assert [hit.content for hit in hits] == ["My bicycle is parked behind the library"]
        assert [hit.content for hit in await memory.search_memories(KIM, "办公室", k=1)] == [
            "我的办公室在四楼"
        ]
        assert (await memory.list(KIM)).total == 3
        assert len(await memory.history(KIM, first.id)) == 2

        assert (await memory.list(LEE)).total == 0
        assert list(await memory.search_memories(LEE, "bicycle")) == []
        with pytest.raises(NotFound):
            await memory.get(LEE, first.id)

        assert (await memory.delete(KIM, first.id)).count == 2
    async with MemoryService.open(settings=serving(given), embedder=StubEmbedder()) as memory:
        assert (await memory.list(KIM)).total == 2
        await memory.delete_all(KIM)
        assert (await memory.list(KIM, status="all")).total == 0


async def test_many_at_once_wait_for_the_one_connection(
    prepared: str, key_file: Path, schema: str, prepare: Prepare
) -> None:
    import asyncio

    given = settings(prepared, key_file, schema)
    await prepare(given, StubEmbedder(), curve())
    users = [Actor(f"user{n}") for n in range(10)]
    async with MemoryService.open(settings=serving(given), embedder=StubEmbedder()) as memory:
        await asyncio.gather(
            *(
                memory.add_explicit_memory(user, f"My locker is number {user.user}")
                for user in users
            )
        )
        pages = await asyncio.gather(*(memory.list(user) for user in users))
    assert [[item.content for item in page.items] for page in pages] == [
        [f"My locker is number {user.user}"] for user in users
    ]


@pytest.mark.parametrize("login", ["postgres", "mnemic_owner"])
async def test_a_login_that_could_see_everything_is_refused(
    login: str, prepared: str, key_file: Path, schema: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await Deployment.start(settings(prepared, key_file, schema, login))
    assert caught.value.code == "service_login_too_powerful"
