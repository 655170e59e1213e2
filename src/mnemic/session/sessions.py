"""What can be asked of a session? Its log, its window and summary, what it keeps for a while, and its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mnemic.checks import whole
from mnemic.cursors import decode_named, encode_named
from mnemic.errors import InvalidInput
from mnemic.model import Actor, Turn, Vector, known_actor
from mnemic.session.condense import Conversation, condensed, shown_whole
from mnemic.session.messages import MAX_READ, MessageLog, session_ids, unknown_session
from mnemic.session.state import Entry, SessionState
from mnemic.session.summaries import Summaries
from mnemic.session.summarize import Summary
from mnemic.session.tokens import TokenCounter, estimate_tokens
from mnemic.session.turn_checks import checked_intent
from mnemic.session.turn_vectors import TurnVectors
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements
from mnemic.storage.transaction import Transaction

if TYPE_CHECKING:
    from mnemic.session.window import Window
    from mnemic.session.window_counts import WindowCounts

_SQL = statements("sessions")
LOOKED_AT = 200
"""Newest turns among which a budget chooses."""
MIN_BUDGET, MAX_BUDGET = 50, 1_000_000
MAX_PAGE = 1_000
Turns = list[Turn]
Seqs = list[int]


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session: when it began, was used and closed, how many turns it has, and to where it was extracted."""

    session_id: str
    project_id: str | None
    started_at: datetime
    last_active_at: datetime
    closed_at: datetime | None
    turns: int
    extracted: int
    summary_version: int


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Some sessions, the newest first; ``total`` counts all, ``cursor`` asks for the next page."""

    sessions: tuple[SessionInfo, ...]
    total: int
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Closure:
    """How a session ended; ``archived`` counts its memories that were put into the archive.

    ``extracted`` turns were read for memories, of which ``memories`` were stored. ``problem`` is the reason
    code why some turns were not read: closing again reads them.
    """

    session_id: str
    closed_at: datetime
    archived: int
    extracted: int
    memories: int
    problem: str | None = None


Close = Callable[[Actor], Awaitable[Closure]]
"""Ends the actor's session: ``mnemic.longterm.closing``."""


