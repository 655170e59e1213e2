"""Where is the summary of a session kept, and how does it grow?

On the session's row, sealed, with the turns that it covers. Whoever writes it names the version that they
read: of two who fold turns at once the later one reads again, and finds most of its turns covered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mnemic.chat import ChatModel
from mnemic.crypto import DataKey, place
from mnemic.errors import Conflict
from mnemic.keys import KeyRing
from mnemic.model import Actor, Turn
from mnemic.session.messages import MAX_READ, read_turns, session_ids, unknown_session
from mnemic.session.summarize import Summary, summarise
from mnemic.session.tokens import TokenCounter, estimate_tokens
from mnemic.storage.pool import Database, of_one_life
from mnemic.storage.statements import statements
from mnemic.storage.transaction import Deed, Params, Transaction

_SQL = statements("sessions")
ATTEMPTS = 4
MAX_BY_MODEL = 200
"""Turns that a model is shown at once; more at a time are summed up by extraction."""


class Summaries:
    """The summaries of sessions; the session comes from the actor."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        chat: ChatModel | None = None,
        *,
        count: TokenCounter = estimate_tokens,
    ) -> None:
        self._database = database
        self._keys = keys
        self._chat = chat
        self._count = count

    async def get(self, actor: Actor) -> Summary | None:
        """Return the summary, None where there is none yet. Raises NotFound (``session_not_found``)."""
        async with self._database.transaction(actor) as tx:
            key = await self._keys.obtain(tx, actor)
            return _opened(key, *await self._row(tx, actor))

    async def fold(self, actor: Actor, seqs: Sequence[int], budget_tokens: int) -> Summary | None:
        """Return the summary after it has taken in these turns, within ``budget_tokens``.

        Pinned turns, calls of tools and their results are never taken in. Raises NotFound
        (``session_not_found``), Conflict (``summary_outrun``) when others were faster four times.
        """
        for _ in range(ATTEMPTS):
            async with self._database.transaction(actor) as tx:
                key = await self._keys.obtain(tx, actor)
                ids, row = await self._row(tx, actor)
                before = _opened(key, ids, row)
                known = set(before.seqs) if before is not None else set()
                every = await self._turns(tx, key, actor, {*known, *seqs})
                life = tx.key_epoch
            new = [turn for turn in every if turn.seq not in known and may_fold(turn)]
            if not new:
                return before
            covered = [turn for turn in every if turn.seq in known]
            after = await self._summarised(new, before, covered, budget_tokens)
            with of_one_life(life):
                if await self._kept(actor, row["summary_version"], after):
                    return replace(after, version=row["summary_version"] + 1)
        raise Conflict("summary_outrun", "Others are changing this session: try again.")

    async def _summarised(
        self, new: Sequence[Turn], before: Summary | None, covered: Sequence[Turn], budget: int
    ) -> Summary:
        return await summarise(
            new,
            budget_tokens=budget,
            chat=self._chat if len(new) <= MAX_BY_MODEL else None,
            before=before,
            count=self._count,
            covered=covered,
        )

    async def _kept(self, actor: Actor, version: int, after: Summary) -> bool:
        """Write a summary over the version that was read; False when another is there, or none may be."""
        ids = session_ids(actor)
        async with self._database.transaction(actor) as tx:
            key = await self._keys.obtain(tx, actor)
            given = ids | {
                "summary_enc": key.seal(after.text, _at(ids, version + 1)),
                "summary_seqs": list(after.seqs),
                "summary_by": after.by,
                "summary_version": version + 1,
            }
            if not await tx.run(_SQL["keep_summary"], given):
                return False
            await tx.answer(after, Deed("sum_up_session", ids["scope_key"], version, version + 1))
        return True

    async def _row(self, tx: Transaction, actor: Actor) -> tuple[Params, dict[str, Any]]:
        ids = session_ids(actor)
        row = await tx.one(_SQL["summary"], ids)
        if row is None:
            raise unknown_session()
        return ids, row

    async def _turns(
        self, tx: Transaction, key: DataKey, actor: Actor, seqs: set[int]
    ) -> list[Turn]:
        found: list[Turn] = []
        after, last = (min(seqs) - 1, max(seqs)) if seqs else (0, 0)
        while after < last:
            page = await read_turns(tx, key, actor, after=after, until=last, limit=MAX_READ)
            found += [turn for turn in page if turn.seq in seqs]
            after += MAX_READ
        return found


def may_fold(turn: Turn) -> bool:
    """Tell whether a summary may take a turn in: no pinned one, no call of a tool, no result of one."""
    return not (turn.pinned or turn.tool_calls or turn.role == "tool")


def _opened(key: DataKey, ids: Params, row: dict[str, Any]) -> Summary | None:
    if row["summary_enc"] is None:
        return None
    version = row["summary_version"]
    return Summary(
        text=key.open(row["summary_enc"], _at(ids, version)),
        seqs=tuple(row["summary_seqs"]),
        by="model" if row["summary_by"] == "model" else "extract",
        version=version,
    )


def _at(ids: Params, version: int) -> bytes:
    return place("session", str(ids["scope_key"]), ids["session_id"], "summary", version)
