"""Does a start that fails, or that nobody waits for any longer, leave nothing running behind?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic import deployment as deploying
from mnemic.deployment import Addresses, Deployment, locate
from mnemic.errors import ConfigurationError, KeyUnavailable, StorageUnavailable
from mnemic.settings import Settings
from mnemic.storage import postmaster
from mnemic.storage.embedded import Joined
from mnemic.storage.embedded import join as real_join


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory of its own, whose server these tests start and stop."""
    home = tmp_path_factory.mktemp("embedded")
    yield home
    postmaster.stop(home / "data" / "postgres")


@pytest.fixture
def embedded(home: Path) -> Settings:
    return Settings.read(data_dir=home / "data", key_file=home / "keys" / "k")


def is_running(home: Path) -> bool:
    return postmaster.find(home / "data" / "postgres") is not None


async def test_a_start_and_a_close_leave_no_server(embedded: Settings, home: Path) -> None:
    opened = await Deployment.start(embedded)
    assert is_running(home)
    assert (await opened.server_version()).startswith("PostgreSQL 18")
    assert opened.key_file == home / "keys" / "k"
    await opened.close()
    await opened.close()
    assert not is_running(home)


async def test_a_wrong_key_leaves_no_server(embedded: Settings, home: Path) -> None:
    await (await Deployment.start(embedded)).close()
    elsewhere = embedded.model_copy(update={"key_file": home / "elsewhere"})
    with pytest.raises(KeyUnavailable) as caught:
        await Deployment.start(elsewhere)
    assert caught.value.code == "key_file_missing"
    assert not is_running(home)


@pytest.mark.parametrize("step", ["initialise", "_require_answer", "_verified"])
@pytest.mark.parametrize(
    "failure", [StorageUnavailable("x", "X."), asyncio.CancelledError(), KeyboardInterrupt()]
)
async def test_whatever_step_fails_leaves_no_server(
    step: str,
    failure: BaseException,
    embedded: Settings,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(*args: Any) -> None:
        raise failure

    monkeypatch.setattr(deploying, step, fail)
    with pytest.raises(type(failure)):
        await Deployment.start(embedded)
    assert not is_running(home)


async def test_a_start_cancelled_while_the_server_starts_leaves_no_server(
    embedded: Settings, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow_join(data_dir: Path) -> Joined:
        loop.call_soon_threadsafe(reached.set)
        time.sleep(0.2)
        return real_join(data_dir)

    monkeypatch.setattr(deploying, "join", slow_join)
    start = asyncio.create_task(Deployment.start(embedded))
    await reached.wait()
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert not is_running(home)


async def test_a_pool_that_cannot_close_still_leaves_the_server(
    embedded: Settings, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = await Deployment.start(embedded)

    async def fail() -> None:
        raise StorageUnavailable("x", "X.")

    with monkeypatch.context() as patched:
        patched.setattr(opened.database._pool, "close", fail)
        with pytest.raises(StorageUnavailable):
            await opened.close()
    assert not is_running(home)
    await opened.close()


async def test_an_owner_without_a_service_is_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        await locate(Settings.read(migration_url="postgresql://db/m"))
    assert caught.value.code == "database_url_missing"


def test_addresses_show_no_password() -> None:
    word = "open" + "sesame"
    url = f"postgresql://kim:{word}@db/m"
    assert word not in repr(Addresses(url, url))
