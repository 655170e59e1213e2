"""/api/memory/{id}: one memory, its versions, its correction and its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from mnemic.access.idempotency import Answer
from mnemic.api.answers import DeletionAnswer, ItemAnswer, VerdictAnswer, VersionsAnswer
from mnemic.api.bodies import ChangeMemory
from mnemic.api.doors import Asked, Who
from mnemic.api.guard import Guarded
from mnemic.api.paths import ItemId
from mnemic.api.preconditions import etag, expected, stale_is_told
from mnemic.api.queries import Rehearsal
from mnemic.api.replies import reply
from mnemic.api.routes.memory import deleted
from mnemic.api.views import plain, verdict_view
from mnemic.errors import InvalidInput
from mnemic.longterm.items import Deletion
from mnemic.model import Verdict

router = APIRouter(prefix="/api/memory/{item_id}", route_class=Guarded, tags=["memory"])
_NOT_NULL = ("content", "memory_type", "confidence", "metadata", "visibility")


@router.get("", operation_id="getMemory", response_model=ItemAnswer)
async def get(who: Who, item_id: ItemId) -> Response:
    """Return a memory in whatever status, with its version as ETag."""
    return await who.read(
        who.memory.get(who.actor, item_id),
        lambda item: reply(plain(item), ETag=etag(item.version)),
    )


@router.get("/history", operation_id="memoryHistory", response_model=VersionsAnswer)
async def history(who: Who, item_id: ItemId) -> Response:
    """Return the versions of a memory, newest first."""
    return await who.read(
        who.memory.history(who.actor, item_id), lambda found: reply({"versions": plain(found)})
    )


@router.patch("", operation_id="changeMemory", response_model=VerdictAnswer)
async def change(who: Who, item_id: ItemId, body: ChangeMemory) -> Response:
    """Write a new version through the gate; what is not named stays.

    ``If-Match`` names the version that is meant (the ETag of GET), or ``*``: 428 without it, 412 when another
    version is there. A verdict ``duplicate`` or ``rejected`` changed nothing.
    """
    meant, named = expected(who.header("if-match")), _named(body)
    before: int | None = None

    async def work() -> Verdict:
        nonlocal before
        before = await meant.version(_current(who, item_id))
        with stale_is_told(before):
            verdict = await who.memory.update(who.actor, item_id, expected_version=before, **named)
        who.service.metrics.decided([verdict])
        return verdict

    return await who.write(work, lambda verdict: _changed(verdict, before))


def _named(body: ChangeMemory) -> dict[str, Any]:
    """Return what is to change. Raises InvalidInput (``nothing_to_change``, ``field_null``)."""
    named = {name: getattr(body, name) for name in sorted(body.model_fields_set)}
    if not named:
        raise InvalidInput("nothing_to_change", "Name at least one field that is to change.")
    for name in _NOT_NULL:
        if name in named and named[name] is None:
            raise InvalidInput(
                "field_null", f"{name} cannot be null: leave it out to keep it.", field=name
            )
    return named


def _current(who: Asked, item_id: str) -> Callable[[], Awaitable[int]]:
    async def version() -> int:
        return (await who.memory.get(who.actor, item_id)).version

    return version


def _changed(verdict: Verdict, before: int | None) -> Answer:
    """Return the answer to a change; the ETag is the version that is there now, where it is known."""
    body = verdict_view(verdict)
    if before is None:
        return reply(body)
    kept = verdict.outcome in ("duplicate", "rejected")
    return reply(body, ETag=etag(before if kept else before + 1))


@router.delete("", operation_id="deleteMemory", response_model=DeletionAnswer)
async def delete(who: Who, item_id: ItemId, query: Annotated[Rehearsal, Query()]) -> Response:
    """Remove a memory with the earlier versions behind it; nothing of them stays.

    With ``If-Match`` only the version that it names: 412 when another one is there.
    """
    meant = expected(who.header("if-match"), required=False)

    async def work() -> Deletion:
        version = await meant.version(_current(who, item_id))
        with stale_is_told(version):
            return await who.memory.delete(
                who.actor, item_id, dry_run=query.dry_run, expected_version=version
            )

    return await who.write(work, deleted)
