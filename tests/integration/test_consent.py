"""Does a user's word on being remembered hold at once, everywhere, and is it recorded once?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
import pytest

from conftest import Connect, Server
from mnemic.audit import Audit
from mnemic.consent import Consents
from mnemic.deployment import Deployment
from mnemic.errors import ConsentRequired, InvalidInput, PermissionDenied
from mnemic.keyfile import KeyFile
from mnemic.model import Actor, Turn
from mnemic.storage.pool import ON_WRITE
from mnemic.storage.statements import statements

if TYPE_CHECKING:
    from mnemic.service import MemoryService

KIM = Actor("kim", session="s1")


async def audit_of(deployment: Deployment, server: Server) -> Audit:
    return await Audit.open(deployment.database, KeyFile(server.key_file))


@pytest.fixture
async def consents(deployment: Deployment, server: Server) -> Consents:
    return Consents(deployment.database, await audit_of(deployment, server))


@pytest.fixture
async def asked(server: Server, schema: str) -> AsyncIterator[tuple[Deployment, Consents]]:
    """A deployment in which users must be asked first."""
    opened = await Deployment.start(server.settings(schema, consent="required"))
    yield opened, Consents(opened.database, await audit_of(opened, server))
    await opened.close()


@pytest.fixture
async def remembering(stub_memory: MemoryService, server: Server) -> Consents:
    """Consents of the whole service."""
    deployment = stub_memory._parts.deployment
    return Consents(deployment.database, await audit_of(deployment, server))


async def admitted(deployment: Deployment, actor: Actor = KIM) -> bool:
    try:
        async with deployment.database.transaction(actor):
            return True
    except ConsentRequired as refusal:
        return refusal.code != "consent_required"


# ---- what is recorded


async def test_nobody_was_asked_at_first_and_asking_writes_nothing(
    consents: Consents, connect: Connect
) -> None:
    state = await consents.show(KIM)
    assert state.purposes == {"remember": "unasked", "insight": "unasked"}
    assert state.records == ()
    found = await (await connect("owner")).execute("select count(*) as n from app_user")
    assert await found.fetchone() == {"n": 0}


async def test_the_latest_word_to_each_purpose_counts_and_every_word_stays(
    consents: Consents,
) -> None:
    await consents.grant(KIM)
    await consents.refuse(KIM, "insight")
    await consents.refuse(Actor("kim", purpose="web"))
    state = await consents.grant(Actor("kim", purpose="my own application"))
    assert state.purposes == {"remember": "granted", "insight": "refused"}
    assert [(one.purpose, one.state, one.via) for one in state.records] == [
        ("remember", "granted", "app"),
        ("insight", "refused", "app"),
        ("remember", "refused", "web"),
        ("remember", "granted", "app"),
    ]
    times = [one.recorded_at for one in state.records]
    assert times == sorted(times)
    assert await consents.show(KIM) == state


@pytest.mark.parametrize("purpose", ["", "Remember", "all", None, 7])
async def test_purposes_that_do_not_exist_are_refused(consents: Consents, purpose: Any) -> None:
    for say in (consents.grant, consents.refuse):
        with pytest.raises(InvalidInput) as caught:
            await say(KIM, purpose)
        assert caught.value.code == "unknown_purpose"
    assert (await consents.show(KIM)).records == ()


async def test_pf_085_the_same_word_ten_times_at_once_is_one_record(
    consents: Consents, connect: Connect
) -> None:
    states = await asyncio.gather(*(consents.grant(KIM) for _ in range(10)))
    (record,) = states[0].records
    assert all(state.records == (record,) for state in states)
    await asyncio.gather(*(consents.refuse(KIM) for _ in range(10)))
    await consents.refuse(KIM)
    owner = await connect("owner")
    rows = await (
        await owner.execute("select state from consent_log order by recorded_at")
    ).fetchall()
    assert [row["state"] for row in rows] == ["granted", "refused"]
    actions = await (await owner.execute("select action from audit_log order by seq")).fetchall()
    assert [row["action"] for row in actions] == ["grant_consent", "refuse_consent"]


async def test_the_service_cannot_change_or_remove_what_was_said(
    consents: Consents, connect: Connect
) -> None:
    await consents.refuse(KIM)
    service = await connect("service")
    await service.execute("select set_config('mnemic.scopes', 'user:kim', false)")
    for statement in ("delete from consent_log", "update consent_log set state = 'granted'"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await service.execute(statement.encode())
    await service.execute("select set_config('mnemic.scopes', 'user:lee', false)")
    found = await service.execute("select count(*) as n from consent_log")
    assert await found.fetchone() == {"n": 0}


async def test_no_statement_reaches_the_words_of_another_user(
    consents: Consents, deployment: Deployment, connect: Connect
) -> None:
    await consents.refuse(KIM)
    params = {
        "scope_key": "user:kim", "user_scope": "user:kim", "purpose": "remember", "state": "granted",
        "via": "app", "id": uuid4(), "scopes": "", "sessions": "", "user_id": "",
    }  # fmt: skip
    every = statements("consent")
    for name in every.keys() - {"hold_user", "act_as"}:
        rows: Any = 0
        with suppress(PermissionDenied):
            async with deployment.database.transaction(Actor("lee")) as tx:
                cursor = await tx.conn.execute(every[name], params)
                rows = await cursor.fetchall() if cursor.description else cursor.rowcount
        assert rows in (0, []), name
    owner = await connect("owner")
    said = await (await owner.execute("select state from consent_log")).fetchall()
    assert said == [{"state": "refused"}]


async def test_whoever_waits_for_a_write_is_told_its_state_before_it_is_committed(
    consents: Consents,
) -> None:
    told: list[object] = []

    async def hear(tx: object, answer: object) -> None:
        told.append(answer)

    token = ON_WRITE.set(hear)
    try:
        state = await consents.grant(KIM)
    finally:
        ON_WRITE.reset(token)
    assert told == [state]


# ---- what it does


async def test_a_refusal_holds_in_every_mode_and_a_grant_lifts_it(
    consents: Consents, deployment: Deployment
) -> None:
    assert await admitted(deployment)
    await consents.refuse(KIM)
    assert not await admitted(deployment)
    assert not await admitted(deployment, Actor("kim", session="another"))
    assert await admitted(deployment, Actor("kim2"))
    await consents.grant(KIM)
    assert await admitted(deployment)


async def test_refusing_insights_does_not_stop_remembering(
    consents: Consents, deployment: Deployment
) -> None:
    await consents.refuse(KIM, "insight")
    assert await admitted(deployment)


async def test_where_it_is_required_only_a_grant_admits(
    asked: tuple[Deployment, Consents],
) -> None:
    deployment, consents = asked
    assert not await admitted(deployment)
    await consents.grant(KIM, "insight")
    assert not await admitted(deployment)
    await consents.grant(KIM)
    assert await admitted(deployment)
    assert not await admitted(deployment, Actor("lee"))


LOOK_ALIKES = ["kim_1", "kimA1", "%", "_", "KIM", "kim ", "ki_", "kim/s1", "user:kim"]


async def test_a_word_is_of_one_user_exactly(consents: Consents, deployment: Deployment) -> None:
    await consents.refuse(Actor("%"))
    await consents.refuse(Actor("kim_1"))
    for user in LOOK_ALIKES:
        assert await admitted(deployment, Actor(user)) is (user not in ("%", "kim_1"))
    assert (await consents.show(Actor("kim"))).records == ()


def doors(memory: MemoryService, item: Any) -> dict[str, Callable[[], Any]]:
    """Everything that may be asked of a memory on behalf of a user."""
    return {
        "add": lambda: memory.add_explicit_memory(KIM, "My bicycle is red and new"),
        "list": lambda: memory.list(KIM),
        "get": lambda: memory.get(KIM, item),
        "update": lambda: memory.update(KIM, item, confidence=0.99),
        "delete": lambda: memory.delete(KIM, item),
        "delete all": lambda: memory.delete_all(KIM),
        "history": lambda: memory.history(KIM, item),
        "questions": lambda: memory.questions(KIM),
        "search": lambda: memory.search_memories(KIM, "bicycle"),
        "context": lambda: memory.build_context(KIM, "bicycle"),
        "extract": lambda: memory.extract(KIM),
        "append": lambda: memory.sessions.append(KIM, [Turn("user", "I have a red bicycle")]),
        "read": lambda: memory.sessions.read(KIM),
        "document": lambda: memory.resources.add(KIM, "A text about bicycles", title="Bicycles"),
        "own model": lambda: memory.embeddings.get(KIM),
        "reembed": lambda: memory.embeddings.reembed(KIM),
    }


async def test_every_door_is_shut_for_a_user_who_refused(
    stub_memory: MemoryService, remembering: Consents, connect: Connect
) -> None:
    memory = stub_memory
    kept = await memory.add_explicit_memory(KIM, "My bicycle is parked at the station")
    await memory.sessions.append(KIM, [Turn("user", "记住：我喜欢喝乌龙茶")])
    owner = await connect("owner")
    before = await rows(owner)
    await remembering.refuse(KIM)
    for name, door in doors(memory, kept.id).items():
        shut = False
        try:
            await door()
        except ConsentRequired:
            shut = True
        assert shut, f"{name} is open"
    after = await rows(owner)
    assert after == before
    await remembering.grant(KIM)
    assert (await memory.list(KIM)).total == 1, "a refusal erases nothing"
    assert [hit.id for hit in await memory.search_memories(KIM, "bicycle")] == [kept.id]


async def rows(owner: Any) -> dict[str, int]:
    """How many rows the tables with content have."""
    tables = ("memory_item", "message", "session", "resource", "chunk", "chunk_draft", "item_usage",
              "extraction_log", "data_key")  # fmt: skip
    found = {}
    for table in tables:
        row = await (await owner.execute(f"select count(*) as n from {table}".encode())).fetchone()
        found[table] = row["n"]
    return found


async def test_pf_083_nothing_of_a_buffer_is_stored_after_the_withdrawal(
    stub_memory: MemoryService, remembering: Consents, connect: Connect
) -> None:
    """Many writers at once; the withdrawal waits for those that are inside, and none comes in after it."""
    memory = stub_memory
    stop = asyncio.Event()

    async def write(number: int) -> int:
        kept = 0
        actor = Actor("kim", session=f"s{number}")
        while not stop.is_set():
            try:
                await memory.sessions.append(actor, [Turn("user", f"line {kept} of {number}")])
            except ConsentRequired:
                return kept
            kept += 1
        return kept

    writers = [asyncio.create_task(write(number)) for number in range(6)]
    await asyncio.sleep(0.4)
    await remembering.refuse(KIM)
    owner = await connect("owner")
    count = "select count(*) as n, max(recorded_at) as at from message, consent_log"
    at_once = await (await owner.execute(count)).fetchone()
    kept = await asyncio.wait_for(asyncio.gather(*writers), 20)
    stop.set()
    assert sum(kept) > 0
    later = await (await owner.execute(count)).fetchone()
    assert at_once == later
    assert later is not None
    assert later["n"] == sum(kept)


async def test_pf_083_a_withdrawal_between_queueing_and_processing_stores_nothing(
    stub_memory: MemoryService, remembering: Consents, connect: Connect
) -> None:
    memory = stub_memory
    await memory.sessions.append(KIM, [Turn("user", "请记住，我在霁桥科技上班。")])
    before = await rows(await connect("owner"))
    await remembering.refuse(KIM)
    with pytest.raises(ConsentRequired):
        await memory.extract(KIM)
    assert await rows(await connect("owner")) == before
    await remembering.grant(KIM)
    assert (await memory.extract(KIM)).turns == 1


async def test_pf_083_a_withdrawal_in_the_middle_of_a_pass_ends_it(
    stub_memory: MemoryService, remembering: Consents, connect: Connect
) -> None:
    memory, passes = stub_memory, stub_memory._parts.passes
    await memory.sessions.append(KIM, [Turn("user", "Please remember that I live in Leipzig.")])
    propose = passes._propose

    async def slowly(*given: Any) -> Any:
        proposed = await propose(*given)
        await remembering.refuse(KIM)
        return proposed

    passes._propose = slowly  # type: ignore[method-assign]
    with pytest.raises(ConsentRequired):
        await memory.extract(KIM)
    found = await (await connect("owner")).execute("select count(*) as n from memory_item")
    assert await found.fetchone() == {"n": 0}


async def test_pf_084_usage_marks_that_wait_are_dropped_after_a_refusal(
    stub_memory: MemoryService, remembering: Consents, connect: Connect
) -> None:
    memory = stub_memory
    kept = await memory.add_explicit_memory(KIM, "My bicycle is parked at the station")
    assert kept.id is not None
    memory._parts.usage._delay = 60.0  # nothing is flushed before we do
    await memory.search_memories(KIM, "bicycle")
    await remembering.refuse(KIM)
    await memory._parts.usage.flush()
    found = await (await connect("owner")).execute("select count(*) as n from item_usage")
    assert await found.fetchone() == {"n": 0}
