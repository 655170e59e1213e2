"""Does a whole deployment change its model while everybody searches, and lose nothing?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

import pytest
from structlog.testing import capture_logs

from conftest import Connect, Prepare
from embedding_endpoint import WideEmbedder, endpoint
from mnemic import Actor, MemoryService, Turn
from mnemic.deployment import as_owner
from mnemic.embedding.change import Changed, ModelChange, actor_of, under_way
from mnemic.errors import ConfigurationError, Conflict, EmbeddingError
from mnemic.longterm.draft import Draft
from mnemic.resources.chunk_texts import chunk_texts
from mnemic.settings import Settings
from stub_embedder import StubEmbedder, curve

KIM, LEE = Actor("kim", session="s1"), Actor("lee/#1")
WIDE = WideEmbedder(256)


@pytest.fixture
async def memory(settings: Settings, prepare: Prepare) -> AsyncIterator[MemoryService]:
    await prepare(settings, StubEmbedder(), curve())
    await prepare(settings, WIDE, curve())
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as service:
        yield service


def facts(count: int, first: int = 0) -> list[Draft]:
    return [
        Draft(f"Shelf number {n} holds the {n * 7} blue folders")
        for n in range(first, first + count)
    ]


async def change(settings: Settings, embedder: object = WIDE) -> Changed:
    async with as_owner(settings) as (owner, _):
        return await ModelChange(owner.database, owner.keys, chunk_texts).run(embedder)  # type: ignore[arg-type]


async def fill(memory: MemoryService) -> int:
    """Rows of two users of every kind; return their number."""
    await memory.add_many(KIM, facts(90))
    await memory.add_many(LEE, facts(5))
    await memory.add_explicit_memory(KIM, "I prefer dark mode in every editor")
    await memory.add_explicit_memory(KIM, "I prefer light mode in every editor")
    await memory.add_explicit_memory(KIM, "The meeting room is number 12", scope="session")
    await memory.add_explicit_memory(KIM, "My office may be on floor four", confidence=0.75)
    await memory.sessions.append(KIM, [Turn("user", "We talked about the lighthouse")])
    await memory.resources.index(KIM)
    return 90 + 5 + 4 + 1


async def widths(connect: Connect) -> set[tuple[str, int]]:
    owner = await connect("owner")
    rows = await owner.execute(
        "select 'item' as kind, vector_dims(embedding) as dims from memory_item"
        " union select 'chunk', vector_dims(embedding) from chunk"
    )
    return {(row["kind"], row["dims"]) for row in await rows.fetchall()}


async def test_everything_is_embedded_anew_and_the_model_is_the_new_one(
    memory: MemoryService, settings: Settings, connect: Connect
) -> None:
    rows = await fill(memory)
    done = await change(settings)
    assert (done.rows, done.model, done.before) == (rows, WIDE.name, StubEmbedder.name)
    assert done.refused == ()
    assert await widths(connect) == {("item", 256), ("chunk", 256)}
    owner = await connect("owner")
    assert await (await owner.execute("select count(*) as n from reembedding")).fetchone() == {
        "n": 0
    }
    async with MemoryService.open(settings=settings, embedder=WIDE) as after:
        for actor in (KIM, LEE):
            (hit, *_) = await after.search_memories(
                actor, "Shelf number 3 holds the 21 blue folders"
            )
            assert hit.cosine == pytest.approx(1.0, abs=0.01)
        (turn, *_) = await after.search_memories(KIM, "lighthouse", include=("resource",))
        assert turn.cosine is not None
    again = await change(settings)
    assert (done.in_use, again.rows, again.in_use, again.given_up) == (False, 0, True, None)


async def test_the_refusal_of_another_model_names_both_widths_and_the_command(
    memory: MemoryService, settings: Settings
) -> None:
    """PF-100, and PF-101's refusal before any change."""
    with pytest.raises(ConfigurationError) as caught:
        async with MemoryService.open(settings=settings, embedder=WIDE):
            raise AssertionError("opened")
    assert caught.value.code == "embedding_model_changed"
    for part in ("64 dimensions", "256 dimensions", "mnemic db reembed --model stub-wide"):
        assert part in caught.value.message


async def test_pf_101_vectors_of_3072_dimensions_work(
    memory: MemoryService, settings: Settings, prepare: Prepare, connect: Connect
) -> None:
    await memory.add_many(KIM, facts(3))
    very_wide = WideEmbedder(3072, "stub-very-wide")
    await prepare(settings, very_wide, curve())
    assert (await change(settings, very_wide)).rows == 3
    async with MemoryService.open(settings=settings, embedder=very_wide) as after:
        assert (await after.search_memories(KIM, facts(1)[0].content))[0].cosine is not None


async def test_a_process_of_the_old_model_finds_by_words_and_writes_nothing(
    memory: MemoryService, settings: Settings
) -> None:
    await memory.add_many(KIM, facts(5))
    fern = "Ferns grow in the shade of the old oak."
    await memory.resources.add(KIM, fern, title="Ferns")
    assert (await memory.search_memories(KIM, "shelf 3"))[0].cosine is not None
    await change(settings)
    for include in (("resource",), ("memory", "resource")):
        (hit, *_) = await memory.search_memories(KIM, "the old oak", include=include)
        assert (hit.content, hit.cosine) == (fern, None)
    await memory.build_context(KIM, "Where does the old oak stand?")
    with capture_logs() as logs:
        hits = await memory.search_memories(KIM, "Shelf number 3", k=1)
    assert (hits[0].content, hits[0].cosine) == (facts(4)[3].content, None)
    assert {log["reason"] for log in logs} == {"embedding_model_changed"}
    with pytest.raises(ConfigurationError) as caught:
        await memory.add_explicit_memory(KIM, "The piano was tuned in March")
    assert caught.value.code == "embedding_model_changed"
    assert (await memory.delete(KIM, hits[0].id)).count == 1


