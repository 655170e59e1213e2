"""Are appends of several users that go in one trip as apart from each other as appends of their own?"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from conftest import Connect, Connection
from mnemic.deployment import Deployment
from mnemic.errors import Conflict, StorageUnavailable
from mnemic.model import Actor, Turn
from mnemic.session.messages import MessageLog
from mnemic.session.one_trip import _APPENDS
from mnemic.settings import Settings
from mnemic.storage.answer import asker

KIM, LEE = Actor("kim", session="s1"), Actor("lee", session="s1")
CALL = "select * from append_many(%s::json, %s::json, true)"
SETTINGS = ("scopes", "sessions", "actor", "project")


class Gate:
    """A database on which trips for many are counted, held back, or fail."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self.trips: list[int] = []
        self.open = asyncio.Event()
        self.open.set()
        self.reached = asyncio.Event()
        self.before: Exception | None = None
        self.after: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def ask_for_many(self, statement: Any, params: Any) -> Any:
        self.trips.append(len(json.loads(params["appends"])))
        self.reached.set()
        await self.open.wait()
        if self.before is not None:
            raise self.before
        rows = await self._database.ask_for_many(statement, params)
        if self.after is not None:
            raise self.after
        return rows


@pytest.fixture
def gate(deployment: Deployment) -> Gate:
    return Gate(deployment.database)


async def begun(log: MessageLog, actors: Sequence[Actor]) -> None:
    """Let each have a session that this log knows, and a key that is at hand."""
    for actor in actors:
        for _ in range(2):
            await log.append(actor, [Turn("user", "first")])


@pytest.fixture
async def log(deployment: Deployment, gate: Gate) -> MessageLog:
    made = MessageLog(gate, deployment.keys)  # type: ignore[arg-type]
    await begun(made, [KIM, LEE])
    gate.trips.clear()
    return made


@pytest.fixture
async def other(settings: Settings) -> AsyncIterator[MessageLog]:
    """The log of another process."""
    opened = await Deployment.start(settings)
    yield MessageLog(opened.database, opened.keys)
    await opened.close()


async def contents(log: MessageLog, actor: Actor) -> list[str]:
    turns = await log.read(actor)
    assert [turn.seq for turn in turns] == list(range(1, len(turns) + 1))
    return [turn.content for turn in turns]


async def epoch_of(owner: Connection, actor: Actor) -> int:
    row = await (
        await owner.execute("select key_epoch from app_user where user_id = %s", [actor.user])
    ).fetchone()
    assert row is not None
    return int(row["key_epoch"])


def entry(n: int, actor: Actor, session: Actor, epoch: int) -> dict[str, Any]:
    """What an actor says who appends to the third place of a session."""
    ids = {"scope_key": session.session_scope, "session_id": session.session}
    return asker(actor) | ids | {"n": n, "last": 2, "newest": 3, "epoch": epoch}


def turn_of(n: int, content: bytes) -> dict[str, Any]:
    told = {"n": n, "seq": 3, "role": "user", "pinned": False}
    return told | {"content_enc": f"\\x{content.hex()}"}


async def test_appends_that_wait_at_once_share_trips_and_each_gets_its_own(
    log: MessageLog, gate: Gate, deployment: Deployment, other: MessageLog
) -> None:
    actors = [Actor(f"user{n}", session=f"s{n % 3}") for n in range(24)]
    await begun(log, actors)
    gate.trips.clear()
    logged = await asyncio.gather(
        *(
            log.log(actor, [Turn("user", f"of {actor.user}"), Turn("assistant", "well")])
            for actor in actors
        )
    )
    assert sum(gate.trips) == len(actors)
    assert len(gate.trips) <= 4
    assert max(gate.trips) <= _APPENDS
    for actor, told in zip(actors, logged, strict=True):
        assert told.seqs == (3, 4)
        assert await contents(other, actor) == ["first", "first", f"of {actor.user}", "well"]
        assert list(told.new) == (await other.read(actor))[2:]


async def test_nobody_writes_into_the_session_of_another_of_the_same_batch(
    log: MessageLog, connect: Connect
) -> None:
    owner, service = await connect("owner"), await connect("service")
    lees = await epoch_of(owner, LEE)
    batch = [
        entry(0, LEE, KIM, lees),
        entry(1, KIM, KIM, await epoch_of(owner, KIM)),
        entry(2, LEE, LEE, lees),
    ]
    turns = [turn_of(0, b"lee's into kim's"), turn_of(1, b"kim's"), turn_of(2, b"lee's")]
    rows = await (
        await service.execute(
            CALL, [json.dumps(batch), json.dumps([*turns, turn_of(7, b"of none")])]
        )
    ).fetchall()
    assert {row["place"]: row["appended"] for row in rows} == {0: False, 1: True, 2: True}
    kept = await (
        await owner.execute("select scope_key, content_enc from message where seq = 3 order by 1")
    ).fetchall()
    assert [(row["scope_key"], bytes(row["content_enc"])) for row in kept] == [
        ("session:kim/s1", b"kim's"),
        ("session:lee/s1", b"lee's"),
    ]


async def test_who_has_no_turn_through_their_own_append_has_none_through_another(
    log: MessageLog, connect: Connect
) -> None:
    owner, service = await connect("owner"), await connect("service")
    batch = [entry(0, LEE, KIM, await epoch_of(owner, LEE))]
    row = await (
        await service.execute(CALL, [json.dumps(batch), json.dumps([turn_of(0, b"x")])])
    ).fetchone()
    assert row is not None
    assert (row["user_status"], row["appended"]) == ("active", False)
    assert len(await log.read(KIM)) == 2


