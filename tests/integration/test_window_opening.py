"""Does a service find its windows by its settings, and do without where there is no Redis to be had?"""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.consent import alone
from mnemic.deployment import Deployment
from mnemic.errors import ConfigurationError
from mnemic.model import Actor, Turn
from mnemic.session.messages import MessageLog
from mnemic.session.window import Bounds, Window
from mnemic.session.window_opening import Windows, open_windows
from mnemic.settings import Settings
from mnemic.storage import redis_client, valkey, valkey_process


async def conversed(deployment: Deployment, windows: Windows) -> Window:
    log = MessageLog(deployment.database, deployment.keys)
    window = Window(deployment.database, deployment.keys, windows.store, log)
    actor = Actor("kim", session="s1")
    await window.append(actor, [Turn("user", "hello")])
    for _ in range(3):
        assert [turn.content for turn in await window.read(actor)] == ["hello"]
    assert await window.with_vectors(actor) == [((await log.read(actor))[0], None)]
    assert await window.pin(actor, [1]) == 1
    await window.drop(actor)
    async with alone(deployment.database, actor) as tx:
        names = await window.names(tx, actor)
    await window.remove(names)
    return window


async def test_the_embedded_valkey_is_joined_and_left(
    deployment: Deployment, tmp_path: Path
) -> None:
    settings = Settings.read(window_turns=50, window_bytes=20_000, window_ttl=60)
    windows = await open_windows(settings, tmp_path / "data")
    assert windows.store is not None
    assert windows.store.bounds == Bounds(50, 20_000, 60)
    window = await conversed(deployment, windows)
    assert window.counts.hits == 3
    assert not window.away
    place = tmp_path / "data" / "run" / "socket"
    assert valkey_process.alive(place)
    await windows.close()
    await windows.close()
    assert not valkey_process.alive(place)


async def test_a_configured_redis_that_is_not_there_yet_stops_nothing(
    deployment: Deployment, tmp_path: Path
) -> None:
    windows = await open_windows(Settings.read(redis_url="redis://127.0.0.1:1/0"), tmp_path)
    assert windows.joined is None
    window = await conversed(deployment, windows)
    assert window.away
    assert window.counts.away == 4
    assert window.counts.hits == 0
    assert window.counts.misses == 4
    await windows.close()
    with pytest.raises(ConfigurationError, match="redis_url_invalid"):
        await open_windows(Settings.read(redis_url="memcached://127.0.0.1"), tmp_path)


async def test_without_redis_and_without_the_wheel_everything_comes_from_the_log(
    deployment: Deployment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert await open_windows(Settings.read(), None) == Windows()
    monkeypatch.setattr(valkey, "find_spec", lambda name: None)
    windows = await open_windows(Settings.read(), tmp_path / "data")
    assert windows == Windows()
    assert "embedded_not_installed" in caplog.text
    monkeypatch.setattr(redis_client, "find_spec", lambda name: None)
    assert await open_windows(Settings.read(), tmp_path / "data") == Windows()
    assert "redis_not_installed" in caplog.text
    with pytest.raises(ConfigurationError, match="redis_not_installed"):
        await open_windows(Settings.read(redis_url="redis://127.0.0.1:1/0"), None)
    window = await conversed(deployment, windows)
    assert window.away
    await window.close()
    await windows.close()
