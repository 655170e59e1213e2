"""What becomes of a turn of an agent? It is logged, and what it states is remembered.

A pass over the conversation looks at everything since the last one. What a user asks to remember in so many
words is remembered also where a session has had its passes for today.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import structlog

from mnemic.errors import InvalidInput, RateLimited
from mnemic.integrations.langchain.triggers import asks_to_remember
from mnemic.longterm.draft import Draft
from mnemic.longterm.extract import extract_rules
from mnemic.model import Actor, Candidate, Turn
from mnemic.service import MemoryService

_LOG = structlog.get_logger("mnemic.agent")
_USUAL = ("client_id_reused", "tool_call_not_found")
"""Why a turn that is played again, or whose call a summary took, is not logged."""
_BEFORE = 6
"""Turns that are read back, so that an answer is understood by its question."""


async def log_turns(service: MemoryService, actor: Actor, turns: Sequence[Turn]) -> None:
    """Log turns that are not logged yet; one that was logged with other words stays as it was.

    What a model or a tool gave and no log can hold is left out, by its code: the agent goes on.
    """
    if not turns or actor.session is None:
        return
    try:
        await service.sessions.append(actor, turns)
    except InvalidInput:
        await _one_by_one(service, actor, turns)


async def learn(service: MemoryService, actor: Actor, said: str) -> None:
    """Remember what the turn that just ended states; ``said`` is the user's message."""
    if actor.session is None:
        await _explicit(service, actor, [Turn("user", said)], 0)
        return
    turns = await service.sessions.tail(actor, _BEFORE)
    users = [number for number, turn in enumerate(turns) if turn.role == "user"]
    first_new = users[-1] if users else len(turns)
    if not service.has_chat_model and not extract_rules(turns, first_new=first_new):
        await service.resources.index(actor)
        return
    try:
        await service.extract(actor)
    except RateLimited:
        await _explicit(service, actor, turns, first_new)


async def _one_by_one(service: MemoryService, actor: Actor, turns: Sequence[Turn]) -> None:
    for turn in turns:
        try:
            await service.sessions.append(actor, [turn])
        except InvalidInput as error:
            if error.code not in _USUAL:
                _LOG.warning("turn_not_logged", reason=error.code, role=turn.role)
            if turn.tool_calls and turn.content.strip() and error.code not in _USUAL:
                await _one_by_one(service, actor, [replace(turn, tool_calls=())])


async def _explicit(
    service: MemoryService, actor: Actor, turns: Sequence[Turn], first_new: int
) -> None:
    """Remember what was asked for in so many words, outside of any pass."""
    if first_new >= len(turns) or not asks_to_remember(turns[first_new].content):
        return
    found = extract_rules(turns, first_new=first_new)
    drafts = [_draft(actor, one) for one in found if one.source == "user"]
    if drafts:
        await service.add_many(actor, drafts)


def _draft(actor: Actor, candidate: Candidate) -> Draft:
    # what is meant for a project waits for the next pass, which knows whether its user may write there
    return Draft(
        candidate.content,
        candidate.memory_type,
        "user" if candidate.scope == "project" else candidate.scope,
        candidate.confidence,
        candidate.source,
        source_id=actor.session,
        source_seqs=candidate.seqs if actor.session is not None else (),
        reason=candidate.reason or None,
    )
