"""Is the work of the hour and the night done once, by one worker, and does a failing job hold up no other?"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import structlog
from sleep_world import KIM, away, count, full_profile, now, row_of, status_of

from conftest import Connect, Prepare, Server
from mnemic.errors import InvalidInput, KeyUnavailable, MnemicError, StorageUnavailable
from mnemic.jobs import runs
from mnemic.jobs.runs import AGAIN, JobReport, Jobs, Outcome, next_due
from mnemic.jobs.work import Counts, Ground, Job, jobs_of
from mnemic.model import Actor, Turn
from mnemic.service import MemoryService
from stub_embedder import StubEmbedder, curve

PATIENCE = 30.0
HELD = """
import asyncio, sys
from datetime import timedelta
from mnemic import MemoryService
from mnemic.jobs import runs
from mnemic.jobs.work import Job
from stub_embedder import StubEmbedder

async def hangs(ground):
    print("there", flush=True)
    await asyncio.Event().wait()

async def main():
    runs.jobs_of = lambda memory: (Job("hibernate", "night", hangs),)
    async with MemoryService.open(embedder=StubEmbedder()) as memory:
        await runs.Jobs(memory, lease=timedelta(seconds=1.5)).run(anyway=True)

asyncio.run(main())
"""


def of(reports: list[JobReport]) -> dict[str, JobReport]:
    return {report.job: report for report in reports}


@asynccontextmanager
async def opened(
    server: Server, schema: str, prepare: Prepare, **given: object
) -> AsyncIterator[MemoryService]:
    settings = server.settings(schema, **given)
    await prepare(settings, StubEmbedder(), curve())
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        yield memory


@dataclass
class Counted:
    ran_: list[tuple[str, Outcome]] = field(default_factory=list)

    def ran(self, name: str, outcome: Outcome, seconds: float) -> None:
        assert seconds >= 0
        self.ran_.append((name, outcome))


async def test_one_run_does_everything_that_waits(
    stub_memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    await full_profile(stub_memory, KIM)
    await stub_memory.parts.sleep.activity.flush()
    await away(owner, days=31)
    counted = Counted()
    reports = of(await Jobs(stub_memory, witness=counted).run(anyway=True))
    assert {report.outcome for report in reports.values()} == {"done"}
    assert set(reports) == {job.name for job in jobs_of(stub_memory)}
    assert counted.ran_ == [(name, "done") for name in reports]
    slept = reports["hibernate"].counts
    assert slept is not None
    assert slept["users"] == 1
    assert slept["bytes_saved"] == slept["bytes_before"] - slept["bytes_after"] > 0
    assert await status_of(owner) == "dormant"


async def test_what_has_expired_goes_and_the_rest_stays(
    stub_memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    await stub_memory.sessions.append(KIM, [Turn("user", "Hello")])
    for name, hours in (("old", -1), ("new", 1)):
        await owner.execute(
            "insert into store_item (scope_key, entry_mac, id, owner_id, prefixes_mac, entry_enc, value_enc,"
            " ttl, expires_at) values ('user:kim', sha256(%(name)s), gen_random_uuid(), 'kim',"
            " array[sha256('p'), sha256('q')], '', '', '1 hour', now() + %(at)s)",
            {"name": name.encode(), "at": timedelta(hours=hours)},
        )
        await owner.execute(
            "insert into session_state (scope_key, session_id, name_mac, entry_enc, updated_at, expires_at)"
            " values ('session:kim/s1', 's1', sha256(%s), '', now(), now() + %s)",
            [name.encode(), timedelta(hours=hours)],
        )
        await owner.execute(
            "insert into idempotency_key (scope_key, key_mac, request_mac, state, token, expires_at)"
            " values ('user:kim', sha256(%s), '', 'started', gen_random_uuid(), now() + %s)",
            [name.encode(), timedelta(hours=hours)],
        )
    jobs = Jobs(stub_memory)
    would = of(await jobs.run(["expired"], dry_run=True))["expired"]
    assert would.outcome == "would"
    did = of(await jobs.run(["expired"], anyway=True))["expired"]
    assert would.counts == did.counts == {"entries": 1, "states": 1, "answers": 1}
    for table in ("store_item", "session_state", "idempotency_key"):
        assert await count(owner, table) == 1


async def test_idle_sessions_are_closed_where_the_operator_says_when(
    server: Server, schema: str, prepare: Prepare, connect: Connect
) -> None:
    owner = await connect("owner")
    fresh = Actor("kim", session="s2")
    async with opened(server, schema, prepare, session_idle="12h") as memory:
        for actor in (KIM, fresh):
            await memory.sessions.append(
                actor, [Turn("user", "I prefer dark mode in every editor")]
            )
        await owner.execute(
            "update session set last_active_at = now() - interval '13 hours' where session_id = 's1'"
        )
        jobs = Jobs(memory)
        assert of(await jobs.run(["idle_sessions"], dry_run=True))["idle_sessions"].counts == {
            "sessions": 1
        }
        did = of(await jobs.run(["idle_sessions"], anyway=True))["idle_sessions"]
        assert did.counts == {"sessions": 1, "failed": {}}
        assert (await memory.sessions.info(KIM)).closed_at is not None
        assert (await memory.sessions.info(fresh)).closed_at is None
        assert (await memory.list(KIM)).items, "what was said is remembered"


async def test_sessions_and_tasks_stay_where_nothing_is_said_of_them(
    stub_memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    await stub_memory.sessions.append(KIM, [Turn("user", "Hello")])
    await owner.execute("update session set last_active_at = now() - interval '9 years'")
    await stub_memory.tasks.create(KIM, "data_approval")
    await owner.execute(
        "update task_state set status = 'completed', updated_at = now() - interval '9 years'"
    )
    await Jobs(stub_memory).run(["idle_sessions", "finished_tasks"], anyway=True)
    assert (await stub_memory.sessions.info(KIM)).closed_at is None
    assert await count(owner, "task_state") == 1


async def test_finished_tasks_go_after_their_time_and_running_ones_never(
    server: Server, schema: str, prepare: Prepare, connect: Connect
) -> None:
    owner = await connect("owner")
    async with opened(server, schema, prepare, task_retention="90d") as memory:
        names = ("over", "lately", "running")
        tasks = {name: (await memory.tasks.create(KIM, "data_approval")).task_id for name in names}
        for name, status, days in (
            ("over", "completed", 91),
            ("lately", "completed", 89),
            ("running", "running", 400),
        ):
            await owner.execute(
                "update task_state set status = %s, updated_at = now() - make_interval(days => %s)"
                " where task_id = %s",
                [status, days, tasks[name]],
            )
        done = of(await Jobs(memory).run(["finished_tasks"], anyway=True))["finished_tasks"]
        assert done.counts == {"tasks": 1}
        rows = await (await owner.execute("select task_id from task_state")).fetchall()
        assert {row["task_id"] for row in rows} == {tasks["lately"], tasks["running"]}
        left = await owner.execute("select 1 from task_events where task_id = %s", [tasks["over"]])
        assert await left.fetchone() is None


async def test_the_audit_keeps_where_a_task_stood_that_a_job_took(
    server: Server, schema: str, prepare: Prepare, connect: Connect
) -> None:
    owner = await connect("owner")
    async with opened(server, schema, prepare, task_retention="90d") as memory:
        task = (await memory.tasks.create(KIM, "data_approval")).task_id
        await memory.tasks.fail(KIM, task, "the source does not answer")
        await owner.execute("update task_state set updated_at = now() - interval '91 days'")
        await Jobs(memory).run(["finished_tasks"], anyway=True)
    asked = "select before_mac, after_mac from audit_log where action = %s"
    (failed,) = await (await owner.execute(asked, ["fail_task"])).fetchall()
    (expired,) = await (await owner.execute(asked, ["expire_task"])).fetchall()
    assert expired["before_mac"] == failed["after_mac"], "it went as its last change had left it"
    assert expired["after_mac"] is None


async def test_a_job_that_ran_is_not_due_until_its_hour_or_night(
    stub_memory: MemoryService,
) -> None:
    moment = datetime(2031, 5, 6, 12, tzinfo=UTC)
    jobs = Jobs(stub_memory, clock=lambda: moment)
    assert {report.outcome for report in await jobs.run()} == {"done"}
    assert {report.outcome for report in await jobs.run()} == {"not_due"}
    moment += timedelta(hours=1)
    ran = {report.job for report in await jobs.run() if report.outcome == "done"}
    assert ran == {job.name for job in jobs_of(stub_memory) if job.when == "hour"}
    moment = datetime(2031, 5, 7, 3, tzinfo=UTC)
    assert {report.outcome for report in await jobs.run()} == {"done"}


@pytest.mark.parametrize(
    ("when", "failed", "due"),
    [
        ("hour", False, datetime(2031, 5, 6, 3, 30, tzinfo=UTC)),
        ("night", False, datetime(2031, 5, 6, 3, tzinfo=UTC)),
        ("night", True, datetime(2031, 5, 6, 2, 30, tzinfo=UTC) + AGAIN),
    ],
)
def test_when_a_job_is_due_again(when: Any, failed: bool, due: datetime) -> None:
    job = Job("x", when, _nothing)
    assert next_due(job, datetime(2031, 5, 6, 2, 30, tzinfo=UTC), failed=failed) == due


async def test_a_clock_that_was_far_ahead_once_keeps_no_job_from_running(
    stub_memory: MemoryService,
) -> None:
    ahead = datetime(2141, 5, 6, 12, tzinfo=UTC)
    for clock, outcome in ((lambda: ahead, "done"), (now, "done"), (now, "not_due")):
        reports = await Jobs(stub_memory, clock=clock).run(["expired", "hibernate"])
        assert {report.outcome for report in reports} == {outcome}


async def test_several_workers_do_each_job_once(stub_memory: MemoryService) -> None:
    workers = [Jobs(stub_memory) for _ in range(4)]
    reports = await asyncio.gather(*(one.run() for one in workers))
    done = Counter(report.job for some in reports for report in some if report.outcome == "done")
    assert done == Counter(workers[0].names)
    assert {state.runs for state in await workers[0].state()} == {1}


async def test_a_failing_job_is_counted_and_holds_up_no_other(
    stub_memory: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(ground: Ground) -> Counts:
        raise StorageUnavailable("cold_store_unreachable", "It is away.")

    some = (Job("first", "night", fails), Job("second", "night", _nothing))
    monkeypatch.setattr(runs, "jobs_of", lambda memory: some)
    moment = datetime(2031, 5, 6, 12, tzinfo=UTC)
    counted = Counted()
    jobs = Jobs(stub_memory, clock=lambda: moment, witness=counted)
    reports = of(await jobs.run())
    assert (reports["first"].outcome, reports["first"].code) == ("failed", "cold_store_unreachable")
    assert reports["second"].outcome == "done"
    assert counted.ran_ == [("first", "failed"), ("second", "done")]
    state = {one.name: one for one in await jobs.state()}
    assert (state["first"].failures, state["first"].code) == (1, "cold_store_unreachable")
    assert state["second"].failures == 0
    moment += AGAIN
    again = of(await jobs.run())
    assert (again["first"].outcome, again["second"].outcome) == ("failed", "not_due")


async def test_a_job_that_fails_as_nobody_foresaw_ends_no_worker(
    stub_memory: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(ground: Ground) -> Counts:
        raise ValueError("the words of a user")

    some = (Job("first", "night", breaks, breaks), Job("second", "night", _nothing))
    monkeypatch.setattr(runs, "jobs_of", lambda memory: some)
    counted = Counted()
    jobs = Jobs(stub_memory, witness=counted)
    with structlog.testing.capture_logs() as logged:
        reports = of(await jobs.run())
    assert (reports["first"].outcome, reports["first"].code) == ("failed", "internal_error")
    assert reports["second"].outcome == "done"
    assert counted.ran_ == [("first", "failed"), ("second", "done")]
    (told,) = (entry for entry in logged if entry["event"] == "job failed")
    assert (told["job"], told["error"]) == ("first", "ValueError")
    assert told["place"].startswith("test_jobs:")
    assert "words" not in str(logged)
    state = {one.name: one for one in await jobs.state()}
    assert (state["first"].failures, state["first"].running) == (1, False)
    assert of(await jobs.run(dry_run=True))["first"].outcome == "failed"
    stop = asyncio.Event()
    running = asyncio.create_task(Jobs(stub_memory).forever(stop, look=0.01))
    await asyncio.sleep(0)
    stop.set()
    await running


async def test_one_user_who_fails_as_nobody_foresaw_holds_up_no_other(
    stub_memory: MemoryService, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, lee = await connect("owner"), Actor("lee")
    for actor in (KIM, lee):
        await full_profile(stub_memory, actor)
        await stub_memory.parts.sleep.activity.flush()
        await away(owner, actor.user, days=31)
    hibernation = stub_memory.parts.sleep.hibernation
    rest = hibernation.rest

    async def breaks(actor: Actor, *given: Any, **more: Any) -> Any:
        if actor.user == "kim":
            raise KeyError("kim")
        return await rest(actor, *given, **more)

    monkeypatch.setattr(hibernation, "rest", breaks)
    saved = await stub_memory.sleepers.hibernate()
    assert (saved.users, saved.failed) == (1, {"internal_error": 1})


@pytest.mark.parametrize(
    "error",
    [
        StorageUnavailable("database_unreachable", "It is away."),
        KeyUnavailable("vault_sealed", "It is sealed."),
        KeyUnavailable("key_file_missing", "It is not there."),
    ],
    ids=lambda error: error.code,
)
async def test_what_fails_for_everybody_ends_a_job_at_its_first_user(
    stub_memory: MemoryService,
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
    error: MnemicError,
) -> None:
    owner, tried = await connect("owner"), list[str]()
    for user in ("kim", "lee", "max"):
        await stub_memory.profiles.get(Actor(user))
        await stub_memory.parts.sleep.activity.flush()
        await away(owner, user, days=31)

    async def fails(actor: Actor, *given: Any, **more: Any) -> Any:
        tried.append(actor.user)
        raise error

    monkeypatch.setattr(stub_memory.parts.sleep.hibernation, "rest", fails)
    with pytest.raises(type(error)):
        await stub_memory.sleepers.hibernate()
    assert tried == ["kim"]


async def test_a_job_that_works_longer_than_its_lease_stays_its_worker_s(
    stub_memory: MemoryService, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = await connect("owner")
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def long(ground: Ground) -> Counts:
        begun.set()
        await go_on.wait()
        return {}

    monkeypatch.setattr(runs, "jobs_of", lambda memory: (Job("long", "night", long),))
    lease = timedelta(seconds=0.6)
    first = asyncio.create_task(Jobs(stub_memory, lease=lease).run())
    await begun.wait()
    began = await held_until(owner)
    await until_renewed(owner, began + lease)  # held for longer than it was taken for
    (report,) = await Jobs(stub_memory, lease=lease).run(anyway=True)
    assert report.outcome == "busy"
    go_on.set()
    (ended,) = await first
    assert ended.outcome == "done"


async def test_a_worker_that_was_killed_is_followed_by_another(
    server: Server,
    schema: str,
    prepare: Prepare,
    connect: Connect,
    stub_path: str,
) -> None:
    owner = await connect("owner")
    async with opened(server, schema, prepare) as memory:
        await full_profile(memory, KIM)
        await memory.parts.sleep.activity.flush()
        await away(owner, days=31)
        await asyncio.to_thread(_killed_at_work, environment(server, schema, stub_path))
        jobs = Jobs(memory)
        outcomes = []
        deadline = time.monotonic() + PATIENCE
        while "done" not in outcomes:
            assert time.monotonic() < deadline, outcomes
            (report,) = await jobs.run(["hibernate"], anyway=True)
            outcomes.append(report.outcome)
            await asyncio.sleep(0.05)
        assert outcomes[0] == "busy"
        assert await status_of(owner) == "dormant"


async def test_a_worker_that_is_stopped_gives_its_job_back(
    stub_memory: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def hangs(ground: Ground) -> Counts:
        begun.set()
        await asyncio.Event().wait()
        return {}

    monkeypatch.setattr(runs, "jobs_of", lambda memory: (Job("x", "night", hangs),))
    working = asyncio.create_task(Jobs(stub_memory).run())
    await begun.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    monkeypatch.setattr(runs, "jobs_of", lambda memory: (Job("x", "night", _nothing),))
    assert [report.outcome for report in await Jobs(stub_memory).run()] == ["done"]


async def test_a_worker_works_until_it_is_told_to_stop(stub_memory: MemoryService) -> None:
    stop = asyncio.Event()
    jobs = Jobs(stub_memory)
    working = asyncio.create_task(jobs.forever(stop, look=0.05))
    deadline = time.monotonic() + PATIENCE
    while len([one for one in await jobs.state() if one.ended_at]) < len(jobs.names):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
    stop.set()
    await asyncio.wait_for(working, PATIENCE)


async def test_a_dry_run_changes_nothing(stub_memory: MemoryService, connect: Connect) -> None:
    owner = await connect("owner")
    await full_profile(stub_memory, KIM)
    await stub_memory.parts.sleep.activity.flush()
    await away(owner, days=400)
    before = await row_of(owner, "user_profile")
    jobs = Jobs(stub_memory)
    reports = of(await jobs.run(dry_run=True))
    assert {report.outcome for report in reports.values()} == {"would"}
    assert (reports["hibernate"].counts or {})["users"] == 1
    assert await row_of(owner, "user_profile") == before
    assert await jobs.state() == []


async def test_one_profile_that_cannot_be_archived_is_told_and_holds_up_no_other(
    stub_memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    lee = Actor("lee")
    for actor in (KIM, lee):
        await full_profile(stub_memory, actor)
    await stub_memory.parts.sleep.activity.flush()
    await owner.execute("update app_user set last_active_at = now() - interval '40 days';")
    await owner.execute(
        "update user_profile set profession_enc = set_byte(profession_enc, 30,"
        " get_byte(profession_enc, 30) # 1) where user_id = 'kim'"
    )
    report = of(await Jobs(stub_memory).run(["hibernate"], anyway=True))["hibernate"]
    assert (report.outcome, report.code) == ("done", "sealed_value_damaged")
    counts = report.counts or {}
    assert (counts["users"], counts["failed"]) == (1, {"sealed_value_damaged": 1})
    assert (await status_of(owner), await status_of(owner, "lee")) == ("active", "dormant")


async def test_an_unknown_job_is_refused(stub_memory: MemoryService) -> None:
    with pytest.raises(InvalidInput) as refused:
        await Jobs(stub_memory).run(["tidy"])
    assert refused.value.code == "unknown_job"


async def _nothing(ground: Ground) -> Counts:
    return {}


async def held_until(owner: Any) -> datetime:
    row = await (await owner.execute("select held_until from job_run")).fetchone()
    held = row["held_until"]
    assert isinstance(held, datetime)
    assert held > now() - timedelta(seconds=PATIENCE)
    return held


async def until_renewed(owner: Any, past: datetime) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if await held_until(owner) > past:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the lease is not renewed")


def _killed_at_work(env: dict[str, str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HELD],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n", process.stderr and process.stderr.read()
    finally:
        process.kill()
        process.communicate()


def environment(server: Server, schema: str, stub_path: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": stub_path,
        "OPENBLAS_NUM_THREADS": "1",
        "MNEMIC_DATABASE_URL": server.service,
        "MNEMIC_KEY_FILE": str(server.key_file),
        "MNEMIC_SCHEMA": schema,
    }
