"""How does a session end? What was said becomes memories, what was for the session only goes to the archive.

First it is closed, so that nothing more is said; then come extraction, the archive and the window, each of
which can be done again. So closing twice is the same, and closing again finishes what was interrupted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

from mnemic.errors import ChatError, EmbeddingError
from mnemic.longterm.passes import Passes, PassReport
from mnemic.longterm.write import Writer
from mnemic.model import Actor
from mnemic.session.messages import session_ids
from mnemic.session.sessions import Closure, require_session
from mnemic.storage.pool import of_one_life
from mnemic.storage.statements import statements
from mnemic.storage.transaction import Deed

_SQL = statements("sessions")
_ITEMS = statements("items")
_LOG = statements("messages")
_STORED = ("stored", "superseded", "pending")
Step = Callable[[Actor], Awaitable[object]]


class Closing:
    """Ends sessions; the session comes from the actor."""

    def __init__(
        self,
        writer: Writer,
        passes: Passes,
        *,
        index: Step | None = None,
        drop_window: Step | None = None,
    ) -> None:
        """``index`` makes the turns searchable, ``drop_window`` forgets the window; neither is needed."""
        self._writer = writer
        self._passes = passes
        self._index = index
        self._drop_window = drop_window

    async def run(self, actor: Actor) -> Closure:
        """Close the actor's session, and return what became of it.

        A chat model or an encoder that does not answer is told as ``problem``; the session is closed all the
        same, and closing it again reads what was left. Raises NotFound (``session_not_found``).
        """
        closed_at, life = await self._closed(actor)
        with of_one_life(life):
            report, problem = await self._extracted(actor)
            archived = await self._archived(actor)
        if self._drop_window is not None:
            await self._drop_window(actor)
        return Closure(
            session_id=str(actor.session),
            closed_at=closed_at,
            archived=archived,
            extracted=report.turns,
            memories=sum(found.verdict.outcome in _STORED for found in report.findings),
            problem=problem,
        )

    async def _closed(self, actor: Actor) -> tuple[datetime, int]:
        ids = session_ids(actor)
        async with self._writer.database.transaction(actor) as tx:
            await require_session(tx, actor)
            await tx.run(_LOG["open_session"], ids)  # of one that has memories only, and no log
            new = await tx.run(_SQL["close"], ids)
            row = await tx.one(_SQL["session"], ids)
            assert row is not None, "a session that was opened is there"
            deeds = [Deed("close_session", ids["scope_key"], None, row["last_seq"])] if new else []
            await tx.answer(None, *deeds)
            return row["closed_at"], tx.key_epoch

    async def _extracted(self, actor: Actor) -> tuple[PassReport, str | None]:
        try:
            if self._index is not None:
                await self._index(actor)
            return await self._passes.run(actor, closing=True), None
        except (ChatError, EmbeddingError) as error:
            return PassReport(0), error.code

    async def _archived(self, actor: Actor) -> int:
        """Archive the session's own memories, and forget what it kept for a while."""
        ids = session_ids(actor)
        async with self._writer.database.transaction(actor) as tx:
            await tx.one(_ITEMS["lock_scope"], ids)
            count = await tx.run(_SQL["archive_items"], ids)
            await tx.run(_SQL["drop_all_state"], ids)
            deeds = [Deed("archive_memories", ids["scope_key"], count, 0)] if count else []
            await tx.answer(count, *deeds)
        return count
