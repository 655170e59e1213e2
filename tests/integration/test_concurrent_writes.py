"""Do writers that meet in one scope leave what one after the other would have left?"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from mnemic import Actor, MemoryService, Verdict
from mnemic.errors import Conflict, NotFound
from mnemic.longterm.draft import Draft

PLACES = (
    "harbour",
    "lantern",
    "violin",
    "meadow",
    "puzzle",
    "anchor",
    "saddle",
    "velvet",
    "garden",
)
THINGS = (
    "compass",
    "ladder",
    "marble",
    "engine",
    "blanket",
    "bottle",
    "kettle",
    "mirror",
    "ribbon",
)


async def add(memory: MemoryService, actor: Actor, text: str, **more: Any) -> UUID:
    verdict = await memory.add_explicit_memory(actor, text, **more)
    assert verdict.id is not None, verdict
    return verdict.id


async def test_forty_tasks_add_one_fact(stub_memory: MemoryService, actor: Actor) -> None:
    verdicts = await asyncio.gather(
        *(stub_memory.add_explicit_memory(actor, "My locker number is 4417") for _ in range(40))
    )
    outcomes = Counter(verdict.outcome for verdict in verdicts)
    assert outcomes == {"stored": 1, "duplicate": 39}
    (item,) = (await stub_memory.list(actor, status="all")).items
    assert {verdict.id or verdict.of for verdict in verdicts} == {item.id}


_WRITER = """
import asyncio, json, sys
from mnemic import Actor, MemoryService
from mnemic.settings import Settings
from stub_embedder import StubEmbedder

async def main(given, texts):
    settings = Settings.read(**given)
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        verdicts = await asyncio.gather(
            *(memory.add_explicit_memory(Actor("kim"), text) for text in texts)
        )
    print(json.dumps([[verdict.outcome, str(verdict.id or verdict.of)] for verdict in verdicts]))

