"""What do tests share? One embedded server for the whole run, and a schema of its own for each test.

Under pytest-xdist the controller makes the directory and every worker joins the same server.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from mnemic.deployment import Deployment
from mnemic.embedding.calibration import Curve, calibrate
from mnemic.embedding.local import LocalEncoder
from mnemic.embedding.protocol import Embedder
from mnemic.model import Actor
from mnemic.settings import Settings
from mnemic.storage.embedded import Joined, join

if TYPE_CHECKING:
    from mnemic.service import MemoryService

_RUN = "TEST_RUN_DIRECTORY"
Connection = psycopg.AsyncConnection[dict[str, Any]]
Connect = Callable[..., Awaitable[Connection]]
Prepare = Callable[[Settings, Embedder, Curve], Awaitable[None]]


def pytest_configure(config: pytest.Config) -> None:
    for name in [name for name in os.environ if name.startswith(("MNEMIC_", "MEMORY_"))]:
        del os.environ[name]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if not hasattr(config, "workerinput"):
        os.environ[_RUN] = tempfile.mkdtemp(prefix="memory-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(_RUN), ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Server:
    """The shared server and the key file beside its data."""

    joined: Joined
    data_dir: Path
    key_file: Path

    @property
    def owner(self) -> str:
        return self.joined.url("owner")

    @property
    def service(self) -> str:
        return self.joined.url("service")

    @property
    def superuser(self) -> str:
        return self.joined.url("bootstrap")

    def settings(self, schema: str, **more: object) -> Settings:
        """Return settings that reach this server by URL, as in production."""
        given: dict[str, object] = {
            "database_url": self.service,
            "migration_url": self.owner,
            "key_file": self.key_file,
            "db_schema": schema,
        }
        return Settings.read(**(given | more))


@pytest.fixture(scope="session")
def stub_path() -> str:
    """The directory that another process needs on its path for the stubs."""
    return str(Path(__file__).parent)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The one server of this run."""
    home = Path(os.environ[_RUN])
    joined = join(home / "data")
    with psycopg.connect(joined.url("bootstrap"), autocommit=True) as conn:
        # nothing here has to outlive a power cut
        conn.execute("alter system set fsync = off")
        conn.execute("alter system set synchronous_commit = off")
        conn.execute("select pg_reload_conf()")
    yield Server(joined, home / "data", home / "keys" / "test.key")
    joined.leave()


@pytest.fixture
def schema() -> str:
    """A schema name that no other test has."""
    return f"t_{uuid4().hex[:12]}"


@pytest.fixture
def settings(server: Server, schema: str) -> Settings:
    """Settings with both logins, for a schema that is still to be made."""
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