async def test_searches_and_writes_go_on_and_nobody_sees_two_models(
    memory: MemoryService, settings: Settings, connect: Connect
) -> None:
    await memory.add_many(KIM, facts(200))
    running = asyncio.create_task(change(settings))
    searched = 0
    try:
        while not running.done():
            hits = await memory.search_memories(KIM, f"Shelf number {searched % 200}", k=5)
            blind = [hit.cosine is None for hit in hits]
            assert len(hits) == 5
            assert all(blind) or not any(blind)
            with suppress(ConfigurationError):  # once the model is another one
                await memory.add_explicit_memory(LEE, f"Locker {searched} is for team {searched}")
            searched += 1
    finally:
        await running
    assert searched > 2
    assert await widths(connect) == {("item", 256)}


class Failing(WideEmbedder):
    """Answers for so many texts and then no more."""

    def __init__(self, dims: int, good_for: int) -> None:
        super().__init__(dims)
        self.left = good_for
        self.asked = 0

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.left -= len(texts)
        if self.left < 0:
            raise EmbeddingError("embedding_unreachable", "Away.")
        self.asked += len(texts)
        return await super().embed(list(texts))


async def test_a_change_that_stops_is_shown_and_resumed(
    memory: MemoryService, settings: Settings, connect: Connect
) -> None:
    rows = await fill(memory)
    with pytest.raises(EmbeddingError):
        await change(settings, Failing(256, 70))
    assert await widths(connect) == {("item", 64), ("chunk", 64)}
    async with as_owner(settings) as (owner, _):
        waiting = await under_way(owner.database)
    assert waiting is not None
    assert (waiting.model, waiting.size.items + waiting.size.chunks) == (WIDE.name, rows)
    assert 0 < waiting.size.ready < rows
    rest = Failing(256, rows)
    assert (await change(settings, rest)).rows == rows
    assert rest.asked == rows - waiting.size.ready
    async with as_owner(settings) as (owner, _):
        assert await under_way(owner.database) is None


async def test_going_back_to_the_model_in_use_gives_a_change_up(
    memory: MemoryService, settings: Settings, connect: Connect
) -> None:
    await memory.add_many(KIM, facts(100))
    with pytest.raises(EmbeddingError):
        await change(settings, Failing(256, 70))
    back = await change(settings, StubEmbedder())
    assert (back.rows, back.in_use, back.given_up) == (0, True, Failing(256, 70).name)
    owner = await connect("owner")
    assert await (await owner.execute("select count(*) as n from reembedding")).fetchone() == {
        "n": 0
    }
    async with as_owner(settings) as (opened, _):
        assert await under_way(opened.database) is None


async def test_two_changes_at_once_are_refused(memory: MemoryService, settings: Settings) -> None:
    await memory.add_many(KIM, facts(100))
    begun, free = asyncio.Event(), asyncio.Event()

    class Slow(WideEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[list[float]]:
            begun.set()
            await free.wait()
            return await super().embed(list(texts))

    first = asyncio.create_task(change(settings, Slow(256)))
    await begun.wait()
    with pytest.raises(Conflict) as caught:
        await change(settings)
    assert caught.value.code == "reembedding_under_way"
    free.set()
    assert (await first).rows == 100


async def test_users_with_a_model_of_their_own_are_left_alone(
    settings: Settings, prepare: Prepare, connect: Connect
) -> None:
    with endpoint(1024) as own:
        allowing = settings.model_copy(update={"allowed_hosts": frozenset({own.server.host})})
        await prepare(allowing, StubEmbedder(), curve())
        await prepare(allowing, WIDE, curve())
        async with MemoryService.open(settings=allowing, embedder=StubEmbedder()) as memory:
            await memory.add_many(KIM, facts(4))
            await memory.add_many(LEE, facts(4))
            await memory.embeddings.set(LEE, own.url, "own-1")
            assert (await change(allowing)).rows == 4
            assert await widths(connect) == {("item", 256), ("item", 1024)}
            (hit, *_) = await memory.search_memories(LEE, facts(3)[2].content)
            assert hit.cosine == pytest.approx(1.0, abs=0.01)
        async with MemoryService.open(settings=allowing, embedder=WIDE) as memory:
            assert (await memory.embeddings.clear(LEE)).rows == 4
        assert await widths(connect) == {("item", 256)}


async def test_a_preview_counts_and_changes_nothing(
    memory: MemoryService, settings: Settings, connect: Connect
) -> None:
    await fill(memory)
    unknown = WideEmbedder(128, "stub-unknown")
    async with as_owner(settings) as (owner, _):
        size, seconds = await ModelChange(owner.database, owner.keys, chunk_texts).preview(unknown)
        assert (size.items, size.chunks, size.ready) == (99, 1, 0)
        assert seconds > 0
        assert await under_way(owner.database) is None
    bare = await connect("owner")
    found = await bare.execute("select 1 from embedding_model where name = 'stub-unknown'")
    assert await found.fetchone() is None


@pytest.mark.parametrize("actor", [KIM, LEE, Actor("a:b/c", session="x/y z")])
def test_a_scope_key_leads_back_to_its_actor(actor: Actor) -> None:
    for scope_key in actor.scope_keys:
        back = actor_of(scope_key)
        assert scope_key in back.scope_keys
        assert back.user == actor.user
    assert actor_of("project:a%2Fb").project_scope == "project:a%2Fb"
