"""Does the embedded Valkey hold what is asked of a window's Redis?"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from mnemic.storage.valkey import JoinedValkey, join_valkey

pytest.register_assert_rewrite("window_contract")

import window_contract  # noqa: E402
from window_contract import *  # noqa: E402, F403


class Embedded:
    """The shared embedded server; each test begins with an empty one."""

    def __init__(self, joined: JoinedValkey, bare: Redis) -> None:
        self.url = joined.url
        self.revive = joined.revive
        self.bare = bare

    async def keys(self) -> list[bytes]:
        return list(await self.bare.keys("*"))

    async def close(self) -> None:
        """The client outlives a restart."""

    async def flush(self) -> None:
        await self.bare.flushall()

    async def kill(self) -> None:
        pid = (await self.bare.info("server"))["process_id"]
        os.kill(pid, signal.SIGKILL)

    async def restore(self) -> None:
        """Whoever notices starts it again; here somebody does."""
        await asyncio.to_thread(self.revive)


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JoinedValkey]:
    server = join_valkey(tmp_path_factory.mktemp("window") / "data")
    yield server
    server.leave()


@pytest.fixture
async def ground(joined: JoinedValkey) -> AsyncIterator[Embedded]:
    joined.revive()
    async with Redis(unix_socket_path=str(joined.socket)) as bare:
        await bare.flushall()
        yield Embedded(joined, bare)


def test_the_contract_is_not_empty() -> None:
    assert sum(name.startswith("test_") for name in vars(window_contract)) > 20
    assert Path(window_contract.__file__).exists()
