"""How do the tables stay small, and how is a thread forgotten?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from mnemic.checks import whole
from mnemic.episodic import deeds
from mnemic.episodic.leases import unknown_thread
from mnemic.episodic.threads import Place, shown
from mnemic.episodic.work import Work, langgraph, place_named
from mnemic.errors import InvalidInput
from mnemic.model import Actor, known_actor
from mnemic.storage.pool import Deed
from mnemic.storage.statements import statements

_SQL = statements("episodes")
_AGAIN = timedelta(hours=12)
_MOST = 1_000
_OLDEST = timedelta(days=36_500)


class Keeping(Work):
    """Archives, brings back and deletes."""

    async def archive(
        self,
        actor: Actor,
        thread_id: str,
        *,
        keep: int | None = None,
        older_than: timedelta | None = None,
    ) -> int:
        """Move checkpoints of a thread into the archive and return how many; the newest stay.

        ``keep`` (from 1) and ``older_than`` default to the settings; a thread with channels that keep
        differences is left alone. Raises InvalidInput (``keep_out_of_range``, ``older_than_out_of_range``).
        """
        upkeep = langgraph("upkeep")
        place = place_named(actor, thread_id)
        before = datetime.now(UTC) - (self._after if older_than is None else _age(older_than))
        keeping = self._keep if keep is None else whole(keep, 1, 1_000_000, "keep")
        async with self._opened(place.actor, place) as (tx, lock, serializer):
            if lock is None:
                return 0
            count: int = await upkeep.archive(
                tx, lock, place, serializer, keep=keeping, before=before
            )
            return count

    async def archive_expired(self, *, limit: int = 100) -> Mapping[str, int]:
        """Archive what is expired in up to ``limit`` threads of all users, each as its own user.

        Returns how many ``threads`` and ``checkpoints``. For a job; users who refused are left alone.
        """
        now = datetime.now(UTC)
        params = {
            "before": now - self._after,
            "keep": self._keep,
            "again": now - _AGAIN,
            "most": whole(limit, 1, _MOST, "limit"),
        }
        async with self._database.system() as tx:
            rows = await tx.all(_SQL["to_archive"], params)
        counts = [
            await self.archive(Actor(row["user_id"], purpose="job"), shown(row["thread_id"]))
            for row in rows
        ]
        return {"threads": len(rows), "checkpoints": sum(counts)}

    async def restore(self, actor: Actor, thread_id: str) -> int:
        """Bring all archived checkpoints of a thread back and return how many."""
        upkeep = langgraph("upkeep")
        place = place_named(actor, thread_id)
        async with self._opened(place.actor, place) as (tx, lock, serializer):
            if lock is None:
                return 0
            count: int = await upkeep.restore(tx, lock, place, serializer)
            return count

    async def prune(self, actor: Actor, thread_id: str, *, keep: int = 1) -> int:
        """Delete all but the ``keep`` (from 1) newest checkpoints of a thread, for good; return how many.

        Raises Conflict (``delta_thread``).
        """
        upkeep = langgraph("upkeep")
        place = place_named(actor, thread_id)
        async with self._database.transaction(place.actor) as tx:
            keeping = whole(keep, 1, 1_000_000, "keep")
            count: int = await upkeep.prune(tx, place, keep=keeping)
            await tx.answer(count, *deeds.thread_pruned(place, count))
            return count

    async def delete_thread(self, actor: Actor, thread_id: str) -> None:
        """Delete a thread with its archive. Raises NotFound (``unknown_thread``)."""
        upkeep = langgraph("upkeep")
        place = place_named(actor, thread_id)
        async with self._database.transaction(place.actor) as tx:
            had = await upkeep.delete(tx, place)
            if had is None:
                raise unknown_thread()
            await tx.answer(None, *deeds.thread_deleted(place, had))

    async def delete_all(self, actor: Actor) -> int:
        """Delete every thread of the actor's user and return how many."""
        upkeep = langgraph("upkeep")
        async with self._database.transaction(known_actor(actor)) as tx:
            rows = await tx.all(_SQL["thread_ids"], {"scope_key": actor.user_scope})
            for row in rows:
                await upkeep.delete(tx, Place(actor, shown(row["thread_id"])))
            done = [Deed("delete_threads", actor.user_scope, len(rows))] if rows else []
            await tx.answer(len(rows), *done)
        return len(rows)

    async def delete_runs(self, actor: Actor, run_ids: Sequence[str]) -> int:
        """Delete the checkpoints of these runs, in all threads of the actor's user; return how many.

        Raises InvalidInput (``run_ids_text``) for what is no list.
        """
        upkeep = langgraph("upkeep")
        if isinstance(run_ids, str | bytes) or not isinstance(run_ids, Iterable):
            raise InvalidInput("run_ids_text", "Name the runs in a list.")
        async with self._opened(known_actor(actor)) as (tx, lock, serializer):
            if lock is None or not run_ids:
                return 0
            count: int = await upkeep.delete_runs(tx, lock, actor, run_ids, serializer)
            await tx.answer(count, *deeds.runs_deleted(actor, count))
            return count


def _age(value: object) -> timedelta:
    if not isinstance(value, timedelta) or not timedelta(0) <= value <= _OLDEST:
        raise InvalidInput(
            "older_than_out_of_range", "older_than is a timedelta of 0 to 36,500 days."
        )
    return value
