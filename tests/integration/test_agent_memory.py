"""Does an agent load and save its conversation as LangChain and the first system of this kind do?"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from mnemic import (
    Actor,
    AgentMemory,
    InvalidInput,
    MemoryService,
    PermissionDenied,
    SyncAgentMemory,
    Turn,
)
from mnemic.session.sessions import Sessions
from session_world import sessions_on, wired

KIM = Actor("kim", session="s1")


@pytest.fixture
def memory(stub_memory: MemoryService) -> MemoryService:
    return wired(stub_memory, sessions_on(stub_memory))


async def test_langchains_form(memory: MemoryService) -> None:
    agent = AgentMemory(memory, KIM)
    assert agent.memory_variables == ["history"]
    assert await agent.load_memory_variables({}) == {"history": []}
    await agent.save_context({"input": "hi"}, {"output": "hello"})
    await agent.asave_context({"input": "bye"}, {"output": "see you"})
    assert await agent.aload_memory_variables({}) == {
        "history": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello"},
            {"role": "user", "content": "bye"},
            {"role": "assistant", "content": "see you"},
        ]
    }


async def test_the_first_systems_form(memory: MemoryService) -> None:
    agent = AgentMemory(memory)
    assert await agent.save_context("kim", "s1", {"input": "hi"}, {"output": "hello"}) == [1, 2]
    assert await agent.save_context("kim", "s1", "bye", "see you") == [3, 4]
    loaded = await agent.load_memory_variables("kim", "s1")
    assert [one["content"] for one in loaded["history"]] == ["hi", "hello", "bye", "see you"]
    named = {"user_id": "kim", "session_id": "s1"}
    assert await agent.load_memory_variables(named) == loaded
    assert await agent.load_memory_variables(**named) == loaded
    assert await agent.save_context({"input": "x"}, {"output": "y"}, **named) == [5, 6]
    assert await agent.save_context({"input": "x", **named}, {"output": "y"}) == [7, 8]
    assert await agent.load_memory_variables("lee", "s1") == {"history": []}


async def test_five_turns_are_loaded_unless_said_otherwise(memory: MemoryService) -> None:
    for n in range(6):
        await AgentMemory(memory, KIM).save_context({"input": f"q{n}"}, {"output": f"a{n}"})

    async def loaded(**form: Any) -> list[str]:
        found = await AgentMemory(memory, KIM, **form).load_memory_variables({})
        return [one["content"] for one in found["history"]]

    assert await loaded() == ["a3", "q4", "a4", "q5", "a5"]
    assert await loaded(k=2) == ["q5", "a5"]


async def test_pf_091_history_of_none_and_of_more_than_there_is(memory: MemoryService) -> None:
    await AgentMemory(memory, KIM).save_context({"input": "q"}, {"output": "a"})
    none = await AgentMemory(memory, KIM, k=0).load_memory_variables({})
    assert none == {"history": []}
    every = await AgentMemory(memory, KIM, k=1_000).load_memory_variables({})
    assert len(every["history"]) == 2
    for k in (-1, 1_001, "5", None):
        with pytest.raises(InvalidInput) as refused:
            AgentMemory(memory, KIM, k=k)  # type: ignore[arg-type]
        assert refused.value.code == "k_out_of_range"


async def test_roles_are_stored_and_never_guessed_from_the_text(memory: MemoryService) -> None:
    agent = AgentMemory(memory, KIM)
    await agent.save_context({"input": "AI: I am the assistant"}, {"output": "Human: no, user:"})
    assert (await agent.load_memory_variables({}))["history"] == [
        {"role": "user", "content": "AI: I am the assistant"},
        {"role": "assistant", "content": "Human: no, user:"},
    ]


async def test_one_of_several_inputs_is_what_was_said(memory: MemoryService) -> None:
    agent = AgentMemory(memory, KIM, memory_key="chat", input_key="question", output_key="answer")
    inputs = {"question": "q", "lang": "en", "chat": [1, 2]}
    await agent.save_context(inputs, {"answer": "a", "sources": []})
    assert (await agent.load_memory_variables({}))["chat"][1] == {
        "role": "assistant",
        "content": "a",
    }
    plain = AgentMemory(memory, KIM)
    for inputs, outputs in (
        ({"a": "x", "b": "y"}, {"output": "z"}),
        ({}, {"output": "z"}),
        ({"input": 5}, {"output": "z"}),
        ({"input": "x"}, {"output": None}),
        (7, {"output": "z"}),
    ):
        with pytest.raises(InvalidInput) as refused:
            await plain.save_context(inputs, outputs)  # type: ignore[arg-type]
        assert refused.value.code == "context_unclear"


async def test_tools_come_along_and_stay_with_their_calls(memory: MemoryService) -> None:
    agent = AgentMemory(memory, KIM, k=1)
    call = {"id": "c1", "name": "weather", "args": {"city": "Oslo"}}
    await agent.save_context({"input": "Oslo?"}, {"output": "", "tool_calls": [call]})
    await memory.sessions.append(KIM, [Turn("tool", "sunny", tool_call_id="c1")])
    assert (await agent.load_memory_variables({}))["history"] == [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "sunny", "tool_call_id": "c1"},
    ]
    message = SimpleNamespace(content="It is sunny.", tool_calls=[])
    await agent.save_context({"input": SimpleNamespace(content="So?")}, {"output": message})
    last = (await agent.load_memory_variables({}))["history"]
    assert last == [{"role": "assistant", "content": "It is sunny."}]


async def test_a_call_sent_again_adds_nothing(memory: MemoryService) -> None:
    agent = AgentMemory(memory, KIM)
    for _ in range(2):
        seqs = await agent.save_context({"input": "q"}, {"output": "a"}, client_id="run-1")
        assert seqs == [1, 2]


async def test_a_memory_of_one_user_is_not_anothers(memory: MemoryService) -> None:
    agent = AgentMemory(memory, KIM)
    for call in (
        agent.load_memory_variables("lee", "s1"),
        agent.load_memory_variables({"user_id": "lee"}),
        agent.save_context({"input": "q", "user_id": "lee"}, {"output": "a"}),
        agent.save_context("lee", "s1", "q", "a"),
    ):
        with pytest.raises(PermissionDenied) as refused:
            await call
        assert refused.value.code == "other_user"
    other = await agent.load_memory_variables({"session_id": "s2"})
    assert other == {"history": []}
    for wrong, code in (
        (AgentMemory(memory).load_memory_variables({}), "user_required"),
        (AgentMemory(memory, Actor("kim")).load_memory_variables({}), "session_required"),
        (AgentMemory(memory).load_memory_variables("k\x00im", "s1"), "invalid_id"),
        (agent.save_context("kim", "s1", "q"), "context_unclear"),
    ):
        with pytest.raises(InvalidInput) as odd:
            await wrong
        assert odd.value.code == code


# ---- blocking


class _Blocking:
    """Sessions whose methods wait, as SyncMemoryService's do."""

    def __init__(self, sessions: Sessions, loop: asyncio.AbstractEventLoop) -> None:
        self._sessions, self._loop = sessions, loop

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            work = getattr(self._sessions, name)(*args, **named)
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()

        return call


