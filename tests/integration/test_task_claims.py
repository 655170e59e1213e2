"""Does every waiting task go to one worker, and come back when that worker is gone?"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from conftest import Connect
from mnemic.deployment import Deployment
from mnemic.errors import MnemicError
from mnemic.model import Actor
from mnemic.tasks.claims import Claim
from mnemic.tasks.store import Tasks
from mnemic.tasks.workflows import Step, Workflow, Workflows

KIM, LEE = Actor("kim"), Actor("lee")
REPORT = Workflow("report", (Step("collect", ("write",)), Step("write", ("done",)), Step("done")))


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.time = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.time += timedelta(milliseconds=1)
        return self.time

    def pass_by(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tasks(deployment: Deployment, clock: Clock) -> Tasks:
    return Tasks(deployment.database, deployment.keys, Workflows(REPORT), clock=clock)


async def refused(work: Any, code: str) -> None:
    with pytest.raises(MnemicError) as caught:
        await work
    assert caught.value.code == code


async def claimed(tasks: Tasks, actor: Actor, task_type: str | None = None, **given: Any) -> Claim:
    claim = await tasks.claim_next(actor, task_type, **given)
    assert claim is not None
    return claim


async def test_the_longest_waiting_task_goes_first_and_each_to_one(tasks: Tasks) -> None:
    made = [await tasks.create(KIM, "report", {"n": n}) for n in range(3)]
    taken = [await claimed(tasks, KIM) for _ in range(3)]
    assert [claim.task for claim in taken] == made
    assert len({claim.token for claim in taken}) == 3
    assert await tasks.claim_next(KIM) is None


async def test_twenty_workers_at_once_share_without_doubling(tasks: Tasks) -> None:
    made = [await tasks.create(KIM, "report") for _ in range(12)]
    taken = await asyncio.gather(*(tasks.claim_next(KIM, "report") for _ in range(20)))
    got = [claim.task.task_id for claim in taken if claim is not None]
    assert len(got) == len(set(got))
    while (more := await tasks.claim_next(KIM)) is not None:  # skipped while it was being looked at
        got.append(more.task.task_id)
    assert sorted(got) == sorted(task.task_id for task in made)


async def test_a_stale_claim_comes_back_and_its_holder_is_told(tasks: Tasks, clock: Clock) -> None:
    made = await tasks.create(KIM, "report")
    slow = await claimed(tasks, KIM, lease=60)
    assert slow.until - clock.time <= timedelta(seconds=60)
    clock.pass_by(59)
    assert await tasks.claim_next(KIM) is None
    clock.pass_by(2)
    fast = await claimed(tasks, KIM, lease=60)
    assert fast.task == made
    for work in (
        tasks.advance(KIM, made.task_id, claim=slow),
        tasks.fail(KIM, made.task_id, "slow", claim=slow.token),
        tasks.complete(KIM, made.task_id, claim=str(slow.token)),
        tasks.renew(KIM, made.task_id, slow),
        tasks.release(KIM, made.task_id, slow),
    ):
        await refused(work, "claim_lost")
    assert await tasks.get(KIM, made.task_id) == made
    assert (await tasks.advance(KIM, made.task_id, claim=fast)).current_step == "write"


async def test_a_claim_that_ran_out_untaken_still_counts(tasks: Tasks, clock: Clock) -> None:
    made = await tasks.create(KIM, "report")
    claim = await claimed(tasks, KIM, lease=1)
    clock.pass_by(3600)
    assert (await tasks.advance(KIM, made.task_id, claim=claim)).version == 2
    assert (await tasks.renew(KIM, made.task_id, claim)).until > clock.time


async def test_a_claim_lasts_over_steps_is_renewed_and_ends_with_the_task(
    tasks: Tasks, clock: Clock
) -> None:
    made = await tasks.create(KIM, "report")
    claim = await claimed(tasks, KIM, lease=60)
    await tasks.advance(KIM, made.task_id, claim=claim)
    for _ in range(3):
        clock.pass_by(50)
        claim = await tasks.renew(KIM, made.task_id, claim, lease=60)
        assert claim.task.current_step == "write"
        assert await tasks.claim_next(KIM) is None
    await tasks.complete(KIM, made.task_id, claim=claim)
    await refused(tasks.renew(KIM, made.task_id, claim), "claim_lost")
    clock.pass_by(3600)
    assert await tasks.claim_next(KIM) is None


async def test_a_released_task_is_taken_at_once(tasks: Tasks) -> None:
    made = await tasks.create(KIM, "report")
    claim = await claimed(tasks, KIM)
    await tasks.release(KIM, made.task_id, claim)
    await refused(tasks.release(KIM, made.task_id, claim), "claim_lost")
    assert (await claimed(tasks, KIM)).task == made


async def test_failed_and_waiting_tasks_are_left_alone(tasks: Tasks) -> None:
    failing = await tasks.create(KIM, "report")
    claim = await claimed(tasks, KIM)
    await tasks.fail(KIM, failing.task_id, "no data", claim=claim)
    waiting = await tasks.create(KIM, "data_approval")
    for step in ("data_fetch", "validation"):
        await tasks.advance(KIM, waiting.task_id, step=step)
    assert await tasks.claim_next(KIM) is None
    assert await tasks.claim_any("report") is None
    assert await tasks.claim_any("data_approval") is None
    await tasks.advance(KIM, failing.task_id, "collect")
    assert (await claimed(tasks, KIM)).task.task_id == failing.task_id


async def test_a_worker_asks_for_its_own_kind(tasks: Tasks) -> None:
    await tasks.create(KIM, "data_approval")
    report = await tasks.create(KIM, "report")
    assert (await claimed(tasks, KIM, "report")).task == report
    await refused(tasks.claim_next(KIM, "novel"), "unknown_task_type")
    await refused(tasks.claim_any("novel"), "unknown_task_type")
    for lease in (0, -1, 86_401, float("nan"), True, "60", None):
        await refused(tasks.claim_next(KIM, lease=lease), "lease_out_of_range")  # type: ignore[arg-type]


async def test_a_worker_of_all_users_acts_as_each_of_them(tasks: Tasks) -> None:
    made = {
        actor.user: await tasks.create(actor, "report", {"of": actor.user}) for actor in (KIM, LEE)
    }
    seen = {}
    while (claim := await tasks.claim_any("report")) is not None:
        assert (claim.actor.purpose, claim.actor.session) == ("job", None)
        seen[claim.actor.user] = claim.task
        await tasks.advance(claim.actor, claim.task.task_id, claim=claim)
    assert seen == made


async def test_workers_of_all_users_at_once_do_not_double(tasks: Tasks) -> None:
    made = [(await tasks.create(Actor(f"u{n % 4}"), "report")).task_id for n in range(8)]
    got = []
    for _ in range(4):
        taken = await asyncio.gather(*(tasks.claim_any("report") for _ in range(6)))
        got += [claim.task.task_id for claim in taken if claim is not None]
    assert sorted(got) == sorted(made)


async def test_the_function_for_workers_tells_ids_only_and_of_active_users(
    tasks: Tasks, connect: Connect
) -> None:
    made = await tasks.create(KIM, "report", {"secret": "lighthouse"})
    await tasks.create(LEE, "report")
    await tasks.create(Actor("mo"), "report")
    owner, service = await connect("owner"), await connect("service")
    await owner.execute("update app_user set remember = 'refused' where user_id = 'lee'")
    await owner.execute("update app_user set status = 'erased' where user_id = 'mo'")
    asked = "select * from tasks_waiting('report', '{collect,write}', null, 10)"
    rows = await (await service.execute(asked)).fetchall()
    assert rows == [{"scope_key": "user:kim", "user_id": "kim", "task_id": made.task_id}]
    claim = await tasks.claim_any("report")
    assert claim is not None
    assert claim.actor.user == "kim"
    assert await tasks.claim_any("report") is None


async def test_the_database_time_counts_where_no_clock_is_given(deployment: Deployment) -> None:
    tasks = Tasks(deployment.database, deployment.keys, Workflows(REPORT))
    made = await tasks.create(KIM, "report")
    first = await claimed(tasks, KIM, lease=1)
    assert await tasks.claim_next(KIM) is None
    await asyncio.sleep(1.1)
    second = await claimed(tasks, KIM, lease=1)
    assert second.token != first.token
    await refused(tasks.advance(KIM, made.task_id, claim=first), "claim_lost")
