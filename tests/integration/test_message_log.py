"""Is every turn of a session kept once and in order, and are an agent's own notes counted?"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest

from mnemic import Actor, InvalidInput, MemoryService, Turn
from mnemic.errors import Conflict, RateLimited
from mnemic.longterm.draft import Draft


async def test_a_closed_session_takes_no_more_turns(
    stub_memory: MemoryService, actor: Actor, connect: Any
) -> None:
    await stub_memory.sessions.append(actor, [Turn("user", "hello there")])
    owner = await connect("owner")
    await owner.execute("update session set closed_at = now()")
    with pytest.raises(Conflict) as refused:
        await stub_memory.sessions.append(actor, [Turn("user", "one more thing")])
    assert refused.value.code == "session_closed"
    assert [turn.content for turn in await stub_memory.sessions.read(actor)] == ["hello there"]


NO_TURN: tuple[Any, ...] = (
    (Turn("narrator", "text"), "unknown_role"),  # type: ignore[arg-type]
    (Turn(["user"], "text"), "unknown_role"),  # type: ignore[arg-type]
    (Turn("user", "text", datetime(2026, 3, 2)), "naive_datetime"),
    (Turn("user", "text", speaker=5), "speaker_not_text"),  # type: ignore[arg-type]
    ({"role": "user", "content": "text"}, "not_a_turn"),
    (Turn("user", "x" * 1_000_001), "message_too_long"),
)


async def test_a_turn_that_cannot_be_meant_leaves_no_gap(
    stub_memory: MemoryService, actor: Actor
) -> None:
    await stub_memory.sessions.append(actor, [Turn("user", "first")])
    for seq, (turn, code) in enumerate(NO_TURN, 2):
        with pytest.raises(InvalidInput) as refused:
            await stub_memory.sessions.append(actor, [Turn("user", "good"), turn])
        assert refused.value.code == code
        assert await stub_memory.sessions.append(actor, [Turn("user", "next")]) == [seq]


async def test_pf_108_messages_of_many_clients_each_come_once(
    stub_memory: MemoryService, actor: Actor
) -> None:
    answers = await asyncio.gather(
        *(stub_memory.sessions.append(actor, [Turn("user", f"message {n}")]) for n in range(50))
    )
    assert sorted(seq for (seq,) in answers) == list(range(1, 51))
    turns = await stub_memory.sessions.read(actor)
    assert {turn.content for turn in turns} == {f"message {n}" for n in range(50)}


async def test_what_an_agent_stores_by_itself_counts_once_a_turn(
    stub_memory: MemoryService, actor: Actor
) -> None:
    drafts = [Draft(f"The agent saw {n} red cars today", source="ai") for n in range(8)]
    for turn in range(3):
        await stub_memory.sessions.append(actor, [Turn("user", "and now?")])
        await stub_memory.add_explicit_memory(actor, f"Turn {turn} was about cars", source="ai")
        await stub_memory.add_many(actor, drafts)
    assert (await stub_memory.check_rate_limit(actor)).used == 3
    await stub_memory.sessions.append(actor, [Turn("user", "once more")])
    for call in (
        stub_memory.add_explicit_memory(actor, "The agent saw a blue car", source="ai"),
        stub_memory.add_many(actor, drafts),
    ):
        with pytest.raises(RateLimited) as refused:
            await call
        assert refused.value.details["retry_after"] > 0  # type: ignore[operator]
    assert (await stub_memory.add_explicit_memory(actor, "I saw a blue car")).outcome == "stored"
