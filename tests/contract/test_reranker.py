"""Does a reranker decide the order as its page of the documentation says, and can none break a search?"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from conftest import Prepare
from mnemic import Actor, EmbeddingError, Hit, InvalidInput, MemoryService, ResourceHit, Turn
from mnemic.longterm.draft import Draft
from mnemic.retrieval import rerank
from mnemic.retrieval.rank import final_score
from mnemic.retrieval.rerank import CANDIDATES, LONGEST, RerankedParts, Reranker, checked
from mnemic.settings import Settings
from stub_embedder import StubEmbedder, curve

KIM = Actor("kim")
SECRET = "behind the mirror"
Answer = Callable[[str, Sequence[str]], Any]


class Scripted:
    """A reranker that answers as it is told and remembers what it was given."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[tuple[str, list[str]]] = []

    async def scores(self, query: str, texts: Sequence[str]) -> Any:
        self.asked.append((query, list(texts)))
        answer = self.answer(query, texts)
        return await answer if isinstance(answer, Awaitable) else answer


Open = Callable[[Reranker | None], MemoryService]


@pytest.fixture
async def opened(settings: Settings, prepare: Prepare) -> Open:
    """Open the same memory with one reranker or another."""
    await prepare(settings, StubEmbedder(), curve())
    return lambda reranker: MemoryService.open(
        settings=settings, embedder=StubEmbedder(), reranker=reranker
    )


async def fill(memory: MemoryService, count: int = 6) -> None:
    drafts = [Draft(f"Locker {n} in the annex belongs to team {n}") for n in range(count)]
    assert {v.outcome for v in await memory.add_many(KIM, drafts)} == {"stored"}
    talk = Actor("kim", session="s1")
    said = [Turn("user", f"Locker {n} of the annex is open", speaker="Priya") for n in range(count)]
    await memory.sessions.append(talk, said)
    await memory.resources.index(talk)


def by_number(query: str, texts: Sequence[str]) -> list[float]:
    """Likes high numbers."""
    return [int(next(word for word in text.split() if word.isdigit())) / 100 for text in texts]


async def search(memory: MemoryService, **more: Any) -> Sequence[Hit | ResourceHit]:
    return await memory.search_memories(KIM, "Which locker in the annex?", **more)


async def test_the_reranker_decides_the_order_of_memories(opened: Open) -> None:
    reranker = Scripted(by_number)
    async with opened(reranker) as memory:
        await fill(memory)
        hits = await search(memory, k=3)
    assert [hit.content.split()[1] for hit in hits] == ["5", "4", "3"]
    (query, texts) = reranker.asked[0]
    assert query == "Which locker in the annex?"
    assert sorted(texts) == [f"Locker {n} in the annex belongs to team {n}" for n in range(6)]


async def test_memories_and_turns_stand_in_one_order_and_turns_name_their_speaker(
    opened: Open,
) -> None:
    reranker = Scripted(
        lambda query, texts: [1.0 if text.startswith("Priya: ") else 0.0 for text in texts]
    )
    async with opened(reranker) as memory:
        await fill(memory)
        both = await search(memory, k=12, include=("memory", "resource"))
        turns = await search(memory, k=3, include=("resource",))
    assert [type(hit) for hit in both] == [ResourceHit] * 6 + [Hit] * 6
    assert len(turns) == 3
    assert all(isinstance(hit.parts, RerankedParts) and hit.parts.reranked == 1.0 for hit in turns)
    assert len(reranker.asked) == 2


async def test_a_hit_explains_what_the_reranker_did(opened: Open) -> None:
    async with opened(None) as memory:
        await fill(memory)
        before = {hit.content: hit for hit in await search(memory, k=6)}
    assert not any(isinstance(hit.parts, RerankedParts) for hit in before.values())
    async with opened(Scripted(by_number)) as memory:
        hits = await search(memory, k=6)
    for hit in hits:
        parts = hit.parts
        assert isinstance(parts, RerankedParts)
        assert parts.reranked == int(hit.content.split()[1]) / 100
        assert parts.similarity == before[hit.content].parts.similarity
        assert hit.score == final_score(parts.reranked, parts.confidence, "user")
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


async def test_a_least_score_is_held_against_the_new_score(opened: Open) -> None:
    async with opened(Scripted(lambda query, texts: [0.0] * (len(texts) - 1) + [1.0])) as memory:
        await fill(memory)
        hits = await search(memory, k=6)
        (only,) = await search(memory, k=6, min_score=hits[0].score)
    assert only.score == hits[0].score > hits[1].score


async def test_equal_scores_leave_the_order(opened: Open) -> None:
    async with opened(None) as memory:
        await fill(memory)
        before = [hit.id for hit in await search(memory, k=6)]
    async with opened(Scripted(lambda query, texts: [0.5] * len(texts))) as memory:
        assert [hit.id for hit in await search(memory, k=6)] == before


async def test_fifty_are_given_or_as_many_as_are_asked_for(opened: Open) -> None:
    reranker = Scripted(by_number)
    async with opened(reranker) as memory:
        await fill(memory, 80)
        for k, given in ((1, CANDIDATES), (5, CANDIDATES), (70, 70)):
            assert len(await search(memory, k=k)) == k
            assert len(reranker.asked[-1][1]) == given


async def test_what_found_nothing_asks_nobody(opened: Open) -> None:
    reranker = Scripted(by_number)
    async with opened(reranker) as memory:
        assert list(await search(memory)) == []
        with pytest.raises(InvalidInput, match="blank_query"):
            await memory.search_memories(KIM, "  ")
    assert reranker.asked == []


