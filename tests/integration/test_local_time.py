"""Does what was said keep the local day and hour, in whatever way it came and is shown?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest

from api_world import app_on, asking
from conftest import Connect, Prepare, Server
from mnemic import Actor, MemoryService, ToolCall, Turn
from mnemic.deployment import Deployment
from mnemic.errors import InvalidInput
from mnemic.longterm.draft import Draft
from mnemic.model import ResourceHit
from mnemic.session.messages import MessageLog
from mnemic.settings import Settings
from session_world import sessions_on, wired
from stub_embedder import StubEmbedder, curve

KIM = Actor("kim", session="s1")
EAST = timezone(timedelta(hours=8))
MORNING = datetime(2024, 3, 3, 6, 17, tzinfo=EAST)
"""In UTC the evening before."""
RUN = "Please remember that I ran ten kilometres this morning."
THERE, IN_UTC = "2024-03-03T06:17:00+08:00", "2024-03-02T22:17:00+00:00"


def shown(*times: datetime | None) -> list[str | None]:
    return [time and time.isoformat() for time in times]


async def test_pf_099_the_local_morning_lives_from_the_turn_to_the_prompt(
    memory: MemoryService,
) -> None:
    sessions = sessions_on(memory)
    await sessions.append(KIM, [Turn("user", RUN, MORNING)])
    assert shown(*(turn.created_at for turn in await sessions.read(KIM))) == [THERE]
    closure = await sessions.close(KIM)
    assert closure.memories == 1
    (item,) = (await memory.list(KIM)).items
    assert item.valid_from == MORNING
    assert shown(item.valid_from, (await memory.get(KIM, item.id)).valid_from) == [THERE, THERE]
    assert shown(*(one.valid_from for one in await memory.history(KIM, item.id))) == [THERE]
    for _ in range(3):  # with keys looked up, at hand, and with a prepared statement
        (hit,) = await memory.search_memories(KIM, "How far did I run this morning?")
        assert shown(hit.item.valid_from) == [THERE]
    later = Actor("kim", session="s2")
    block = await memory.build_context(later, "How far did I run this morning?")
    assert "2024-03-03 06:17+08:00" in block
    assert "2024-03-02" not in block


async def test_hits_in_a_large_scope_tell_it_too(
    stub_memory: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stub_memory.add_explicit_memory(KIM, "I ran ten kilometres", valid_from=MORNING)
    nearest = stub_memory._parts.search.items._nearest
    for size in (0, 4_000):
        monkeypatch.setattr(nearest, "size", lambda scopes, size=size: size)
        (hit,) = await stub_memory.search_memories(KIM, "ran kilometres")
        assert shown(hit.item.valid_from) == [THERE]


async def test_found_turns_tell_their_local_time(memory: MemoryService) -> None:
    await memory.sessions.append(KIM, [Turn("user", RUN, MORNING), Turn("assistant", "Well done.")])
    await memory.resources.index(KIM)
    later = Actor("kim", session="s2")
    hits = await memory.search_memories(later, "Who ran ten kilometres?", include=("resource",))
    assert isinstance(hits[0], ResourceHit)
    assert shown(hits[0].occurred_at) == [THERE]
    block = await memory.build_context(later, "Who ran ten kilometres?")
    assert "[user, 2024-03-03 06:17+08:00]" in block


async def test_both_ways_of_appending_keep_it_and_what_has_none_is_utc(
    deployment: Deployment, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, trips = MessageLog(deployment.database, deployment.keys), []
    ask = deployment.database.ask_for_many

    async def counted(*given: Any) -> Any:
        trips.append(given)
        return await ask(*given)

    monkeypatch.setattr(deployment.database, "ask_for_many", counted)
    west = MORNING.astimezone(timezone(-timedelta(hours=9, minutes=30)))
    for text in ("the long way", "and again, for the key"):
        await log.append(KIM, [Turn("user", text, MORNING)])
    assert trips == []
    quick = [Turn("user", "a"), Turn("user", "b", west), Turn("user", "c", MORNING.astimezone(UTC))]
    logged = await log.log(KIM, quick)
    assert len(trips) == 1
    call = Turn("assistant", "", MORNING, tool_calls=(ToolCall("c1", "run"),))
    answer = Turn("tool", "looked up, so the long way", west, tool_call_id="c1")
    await log.append(KIM, [call, answer, Turn("user", "none")])
    assert len(trips) == 1
    owner = await connect("owner")
    rows = await (await owner.execute("select local_offset from message order by seq")).fetchall()
    offsets = [row["local_offset"] for row in rows]
    assert offsets == [480, 480, None, -570, None, 480, -570, None]
    times = [turn.created_at for turn in await log.read(KIM)]
    assert [time and time.utcoffset() for time in times] == [
        timedelta(minutes=offset or 0) for offset in offsets
    ]
    assert {time for time in times if time and time.year == MORNING.year} == {MORNING}
    assert shown(*(turn.created_at for turn in logged.new)) == shown(*times[2:5])


async def test_older_processes_append_without_it(
    deployment: Deployment, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mnemic.session import one_trip

    log = MessageLog(deployment.database, deployment.keys)
    for text in ("first", "second"):
        await log.append(KIM, [Turn("user", text)])
    written = one_trip._written

    def as_before(rows: list[dict[str, Any]]) -> str:
        return written([{k: v for k, v in row.items() if k != "local_offset"} for row in rows])

    monkeypatch.setattr(one_trip, "_written", as_before)
    assert (await log.log(KIM, [Turn("user", "third", MORNING)])).seqs == (3,)
    assert shown((await log.read(KIM))[-1].created_at) == [IN_UTC]


async def test_a_version_keeps_it_until_its_time_is_another(stub_memory: MemoryService) -> None:
    verdict = await stub_memory.add_explicit_memory(KIM, "I ran ten kilometres", valid_from=MORNING)
    assert verdict.id is not None
    await stub_memory.update(KIM, verdict.id, metadata={"shoes": "blue"})  # the same text
    edited, before = await stub_memory.history(KIM, verdict.id)
    assert shown(edited.valid_from, before.valid_from) == [THERE, THERE]
    await stub_memory.update(KIM, verdict.id, content="I ran eleven kilometres and slept")
    newest, *older = await stub_memory.history(KIM, verdict.id)
    assert newest.valid_from > MORNING
    assert newest.valid_from.utcoffset() == timedelta(0)
    assert shown(*(one.valid_from for one in older)) == [THERE, THERE]


async def test_a_pending_item_keeps_it_when_it_is_confirmed(stub_memory: MemoryService) -> None:
    (verdict,) = await stub_memory.add_many(
        KIM, [Draft("I ran ten kilometres", confidence=0.75, valid_from=MORNING)]
    )
    (question,) = await stub_memory.questions(KIM)
    assert shown(question.item.valid_from) == [THERE]
    await stub_memory.confirm(KIM, verdict.id)
    assert shown((await stub_memory.get(KIM, verdict.id)).valid_from) == [THERE]


async def test_what_replaces_it_has_its_own(stub_memory: MemoryService) -> None:
    first = await stub_memory.add_explicit_memory(KIM, "I live in Leipzig", valid_from=MORNING)
    second = await stub_memory.add_explicit_memory(KIM, "I live in Berlin now")
    assert second.superseded == (first.id,)
    new, old = await stub_memory.history(KIM, second.id)
    assert new.valid_from.utcoffset() == timedelta(0)
    assert shown(old.valid_from) == [THERE]
    assert old.valid_to is not None


async def test_as_of_goes_by_the_instant(stub_memory: MemoryService) -> None:
    await stub_memory.add_explicit_memory(KIM, "I ran ten kilometres", valid_from=MORNING)
    for zone in (UTC, EAST):
        moment = MORNING.astimezone(zone)
        assert await stub_memory.search_memories(KIM, "ran kilometres", as_of=moment)
        before = moment - timedelta(minutes=1)
        assert not await stub_memory.search_memories(KIM, "ran kilometres", as_of=before)


async def test_rest_shows_it(stub_memory: MemoryService) -> None:
    app: Any = app_on(wired(stub_memory, sessions_on(stub_memory)))
    async with asking(app, "kim") as client:
        said = {"role": "user", "content": "I ran", "created_at": THERE}
        added = await client.post("/api/sessions/s1/messages", json={"messages": [said]})
        assert added.status_code == 201
        (turn,) = (await client.get("/api/sessions/s1/messages")).json()["messages"]
        assert turn["created_at"] == THERE
        for text, time, back in (("I ran", THERE, THERE), ("I sang", IN_UTC, IN_UTC)):
            kept = await client.post(
                "/api/memory", json={"content": f"{text} a lot", "valid_from": time}
            )
            assert kept.status_code == 201, kept.text
            item = (await client.get(kept.headers["location"])).json()
            assert item["valid_from"] == back


@pytest.mark.parametrize("hours", [23.99, -16, 5 + 1.5 / 3600])
async def test_a_clock_that_the_database_cannot_read_is_no_hindrance(
    stub_memory: MemoryService, hours: float
) -> None:
    there = MORNING.astimezone(timezone(timedelta(hours=hours)))
    kept = await stub_memory.add_explicit_memory(KIM, "I ran ten kilometres", valid_from=there)
    assert kept.id is not None
    assert (await stub_memory.get(KIM, kept.id)).valid_from == MORNING
    later = there + timedelta(days=1)
    await stub_memory.add_explicit_memory(KIM, "I ran eleven kilometres", valid_from=later)
    assert await stub_memory.search_memories(KIM, "ran kilometres", as_of=there)


async def test_the_hour_that_a_clock_shows_twice_is_told_apart(stub_memory: MemoryService) -> None:
    zone = ZoneInfo("America/New_York")
    first = datetime(2024, 11, 3, 1, 50, tzinfo=zone)
    second = datetime(2024, 11, 3, 1, 10, fold=1, tzinfo=zone)
    add = stub_memory.add_explicit_memory
    kept = await add(KIM, "I wait at the harbour clock", valid_from=first, valid_to=second)
    assert kept.outcome == "stored"
    with pytest.raises(InvalidInput) as caught:
        await add(KIM, "Owls nest in the old mill", valid_from=second, valid_to=first)
    assert caught.value.code == "validity_reversed"


async def test_nobodys_zone_is_made_up_where_the_database_has_one(
    settings: Settings, server: Server, prepare: Prepare
) -> None:
    assert settings.database_url is not None
    told = psycopg.conninfo.make_conninfo(
        settings.database_url.get_secret_value(), options="-c timezone=Asia/Shanghai"
    )
    await prepare(settings, StubEmbedder(), curve())
    there = server.settings(settings.db_schema, database_url=told)
    async with MemoryService.open(settings=there, embedder=StubEmbedder()) as memory:
        for text in ("Please remember that I have two cats.", "我喜欢喝乌龙茶", "again"):
            await memory.sessions.append(KIM, [Turn("user", text)])
        await memory.extract(KIM)
        turns, items = await memory.sessions.read(KIM), (await memory.list(KIM)).items
        assert items
        times = [*(turn.created_at for turn in turns), *(item.valid_from for item in items)]
        assert {time and time.utcoffset() for time in times} == {timedelta(0)}
        deployment = memory._parts.deployment
        log = MessageLog(deployment.database, deployment.keys)
        for text in ("the long way", "in one trip"):
            (logged,) = (await log.log(KIM, [Turn("user", text)])).new
            assert logged.created_at
            assert logged.created_at.utcoffset() == timedelta(0), text


async def test_rows_from_before_are_told_in_utc_and_new_ones_beside_them_are_not(
    settings: Settings, server: Server, connect: Connect, prepare: Prepare
) -> None:
    await prepare(settings, StubEmbedder(), curve())
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        await memory.add_explicit_memory(KIM, "I ran far", valid_from=MORNING)
        await memory.sessions.append(KIM, [Turn("user", "I ran far", MORNING)])
    owner = await connect("owner")
    for undone in (
        "drop function find_items, searched_items",
        "alter table memory_item drop column local_offset",
        "alter table message drop column local_offset",
        "delete from schema_migration where number = 20",
    ):
        await owner.execute(undone)
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        await memory.add_explicit_memory(KIM, "I swam far", valid_from=MORNING)
        await memory.sessions.append(KIM, [Turn("user", "I swam far", MORNING)])
        items = (await memory.list(KIM)).items
        hits = await memory.search_memories(KIM, "ran swam far")
        turns = await memory.sessions.read(KIM)
    wanted = {"I ran far": IN_UTC, "I swam far": THERE}
    assert {item.content: item.valid_from.isoformat() for item in items} == wanted
    assert {hit.content: hit.item.valid_from.isoformat() for hit in hits} == wanted
    assert [wanted[turn.content] for turn in turns] == shown(*(turn.created_at for turn in turns))
