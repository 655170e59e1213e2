"""Does a task keep every step, exactly once, for its user alone?"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from conftest import Connect
from mnemic.deployment import Deployment
from mnemic.errors import Conflict, InvalidInput, MnemicError, NotFound
from mnemic.ids import new_id
from mnemic.model import Actor
from mnemic.tasks.state import Task
from mnemic.tasks.store import Tasks
from mnemic.tasks.workflows import Step, Workflow, Workflows

KIM, LEE = Actor("kim", session="s1"), Actor("lee")
POLLING = Workflow("polling", (Step("poll", ("poll", "end")), Step("end")))
FORKED = Workflow(
    "forked",
    (Step("look", ("yes", "no", "again")), Step("again", ("look",)), Step("yes"), Step("no")),
)


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.time = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def pass_by(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tasks(deployment: Deployment) -> Tasks:
    return Tasks(deployment.database, deployment.keys, Workflows(POLLING, FORKED))


@pytest.fixture
def timed(deployment: Deployment, clock: Clock) -> Tasks:
    return Tasks(deployment.database, deployment.keys, Workflows(POLLING, FORKED), clock=clock)


async def refused(work: Any, code: str) -> MnemicError:
    with pytest.raises(MnemicError) as caught:
        await work
    assert caught.value.code == code
    return caught.value


async def as_replayed(tasks: Tasks, actor: Actor, task_id: object) -> Task:
    """Return a task after it was seen that its row is what its events tell."""
    task = await tasks.get(actor, task_id)
    assert await tasks.replay(actor, task_id) == task
    return task


# ---- one after the other


async def test_a_task_from_its_first_step_to_its_end(tasks: Tasks) -> None:
    made = await tasks.create(KIM, "data_approval", {"source": "a.csv", "tries": 0})
    assert (made.current_step, made.status, made.version) == ("data_fetch", "running", 1)
    assert made.created_at == made.updated_at
    moved = await tasks.advance(KIM, made.task_id, data={"rows": 12}, drop=["tries"])
    assert (moved.current_step, moved.version) == ("validation", 2)
    assert moved.state_data == {"source": "a.csv", "rows": 12}
    failed = await tasks.fail(KIM, made.task_id, "第三列缺失", step="validation")
    assert (failed.current_step, failed.status, failed.failure) == (
        "validation",
        "failed",
        "第三列缺失",
    )
    await refused(tasks.advance(KIM, made.task_id), "task_failed")
    again = await tasks.advance(KIM, made.task_id, "validation")
    assert (again.status, again.failure, again.version) == ("running", None, 4)
    await tasks.advance(KIM, made.task_id, "approval")
    done = await tasks.complete(KIM, made.task_id, data={"by": "金"})
    assert (done.current_step, done.status, done.version) == ("completed", "completed", 6)
    assert done.created_at == made.created_at < done.updated_at
    assert await as_replayed(tasks, KIM, made.task_id) == done
    await refused(tasks.advance(KIM, made.task_id), "task_completed")
    await refused(tasks.fail(KIM, made.task_id, "late"), "task_completed")
    events = await tasks.history(KIM, made.task_id)
    assert [(one.seq, one.version, one.event_type) for one in events] == [
        (1, 1, "step_start"),
        (2, 2, "step_success"),
        (3, 2, "step_start"),
        (4, 3, "step_fail"),
        (5, 4, "step_start"),
        (6, 5, "step_success"),
        (7, 5, "step_start"),
        (8, 6, "step_success"),
        (9, 6, "step_start"),
    ]
    assert events[3].payload["reason"] == "第三列缺失"
    assert not any("request" in one.payload for one in events)
    assert await tasks.history(KIM, made.task_id, after=7) == events[7:]


async def test_a_task_is_found_from_another_session_and_client(
    tasks: Tasks, deployment: Deployment
) -> None:
    made = await tasks.create(KIM, "data_approval", {"source": "a.csv"})
    elsewhere = Tasks(deployment.database, deployment.keys)
    assert await elsewhere.get(Actor("kim", session="other"), str(made.task_id)) == made
    page = await elsewhere.list(Actor("kim"))
    assert page.tasks == (made,)


async def test_replay_tells_what_a_task_was_at_each_version(tasks: Tasks) -> None:
    states = [await tasks.create(KIM, "polling", {"n": 0})]
    task_id = states[0].task_id
    for n in range(1, 6):
        states.append(await tasks.advance(KIM, task_id, "poll", data={"n": n}))
    for state in states:
        assert await tasks.replay(KIM, task_id, version=state.version) == state
    await refused(tasks.replay(KIM, task_id, version=7), "version_from_future")
    nonsense: list[Any] = [0, -1, True, 1.0, "1", [1], 2**63]
    for version in nonsense:
        await refused(tasks.replay(KIM, task_id, version=version), "version_out_of_range")


async def test_a_history_of_many_pages_replays(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemic.tasks.writer._READ_AT_ONCE", 4)
    task_id = (await tasks.create(KIM, "polling")).task_id
    for n in range(9):
        await tasks.advance(KIM, task_id, "poll", data={"n": n})
        await as_replayed(tasks, KIM, task_id)
    assert (await tasks.replay(KIM, task_id, version=5)).state_data == {"n": 3}


async def test_tasks_are_listed_by_their_last_change_in_pages(timed: Tasks, clock: Clock) -> None:
    made = []
    for n in range(7):
        clock.pass_by(n % 2)  # some at the same moment
        made.append(await timed.create(KIM, "polling" if n % 3 else "forked", {"n": n}))
    clock.pass_by(60)
    first = await timed.advance(KIM, made[1].task_id, "end")
    seen: list[Task] = []
    cursor = None
    while True:
        page = await timed.list(KIM, limit=2, cursor=cursor)
        assert page.total == 7
        seen += page.tasks
        if (cursor := page.cursor) is None:
            break
    assert seen[0] == first
    assert sorted(task.task_id for task in seen) == sorted(task.task_id for task in made)
    assert [t.updated_at for t in seen] == sorted((t.updated_at for t in seen), reverse=True)
    assert [t.state_data["n"] for t in (await timed.list(KIM, task_type="forked")).tasks] == [
        6,
        3,
        0,
    ]
    assert (await timed.list(KIM, status="completed")).tasks == (first,)
    assert (await timed.list(KIM, status="failed")).total == 0
    await refused(timed.list(KIM, status="gone"), "unknown_status")  # type: ignore[arg-type]
    await refused(timed.list(KIM, limit=0), "limit_out_of_range")
    await refused(timed.list(KIM, cursor="x"), "invalid_cursor")


async def test_a_clock_that_goes_back_does_not_turn_a_history_round(
    timed: Tasks, clock: Clock
) -> None:
    made = await timed.create(KIM, "polling")
    clock.pass_by(-3600)
    moved = await timed.advance(KIM, made.task_id, "poll")
    assert moved.updated_at == made.updated_at


async def test_a_clock_without_a_zone_is_refused(deployment: Deployment) -> None:
    naive = Tasks(deployment.database, deployment.keys, clock=lambda: datetime(2026, 3, 2))
    await refused(naive.create(KIM, "data_approval"), "naive_datetime")


# ---- repeated


async def test_pf_106_a_repeated_change_makes_one_event_and_has_the_first_answer(
    tasks: Tasks,
) -> None:
    made = await tasks.create(KIM, "data_approval")
    event = new_id()
    lost = await tasks.advance(
        KIM, made.task_id, data={"rows": 1}, event_id=event, expected_version=1
    )
    await tasks.advance(KIM, made.task_id, data={"rows": 2})
    before = await tasks.history(KIM, made.task_id)
    for known in (1, None, 3):
        again = await tasks.advance(
            KIM, made.task_id, data={"rows": 1}, event_id=event, expected_version=known
        )
        assert again == lost
    assert await tasks.history(KIM, made.task_id) == before
    assert [one.event_id for one in before].count(event) == 1

    # also after a conflict: the refused one left nothing, so the same id may be used for it
    other = new_id()
    stale = tasks.complete(KIM, made.task_id, expected_version=1, event_id=other)
    await refused(stale, "version_conflict")
    done = await tasks.complete(KIM, made.task_id, expected_version=3, event_id=other)
    assert done.version == 4
    assert await tasks.complete(KIM, made.task_id, expected_version=1, event_id=other) == done
    assert len(await tasks.history(KIM, made.task_id)) == len(before) + 2


async def test_a_repeated_creation_makes_one_task_also_at_once(tasks: Tasks) -> None:
    await tasks.create(KIM, "polling")  # the user's key is there
    event = str(new_id())
    made = await asyncio.gather(
        *(tasks.create(KIM, "data_approval", {"n": 1}, event_id=event) for _ in range(8))
    )
    assert len({task.task_id for task in made}) == 1
    assert (await tasks.list(KIM, task_type="data_approval")).total == 1
    await refused(tasks.create(KIM, "data_approval", {"n": 2}, event_id=event), "event_id_reused")
    # another user's ids are their own
    assert (await tasks.create(LEE, "data_approval", event_id=event)).version == 1


async def test_the_same_change_sent_at_once_happens_once(tasks: Tasks) -> None:
    task_id = (await tasks.create(KIM, "polling", {"n": 0})).task_id
    for _ in range(6):
        await _sent_at_once(tasks, task_id)


async def _sent_at_once(tasks: Tasks, task_id: UUID) -> None:
    event = new_id()
    version = (await tasks.get(KIM, task_id)).version + 1
    sent = [tasks.advance(KIM, task_id, "poll", data={"n": 1}, event_id=event) for _ in range(16)]
    answers = await asyncio.gather(*sent)
    assert {answer.version for answer in answers} == {version}
    assert len(await tasks.history(KIM, task_id)) == 2 * version - 1


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("known", [1, None])
async def test_the_same_change_that_is_committed_meanwhile_happens_once(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch, first: bool, known: int | None
) -> None:
    """The other call commits just before this one looks for its event, or just after."""
    from mnemic.tasks.writer import Writer

    task_id = (await tasks.create(KIM, "data_approval")).task_id
    event, look = new_id(), Writer._moment

    def send() -> Any:
        return tasks.advance(KIM, task_id, "validation", event_id=event, expected_version=known)

    async def overtaken(self: Any, *given: Any) -> Any:
        monkeypatch.setattr(Writer, "_moment", look)
        if first:
            await send()
            return await look(self, *given)
        found = await look(self, *given)
        await send()
        return found

    monkeypatch.setattr(Writer, "_moment", overtaken)
    answer = await send()
    assert (answer.version, answer.current_step) == (2, "validation")
    assert len(await tasks.history(KIM, task_id)) == 3


async def test_an_event_id_belongs_to_one_change(tasks: Tasks) -> None:
    first, second = [await tasks.create(KIM, "polling") for _ in range(2)]
    event = new_id()
    await tasks.advance(KIM, first.task_id, "poll", data={"n": 1}, event_id=event)
    for work in (
        tasks.advance(KIM, second.task_id, "poll", data={"n": 1}, event_id=event),
        tasks.advance(KIM, first.task_id, "poll", data={"n": 2}, event_id=event),
        tasks.advance(KIM, first.task_id, "end", data={"n": 1}, event_id=event),
        tasks.fail(KIM, first.task_id, "no", data={"n": 1}, event_id=event),
        tasks.create(KIM, "polling", {"n": 1}, event_id=event),
    ):
        await refused(work, "event_id_reused")
    made_by_us = (await tasks.history(KIM, first.task_id))[2].event_id
    await refused(tasks.advance(KIM, first.task_id, event_id=made_by_us), "event_id_reused")


async def test_pf_107_rebuilding_twice_gives_the_same_and_no_error(
    tasks: Tasks, connect: Connect
) -> None:
    made = await tasks.create(KIM, "data_approval", {"source": "a.csv"})
    right = await tasks.advance(KIM, made.task_id, data={"rows": 3})
    owner = await connect("owner")
    await owner.execute(
        "update task_state set current_step = 'approval', state_data = '{\"rows\": \"AAAA\"}'"
    )
    await refused(tasks.get(KIM, made.task_id), "sealed_value_damaged")
    for _ in range(2):
        assert await tasks.replay(KIM, made.task_id) == right
    for _ in range(2):
        assert await tasks.repair(KIM, made.task_id) == right
        assert await as_replayed(tasks, KIM, made.task_id) == right
    assert len(await tasks.history(KIM, made.task_id)) == 3


async def test_a_history_with_a_hole_is_not_replayed(tasks: Tasks, connect: Connect) -> None:
    made = await tasks.create(KIM, "data_approval")
    await tasks.advance(KIM, made.task_id)
    owner = await connect("owner")
    await owner.execute("delete from task_events where seq = 2")
    await refused(tasks.replay(KIM, made.task_id), "task_history_damaged")
    await owner.execute("delete from task_events")
    await refused(tasks.repair(KIM, made.task_id), "task_history_damaged")


# ---- at once


async def test_pf_105_of_two_changes_that_know_version_3_one_is_told_of_version_4(
    tasks: Tasks,
) -> None:
    task_id = (await tasks.create(KIM, "polling", {"by": ""})).task_id
    for _ in range(2):
        await tasks.advance(KIM, task_id, "poll")
    both = [
        tasks.advance(KIM, task_id, "poll", data={"by": who}, expected_version=3) for who in "ab"
    ]
    results = await asyncio.gather(*both, return_exceptions=True)
    (won,) = (one for one in results if isinstance(one, Task))
    (lost,) = (one for one in results if isinstance(one, Conflict))
    assert (lost.code, lost.details) == ("version_conflict", {"expected": 3, "current": 4})
    assert await as_replayed(tasks, KIM, task_id) == won
    assert won.version == 4


async def test_of_64_at_once_exactly_one_wins_each_version(tasks: Tasks) -> None:
    task_id = (await tasks.create(KIM, "polling", {"n": -1})).task_id
    calls = [tasks.advance(KIM, task_id, "poll", data={"n": n}) for n in range(64)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    won = [one for one in results if isinstance(one, Task)]
    lost = [one for one in results if isinstance(one, Conflict)]
    assert len(won) + len(lost) == 64
    assert len(won) >= 8
    assert sorted(one.version for one in won) == list(range(2, 2 + len(won)))
    for error in lost:
        assert error.code == "version_conflict"
        assert 1 <= error.details["expected"] < error.details["current"] <= 1 + len(won)  # type: ignore[operator]
    task = await as_replayed(tasks, KIM, task_id)
    assert task.version == 1 + len(won)
    starts = await tasks.history(KIM, task_id)
    assert [one.seq for one in starts] == list(range(1, 2 + 2 * len(won)))
    for state in won:
        assert await tasks.replay(KIM, task_id, version=state.version) == state


async def test_of_64_at_once_with_one_known_version_one_wins(tasks: Tasks) -> None:
    task_id = (await tasks.create(KIM, "data_approval")).task_id
    calls = [tasks.advance(KIM, task_id, data={"n": n}, expected_version=1) for n in range(64)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(one, Task) for one in results) == 1
    assert {one.code for one in results if isinstance(one, MnemicError)} == {"version_conflict"}
    assert (await as_replayed(tasks, KIM, task_id)).version == 2


async def test_a_step_is_not_finished_twice_by_calls_at_once(tasks: Tasks) -> None:
    """Whoever reads a step and is outrun does not finish the next one in its place."""
    for _ in range(4):
        task_id = (await tasks.create(KIM, "data_approval")).task_id
        calls = [tasks.advance(KIM, task_id, step="data_fetch") for _ in range(8)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert sum(isinstance(one, Task) for one in results) == 1
        codes = {one.code for one in results if isinstance(one, MnemicError)}
        assert codes <= {"version_conflict", "step_passed"}
        assert (await as_replayed(tasks, KIM, task_id)).current_step == "validation"


# ---- bad input


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"to": "completed"}, "illegal_move"),
        ({"to": "data_fetch"}, "illegal_move"),
        ({"to": "nowhere"}, "unknown_step"),
        ({"to": 7}, "unknown_step"),
        ({"step": "nowhere"}, "unknown_step"),
        ({"step": "approval"}, "step_passed"),
        ({"expected_version": 2}, "version_from_future"),
        ({"expected_version": 0}, "expected_version_out_of_range"),
        ({"expected_version": True}, "expected_version_out_of_range"),
        ({"data": {"blob": "x y " * 2_621_440}}, "state_too_large"),
        ({"data": {"blob": "QUJD" * 1025}}, "binary_in_state"),
        ({"data": {"blob": b"abc"}}, "binary_in_state"),
        ({"data": {"a b": 1}}, "invalid_state_key"),
        ({"data": {"n": float("nan")}}, "state_not_json"),
        ({"data": [1]}, "state_not_an_object"),
        ({"drop": "abc"}, "invalid_state_key"),
        ({"event_id": "7"}, "invalid_event_id"),
        ({"claim": "7"}, "invalid_claim"),
        ({"claim": UUID(int=7)}, "claim_lost"),
    ],
)
async def test_what_is_refused_changes_nothing(tasks: Tasks, given: Any, code: str) -> None:
    made = await tasks.create(KIM, "data_approval", {"source": "a.csv"})
    error = await refused(tasks.advance(KIM, made.task_id, **given), code)
    assert isinstance(error, InvalidInput | Conflict)
    assert "nowhere" not in error.message
    assert await as_replayed(tasks, KIM, made.task_id) == made
    assert len(await tasks.history(KIM, made.task_id)) == 1


async def test_a_refused_creation_leaves_nothing(tasks: Tasks) -> None:
    for task_type, data, code in (
        ("no_such_type", {}, "unknown_task_type"),
        (None, {}, "unknown_task_type"),
        ("data_approval", {"blob": "QUJD" * 1025}, "binary_in_state"),
        ("data_approval", {"text": "a b c" * 2_000_000}, "state_too_large"),
    ):
        await refused(tasks.create(KIM, task_type, data), code)  # type: ignore[arg-type]
    assert (await tasks.list(KIM)).total == 0
    await refused(tasks.create("kim", "data_approval"), "not_an_actor")  # type: ignore[arg-type]


async def test_a_state_cannot_grow_past_its_limit_step_by_step(tasks: Tasks) -> None:
    task_id = (await tasks.create(KIM, "polling", {"a": "one two " * 16_000})).task_id
    grown = tasks.advance(KIM, task_id, "poll", data={"b": "one two " * 24_000})
    await refused(grown, "state_too_large")
    kept = await tasks.advance(KIM, task_id, "poll", data={"b": "one two " * 24_000}, drop=["a"])
    assert list(kept.state_data) == ["b"]
    await as_replayed(tasks, KIM, task_id)


async def test_a_branch_must_be_named(tasks: Tasks) -> None:
    task_id = (await tasks.create(KIM, "forked")).task_id
    await refused(tasks.advance(KIM, task_id), "move_unclear")
    await refused(tasks.complete(KIM, task_id), "move_unclear")
    await refused(tasks.complete(KIM, task_id, "again"), "illegal_move")
    await tasks.advance(KIM, task_id, "again")
    await refused(tasks.complete(KIM, task_id), "illegal_move")
    await tasks.advance(KIM, task_id)
    assert (await tasks.complete(KIM, task_id, "no")).status == "completed"


async def test_a_failed_step_fails_once_and_only_starts_again(tasks: Tasks) -> None:
    task_id = (await tasks.create(KIM, "data_approval")).task_id
    for reason in ("", "  ", "x" * 2001, None, "\x00"):
        await refused(tasks.fail(KIM, task_id, reason), "invalid_reason")  # type: ignore[arg-type]
    await tasks.fail(KIM, task_id, "no network", data={"tries": 1})
    await refused(tasks.fail(KIM, task_id, "still none"), "task_failed")
    await refused(tasks.advance(KIM, task_id, "validation"), "task_failed")
    await refused(tasks.complete(KIM, task_id), "task_failed")
    assert (await tasks.advance(KIM, task_id, "data_fetch")).state_data == {"tries": 1}


async def test_a_file_stands_there_by_reference(tasks: Tasks) -> None:
    from mnemic.tasks.data import file_ref

    made = await tasks.create(KIM, "data_approval", {"scan": file_ref("s3://b/scan.pdf", 10**9)})
    assert (await tasks.get(KIM, made.task_id)).state_data == {
        "scan": {"file_ref": "s3://b/scan.pdf", "size": 10**9}
    }


async def test_pf_029_what_was_stored_under_a_workflow_that_is_gone_is_read_as_it_is(
    tasks: Tasks, deployment: Deployment
) -> None:
    made = await tasks.create(KIM, "forked", {"old_field": [1, {"deep": "值"}]})
    await tasks.create(KIM, "data_approval", {"rows": 1})
    without = Tasks(deployment.database, deployment.keys, Workflows(POLLING))
    assert await as_replayed(without, KIM, made.task_id) == made
    page = await without.list(KIM)
    assert {task.task_type for task in page.tasks} == {"forked", "data_approval"}
    assert [event.payload["data"] for event in await without.history(KIM, made.task_id)] == [
        made.state_data
    ]
    gone = await refused(without.advance(KIM, made.task_id), "unknown_task_type")
    assert "MNEMIC_WORKFLOWS" in str(gone)
    fewer = Workflow(FORKED.task_type, (Step("begin", ("end",)), Step("end")))
    changed = Tasks(deployment.database, deployment.keys, Workflows(fewer))
    assert await changed.get(KIM, made.task_id) == made
    told = await refused(changed.advance(KIM, made.task_id), "unknown_step")
    assert made.current_step in str(told)
    assert await as_replayed(tasks, KIM, made.task_id) == made, "nothing was changed on the way"


async def test_pf_031_nul_and_half_a_pair_inside_a_state_are_read_back(tasks: Tasks) -> None:
    odd = {"deep": {"list": ["a\x00b", {"c\x00": "\ud83d"}], "emoji": "👩‍👩‍👧", "zh": "数据"}}
    made = await tasks.create(KIM, "polling", odd)
    await tasks.advance(KIM, made.task_id, "poll", data={"more\u4e2d": "\x00"})
    task = await as_replayed(tasks, KIM, made.task_id)
    assert task.state_data == odd | {"more中": "\x00"}
    assert task.status == "running"
    assert (await tasks.history(KIM, made.task_id))[0].payload["data"] == odd


# ---- whose it is


async def test_two_users_never_see_each_others_tasks(tasks: Tasks, connect: Connect) -> None:
    made = await tasks.create(KIM, "data_approval", {"source": "a.csv"})
    await tasks.create(LEE, "polling")
    for other in (LEE, Actor("ki"), Actor("kim2"), Actor("KIM"), Actor("nobody", session="s1")):
        for work in (
            tasks.get(other, made.task_id),
            tasks.replay(other, made.task_id),
            tasks.repair(other, made.task_id),
            tasks.history(other, made.task_id),
            tasks.advance(other, made.task_id),
            tasks.complete(other, made.task_id),
            tasks.fail(other, made.task_id, "mine"),
            tasks.renew(other, made.task_id, new_id()),
            tasks.release(other, made.task_id, new_id()),
        ):
            await refused(work, "task_not_found")
        assert made not in (await tasks.list(other)).tasks
        assert await tasks.claim_next(other, "data_approval") is None
    for unknown in (new_id(), str(new_id())):
        await refused(tasks.get(KIM, unknown), "task_not_found")
    await refused(tasks.get(KIM, "1; drop table task_state"), "invalid_task_id")
    assert await as_replayed(tasks, KIM, made.task_id) == made

    service = await connect("service")
    for table in ("task_state", "task_events"):
        assert await (await service.execute(f"select * from {table}")).fetchall() == []
    await service.execute("select set_config('mnemic.scopes', 'user:lee', false)")
    rows = await (await service.execute("select user_id from task_state")).fetchall()
    assert [row["user_id"] for row in rows] == ["lee"]


async def test_nothing_but_the_names_of_a_state_is_readable(tasks: Tasks, connect: Connect) -> None:
    made = await tasks.create(KIM, "data_approval", {"employer": "Lanternworks", "n": 5})
    await tasks.fail(KIM, made.task_id, "the lighthouse was dark", data={"place": "灯塔"})
    owner = await connect("owner")
    row = await (await owner.execute("select * from task_state")).fetchone()
    assert row is not None
    assert set(row["state_data"]) == {"employer", "n", "place"}
    events = await (await owner.execute("select * from task_events")).fetchall()
    text = repr((row, events))
    for word in ("Lanternworks", "lighthouse", "灯塔"):
        assert word not in text
        assert word.encode().hex() not in text
    # what was sealed for one place does not open in another
    await owner.execute(
        "update task_state set state_data = jsonb_set(state_data, '{employer}', state_data->'place')"
    )
    await refused(tasks.get(KIM, made.task_id), "sealed_value_damaged")


async def test_who_refuses_to_be_remembered_has_no_new_tasks(
    tasks: Tasks, connect: Connect
) -> None:
    await tasks.create(KIM, "data_approval")
    owner = await connect("owner")
    await owner.execute("update app_user set remember = 'refused'")
    await refused(tasks.create(KIM, "data_approval"), "consent_required")
    assert await tasks.claim_any("data_approval") is None


async def test_unknown_tasks_answer_alike_for_a_user_without_any(tasks: Tasks) -> None:
    with pytest.raises(NotFound):
        await tasks.get(LEE, new_id())
    assert (await tasks.list(LEE)).tasks == ()
    assert await tasks.claim_next(LEE) is None
