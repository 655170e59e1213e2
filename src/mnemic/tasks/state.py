"""What happens to a task when something is asked of it, and what have its events made of it?

Pure: ``decide`` turns a command into events or refuses it, ``evolve`` turns events into the state. The state
depends on nothing but the events, so that a workflow may be declared anew while tasks of the old one exist.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from mnemic.errors import Conflict, InvalidInput, StorageError
from mnemic.tasks.data import checked_data, checked_key, merged, require_size
from mnemic.tasks.workflows import Step, Workflow
from mnemic.text import normalise

EventType = Literal["step_start", "step_success", "step_fail"]
TaskStatus = Literal["running", "failed", "completed"]
STATUSES: tuple[TaskStatus, ...] = ("running", "failed", "completed")
MAX_REASON = 2_000


@dataclass(frozen=True, slots=True)
class Task:
    """How far a task is. ``version`` counts its changes from 1; ``failure`` says why its step failed."""

    task_id: UUID
    task_type: str
    current_step: str
    status: TaskStatus
    state_data: Mapping[str, object]
    version: int
    created_at: datetime
    updated_at: datetime
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """One thing that happened to a task. ``seq`` counts from 1; one change may make two events."""

    event_id: UUID
    task_id: UUID
    seq: int
    version: int
    event_type: EventType
    payload: Mapping[str, object]
    at: datetime


@dataclass(frozen=True, slots=True)
class Happened:
    """An event that has no number, time and id yet."""

    event_type: EventType
    payload: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Create:
    """Begin a task at the first step of its workflow."""

    task_type: str
    data: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Advance:
    """The step is done, go on to the next; or, after a failure, start the same one again.

    ``to`` may be left out where only one step follows. ``step`` names the one that is done: the command is
    refused when the task is elsewhere by now. ``data`` is set in the state, the names in ``drop`` taken out.
    """

    to: str | None = None
    step: str | None = None
    data: Mapping[str, object] = field(default_factory=dict)
    drop: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Complete:
    """The last step is done: go on to an end."""

    to: str | None = None
    step: str | None = None
    data: Mapping[str, object] = field(default_factory=dict)
    drop: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Fail:
    """The step failed, for this reason; the task waits for somebody to start it again."""

    reason: str
    step: str | None = None
    data: Mapping[str, object] = field(default_factory=dict)
    drop: Sequence[str] = ()


Change = Advance | Complete | Fail
Command = Create | Change


def checked_change(command: Change) -> Change:
    """Return a change whose values may be stored. Raises InvalidInput as ``checked_data`` does.

    ``unknown_step`` and ``invalid_reason`` too: a reason has 1 to 2,000 characters.
    """
    drop = _names(command.drop)
    data = checked_data(command.data)
    if isinstance(command, Fail):
        return Fail(_reason(command.reason), command.step, data, drop)
    return type(command)(command.to, command.step, data, drop)


def fingerprint(command: Command, task_id: UUID | None) -> str:
    """Return what two commands have in common only when they ask the same of the same task."""
    asked = {
        name: getattr(command, name)
        for name in ("task_type", "to", "reason", "data")
        if hasattr(command, name)
    }
    kind, drop = type(command).__name__, list(getattr(command, "drop", ()))
    text = json.dumps([kind, str(task_id), drop, asked], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def begin(workflow: Workflow, command: Create) -> tuple[Happened, ...]:
    """Return the event with which a task begins."""
    payload = {
        "step": workflow.first,
        "final": False,
        "task_type": workflow.task_type,
        "data": dict(command.data),
    }
    return (Happened("step_start", payload),)


def decide(workflow: Workflow, task: Task, command: Change) -> tuple[Happened, ...]:
    """Return what happens to a task by a command.

    Raises InvalidInput (``unknown_step``, ``state_too_large``) and Conflict (``task_completed``,
    ``task_failed``, ``step_passed``, ``illegal_move``, ``move_unclear``).
    """
    for name in (command.step, getattr(command, "to", None)):
        if name is not None:
            workflow.step(name)
    if task.status == "completed":
        raise Conflict("task_completed", "This task is completed: nothing changes it any more.")
    if command.step not in (None, task.current_step):
        raise Conflict(
            "step_passed", "The task is at another step: read it again.", step=task.current_step
        )
    require_size(merged(task.state_data, command.data, command.drop))
    if isinstance(command, Fail):
        return (_failed(task, command),)
    return _moved(workflow, task, command)


def evolve(task: Task | None, event: TaskEvent) -> Task:
    """Return the state after an event. Raises StorageError (``task_history_damaged``)."""
    payload = event.payload
    if task is None:
        if event.event_type != "step_start" or "task_type" not in payload or event.seq != 1:
            raise _damaged()
        task = Task(
            event.task_id, str(payload["task_type"]), "", "running", {}, 0, event.at, event.at
        )
    if event.version - task.version not in (0, 1) or event.task_id != task.task_id:
        raise _damaged()
    step = str(payload["step"])
    if event.event_type != "step_start" and step != task.current_step:
        raise _damaged()
    status: TaskStatus = "completed" if payload.get("final") else "running"
    return Task(
        task_id=task.task_id,
        task_type=task.task_type,
        current_step=step,
        status="failed" if event.event_type == "step_fail" else status,
        state_data=_data_after(task, payload),
        version=event.version,
        created_at=task.created_at,
        updated_at=event.at,
        failure=str(payload["reason"]) if event.event_type == "step_fail" else None,
    )


def fold(task: Task | None, events: Iterable[TaskEvent], seq: int = 0) -> tuple[Task | None, int]:
    """Return the state after events and the number of the last; ``seq`` is that of the one before them.

    Raises StorageError (``task_history_damaged``) where one is missing or cannot follow.
    """
    for event in events:
        if event.seq != seq + 1:
            raise _damaged()
        task, seq = evolve(task, event), event.seq
    return task, seq


def _failed(task: Task, command: Fail) -> Happened:
    if task.status == "failed":
        raise Conflict("task_failed", "The step has failed already: start it again first.")
    changes = {"data": dict(command.data), "drop": list(command.drop)}
    return Happened("step_fail", {"step": task.current_step, "reason": command.reason, **changes})


def _moved(workflow: Workflow, task: Task, command: Advance | Complete) -> tuple[Happened, ...]:
    changes = {"data": dict(command.data), "drop": list(command.drop)}
    if task.status == "failed":
        _require_restart(task, command)
        again = {"step": task.current_step, "final": False, **changes}
        return (Happened("step_start", again),)
    to = _target(workflow, task, command)
    done = {"step": task.current_step, "next": to, **changes}
    entered = {"step": to, "final": workflow.is_final(to)}
    return (Happened("step_success", done), Happened("step_start", entered))


def _require_restart(task: Task, command: Advance | Complete) -> None:
    if isinstance(command, Complete) or command.to != task.current_step:
        raise Conflict(
            "task_failed",
            "The step of this task failed: start it again by advancing to the same step.",
            step=task.current_step,
        )


def _standing(workflow: Workflow, task: Task) -> Step:
    try:
        return workflow.step(task.current_step)
    except InvalidInput as error:
        raise InvalidInput(
            error.code,
            f"This task stands at {task.current_step}, a step that its workflow has no more:"
            " register it with that step again.",
            step=task.current_step,
        ) from None


def _target(workflow: Workflow, task: Task, command: Advance | Complete) -> str:
    following = _standing(workflow, task).next
    allowed = following
    if isinstance(command, Complete):
        allowed = tuple(name for name in following if workflow.is_final(name))
    if command.to is not None and command.to not in allowed:
        raise _illegal(task, allowed, following)
    if command.to is not None:
        return command.to
    if not allowed:
        raise _illegal(task, allowed, following)
    if len(allowed) > 1:
        raise Conflict(
            "move_unclear", f"Several steps may follow: say which, {', '.join(allowed)}."
        )
    return allowed[0]


def _illegal(task: Task, allowed: tuple[str, ...], following: tuple[str, ...]) -> Conflict:
    may = f"only {', '.join(allowed)} may follow" if allowed else "no end may follow"
    if following and not allowed:
        may += f" yet: advance it to {' or '.join(following)} first"
    return Conflict(
        "illegal_move",
        f"From {task.current_step} {may}.",
        step=task.current_step,
        allowed=list(allowed),
    )


def _data_after(task: Task, payload: Mapping[str, object]) -> Mapping[str, object]:
    data, drop = payload.get("data", {}), payload.get("drop", [])
    if not isinstance(data, Mapping) or not isinstance(drop, list):
        raise _damaged()
    return merged(task.state_data, data, drop)


def _names(drop: object) -> tuple[str, ...]:
    if not isinstance(drop, tuple | list | set | frozenset):
        raise InvalidInput("invalid_state_key", "What to drop is a list of names in the state.")
    return tuple(sorted({checked_key(name) for name in drop}))


def _reason(reason: object) -> str:
    text = normalise(reason).text if isinstance(reason, str) else ""
    if not 1 <= len(text) <= MAX_REASON:
        raise InvalidInput(
            "invalid_reason", f"Say why the step failed, in 1 to {MAX_REASON:,} characters."
        )
    return text


def _damaged() -> StorageError:
    return StorageError(
        "task_history_damaged", "The events of this task do not fit together: restore the database."
    )
