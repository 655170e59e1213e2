"""Does no statement about tasks reach those of somebody else, and is every change in the audit?"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from psycopg.types.json import Jsonb

from conftest import Connect
from mnemic.deployment import Deployment
from mnemic.errors import PermissionDenied
from mnemic.ids import new_id
from mnemic.model import Actor
from mnemic.storage.statements import statements
from mnemic.tasks.store import Tasks

if TYPE_CHECKING:
    from mnemic.service import MemoryService

KIM, LEE = Actor("kim"), Actor("lee")
STATEMENTS: Mapping[str, Any] = statements("tasks")
OF_ALL_USERS = {"waiting"}
"""Tells ids to workers: test_task_claims."""


class _Undo(Exception):
    """Nothing that was tried is kept."""


async def outcome(deployment: Deployment, actor: Actor, name: str, params: Any) -> Any:
    """Return the rows that a statement gives or touches, or "refused"."""
    result: Any = "refused"
    with suppress(_Undo, PermissionDenied):
        async with deployment.database.transaction(actor) as tx:
            cursor = await tx.conn.execute(STATEMENTS[name], params)
            result = await cursor.fetchall() if cursor.description else cursor.rowcount
            raise _Undo
    return result


@pytest.mark.parametrize("name", sorted(set(STATEMENTS) - OF_ALL_USERS))
async def test_a_statement_aimed_at_anothers_task_finds_nothing(
    name: str, deployment: Deployment
) -> None:
    tasks = Tasks(deployment.database, deployment.keys)
    event = new_id()
    made = await tasks.create(KIM, "data_approval", {"source": "a.csv"}, event_id=event)
    claim = await tasks.claim_next(KIM)
    assert claim is not None
    await tasks.create(LEE, "data_approval")
    now = datetime.now(UTC)
    aimed = {
        "scope_key": "user:kim",
        "user_id": "kim",
        "task_id": new_id() if name == "add" else made.task_id,
        "event_id": new_id() if name == "append" else event,
        "task_type": "data_approval",
        "current_step": "data_fetch",
        "status": "running",
        "state_data": Jsonb({}),
        "failure_enc": None,
        "version": 2,
        "was": 1,
        "claim": None,
        "created_at": now,
        "updated_at": now,
        "seq": 2,
        "event_type": "step_start",
        "payload_enc": os.urandom(60),
        "at": now,
        "of_status": None,
        "before_at": None,
        "before_id": None,
        "after": 0,
        "limit": 10,
        "token": claim.token,
        "lease": timedelta(seconds=60),
        "types": ["data_approval"],
        "steps": ["data_fetch"],
        "now": now + timedelta(days=1),
    }
    own = await outcome(deployment, KIM, name, aimed)
    others = await outcome(deployment, LEE, name, aimed)
    nothing = await outcome(deployment, KIM, name, aimed | {"scope_key": "user:void"})
    assert own not in ("refused", nothing)
    assert others in ("refused", nothing)


async def test_every_change_leaves_an_entry_in_the_audit(
    stub_memory: MemoryService, connect: Connect
) -> None:
    tasks = stub_memory.tasks
    event = new_id()
    task_id = (await tasks.create(KIM, "data_approval", {"source": "lighthouse.csv"})).task_id
    await tasks.fail(KIM, task_id, "no network")
    await tasks.advance(KIM, task_id, "data_fetch")
    for step in ("data_fetch", "validation"):
        await tasks.advance(KIM, task_id, step=step)
    for _ in range(2):  # sent twice, done once
        await tasks.complete(KIM, task_id, event_id=event)
    await tasks.repair(KIM, task_id)
    owner = await connect("owner")
    rows = await (await owner.execute("select action from audit_log order by at, seq")).fetchall()
    assert [row["action"] for row in rows] == [
        "create_task",
        "fail_task",
        *["advance_task"] * 3,
        "complete_task",
        "repair_task",
    ]


async def test_an_erased_user_leaves_no_task(stub_memory: MemoryService, connect: Connect) -> None:
    for actor in (KIM, LEE):
        made = await stub_memory.tasks.create(actor, "data_approval")
        await stub_memory.tasks.advance(actor, made.task_id)
    await stub_memory.forget_user(KIM)
    owner = await connect("owner")
    for table in ("task_state", "task_events"):
        rows = await (await owner.execute(f"select scope_key from {table}")).fetchall()
        assert {row["scope_key"] for row in rows} == {"user:lee"}
