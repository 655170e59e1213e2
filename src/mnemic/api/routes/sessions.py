"""/api/sessions/{id}/messages: what was said, for search and extraction to work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from mnemic.access.idempotency import Answer
from mnemic.api.answers import AppendedAnswer, TurnsAnswer
from mnemic.api.bodies import AppendMessages
from mnemic.api.doors import Asked, Who
from mnemic.api.guard import Guarded
from mnemic.api.paths import SessionId
from mnemic.api.queries import ReadTurns
from mnemic.api.replies import reply
from mnemic.api.session_shapes import turn_view
from mnemic.model import Actor, Turn

router = APIRouter(prefix="/api/sessions/{session_id}", route_class=Guarded, tags=["sessions"])


@router.post(
    "/messages", operation_id="appendMessages", status_code=201, response_model=AppendedAnswer
)
async def append(who: Who, session_id: SessionId, body: AppendMessages) -> Response:
    """Append turns in order, all or none, and return their sequence numbers."""
    actor = _in_session(who, session_id)
    turns = [
        Turn(
            role=message.role,
            content=message.content,
            created_at=message.created_at,
            speaker=message.speaker,
            tool_calls=() if message.tool_calls is None else message.tool_calls,
            tool_call_id=message.tool_call_id,
            intent=message.intent,
            pinned=message.pinned,
            client_id=message.client_id,
        )
        for message in body.messages
    ]

    def appended(seqs: Sequence[int]) -> Answer:
        return reply({"session": actor.session, "seqs": list(seqs)}, 201)

    return await who.write(lambda: who.memory.sessions.append(actor, turns), appended)


@router.get("/messages", operation_id="readMessages", response_model=TurnsAnswer)
async def read(who: Who, session_id: SessionId, query: Annotated[ReadTurns, Query()]) -> Response:
    """Return the turns behind ``after``, oldest first."""
    turns = who.memory.sessions.read(
        _in_session(who, session_id), after=query.after, limit=query.limit
    )
    return await who.read(
        turns, lambda found: reply({"messages": [turn_view(turn) for turn in found]})
    )


def _in_session(who: Asked, session_id: str) -> Actor:
    """Sessions are a user's own, so whichever one they name is theirs."""
    return replace(who.actor, session=session_id)
