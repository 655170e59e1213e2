"""What do tests share? One embedded server for each worker of pytest-xdist, and nothing in it.

Each test has a database of its own, copied from one whose schema is ready. Files of a run lie in memory where
there is enough, for a cluster is a thousand small files; all of them are gone when the run ends.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest
from hypothesis import HealthCheck
from hypothesis import settings as trials
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from mnemic.deployment import Deployment
from mnemic.embedding.calibration import Curve, calibrate
from mnemic.embedding.local import LocalEncoder
from mnemic.embedding.protocol import Embedder
from mnemic.model import Actor
from mnemic.settings import Settings
from mnemic.storage.embedded import Joined, join
from mnemic.storage.migrate import migrate

if TYPE_CHECKING:
    from mnemic.service import MemoryService

_RUN = "TEST_RUN_DIRECTORY"
_MEMORY = Path("/dev/shm")
_ENOUGH = 6 << 30
"""Bytes that must be free in memory for a run to lie there."""
_MAIN = "mnemic"
_READY = "ready"
_SCHEMA = "tested"
_QUICK = ("fsync", "full_page_writes", "synchronous_commit", "autovacuum")
"""What no test needs: nothing has to outlive a power cut, and plans must not change by the hour."""
trials.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)  # a busy machine is no defect
trials.load_profile("patient")
Connection = psycopg.AsyncConnection[dict[str, Any]]
Connect = Callable[..., Awaitable[Connection]]
Prepare = Callable[[Settings, Embedder, Curve], Awaitable[None]]


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    for name in [name for name in os.environ if name.startswith(("MNEMIC_", "MEMORY_", "AWS_"))]:
        del os.environ[name]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if not hasattr(config, "workerinput"):
        os.environ[_RUN] = _made()
        if config.option.basetemp is None:
            config.option.basetemp = str(Path(os.environ[_RUN]) / "t")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(_RUN), ignore_errors=True)


def _made() -> str:
    """Make the directory of this run, in memory if there is enough; runs that were killed left theirs.

    Its name is short: sockets lie below it.
    """
    usable = os.access(_MEMORY, os.W_OK | os.X_OK)
    place = _MEMORY if usable else Path(tempfile.gettempdir())
    for left in place.glob("mt-*-*"):
        if not psutil.pid_exists(int(left.name.split("-")[1])):
            shutil.rmtree(left, ignore_errors=True)
    if usable and shutil.disk_usage(_MEMORY).free < _ENOUGH:
        place = Path(tempfile.gettempdir())
    return tempfile.mkdtemp(prefix=f"mt-{os.getpid()}-", dir=place)


def make_quick(joined: Joined) -> None:
    """Let a server of tests forget what only matters after a crash of the machine."""
    with psycopg.connect(joined.url("bootstrap"), autocommit=True) as conn:
        for name in _QUICK:
            conn.execute(sql.SQL("alter system set {} = off").format(sql.Identifier(name)))
        conn.execute("alter system set max_wal_size = '256MB'")
        conn.execute("select pg_reload_conf()")


@dataclass(slots=True)
class Server:
    """This worker's server, the key file beside its data, and the database that its addresses lead to."""

    joined: Joined
    data_dir: Path
    key_file: Path
    database: str = _MAIN
    pooler: str | None = None
    """Where a pooler answers the service login, before the name of the database; None for none."""
    _left: list[str] = field(default_factory=list)

    @property
    def owner(self) -> str:
        return replace(self.joined, database=self.database).url("owner")

    @property
    def service(self) -> str:
        return replace(self.joined, database=self.database).url("service")

    @property
    def superuser(self) -> str:
        return replace(self.joined, database=self.database).url("bootstrap")

    @contextmanager
    def copied(self) -> Iterator[str]:
        """Let all addresses lead to a new database with a ready schema, whose name is given."""
        name = f"test_{uuid4().hex[:12]}"
        self._remove_left()
        self._administer(
            "create database {} template {} owner mnemic_owner strategy wal_log", name, _READY
        )
        self.database = name
        yield _SCHEMA
        self.database = _MAIN
        self._left.append(name)

    @contextmanager
    def duplicated(self) -> Iterator[None]:
        """Let all addresses lead to a copy of the test's database, which nobody may be using."""
        original, copy = self.database, f"test_{uuid4().hex[:12]}"
        self._administer("create database {} template {} owner mnemic_owner", copy, original)
        self.database = copy
        yield
        self.database = original
        self._left.append(copy)

    def prepare(self) -> None:
        """Make the database that those of tests are copied from."""
        self._administer("create database {} template {} owner mnemic_owner", _READY, _MAIN)
        address = replace(self.joined, database=_READY).url("owner")
        asyncio.run(migrate(address, schema=_SCHEMA, service_role="mnemic_service"))

    def _remove_left(self) -> None:
        """Remove the databases of earlier tests: their sessions need a moment to go."""
        while self._left:
            self._administer("drop database {} with (force)", self._left.pop())

    def _administer(self, statement: str, *names: str) -> None:
        address = replace(self.joined, database="postgres").url("bootstrap")
        with psycopg.connect(address, autocommit=True) as conn:
            conn.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

    def settings(self, schema: str, **more: object) -> Settings:
        """Return settings that reach this server by URL, as in production."""
        given: dict[str, object] = {
            "database_url": self.service,
            "migration_url": self.owner,
            "key_file": self.key_file,
            "db_schema": schema,
        }
        if self.pooler is not None:
            given |= {"database_url": f"{self.pooler}/{self.database}", "prepare": "off"}
        return Settings.read(**(given | more))


