"""Do lists show everything once, say how much there is, and refuse what cannot be meant?"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from mnemic import Actor, InvalidInput, MemoryService, Turn
from mnemic.longterm.draft import Draft

OTHER = Actor("lee", session="s1")


async def add(memory: MemoryService, actor: Actor, text: str, **more: Any) -> UUID:
    verdict = await memory.add_explicit_memory(actor, text, **more)
    assert verdict.id is not None, verdict
    return verdict.id


NO_LIMIT: tuple[Any, ...] = (0, -1, 1001, 5000, True, 2.0, "5", None, float("nan"))


async def test_pf_090_and_pf_093_a_limit_out_of_range_is_refused_everywhere(
    stub_memory: MemoryService, actor: Actor
) -> None:
    await add(stub_memory, actor, "The blue box holds the cables")
    await stub_memory.sessions.append(actor, [Turn("user", "hello there")])
    for limit in NO_LIMIT:
        larger = 10_001 if limit in (1001, 5000) else limit  # what the log and the questions allow
        for call in (
            stub_memory.list(actor, limit=limit),
            stub_memory.search_memories(actor, "cables", limit),
            stub_memory.sessions.read(actor, limit=larger),
            stub_memory.questions(actor, limit=larger),
        ):
            with pytest.raises(InvalidInput) as refused:
                await call
            assert refused.value.code in ("limit_out_of_range", "k_out_of_range")


async def test_pf_091_a_history_of_nothing_is_never_everything(
    stub_memory: MemoryService, actor: Actor
) -> None:
    await stub_memory.sessions.append(actor, [Turn("user", f"turn {n}") for n in range(5)])
    assert len(await stub_memory.sessions.read(actor, limit=100)) == 5
    assert await stub_memory.sessions.read(actor, until=0) == []
    for bounds in ({"limit": 0}, {"after": -1}, {"until": -1}, {"after": True}, {"until": "3"}):
        with pytest.raises(InvalidInput):
            await stub_memory.sessions.read(actor, **bounds)


async def test_pf_093_all_of_137_memories_are_reachable(
    stub_memory: MemoryService, actor: Actor
) -> None:
    drafts = [Draft(f"Locker {n} in the east corridor belongs to team {n}") for n in range(137)]
    verdicts = await stub_memory.add_many(actor, drafts)
    assert {verdict.outcome for verdict in verdicts} == {"stored"}
    first = await stub_memory.list(actor)
    assert (first.total, len(first.items), first.cursor is None) == (137, 50, False)
    for limit in (10, 50, 137, 1000):
        seen: list[UUID] = []
        cursor = None
        while True:
            page = await stub_memory.list(actor, limit=limit, cursor=cursor)
            assert page.total == 137
            seen += [item.id for item in page.items]
            cursor = page.cursor
            if cursor is None:
                break
        assert len(seen) == len(set(seen)) == 137


async def test_pf_092_fifty_memories_of_one_moment_are_all_seen(
    stub_memory: MemoryService, actor: Actor
) -> None:
    drafts = [Draft(f"Locker {n} in the annex belongs to team {n}") for n in range(50)]
    await stub_memory.add_many(actor, drafts)
    seen: list[UUID] = []
    times = set()
    cursor = None
    while True:
        page = await stub_memory.list(actor, limit=10, cursor=cursor)
        seen += [item.id for item in page.items]
        times |= {item.recorded_at for item in page.items}
        cursor = page.cursor
        if cursor is None:
            break
    assert (len(seen), len(set(seen)), len(times)) == (50, 50, 1)


async def test_a_cursor_of_somebody_else_shows_only_ones_own(
    stub_memory: MemoryService, actor: Actor
) -> None:
    for user in (actor, OTHER):
        await stub_memory.add_many(
            user, [Draft(f"Locker {n} in the annex belongs to team {n}") for n in range(6)]
        )
    theirs = (await stub_memory.list(actor, limit=2)).cursor
    page = await stub_memory.list(OTHER, cursor=theirs)
    assert {item.owner_id for item in page.items} <= {"lee"}
    assert page.total == 6


NO_CURSOR: tuple[Any, ...] = ("", "x", "é", "MjAyNnxhYmM=", 5, "A" * 100_000)


async def test_a_cursor_that_is_none_is_refused(stub_memory: MemoryService, actor: Actor) -> None:
    for cursor in NO_CURSOR:
        with pytest.raises(InvalidInput) as refused:
            await stub_memory.list(actor, cursor=cursor)
        assert refused.value.code == "invalid_cursor"


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("memory_type", "", "unknown_memory_type"),
        ("memory_type", "opinion", "unknown_memory_type"),
        ("scope", "", "unknown_scope"),
        ("scope", "*", "unknown_scope"),
    ],
)
async def test_pf_061_an_empty_filter_is_no_missing_filter(
    stub_memory: MemoryService, actor: Actor, name: str, value: str, code: str
) -> None:
    await add(stub_memory, actor, "The blue box holds the cables")
    filters: Any = {name: value}
    for call in (
        stub_memory.list(actor, **filters),
        stub_memory.search_memories(actor, "cables", **filters),
    ):
        with pytest.raises(InvalidInput) as refused:
            await call
        assert refused.value.code == code


# ---- what cannot be meant


NO_DRAFT: tuple[Any, ...] = (
    ({"confidence": float("nan")}, "confidence_out_of_range"),
    ({"confidence": True}, "confidence_out_of_range"),
    ({"confidence": "0.9"}, "confidence_out_of_range"),
    ({"confidence": 1.01}, "confidence_out_of_range"),
    ({"scope": "galaxy"}, "unknown_scope"),
    ({"scope": "project"}, "project_required"),
    ({"source": "rumour"}, "unknown_source"),
    ({"source_id": 7}, "invalid_source_id"),
    ({"source_id": "x" * 501}, "invalid_source_id"),
    ({"valid_to": datetime.max.replace(tzinfo=UTC)}, "datetime_out_of_range"),
    ({"valid_from": datetime.min.replace(tzinfo=UTC)}, "datetime_out_of_range"),
)


async def test_a_draft_that_cannot_be_meant_stores_nothing(
    stub_memory: MemoryService, actor: Actor
) -> None:
    for more, code in NO_DRAFT:
        with pytest.raises(InvalidInput) as refused:
            await stub_memory.add_many(
                actor, [Draft("A sound memory"), Draft("The blue box holds the cables", **more)]
            )
        assert refused.value.code == code
        assert (await stub_memory.list(actor, status="all")).total == 0


@pytest.mark.parametrize("content", [None, 7, b"bytes", ["text"]])
async def test_content_that_is_no_text_is_refused(
    stub_memory: MemoryService, actor: Actor, content: Any
) -> None:
    item_id = await add(stub_memory, actor, "The blue box holds the cables")
    calls = [
        stub_memory.add_explicit_memory(actor, content),
        stub_memory.validate_memory(actor, content),
        stub_memory.check_duplicate(actor, content),
        stub_memory.sessions.append(actor, [Turn("user", content)]),
    ]
    if content is not None:
        calls.append(stub_memory.update(actor, item_id, content=content))
    for call in calls:
        with pytest.raises(InvalidInput) as refused:
            await call
        assert refused.value.code == "content_not_text"


async def test_asking_whether_a_text_is_known_changes_nothing(
    stub_memory: MemoryService, actor: Actor
) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=0.3)
    item_id = await add(stub_memory, actor, "The visitor code is on the desk", valid_to=soon)
    await asyncio.sleep(0.4)
    decision = await stub_memory.check_duplicate(actor, "The visitor code is on the desk")
    assert decision.duplicate_of is None
    assert (await stub_memory.get(actor, item_id)).status == "active"
    again = await add(stub_memory, actor, "The visitor code is on the desk")
    assert (await stub_memory.get(actor, item_id)).status == "archived"
    assert (await stub_memory.get(actor, again)).status == "active"
