"""Which jobs are there, and what does each do? Every one can be killed at any point and run again.

A job finds its work by functions that tell ids, and does it as a job's actor of each user; one user's
failure is counted by its reason code and holds up no other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any, Literal

import structlog

from mnemic.errors import fails_for_all, reason_of
from mnemic.model import Actor
from mnemic.privacy.epochs import close_if_due, is_due
from mnemic.profile.sleepers import Saved
from mnemic.service import MemoryService
from mnemic.settings import age
from mnemic.storage.pool import Deed
from mnemic.storage.statements import statements

_SQL = statements("jobs")
_LOG = structlog.get_logger("mnemic.jobs")
_AT_ONCE = 500
_THREADS = 1_000
Counts = Mapping[str, Any]
"""What a job did, or would do: numbers by name."""
When = Literal["hour", "night"]
Progress = Callable[[int], None]


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Ground:
    """What jobs work on: an open service, the time, and who is told how far a job is."""

    memory: MemoryService
    clock: Callable[[], datetime] = utc_now
    progress: Progress = field(default=lambda _: None)

    def before(self, setting: str) -> datetime | None:
        """Return the moment that lies as long ago as a setting says, None for one that is off."""
        long = age(setting)
        return None if long is None else self.clock() - long


Work = Callable[[Ground], Awaitable[Counts]]


@dataclass(frozen=True, slots=True)
class Job:
    """A job: when it is due, what it does, and what tells how much that would be (None: nothing can)."""

    name: str
    when: When
    run: Work
    preview: Work | None = None


def jobs_of(memory: MemoryService) -> tuple[Job, ...]:
    """Return the jobs that a service's settings ask for, in the order in which a night runs them."""
    settings = memory.settings
    found = [
        Job("expired", "hour", drop_expired, count_expired),
        Job("idle_sessions", "hour", close_idle, count_idle),
        Job("cold_removals", "hour", sweep, count_removals),
        Job("finished_tasks", "night", drop_tasks, count_tasks),
        Job("profile_history", "night", fold_history),
        Job("hibernate", "night", hibernate, preview_hibernation),
    ]
    if memory.sleepers.has_store:
        found.append(Job("cold_store", "night", cool, preview_cooling))
    if find_spec("langgraph") is not None:
        found.append(Job("checkpoints", "night", archive_checkpoints))
    if settings.migration_url is not None or settings.database_url is None:
        found.append(Job("key_epochs", "night", close_epochs, preview_epochs))
    return tuple(found)


async def drop_expired(ground: Ground) -> Counts:
    """Take values of stores and sessions, and answers of requests, whose time is over."""
    total: Counter[str] = Counter()
    while True:
        async with ground.memory.deployment.database.system() as tx:
            row = await tx.one(_SQL["drop_expired"], {"most": _AT_ONCE})
        total.update(dict(row or {}))
        ground.progress(total.total())
        if row is None or not any(count >= _AT_ONCE for count in row.values()):
            return dict(total)


async def count_expired(ground: Ground) -> Counts:
    """Count what ``drop_expired`` would take."""
    async with ground.memory.deployment.database.system() as tx:
        return dict(await tx.one(_SQL["count_expired"]) or {})


async def close_idle(ground: Ground) -> Counts:
    """Close sessions in which nothing was said for MNEMIC_SESSION_IDLE."""
    before = ground.before(ground.memory.settings.session_idle)
    closed, failed = 0, Counter[str]()
    passed: set[tuple[str, str]] = set()
    while before is not None:
        rows = await _asked(ground, "sessions_idle", before, _AT_ONCE + len(passed))
        fresh = [row for row in rows if (row["scope_key"], row["session_id"]) not in passed]
        if not fresh:
            break
        for row in fresh:
            passed.add((row["scope_key"], row["session_id"]))
            actor = Actor(row["user_id"], row["project_id"], row["session_id"], purpose="job")
            try:
                await ground.memory.sessions.close(actor)
            except Exception as error:
                if fails_for_all(error):
                    raise
                reason = reason_of(error)
                _LOG.warning("session not closed", **reason)
                failed[reason["code"]] += 1
                continue
            closed += 1
            ground.progress(closed)
    return {"sessions": closed, "failed": dict(failed)}


async def count_idle(ground: Ground) -> Counts:
    """Count what ``close_idle`` would close, up to 1,000."""
    before = ground.before(ground.memory.settings.session_idle)
    rows = [] if before is None else await _asked(ground, "sessions_idle", before, 1_000)
    return {"sessions": len(rows)}


