"""A process is killed at every step of sleeping and waking: nothing is lost, and nothing half-written."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sleep_world import KIM, away, count, full_profile, put_away, put_to_sleep, row_of, status_of

from conftest import Connect, Prepare, Server
from mnemic.service import MemoryService
from stub_embedder import StubEmbedder, curve

PATIENCE = 30.0
STOPPED = """
import asyncio, sys
from mnemic import Actor, MemoryService
from mnemic.cold.removals import Removals
from mnemic.profile import cooling, hibernation
from stub_embedder import StubEmbedder

step, work = sys.argv[1], sys.argv[2]

async def stop(*given):
    print("there", flush=True)
    await asyncio.Event().wait()

if step == "uncommitted":
    hibernation.note = cooling.note = stop

async def main():
    async with MemoryService.open(embedder=StubEmbedder()) as memory:
        store = memory.parts.sleep.hibernation.cooling._store
        put, delete = store.put, store.delete

        async def stopped_put(name, data):
            if step == "noted":
                await stop()
            await put(name, data)
            await stop()

        async def stopped_delete(name):
            await delete(name)
            await stop()

        if step in ("noted", "put"):
            store.put = stopped_put
        if step == "removed":
            store.delete = stopped_delete
        if work == "wake":
            await memory.profiles.get(Actor("kim"))
        else:
            await getattr(memory.sleepers, work)()

asyncio.run(main())
"""


def killed_at(step: str, work: str, env: dict[str, str]) -> None:
    """Run a piece of work in a process of its own up to a step, and kill it there."""
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED, step, work],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n", process.stderr and process.stderr.read()
    finally:
        process.kill()
        process.communicate()


async def eventually(memory: MemoryService, work: str) -> None:
    """Do the work that the killed process had begun, once its locks are gone."""
    deadline = time.monotonic() + PATIENCE
    while (await getattr(memory.sleepers, work)()).users != 1:
        assert time.monotonic() < deadline, f"{work} finds nobody"
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("step", "work"),
    [
        ("uncommitted", "hibernate"),
        ("noted", "cool"),
        ("put", "cool"),
        ("uncommitted", "cool"),
        ("uncommitted", "wake"),
        ("removed", "sweep"),
    ],
)
async def test_whoever_is_killed_leaves_a_whole_profile_and_no_object_for_long(
    server: Server,
    schema: str,
    connect: Connect,
    prepare: Prepare,
    stub_path: str,
    tmp_path: Path,
    step: str,
    work: str,
) -> None:
    root = tmp_path / "cold"
    settings = server.settings(schema, cold_store=f"file://{root}")
    await prepare(settings, StubEmbedder(), curve())
    owner = await connect("owner")
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        before = await full_profile(memory, KIM)
        if work == "hibernate":
            await memory.parts.sleep.activity.flush()
            await away(owner, days=181)
        elif work == "cool":
            await put_to_sleep(memory, owner, days=181)
        else:
            await put_away(memory, owner)
        if work == "sweep":
            await memory.profiles.get(KIM)
        await asyncio.to_thread(killed_at, step, work, environment(server, schema, stub_path, root))
        if work in ("hibernate", "cool"):
            await eventually(memory, work)
        assert await memory.profiles.get(KIM, contact=True) == before
        assert await status_of(owner) == "active"
        assert (await row_of(owner, "user_profile"))["asleep_at"] is None
        await owner.execute("update cold_removal set due_at = due_at - interval '61 minutes'")
        await swept(memory)
        left = [path for path in root.rglob("*") if path.is_file()]
        name, _ = await memory.parts.sleep.removals.owner._mark()
        marks = {root / ".mnemic-cold", root / name}
        assert set(left) <= marks
        assert await count(owner, "cold_object") == await count(owner, "cold_removal") == 0


async def swept(memory: MemoryService) -> None:
    deadline = time.monotonic() + PATIENCE
    while await memory.sleepers.removals_due():
        await memory.sleepers.sweep()
        assert time.monotonic() < deadline, "an object stays"


def environment(server: Server, schema: str, stub_path: str, root: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": stub_path,
        "OPENBLAS_NUM_THREADS": "1",
        "MNEMIC_DATABASE_URL": server.service,
        "MNEMIC_MIGRATION_URL": server.owner,
        "MNEMIC_KEY_FILE": str(server.key_file),
        "MNEMIC_SCHEMA": schema,
        "MNEMIC_COLD_STORE": f"file://{root}",
    }
