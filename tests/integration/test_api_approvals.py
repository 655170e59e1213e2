"""Can a person decide over REST what an agent waits for, once, and nobody else?"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Any, TypedDict
from uuid import uuid4

import httpx2
import pytest
from episode_world import config, mailer
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from api_world import Served, told
from conftest import Server
from mnemic.client import AsyncMnemicClient
from mnemic.errors import Conflict
from mnemic.model import Actor
from mnemic.service import MemoryService
from mnemic.settings import Settings
from stub_embedder import StubEmbedder


@pytest.fixture(scope="module")
def where(server: Server) -> Settings:
    """The schema of this module's service."""
    return server.settings(f"t_{uuid4().hex[:12]}")


@pytest.fixture(scope="module")
def served(where: Settings) -> Iterator[Served]:
    """A running service, behind a port."""
    with Served(where) as running:
        yield running


@pytest.fixture
async def memory(served: Served, where: Settings) -> AsyncIterator[MemoryService]:
    """The memory that the agents run on, in another place than the service."""
    async with MemoryService.open(settings=where, embedder=StubEmbedder()) as opened:
        yield opened


@pytest.fixture
def user() -> str:
    """A user whom no other test has."""
    return f"kim-{uuid4().hex[:8]}"


@pytest.fixture
async def kim(served: Served, user: str) -> AsyncIterator[httpx2.AsyncClient]:
    """That user's client."""
    async with _client(served, user) as client:
        yield client


def _client(served: Served, user: str, **headers: str) -> httpx2.AsyncClient:
    given = {"authorization": f"Bearer mk_{user}"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return httpx2.AsyncClient(base_url=served.url, headers=given, timeout=60)


class Said(TypedDict, total=False):
    """What people answered."""

    first: Any
    second: Any


def asker(checkpointer: Any, *questions: Any) -> Any:
    """A graph of one node, which asks one or two questions."""

    def ask(state: Said) -> Said:
        found = [interrupt(question) for question in questions]
        return {"first": found[0], "second": found[-1]}

    graph = StateGraph(Said)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    return graph.compile(checkpointer=checkpointer)


class Agent:
    """A thread of a user's agent."""

    def __init__(self, memory: MemoryService, user: str, build: Any, session: str = "s1") -> None:
        self.thread = f"t-{uuid4().hex[:8]}"
        self._graph = build(memory.episodes.checkpointer())
        self._config = config(Actor(user, session=session), self.thread)

    async def run(self, state: Any = None) -> Any:
        """Begin, or go on from where it stopped."""
        return await self._graph.ainvoke(state, self._config)


async def _waiting(client: httpx2.AsyncClient, **headers: str) -> list[dict[str, Any]]:
    answer = await client.get("/api/approvals", headers=headers)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["approvals"]
    return found


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"decision": "approve"}, "approve"),
        ({"decision": "edit", "arguments": {"to": "小明"}}, "edit 小明"),
        ({"decision": "reject", "message": "Not before Monday."}, "reject Not before Monday."),
        ({"decision": "reject"}, "reject "),
        ({"decision": "answer", "value": {"decisions": [{"type": "approve"}]}}, "approve"),
    ],
)
async def test_a_decision_is_what_the_agent_goes_on_with(
    memory: MemoryService,
    kim: httpx2.AsyncClient,
    user: str,
    body: dict[str, Any],
    words: str,
) -> None:
    agent = Agent(memory, user, mailer)
    await agent.run({})
    (asked,) = await _waiting(kim)
    assert asked["thread_id"] == agent.thread
    assert asked["session_id"] == "s1"
    (action,) = asked["actions"]
    assert (action["name"], action["args"]) == ("send_mail", {"to": "ann"})
    assert datetime.fromisoformat(asked["asked_at"]).utcoffset() is not None
    answer = await kim.post(f"/api/approvals/{asked['id']}", json=body)
    assert answer.status_code == 200, answer.text
    told_now = answer.json()
    assert (told_now["status"], told_now["thread_id"]) == ("ready", agent.thread)
    assert (told_now["approvals"], told_now["approval_id"]) == ([], asked["id"])
    assert await _waiting(kim) == []
    state = await agent.run()
    assert state["messages"][-1].content == words


