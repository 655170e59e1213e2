"""Which request asks for what, about tasks and about what agents wait for? Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mnemic.client.calls import Call, asked, segment, told
from mnemic.client.reading import many, one, optional
from mnemic.client.values import Claim, Decided, TaskPage
from mnemic.episodic.episode import Approval
from mnemic.tasks.state import Task, TaskEvent, TaskStatus

_LEASE = 300.0


def create_task(
    task_type: str,
    state_data: Mapping[str, object] | None = None,
    *,
    event_id: object = None,
) -> Call[Task]:
    """Begin a task at the first step of its workflow; the same ``event_id`` again begins none."""
    body = told({"task_type": task_type, "state_data": state_data, "event_id": event_id})
    return Call("POST", "/api/tasks", one(Task), writes=True, json=body)


def tasks(
    *,
    limit: int = 50,
    cursor: str | None = None,
    task_type: str | None = None,
    status: TaskStatus | None = None,
) -> Call[TaskPage]:
    """Return a page of tasks, the last changed first, with the total."""
    query = {"limit": limit, "cursor": cursor, "task_type": task_type, "status": status}
    return Call("GET", "/api/tasks", one(TaskPage), query=asked(query))


def task(task_id: object) -> Call[Task]:
    """Return a task. Raises NotFound (``task_not_found``)."""
    return Call("GET", _at(task_id), one(Task))


def task_history(
    task_id: object, *, after: int = 0, limit: int = 1_000
) -> Call[tuple[TaskEvent, ...]]:
    """Return what happened to a task behind the event number ``after``, oldest first."""
    query = asked({"after": after, "limit": limit})
    return Call("GET", _at(task_id, "history"), many(TaskEvent, "events"), query=query)


def replay_task(task_id: object, *, version: int | None = None) -> Call[Task]:
    """Return a task as its events tell, today or at a version."""
    return Call("GET", _at(task_id, "replay"), one(Task), query=asked({"version": version}))


def advance_task(
    task_id: object,
    to: str | None = None,
    *,
    step: str | None = None,
    data: Mapping[str, object] | None = None,
    drop: Sequence[str] = (),
    expected_version: int | None = None,
    event_id: object = None,
    claim: object = None,
) -> Call[Task]:
    """Go on to the next step, or start a failed one again; see ``Tasks.advance``.

    Raises Conflict (``version_conflict``, ``illegal_move``, ``claim_lost`` ...).
    """
    given = _change(step, data, drop, expected_version, event_id, claim)
    return _changed(task_id, "advance", given | told({"to": to}))


def complete_task(
    task_id: object,
    to: str | None = None,
    *,
    step: str | None = None,
    data: Mapping[str, object] | None = None,
    drop: Sequence[str] = (),
    expected_version: int | None = None,
    event_id: object = None,
    claim: object = None,
) -> Call[Task]:
    """Go from the last step to an end, which ``to`` names where there are several."""
    given = _change(step, data, drop, expected_version, event_id, claim)
    return _changed(task_id, "complete", given | told({"to": to}))


def fail_task(
    task_id: object,
    reason: str,
    *,
    step: str | None = None,
    data: Mapping[str, object] | None = None,
    drop: Sequence[str] = (),
    expected_version: int | None = None,
    event_id: object = None,
    claim: object = None,
) -> Call[Task]:
    """Say that the step failed, and why (1 to 2,000 characters); the task stays at it."""
    given = _change(step, data, drop, expected_version, event_id, claim)
    return _changed(task_id, "fail", given | {"reason": reason})


def repair_task(task_id: object) -> Call[Task]:
    """Write the row of a task anew, as its events tell."""
    return _changed(task_id, "repair", {})


def claim_task(task_type: str | None = None, *, lease: float = _LEASE) -> Call[Claim | None]:
    """Take the task that has waited longest for a worker, for ``lease`` seconds; None when none waits."""
    body = told({"task_type": task_type, "lease": lease})
    return Call(
        "POST",
        "/api/tasks/claim",
        lambda value: optional(one(Claim))(value["claim"]),
        writes=True,
        json=body,
    )


def renew_task(task_id: object, claim: object, *, lease: float = _LEASE) -> Call[Claim]:
    """Hold a claimed task for longer, from now on. Raises Conflict (``claim_lost``)."""
    body = told({"claim": claim, "lease": lease})
    return Call("POST", _at(task_id, "renew"), one(Claim), writes=True, json=body)


def release_task(task_id: object, claim: object) -> Call[None]:
    """Give a claimed task back before its time."""
    path, body = _at(task_id, "release"), told({"claim": claim})
    return Call("POST", path, lambda value: None, writes=True, json=body)


def _at(task_id: object, *names: str) -> str:
    return "/".join(["/api/tasks", segment(task_id), *names])


def _change(
    step: str | None,
    data: Mapping[str, object] | None,
    drop: Sequence[str],
    expected_version: int | None,
    event_id: object,
    claim: object,
) -> dict[str, Any]:
    given = {
        "step": step,
        "data": data,
        "drop": list(drop) or None,
        "expected_version": expected_version,
        "event_id": event_id,
        "claim": claim,
    }
    return told(given)


def _changed(task_id: object, how: str, body: Mapping[str, Any]) -> Call[Task]:
    return Call("POST", _at(task_id, how), one(Task), writes=True, json=dict(body))


# ---- what agents wait for


def approvals() -> Call[tuple[Approval, ...]]:
    """Return what agents wait for, the oldest first: in the client's session, or in all."""
    return Call("GET", "/api/approvals", many(Approval, "approvals"))


def approve(approval_id: str, value: Any = None) -> Call[Decided]:
    """Let an agent do what it asks for; ``value`` answers a question that is not about a tool call.

    Raises NotFound (``unknown_approval``), Conflict (``approval_decided``).
    """
    return _decided(approval_id, {"decision": "approve"} | told({"value": value}))


def approve_edited(approval_id: str, arguments: Any) -> Call[Decided]:
    """Let an agent do something else: the tool with other ``arguments``. Raises as ``approve`` does."""
    return _decided(approval_id, {"decision": "edit", "arguments": arguments})


def reject(approval_id: str, message: str | None = None) -> Call[Decided]:
    """Do not let an agent do what it asks for; ``message`` says why. Raises as ``approve`` does."""
    return _decided(approval_id, {"decision": "reject"} | told({"message": message}))


def answer(approval_id: str, value: Any) -> Call[Decided]:
    """Give an agent this very ``value`` as the answer. Raises as ``approve`` does."""
    return _decided(approval_id, {"decision": "answer", "value": value})


def _decided(approval_id: str, body: Mapping[str, Any]) -> Call[Decided]:
    path = f"/api/approvals/{segment(approval_id)}"
    return Call("POST", path, one(Decided), writes=True, json=dict(body))
