"""/api/verifications: what is not sure yet, and the user's word on it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from mnemic.api.answers import QuestionsAnswer, VerdictAnswer
from mnemic.api.bodies import Answer
from mnemic.api.doors import Who
from mnemic.api.guard import Guarded
from mnemic.api.paths import ItemId
from mnemic.api.queries import ListQuestions
from mnemic.api.replies import reply
from mnemic.api.views import plain, verdict_view
from mnemic.model import Verdict

router = APIRouter(prefix="/api/verifications", route_class=Guarded, tags=["verifications"])


@router.get("", operation_id="listVerifications", response_model=QuestionsAnswer)
async def questions(who: Who, query: Annotated[ListQuestions, Query()]) -> Response:
    """Return the pending memories with what to ask their user, oldest first."""
    return await who.read(
        who.memory.questions(who.actor, limit=query.limit),
        lambda found: reply({"questions": plain(found)}),
    )


@router.post("/{item_id}", operation_id="answerVerification", response_model=VerdictAnswer)
async def answer(who: Who, item_id: ItemId, body: Answer) -> Response:
    """Make a pending memory active (confirm) or remove it (deny), by its user's word."""

    async def work() -> Verdict:
        decide = who.memory.confirm if body.answer == "confirm" else who.memory.deny
        verdict = await decide(who.actor, item_id)
        who.service.metrics.decided([verdict])
        return verdict

    return await who.write(work, lambda verdict: reply(verdict_view(verdict)))
