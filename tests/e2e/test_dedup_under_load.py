"""Eight processes add the same 200 facts at once: each stands once, and every verdict is true."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from mnemic import Actor, MemoryService

WORKERS, FACTS = 8, 200

_WORKER = """
import asyncio, json, sys
from mnemic import Actor, MemoryService
from stub_embedder import StubEmbedder

async def main(data_dir, key_file, facts, shift):
    facts = facts[shift:] + facts[:shift]
    async with MemoryService.open(data_dir, key_file=key_file, embedder=StubEmbedder()) as memory:
        actor = Actor("kim")
        for fact in facts:
            verdict = await memory.add_explicit_memory(actor, fact)
            print(json.dumps([verdict.outcome, verdict.reason, str(verdict.id), str(verdict.of)]), flush=True)

asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4])))
"""


def facts() -> list[str]:
    """200 facts of numbered things: near to each other, and all different."""
    rooms = [f"Room {n} on the north side holds {n * 3 % 47 + 2} desks" for n in range(1, 101)]
    return rooms + [f"{n}号仓库里有{n * 7 % 53 + 3}个货架" for n in range(1, 101)]


async def test_eight_writers_of_the_same_facts_leave_each_once(
    tmp_path: Path, stub_path: str
) -> None:
    data_dir, key_file = tmp_path / "data", tmp_path / "keys" / "test.key"
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            _WORKER,
            str(data_dir),
            str(key_file),
            json.dumps(facts()),
            str(worker * FACTS // WORKERS),
            stdout=subprocess.PIPE,
            env={"PYTHONPATH": stub_path, "PATH": "/usr/bin:/bin"},
        )
        for worker in range(WORKERS)
    ]
    answers = [await process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0] * WORKERS
    verdicts = [json.loads(line) for out, _ in answers for line in out.splitlines()]
    outcomes = Counter(outcome for outcome, *_ in verdicts)
    assert outcomes == {"stored": FACTS, "duplicate": FACTS * (WORKERS - 1)}

    from stub_embedder import StubEmbedder

    async with MemoryService.open(data_dir, key_file=key_file, embedder=StubEmbedder()) as memory:
        page = await memory.list(Actor("kim"), limit=1000)
    assert page.total == FACTS
    assert sorted(item.content for item in page.items) == sorted(facts())
    stored = {item_id for outcome, _, item_id, _ in verdicts if outcome == "stored"}
    assert stored == {str(item.id) for item in page.items}
