"""Does a service with a chat model keep what is sound of its answers, tell the rest, and lose nothing?"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from api_world import app_on, asking, told
from conftest import Prepare
from mnemic import Actor, MemoryService, Turn
from mnemic.chat import ChatMessage
from mnemic.errors import ChatError
from stub_embedder import StubEmbedder, curve

if TYPE_CHECKING:
    import httpx2

    from mnemic.settings import Settings

KIM = Actor("kim", session="s1")
FACTS = ("I live in Leeds", "I drink oat milk", "I own a red boat")


class Scripted:
    """A chat model that gives the answers it was told to give, the last one for ever."""

    name = "scripted"

    def __init__(self) -> None:
        self.answers: list[str] = []
        self.calls = 0

    async def complete(
        self, messages: Sequence[ChatMessage], *, json_schema: Mapping[str, object] | None = None
    ) -> str:
        self.calls += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def item(content: str, **more: Any) -> dict[str, Any]:
    given = {"content": content, "memory_type": "fact", "scope": "user", "confidence": 0.9}
    return given | {"turns": [1]} | more


def answer(*items: dict[str, Any]) -> str:
    return json.dumps({"memories": items})


@pytest.fixture
def chat() -> Scripted:
    return Scripted()


@pytest.fixture
async def memory(
    settings: Settings, prepare: Prepare, chat: Scripted
) -> AsyncIterator[MemoryService]:
    await prepare(settings, StubEmbedder(), curve())
    async with MemoryService.open(
        settings=settings, embedder=StubEmbedder(), chat_model=chat
    ) as service:
        await service.sessions.append(KIM, [Turn("user", ". ".join(FACTS))])
        yield service


@pytest.fixture
async def kim(memory: MemoryService) -> AsyncIterator[httpx2.AsyncClient]:
    async with asking(app_on(memory), mnemic_session="s1") as client:
        yield client


async def contents(memory: MemoryService) -> set[str]:
    return {one.content for one in (await memory.list(KIM, status="all")).items}


async def test_pf_024_an_answer_cut_half_way_is_told_and_leaves_nothing_half_written(
    memory: MemoryService, chat: Scripted, kim: httpx2.AsyncClient
) -> None:
    whole = answer(*map(item, FACTS))
    chat.answers = [whole[: len(whole) // 2]]
    with pytest.raises(ChatError) as failed:
        await memory.extract(KIM)
    assert (failed.value.code, chat.calls) == ("extraction_malformed", 2)
    problem = await kim.post("/api/memory/extract")
    told(problem, 502, "extraction_malformed")
    assert FACTS[0] not in problem.text
    assert await contents(memory) == set()
    chat.answers = [f"Here are the facts:\n```json\n{whole}\n```\nAnything else?"]
    report = await memory.extract(KIM)
    assert (report.turns, await contents(memory)) == (1, set(FACTS))


async def test_pf_025_pf_027_pf_028_what_is_unusable_of_an_answer_is_told_and_the_rest_is_kept(
    memory: MemoryService, chat: Scripted, kim: httpx2.AsyncClient
) -> None:
    lacking = item(FACTS[2])
    del lacking["memory_type"]
    broken = json.dumps(item("My boat is called BAD")).replace("BAD", "\\uZZ12")
    rows = [*map(json.dumps, (item(FACTS[0]), lacking, item(FACTS[1], turns=[12]))), broken]
    chat.answers = [f'{{"memories": [{", ".join(rows)}]}}']
    report = (await kim.post("/api/memory/extract")).json()
    assert len(report["findings"]) == 1
    assert sorted(report["skipped"]) == ["broken_escape", "missing_field", "unknown_turn"]
    assert await contents(memory) == {FACTS[0]}


async def test_pf_026_two_objects_one_after_the_other_are_both_kept(
    memory: MemoryService, chat: Scripted
) -> None:
    chat.answers = [answer(item(FACTS[0])) + answer(item(FACTS[1]))]
    assert (await memory.extract(KIM)).skipped == ()
    assert await contents(memory) == set(FACTS[:2])
