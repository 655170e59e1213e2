"""/api/tasks: work that takes hours or days, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query
from starlette.responses import Response

from mnemic.access.idempotency import Answer
from mnemic.api.doors import Asked, Who
from mnemic.api.guard import Guarded
from mnemic.api.paging import mark_of, unwrap, wrap
from mnemic.api.paths import TaskId
from mnemic.api.preconditions import etag
from mnemic.api.replies import reply
from mnemic.api.task_shapes import (
    Advance,
    AtVersion,
    ClaimAnswer,
    Complete,
    Fail,
    ListTasks,
    NewTask,
    ReadEvents,
    Release,
    ReleasedAnswer,
    Renewal,
    Repair,
    TakenAnswer,
    TakeTask,
    TaskAnswer,
    TaskEventsAnswer,
    TasksAnswer,
    claim_view,
)
from mnemic.api.views import plain
from mnemic.tasks.state import Task
from mnemic.tasks.store import Tasks

router = APIRouter(prefix="/api/tasks", route_class=Guarded, tags=["tasks"])


@router.post("", operation_id="createTask", status_code=201, response_model=TaskAnswer)
async def create(who: Who, body: NewTask) -> Response:
    """Begin a task at the first step of its workflow."""
    tasks = who.memory.tasks
    return await who.write(
        lambda: tasks.create(who.actor, body.task_type, body.state_data, event_id=body.event_id),
        _made,
    )


@router.get("", operation_id="listTasks", response_model=TasksAnswer)
async def list_tasks(who: Who, query: Annotated[ListTasks, Query()]) -> Response:
    """List tasks, the last changed first, a page at a time."""
    mark = mark_of(who.actor, "tasks", {"task_type": query.task_type, "status": query.status})
    page = who.memory.tasks.list(
        who.actor,
        limit=query.limit,
        cursor=unwrap(query.cursor, mark),
        task_type=query.task_type,
        status=query.status,
    )
    return await who.read(
        page,
        lambda page: reply(
            {"tasks": plain(page.tasks), "total": page.total, "cursor": wrap(page.cursor, mark)}
        ),
    )


@router.post("/claim", operation_id="claimTask", response_model=TakenAnswer)
async def claim(who: Who, body: Annotated[TakeTask | None, Body()] = None) -> Response:
    """Take the user's task that has waited longest for a worker; null when none waits."""
    asked = body or TakeTask()
    return await who.write(
        lambda: who.memory.tasks.claim_next(who.actor, asked.task_type, lease=asked.lease),
        lambda found: reply({"claim": claim_view(found)}),
    )


@router.get("/{task_id}", operation_id="getTask", response_model=TaskAnswer)
async def get(who: Who, task_id: TaskId) -> Response:
    """Return a task, with its version as ETag."""
    return await who.read(who.memory.tasks.get(who.actor, task_id), _shown)


@router.get("/{task_id}/history", operation_id="taskHistory", response_model=TaskEventsAnswer)
async def history(who: Who, task_id: TaskId, query: Annotated[ReadEvents, Query()]) -> Response:
    """Return what happened to a task, oldest first."""
    events = who.memory.tasks.history(who.actor, task_id, after=query.after, limit=query.limit)
    return await who.read(events, lambda found: reply({"events": plain(found)}))


@router.get("/{task_id}/replay", operation_id="replayTask", response_model=TaskAnswer)
async def replay(who: Who, task_id: TaskId, query: Annotated[AtVersion, Query()]) -> Response:
    """Return a task as its events tell, today or at a version."""
    return await who.read(
        who.memory.tasks.replay(who.actor, task_id, version=query.version), _shown
    )


@router.post("/{task_id}/advance", operation_id="advanceTask", response_model=TaskAnswer)
async def advance(
    who: Who, task_id: TaskId, body: Annotated[Advance | None, Body()] = None
) -> Response:
    """Go on to the next step, or start a failed one again."""
    asked = body or Advance()
    return await _changed(who, lambda t: t.advance(who.actor, task_id, asked.to, **asked.given()))


@router.post("/{task_id}/complete", operation_id="completeTask", response_model=TaskAnswer)
async def complete(
    who: Who, task_id: TaskId, body: Annotated[Complete | None, Body()] = None
) -> Response:
    """Go from the last step to an end."""
    asked = body or Complete()
    return await _changed(who, lambda t: t.complete(who.actor, task_id, asked.to, **asked.given()))


@router.post("/{task_id}/fail", operation_id="failTask", response_model=TaskAnswer)
async def fail(who: Who, task_id: TaskId, body: Fail) -> Response:
    """Say that the step failed, and why; the task stays at it."""
    return await _changed(who, lambda t: t.fail(who.actor, task_id, body.reason, **body.given()))


@router.post("/{task_id}/repair", operation_id="repairTask", response_model=TaskAnswer)
async def repair(
    who: Who, task_id: TaskId, body: Annotated[Repair | None, Body()] = None
) -> Response:
    """Write the row of a task anew, as its events tell."""
    return await _changed(who, lambda tasks: tasks.repair(who.actor, task_id))


@router.post("/{task_id}/renew", operation_id="renewTask", response_model=ClaimAnswer)
async def renew(who: Who, task_id: TaskId, body: Renewal) -> Response:
    """Hold a claimed task for longer, from now on."""
    return await who.write(
        lambda: who.memory.tasks.renew(who.actor, task_id, body.claim, lease=body.lease),
        lambda found: reply(claim_view(found)),
    )


@router.post("/{task_id}/release", operation_id="releaseTask", response_model=ReleasedAnswer)
async def release(who: Who, task_id: TaskId, body: Release) -> Response:
    """Give a claimed task back before its time."""
    return await who.write(
        lambda: who.memory.tasks.release(who.actor, task_id, body.claim),
        lambda _: reply({"released": task_id}),
    )


async def _changed(who: Asked, change: Callable[[Tasks], Any]) -> Response:
    return await who.write(lambda: change(who.memory.tasks), _shown)


def _made(task: Task) -> Answer:
    where = f"/api/tasks/{task.task_id}"
    return reply(plain(task), 201, Location=where, ETag=etag(task.version))


def _shown(task: Task) -> Answer:
    return reply(plain(task), ETag=etag(task.version))
