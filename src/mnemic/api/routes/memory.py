"""/api/memory: what is to be remembered, what is known, and away with all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from mnemic.access.idempotency import Answer
from mnemic.api.answers import DeletionAnswer, ItemsAnswer, VerdictAnswer, VerdictsAnswer
from mnemic.api.bodies import AddMemories, AddMemory
from mnemic.api.doors import Who
from mnemic.api.guard import Guarded
from mnemic.api.paging import mark_of, unwrap, wrap
from mnemic.api.preconditions import etag
from mnemic.api.queries import Confirmed, ListMemory
from mnemic.api.replies import reply
from mnemic.api.views import plain, verdict_view
from mnemic.errors import PermissionDenied
from mnemic.longterm.draft import Draft
from mnemic.longterm.items import Deletion
from mnemic.model import Verdict

router = APIRouter(prefix="/api/memory", route_class=Guarded, tags=["memory"])


@router.post(
    "",
    operation_id="addMemory",
    status_code=201,
    response_model=VerdictAnswer,
    responses={200: {"model": VerdictAnswer, "description": "Duplicate or rejected: no row added"}},
    response_description="Stored, superseded or pending: a row was added",
)
async def add(who: Who, body: AddMemory) -> Response:
    """Ask the gate to remember one text.

    201 with Location and ETag when a row was added (stored, superseded, or pending its user's word), 200 when
    none was (duplicate, rejected). The verdict in the body says what happened and why.
    """

    async def work() -> Verdict:
        verdict = await who.memory.add_explicit_memory(
            who.actor,
            body.content,
            body.memory_type,
            body.scope,
            confidence=body.confidence,
            source=body.source,
            source_id=body.source_id,
            valid_from=body.valid_from,
            valid_to=body.valid_to,
            metadata=body.metadata,
            visibility=body.visibility,
        )
        who.service.metrics.decided([verdict])
        return verdict

    return await who.write(work, added)


def added(result: Verdict | Sequence[Verdict]) -> Answer:
    """Return the answer to one text; a writer of many gives the verdict in a list."""
    verdict = result if isinstance(result, Verdict) else result[0]
    body = verdict_view(verdict)
    if verdict.id is None or verdict.outcome not in ("stored", "superseded", "pending"):
        return reply(body, 200)
    return reply(body, 201, Location=f"/api/memory/{verdict.id}", ETag=etag(1))


@router.post("/batch", operation_id="addMemories", response_model=VerdictsAnswer)
async def add_batch(who: Who, body: AddMemories) -> Response:
    """Ask the gate to remember up to 100 texts, each with a verdict of its own, in order."""
    drafts = [Draft(**{name: getattr(one, name) for name in _DRAFTED}) for one in body.memories]

    async def work() -> list[Verdict]:
        verdicts = await who.memory.add_many(who.actor, drafts)
        who.service.metrics.decided(verdicts)
        return verdicts

    return await who.write(work, _all_added, at_once=False)


_DRAFTED = tuple(AddMemory.model_fields)


def _all_added(verdicts: Sequence[Verdict]) -> Answer:
    return reply({"verdicts": [verdict_view(verdict) for verdict in verdicts]})


@router.get("", operation_id="listMemory", response_model=ItemsAnswer)
async def list_memory(who: Who, query: Annotated[ListMemory, Query()]) -> Response:
    """List memories, newest first, a page at a time."""
    filters = {"memory_type": query.memory_type, "scope": query.scope, "status": query.status}
    mark = mark_of(who.actor, "memory", filters)
    page = who.memory.list(
        who.actor,
        limit=query.limit,
        cursor=unwrap(query.cursor, mark),
        memory_type=query.memory_type,
        scope=query.scope,
        status=query.status,
    )
    return await who.read(
        page,
        lambda page: reply(
            {"items": plain(page.items), "total": page.total, "cursor": wrap(page.cursor, mark)}
        ),
    )


@router.delete("", operation_id="deleteAllMemory", response_model=DeletionAnswer)
async def delete_all(who: Who, query: Annotated[Confirmed, Query()]) -> Response:
    """Remove every memory of the user, of all sessions. Needs ``confirm=true``."""
    require_confirmation(query)
    return await who.write(lambda: who.memory.delete_all(who.actor, dry_run=query.dry_run), deleted)


def require_confirmation(query: Confirmed) -> None:
    """Raise PermissionDenied (``confirmation_required``) unless it is confirmed or a rehearsal."""
    if not (query.confirm or query.dry_run):
        raise PermissionDenied(
            "confirmation_required",
            "This takes everything and cannot be undone: ask with confirm=true, or dry_run=true first.",
        )


def deleted(deletion: Deletion) -> Answer:
    """Return the answer to a deletion."""
    return reply(plain(deletion))