async def drop_tasks(ground: Ground) -> Counts:
    """Take tasks that were completed or failed longer ago than MNEMIC_TASK_RETENTION, with their events."""
    before = ground.before(ground.memory.settings.task_retention)
    total = 0
    while before is not None:
        rows = await _asked(ground, "tasks_over", before, _AT_ONCE)
        dropped = sum([await _drop_task(ground, row, before) for row in rows])
        total += dropped
        ground.progress(total)
        if not dropped:
            break
    return {"tasks": total}


async def count_tasks(ground: Ground) -> Counts:
    """Count what ``drop_tasks`` would take, up to 1,000."""
    before = ground.before(ground.memory.settings.task_retention)
    rows = [] if before is None else await _asked(ground, "tasks_over", before, 1_000)
    return {"tasks": len(rows)}


async def hibernate(ground: Ground) -> Counts:
    """Archive the profiles of users who were away for MNEMIC_HIBERNATE_AFTER."""
    return _saved(await ground.memory.sleepers.hibernate(progress=ground.progress))


async def preview_hibernation(ground: Ground) -> Counts:
    """Measure what ``hibernate`` would save."""
    sleepers = ground.memory.sleepers
    return _saved(await sleepers.hibernate(dry_run=True, progress=ground.progress))


async def cool(ground: Ground) -> Counts:
    """Move archives of users who were away for MNEMIC_COLD_AFTER into the cold store."""
    return _saved(await ground.memory.sleepers.cool(progress=ground.progress))


async def preview_cooling(ground: Ground) -> Counts:
    """Measure what ``cool`` would save."""
    return _saved(await ground.memory.sleepers.cool(dry_run=True, progress=ground.progress))


async def sweep(ground: Ground) -> Counts:
    """Remove objects of the cold store that nobody refers to: of users who woke, or were erased."""
    return {"objects": await ground.memory.sleepers.sweep()}


async def count_removals(ground: Ground) -> Counts:
    """Count what ``sweep`` would remove."""
    return {"objects": await ground.memory.sleepers.removals_due()}


async def fold_history(ground: Ground) -> Counts:
    """Make room for the history of profiles that is coming, and fold what is old."""
    profiles = ground.memory.profiles
    made = await profiles.prepare_history(ground.clock())
    done = await profiles.fold_history(ground.clock())
    return {
        "prepared": made,
        "profiles": done.profiles,
        "changes": done.changes,
        "dropped": done.dropped,
        "failed": {"history_not_folded": done.failed} if done.failed else {},
    }


async def archive_checkpoints(ground: Ground) -> Counts:
    """Move checkpoints that are expired into the archive."""
    total: Counter[str] = Counter()
    while True:
        done = await ground.memory.episodes.archive_expired(limit=_THREADS)
        total.update(done)
        ground.progress(total["threads"])
        if done["threads"] < _THREADS:
            return dict(total)


async def close_epochs(ground: Ground) -> Counts:
    """Make erasures final in every copy that have waited for MNEMIC_KEY_EPOCH_DAYS."""
    closing = await close_if_due(ground.memory.settings, Actor("mnemic-worker", purpose="job"))
    return {"erasures": 0 if closing is None else closing.erasures, "closed": closing is not None}


async def preview_epochs(ground: Ground) -> Counts:
    """Tell whether an epoch is due."""
    return {"closed": await is_due(ground.memory.settings)}


def _saved(saved: Saved) -> Counts:
    return {
        "users": saved.users,
        "bytes_before": saved.bytes_before,
        "bytes_after": saved.bytes_after,
        "bytes_saved": saved.bytes_saved,
        "failed": dict(saved.failed),
    }


async def _asked(
    ground: Ground, statement: str, before: datetime, most: int
) -> list[dict[str, Any]]:
    async with ground.memory.deployment.database.system() as tx:
        return await tx.all(_SQL[statement], {"before": before, "most": most})


async def _drop_task(ground: Ground, row: Mapping[str, Any], before: datetime) -> int:
    actor = Actor(row["user_id"], purpose="job")
    params = {"scope_key": row["scope_key"], "task_id": row["task_id"], "before": before}
    async with ground.memory.deployment.database.transaction(actor, consent=False) as tx:
        gone = await tx.one(_SQL["drop_task"], params)
        if gone is None:
            return 0
        stood = [gone["version"], gone["current_step"], gone["status"]]
        await tx.answer(None, Deed("expire_task", row["task_id"], stood))
    return 1