@pytest.fixture(scope="session")
def stub_path() -> str:
    """The directory that another process needs on its path for the stubs."""
    return str(Path(__file__).parent)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The one server of this worker."""
    home = Path(os.environ[_RUN]) / os.environ.get("PYTEST_XDIST_WORKER", "all")
    joined = join(home / "data")
    make_quick(joined)
    found = Server(joined, home / "data", home / "keys" / "test.key")
    found.prepare()
    yield found
    joined.leave()


@pytest.fixture
def schema(server: Server) -> Iterator[str]:
    """The migrated schema of a database that no other test has; ``server`` leads there meanwhile."""
    with server.copied() as name:
        yield name


@pytest.fixture
def settings(server: Server, schema: str) -> Settings:
    """Settings with both logins, for the test's schema."""
    return server.settings(schema)


@pytest.fixture
async def deployment(settings: Settings) -> AsyncIterator[Deployment]:
    """A prepared schema with its pool and keys."""
    opened = await Deployment.start(settings)
    yield opened
    await opened.close()


@pytest.fixture
async def connect(server: Server, schema: str) -> AsyncIterator[Connect]:
    """Open a bare connection ("owner", "service" or "superuser") that looks into the test's schema."""
    async with AsyncExitStack() as stack:

        async def opened(role: str, **more: Any) -> Connection:
            conn = await psycopg.AsyncConnection.connect(
                getattr(server, role),
                autocommit=True,
                row_factory=dict_row,
                options=f"-c search_path={schema},public",
                **more,
            )
            return await stack.enter_async_context(conn)

        yield opened


@pytest.fixture(scope="session")
def encoder() -> Iterator[LocalEncoder]:
    """The real encoder, loaded once."""
    shared = LocalEncoder()
    yield shared
    asyncio.run(shared.aclose())


@pytest.fixture(scope="session")
def encoder_curve(encoder: LocalEncoder) -> Curve:
    """What the cosines of the real encoder mean, measured once."""
    return asyncio.run(calibrate(encoder))


async def adopt(settings: Settings, embedder: Embedder, curve: Curve) -> None:
    """Prepare the schema and put the model's known curve there, so that no test calibrates again."""
    deployment = await Deployment.start(settings)
    async with deployment.database.system() as tx:
        await tx.run(
            "insert into embedding_model (name, dims, calibration)"
            " values (%(name)s, %(dims)s, %(calibration)s) on conflict (name, dims) do nothing",
            {
                "name": embedder.name,
                "dims": embedder.dims,
                "calibration": Jsonb(curve.to_json()),
            },
        )
    await deployment.close()


@pytest.fixture
def prepare() -> Prepare:
    """``adopt``, for tests that open services themselves."""
    return adopt


@pytest.fixture
async def memory(
    settings: Settings, encoder: LocalEncoder, encoder_curve: Curve
) -> AsyncIterator[MemoryService]:
    """The whole service with the real encoder, in a schema of its own."""
    from mnemic.service import MemoryService

    await adopt(settings, encoder, encoder_curve)
    async with MemoryService.open(settings=settings, embedder=encoder) as service:
        yield service


@pytest.fixture
async def stub_memory(settings: Settings) -> AsyncIterator[MemoryService]:
    """The whole service where meaning does not matter."""
    from mnemic.service import MemoryService
    from stub_embedder import StubEmbedder, curve

    await adopt(settings, StubEmbedder(), curve())
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as service:
        yield service


@pytest.fixture
def actor() -> Actor:
    """A user in a session."""
    return Actor("kim", session="s1")