asyncio.run(main(*map(json.loads, sys.argv[1:])))
"""


async def test_two_processes_add_the_same_facts(
    stub_memory: MemoryService, actor: Actor, stub_path: str
) -> None:
    settings = stub_memory.settings
    assert settings.database_url is not None
    given = json.dumps(
        {
            "database_url": settings.database_url.get_secret_value(),
            "key_file": str(settings.key_file),
            "db_schema": settings.db_schema,
        }
    )
    texts = [f"Locker {n} in the annex belongs to team {n}" for n in range(20)]
    writers = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            _WRITER,
            given,
            json.dumps(order),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": stub_path},
        )
        for order in (texts, texts[::-1])
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert (await writer.stdout.readline()).strip() == b"ready"
    answers = await asyncio.gather(*(writer.communicate(b"go\n") for writer in writers))
    assert [writer.returncode for writer in writers] == [0, 0]
    verdicts = [tuple(pair) for out, _ in answers for pair in json.loads(out)]
    assert Counter(outcome for outcome, _ in verdicts) == {"stored": 20, "duplicate": 20}
    rows = (await stub_memory.list(Actor("kim"), status="all")).items
    assert {str(item.id) for item in rows} == {item_id for _, item_id in verdicts}
    assert len(rows) == 20


async def test_pf_105_one_of_many_updates_of_one_version_wins(
    stub_memory: MemoryService, actor: Actor
) -> None:
    item_id = await add(stub_memory, actor, "The meeting room is on floor two")
    texts = [f"The meeting room is the one by door {n}" for n in range(12)]
    answers = await asyncio.gather(
        *(stub_memory.update(actor, item_id, content=text, expected_version=1) for text in texts),
        return_exceptions=True,
    )
    won = [answer for answer in answers if isinstance(answer, Verdict)]
    lost = [answer for answer in answers if isinstance(answer, Conflict)]
    assert (len(won), len(lost)) == (1, 11)
    assert {(error.code, error.details["version"]) for error in lost} == {("version_conflict", 2)}
    item = await stub_memory.get(actor, item_id)
    assert item.version == 2
    assert texts[answers.index(won[0])] == item.content
    assert len(await stub_memory.history(actor, item_id)) == 2


async def test_a_deletion_and_updates_at_once_leave_all_or_nothing(
    stub_memory: MemoryService, actor: Actor
) -> None:
    for n in range(6):
        item_id = await add(stub_memory, actor, f"Locker {n} in the annex belongs to team {n}")
        answers = await asyncio.gather(
            stub_memory.update(actor, item_id, metadata={"seen": 1}),
            stub_memory.delete(actor, item_id),
            stub_memory.update(actor, item_id, metadata={"seen": 2}),
            return_exceptions=True,
        )
        for answer in answers:
            refused = isinstance(answer, NotFound | Conflict)
            assert refused or not isinstance(answer, BaseException), answer
        assert not isinstance(answers[1], BaseException)
    assert (await stub_memory.list(actor, status="all")).total == 0


async def test_two_replacements_at_once_leave_one(memory: MemoryService, actor: Actor) -> None:
    places = ("Harbour", "Anchor", "Compass", "Beacon")
    for n, (first, second) in enumerate(pairwise(places)):
        user = Actor(f"kim-{n}")
        await add(memory, user, "My favourite cafe is Lantern")
        await asyncio.gather(
            *(
                memory.add_explicit_memory(user, f"My favourite cafe is now {place}")
                for place in (first, second)
            )
        )
        items = (await memory.list(user, status="all")).items
        assert len(items) == 3
        assert Counter(item.status for item in items) == {"active": 1, "superseded": 2}
        (current,) = [item for item in items if item.status == "active"]
        assert len(await memory.history(user, current.id)) == 3


async def test_adding_confirming_denying_and_deleting_at_once_never_deadlock(
    memory: MemoryService, actor: Actor
) -> None:
    base = await add(memory, actor, "I park in bay 12")
    unsure = [await add(memory, actor, f"I park in bay {n}", confidence=0.75) for n in (50, 60)]

    async def quietly(work: Iterable[Any]) -> list[object]:
        return list(await asyncio.gather(*work, return_exceptions=True))

    answers = await quietly(
        [
            *(memory.add_explicit_memory(actor, f"I park in bay {n}") for n in (70, 80, 90)),
            memory.confirm(actor, unsure[0]),
            memory.deny(actor, unsure[1]),
            memory.update(actor, base, content="I park in bay 13"),
            memory.delete(actor, base),
            memory.search_memories(actor, "parking bay"),
        ]
    )
    for answer in answers:
        if isinstance(answer, BaseException):
            assert isinstance(answer, NotFound | Conflict)
            assert answer.code in ("item_not_found", "item_not_pending", "item_retired") or (
                answer.code == "version_conflict"
            )
    items = (await memory.list(actor, status="all")).items
    assert len([item for item in items if item.status == "active"]) <= 1
    ids = {item.id for item in items}
    assert all(item.superseded_by in ids for item in items if item.superseded_by)


async def test_five_hundred_in_one_call(stub_memory: MemoryService, actor: Actor) -> None:
    rng = random.Random(7)
    drafts = [Draft(" ".join(rng.sample(PLACES + THINGS, 6))) for _ in range(500)]
    verdicts = await stub_memory.add_many(actor, drafts)
    outcomes = Counter(verdict.outcome for verdict in verdicts)
    assert outcomes["stored"] + outcomes["duplicate"] == 500
    page = await stub_memory.list(actor, limit=1000)
    assert page.total == outcomes["stored"] > 400
    by_id = {item.id: item.content for item in page.items}
    for verdict, draft in zip(verdicts, drafts, strict=True):
        assert verdict.id is None or by_id[verdict.id] == draft.content
        assert verdict.id is not None or verdict.of in by_id


@pytest.mark.parametrize("count", [0, 1])
async def test_a_call_with_little_to_add(
    stub_memory: MemoryService, actor: Actor, count: int
) -> None:
    verdicts = await stub_memory.add_many(actor, [Draft("The blue box holds the cables")] * count)
    assert len(verdicts) == count


async def test_one_call_with_the_same_text_twice(stub_memory: MemoryService, actor: Actor) -> None:
    first, second = await stub_memory.add_many(actor, [Draft("The blue box holds cables")] * 2)
    assert (first.outcome, second.outcome, second.of) == ("stored", "duplicate", first.id)
