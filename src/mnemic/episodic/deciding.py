"""What waits for a person, and what becomes of their decision? And how does a run go on otherwise?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from mnemic.episodic import deeds, leases
from mnemic.episodic.episode import Approval, Decision, Episode
from mnemic.episodic.leases import Lease, unknown_thread
from mnemic.episodic.standing import Standing, episode_of
from mnemic.episodic.threads import Place, shown, storable, token_named
from mnemic.episodic.work import langgraph, place_named
from mnemic.errors import Conflict, InvalidInput
from mnemic.model import Actor, clean_id, known_actor
from mnemic.storage.pool import Deed
from mnemic.storage.statements import statements

_SQL = statements("episodes")


class Deciding(Standing):
    """Takes decisions, and says how a run goes on."""

    async def pending_approvals(
        self, actor: Actor, session_id: str | None = None
    ) -> tuple[Approval, ...]:
        """Return what waits for the actor's user, in all sessions or one, the oldest first.

        Raises InvalidInput (``invalid_id``).
        """
        if session_id is not None:
            session_id = clean_id(session_id, "session")
        approvals, moments = langgraph("approvals"), langgraph("moments")
        ids = {"scope_key": known_actor(actor).user_scope, "session_id": session_id}
        async with self._opened(actor) as (tx, lock, serializer):
            found: list[Approval] = []
            for row in [] if lock is None else await tx.all(_SQL["waiting"], ids):
                assert lock is not None
                within = lock.of(row["thread_id"])
                found += approvals.approvals_in(row, moments.opened(row, within, serializer))
        return tuple(found)

    async def approve(self, actor: Actor, approval_id: str, value: Any = None) -> Episode:
        """Let a run do what it asks for; ``value`` answers a question that is not about tool calls.

        The decision is kept with the checkpoint: ``graph.ainvoke(None, episode.config)`` goes on with it, in
        any process. Raises NotFound (``unknown_approval``), Conflict (``approval_decided``,
        ``session_closed``), InvalidInput (``decision_not_allowed``, ``value_not_serializable``,
        ``value_unwanted``).
        """
        return await self._decide(actor, approval_id, "approve", value, None)

    async def edit(self, actor: Actor, approval_id: str, arguments: Any) -> Episode:
        """Let a run do something else: the tool with other ``arguments``. Raises as ``approve`` does, and
        InvalidInput (``edit_missing``, ``several_actions``)."""
        return await self._decide(actor, approval_id, "edit", arguments, None)

    async def reject(self, actor: Actor, approval_id: str, message: str | None = None) -> Episode:
        """Do not let a run do what it asks for; ``message`` says why. Raises as ``approve`` does."""
        return await self._decide(actor, approval_id, "reject", None, message)

    async def answer(self, actor: Actor, approval_id: str, value: Any) -> Episode:
        """Give the run this very ``value`` as the answer. Raises as ``approve`` does."""
        return await self._decide(actor, approval_id, None, value, None)

    async def _decide(
        self,
        actor: Actor,
        approval_id: str,
        decision: Decision | None,
        given: Any,
        message: str | None,
    ) -> Episode:
        approvals = langgraph("approvals")
        async with self._opened(known_actor(actor)) as (tx, lock, serializer):
            if lock is None:
                raise approvals.unknown_approval()
            row, _, _ = await approvals.find(tx, actor, lock, approval_id, serializer)
            place = Place(actor, shown(row["thread_id"]))
            session = await leases.hold(tx, place)
            # again, now that nobody else decides
            row, moment, question = await approvals.find(tx, actor, lock, approval_id, serializer)
            answer = given
            if decision is not None:
                answer = approvals.answer_to(question.value, decision, given, message)
            within, ids = lock.of(place.stored), place.ids | {"session_id": session}
            moment = await approvals.put_answer(
                tx, within, ids, moment, question, answer, serializer
            )
            episode = episode_of(actor, row, moment)
            deed = Deed(f"{decision or 'answer'}_action", approval_id, None, answer)
            await tx.answer(episode, deed)
        return episode

    async def retry(self, actor: Actor, thread_id: str) -> Mapping[str, Any]:
        """Return the config to run a failed thread with again: ``graph.ainvoke(None, config)`` repeats what
        failed, and not what was done. Raises NotFound (``unknown_thread``), Conflict (``nothing_failed``)."""
        place = place_named(actor, thread_id)
        moments = langgraph("moments")
        async with self._opened(place.actor, place) as (tx, lock, serializer):
            session = await leases.admit(tx, place)
            row = await tx.one(_SQL["snapshot_of_thread"], place.ids)
            if lock is None or row is None or row["status"] != "failed":
                raise Conflict("nothing_failed", "Nothing failed in this thread.")
            moment = replace(moments.opened(row, lock, serializer), failure=None)
            ids = place.ids | {"session_id": session}
            await moments.write(tx, lock, ids, moment, serializer)
            await tx.answer(None, Deed("retry_thread", place.stored))
        return place.config()

    async def fork(
        self, actor: Actor, thread_id: str, checkpoint_id: str, *, into: str | None = None
    ) -> Mapping[str, Any]:
        """Go on from an earlier checkpoint and return the config to run with.

        In the same thread its state becomes the newest again (later checkpoints stay in the history). With
        ``into``, a new thread begins with all up to it, open questions included. Raises NotFound
        (``unknown_thread``, ``unknown_checkpoint``), Conflict (``thread_exists``, ``thread_leased``,
        ``session_closed``).
        """
        forks = langgraph("forks")
        place = place_named(actor, thread_id)
        storable(checkpoint_id, "checkpoint")
        saver = self.checkpointer(place.actor, allow=self._allowed)
        if into is None:
            await forks.in_place(saver, place, checkpoint_id)
            return place.config()
        target = place_named(actor, into)
        async with self._opened(place.actor, place) as (tx, lock, serializer):
            if lock is None:
                raise unknown_thread()
            await forks.into(tx, lock, place, target, checkpoint_id, serializer)
            await tx.answer(None, deeds.thread_forked(place, checkpoint_id, target.stored))
        return target.config()

    async def lease(
        self, actor: Actor, thread_id: str, *, seconds: int = 60, token: UUID | None = None
    ) -> Lease:
        """Take a thread for a run, for 1 to 86,400 ``seconds``; run the graph with ``lease.config``.

        Until then every other run's saves are refused. Raises Conflict (``thread_leased``), InvalidInput
        (``invalid_lease``) for a ``token`` that is none.
        """
        token = token_named(token)
        place = place_named(actor, thread_id)
        async with self._opened(place.actor, place, make=True) as (tx, _, _):
            return await leases.take(tx, place, seconds, token)

    async def renew(self, actor: Actor, lease: Lease, *, seconds: int = 60) -> Lease:
        """Hold a lease for longer, from now on. Raises Conflict (``lease_lost``), InvalidInput
        (``invalid_lease``)."""
        place = _leased(actor, lease)
        async with self._database.transaction(place.actor) as tx:
            return await leases.renew(tx, place, lease.token, seconds)

    async def release(self, actor: Actor, lease: Lease) -> None:
        """Give a lease back before its time. Raises InvalidInput (``invalid_lease``)."""
        place = _leased(actor, lease)
        async with self._database.transaction(place.actor) as tx:
            await leases.drop(tx, place, lease.token)


def _leased(actor: Actor, lease: object) -> Place:
    if not isinstance(lease, Lease):
        raise InvalidInput("invalid_lease", "Give the lease that lease() returned.")
    return place_named(actor, lease.thread)
