"""Does the blocking twin do the same, from any thread, and does an open service leave nothing behind?"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mnemic import Actor, InvalidInput, MemoryService, SyncMemoryService, Turn
from mnemic.embedding.calibration import Curve
from mnemic.errors import ConfigurationError
from mnemic.settings import Settings
from stub_embedder import StubEmbedder, curve

KIM = Actor("kim", session="s1")


@pytest.fixture
def ready(settings: Settings, prepare: Any) -> Settings:
    asyncio.run(prepare(settings, StubEmbedder(), curve()))
    return settings


def open_sync(settings: Settings) -> SyncMemoryService:
    return SyncMemoryService.open(settings=settings, embedder=StubEmbedder())


def test_every_method_and_part_works_blocking(ready: Settings) -> None:
    with open_sync(ready) as memory:
        verdict = memory.add_explicit_memory(KIM, "The blue box holds the cables")
        assert memory.get(KIM, verdict.id).content == "The blue box holds the cables"
        assert [hit.id for hit in memory.search_memories(KIM, "cables")] == [verdict.id]
        assert memory.sessions.append(KIM, [Turn("user", "hello there")]) == [1]
        assert [turn.content for turn in memory.sessions.read(KIM)] == ["hello there"]
        assert memory.extract(KIM).turns == 1
        assert memory.key_file == ready.key_file
        assert memory.settings is ready
        assert "cables" in memory.format_memories_for_prompt(memory.search_memories(KIM, "cables"))
        assert memory.delete(KIM, verdict.id).count == 1
        with pytest.raises(AttributeError):
            memory.no_such_method(KIM)


def test_many_threads_share_one_service(ready: Settings) -> None:
    with open_sync(ready) as memory, ThreadPoolExecutor(8) as threads:
        texts = [f"Locker {n} in the annex belongs to team {n}" for n in range(24)]
        verdicts = list(threads.map(lambda t: memory.add_explicit_memory(KIM, t), texts))
        assert {verdict.outcome for verdict in verdicts} == {"stored"}
        assert memory.list(KIM).total == 24


async def test_pf_124_the_blocking_twin_works_inside_a_running_loop(
    ready: Settings,
) -> None:
    with open_sync(ready) as memory:
        verdict = memory.add_explicit_memory(KIM, "The blue box holds the cables")
        assert verdict.outcome == "stored"
        assert memory.sessions.append(KIM, [Turn("user", "hello there")]) == [1]
        assert memory.key_file == ready.key_file


def test_pf_124_an_async_method_from_plain_code_is_a_coroutine_that_says_what_it_needs(
    ready: Settings,
) -> None:
    service = MemoryService.open(settings=ready, embedder=StubEmbedder())
    with pytest.raises(InvalidInput) as refused:
        asyncio.run(service.list(KIM))
    assert refused.value.code == "service_not_open"
    assert "async with" in str(refused.value)
    closed = open_sync(ready)
    uses: list[Callable[[], object]] = [
        lambda: closed.list(KIM),
        lambda: closed.sessions,
        lambda: closed.key_file,
    ]
    for use in uses:
        with pytest.raises(InvalidInput) as refused:
            use()
        assert refused.value.code == "service_not_open"
        assert "with SyncMemoryService" in str(refused.value)


def test_closing_twice_and_opening_again(ready: Settings) -> None:
    before = threading.active_count()
    memory = open_sync(ready)
    memory.close()
    for _ in range(2):
        with memory:
            memory.add_explicit_memory(KIM, "The blue box holds the cables")
            with pytest.raises(InvalidInput) as refused:
                memory.__enter__()
            assert refused.value.code == "service_already_open"
        memory.close()
        memory.close()
    with pytest.raises(InvalidInput):
        memory.list(KIM)
    assert threading.active_count() <= before + 1


def test_a_failed_start_leaves_no_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    bad = Settings.read(
        database_url="postgresql://nobody@127.0.0.1:1/none", key_file=tmp_path / "k"
    )
    with pytest.raises(Exception, match="does not answer"), open_sync(bad):
        pass
    assert threading.active_count() <= before


_FORGETFUL = """
import json, sys
from mnemic import Actor, SyncMemoryService
from mnemic.settings import Settings
from stub_embedder import StubEmbedder

