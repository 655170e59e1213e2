"""/api/user: away with a user and everything about them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from mnemic.api.answers import ErasureAnswer
from mnemic.api.doors import Who
from mnemic.api.guard import RIGHT, Guarded
from mnemic.api.queries import Confirmed
from mnemic.api.replies import reply
from mnemic.api.routes.memory import require_confirmation
from mnemic.api.views import plain

router = APIRouter(prefix="/api/user", route_class=Guarded, tags=["user"])


@router.delete(
    "", operation_id="forgetUser", response_model=ErasureAnswer, openapi_extra={RIGHT: "admin"}
)
async def forget(who: Who, query: Annotated[Confirmed, Query()]) -> Response:
    """Erase the user: every row about them and the keys that open what is left in copies.

    Needs ``confirm=true`` and the right ``admin``. Erasing twice erases nothing more, so an Idempotency-Key
    changes nothing here; its stored answers go with the user.
    """
    require_confirmation(query)
    return await who.read(
        who.memory.forget_user(who.actor, dry_run=query.dry_run),
        lambda erasure: reply(plain(erasure)),
    )
