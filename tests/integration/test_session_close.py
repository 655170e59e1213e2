"""Does a session end once, with its memories kept and its own things put away?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mnemic import Actor, ChatError, InvalidInput, MemoryService, Turn
from mnemic.errors import Conflict
from session_world import Scripted, sessions_on

KIM = Actor("kim", session="s1")


async def test_closing_extracts_archives_and_drops_the_window(memory: MemoryService) -> None:
    dropped: list[Actor] = []
    sessions = sessions_on(memory, dropped=dropped)
    await sessions.append(KIM, [Turn("user", "Please remember that I live in Leipzig.")])
    verdict = await memory.add_explicit_memory(
        KIM, "The draft is in the blue folder", scope="session"
    )
    kept = await memory.add_explicit_memory(KIM, "I keep three goats", scope="user")
    await memory.add_explicit_memory(
        KIM, "The meeting may move to Monday", scope="session", confidence=0.75
    )
    await sessions.set(KIM, "a", 1)
    closure = await sessions.close(KIM)
    assert (closure.archived, closure.extracted, closure.memories) == (2, 1, 1)
    assert closure.problem is None
    assert dropped == [KIM]
    archived = await memory.get(KIM, verdict.id)
    assert (archived.status, archived.retired_at is not None) == ("archived", True)
    assert (await memory.get(KIM, kept.id)).status == "active"
    assert any("Leipzig" in item.content for item in (await memory.list(KIM)).items)
    assert await memory.questions(KIM) == []
    hits = await memory.search_memories(KIM, "Where is the draft? in the blue folder")
    assert verdict.id not in {hit.id for hit in hits}
    assert (await sessions.info(KIM)).closed_at == closure.closed_at
    assert [t.content for t in (await sessions.window(KIM)).turns] == [
        "Please remember that I live in Leipzig."
    ]


async def test_closing_twice_is_the_same(memory: MemoryService) -> None:
    sessions = sessions_on(memory)
    await sessions.append(KIM, [Turn("user", "Please remember that I live in Leipzig.")])
    first = await sessions.close(KIM)
    again = await sessions.close(KIM)
    assert again.closed_at == first.closed_at
    assert (again.archived, again.extracted, again.memories) == (0, 0, 0)
    assert (await memory.list(KIM)).total == 1
    used = (await memory.check_rate_limit(KIM)).used
    assert used == 1


async def test_closing_at_once_from_many_clients_learns_once(memory: MemoryService) -> None:
    sessions = sessions_on(memory)
    await sessions.append(KIM, [Turn("user", "Please remember that I live in Leipzig.")])
    closures = await asyncio.gather(*(sessions.close(KIM) for _ in range(4)))
    assert len({closure.closed_at for closure in closures}) == 1
    assert (await memory.list(KIM)).total == 1


async def test_a_closed_session_takes_no_more_turns_and_reads_on(
    stub_memory: MemoryService,
) -> None:
    sessions = sessions_on(stub_memory)
    await sessions.append(KIM, [Turn("user", "hello there")])
    await sessions.close(KIM)
    with pytest.raises(Conflict) as refused:
        await sessions.append(KIM, [Turn("user", "one more thing")])
    assert refused.value.code == "session_closed"
    assert [turn.content for turn in await sessions.read(KIM)] == ["hello there"]


async def test_closing_is_counted_by_the_rate_and_never_refused_by_it(
    memory: MemoryService,
) -> None:
    sessions = sessions_on(memory, limit=1)
    await sessions.append(KIM, [Turn("user", "Please remember that I live in Leipzig.")])
    await memory.extract(KIM)
    await sessions.append(KIM, [Turn("user", "Please remember that I keep bees.")])
    closure = await sessions.close(KIM)
    assert (closure.extracted, closure.memories) == (1, 1)
    assert (await memory.check_rate_limit(KIM)).used == 2


async def test_a_model_that_does_not_answer_is_told_and_read_at_the_next_close(
    stub_memory: MemoryService,
) -> None:
    broken = sessions_on(stub_memory, chat=Scripted([ChatError("chat_timeout", "too late")]))
    await broken.append(KIM, [Turn("user", "Please remember that I live in Leipzig.")])
    await stub_memory.add_explicit_memory(KIM, "The draft is in the blue folder", scope="session")
    closure = await broken.close(KIM)
    assert (closure.problem, closure.archived, closure.extracted) == ("chat_timeout", 1, 0)
    again = await sessions_on(stub_memory).close(KIM)
    assert (again.problem, again.extracted, again.memories) == (None, 1, 1)
    assert again.closed_at == closure.closed_at


async def test_only_the_actors_session_ends(stub_memory: MemoryService) -> None:
    sessions = sessions_on(stub_memory)
    others = (Actor("lee", session="s1"), Actor("kim", session="s2"))
    for actor in (KIM, *others):
        await sessions.append(actor, [Turn("user", "hello there")])
        await stub_memory.add_explicit_memory(actor, "The draft is blue", scope="session")
    await sessions.close(KIM)
    for actor in others:
        assert (await sessions.info(actor)).closed_at is None
        assert (await stub_memory.list(actor)).total == 1
        assert await sessions.append(actor, [Turn("user", "still here")]) == [2]


async def test_an_actor_without_session_closes_nothing(stub_memory: MemoryService) -> None:
    with pytest.raises(InvalidInput) as refused:
        await sessions_on(stub_memory).close(Actor("kim"))
    assert refused.value.code == "session_required"


async def test_the_audit_tells_of_the_end_once(stub_memory: MemoryService) -> None:
    sessions = sessions_on(stub_memory)
    await sessions.append(KIM, [Turn("user", "hello there")])
    await sessions.close(KIM)
    await sessions.close(KIM)
    entries: Any = (await stub_memory.audit.mine(KIM)).entries
    assert [entry.action for entry in entries].count("close_session") == 1
