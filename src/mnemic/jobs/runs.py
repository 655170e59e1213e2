"""Which worker runs which job, when, and what became of it?

A job is a row: who takes it holds it by a lease that is renewed while it works. A worker that was killed
is not heard of for a minute, and another one goes on. A job that fails is logged with its reason code,
counted, and tried again a while later; the others run, whatever it was.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Protocol
from uuid import UUID

import structlog
from psycopg.types.json import Jsonb

from mnemic.checks import one_of
from mnemic.errors import MnemicError, reason_of
from mnemic.ids import new_id
from mnemic.jobs.work import Counts, Ground, Job, Progress, jobs_of, utc_now
from mnemic.service import MemoryService
from mnemic.storage.statements import statements

_SQL = statements("jobs")
_LOG = structlog.get_logger("mnemic.jobs")
LEASE = timedelta(seconds=60)
"""How long a worker that is not heard of keeps a job."""
LOOK = 30.0
"""Seconds between two looks for jobs that are due."""
AGAIN = timedelta(minutes=15)
"""When a job that failed is tried again."""
NIGHT = 3
"""The hour, UTC, at which a night's jobs are due."""
Outcome = Literal["done", "failed", "busy", "not_due", "would"]


class Witness(Protocol):
    """Is told of every job that ended, for metrics."""

    def ran(self, name: str, outcome: Outcome, seconds: float) -> None:
        """Count a run."""


@dataclass(frozen=True, slots=True)
class JobReport:
    """How a job went: "would" is a dry run, "busy" one that another worker is at.

    ``code`` is why it failed, or the first reason why a part did; ``counts`` is None where nothing is known.
    """

    job: str
    outcome: Outcome
    code: str | None = None
    counts: Counts | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class JobState:
    """A job as all workers know it; ``due_at`` is None for one that never ended, which is due."""

    name: str
    due_at: datetime | None
    running: bool
    began_at: datetime | None
    ended_at: datetime | None
    code: str | None
    counts: Mapping[str, Any] | None
    runs: int
    failures: int