async def test_after_a_batch_nobody_asks_and_nothing_is_seen(
    log: MessageLog, connect: Connect, deployment: Deployment
) -> None:
    owner, service = await connect("owner"), await connect("service")
    batch = [entry(0, KIM, KIM, await epoch_of(owner, KIM)), entry(1, LEE, LEE, 0)]
    async with service.transaction():
        await service.execute(CALL, [json.dumps(batch), json.dumps([turn_of(0, b"x")])])
        await require_nobody(service)
    await require_nobody(service)
    seen = await (await service.execute("select count(*) as n from message")).fetchone()
    assert seen == {"n": 0}
    await asyncio.gather(*(log.append(actor, [Turn("user", "more")]) for actor in (KIM, LEE)))
    pool = deployment.database._pool
    for _ in range(pool.max_size):
        async with pool.connection() as conn:
            await require_nobody(conn)


async def require_nobody(conn: Connection) -> None:
    for name in SETTINGS:
        row = await (
            await conn.execute("select current_setting(%s, true) as told", [f"mnemic.{name}"])
        ).fetchone()
        assert row is not None
        assert not row["told"]
    row = await (await conn.execute("show lock_timeout")).fetchone()
    assert row == {"lock_timeout": "0"}


async def test_what_does_not_hold_for_one_holds_up_nobody_else(
    log: MessageLog, gate: Gate, other: MessageLog
) -> None:
    await other.append(KIM, [Turn("user", "quicker")])
    seqs = await asyncio.gather(
        *(log.append(actor, [Turn("user", "mine")]) for actor in (KIM, LEE))
    )
    assert seqs == [[4], [3]]
    assert gate.trips == [2]
    assert await contents(log, KIM) == ["first", "first", "quicker", "mine"]
    assert await contents(log, LEE) == ["first", "first", "mine"]


LOST = StorageUnavailable("database_unreachable", "lost")


@pytest.mark.parametrize(
    ("before", "after"), [(LOST, None), (Conflict("busy_rows", "again"), None), (None, LOST)]
)
async def test_when_a_batch_fails_each_goes_on_by_itself_and_nothing_is_there_twice(
    before: Exception | None, after: Exception | None, log: MessageLog, gate: Gate
) -> None:
    gate.before, gate.after = before, after
    seqs = await asyncio.gather(
        *(log.append(actor, [Turn("user", "mine")]) for actor in (KIM, LEE))
    )
    assert seqs == [[3], [3]]
    for actor in (KIM, LEE):
        assert await contents(log, actor) == ["first", "first", "mine"]


async def test_a_turn_that_was_sent_before_costs_the_others_of_its_batch_nothing_but_time(
    log: MessageLog,
) -> None:
    again = Turn("user", "once", client_id="c1")
    assert await log.append(KIM, [again]) == [3]
    mine = Turn("user", "mine")
    seqs = await asyncio.gather(log.append(KIM, [again]), log.append(LEE, [mine]))
    assert list(seqs) == [[3], [3]]
    assert await contents(log, KIM) == ["first", "first", "once"]
    assert await contents(log, LEE) == ["first", "first", "mine"]


async def test_who_no_longer_waits_takes_nobody_along(log: MessageLog, gate: Gate) -> None:
    gate.reached.clear()
    gate.open.clear()
    gone = asyncio.create_task(log.append(KIM, [Turn("user", "gone")]))
    stays = asyncio.create_task(log.append(LEE, [Turn("user", "stays")]))
    await asyncio.wait_for(gate.reached.wait(), 10)
    gone.cancel()
    gate.open.set()
    assert await stays == [3]
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert await log.append(KIM, [Turn("user", "later")]) == [4]
    assert await contents(log, KIM) == ["first", "first", "gone", "later"]


async def test_turns_of_one_session_are_logged_in_the_order_of_calls(
    log: MessageLog, other: MessageLog
) -> None:
    calls = [log.append(KIM, [Turn("user", f"turn {n}")]) for n in range(30)]
    calls[7:7] = [log.append(LEE, [Turn("user", "beside")])]
    seqs = await asyncio.gather(*calls)
    assert seqs[:7] + seqs[8:] == [[n] for n in range(3, 33)]
    assert (await contents(other, KIM))[2:] == [f"turn {n}" for n in range(30)]


async def test_two_processes_that_write_to_the_same_sessions_do_not_lock_each_other_out(
    log: MessageLog, other: MessageLog
) -> None:
    actors = [Actor(f"user{n}", session="s") for n in range(12)]
    await begun(log, actors)
    await begun(other, actors)
    async with asyncio.timeout(60):
        await asyncio.gather(
            *(
                writer.append(actor, [Turn("user", f"{number}")])
                for number in range(5)
                for writer, order in ((log, actors), (other, actors[::-1]))
                for actor in order
            )
        )
    for actor in actors:
        assert sorted((await contents(log, actor))[4:]) == sorted([f"{n}" for n in range(5)] * 2)


async def test_a_user_who_is_held_up_holds_up_the_others_shortly(
    log: MessageLog, connect: Connect, other: MessageLog
) -> None:
    holder = await connect("owner")
    async with holder.transaction():
        await holder.execute("select from session where scope_key = 'session:kim/s1' for update")
        held = asyncio.create_task(log.append(KIM, [Turn("user", "mine")]))
        assert await asyncio.wait_for(log.append(LEE, [Turn("user", "mine")]), 30) == [3]
        assert not held.done()
    assert await held == [3]
    assert await contents(other, KIM) == ["first", "first", "mine"]
