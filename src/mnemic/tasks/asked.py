"""What exactly does a call ask of a task, and does it still fit what the task is? Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.errors import Conflict, InvalidInput
from mnemic.ids import new_id
from mnemic.model import Actor, known_actor
from mnemic.tasks.claims import Claim, claim_lost, no_task
from mnemic.tasks.state import Command, Happened, Task, TaskEvent, fingerprint


@dataclass(frozen=True, slots=True)
class Asked:
    """A command with what it depends on; ``known`` is the version that the caller has seen."""

    actor: Actor
    task_id: UUID | None
    command: Command
    event_id: UUID | None
    known: int | None = None
    claim: UUID | None = None

    @property
    def named(self) -> dict[str, Any]:
        return named(self.actor, self.task_id)


def numbered(
    happened: Sequence[Happened],
    asked: Asked,
    task_id: UUID,
    last_seq: int,
    version: int,
    now: datetime,
) -> list[TaskEvent]:
    """Return events with their ids and numbers; the first carries the caller's id, and what was asked."""
    request = {"request": fingerprint(asked.command, asked.task_id)}
    return [
        TaskEvent(
            event_id=(asked.event_id if place == 0 else None) or new_id(),
            task_id=task_id,
            seq=last_seq + 1 + place,
            version=version,
            event_type=one.event_type,
            payload={**one.payload, **request} if place == 0 else one.payload,
            at=now,
        )
        for place, one in enumerate(happened)
    ]


def require_same(asked: Asked, task: Task, seen: Task | None, claim: UUID | None) -> None:
    """Refuse a change that was meant for what the task was before."""
    require_claim(asked, claim)
    if asked.known is not None and task.version < asked.known:
        raise from_future(task.version)
    if asked.known is not None and task.version > asked.known:
        raise outrun(asked.known, task.version)
    if seen is not None and (task.current_step, task.status) != (seen.current_step, seen.status):
        raise outrun(seen.version, task.version)


def require_claim(asked: Asked, held: UUID | None) -> None:
    """Refuse a worker whose claim is not the one that the task is held under (``claim_lost``)."""
    if asked.claim is not None and asked.claim != held:
        raise claim_lost()


def named(actor: Actor, task_id: UUID | None) -> dict[str, Any]:
    """Return the columns that name a task of an actor."""
    return {"scope_key": known_actor(actor).user_scope, "task_id": task_id}


def found(row: Any) -> Any:
    """Return a row that was found. Raises NotFound (``task_not_found``)."""
    if row is None:
        raise no_task()
    return row


def parse_uuid(value: object, what: str) -> UUID:
    """Return an id. Raises InvalidInput (``invalid_task_id``, ``invalid_event_id``)."""
    if isinstance(value, UUID):
        return value
    try:
        return UUID(str(value))
    except ValueError:
        code = "invalid_event_id" if what == "event" else "invalid_task_id"
        raise InvalidInput(code, f"The id of a {what} must be a UUID.") from None


def parse_token(claim: object) -> UUID:
    """Return the token of a claim, or what it spells. Raises InvalidInput (``invalid_claim``)."""
    if isinstance(claim, Claim):
        return claim.token
    try:
        return claim if isinstance(claim, UUID) else UUID(str(claim))
    except ValueError:
        raise InvalidInput(
            "invalid_claim", "A claim is what claim_next returned, or its token."
        ) from None


def outrun(expected: int, current: int) -> Conflict:
    """Return the error of a change that somebody else was faster than, with both versions."""
    return Conflict(
        "version_conflict",
        "The task was changed meanwhile: read it again.",
        expected=expected,
        current=current,
    )


def from_future(current: int) -> InvalidInput:
    """Return the error of a version that the task has not reached."""
    return InvalidInput(
        "version_from_future", "The task has not had this version yet.", current=current
    )


def reused() -> InvalidInput:
    """Return the error of an event id that another change has."""
    return InvalidInput(
        "event_id_reused",
        "This event id came with another change: use a new id for each change.",
    )