@dataclass(slots=True)
class Jobs:
    """The jobs of one worker on an open service."""

    memory: MemoryService
    clock: Callable[[], datetime] = utc_now
    witness: Witness | None = None
    lease: timedelta = LEASE
    worker: UUID = field(default_factory=new_id)

    @property
    def names(self) -> tuple[str, ...]:
        """The jobs that the settings ask for, in the order in which they run."""
        return tuple(job.name for job in jobs_of(self.memory))

    async def run(
        self,
        names: Collection[str] = (),
        *,
        anyway: bool = False,
        dry_run: bool = False,
        progress: Callable[[str, int], None] = lambda name, done: None,
        stop: asyncio.Event | None = None,
    ) -> list[JobReport]:
        """Run the jobs that are due, or with ``anyway`` all, one after the other; ``names`` picks some.

        Between two it looks whether it is to ``stop``.

        Raises InvalidInput (``unknown_job``), StorageError where the jobs' table does not answer.
        """
        for name in names:
            one_of(name, self.names, "job")
        reports = []
        for job in jobs_of(self.memory):
            if names and job.name not in names:
                continue
            if stop is not None and stop.is_set():
                break
            ground = Ground(self.memory, self.clock, _told(progress, job.name))
            if dry_run:
                reports.append(await _previewed(job, ground))
            else:
                reports.append(await self._run(job, ground, anyway))
        return reports

    async def forever(self, stop: asyncio.Event, *, look: float = LOOK) -> None:
        """Run what is due until ``stop`` is set; what is under way then is finished.

        A database that does not answer is waited for.
        """
        while not stop.is_set():
            try:
                await self.run(stop=stop)
            except Exception as error:  # noqa: BLE001 - one job holds up no other
                _LOG.warning("jobs wait", **reason_of(error))
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), look)

    async def state(self) -> list[JobState]:
        """Return every job that ran once, or is running."""
        async with self.memory.deployment.database.system() as tx:
            rows = await tx.all(_SQL["state"])
        return [JobState(**row) for row in rows]

    async def _run(self, job: Job, ground: Ground, anyway: bool) -> JobReport:
        taken = await self._take(job, anyway)
        if taken is not None:
            return JobReport(job.name, taken)
        began = time.monotonic()
        try:
            async with self._held(job):
                counts = await job.run(ground)
        except Exception as error:  # noqa: BLE001 - one job holds up no other
            report = _failed(job, error)
        except BaseException:
            await self._give_back(job)  # we are being stopped: whoever is next goes on
            raise
        else:
            failed = counts.get("failed") or {}
            report = JobReport(job.name, "done", next(iter(failed), None), counts)
        report = replace(report, seconds=time.monotonic() - began)
        await self._finish(job, report)
        if self.witness is not None:
            self.witness.ran(job.name, report.outcome, report.seconds)
        return report

    async def _take(self, job: Job, anyway: bool) -> Outcome | None:
        """Take a job, or tell why not."""
        asked = {
            "name": job.name,
            "worker": self.worker,
            "lease": self.lease,
            "anyway": anyway,
            "now": self.clock(),
        }
        async with self.memory.deployment.database.system() as tx:
            await tx.run(_SQL["add"], asked)
            if await tx.one(_SQL["take"], asked) is not None:
                return None
            rows = {row["name"]: row for row in await tx.all(_SQL["state"])}
        return "busy" if rows[job.name]["running"] else "not_due"

    @asynccontextmanager
    async def _held(self, job: Job) -> AsyncIterator[None]:
        """Renew the lease while the job works."""
        renewing = asyncio.create_task(self._renew(job), name=f"mnemic-job-{job.name}")
        try:
            yield
        finally:
            renewing.cancel()
            with suppress(asyncio.CancelledError):
                await renewing

    async def _renew(self, job: Job) -> None:
        named = {"names": [job.name], "worker": self.worker, "lease": self.lease}
        while True:
            await asyncio.sleep(self.lease.total_seconds() / 3)
            try:
                async with self.memory.deployment.database.system() as tx:
                    await tx.run(_SQL["keep"], named)
            except MnemicError as error:
                _LOG.warning("lease not renewed", job=job.name, code=error.code)

    async def _finish(self, job: Job, report: JobReport) -> None:
        told = {
            "name": job.name,
            "worker": self.worker,
            "due_at": next_due(job, self.clock(), failed=report.outcome == "failed"),
            "code": report.code,
            "counts": None if report.counts is None else Jsonb(report.counts),
        }
        async with self.memory.deployment.database.system() as tx:
            await tx.run(_SQL["finish"], told)

    async def _give_back(self, job: Job) -> None:
        with suppress(MnemicError):
            async with self.memory.deployment.database.system() as tx:
                await tx.run(_SQL["give_back"], {"name": job.name, "worker": self.worker})


def next_due(job: Job, now: datetime, *, failed: bool) -> datetime:
    """Return when a job that ended now is due again."""
    if failed:
        return now + AGAIN
    if job.when == "hour":
        return now + timedelta(hours=1)
    night = now.astimezone(UTC).replace(hour=NIGHT, minute=0, second=0, microsecond=0)
    return night if night > now else night + timedelta(days=1)


async def _previewed(job: Job, ground: Ground) -> JobReport:
    if job.preview is None:
        return JobReport(job.name, "would")
    try:
        return JobReport(job.name, "would", counts=await job.preview(ground))
    except Exception as error:  # noqa: BLE001 - one job holds up no other
        return _failed(job, error)


def _failed(job: Job, error: Exception) -> JobReport:
    """Return the report of a job that failed, and log why: whatever it was, the other jobs go on."""
    reason = reason_of(error)
    _LOG.error("job failed", job=job.name, **reason)
    return JobReport(job.name, "failed", reason["code"])


def _told(progress: Callable[[str, int], None], name: str) -> Progress:
    return lambda done: progress(name, done)
