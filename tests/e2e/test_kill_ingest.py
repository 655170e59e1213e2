"""An ingest is killed at random moments: nothing is half-written, and what it said is there."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import time
from pathlib import Path

from conftest import make_quick
from e2e.forked import fork, nursery
from mnemic import Actor, MemoryService
from mnemic.storage.embedded import join

MOMENTS = 50
_STORED = re.compile(r"^(?:stored|superseded|pending)\s+([0-9a-f-]{36}) ")


def transcript(path: Path, seed: int) -> None:
    """Write 15 sessions of two statements each; numbers make every session's facts its own."""
    rng = random.Random(seed)
    with path.open("w", encoding="utf-8") as file:
        for session in range(15):
            number = rng.randrange(10**6)
            for text in (
                f"Please remember that the internal name of project {number} is Falcon{number}.",
                f"请记住，{number}号项目的负责人是林{number}。",
            ):
                turn = {"role": "user", "session": f"s{seed}-{session}", "content": text}
                file.write(json.dumps(turn, ensure_ascii=False) + "\n")


async def test_what_was_printed_survives_sigkill(tmp_path: Path, stub_path: str) -> None:
    seed = int(os.environ.get("MNEMIC_TEST_SEED", str(time.time_ns() % 10**6)))
    print(f"seed {seed}: set MNEMIC_TEST_SEED to repeat")
    rng = random.Random(seed)
    data_dir, key_file = tmp_path / "data", tmp_path / "keys" / "test.key"
    from stub_embedder import StubEmbedder

    joined = join(data_dir)
    make_quick(joined)
    nursery()
    # the servers stay up meanwhile, and one ingest runs to its end: what is killed are the later ones,
    # at moments of the time that it took on this machine
    async with MemoryService.open(data_dir, key_file=key_file, embedder=StubEmbedder()):
        whole_file = tmp_path / "whole.jsonl"
        transcript(whole_file, seed)
        started = time.monotonic()
        said = await asyncio.to_thread(_kill_one, whole_file, data_dir, key_file, stub_path, None)
        took = time.monotonic() - started
        for moment in range(MOMENTS):
            file = tmp_path / f"{moment}.jsonl"
            transcript(file, seed * 100 + moment)
            said |= await asyncio.to_thread(
                _kill_one, file, data_dir, key_file, stub_path, rng.uniform(0.1, 1.1) * took
            )
    print(f"a whole run took {took:.2f} s")
    assert said, "no run got as far as a verdict"
    async with MemoryService.open(data_dir, key_file=key_file, embedder=StubEmbedder()) as memory:
        found: set[str] = set()
        cursor = None
        while True:
            page = await memory.list(Actor("kim"), limit=1000, status="all", cursor=cursor)
            for item in page.items:
                assert item.content  # opens: sealed columns of one version belong together
                found.add(str(item.id))
            if (cursor := page.cursor) is None:
                break
        assert said <= found
        questions = {str(q.item.id) for q in await memory.questions(Actor("kim"), limit=10_000)}
        pending = await memory.list(Actor("kim"), status="pending", limit=1000)
        assert {str(item.id) for item in pending.items} == questions
    joined.leave()


def _kill_one(
    file: Path, data_dir: Path, key_file: Path, stub_path: str, after: float | None
) -> set[str]:
    env = os.environ | {
        "MNEMIC_DATA_DIR": str(data_dir),
        "MNEMIC_KEY_FILE": str(key_file),
        "MNEMIC_USER": "kim",
    }
    command = ("python", Path(stub_path) / "stub_ingest.py", file)
    with open(os.devnull) as nothing, file.with_suffix(".out").open("w+", encoding="utf-8") as out:
        streams = (nothing.fileno(), out.fileno(), 2)
        process = fork(nursery().address, command, env, file.parent, streams)
        if after is not None:
            time.sleep(after)
            process.kill()
        status = process.wait(60)
        assert status in ((0,) if after is None else (0, -signal.SIGKILL))
        out.seek(0)
        return {match[1] for line in out if (match := _STORED.match(line))}
