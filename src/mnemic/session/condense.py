"""How does a conversation become what a prompt has room for? Turns that stay, and a summary of the oldest."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from mnemic.model import Actor, Turn, Vector
from mnemic.session.exchanges import whole_tail
from mnemic.session.messages import MessageLog
from mnemic.session.summaries import Summaries, may_fold
from mnemic.session.summarize import Summary
from mnemic.session.tokens import TokenCounter, turn_tokens
from mnemic.session.truncate import Truncation, truncate
from mnemic.session.turn_vectors import TurnVectors

MAX_SUMMARY = 1_000
"""Tokens of a summary at most; and at most a quarter of the budget."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as it goes into a prompt: a summary, then turns, oldest first.

    ``left_out`` are the turns that are neither shown nor summed up; they stay in the log. ``tokens`` counts
    turns and summary; ``fits`` is False when what never goes is over the budget by itself.
    """

    turns: tuple[Turn, ...]
    summary: Summary | None = None
    left_out: tuple[int, ...] = ()
    tokens: int = 0
    fits: bool = True


async def shown_whole(
    log: MessageLog,
    summaries: Summaries,
    actor: Actor,
    turns: Sequence[Turn],
    last: int,
    count: TokenCounter,
) -> Conversation:
    """Return the newest turns, with those before them that their tool results answer."""
    shown: Sequence[Turn] = turns
    if turns and turns[0].seq and turns[0].seq > 1 and _lacks_call(turns):
        shown = whole_tail(await log.tail(actor, len(turns) + _REACH), last)
    else:
        shown = whole_tail(turns, len(turns))
    summary = await summaries.get(actor)
    tokens = sum(turn_tokens(turn, count) for turn in shown)
    return Conversation(tuple(shown), summary, tokens=tokens + _summary_tokens(summary, count))


_REACH = 200


def _lacks_call(turns: Sequence[Turn]) -> bool:
    called = {call.id for turn in turns for call in turn.tool_calls}
    return any(turn.role == "tool" and turn.tool_call_id not in called for turn in turns)


async def condensed(
    log: MessageLog,
    summaries: Summaries,
    vectors: TurnVectors | None,
    actor: Actor,
    turns: Sequence[Turn],
    known: Sequence[Vector | None],
    budget_tokens: int,
    *,
    intent: str | None,
    count: TokenCounter,
) -> Conversation:
    """Return what of the newest ``turns`` stays within a budget, after the oldest went into the summary."""
    first = turns[0].seq or 1 if turns else 1
    earlier = await log.pinned(actor, before=first) if first > 1 else []
    summary = await summaries.get(actor)
    covered = set(summary.seqs) if summary is not None else set()
    pairs = [
        (turn, vector)
        for turn, vector in zip([*earlier, *turns], [*([None] * len(earlier)), *known], strict=True)
        if turn.pinned or turn.seq not in covered
    ]
    open_turns, open_known = [turn for turn, _ in pairs], [vector for _, vector in pairs]
    # what was folded before lies in front of what was not; calls of tools in between never are
    behind = max((seq for seq in covered if seq < first), default=0)
    unseen = set(range(behind + 1, first)) - {turn.seq for turn in earlier}
    budget = budget_tokens - _summary_tokens(summary, count)
    cut = partial(truncate, open_turns, count=count, intent=intent)
    chosen = await _chosen(
        cut, vectors, actor, open_turns, open_known, max(1, budget), bool(unseen)
    )
    fold = sorted({turn.seq for turn in chosen.oldest if turn.seq and may_fold(turn)} | unseen)
    if fold:
        room = max(20, min(MAX_SUMMARY, budget_tokens // 4))
        summary = await summaries.fold(actor, fold, room)
    return _conversation(chosen, summary, budget_tokens, count)


async def _chosen(
    cut: partial[Truncation],
    vectors: TurnVectors | None,
    actor: Actor,
    turns: Sequence[Turn],
    known: Sequence[Vector | None],
    budget: int,
    more: bool,
) -> Truncation:
    """Choose by words and vectors, which are made only where something has to go."""
    reserve = max(20, min(MAX_SUMMARY, budget // 4))
    if more:  # what lies further back goes into the summary in any case
        budget, reserve = max(1, budget - reserve), 0
    whole = cut(budget)
    if whole.fits and not (whole.aside or whole.oldest or whole.pairs):
        return whole
    if vectors is None:
        return await asyncio.to_thread(cut, budget, reserve=reserve)
    found, curve = await vectors.of(actor, turns, known)
    return await asyncio.to_thread(cut, budget, vectors=found, curve=curve, reserve=reserve)


def _conversation(
    chosen: Truncation, summary: Summary | None, budget: int, count: TokenCounter
) -> Conversation:
    covered = set(summary.seqs) if summary is not None else set()
    gone = (*chosen.aside, *chosen.oldest, *chosen.pairs, *chosen.orphans)
    left_out = sorted(turn.seq for turn in gone if turn.seq and turn.seq not in covered)
    tokens = chosen.tokens + _summary_tokens(summary, count)
    return Conversation(chosen.kept, summary, tuple(left_out), tokens, tokens <= budget)


def _summary_tokens(summary: Summary | None, count: TokenCounter) -> int:
    return 0 if summary is None else count(summary.shown)
