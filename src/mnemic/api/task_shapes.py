"""What may be asked of tasks over REST, and how do they look?"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, WithJsonSchema

from mnemic.api.fields import AS_IT_CAME, NUMBER, names, text, whole
from mnemic.api.queries import Paged
from mnemic.api.views import plain
from mnemic.tasks.claims import Claim
from mnemic.tasks.state import STATUSES, TaskStatus

_STRICT = ConfigDict(extra="forbid")
_MOST = 2**31 - 1
_EVENT = "0192f1c0-0000-7000-8000-000000000002"
_OBJECT = {"type": "object", "additionalProperties": True}
_UUID = {"type": "string", "format": "uuid"}
_NULL = {"type": "null"}
_SECONDS = {"type": "number", "minimum": 1, "maximum": 86_400}

State = Annotated[Any, AS_IT_CAME, WithJsonSchema({"anyOf": [_OBJECT, _NULL]})]
Id = Annotated[str | None, AS_IT_CAME, WithJsonSchema({"anyOf": [_UUID, _NULL]})]
Step = Annotated[str | None, AS_IT_CAME, text(null=True)]
Version = Annotated[
    int | None,
    NUMBER,
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1, "maximum": _MOST}, _NULL]}),
]
Lease = Annotated[float, NUMBER, WithJsonSchema(_SECONDS)]


def _config(*examples: dict[str, Any]) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": list(examples)})


# ---- what is asked


class NewTask(BaseModel):
    """A task of a declared type, at its first step; with ``event_id`` the same call again begins none."""

    model_config = _config({"task_type": "data_approval", "state_data": {"rows": 12}})

    task_type: Annotated[str, AS_IT_CAME, text()]
    state_data: State = None
    event_id: Id = None


class _Change(BaseModel):
    step: Step = None
    data: State = None
    drop: Annotated[
        list[Any],
        AS_IT_CAME,
        WithJsonSchema({"type": "array", "items": {"type": "string", "minLength": 1}}),
    ] = []
    expected_version: Version = None
    event_id: Id = None
    claim: Id = None

    def given(self) -> dict[str, Any]:
        """Return the keywords that every change of a task takes."""
        return {name: getattr(self, name) for name in _Change.model_fields}


class Advance(_Change):
    """Go on ``to`` a step; ``step`` is the one that is done, ``data`` is set and ``drop`` taken out."""

    model_config = _config({}, {"to": "approval", "expected_version": 2, "event_id": _EVENT})

    to: Step = None


class Complete(_Change):
    """Go from the last step to an end, which ``to`` names where there are several."""

    model_config = _config({}, {"to": "completed", "data": {"approved_by": "li"}})

    to: Step = None


class Fail(_Change):
    """The step failed, for a reason of 1 to 2,000 characters."""

    model_config = _config({"reason": "the third column is missing"})

    reason: Annotated[str, AS_IT_CAME, text(2_000)]


class Repair(BaseModel):
    """No field at all."""

    model_config = _config({})


class TakeTask(BaseModel):
    """Which type of task, any without one, and for how many seconds."""

    model_config = _config({}, {"task_type": "data_approval", "lease": 600})

    task_type: Step = None
    lease: Lease = 300.0


class Renewal(BaseModel):
    """The token of a claim, and for how many seconds from now."""

    model_config = _config({"claim": _EVENT, "lease": 600})

    claim: Annotated[str, AS_IT_CAME, WithJsonSchema(_UUID)]
    lease: Lease = 300.0


class Release(BaseModel):
    """The token of a claim."""

    model_config = _config({"claim": _EVENT})

    claim: Annotated[str, AS_IT_CAME, WithJsonSchema(_UUID)]


class ListTasks(Paged):
    """Which tasks to list."""

    task_type: Annotated[str | None, AS_IT_CAME, text(blank=True)] = None
    status: Annotated[TaskStatus | None, AS_IT_CAME, names(STATUSES)] = None


class ReadEvents(BaseModel):
    """Which part of the history to read: what comes behind ``after``."""

    model_config = _STRICT

    after: Annotated[int, NUMBER, whole(0, _MOST, spelt=False)] = 0
    limit: Annotated[int, NUMBER, whole(1, 10_000, spelt=False)] = 1_000


class AtVersion(BaseModel):
    """As it was at this version; else as it is."""

    model_config = _STRICT

    version: Annotated[int | None, NUMBER, whole(1, _MOST, spelt=False)] = None


# ---- how it looks


class TaskAnswer(BaseModel):
    """A task: where it is, and its state."""

    task_id: UUID
    task_type: str
    current_step: str
    status: TaskStatus
    state_data: dict[str, Any]
    version: int
    created_at: datetime
    updated_at: datetime
    failure: str | None


class TasksAnswer(BaseModel):
    """A page of tasks, the last changed first; ``total`` counts all pages."""

    tasks: list[TaskAnswer]
    total: int
    cursor: str | None


class TaskEventAnswer(BaseModel):
    """Something that happened to a task."""

    event_id: UUID
    task_id: UUID
    seq: int
    version: int
    event_type: str
    payload: dict[str, Any]
    at: datetime


class TaskEventsAnswer(BaseModel):
    """What happened to a task, oldest first."""

    events: list[TaskEventAnswer]


class ClaimAnswer(BaseModel):
    """A task in a worker's hands until ``until``; ``token`` proves it."""

    task: TaskAnswer
    token: UUID
    until: datetime


class TakenAnswer(BaseModel):
    """The task that had waited longest, null when none waits."""

    claim: ClaimAnswer | None


class ReleasedAnswer(BaseModel):
    """The task is anybody's again."""

    released: UUID


def claim_view(claim: Claim | None) -> dict[str, Any] | None:
    """Return a claim as JSON; whose it is, whoever asks knows."""
    if claim is None:
        return None
    return {"task": plain(claim.task), "token": str(claim.token), "until": claim.until.isoformat()}