class Sessions:
    """The sessions of users. Session ids are a user's own: the same id of two users names two sessions."""

    def __init__(
        self,
        database: Database,
        log: MessageLog,
        state: SessionState,
        summaries: Summaries,
        *,
        hot: Window | None = None,
        vectors: TurnVectors | None = None,
        close: Close | None = None,
        count: TokenCounter = estimate_tokens,
    ) -> None:
        """Without ``hot`` everything comes from the log, without ``vectors`` words tell what is alike."""
        self._database = database
        self._log = log
        self._state = state
        self._summaries = summaries
        self._hot = hot
        self._vectors = vectors
        self._close = close
        self._count = count

    @property
    def counts(self) -> WindowCounts | None:
        """How reads and writes of windows ended in this process; None for sessions made without them."""
        return None if self._hot is None else self._hot.counts

    # ---- what was said

    async def append(self, actor: Actor, turns: Sequence[Turn]) -> Seqs:
        """Append turns in order, all or none, and return their numbers. See ``MessageLog.append``."""
        return await (self._hot or self._log).append(actor, turns)

    async def read(
        self, actor: Actor, *, after: int = 0, until: int | None = None, limit: int = MAX_READ
    ) -> Turns:
        """Return turns of the log, oldest first. See ``MessageLog.read``."""
        return await self._log.read(actor, after=after, until=until, limit=limit)

    async def tail(self, actor: Actor, last: int = 20) -> Turns:
        """Return the newest ``last`` turns (0 to 10,000), oldest first; all when there are fewer.

        Raises NotFound (``session_not_found``), InvalidInput (``last_out_of_range``).
        """
        if self._hot is not None:
            return await self._hot.read(actor, last)
        return await self._log.tail(actor, last)

    async def pin(self, actor: Actor, seqs: Sequence[int], *, pinned: bool = True) -> int:
        """Keep turns whenever the conversation is shortened, or no longer. See ``MessageLog.pin``."""
        return await (self._hot or self._log).pin(actor, seqs, pinned=pinned)

    async def window(
        self,
        actor: Actor,
        last: int = 20,
        *,
        budget_tokens: int | None = None,
        intent: str | None = None,
    ) -> Conversation:
        """Return the conversation as it goes into a prompt.

        Without a budget: the newest ``last`` turns (0 to 10,000), and more where a tool's result would lose
        its call. With ``budget_tokens`` (50 to 1,000,000): of the newest 200 turns those that contribute to
        what the session is about, or to the open ``intent``, within the budget; what is oldest is folded into
        the summary, whose tokens count too. Raises NotFound (``session_not_found``), InvalidInput
        (``last_out_of_range``, ``budget_tokens_out_of_range``, ``intent_not_text``).
        """
        whole(last, 0, MAX_READ, "last")
        intent = checked_intent(intent)
        if budget_tokens is None:
            turns = await self.tail(actor, last)
            return await shown_whole(self._log, self._summaries, actor, turns, last, self._count)
        whole(budget_tokens, MIN_BUDGET, MAX_BUDGET, "budget_tokens")
        turns, known = await self._newest(actor)
        return await condensed(
            self._log,
            self._summaries,
            self._vectors,
            actor,
            turns,
            known,
            budget_tokens,
            intent=intent,
            count=self._count,
        )

    async def summary(self, actor: Actor) -> Summary | None:
        """Return the summary of the session's beginning, None where there is none.

        Raises NotFound (``session_not_found``).
        """
        return await self._summaries.get(actor)

    async def info(self, actor: Actor) -> SessionInfo:
        """Return what is known of the session itself. Raises NotFound (``session_not_found``)."""
        ids = session_ids(actor)
        async with self._database.transaction(actor) as tx:
            row = await tx.one(_SQL["session"], ids)
        if row is None:
            raise unknown_session()
        return _info(row)

    async def require(self, actor: Actor) -> None:
        """Raise NotFound (``session_not_found``) unless the session has a log or memories of its own."""
        async with self._database.transaction(actor) as tx:
            await require_session(tx, actor)

    async def list(
        self, actor: Actor, *, limit: int = 50, cursor: str | None = None
    ) -> SessionPage:
        """Return a page of the user's sessions with a log, the last begun first, with the total of all pages.

        ``limit`` is 1 to 1,000; in which session the actor is does not matter. Raises InvalidInput
        (``limit_out_of_range``, ``invalid_cursor``).
        """
        whole(limit, 1, MAX_PAGE, "limit")
        before_at, before_id = (None, None) if cursor is None else decode_named(cursor)
        params: dict[str, Any] = {
            "session_scopes": known_actor(actor).session_prefix,
            "user_id": actor.user,
            "before_at": before_at,
            "before_id": before_id,
            "limit": limit + 1,
        }
        async with self._database.transaction(actor) as tx:
            rows = await tx.all(_SQL["list"], params)
            counted = await tx.one(_SQL["count"], params)
        shown = tuple(_info(row) for row in rows[:limit])
        last = shown[-1] if len(rows) > limit else None
        after = None if last is None else encode_named(last.started_at, last.session_id)
        return SessionPage(shown, counted["total"] if counted else 0, after)

    # ---- what it keeps for a while

    async def set(
        self, actor: Actor, name: str, value: object, *, ttl: float | None = None
    ) -> Entry:
        """Keep a value for ``ttl`` seconds (30 minutes unless said). See ``SessionState.set``."""
        return await self._state.set(actor, name, value, ttl=ttl)

    async def get(self, actor: Actor, name: str, default: object = None) -> Any:
        """Return the value of a name, ``default`` where there is none (any more)."""
        return await self._state.get(actor, name, default)

    async def entry(self, actor: Actor, name: str) -> Entry | None:
        """Return a value with its times, None where there is none (any more)."""
        return await self._state.entry(actor, name)

    async def delete(self, actor: Actor, name: str) -> bool:
        """Forget the value of a name; return whether there was one."""
        return await self._state.delete(actor, name)

    async def state(self, actor: Actor) -> Mapping[str, Entry]:
        """Return all values by name. Raises NotFound (``session_not_found``)."""
        return await self._state.all(actor)

    # ---- its end

    async def close(self, actor: Actor) -> Closure:
        """End the session: what was said becomes memories, its own memories go into the archive.

        Ending it twice is the same. Raises NotFound (``session_not_found``).
        """
        if self._close is None:
            raise InvalidInput("service_not_open", "These sessions were made without their end.")
        return await self._close(actor)

    # ---- how it is done

    async def _newest(self, actor: Actor) -> tuple[Turns, Sequence[Vector | None]]:
        if self._hot is None:
            turns = await self._log.tail(actor, LOOKED_AT)
            return turns, [None] * len(turns)
        pairs = await self._hot.with_vectors(actor, LOOKED_AT)
        return [turn for turn, _ in pairs], [vector for _, vector in pairs]


async def require_session(tx: Transaction, actor: Actor) -> None:
    """Raise NotFound (``session_not_found``) unless the session has a log or memories of its own."""
    row = await tx.one(_SQL["known_session"], session_ids(actor))
    if row is None or not row["known"]:
        raise unknown_session()


def _info(row: Mapping[str, Any]) -> SessionInfo:
    return SessionInfo(
        session_id=row["session_id"],
        project_id=row["project_id"],
        started_at=row["started_at"],
        last_active_at=row["last_active_at"],
        closed_at=row["closed_at"],
        turns=row["last_seq"],
        extracted=row["extracted_seq"],
        summary_version=row["summary_version"],
    )
