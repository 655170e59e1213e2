"""What can be asked of tasks? Their creation, moves and history, and work for whoever asks for some."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mnemic.checks import one_of, whole
from mnemic.cursors import decode_cursor, encode_cursor
from mnemic.errors import InvalidInput
from mnemic.keys import KeyRing
from mnemic.model import Actor, known_actor
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements
from mnemic.tasks.asked import Asked, found, named, parse_token, parse_uuid
from mnemic.tasks.claims import LEASE, Claim, Claims
from mnemic.tasks.data import checked_data
from mnemic.tasks.rows import open_event, open_task
from mnemic.tasks.state import (
    STATUSES,
    Advance,
    Change,
    Complete,
    Create,
    Fail,
    Task,
    TaskEvent,
    TaskStatus,
    checked_change,
)
from mnemic.tasks.workflows import Workflow, Workflows
from mnemic.tasks.writer import Writer, replayed, require_key
from mnemic.text import normalise

_SQL = statements("tasks")
MAX_PAGE = 1_000
MAX_EVENTS = 10_000
_LAST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class TaskPage:
    """Some tasks, the last changed first; ``total`` counts all, ``cursor`` asks for the next page."""

    tasks: tuple[Task, ...]
    total: int
    cursor: str | None = None


class Tasks:
    """The tasks of users: a task is its user's alone, and found from every session of theirs.

    Writing methods take ``event_id``, a UUID by which a repeated call is recognised. Raises InvalidInput for
    what cannot be meant, NotFound (``task_not_found``), Conflict where the task is not in that state.
    """

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        workflows: Workflows | None = None,
        *,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """``clock`` returns times with a zone; without one the database's time counts."""
        self._database = database
        self._keys = keys
        self._workflows = workflows or Workflows()
        self._writer = Writer(database, keys, self._workflows, clock)
        self._claims = Claims(database, keys, self._workflows, clock)

    def register(self, workflow: Workflow) -> None:
        """Declare the workflow of a task type. Raises InvalidInput as ``Workflows.register`` does."""
        self._workflows.register(workflow)

    # ---- changing

    async def create(
        self,
        actor: Actor,
        task_type: str,
        state_data: Mapping[str, object] | None = None,
        *,
        event_id: object = None,
    ) -> Task:
        """Begin a task at the first step of its workflow.

        Raises InvalidInput (``unknown_task_type``, ``event_id_reused``, and what ``checked_data`` raises).
        """
        workflow = self._workflows.of(task_type)
        command = Create(workflow.task_type, checked_data(state_data))
        repeated = None if event_id is None else parse_uuid(event_id, "event")
        asked = Asked(known_actor(actor), None, command, repeated)
        return await self._writer.begin(asked, workflow)

    async def advance(
        self,
        actor: Actor,
        task_id: object,
        to: str | None = None,
        *,
        step: str | None = None,
        data: Mapping[str, object] | None = None,
        drop: Sequence[str] = (),
        expected_version: int | None = None,
        event_id: object = None,
        claim: object = None,
    ) -> Task:
        """Go on to the next step, or start a failed one again (``to`` is the same step then).

        ``to`` may be left out where only one step follows; ``step`` names the one that is done, ``data`` is
        set in the state and the names in ``drop`` taken out; ``claim`` is the worker's. Raises Conflict
        (``version_conflict`` with ``expected`` and ``current``, ``illegal_move``, ``move_unclear``,
        ``step_passed``, ``task_failed``, ``task_completed``, ``claim_lost``), InvalidInput (``unknown_step``,
        ``version_from_future``, ``event_id_reused``, and what ``checked_data`` raises).
        """
        command = Advance(to, step, _given(data), drop)
        return await self._change(actor, task_id, command, expected_version, event_id, claim)

    async def complete(
        self,
        actor: Actor,
        task_id: object,
        to: str | None = None,
        *,
        step: str | None = None,
        data: Mapping[str, object] | None = None,
        drop: Sequence[str] = (),
        expected_version: int | None = None,
        event_id: object = None,
        claim: object = None,
    ) -> Task:
        """Go from the last step to an end; ``to`` names it where there are several. Raises as ``advance``."""
        command = Complete(to, step, _given(data), drop)
        return await self._change(actor, task_id, command, expected_version, event_id, claim)

    async def fail(
        self,
        actor: Actor,
        task_id: object,
        reason: str,
        *,
        step: str | None = None,
        data: Mapping[str, object] | None = None,
        drop: Sequence[str] = (),
        expected_version: int | None = None,
        event_id: object = None,
        claim: object = None,
    ) -> Task:
        """Say that the step failed, for a reason of 1 to 2,000 characters. Raises as ``advance``.

        The task stays at its step, and ``advance`` to the same one starts it again.
        """
        command = Fail(reason, step, _given(data), drop)
        return await self._change(actor, task_id, command, expected_version, event_id, claim)

    # ---- reading

    async def get(self, actor: Actor, task_id: object) -> Task:
        """Return a task."""
        wanted = named(actor, parse_uuid(task_id, "task"))
        async with self._database.transaction(actor) as tx:
            row = await tx.one(_SQL["get"], wanted)
            return open_task(await require_key(self._keys, tx, actor), actor.user_scope, found(row))

    async def list(
        self,
        actor: Actor,
        *,
        limit: int = 50,
        cursor: str | None = None,
        task_type: str | None = None,
        status: TaskStatus | None = None,
    ) -> TaskPage:
        """Return a page of tasks, the last changed first, with the total of all pages.

        ``limit`` is 1 to 1,000. Raises InvalidInput (``limit_out_of_range``, ``unknown_status``,
        ``unknown_task_type``, ``invalid_cursor``). A task that is changed meanwhile moves to the first page.
        """
        whole(limit, 1, MAX_PAGE, "limit")
        before_at, before_id = (None, None) if cursor is None else decode_cursor(cursor)
        params: dict[str, Any] = {
            "scope_key": known_actor(actor).user_scope,
            "user_id": actor.user,
            "task_type": None if task_type is None else _nameable(task_type),
            "of_status": None if status is None else one_of(status, STATUSES, "status"),
            "before_at": before_at,
            "before_id": before_id,
            "limit": limit + 1,
        }
        async with self._database.transaction(actor) as tx:
            rows = await tx.all(_SQL["list"], params)
            counted = await tx.one(_SQL["count"], params)
            key = await self._keys.find(tx, actor)
        assert counted is not None
        shown = tuple(open_task(key, actor.user_scope, row) for row in rows[:limit] if key)
        more = len(rows) > limit
        after = encode_cursor(shown[-1].updated_at, shown[-1].task_id) if more else None
        return TaskPage(shown, counted["total"], after)

    async def history(
        self, actor: Actor, task_id: object, *, after: int = 0, limit: int = MAX_EVENTS
    ) -> Sequence[TaskEvent]:
        """Return the events of a task with ``seq`` over ``after``, oldest first, 1 to 10,000 of them."""
        whole(after, 0, _LAST, "after")
        whole(limit, 1, MAX_EVENTS, "limit")
        wanted = named(actor, parse_uuid(task_id, "task"))
        async with self._database.transaction(actor) as tx:
            found(await tx.one(_SQL["version"], wanted))
            key = await require_key(self._keys, tx, actor)
            rows = await tx.all(_SQL["events"], wanted | {"after": after, "limit": limit})
        return [open_event(key, actor.user_scope, row) for row in rows]

    async def replay(self, actor: Actor, task_id: object, *, version: int | None = None) -> Task:
        """Return a task as its events tell, today or at a version: the same as ``get`` unless damaged.

        Raises InvalidInput (``version_from_future``, ``version_out_of_range``: versions count from 1),
        StorageError (``task_history_damaged``).
        """
        if version is not None:
            whole(version, 1, _LAST, "version")
        wanted = parse_uuid(task_id, "task")
        async with self._database.transaction(known_actor(actor)) as tx:
            found(await tx.one(_SQL["version"], named(actor, wanted)))
            return await replayed(
                tx, await require_key(self._keys, tx, actor), actor, wanted, version
            )

    async def repair(self, actor: Actor, task_id: object) -> Task:
        """Write the row of a task anew, as its events tell, and return it; doing it twice changes nothing.

        Raises Conflict (``version_conflict``) when the task is changed at this moment.
        """
        return await self._writer.repair(known_actor(actor), parse_uuid(task_id, "task"))

    # ---- working

    async def claim_next(
        self, actor: Actor, task_type: str | None = None, *, lease: float = LEASE
    ) -> Claim | None:
        """Take the actor's task that has waited longest for a worker, None where none waits.

        Tasks at steps that wait for somebody, failed and completed ones are left alone. ``lease`` is 1 to
        86,400 seconds: then somebody else may take it. Raises InvalidInput (``lease_out_of_range``,
        ``unknown_task_type``).
        """
        return await self._claims.next(actor, task_type, lease)

    async def claim_any(self, task_type: str, *, lease: float = LEASE) -> Claim | None:
        """The same across all users, for a worker process: act as the ``actor`` of the claim."""
        return await self._claims.any(task_type, lease)

    async def renew(
        self, actor: Actor, task_id: object, claim: object, *, lease: float = LEASE
    ) -> Claim:
        """Hold a claimed task for ``lease`` seconds from now. Raises Conflict (``claim_lost``)."""
        return await self._claims.renew(
            actor, parse_uuid(task_id, "task"), parse_token(claim), lease
        )

    async def release(self, actor: Actor, task_id: object, claim: object) -> None:
        """Give a claimed task back before its time. Raises Conflict (``claim_lost``)."""
        await self._claims.release(actor, parse_uuid(task_id, "task"), parse_token(claim))

    # ---- how it is done

    async def _change(
        self,
        actor: Actor,
        task_id: object,
        command: Change,
        expected_version: int | None,
        event_id: object,
        claim: object,
    ) -> Task:
        if expected_version is not None:
            whole(expected_version, 1, _LAST, "expected_version")
        asked = Asked(
            known_actor(actor),
            parse_uuid(task_id, "task"),
            checked_change(command),
            None if event_id is None else parse_uuid(event_id, "event"),
            expected_version,
            None if claim is None else parse_token(claim),
        )
        return await self._writer.change(asked)


def _given(data: Mapping[str, object] | None) -> Mapping[str, object]:
    return {} if data is None else data


def _nameable(task_type: object) -> str:
    """Return what a task type may be called, declared here or not; no other text goes to the database."""
    text = str(task_type)
    if normalise(text).text != text:
        raise InvalidInput("unknown_task_type", "No task type has a name like this.")
    return text
