"""When does a conversation become memories, and how often may it?

A pass reads what was said since the last one, lets rules or a chat model propose, and hands every proposal to
the gate. At most ``MEMORY_MAX_EXTRACTIONS`` passes a session in 24 hours, counted when a pass starts. The
watermark moves only after the verdicts are written: a pass that was refused or killed is late, never lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from mnemic.chat import ChatModel
from mnemic.errors import NotFound, RateLimited
from mnemic.ids import new_id
from mnemic.longterm.draft import Draft
from mnemic.longterm.extract import extract_rules
from mnemic.longterm.extract.portions import extract_in_portions
from mnemic.longterm.extract.silence import LONGEST_READ
from mnemic.longterm.write import Writer
from mnemic.model import Actor, Candidate, Turn, Verdict
from mnemic.permissions import may
from mnemic.session.messages import read_turns, session_ids
from mnemic.storage.pool import Transaction, of_one_life
from mnemic.storage.statements import statements

_SQL = statements("messages")
_LOG = structlog.get_logger("mnemic.extract")
_CONTEXT = 4
_WINDOW = 400


@dataclass(frozen=True, slots=True)
class Rate:
    """How many passes a session had in the last 24 hours; ``retry_after`` in seconds, None while allowed."""

    used: int
    limit: int
    retry_after: float | None = None

    @property
    def allowed(self) -> bool:
        return self.used < self.limit


@dataclass(frozen=True, slots=True)
class Finding:
    """One proposal and what the gate said to it."""

    candidate: Candidate
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class PassReport:
    """What a pass read and found; ``skipped`` names proposals of a chat model that were unusable."""

    turns: int
    findings: tuple[Finding, ...] = ()
    skipped: tuple[str, ...] = ()


class Passes:
    """Runs extraction passes over the message log."""

    def __init__(self, writer: Writer, limit: int, chat: ChatModel | None = None) -> None:
        self._writer = writer
        self._limit = limit
        self._chat = chat

    async def rate(self, actor: Actor) -> Rate:
        """Return how much of the session's allowance is used. Raises InvalidInput (``session_required``)."""
        async with self._writer.database.transaction(actor) as tx:
            return await self._rate(tx, actor)

    async def run(self, actor: Actor, *, closing: bool = False) -> PassReport:
        """Extract from all turns that no pass has seen; without new turns nothing is counted.

        The pass of a session that is ``closing`` is counted and never refused. Raises NotFound
        (``session_not_found``) and RateLimited (``extraction_rate_limited``, with ``retry_after`` in
        seconds); ChatError when the chat model fails, with the watermark left in place.
        """
        span = await self._start(actor, closing)
        if span is None:
            return PassReport(0)
        after, until, life = span
        findings: list[Finding] = []
        skipped: list[str] = []
        with of_one_life(life):
            while after < until:
                upper = min(until, after + _WINDOW)
                turns, first_new, shares = await self._read(actor, after, upper)
                candidates, unusable = await self._propose(turns, first_new)
                skipped += unusable
                findings += await self._store(actor, candidates, turns, shares)
                await self._seen(actor, upper)
                after = upper
        return PassReport(until - span[0], tuple(findings), tuple(skipped))

    async def admit_ai_write(self, actor: Actor) -> None:
        """Count what an agent stores by itself: one pass a turn, however many memories.

        Raises RateLimited (``extraction_rate_limited``).
        """
        async with self._writer.database.transaction(actor) as tx:
            ids = session_ids(actor)
            session = await tx.one(_SQL["lock_session"], ids)
            turn = session["last_seq"] if session else 0
            await self._count(tx, actor, turn)

    async def _start(self, actor: Actor, closing: bool) -> tuple[int, int, int] | None:
        async with self._writer.database.transaction(actor) as tx:
            session = await tx.one(_SQL["lock_session"], session_ids(actor))
            if session is None:
                raise NotFound("session_not_found", "There is no such session.")
            if session["extracted_seq"] >= session["last_seq"]:
                return None
            await self._count(tx, actor, None, exempt=closing)
            return session["extracted_seq"], session["last_seq"], tx.key_epoch

    async def _count(
        self, tx: Transaction, actor: Actor, turn: int | None, *, exempt: bool = False
    ) -> None:
        ids = session_ids(actor) | {"turn": turn}
        row = await tx.one(_SQL["recent_passes"], ids)
        assert row is not None
        if row["this_turn"]:
            return
        if row["used"] >= self._limit and not exempt:
            raise RateLimited(
                "extraction_rate_limited",
                f"At most {self._limit} extraction passes a session in 24 hours; nothing is lost.",
                retry_after=round(row["retry_after"] or 86_400.0, 1),
            )
        await tx.run(_SQL["log_pass"], ids | {"id": new_id()})

    async def _rate(self, tx: Transaction, actor: Actor) -> Rate:
        row = await tx.one(_SQL["recent_passes"], session_ids(actor) | {"turn": None})
        assert row is not None
        full = row["used"] >= self._limit
        return Rate(row["used"], self._limit, row["retry_after"] if full else None)

    async def _read(self, actor: Actor, after: int, until: int) -> tuple[list[Turn], int, bool]:
        """Return turns, how many of them were seen before, and whether the actor writes for the project."""
        async with self._writer.database.transaction(actor) as tx:
            key = await self._writer.keys.obtain(tx, actor)
            turns = await read_turns(tx, key, actor, after=max(0, after - _CONTEXT), until=until)
        first_new = sum(1 for turn in turns if (turn.seq or 0) <= after)
        return turns, first_new, may(tx.role, "create", "members", own=True)

    async def _propose(
        self, turns: Sequence[Turn], first_new: int
    ) -> tuple[Sequence[Candidate], list[str]]:
        if self._chat is None:
            _tell_of_pastes(turns[first_new:])
            return extract_rules(turns, first_new=first_new), []
        answer = await extract_in_portions(turns, chat=self._chat, first_new=first_new)
        return answer.candidates, [skipped.reason for skipped in answer.skipped]

    async def _store(
        self, actor: Actor, candidates: Sequence[Candidate], turns: Sequence[Turn], shares: bool
    ) -> list[Finding]:
        said = {turn.seq: turn.created_at for turn in turns}
        drafts = [
            Draft(
                content=candidate.content,
                memory_type=candidate.memory_type,
                # what is said about a project that its user may not write to stays with the user
                scope="user" if candidate.scope == "project" and not shares else candidate.scope,
                confidence=candidate.confidence,
                source=candidate.source,
                source_id=actor.session,
                source_seqs=candidate.seqs,
                valid_from=max((t for s in candidate.seqs if (t := said.get(s))), default=None),
                reason=candidate.reason or None,
            )
            for candidate in candidates
        ]
        verdicts = await self._writer.add(actor, drafts)
        return [Finding(c, v) for c, v in zip(candidates, verdicts, strict=True)]

    async def _seen(self, actor: Actor, seq: int) -> None:
        async with self._writer.database.transaction(actor) as tx:
            await tx.run(_SQL["mark_extracted"], session_ids(actor) | {"seq": seq})


def _tell_of_pastes(turns: Sequence[Turn]) -> None:
    for turn in turns:
        if turn.role == "user" and len(turn.content) > LONGEST_READ:
            _LOG.info(
                "long_turn_read_in_part", seq=turn.seq, chars=len(turn.content), read=LONGEST_READ
            )
