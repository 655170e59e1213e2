"""Does every turn become searchable, once, whatever fails on the way?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from conftest import Connect, Prepare
from mnemic import Actor, MemoryService, ToolCall, Turn
from mnemic.errors import EmbeddingError, InvalidInput, NotFound, RateLimited
from mnemic.item_rows import blind_lexemes
from mnemic.lexical import tokens
from mnemic.resources.conversations import BATCH
from mnemic.resources.turns import passages, speaker_mac, window
from mnemic.settings import Settings
from stub_embedder import StubEmbedder, curve, vector

KIM = Actor("kim", session="s1")
ROWS = """
    select c.ordinal, c.role, c.asking, c.stands, c.speaker_mac, c.text_enc, c.occurred_at, c.scope_key,
        c.embedding::real[] as embedding, array(select p::real[] from unnest(c.passages) p) as passages,
        c.lexemes::text as lexemes, c.n_tokens, r.session_id, r.kind, r.collection, r.n_chunks
    from chunk c join resource r on r.scope_key = c.scope_key and r.id = c.resource_id
    where c.scope_key = 'user:kim' order by r.session_id, c.ordinal"""


async def rows(connect: Connect) -> list[dict[str, Any]]:
    return await (await (await connect("owner")).execute(ROWS)).fetchall()


def near(found: Sequence[float], text: str) -> bool:
    """Tell whether a stored vector is that of a text (half floats round)."""
    return all(abs(a - b) < 0.002 for a, b in zip(found, vector(text), strict=True))


class Failing(StubEmbedder):
    """Embeds so many calls, then fails until it is healed; some texts it never takes."""

    def __init__(self, calls: int = 1_000_000, poison: str = "") -> None:
        self.calls = calls
        self.poison = poison

    async def embed(self, texts: Sequence[str]) -> list[Any]:
        if self.calls == 0:
            raise EmbeddingError("embedding_unreachable", "The endpoint does not answer.")
        self.calls -= 1
        await asyncio.sleep(0)
        refused = EmbeddingError("embedding_refused", "It does not take this text.", status=400)
        return [refused if self.poison and self.poison in text else vector(text) for text in texts]


async def opened(prepare: Prepare, settings: Settings, embedder: StubEmbedder) -> MemoryService:
    await prepare(settings, embedder, curve())
    return MemoryService.open(settings=settings, embedder=embedder)


async def test_a_turn_is_found_by_what_it_and_its_neighbours_say(
    stub_memory: MemoryService, connect: Connect
) -> None:
    said = ["I always bake rye bread.", "Lovely! With caraway?", "Yes, a lot of it."]
    start = datetime(2026, 3, 1, 9, tzinfo=UTC)
    turns = [
        Turn("user", said[0], start),
        Turn("assistant", said[1], start + timedelta(minutes=1)),
        Turn("user", said[2], start + timedelta(minutes=2)),
    ]
    await stub_memory.sessions.append(KIM, turns)
    assert await stub_memory.resources.index(KIM) == 3
    found = await rows(connect)
    assert [row["ordinal"] for row in found] == [1, 2, 3]
    assert [row["role"] for row in found] == [1, -1, 1]
    assert [row["stands"] for row in found] == [True, False, False]
    assert [round(row["asking"], 2) for row in found] == [0, 0.67, 0]
    assert [row["occurred_at"] for row in found] == [turn.created_at for turn in turns]
    around = ["\n".join(said[:2]), "\n".join(said), "\n".join(said[1:])]
    assert all(near(row["embedding"], text) for row, text in zip(found, around, strict=True))
    own = [row["passages"] for row in found]
    assert all(len(one) == 1 and near(one[0], text) for one, text in zip(own, said, strict=True))
    assert {row["text_enc"] for row in found} == {None}
    assert {(row["kind"], row["collection"], row["n_chunks"]) for row in found} == {
        ("chat", "memory", 3)
    }


async def test_words_are_blind_and_do_not_name_the_speaker(
    stub_memory: MemoryService, connect: Connect
) -> None:
    await stub_memory.sessions.append(
        KIM, [Turn("user", "我喜欢 rye bread, rye", speaker="Ａnna ")]
    )
    await stub_memory.resources.index(KIM)
    (row,) = await rows(connect)
    parts = stub_memory._parts
    async with parts.deployment.database.transaction(KIM) as tx:
        key = await parts.deployment.keys.obtain(tx, KIM)
        expected = blind_lexemes(
            key,
            {
                word: tokens("我喜欢 rye bread, rye").count(word)
                for word in tokens("我喜欢 rye bread, rye")
            },
        )
        same = await tx.one("select %(a)s::tsvector::text as a", {"a": expected})
    assert same is not None
    assert row["lexemes"] == same["a"]
    assert row["n_tokens"] == len(tokens("我喜欢 rye bread, rye"))
    assert key.lexeme("anna") not in row["lexemes"]
    assert row["speaker_mac"] == speaker_mac(key, "anna")
    assert row["role"] == 1


async def test_indexing_again_adds_nothing_and_new_turns_renew_the_last_window(
    stub_memory: MemoryService, connect: Connect
) -> None:
    await stub_memory.sessions.append(
        KIM, [Turn("user", "I moved to Ghent"), Turn("user", "Alone")]
    )
    assert await stub_memory.resources.index(KIM) == 2
    assert await stub_memory.resources.index(KIM) == 0
    before = await rows(connect)
    assert near(before[1]["embedding"], "I moved to Ghent\nAlone")
    await stub_memory.sessions.append(KIM, [Turn("assistant", "How is it there?")])
    assert await stub_memory.resources.index(KIM) == 1
    after = await rows(connect)
    assert len(after) == 3
    assert near(after[1]["embedding"], "I moved to Ghent\nAlone\nHow is it there?")
    assert after[0] | {"n_chunks": 3} == before[0] | {"n_chunks": 3}
    assert (after[1]["lexemes"], after[1]["role"]) == (before[1]["lexemes"], 1)


async def test_a_lone_turn_stores_one_vector_and_gains_one_with_company(
    stub_memory: MemoryService, connect: Connect
) -> None:
    await stub_memory.sessions.append(KIM, [Turn("user", "Only me")])
    await stub_memory.resources.index(KIM)
    assert (await rows(connect))[0]["passages"] == []
    await stub_memory.sessions.append(KIM, [Turn("assistant", "And me")])
    await stub_memory.resources.index(KIM)
    assert [len(row["passages"]) for row in await rows(connect)] == [1, 1]


async def test_extraction_indexes_first_also_when_the_pass_comes_too_soon(
    stub_memory: MemoryService, connect: Connect
) -> None:
    for number in range(5):
        await stub_memory.sessions.append(KIM, [Turn("user", f"Turn number {number}")])
        if number < 3:
            await stub_memory.extract(KIM)
        else:
            with pytest.raises(RateLimited):
                await stub_memory.extract(KIM)
    assert [row["ordinal"] for row in await rows(connect)] == [1, 2, 3, 4, 5]


async def test_a_session_is_one_resource_in_the_scope_of_its_user(
    stub_memory: MemoryService, connect: Connect
) -> None:
    for session in ("a", "b"):
        for text in ("First", "Second"):
            actor = Actor("kim", session=session)
            await stub_memory.sessions.append(actor, [Turn("user", text)])
            await stub_memory.resources.index(actor)
    found = await rows(connect)
    assert [(row["session_id"], row["ordinal"]) for row in found] == [
        ("a", 1), ("a", 2), ("b", 1), ("b", 2),
    ]  # fmt: skip


async def test_long_conversations_are_indexed_in_batches_with_windows_across_them(
    stub_memory: MemoryService, connect: Connect
) -> None:
    count = 2 * BATCH + 5
    said = [f"This is what was said as number {number}" for number in range(count)]
    await stub_memory.sessions.append(KIM, [Turn("user", text) for text in said])
    assert await stub_memory.resources.index(KIM) == count
    found = await rows(connect)
    assert [row["ordinal"] for row in found] == list(range(1, count + 1))
    for at in (BATCH - 1, BATCH, 2 * BATCH):
        assert near(found[at]["embedding"], "\n".join(said[at - 1 : at + 2])), at


async def test_an_embedder_that_dies_midway_is_picked_up_where_it_fell(
    settings: Settings, prepare: Prepare, connect: Connect
) -> None:
    embedder = Failing(calls=1)
    async with await opened(prepare, settings, embedder) as memory:
        count = 3 * BATCH
        await memory.sessions.append(KIM, [Turn("user", f"Word {n} of many") for n in range(count)])
        with pytest.raises(EmbeddingError, match="embedding_unreachable"):
            await memory.resources.index(KIM)
        assert len(await rows(connect)) == BATCH
        embedder.calls = 1_000
        assert await memory.resources.index(KIM) == count - BATCH
        found = await rows(connect)
    assert [row["ordinal"] for row in found] == list(range(1, count + 1))
    assert {row["n_chunks"] for row in found} == {count}


async def test_texts_that_share_an_endpoint_failure_are_not_indexed_without_vectors(
    settings: Settings, prepare: Prepare, connect: Connect
) -> None:
    class Half(StubEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[Any]:
            away = EmbeddingError("embedding_timeout", "The endpoint took too long.")
            return [vector(texts[0]), *[away for _ in texts[1:]]]

    async with await opened(prepare, settings, Half()) as memory:
        await memory.sessions.append(KIM, [Turn("user", "One"), Turn("user", "Two")])
        with pytest.raises(EmbeddingError, match="embedding_timeout"):
            await memory.resources.index(KIM)
    assert await rows(connect) == []


async def test_a_text_that_the_model_refuses_is_found_by_its_words(
    settings: Settings, prepare: Prepare, connect: Connect
) -> None:
    async with await opened(prepare, settings, Failing(poison="verboten")) as memory:
        said = ["The first one", "This is verboten here", "The third one", "The fourth one"]
        await memory.sessions.append(KIM, [Turn("user", text) for text in said])
        assert await memory.resources.index(KIM) == 4
    found = await rows(connect)
    assert [row["n_tokens"] > 0 for row in found] == [True] * 4
    # neighbours lose their surroundings only, the refused turn every vector
    assert near(found[0]["embedding"], said[0])
    assert found[1]["embedding"] is None
    assert near(found[2]["embedding"], said[2])
    assert near(found[3]["embedding"], "\n".join(said[2:]))


async def test_blank_turns_leave_no_chunk_and_long_ones_are_cut_for_vectors_only(
    stub_memory: MemoryService, connect: Connect
) -> None:
    long = " ".join(f"word{number} stands here." for number in range(1_000)) + " zanzibar"
    turns = [
        Turn("user", "Hello"),
        Turn("assistant", " \n", tool_calls=(ToolCall("call-1", "vote"),)),
        Turn("user", long),
        Turn("tool", "👍", tool_call_id="call-1"),
    ]
    await stub_memory.sessions.append(KIM, turns)
    assert await stub_memory.resources.index(KIM) == 4
    found = await rows(connect)
    assert [row["ordinal"] for row in found] == [1, 3, 4]
    assert near(found[1]["embedding"], window(long, None, "👍"))
    assert len(found[1]["passages"]) == len(passages(long[:8_000])) > 20
    async with stub_memory._parts.deployment.database.transaction(KIM) as tx:
        key = await stub_memory._parts.deployment.keys.obtain(tx, KIM)
    assert key.lexeme("zanzibar") in found[1]["lexemes"]
    assert found[1]["n_tokens"] > 3_000
    assert (found[2]["role"], found[2]["n_tokens"]) == (0, 0)


async def test_the_longest_turn_of_different_words_fits(
    stub_memory: MemoryService, connect: Connect
) -> None:
    text = " ".join(f"w{number:x}" for number in range(60_000))
    await stub_memory.sessions.append(KIM, [Turn("user", text)])
    assert await stub_memory.resources.index(KIM) == 1
    assert len(await rows(connect)) == 1


async def test_two_indexers_at_once_leave_each_turn_once(
    settings: Settings, prepare: Prepare, connect: Connect
) -> None:
    first, second = Failing(), Failing()
    count = 2 * BATCH
    async with await opened(prepare, settings, first) as one:
        await one.sessions.append(KIM, [Turn("user", f"Word {n} of many") for n in range(count)])
        async with MemoryService.open(settings=settings, embedder=second) as two:
            runs = [memory.resources.index(KIM) for memory in (one, two, one, two)]
            done = await asyncio.gather(*runs)
    found = await rows(connect)
    assert sum(done) == count
    assert [row["ordinal"] for row in found] == list(range(1, count + 1))
    assert {row["n_chunks"] for row in found} == {count}


async def test_turns_that_come_while_indexing_are_not_lost(
    stub_memory: MemoryService, connect: Connect
) -> None:
    async def talk() -> None:
        for number in range(30):
            await stub_memory.sessions.append(KIM, [Turn("user", f"Line {number}")])

    async def listen() -> None:
        for _ in range(15):
            await stub_memory.resources.index(KIM)

    await stub_memory.sessions.append(KIM, [Turn("user", "Line")])
    await asyncio.gather(talk(), listen(), listen())
    await stub_memory.resources.index(KIM)
    found = await rows(connect)
    assert [row["ordinal"] for row in found] == list(range(1, 32))
    for at in range(1, 30):
        texts = ["Line", *[f"Line {number}" for number in range(30)]]
        assert near(found[at]["embedding"], "\n".join(texts[at - 1 : at + 2])), at


async def test_without_a_session_or_a_log_there_is_nothing_to_index(
    stub_memory: MemoryService,
) -> None:
    with pytest.raises(InvalidInput, match="session_required"):
        await stub_memory.resources.index(Actor("kim"))
    with pytest.raises(NotFound, match="session_not_found"):
        await stub_memory.resources.index(KIM)
