"""Keys are rotated, and the rotation killed, while processes read and write: nothing becomes unreadable."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from e2e.program import MNEMIC
from mnemic import Actor, MemoryService
from mnemic.storage.embedded import Joined, join
from stub_embedder import StubEmbedder

KILLS, USERS = 4, 200
ROTATE = """
from mnemic.privacy import rotate
rotate._BATCH = 5  # so that there is a middle
from mnemic.cli.main import main
main()
"""
WORKER = """
import asyncio, random, sys
from mnemic import Actor, MemoryService
from stub_embedder import StubEmbedder

async def main(name, users):
    rng, written = random.Random(name), 0
    async with MemoryService.open(embedder=StubEmbedder()) as memory:
        print("ready", flush=True)
        stopped = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        while not stopped.done():
            known = f"user{rng.randrange(users)}"
            (item,) = (await memory.list(Actor(known))).items
            assert item.content == f"The boat of {known} is blue", item.content
            values = (await memory.get_profile_for_agent(Actor(known))).user.values
            assert values["profession"] == f"keeper of {known}", values
            changes = (await memory.profiles.history(Actor(known))).changes
            told = [change.values.get("profession") for change in changes]
            assert told[-2:] == [f"keeper of {known}", None], told
            met = Actor(f"{name}_{written}")
            await memory.add_explicit_memory(met, f"The bell of {met.user} is green")
            await memory.profiles.edit(met, "profession", f"keeper of {met.user}")
            written += 1
        print(written, flush=True)

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def environment(home: Path, stubs: str = "") -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": stubs,
        "OPENBLAS_NUM_THREADS": "1",
        "MNEMIC_DATA_DIR": str(home / "data"),
        "MNEMIC_KEY_FILE": str(home / "keys" / "k"),
    }


@contextmanager
def working(home: Path, stubs: str, name: str) -> Iterator[list[int]]:
    """A process that reads and writes until the block ends; how often comes into the list."""
    counts: list[int] = []
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, name, str(USERS)],
        env=environment(home, stubs),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.stderr and process.stderr.read()
        yield counts
        out, said = process.communicate("", timeout=60)
        assert process.returncode == 0, said
        counts.append(int(out))
    finally:
        process.kill()
        process.communicate()


def start(home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ROTATE, "keys", "rotate", "--json"],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def wrapped_by(joined: Joined) -> dict[str, int]:
    with psycopg.connect(joined.url("owner")) as conn:
        query = "select kek_id, count(*) from mnemic.data_key group by kek_id"
        return {str(kek): int(n) for kek, n in conn.execute(query).fetchall()}


def kill_one(home: Path, joined: Joined, rng: random.Random) -> bool:
    """Kill a rotation in its middle, and tell whether it was."""
    process, wanted = start(home), rng.randint(2, 120)
    try:
        until = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < until:
            keks = wrapped_by(joined)
            if len(keks) > 1 and min(keks.values()) >= wanted:
                break
    finally:
        process.kill()
        process.communicate()
    return len(wrapped_by(joined)) > 1


def run(home: Path, *command: str) -> Any:
    done = subprocess.run(
        [MNEMIC, *command, "--json"],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(done.stdout)


async def test_killed_rotations_leave_everything_readable_and_the_last_one_ends_them(
    tmp_path: Path, stub_path: str
) -> None:
    seed = int(os.environ.get("MNEMIC_TEST_SEED", str(time.time_ns() % 10**6)))
    print(f"seed {seed}: set MNEMIC_TEST_SEED to repeat")
    rng = random.Random(seed)
    place: dict[str, Any] = {"data_dir": tmp_path / "data", "key_file": tmp_path / "keys" / "k"}
    async with MemoryService.open(**place, embedder=StubEmbedder()) as memory:
        for n in range(USERS):
            user = Actor(f"user{n}")
            await memory.add_explicit_memory(user, f"The boat of user{n} is blue")
            await memory.profiles.edit(user, "profession", f"keeper of user{n}")
        await memory.profiles.fold_history(datetime.now(UTC) + timedelta(days=40))
    joined = join(place["data_dir"])
    try:
        with ExitStack() as stack:
            counts = [stack.enter_context(working(tmp_path, stub_path, n)) for n in ("ada", "bo")]
            killed = sum(kill_one(tmp_path, joined, rng) for _ in range(KILLS))
            done = run(tmp_path, "keys", "rotate")
            whole = run(tmp_path, "keys", "rotate")
        assert killed > 0, "no run was killed in its middle"
        assert done["resumed"] or killed < KILLS
        assert whole["keys"] >= USERS
        written = [count for (count,) in counts]
        assert min(written) > 5
        assert wrapped_by(joined) == {whole["kek_id"]: USERS + sum(written)}
    finally:
        joined.leave()
    status = run(tmp_path, "keys", "status")
    assert status["kek_id"] == whole["kek_id"]
    assert all(kek["held"] for kek in status["keks"])
    async with MemoryService.open(**place, embedder=StubEmbedder()) as memory:
        for name, count in zip(("ada", "bo"), written, strict=True):
            for n in rng.sample(range(count), min(count, 40)):
                await require(memory, f"{name}_{n}", f"The bell of {name}_{n} is green")
        for n in range(USERS):
            await require(memory, f"user{n}", f"The boat of user{n} is blue")


async def require(memory: MemoryService, user: str, said: str) -> None:
    """See that a user's item, profile and its history are read as they were written."""
    (item,) = (await memory.list(Actor(user))).items
    assert item.content == said
    profile = await memory.profiles.get(Actor(user))
    assert profile.values["profession"] == f"keeper of {user}"
    history = await memory.profiles.history(Actor(user))
    assert profile.values["profession"] in [one.values.get("profession") for one in history.changes]
