"""What was true then, and what was known then? Times of statements, of recording and of ending."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from mnemic import Actor, InvalidInput, MemoryService, Turn

Moments = dict[str, datetime]
Scenario = Callable[[MemoryService, Actor, Moments], Awaitable[None]]
LANTERN, HARBOUR = "My favourite cafe is Lantern", "My favourite cafe is now Harbour"
QUERY = "favourite cafe"


def days(count: float) -> datetime:
    return datetime.now(UTC) - timedelta(days=count)


@dataclass(frozen=True)
class Case:
    """A scenario that notes moments, and what (as_of, known_at) then see: contents with versions."""

    run: Scenario
    sees: list[tuple[Any, str | None, list[tuple[str, int]]]] = field(default_factory=list)


async def plain(memory: MemoryService, actor: Actor, at: Moments) -> None:
    at["before"] = days(0)
    await memory.add_explicit_memory(actor, LANTERN, valid_from=days(10))
    at["after"] = days(0)


async def superseded(memory: MemoryService, actor: Actor, at: Moments) -> None:
    await plain(memory, actor, at)
    await memory.add_explicit_memory(actor, HARBOUR, valid_from=days(4))
    at["later"] = days(0)


async def late(memory: MemoryService, actor: Actor, at: Moments) -> None:
    await memory.add_explicit_memory(actor, HARBOUR, valid_from=days(4))
    at["before"] = days(0)
    await memory.add_explicit_memory(actor, LANTERN, valid_from=days(10))
    at["after"] = days(0)


async def edited(memory: MemoryService, actor: Actor, at: Moments) -> None:
    await plain(memory, actor, at)
    (item,) = (await memory.list(actor)).items
    await memory.update(actor, item.id, content=HARBOUR)
    at["later"] = days(0)


async def corrected(memory: MemoryService, actor: Actor, at: Moments) -> None:
    await plain(memory, actor, at)
    (item,) = (await memory.list(actor)).items
    await memory.update(actor, item.id, metadata={"checked": True})
    at["later"] = days(0)


async def expired(memory: MemoryService, actor: Actor, at: Moments) -> None:
    await memory.add_explicit_memory(actor, LANTERN, valid_from=days(10), valid_to=days(4))
    at["after"] = days(0)


async def expired_and_said_again(memory: MemoryService, actor: Actor, at: Moments) -> None:
    await expired(memory, actor, at)
    await memory.add_explicit_memory(actor, LANTERN, valid_from=days(2))


async def confirmed(memory: MemoryService, actor: Actor, at: Moments) -> None:
    verdict = await memory.add_explicit_memory(actor, LANTERN, confidence=0.75, valid_from=days(10))
    at["after"] = days(0)
    await memory.confirm(actor, verdict.id)
    at["later"] = days(0)


async def confirmed_over_another(memory: MemoryService, actor: Actor, at: Moments) -> None:
    await plain(memory, actor, at)
    verdict = await memory.add_explicit_memory(actor, HARBOUR, confidence=0.75, valid_from=days(4))
    await memory.confirm(actor, verdict.id)
    at["later"] = days(0)


async def pending(memory: MemoryService, actor: Actor, at: Moments) -> None:
    await memory.add_explicit_memory(actor, LANTERN, confidence=0.75, valid_from=days(10))
    at["after"] = days(0)


async def deleted(memory: MemoryService, actor: Actor, at: Moments) -> None:
    await superseded(memory, actor, at)
    (item,) = (await memory.list(actor)).items
    await memory.delete(actor, item.id)


OLD, NEW = [(LANTERN, 1)], [(HARBOUR, 1)]
CASES: dict[str, Case] = {
    "plain": Case(
        plain,
        [
            (None, None, OLD),
            (11, None, []),
            (5, None, OLD),
            (None, "before", []),
            (None, "after", OLD),
            (5, "before", []),
            (5, "after", OLD),
        ],
    ),
    "superseded": Case(
        superseded,
        [
            (None, None, NEW),
            (11, None, []),
            (7, None, OLD),
            (2, None, NEW),
            (None, "after", OLD),
            (None, "later", NEW),
            (2, "after", OLD),
            (7, "after", OLD),
            (7, "later", OLD),
            (2, "later", NEW),
            (7, "before", []),
        ],
    ),
    "late": Case(
        late,
        [
            (None, None, NEW),
            (7, None, OLD),
            (2, None, NEW),
            (11, None, []),
            (7, "before", []),
            (7, "after", OLD),
            (2, "before", NEW),
            (None, "after", NEW),
        ],
    ),
    "edited": Case(
        edited,
        [
            (None, None, [(HARBOUR, 2)]),
            (5, None, OLD),
            (None, "after", OLD),
            (5, "after", OLD),
            (None, "later", [(HARBOUR, 2)]),
            (5, "later", OLD),
            (None, "before", []),
        ],
    ),
    "corrected": Case(
        corrected,
        [
            (None, None, [(LANTERN, 2)]),
            (5, None, [(LANTERN, 2)]),
            (None, "after", OLD),
            (5, "after", OLD),
            (5, "later", [(LANTERN, 2)]),
            (11, None, []),
        ],
    ),
    "expired": Case(
        expired,
        [(None, None, []), (7, None, OLD), (2, None, []), (None, "after", []), (7, "after", OLD)],
    ),
    "expired and said again": Case(
        expired_and_said_again,
        [
            (None, None, OLD),
            (7, None, OLD),
            (3, None, []),
            (1, None, OLD),
            (7, "after", OLD),
            (1, "after", []),
            (None, "after", []),
        ],
    ),
    "confirmed": Case(
        confirmed,
        [
            (None, None, OLD),
            (5, None, OLD),
            (None, "after", []),
            (None, "later", OLD),
            (5, "after", []),
            (5, "later", OLD),
        ],
    ),
    "confirmed over another": Case(
        confirmed_over_another,
        [(None, None, NEW), (7, None, OLD), (2, None, NEW), (2, "after", OLD), (2, "later", NEW)],
    ),
    "pending": Case(pending, [(None, None, []), (5, None, []), (None, "after", [])]),
    "deleted": Case(
        deleted,
        [(None, None, []), (7, None, []), (2, None, []), (None, "after", []), (7, "later", [])],
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_pf_097_what_was_true_and_what_was_known(
    memory: MemoryService, actor: Actor, name: str
) -> None:
    at: Moments = {}
    await CASES[name].run(memory, actor, at)
    for ago, known, wanted in CASES[name].sees:
        hits = await memory.search_memories(
            actor,
            QUERY,
            as_of=None if ago is None else days(ago),
            known_at=None if known is None else at[known],
        )
        seen = [(hit.content, hit.item.version) for hit in hits]
        assert seen == wanted, f"as of {ago} days ago, known at {known}"


@pytest.mark.parametrize("ahead", [10, 400])
async def test_pf_094_a_time_ahead_counts_as_now(
    memory: MemoryService, actor: Actor, ahead: int
) -> None:
    texts = ["The harbour ferry runs twice a day", "Our landlord is called Mr Okafor"]
    await memory.add_explicit_memory(actor, texts[0])
    verdict = await memory.add_explicit_memory(
        actor, texts[1], valid_from=datetime.now(UTC) + timedelta(days=ahead)
    )
    item = await memory.get(actor, verdict.id)
    assert item.valid_from == item.recorded_at
    hits = await memory.search_memories(actor, "when does the ferry run")
    assert [hit.content for hit in hits] == texts
    assert all(0 <= hit.score <= 1 for hit in hits)


_IN_A_ZONE = """
import asyncio, json, sys
from datetime import UTC, datetime, timedelta
from mnemic import Actor, MemoryService
from mnemic.settings import Settings
from stub_embedder import StubEmbedder

