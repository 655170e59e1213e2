"""Who is at which task? A worker takes one for a while; whoever is late has lost it to the next."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from mnemic.crypto import DataKey
from mnemic.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from mnemic.ids import new_id
from mnemic.keys import KeyRing
from mnemic.model import Actor, known_actor
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements
from mnemic.tasks.rows import open_task
from mnemic.tasks.state import Task
from mnemic.tasks.workflows import Workflows

_SQL = statements("tasks")
LEASE = 300.0
LONGEST_LEASE = 86_400.0
_LOOKED_AT = 32


@dataclass(frozen=True, slots=True)
class Claim:
    """A task in a worker's hands until ``until``; ``actor`` is whom to act as, ``token`` proves the claim."""

    actor: Actor
    task: Task
    token: UUID
    until: datetime


class Claims:
    """Takes tasks for workers, and gives them back."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        workflows: Workflows,
        clock: Callable[[], datetime] | None,
    ) -> None:
        self._database = database
        self._keys = keys
        self._workflows = workflows
        self._clock = clock

    async def next(self, actor: Actor, task_type: str | None, lease: float) -> Claim | None:
        """Take the task of an actor that has waited longest, None where none waits."""
        steps = self._workflows.claimable(task_type)
        return await self._take(known_actor(actor), steps, None, _seconds(lease))

    async def any(self, task_type: str, lease: float) -> Claim | None:
        """Take the task of any user that has waited longest, None where none waits."""
        steps, seconds = self._workflows.claimable(task_type), _seconds(lease)
        wanted = {
            "task_type": task_type,
            "at_steps": [step for _, step in steps],
            "most": _LOOKED_AT,
            **self._now(),
        }
        async with self._database.system() as tx:
            waiting = await tx.all(_SQL["waiting"], wanted)
        for row in waiting:
            worker = Actor(row["user_id"], purpose="job")
            with suppress(PermissionDenied):  # erased, or agrees no more, since a moment ago
                claim = await self._take(worker, steps, row["task_id"], seconds)
                if claim is not None:
                    return claim
        return None

    async def renew(self, actor: Actor, task_id: UUID, token: UUID, lease: float) -> Claim:
        """Hold a task for longer, from now on. Raises Conflict (``claim_lost``)."""
        params = self._named(actor, task_id, token) | {"lease": _seconds(lease)}
        async with self._database.transaction(actor) as tx:
            row = await tx.one(_SQL["renew"], params)
            if row is None:
                raise await self._lost(tx, params)
            claim = await self._shown(tx, actor, row)
            await tx.answer(claim)
        return claim

    async def release(self, actor: Actor, task_id: UUID, token: UUID) -> None:
        """Give a task back to whoever asks next. Raises Conflict (``claim_lost``)."""
        params = self._named(actor, task_id, token)
        async with self._database.transaction(actor) as tx:
            if not await tx.run(_SQL["release"], params):
                raise await self._lost(tx, params)
            await tx.answer(None)

    async def _take(
        self,
        actor: Actor,
        steps: list[tuple[str, str]],
        task_id: UUID | None,
        lease: timedelta,
    ) -> Claim | None:
        params = self._named(actor, task_id, new_id()) | {
            "lease": lease,
            "types": [task_type for task_type, _ in steps],
            "steps": [step for _, step in steps],
        }
        async with self._database.transaction(actor) as tx:
            row = await tx.one(_SQL["claim"], params)
            if row is None:
                return None
            claim = await self._shown(tx, actor, row)
            await tx.answer(claim)
        return claim

    async def _shown(self, tx: Transaction, actor: Actor, row: Any) -> Claim:
        key: DataKey = await self._keys.obtain(tx, actor)
        task = open_task(key, actor.user_scope, row)
        return Claim(actor, task, row["claim_token"], row["claimed_until"])

    async def _lost(self, tx: Transaction, params: dict[str, Any]) -> Conflict | NotFound:
        if await tx.one(_SQL["version"], params) is None:
            return no_task()
        return claim_lost()

    def _named(self, actor: Actor, task_id: UUID | None, token: UUID) -> dict[str, Any]:
        scope_key = known_actor(actor).user_scope
        return {"scope_key": scope_key, "task_id": task_id, "token": token, **self._now()}

    def _now(self) -> dict[str, datetime | None]:
        """The database's own time, so that the clocks of workers do not matter, unless a clock was given."""
        return {"now": None if self._clock is None else self._clock()}


def claim_lost() -> Conflict:
    """Return the error of a claim that ran out and was taken by another, or ended with its task."""
    return Conflict(
        "claim_lost", "This claim is stale: its time ran out, or the task came to an end."
    )


def no_task() -> NotFound:
    """Return the error of a task that there is not, or that is somebody else's."""
    return NotFound("task_not_found", "There is no such task.")


def _seconds(lease: object) -> timedelta:
    number = None if isinstance(lease, bool) or not isinstance(lease, int | float) else lease
    if number is None or not 1 <= number <= LONGEST_LEASE:
        raise InvalidInput(
            "lease_out_of_range", f"A lease lasts 1 to {LONGEST_LEASE:,.0f} seconds."
        )
    return timedelta(seconds=number)
