"""Where does each thread stand, and how did it come there?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mnemic.checks import whole
from mnemic.episodic.episode import (
    Episode,
    Step,
    ThreadInfo,
    messages_in,
    todos_in,
    tools_in,
)
from mnemic.episodic.leases import unknown_thread
from mnemic.episodic.threads import Place, shown
from mnemic.episodic.work import Work, langgraph, place_named
from mnemic.errors import Conflict, InvalidInput
from mnemic.model import Actor, clean_id, known_actor
from mnemic.storage.statements import statements

_SQL = statements("episodes")
_MOST = 1_000


class Standing(Work):
    """Shows episodes."""

    async def resume(self, actor: Actor, session_id: str | None = None) -> Episode:
        """Return where a session's agent stopped (its thread that was written last).

        One row is read. Raises NotFound (``unknown_thread``), Conflict (``session_closed``), InvalidInput
        (``session_required``).
        """
        session = session_id or known_actor(actor).session
        if session is None:
            raise InvalidInput("session_required", "Name the session to go on with.")
        named = Actor(actor.user, actor.project, session, actor.agent, actor.purpose)
        ids = {"scope_key": named.user_scope, "session_id": named.session}
        return await self._episode(named, "snapshot", ids)

    async def thread(self, actor: Actor, thread_id: str) -> Episode:
        """Return how one thread stands. Raises NotFound (``unknown_thread``)."""
        place = place_named(actor, thread_id)
        return await self._episode(actor, "snapshot_of_thread", place.ids)

    async def threads(
        self, actor: Actor, *, session_id: str | None = None, limit: int = 50
    ) -> tuple[ThreadInfo, ...]:
        """Return the actor's threads, the last active first; ``limit`` is 1 to 1,000.

        Raises InvalidInput (``invalid_id``).
        """
        if session_id is not None:
            session_id = clean_id(session_id, "session")
        whole(limit, 1, _MOST, "limit")
        ids = {"scope_key": known_actor(actor).user_scope, "session_id": session_id, "limit": limit}
        async with self._database.transaction(actor) as tx:
            rows = await tx.all(_SQL["threads"], ids)
        return tuple(_info(row) for row in rows)

    async def history(
        self, actor: Actor, thread_id: str, *, limit: int = 50, before: str | None = None
    ) -> tuple[Step, ...]:
        """Return the checkpoints of a thread that are at hand, the newest first (``before`` one).

        ``limit`` is 1 to 1,000. Raises NotFound (``unknown_thread``).
        """
        whole(limit, 1, _MOST, "limit")
        moments = langgraph("moments")
        place = place_named(actor, thread_id)
        last: Any = None if before is None else place.config(checkpoint_id=before)
        saver = self.checkpointer(place.actor, allow=self._allowed)
        at: Any = place.config(checkpoint_ns="")
        found = [one async for one in saver.alist(at, before=last, limit=limit)]
        if not found and before is None:
            raise unknown_thread()
        return tuple(_step(one, moments) for one in found)

    async def state(
        self, actor: Actor, thread_id: str, checkpoint_id: str | None = None
    ) -> Mapping[str, Any]:
        """Return the channels of a checkpoint, the newest by default; an archived one is brought back.

        Raises NotFound (``unknown_thread``).
        """
        moments = langgraph("moments")
        place = place_named(actor, thread_id)
        at: Any = place.config(**({"checkpoint_id": checkpoint_id} if checkpoint_id else {}))
        found = await self.checkpointer(place.actor, allow=self._allowed).aget_tuple(at)
        if found is None:
            raise unknown_thread()
        values: Mapping[str, Any] = moments.of_checkpoint(found.checkpoint).values
        return values

    async def _episode(self, actor: Actor, statement: str, ids: Mapping[str, Any]) -> Episode:
        moments = langgraph("moments")
        async with self._opened(actor) as (tx, lock, serializer):
            row = None if lock is None else await tx.one(_SQL[statement], dict(ids))
            if lock is None or row is None or not row["checkpoint_id"]:
                raise unknown_thread()
            if row["closed"]:
                raise Conflict("session_closed", "This session was closed: open another one.")
            moment = moments.opened(row, lock.of(row["thread_id"]), serializer)
        return episode_of(actor, row, moment)


def episode_of(actor: Actor, row: Mapping[str, Any], moment: Any) -> Episode:
    """Return a thread's snapshot as it is shown."""
    messages = messages_in(moment.values)
    thread = shown(row["thread_id"])
    of_session = Actor(actor.user, actor.project, row["session_id"])
    return Episode(
        session_id=row["session_id"],
        thread_id=thread,
        checkpoint_id=moment.checkpoint_id,
        status=moment.status,
        next=moment.next,
        state=moment.values,
        messages=messages,
        todo_list=todos_in(moment.values),
        tools=tools_in(messages),
        approvals=langgraph("approvals").approvals_in(row, moment),
        failure=moment.failure,
        updated_at=row["updated_at"],
        config=Place(of_session, thread).config(),
    )


def _info(row: Mapping[str, Any]) -> ThreadInfo:
    return ThreadInfo(
        shown(row["thread_id"]),
        row["session_id"],
        row["project_id"],
        row["status"],
        row["waiting"] or 0,
        row["live"],
        row["archived"],
        row["created_at"],
        row["last_active_at"],
    )


def _step(found: Any, moments: Any) -> Step:
    metadata, checkpoint = found.metadata, found.checkpoint
    failed = [value for _, channel, value in found.pending_writes or () if channel == moments.ERROR]
    parent = found.parent_config
    failure = moments.failure_of(failed[0]) if failed else None
    if "incomplete" in metadata:
        failure = "A part of this checkpoint is missing."
    return Step(
        checkpoint["id"],
        None if parent is None else parent["configurable"]["checkpoint_id"],
        metadata.get("step"),
        metadata.get("source"),
        metadata.get("run_id"),
        datetime.fromisoformat(checkpoint["ts"]) if checkpoint.get("ts") else None,
        moments.next_nodes(checkpoint),
        failure,
        found.config,
    )