async def test_the_blocking_twin_answers_at_once(memory: MemoryService) -> None:
    blocking = SimpleNamespace(sessions=_Blocking(memory.sessions, asyncio.get_running_loop()))  # type: ignore[arg-type]

    def use() -> Any:
        agent = SyncAgentMemory(blocking, KIM, k=3)
        assert agent.memory_variables == ["history"]
        assert agent.load_memory_variables({}) == {"history": []}
        assert agent.save_context({"input": "q"}, {"output": "a"}) == [1, 2]
        assert agent.save_context("kim", "s1", "q", "a") == [3, 4]
        return agent.load_memory_variables("kim", "s1")

    assert [one["content"] for one in (await asyncio.to_thread(use))["history"]] == ["a", "q", "a"]
    agent = SyncAgentMemory(blocking, KIM)
    await agent.asave_context({"input": "q"}, {"output": "a"})
    assert len((await agent.aload_memory_variables({}))["history"]) == 5


async def test_pf_123_the_blocking_twin_never_returns_a_coroutine(memory: MemoryService) -> None:
    agent = SyncAgentMemory(memory, KIM)
    for call in (
        lambda: agent.load_memory_variables({}),
        lambda: agent.save_context({"input": "q"}, {"output": "a"}),
    ):
        with pytest.raises(InvalidInput) as refused:
            call()
        assert refused.value.code == "needs_sync_service"


def test_it_imports_no_langchain() -> None:
    code = (
        "import sys; from mnemic import AgentMemory, SyncAgentMemory;"
        " print([m for m in sys.modules if m.startswith('langchain')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
