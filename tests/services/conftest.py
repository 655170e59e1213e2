"""Which servers do these tests start? PgBouncer before the shared PostgreSQL, and PGlite."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from services.poolers import PROGRAM, Pooler, started

if TYPE_CHECKING:
    from conftest import Server

HERE = Path(__file__).parent
MODULES = HERE.parents[1] / ".venv" / "services"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.services)


def require(present: bool, what: str) -> None:
    if not present:
        pytest.fail(f"{what} is not installed: run `make install-services` as root first.")


@pytest.fixture
def schema() -> str:
    """A schema that is still to be made, in the database that the poolers lead to."""
    return f"t_{uuid4().hex[:12]}"


@pytest.fixture(scope="session")
def pooler(server: Server) -> Iterator[Pooler]:
    """PgBouncer with three sessions, whoever logs in."""
    require(PROGRAM.exists(), "PgBouncer")
    with started(server, size=3) as running:
        yield running


@pytest.fixture(scope="session")
def narrow_pooler(server: Server) -> Iterator[Pooler]:
    """PgBouncer with one session, for which a query waits one second."""
    require(PROGRAM.exists(), "PgBouncer")
    with started(server, size=1, wait=1) as running:
        yield running


@pytest.fixture(scope="module")
def pglite() -> Iterator[str]:
    """HOST:PORT of a PostgreSQL in WebAssembly, empty but for its database and user ``postgres``."""
    node = shutil.which("node")
    require(node is not None and (MODULES / "node_modules").is_dir(), "PGlite")
    assert node is not None
    with subprocess.Popen(
        [node, str(HERE / "pglite.mjs"), str(MODULES)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        word, _, address = process.stdout.readline().strip().partition(" ")
        assert word == "listening"
        yield address
        process.stdin.close()
        assert process.wait(20) == 0
