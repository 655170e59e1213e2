"""When an embedding endpoint goes away in the middle of an ingest, is it picked up later without doubles?"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from conftest import Connect, Prepare
from embedding_endpoint import Endpoint, endpoint
from mnemic import Actor, EmbeddingError, MemoryService, Turn
from mnemic.embedding.openai import OpenAIEmbedder
from mnemic.settings import Settings
from stub_embedder import DIMS, curve

KIM = Actor("kim", session="s1")
PARAGRAPH = "The kettle of room {0} is red and stands on shelf {0}, beside the lamp of room {0}. "


@pytest.fixture
async def away() -> AsyncIterator[Endpoint]:
    """An endpoint; with a limit it takes so many texts and is down from then on."""
    with endpoint(DIMS) as made:
        yield made


@pytest.fixture
async def memory(
    away: Endpoint, settings: Settings, prepare: Prepare
) -> AsyncIterator[MemoryService]:
    embedder = OpenAIEmbedder(
        away.url, "m", dims=DIMS, allowed_hosts=frozenset({away.server.host}), retries=0
    )
    await prepare(settings, embedder, curve())
    async with MemoryService.open(settings=settings, embedder=embedder) as service:
        away.limit = 100
        yield service
    await embedder.aclose()


async def rows(connect: Connect) -> tuple[int, int]:
    """Chunks, and different places among them."""
    owner = await connect("owner")
    found = await (
        await owner.execute(
            "select count(*) as n, count(distinct (resource_id, ordinal)) as places from chunk"
        )
    ).fetchone()
    assert found is not None
    return found["n"], found["places"]


async def test_a_document_is_stored_once_and_whole(
    memory: MemoryService, away: Endpoint, connect: Connect
) -> None:
    text = "\n\n".join(PARAGRAPH.format(n) * 10 for n in range(300))
    for _ in range(2):
        with pytest.raises(EmbeddingError):
            await memory.resources.add(KIM, text)
    assert await rows(connect) == (0, 0), "readers see nothing of half a document"
    before = len(away.texts)
    away.limit, away.down = None, False
    report = await memory.resources.add(KIM, text)
    assert await rows(connect) == (report.chunks, report.chunks)
    assert report.chunks > 200
    assert len(away.texts) - before < report.chunks, "what was embedded before is not asked again"
    assert (await memory.resources.add(KIM, text)).outcome == "unchanged"
    (hit, *_) = await memory.search_memories(KIM, "kettle of room 299", include=("resource",))
    assert "room 299" in hit.content


async def test_a_conversation_is_indexed_once_and_whole(
    memory: MemoryService, away: Endpoint, connect: Connect
) -> None:
    said = [Turn("user", PARAGRAPH.format(n)) for n in range(300)]
    await memory.sessions.append(KIM, said)
    for _ in range(2):
        with pytest.raises(EmbeddingError):
            await memory.resources.index(KIM)
    half, places = await rows(connect)
    assert 0 < half == places < 300
    away.limit, away.down = None, False
    await memory.resources.index(KIM)
    assert await rows(connect) == (300, 300)
    await memory.resources.index(KIM)
    assert await rows(connect) == (300, 300)
    (hit, *_) = await memory.search_memories(KIM, "kettle of room 299", include=("resource",))
    assert "room 299" in hit.content
