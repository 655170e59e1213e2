"""How does a task lie in the database, and how is it read back?

The top-level keys of its data are readable, each value is sealed under them; so are the reason of a failure
and what its events carry. Every value is bound to the version that it was written with.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from mnemic.crypto import DataKey, place
from mnemic.errors import KeyUnavailable
from mnemic.storage.transaction import Params
from mnemic.tasks.data import written
from mnemic.tasks.state import Task, TaskEvent

Row = Mapping[str, Any]


def task_row(key: DataKey, scope_key: str, user: str, task: Task) -> Params:
    """Return the columns of a task."""
    sealed = {
        name: base64.b64encode(
            key.seal(
                written(value), _at(scope_key, task.task_id, f"state_data.{name}", task.version)
            )
        ).decode("ascii")
        for name, value in task.state_data.items()
    }
    failure = task.failure
    return {
        "scope_key": scope_key,
        "task_id": task.task_id,
        "user_id": user,
        "task_type": task.task_type,
        "current_step": task.current_step,
        "status": task.status,
        "state_data": Jsonb(sealed),
        "failure_enc": failure
        and key.seal(failure, _at(scope_key, task.task_id, "failure", task.version)),
        "version": task.version,
        "created_at": task.created_at,
        "updated_at": task.updated_at,
    }


def open_task(key: DataKey, scope_key: str, row: Row) -> Task:
    """Return the task of a row. Raises KeyUnavailable (``sealed_value_damaged`` ...)."""
    task_id, version, failure = row["task_id"], row["version"], row["failure_enc"]
    data = {
        name: json.loads(
            key.open(_bytes(value), _at(scope_key, task_id, f"state_data.{name}", version))
        )
        for name, value in row["state_data"].items()
    }
    return Task(
        task_id=task_id,
        task_type=row["task_type"],
        current_step=row["current_step"],
        status=row["status"],
        state_data=data,
        version=version,
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        failure=failure and key.open(bytes(failure), _at(scope_key, task_id, "failure", version)),
    )


def event_row(key: DataKey, scope_key: str, event: TaskEvent) -> Params:
    """Return the columns of an event."""
    return {
        "scope_key": scope_key,
        "event_id": event.event_id,
        "task_id": event.task_id,
        "seq": event.seq,
        "version": event.version,
        "event_type": event.event_type,
        "payload_enc": key.seal(written(event.payload), _event_at(scope_key, event.task_id, event)),
        "at": event.at,
    }


def open_event(key: DataKey, scope_key: str, row: Row) -> TaskEvent:
    """Return the event of a row. Raises KeyUnavailable (``sealed_value_damaged`` ...)."""
    payload = open_payload(key, scope_key, row)
    return TaskEvent(
        event_id=row["event_id"],
        task_id=row["task_id"],
        seq=row["seq"],
        version=row["version"],
        event_type=row["event_type"],
        payload={name: value for name, value in payload.items() if name != "request"},
        at=row["at"],
    )


def open_payload(key: DataKey, scope_key: str, row: Row) -> Mapping[str, object]:
    """Return what an event carries, of a row with its number and version."""
    at = place(
        "task_events", scope_key, f"{row['task_id']}/{row['seq']}", "payload", row["version"]
    )
    payload: Mapping[str, object] = json.loads(key.open(bytes(row["payload_enc"]), at))
    return payload


def _event_at(scope_key: str, task_id: UUID, event: TaskEvent) -> bytes:
    return place("task_events", scope_key, f"{task_id}/{event.seq}", "payload", event.version)


def _at(scope_key: str, task_id: UUID, column: str, version: int) -> bytes:
    return place("task_state", scope_key, task_id, column, version)


def _bytes(value: object) -> bytes:
    if isinstance(value, str):
        with suppress(ValueError):
            return base64.b64decode(value, validate=True)
    raise KeyUnavailable(
        "sealed_value_damaged", "A sealed value was changed or moved; restore it from a backup."
    )
