"""What is left of the pool and of the embedded server after cancellations and kills?"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from pathlib import Path

from mnemic import Actor, MemoryService
from stub_embedder import StubEmbedder


async def test_cancelled_callers_give_their_connections_back(stub_memory: MemoryService) -> None:
    actor, rng = Actor("kim"), random.Random(7)
    await stub_memory.add_explicit_memory(actor, "I like green tea in the morning")

    async def impatient() -> None:
        for _ in range(40):
            try:
                await asyncio.wait_for(stub_memory.list(actor), rng.uniform(0, 0.012))
            except TimeoutError:
                continue

    await asyncio.gather(*(impatient() for _ in range(12)))
    pages = await asyncio.wait_for(
        asyncio.gather(*(stub_memory.list(actor) for _ in range(40))), timeout=10
    )
    assert [page.total for page in pages] == [1] * 40


async def test_an_embedded_server_that_was_killed_is_started_again(tmp_path: Path) -> None:
    actor = Actor("kim")
    async with MemoryService.open(
        tmp_path / "data", key_file=tmp_path / "keys" / "k.key", embedder=StubEmbedder()
    ) as memory:
        await memory.add_explicit_memory(actor, "I like green tea in the morning")
        pid_file = tmp_path / "data" / "postgres" / "postmaster.pid"
        os.kill(int(pid_file.read_text().splitlines()[0]), signal.SIGKILL)
        await asyncio.sleep(0.3)
        assert (await memory.list(actor)).total == 1
        verdict = await memory.add_explicit_memory(actor, "I play the cello on Sundays")
        assert verdict.outcome == "stored"
