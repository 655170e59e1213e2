"""Does a user's behaviour vector follow what they say, and does nothing of it outlive an erasure?"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from conftest import Connect, Prepare, Server
from mnemic.model import Actor, Turn, Vector
from mnemic.profile.intents import Intents
from mnemic.service import MemoryService
from mnemic.storage.valkey import join_valkey
from stub_embedder import StubEmbedder, curve

KIM = Actor("kim", session="s1")


def direction(n: int) -> Vector:
    return tuple(float(place == n) for place in range(64))


@pytest.fixture
async def intents(stub_memory: MemoryService) -> Intents:
    await stub_memory.profiles.greet(KIM)
    return stub_memory.parts.intents


async def test_what_a_user_says_turns_the_mean_their_way(
    stub_memory: MemoryService, intents: Intents
) -> None:
    intents.note(KIM, [direction(0)] * 2)
    await intents.flush()
    mean = await stub_memory.profiles.behaviour(KIM)
    assert mean is not None
    assert mean.weight == pytest.approx(2, abs=1e-3)
    assert mean.mean[:2] == pytest.approx((1.0, 0.0), abs=1e-3)
    intents.note(KIM, [direction(1)] * 2)
    await intents.flush()
    mean = await stub_memory.profiles.behaviour(KIM)
    assert mean is not None
    assert mean.mean[:2] == pytest.approx((0.5, 0.5), abs=1e-2)
    assert math.isclose(mean.weight, 4, abs_tol=1e-2)


async def test_turns_bring_their_vectors_by_themselves(
    server: Server, schema: str, prepare: Prepare, tmp_path: Path
) -> None:
    valkey = join_valkey(tmp_path / "data")
    settings = server.settings(schema, redis_url=valkey.url)
    await prepare(settings, StubEmbedder(), curve())
    try:
        async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
            await memory.profiles.greet(KIM)
            said = [Turn("user", "Let us plan the trip"), Turn("assistant", "With pleasure")]
            await memory.sessions.append(KIM, said)
            await memory.parts.intents.flush()
            mean = await memory.profiles.behaviour(KIM)
    finally:
        valkey.leave()
    assert mean is not None
    assert mean.weight == 1, "what an assistant says is no intent of the user"


async def test_nothing_of_before_an_erasure_counts_after_it(
    stub_memory: MemoryService, intents: Intents, connect: Connect
) -> None:
    intents.note(KIM, [direction(0)])
    await stub_memory.forget_user(KIM)
    await intents.flush()
    await stub_memory.profiles.greet(KIM)
    owner = await connect("owner")
    await owner.execute("update user_profile set created_at = now() + interval '5 seconds'")
    intents.note(KIM, [direction(0)])
    await intents.flush()
    assert await stub_memory.profiles.behaviour(KIM) is None


async def test_whoever_refused_leaves_no_trace_and_others_are_noted(
    stub_memory: MemoryService, intents: Intents
) -> None:
    lee = Actor("lee")
    await stub_memory.profiles.greet(lee)
    intents.note(KIM, [direction(0)])
    intents.note(lee, [direction(1)])
    await stub_memory.consent.refuse(KIM)
    await intents.flush()
    assert await stub_memory.profiles.behaviour(lee) is not None
    await stub_memory.consent.grant(KIM)
    assert await stub_memory.profiles.behaviour(KIM) is None


async def test_closing_writes_what_waits(stub_memory: MemoryService, intents: Intents) -> None:
    intents.note(KIM, [direction(3)] * 70)
    await intents.close()
    mean = await stub_memory.profiles.behaviour(KIM)
    assert mean is not None
    assert mean.weight == pytest.approx(50, abs=0.1)
