"""/api/approvals: what agents wait for, and the user's word on it."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from mnemic.api.approval_shapes import (
    ApprovalsAnswer,
    Decide,
    DecidedAnswer,
    approval_view,
    decided_view,
)
from mnemic.api.doors import Asked, Who
from mnemic.api.guard import Guarded
from mnemic.api.paths import ApprovalId
from mnemic.api.replies import reply
from mnemic.episodic.episode import Episode

router = APIRouter(prefix="/api/approvals", route_class=Guarded, tags=["approvals"])


@router.get("", operation_id="listApprovals", response_model=ApprovalsAnswer)
async def waiting(who: Who) -> Response:
    """Return what agents wait for, the oldest first: in the session (``Mnemic-Session``), or in all."""
    found = who.memory.episodes.pending_approvals(who.actor, who.actor.session)
    return await who.read(
        found, lambda found: reply({"approvals": [approval_view(one) for one in found]})
    )


@router.post("/{approval_id}", operation_id="decideApproval", response_model=DecidedAnswer)
async def decide(who: Who, approval_id: ApprovalId, body: Decide) -> Response:
    """Approve, edit, reject or answer what an agent waits for, once.

    The decision is kept with the agent's checkpoint, and whoever runs it goes on with it. A second one is
    refused: 409, ``approval_decided``.
    """
    word = body.word()
    return await who.write(
        lambda: _decided(who, approval_id, word, body),
        lambda episode: reply(decided_view(approval_id, episode)),
    )


async def _decided(who: Asked, approval_id: str, word: str, body: Decide) -> Episode:
    episodes, actor = who.memory.episodes, who.actor
    if word == "edit":
        return await episodes.edit(actor, approval_id, body.arguments)
    if word == "reject":
        return await episodes.reject(actor, approval_id, body.message)
    if word == "answer":
        return await episodes.answer(actor, approval_id, body.value)
    return await episodes.approve(actor, approval_id, body.value)