async def test_what_is_no_tool_call_is_answered_with_any_value(
    memory: MemoryService, kim: httpx2.AsyncClient, user: str
) -> None:
    cases: list[tuple[dict[str, Any], Any]] = [
        ({"decision": "approve"}, True),
        ({"decision": "approve", "value": {"colour": "blue"}}, {"colour": "blue"}),
        ({"decision": "edit", "arguments": "下午四点"}, "下午四点"),
        ({"decision": "reject"}, False),
        ({"decision": "answer", "value": None}, None),
        ({"decision": "answer", "value": [1, 2.5, "三"]}, [1, 2.5, "三"]),
    ]
    for body, expected in cases:
        agent = Agent(memory, user, lambda saver: asker(saver, {"which": "colour?"}))
        await agent.run({})
        (asked,) = await _waiting(kim)
        assert (asked["question"], asked["actions"]) == ({"which": "colour?"}, [])
        assert (await kim.post(f"/api/approvals/{asked['id']}", json=body)).status_code == 200
        assert (await agent.run())["first"] == expected


async def test_a_second_decision_is_a_conflict_and_a_repeated_request_is_none(
    memory: MemoryService, kim: httpx2.AsyncClient, user: str
) -> None:
    agent = Agent(memory, user, mailer)
    await agent.run({})
    (asked,) = await _waiting(kim)
    at, key = f"/api/approvals/{asked['id']}", {"Idempotency-Key": str(uuid4())}
    first = await kim.post(at, json={"decision": "approve"}, headers=key)
    again = await kim.post(at, json={"decision": "approve"}, headers=key)
    assert (first.status_code, first.text) == (200, again.text)
    other = await kim.post(at, json={"decision": "reject"}, headers=key)
    told(other, 422, "idempotency_mismatch")
    for body in (
        {"decision": "reject"},
        {"decision": "approve"},
        {"decision": "answer", "value": 1},
    ):
        told(await kim.post(at, json=body), 409, "approval_decided")
    assert (await agent.run())["sent"] is True
    told(await kim.post(at, json={"decision": "reject"}), 404, "unknown_approval")
    again = await kim.post(at, json={"decision": "approve"}, headers=key)
    assert again.text == first.text


async def test_of_many_decisions_at_once_one_counts(
    memory: MemoryService, kim: httpx2.AsyncClient, user: str
) -> None:
    agent = Agent(memory, user, mailer)
    await agent.run({})
    (asked,) = await _waiting(kim)
    at = f"/api/approvals/{asked['id']}"
    answers = await asyncio.gather(
        *(kim.post(at, json={"decision": one}) for one in ("approve", "reject") * 4)
    )
    taken = [answer for answer in answers if answer.status_code == 200]
    assert len(taken) == 1
    for answer in answers:
        if answer is not taken[0]:
            told(answer, 409, "approval_decided")
    word = json.loads(taken[0].request.content)["decision"]
    assert (await agent.run())["sent"] is (word == "approve")


async def test_anothers_approval_answers_like_one_that_never_was(
    served: Served, memory: MemoryService, kim: httpx2.AsyncClient, user: str
) -> None:
    agent = Agent(memory, user, mailer)
    await agent.run({})
    (asked,) = await _waiting(kim)
    async with _client(served, f"lee-{user}") as lee:
        assert await _waiting(lee) == []
        seen = set()
        for name in (asked["id"], uuid4().hex, "x/y", "../memory", "%", "*", "0" * 200):
            path = f"/api/approvals/{name.replace('%', '%25').replace('/', '%2F')}"
            problem = told(
                await lee.post(path, json={"decision": "approve"}), 404, "unknown_approval"
            )
            seen.add(json.dumps({**problem, "request_id": ""}))
        assert len(seen) == 1
    async with _client(served, f"{user}/read") as reader:
        assert [one["id"] for one in await _waiting(reader)] == [asked["id"]]
        path = f"/api/approvals/{asked['id']}"
        told(await reader.post(path, json={"decision": "approve"}), 403, "scope_missing")
    assert [one["id"] for one in await _waiting(kim)] == [asked["id"]]


async def test_a_session_shows_what_waits_in_it(
    memory: MemoryService, kim: httpx2.AsyncClient, user: str
) -> None:
    agents = [Agent(memory, user, mailer, session) for session in ("s1", "s2")]
    for agent in agents:
        await agent.run({})
    assert [one["thread_id"] for one in await _waiting(kim)] == [one.thread for one in agents]
    (second,) = await _waiting(kim, **{"mnemic-session": "s2"})
    assert second["thread_id"] == agents[1].thread
    assert await _waiting(kim, **{"mnemic-session": "s3"}) == []


