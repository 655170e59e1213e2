"""Do Redis, a Redis Cluster and a Redis behind Sentinel hold what is asked of a window's Redis?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from services.conftest import require
from services.redises import CLI, SERVER, cluster, single, watched

pytest.register_assert_rewrite("window_contract")

from window_contract import *  # noqa: E402, F403
from window_contract import Ground  # noqa: E402

KINDS = {"redis": single, "cluster": cluster, "sentinel": watched}


@pytest.fixture(scope="module", params=KINDS)
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ground]:
    require(Path(SERVER).exists() and Path(CLI).exists(), "Redis")
    with KINDS[request.param](tmp_path_factory.mktemp(request.param)) as ground:
        yield ground


@pytest.fixture
async def ground(running: Ground) -> AsyncIterator[Ground]:
    """Each test begins with an empty one, and a client on its own event loop."""
    await running.flush()
    yield running
    await running.close()
