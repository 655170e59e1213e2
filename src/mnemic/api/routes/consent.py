"""/api/consent: may we remember this user? Works also for those who refused."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from mnemic.api.answers import ConsentAnswer
from mnemic.api.bodies import SetConsent
from mnemic.api.doors import Who
from mnemic.api.guard import Guarded
from mnemic.api.replies import reply
from mnemic.api.views import plain

router = APIRouter(prefix="/api/consent", route_class=Guarded, tags=["consent"])


@router.get("", operation_id="showConsent", response_model=ConsentAnswer)
async def show(who: Who) -> Response:
    """Return what the user agreed to, with the records of it."""
    return await who.read(who.memory.consent.show(who.actor), lambda state: reply(plain(state)))


@router.put("", operation_id="setConsent", response_model=ConsentAnswer)
async def put(who: Who, body: SetConsent) -> Response:
    """Record what the user agrees to or refuses; the same again records nothing.

    It is repeatable by itself, so an Idempotency-Key changes nothing here.
    """

    consent = who.memory.consent
    change = consent.grant if body.state == "granted" else consent.refuse
    return await who.read(change(who.actor, body.purpose), lambda state: reply(plain(state)))
