"""How is a task begun and changed, without losing or doubling a step?

A change reads the row, decides, and writes the row back only if its version is still the same, with the
events in the same transaction. Whoever lost the race reads again, three times at most; a change that no
longer fits then is a conflict. Who sends the id of an event along may repeat the call: nothing doubles, and
the answer is the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from mnemic.checks import aware
from mnemic.crypto import DataKey
from mnemic.errors import StorageError
from mnemic.ids import new_id
from mnemic.keys import KeyRing
from mnemic.model import Actor
from mnemic.storage.pool import Database, Deed, Transaction
from mnemic.storage.statements import statements
from mnemic.tasks.asked import (
    Asked,
    found,
    from_future,
    named,
    numbered,
    outrun,
    require_claim,
    require_same,
    reused,
)
from mnemic.tasks.claims import no_task
from mnemic.tasks.rows import event_row, open_event, open_payload, open_task, task_row
from mnemic.tasks.state import Create, Task, TaskEvent, begin, decide, evolve, fingerprint, fold
from mnemic.tasks.workflows import Workflow, Workflows

_SQL = statements("tasks")
RETRIES = 3
_READ_AT_ONCE = 500


class Writer:
    """Begins, changes and repairs tasks."""

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

    async def begin(self, asked: Asked, workflow: Workflow) -> Task:
        """Begin a task, or return what the same call began before."""
        for _ in range(2):
            with suppress(_SentTwice):
                return await self._begin(asked, workflow)
        raise reused()

    async def change(self, asked: Asked) -> Task:
        """Change a task, with three retries, or return what the same call made of it before."""
        seen: Task | None = None
        current = 0
        for _ in range(1 + RETRIES):
            with suppress(_SentTwice):
                outcome = await self._attempt(asked, seen)
                if isinstance(outcome, Task):
                    return outcome
                seen, current = outcome
        raise reused() if seen is None else outrun(seen.version, current)

    async def repair(self, actor: Actor, task_id: UUID) -> Task:
        """Write the row of a task anew, as its events tell."""
        async with self._database.transaction(actor) as tx:
            held = found(await tx.one(_SQL["version"], named(actor, task_id)))["version"]
            key = await require_key(self._keys, tx, actor)
            task = await replayed(tx, key, actor, task_id)
            row = task_row(key, actor.user_scope, actor.user, task)
            if not await tx.run(_SQL["change"], row | {"was": held, "claim": None}):
                raise outrun(held, task.version)
            await tx.answer(task, Deed("repair_task", task_id, held, task.version))
        return task

    async def _begin(self, asked: Asked, workflow: Workflow) -> Task:
        actor, command = asked.actor, asked.command
        assert isinstance(command, Create)
        async with self._database.transaction(actor) as tx:
            key = await self._keys.obtain(tx, actor)
            now, before = await self._moment(tx, key, asked)
            if before is not None:
                return before
            events = numbered(begin(workflow, command), asked, new_id(), 0, 1, now)
            task = evolve(None, events[0])
            await tx.run(_SQL["add"], task_row(key, actor.user_scope, actor.user, task))
            if not await self._append(tx, key, asked, events):
                raise _SentTwice
            await tx.answer(task, Deed("create_task", task.task_id, None, _place(task)))
        return task

    async def _attempt(self, asked: Asked, seen: Task | None) -> Task | tuple[Task, int]:
        """Return the task as changed; or, where somebody else was faster, as read and its version now."""
        async with self._database.transaction(asked.actor) as tx:
            key = await require_key(self._keys, tx, asked.actor)
            row = found(await tx.one(_SQL["get"], asked.named))
            # after the row: what is committed in between is found here, what comes later changes the version
            now, before = await self._moment(tx, key, asked)
            if before is not None:
                return before
            task = open_task(key, asked.actor.user_scope, row)
            require_same(asked, task, seen, row["claim_token"])
            assert not isinstance(asked.command, Create)
            happened = decide(self._workflows.of(task.task_type), task, asked.command)
            version, last = task.version + 1, row["last_seq"]
            at = max(now, task.updated_at)  # a clock may go back, a history does not
            events = numbered(happened, asked, task.task_id, last, version, at)
            after = task
            for event in events:
                after = evolve(after, event)
            changed = task_row(key, asked.actor.user_scope, asked.actor.user, after)
            given = changed | {"was": task.version, "claim": asked.claim}
            if not await tx.run(_SQL["change"], given):
                return task, await self._version_now(tx, asked)
            if not await self._append(tx, key, asked, events):
                raise _SentTwice
            deed = f"{type(asked.command).__name__.lower()}_task"
            await tx.answer(after, Deed(deed, task.task_id, _place(task), _place(after)))
        return after

    async def _moment(
        self, tx: Transaction, key: DataKey, asked: Asked
    ) -> tuple[datetime, Task | None]:
        """Return the time, and the answer that this call was given before."""
        now = None if self._clock is None else aware(self._clock(), "clock")
        params = asked.named | {"now": now, "event_id": asked.event_id}
        row = await tx.one(_SQL["moment"], params)
        assert row is not None
        if row["task_id"] is None:
            return row["now"], None
        payload = open_payload(key, asked.actor.user_scope, row)
        if payload.get("request") != fingerprint(asked.command, asked.task_id):
            raise reused()
        version = row["version"]
        return row["now"], await replayed(tx, key, asked.actor, row["task_id"], version)

    async def _append(
        self, tx: Transaction, key: DataKey, asked: Asked, events: Sequence[TaskEvent]
    ) -> bool:
        for event in events:
            if not await tx.run(_SQL["append"], event_row(key, asked.actor.user_scope, event)):
                return False
        return True

    async def _version_now(self, tx: Transaction, asked: Asked) -> int:
        row = found(await tx.one(_SQL["version"], asked.named))
        require_claim(asked, row["claim_token"])
        return int(row["version"])


def _place(task: Task) -> list[object]:
    """Return where a task stands, as the audit keeps it."""
    return [task.version, task.current_step, task.status]


async def require_key(keys: KeyRing, tx: Transaction, actor: Actor) -> DataKey:
    """Return the key of a user who must have one, for whoever has none has no task either."""
    key = await keys.find(tx, actor)
    if key is None:
        raise no_task()
    return key


async def replayed(
    tx: Transaction, key: DataKey, actor: Actor, task_id: UUID, version: int | None = None
) -> Task:
    """Return a task as its events tell, today or at a version, inside an open transaction."""
    task: Task | None = None
    seq = 0
    while True:
        page = named(actor, task_id) | {"after": seq, "limit": _READ_AT_ONCE}
        rows = await tx.all(_SQL["events"], page)
        wanted = [row for row in rows if version is None or row["version"] <= version]
        task, seq = fold(task, (open_event(key, actor.user_scope, row) for row in wanted), seq)
        if len(rows) < _READ_AT_ONCE or len(wanted) < len(rows):
            break
    if task is None:
        raise StorageError("task_history_damaged", "This task has no events: restore the database.")
    if version is not None and task.version < version:
        raise from_future(task.version)
    return task


class _SentTwice(Exception):
    """The same call was sent twice at once, and the other one was faster: undo this one, and look again."""
