"""Is a plain turn logged in one round trip, and by the long way whenever that would not be right?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from conftest import Connect
from mnemic.deployment import Deployment
from mnemic.errors import Conflict, ConsentRequired, InvalidInput, StorageUnavailable
from mnemic.model import Actor, ToolCall, Turn
from mnemic.session.messages import MessageLog

KIM = Actor("kim", session="s1")


class Counted:
    """A database that counts the ways on which turns come."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self.trips = self.transactions = 0
        self.lose_answer = self.lose_question = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def ask_for_many(self, *given: Any, **named: Any) -> Any:
        self.trips += 1
        if self.lose_question:
            raise StorageUnavailable("database_unreachable", "lost")
        answer = await self._database.ask_for_many(*given, **named)
        if self.lose_answer:
            raise StorageUnavailable("database_unreachable", "lost")
        return answer

    @asynccontextmanager
    async def transaction(self, *given: Any, **named: Any) -> AsyncIterator[Any]:
        self.transactions += 1
        async with self._database.transaction(*given, **named) as tx:
            yield tx

    def ways(self) -> tuple[int, int]:
        """Return and forget how many turns came in one trip and how many transactions there were."""
        told = self.trips, self.transactions
        self.trips = self.transactions = 0
        return told


@pytest.fixture
def counted(deployment: Deployment) -> Counted:
    return Counted(deployment.database)


@pytest.fixture
async def log(deployment: Deployment, counted: Counted) -> MessageLog:
    for _ in range(2):  # the first contact makes the key, the next one finds it
        async with deployment.database.transaction(KIM) as tx:
            await deployment.keys.obtain(tx, KIM)
    return MessageLog(counted, deployment.keys)  # type: ignore[arg-type]


Said = Callable[[], Awaitable[list[tuple[int | None, str]]]]


@pytest.fixture
def said(deployment: Deployment) -> Said:
    """What another process reads."""
    other = MessageLog(deployment.database, deployment.keys)

    async def read() -> list[tuple[int | None, str]]:
        return [(turn.seq, turn.content) for turn in await other.read(KIM)]

    return read


async def test_the_first_turn_opens_the_session_and_the_next_ones_take_one_trip(
    log: MessageLog, counted: Counted, said: Said
) -> None:
    assert await log.append(KIM, [Turn("user", "one")]) == [1]
    assert counted.ways() == (0, 1)
    rich = Turn("assistant", "three", tool_calls=(ToolCall("c1", "search", {}),), intent="look_up")
    logged = await log.log(KIM, [Turn("user", "two", speaker="Kim", pinned=True), rich])
    assert logged.seqs == (2, 3)
    assert counted.ways() == (1, 0)
    assert await said() == [(1, "one"), (2, "two"), (3, "three")]
    assert list(logged.new) == (await log.read(KIM))[1:]


async def test_a_result_of_a_tool_is_looked_up_and_refused_without_its_call(
    log: MessageLog, counted: Counted, said: Said
) -> None:
    await log.append(KIM, [Turn("user", "one")])
    counted.ways()
    with pytest.raises(InvalidInput) as raised:
        await log.append(KIM, [Turn("tool", "42", tool_call_id="c9")])
    assert raised.value.code == "tool_call_not_found"
    assert counted.ways() == (0, 1)
    assert await log.append(KIM, [Turn("user", "two")]) == [2]


async def test_another_process_that_was_quicker_leaves_no_gap_and_loses_nothing(
    log: MessageLog, deployment: Deployment, said: Said
) -> None:
    other = MessageLog(deployment.database, deployment.keys)
    for number in range(1, 7):
        writer = log if number % 2 else other
        assert await writer.append(KIM, [Turn("user", f"turn {number}")]) == [number]
    assert await said() == [(n, f"turn {n}") for n in range(1, 7)]


async def test_many_writers_at_once_number_without_gaps(
    log: MessageLog, deployment: Deployment, said: Said
) -> None:
    writers = [log, *(MessageLog(deployment.database, deployment.keys) for _ in range(3))]
    for writer in writers:
        await writer.append(KIM, [Turn("user", "start")])
    jobs = (writers[n % 4].append(KIM, [Turn("user", f"turn {n}")]) for n in range(40))
    seqs = [seq for (seq,) in await asyncio.gather(*jobs)]
    assert sorted(seqs) == list(range(5, 45))
    told = dict(await said())
    assert [told[seq] for seq in seqs] == [f"turn {n}" for n in range(40)]


async def test_a_turn_that_is_sent_again_keeps_its_number(log: MessageLog, said: Said) -> None:
    await log.append(KIM, [Turn("user", "one")])
    assert await log.append(KIM, [Turn("user", "two", client_id="b")]) == [2]
    assert await log.append(KIM, [Turn("user", "two", client_id="b")]) == [2]
    with pytest.raises(InvalidInput) as raised:
        await log.append(KIM, [Turn("user", "not two", client_id="b")])
    assert raised.value.code == "client_id_reused"
    assert await said() == [(1, "one"), (2, "two")]


async def test_a_closed_session_takes_nothing(
    log: MessageLog, connect: Connect, said: Said
) -> None:
    await log.append(KIM, [Turn("user", "one")])
    await (await connect("owner")).execute("update session set closed_at = now()")
    with pytest.raises(Conflict) as raised:
        await log.append(KIM, [Turn("user", "two")])
    assert raised.value.code == "session_closed"
    assert await said() == [(1, "one")]


@pytest.mark.parametrize(
    ("remember", "required"), [("'refused'", False), ("'refused'", True), ("null", True)]
)
async def test_who_does_not_agree_is_not_written_down(
    remember: str, required: bool, log: MessageLog, counted: Counted, connect: Connect
) -> None:
    await log.append(KIM, [Turn("user", "one")])
    counted._database.consent_required = required
    owner = await connect("owner")
    await owner.execute(f"update app_user set remember = {remember}".encode())
    counted.ways()
    with pytest.raises(ConsentRequired):
        await log.append(KIM, [Turn("user", "two")])
    assert counted.ways() == (1, 0)
    row = await (await owner.execute("select count(*) as n from message")).fetchone()
    assert row == {"n": 1}


async def test_a_key_of_another_epoch_seals_nothing(
    log: MessageLog, counted: Counted, connect: Connect
) -> None:
    await log.append(KIM, [Turn("user", "one")])
    await (await connect("owner")).execute("update app_user set key_epoch = key_epoch + 1")
    counted.ways()
    assert await log.append(KIM, [Turn("user", "two")]) == [2]
    assert counted.ways() == (1, 1)


@pytest.mark.parametrize("lost", ["lose_answer", "lose_question"])
async def test_whether_a_turn_arrived_when_the_line_broke_is_seen_in_the_log(
    lost: str, log: MessageLog, counted: Counted, said: Said
) -> None:
    await log.append(KIM, [Turn("user", "one")])
    setattr(counted, lost, True)
    assert await log.append(KIM, [Turn("user", "two")]) == [2]
    setattr(counted, lost, False)
    assert await log.append(KIM, [Turn("user", "three")]) == [3]
    assert await said() == [(1, "one"), (2, "two"), (3, "three")]
