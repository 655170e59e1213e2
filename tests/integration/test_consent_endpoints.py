"""Does a text of somebody who does not agree leave for an endpoint, or wait in a job?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest
from erase_world import Services, services

from conftest import Connect, Prepare, Server
from embedding_endpoint import WideEmbedder
from mnemic.deployment import as_owner
from mnemic.embedding.change import ModelChange
from mnemic.errors import ConsentRequired
from mnemic.model import Actor, Turn, Vector
from mnemic.resources.chunk_texts import chunk_texts
from mnemic.service import MemoryService
from mnemic.settings import Settings
from stub_embedder import StubEmbedder, curve

KIM, LEE = Actor("kim", session="s1"), Actor("lee")


class Overheard(StubEmbedder):
    """An embedder that knows what it was sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.sent += texts
        return await super().embed(texts)


class OverheardWide(WideEmbedder):
    def __init__(self, dims: int) -> None:
        super().__init__(dims)
        self.sent: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.sent += texts
        return await super().embed(texts)


@pytest.fixture
def ear() -> Overheard:
    return Overheard()


@pytest.fixture(params=["implied", "required"])
async def parts(
    request: pytest.FixtureRequest, ear: Overheard, server: Server, schema: str, prepare: Prepare
) -> AsyncIterator[Services]:
    settings = server.settings(schema, consent=request.param)
    await prepare(settings, ear, curve())
    async with MemoryService.open(settings=settings, embedder=ear) as memory:
        memory._parts.models._ask_first = True  # as with an endpoint of the deployment
        yield await services(memory, server)


async def test_no_text_of_a_user_who_refused_is_sent_to_an_endpoint(
    parts: Services, ear: Overheard
) -> None:
    memory = parts.memory
    await parts.consents.grant(KIM)
    await memory.add_explicit_memory(KIM, "My bicycle is parked at the station")
    await memory.search_memories(KIM, "bicycle")
    ear.sent.clear()
    await parts.consents.refuse(KIM)
    for door in (
        memory.add_explicit_memory(KIM, "My bicycle is parked behind the library"),
        memory.search_memories(KIM, "bicycle"),
        memory.search_memories(KIM, "bicycle", include=("resource",)),
        memory.build_context(KIM, "bicycle"),
        memory.sessions.append(KIM, [Turn("user", "I have a bicycle")]),
        memory.resources.add(KIM, "A text about bicycles", title="Bicycles"),
        memory.resources.index(KIM),
        memory.extract(KIM),
    ):
        with pytest.raises(ConsentRequired):
            await door
    assert ear.sent == []


async def test_no_text_of_a_user_who_was_not_asked_is_sent_where_that_is_required(
    ear: Overheard, server: Server, schema: str, prepare: Prepare
) -> None:
    settings = server.settings(schema, consent="required")
    await prepare(settings, ear, curve())
    async with MemoryService.open(settings=settings, embedder=ear) as memory:
        ear.sent.clear()
        for door in (
            memory.add_explicit_memory(LEE, "My bicycle is parked behind the library"),
            memory.search_memories(LEE, "bicycle"),
        ):
            with pytest.raises(ConsentRequired):
                await door
    assert ear.sent == []


async def test_pf_084_a_change_of_the_deployments_model_passes_over_who_refused(
    stub_memory: MemoryService,
    server: Server,
    settings: Settings,
    prepare: Prepare,
    connect: Connect,
) -> None:
    parts, wide = await services(stub_memory, server), OverheardWide(256)
    await prepare(settings, wide, curve())
    for actor in (KIM, LEE, Actor("kim_1")):
        await stub_memory.add_explicit_memory(actor, f"My bicycle is called {actor.user}")
    await stub_memory.add_explicit_memory(KIM, "The room of today is number 12", scope="session")
    await parts.consents.refuse(KIM)
    async with as_owner(settings) as (owner, _):
        done = await ModelChange(owner.database, owner.keys, chunk_texts).run(wide)
    assert done.rows == 2
    assert not any(text.endswith("kim") or "room" in text for text in wide.sent)
    rows = await (await connect("owner")).execute(
        "select owner_id, vector_dims(embedding) as dims from memory_item order by owner_id, dims"
    )
    assert [(row["owner_id"], row["dims"]) for row in await rows.fetchall()] == [
        ("kim", StubEmbedder.dims),
        ("kim", StubEmbedder.dims),
        ("kim_1", 256),
        ("lee", 256),
    ]
