"""How long may a document over HTTP take, what stays of one that is stopped, and who is not waited for?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from api_world import app_on, asking, told
from conftest import Connect, Prepare
from mnemic import MemoryService
from mnemic.api.doors import Limits
from mnemic.resources.documents import BATCH
from mnemic.settings import Settings
from stub_embedder import StubEmbedder, curve

if TYPE_CHECKING:
    import httpx2

PLAIN = {"content-type": "text/plain"}
ADDRESS = {"uri": "notes/kettles.txt"}
SENTENCE = "Kettle number {0} on shelf {0} boils water faster than the other one. "
TEXT = "\n\n".join(SENTENCE.format(n) * 12 for n in range(3 * BATCH)).encode()
ASKED = {"query": "which kettle boils faster?", "include": ["resource"]}
BRIEF = Limits(document_seconds=3.0, document_pace=10**9)
"""Three seconds, whatever the size."""


class Stalling(StubEmbedder):
    """Embeds so many batches of pieces, then lets others wait until it is healed."""

    def __init__(self, batches: int) -> None:
        self.batches = batches
        self.embedded = 0
        self.stalled, self.healed = asyncio.Event(), asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        if not self.batches:
            self.stalled.set()
            await self.healed.wait()
        self.batches -= 1
        self.embedded += len(texts)
        return await super().embed(texts)

    def heal(self) -> None:
        self.batches, self.embedded = 1_000, 0
        self.healed.set()


@pytest.fixture
async def embedder(settings: Settings, prepare: Prepare) -> Stalling:
    """A model that stalls after the first batch of pieces."""
    made = Stalling(1)
    await prepare(settings, made, curve())
    return made


@pytest.fixture
async def memory(settings: Settings, embedder: Stalling) -> AsyncIterator[MemoryService]:
    """The service on that model."""
    async with MemoryService.open(settings=settings, embedder=embedder) as opened:
        yield opened


async def sent(
    client: httpx2.AsyncClient, content: bytes = TEXT, **headers: str
) -> httpx2.Response:
    return await client.post(
        "/api/resources", params=ADDRESS, content=content, headers=PLAIN | headers
    )


async def drafts(connect: Connect) -> int:
    row = await (
        await (await connect("owner")).execute("select count(*) as n from chunk_draft")
    ).fetchone()
    assert row is not None
    return int(row["n"])


async def test_a_stopped_document_keeps_its_pieces_and_goes_on(
    memory: MemoryService, embedder: Stalling, connect: Connect
) -> None:
    async with asking(app_on(memory, limits=BRIEF)) as client:
        problem = told(await sent(client), 504, "request_timeout")
        assert problem["details"] == {"seconds": pytest.approx(3.0, abs=0.01)}
        assert "The steps that were done stay" in problem["detail"]
        assert "Send the same again" in problem["detail"]
        assert await drafts(connect) == BATCH
        embedder.heal()
        assert (await client.get("/api/resources")).json()["total"] == 0
    async with asking(app_on(memory)) as client:
        stored = await sent(client)
        assert (stored.status_code, stored.json()["outcome"]) == (201, "stored")
        assert embedder.embedded == stored.json()["chunks"] - BATCH > 0
        assert (await client.post("/api/memory/search", json=ASKED)).json()["hits"]
    assert await drafts(connect) == 0


async def test_the_key_of_a_stopped_document_is_free_again(
    memory: MemoryService, embedder: Stalling
) -> None:
    key = {"idempotency-key": uuid4().hex}
    async with asking(app_on(memory, limits=BRIEF)) as client:
        told(await sent(client, **key), 504, "request_timeout")
    embedder.heal()
    async with asking(app_on(memory)) as client:
        stored = await sent(client, **key)
        assert stored.status_code == 201
        assert embedder.embedded == stored.json()["chunks"] - BATCH
        again = await sent(client, **key)
        assert (again.status_code, again.text) == (201, stored.text)


async def test_the_time_grows_with_the_size(memory: MemoryService, embedder: Stalling) -> None:
    """Ten seconds for this one, where the time for its arrival alone would not do."""
    limits = Limits(seconds=0.2, document_seconds=0.2, document_pace=len(TEXT) // 10)
    async with asking(app_on(memory, limits=limits)) as client:
        adding = asyncio.create_task(sent(client))
        async with asyncio.timeout(20):
            await embedder.stalled.wait()
        done, _ = await asyncio.wait({adding}, timeout=0.5)
        assert not done
        embedder.heal()
        assert (await adding).status_code == 201


@pytest.mark.parametrize("size", [0, 10_000, 10_000_000])
def test_a_size_that_is_not_told_counts_as_the_largest(size: int) -> None:
    limits = Limits()
    assert limits.seconds_of(size) == 300 + size / 10_000
    assert limits.seconds_of(None) == limits.seconds_of(limits.document)
    assert limits.seconds_of(10**12) == limits.seconds_of(limits.document)


async def test_a_document_that_trickles_in_is_not_waited_for(memory: MemoryService) -> None:
    """It has 300 s and more for its work, but not for its arrival."""

    async def trickle() -> AsyncIterator[bytes]:
        while True:
            yield b"word "
            await asyncio.sleep(0.05)

    async with asking(app_on(memory, limits=Limits(document_seconds=0.5))) as client:
        async with asyncio.timeout(20):
            answer = await client.post("/api/resources", content=trickle(), headers=PLAIN)
        assert told(answer, 408, "body_too_slow")["details"] == {"seconds": 0.5}


async def test_a_document_that_the_end_of_the_service_cuts_off_is_told_so(
    memory: MemoryService, embedder: Stalling, connect: Connect
) -> None:
    app = app_on(memory)
    async with asking(app) as client:
        adding = asyncio.create_task(sent(client))
        async with asyncio.timeout(20):
            await embedder.stalled.wait()
        assert await app.state.service.running.drain(0.1) == 1
        told(await adding, 503, "service_closing")
    assert await drafts(connect) == BATCH