async def test_a_decision_about_one_question_is_not_taken_for_the_next_one(
    memory: MemoryService, kim: httpx2.AsyncClient, user: str
) -> None:
    agent = Agent(memory, user, lambda saver: asker(saver, "send it?", "delete it?"))
    await agent.run({})
    (first,) = await _waiting(kim)
    at = f"/api/approvals/{first['id']}"
    assert (await kim.post(at, json={"decision": "approve"})).status_code == 200
    await agent.run()
    (second,) = await _waiting(kim)
    assert second["question"] == "delete it?"
    late = await kim.post(at, json={"decision": "approve"})
    assert (late.status_code, late.json()["code"]) in (
        (404, "unknown_approval"), (409, "approval_decided")
    )  # fmt: skip
    assert await _waiting(kim) == [second]
    at = f"/api/approvals/{second['id']}"
    assert (await kim.post(at, json={"decision": "reject"})).status_code == 200
    assert (await agent.run()) == {"first": True, "second": False}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "field_missing"),
        ({"decision": "maybe"}, "unknown_decision"),
        ({"decision": None}, "unknown_decision"),
        ({"decision": ["approve"]}, "unknown_decision"),
        ({"decision": "edit"}, "decision_unclear"),
        ({"decision": "answer"}, "decision_unclear"),
        ({"decision": "approve", "message": "yes"}, "decision_unclear"),
        ({"decision": "approve", "arguments": {"to": "bob"}}, "decision_unclear"),
        ({"decision": "reject", "value": 1}, "decision_unclear"),
        ({"decision": "approve", "value": {"to": "bob"}}, "value_unwanted"),
        ({"decision": "edit", "arguments": "bob"}, "edit_missing"),
        ({"decision": "edit", "arguments": None}, "edit_missing"),
        ({"decision": "reject", "message": ""}, "invalid_message"),
        ({"decision": "reject", "message": 7}, "invalid_message"),
        ({"decision": "reject", "message": "x" * 2_001}, "invalid_message"),
        ({"decision": "approve", "user": "lee"}, "unknown_field"),
    ],
)
async def test_what_cannot_be_meant_decides_nothing(
    memory: MemoryService, kim: httpx2.AsyncClient, user: str, body: dict[str, Any], code: str
) -> None:
    agent = Agent(memory, user, mailer)
    await agent.run({})
    (asked,) = await _waiting(kim)
    told(await kim.post(f"/api/approvals/{asked['id']}", json=body), 422, code)
    assert await _waiting(kim) == [asked]


async def test_questions_of_any_kind_are_told(
    memory: MemoryService, kim: httpx2.AsyncClient, user: str
) -> None:
    odd = {
        "share": float("nan"),
        "most": float("inf"),
        "half": "\ud83d",
        "when": datetime.min,
        7: {1},
    }
    agent = Agent(memory, user, lambda saver: asker(saver, odd))
    await agent.run({})
    (asked,) = await _waiting(kim)
    question = asked["question"]
    assert (question["share"], question["most"], question["7"]) == ("nan", "inf", [1])


async def test_the_client_decides_like_the_library(
    served: Served, memory: MemoryService, user: str
) -> None:
    async with AsyncMnemicClient(served.url, f"mk_{user}") as client:
        agent = Agent(memory, user, mailer)
        await agent.run({})
        (asked,) = await client.approvals()
        assert (asked,) == await memory.episodes.pending_approvals(Actor(user))
        decided = await client.approve_edited(asked.id, {"to": "bob"})
        assert (decided.status, decided.thread_id) == ("ready", agent.thread)
        with pytest.raises(Conflict) as second:
            await client.reject(asked.id, "too late")
        assert second.value.code == "approval_decided"
        assert (await agent.run())["messages"][-1].content == "edit bob"


async def test_pf_080_what_waited_for_an_erased_user_is_gone(
    memory: MemoryService, kim: httpx2.AsyncClient, user: str
) -> None:
    agent = Agent(memory, user, mailer)
    await agent.run({})
    (asked,) = await _waiting(kim)
    assert (await kim.delete("/api/user?confirm=true")).status_code == 200
    assert await _waiting(kim) == []
    answer = await kim.post(f"/api/approvals/{asked['id']}", json={"decision": "approve"})
    told(answer, 404, "unknown_approval")