async def test_a_prompt_is_put_in_the_order_of_the_reranker(opened: Open) -> None:
    async with opened(Scripted(by_number)) as memory:
        await fill(memory)
        text = await memory.build_context(KIM, "Locker 1 in the annex belongs to which team 1?")
    shown = [line.split("Locker ")[1][0] for line in text.splitlines() if "belongs to" in line]
    assert len(shown) > 1
    assert shown == sorted(shown, reverse=True)


async def test_a_long_text_is_cut(opened: Open) -> None:
    reranker = Scripted(lambda query, texts: [0.5] * len(texts))
    talk = Actor("kim", session="s1")
    async with opened(reranker) as memory:
        await memory.sessions.append(talk, [Turn("user", "Locker of the annex. " * 400)])
        await memory.resources.index(talk)
        (hit,) = await search(memory, include=("resource",))
    assert len(hit.content) > LONGEST
    assert [len(text) for text in reranker.asked[0][1]] == [LONGEST]


# ---- none can break a search


def fails(query: str, texts: Sequence[str]) -> Any:
    raise RuntimeError(f"model broke on {texts[0]}")


def of_ours(query: str, texts: Sequence[str]) -> Any:
    raise EmbeddingError("model_away", f"It broke on {texts[0]}")


def lazily(query: str, texts: Sequence[str]) -> Any:
    yield 0.5
    raise RuntimeError(f"model broke on {texts[0]}")


async def sleeps(query: str, texts: Sequence[str]) -> list[float]:
    await asyncio.sleep(60)
    return [0.5] * len(texts)


async def will_not_stop(query: str, texts: Sequence[str]) -> list[float]:
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await asyncio.sleep(0.1)
        raise ValueError(texts[0]) from None
    return []


async def gives_up(query: str, texts: Sequence[str]) -> list[float]:
    raise asyncio.CancelledError


BAD: dict[str, tuple[Any, str]] = {
    "raises": (fails, "reranker_failed"),
    "raises when it is read": (lazily, "reranker_failed"),
    "says which": (of_ours, "reranker_failed"),
    "cancels itself": (gives_up, "reranker_failed"),
    "sleeps": (sleeps, "reranker_timeout"),
    "will not stop": (will_not_stop, "reranker_timeout"),
    "none": (lambda query, texts: None, "reranker_bad_answer"),
    "too few": (lambda query, texts: [0.5], "reranker_bad_answer"),
    "too many": (lambda query, texts: [0.5] * (len(texts) + 1), "reranker_bad_answer"),
    "nan": (lambda query, texts: [float("nan")] * len(texts), "reranker_bad_answer"),
    "infinite": (lambda query, texts: [float("inf")] * len(texts), "reranker_bad_answer"),
    "logits": (lambda query, texts: [7.3] * len(texts), "reranker_bad_answer"),
    "negative": (lambda query, texts: [-0.1] * len(texts), "reranker_bad_answer"),
    "texts": (lambda query, texts: ["0.5"] * len(texts), "reranker_bad_answer"),
    "pairs": (lambda query, texts: [(0, 0.5)] * len(texts), "reranker_bad_answer"),
}


KINDS: dict[str, tuple[str, str | None, str]] = {
    "raises": ("internal_error", "RuntimeError", __name__),
    "raises when it is read": ("internal_error", "RuntimeError", __name__),
    "says which": ("model_away", None, ""),
}
"""What the log says of an error: its code, of a foreign one its type and module."""


@pytest.mark.parametrize("name", BAD)
async def test_the_order_without_it_stands(
    name: str, opened: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rerank, "TIMEOUT", 0.2)
    answer, reason = BAD[name]
    async with opened(None) as memory:
        await fill(memory)
        await memory.add_explicit_memory(KIM, f"The annex key hangs {SECRET}")
        before = await search(memory, k=4)
        prompt = await memory.build_context(KIM, "Locker 1 in the annex belongs to team 1")
    caplog.set_level(logging.DEBUG)
    async with opened(Scripted(answer)) as memory:
        with capture_logs() as logs:
            began = asyncio.get_running_loop().time()
            assert await search(memory, k=4) == before
            assert asyncio.get_running_loop().time() - began < 5
            assert (
                await memory.build_context(KIM, "Locker 1 in the annex belongs to team 1") == prompt
            )
        await asyncio.sleep(0.3)
    told = [line for line in logs if line["event"] == "search_without_reranker"]
    assert {line["reason"] for line in told} == {reason}
    kinds = {
        (line.get("code"), line.get("error"), line.get("place", "").split(":")[0]) for line in told
    }
    assert kinds == {KINDS.get(name, (None, None, ""))}
    assert SECRET not in str(logs) + caplog.text
    assert "Locker" not in str(logs) + caplog.text


async def test_a_search_that_is_given_up_stops_the_reranker(opened: Open) -> None:
    stopped = asyncio.Event()

    async def waits(query: str, texts: Sequence[str]) -> list[float]:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()
        return []

    async with opened(Scripted(waits)) as memory:
        await fill(memory)
        task = asyncio.create_task(search(memory))  # type: ignore[arg-type]
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(stopped.wait(), 1)


def test_numbers_of_any_kind_are_taken() -> None:
    import numpy

    assert checked(numpy.array([0.25, 1.0], dtype="float32"), 2) == (0.25, 1.0)
    assert checked(iter([0, 1]), 2) == (0.0, 1.0)
    assert checked({0.5: 1}, 2) is None
