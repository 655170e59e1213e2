"""A change of models is killed at random moments: everything stays searchable, and the last run ends it."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from pathlib import Path
from typing import Any

from e2e.program import MNEMIC
from embedding_endpoint import Endpoint, endpoint
from mnemic import Actor, MemoryService, Turn
from mnemic.longterm.draft import Draft
from stub_embedder import StubEmbedder

KILLS = 5
ROWS = 1_600
_MEASURED = 5
"""Requests by which the model is measured and kept, once."""
KIM, LEE = Actor("kim", session="s1"), Actor("lee")


async def test_sigkill_at_random_moments_loses_nothing(tmp_path: Path) -> None:
    seed = int(os.environ.get("MNEMIC_TEST_SEED", str(time.time_ns() % 10**6)))
    print(f"seed {seed}: set MNEMIC_TEST_SEED to repeat")
    rng = random.Random(seed)
    place: dict[str, Any] = {"data_dir": tmp_path / "data", "key_file": tmp_path / "keys" / "k"}
    texts = [f"Shelf number {n} holds the {n * 7} blue folders" for n in range(ROWS)]
    with endpoint(256) as made:
        made.before = lambda _: time.sleep(0.03)
        async with MemoryService.open(**place, embedder=StubEmbedder()) as memory:
            await memory.add_many(KIM, [Draft(text) for text in texts])
            await memory.add_many(LEE, [Draft(text) for text in texts[:20]])
            await memory.sessions.append(KIM, [Turn("user", f"Turn {n}") for n in range(30)])
            await memory.resources.index(KIM)
        for kill in range(KILLS):
            _kill_one(made, tmp_path, rng, _MEASURED if kill == 0 else 0)
            async with MemoryService.open(**place, embedder=StubEmbedder()) as memory:
                for text in rng.sample(texts, 3):
                    (hit, *_) = await memory.search_memories(KIM, text, k=1)
                    assert hit.content == text
                    assert hit.cosine is not None, "still the old model, whole"
        sent = len(made.texts)
        done = json.loads(_start(made, tmp_path).communicate(timeout=120)[0])
        assert done["rows"] == ROWS + 20 + 30
        assert done["refused"] == []
        assert len(made.texts) - sent < done["rows"], "what was ready is not embedded again"
        again = json.loads(_start(made, tmp_path).communicate(timeout=120)[0])
        assert again["rows"] == 0
        status = _run(tmp_path, made, "db", "status", "--json")
        assert status["reembedding"] is None


def _kill_one(made: Endpoint, home: Path, rng: random.Random, first: int) -> None:
    """Kill a run while, or after, it waits for one of its answers, of which the ``first`` are passed over."""
    until = len(made.server.requests) + first + rng.randint(1, 4)
    process = _start(made, home)
    try:
        give_up = time.monotonic() + 60
        while len(made.server.requests) < until and process.poll() is None:
            assert time.monotonic() < give_up
            time.sleep(0.005)
        time.sleep(rng.uniform(0.0, 0.03))
    finally:
        process.kill()
        process.communicate(timeout=30)


def _start(made: Endpoint, home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            MNEMIC, "db", "reembed", "--model", "wide-1", "--dims", "256", "--base-url", made.url,
            "--json",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(home, made),
        text=True,
    )  # fmt: skip


def _run(home: Path, made: Endpoint, *command: str) -> Any:
    done = subprocess.run(
        [MNEMIC, *command],
        env=_environment(home, made),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


def _environment(home: Path, made: Endpoint) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "MNEMIC_DATA_DIR": str(home / "data"),
        "MNEMIC_KEY_FILE": str(home / "keys" / "k"),
        "MNEMIC_ALLOWED_HOSTS": made.server.host,
    }