async def main():
    settings = Settings.read(**json.loads(sys.argv[1]))
    hour, now = timedelta(hours=1), datetime.now(UTC)
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        actor = Actor(sys.argv[2])
        for text, end in (("The old code opened the gate", -1), ("The new code opens it", 1)):
            times = {"valid_from": now - 2 * hour, "valid_to": now + end * hour}
            await memory.add_explicit_memory(actor, text, **times)
        page = await memory.list(actor)
        hits = await memory.search_memories(actor, "code gate")
        past = await memory.search_memories(actor, "code gate", as_of=now - 1.5 * hour)
        zones = [item.valid_to - now == hour for item in page.items]
        print(json.dumps([[i.content for i in page.items], [h.content for h in hits], len(past), zones]))

asyncio.run(main())
"""


async def test_pf_095_an_end_is_the_same_in_three_time_zones(
    stub_memory: MemoryService, stub_path: str
) -> None:
    settings = stub_memory.settings
    assert settings.database_url is not None
    given = {
        "database_url": settings.database_url.get_secret_value(),
        "key_file": str(settings.key_file),
        "db_schema": settings.db_schema,
    }
    for zone in ("UTC", "Asia/Shanghai", "America/Los_Angeles"):
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", _IN_A_ZONE, json.dumps(given), f"user-{zone}"],
            env=os.environ | {"TZ": zone, "PGTZ": zone, "PYTHONPATH": stub_path},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        new = "The new code opens it"
        assert json.loads(done.stdout) == [[new], [new], 2, [True]], zone


async def test_pf_096_what_has_expired_is_served_nowhere(
    memory: MemoryService, actor: Actor
) -> None:
    text = "The visitor badge opens the side door"
    verdict = await memory.add_explicit_memory(
        actor, text, memory_type="context", valid_from=days(3), valid_to=days(1)
    )
    assert verdict.outcome == "stored"
    for filters in ({}, {"memory_type": "context"}, {"scope": "user"}, {"include_pending": True}):
        assert list(await memory.search_memories(actor, text, **filters)) == []
    assert await memory.build_context(actor, text) == ""
    for status in ("active", "current"):
        page = await memory.list(actor, status=status)
        assert (page.total, page.items) == (0, ())
    assert [item.content for item in await memory.history(actor, verdict.id)] == [text]


@pytest.mark.parametrize("naive", [datetime(2025, 1, 2, 3, 4, 5), "2025-01-02", 1735787045])
async def test_pf_098_a_time_without_a_zone_is_refused_everywhere(
    stub_memory: MemoryService, actor: Actor, naive: Any
) -> None:
    verdict = await stub_memory.add_explicit_memory(actor, "The blue box holds the cables")
    calls = [
        stub_memory.add_explicit_memory(actor, "Another memory", valid_from=naive),
        stub_memory.add_explicit_memory(actor, "Another memory", valid_to=naive),
        stub_memory.update(actor, verdict.id, valid_to=naive),
        stub_memory.search_memories(actor, "cables", as_of=naive),
        stub_memory.search_memories(actor, "cables", known_at=naive),
        stub_memory.sessions.append(actor, [Turn("user", "hello", naive)]),
    ]
    for call in calls:
        with pytest.raises(InvalidInput) as refused:
            await call
        assert refused.value.code in ("naive_datetime", "invalid_datetime")


async def test_pf_098_the_same_instant_in_any_zone_is_one_time(
    stub_memory: MemoryService, actor: Actor
) -> None:
    since = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
    for hours in (0, 8, -7):
        zoned = since.astimezone(timezone(timedelta(hours=hours)))
        user = Actor(f"u{hours}")
        verdict = await stub_memory.add_explicit_memory(
            user, "The blue box holds the cables", valid_from=zoned
        )
        assert (await stub_memory.get(user, verdict.id)).valid_from == since
        hits = await stub_memory.search_memories(user, "cables", as_of=zoned)
        assert [hit.id for hit in hits] == [verdict.id]


async def test_pf_099_times_in_a_prompt_carry_their_zone(
    memory: MemoryService, actor: Actor
) -> None:
    evening = datetime(2026, 3, 2, 19, 17, tzinfo=timezone(timedelta(hours=8)))
    await memory.add_explicit_memory(
        actor, "I ran ten kilometres this evening", memory_type="event", valid_from=evening
    )
    text = await memory.build_context(actor, "How far did I run that evening?")
    (line,) = [line for line in text.splitlines() if line.startswith("- ")]
    stamp = line.split("]")[0].split(", ")[-1]
    assert stamp == "2026-03-02 19:17+08:00"
    assert "this evening" in line