memory = SyncMemoryService.open(settings=Settings.read(**json.loads(sys.argv[1])), embedder=StubEmbedder())
memory.__enter__()
memory.add_explicit_memory(Actor("kim"), "The blue box holds the cables")
memory.search_memories(Actor("kim"), "cables")
print("done", flush=True)
"""


def test_a_forgotten_close_does_not_hold_the_exit(ready: Settings, stub_path: str) -> None:
    assert ready.database_url is not None
    given = {
        "database_url": ready.database_url.get_secret_value(),
        "key_file": str(ready.key_file),
        "db_schema": ready.db_schema,
    }
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", _FORGETFUL, json.dumps(given)],
        env=os.environ | {"PYTHONPATH": stub_path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert time.monotonic() - started < 30


# ---- event loops


def test_pf_122_a_service_of_one_loop_says_so_in_another(ready: Settings) -> None:
    async def opened() -> MemoryService:
        return await MemoryService.open(settings=ready, embedder=StubEmbedder()).__aenter__()

    async def use(service: MemoryService) -> list[str]:
        codes = []
        for work in (service.list(KIM), service.search_memories(KIM, "cables"), service.close()):
            with pytest.raises(InvalidInput) as refused:
                await asyncio.wait_for(work, 5)
            codes.append(refused.value.code)
        with pytest.raises(InvalidInput):
            _ = service.sessions
        return codes

    loop = asyncio.new_event_loop()
    service = loop.run_until_complete(opened())
    try:
        assert asyncio.run(use(service)) == ["service_of_another_loop"] * 3
        with ThreadPoolExecutor(1) as thread:
            codes = thread.submit(lambda: asyncio.run(use(service))).result(timeout=20)
        assert codes == ["service_of_another_loop"] * 3
        assert loop.run_until_complete(service.list(KIM)).total == 0
    finally:
        loop.run_until_complete(service.close())
        loop.close()


def test_pf_122_one_service_is_opened_again_in_the_next_loop(ready: Settings) -> None:
    service = MemoryService.open(settings=ready, embedder=StubEmbedder())

    async def once() -> str:
        async with service as memory:
            return (await memory.add_explicit_memory(KIM, "The blue box holds cables")).outcome

    assert [asyncio.run(once()) for _ in range(2)] == ["stored", "duplicate"]


class Slow(StubEmbedder):
    """A model that takes a second."""

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        await asyncio.sleep(1.0)
        return await super().embed(texts)


async def test_pf_123_a_slow_model_holds_nobody_up(settings: Settings, prepare: Any) -> None:
    await prepare(settings, StubEmbedder(), curve())
    async with MemoryService.open(settings=settings, embedder=Slow()) as memory:
        await memory.sessions.append(KIM, [Turn("user", "hello there")])
        writes = [
            asyncio.create_task(memory.add_explicit_memory(KIM, f"Locker {n} belongs to team {n}"))
            for n in range(12)
        ]
        waited = []
        for _ in range(20):
            started = time.monotonic()
            await memory.sessions.read(KIM)
            assert (await memory.list(KIM)).total == 0
            waited.append(time.monotonic() - started)
        assert not any(write.done() for write in writes)
        assert sorted(waited)[10] < 0.2
        assert {verdict.outcome for verdict in await asyncio.gather(*writes)} == {"stored"}


# ---- what a deployment is bound to


class Other(StubEmbedder):
    """Another model, wider."""

    name = "stub-wider"
    dims = 96

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        return [vector + (0.1,) * 32 for vector in await super().embed(texts)]


async def test_pf_100_another_model_is_refused_with_both_names(
    settings: Settings, prepare: Any
) -> None:
    await prepare(settings, StubEmbedder(), curve())
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        await memory.add_explicit_memory(KIM, "The blue box holds the cables")
    await prepare(settings, Other(), Curve.from_json(curve().to_json()))
    with pytest.raises(ConfigurationError) as refused:
        async with MemoryService.open(settings=settings, embedder=Other()):
            pass
    assert refused.value.code == "embedding_model_changed"
    for part in ("stub-character-ngrams", "64", "stub-wider", "96"):
        assert part in str(refused.value)
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        assert (await memory.list(KIM)).total == 1


# ---- side effects

_WATCHED = """
import asyncio, json, os, sys, threading
import psutil
from mnemic import Actor, MemoryService
from stub_embedder import StubEmbedder

async def main(data_dir, key_file):
    me = psutil.Process()
    async with MemoryService.open(data_dir, key_file=key_file, embedder=StubEmbedder()) as memory:
        actor = Actor("kim", session="s")
        async def work(count, shift):
            for n in range(shift, shift + count):
                await memory.add_explicit_memory(actor, f"Locker {n} in the annex belongs to team {n}")
                await memory.search_memories(actor, f"who has locker {n}")
        await work(10, 0)
        threads = me.num_threads()
        await work(90, 10)
        internet = [c.raddr or c.laddr for c in me.net_connections(kind="inet")]
        print(json.dumps([me.num_threads() - threads, internet, (await memory.list(actor)).total]))

asyncio.run(main(*sys.argv[1:]))
"""


def test_pf_136_no_connection_no_thread_and_no_file_elsewhere(
    tmp_path: Path, stub_path: str
) -> None:
    places = {name: tmp_path / name for name in ("data", "keys", "home", "work", "tmp")}
    for name in ("home", "work", "tmp"):
        places[name].mkdir()
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(places["home"]),
        "TMPDIR": str(places["tmp"]),
        "PYTHONPATH": stub_path,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", _WATCHED, str(places["data"]), str(places["keys"] / "test.key")],
        env=environment,
        cwd=places["work"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    more_threads, internet, total = json.loads(done.stdout)
    assert (internet, total) == ([], 100)
    assert more_threads <= 0
    assert [path.name for path in places["keys"].iterdir() if not path.name.startswith(".")] == [
        "test.key"
    ]
    for name in ("home", "work", "tmp"):
        assert list(places[name].rglob("*")) == [], name
