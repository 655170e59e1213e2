"""/api/memory/{id}: one memory, its versions, its correction and its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from mnemic.access.idempotency import Answer
from mnemic.api.answers import DeletionAnswer, ItemAnswer, VerdictAnswer, VersionsAnswer
from mnemic.api.bodies import ChangeMemory
from mnemic.api.doors import Asked, Who
from mnemic.api.guard import Guarded
from mnemic.api.paths import ItemId
from mnemic.api.preconditions import Expected, StaleVersion, etag, expected
from mnemic.api.queries import Rehearsal
from mnemic.api.replies import reply
from mnemic.api.routes.memory import deleted
from mnemic.api.views import plain, verdict_view
from mnemic.errors import Conflict, InvalidInput
from mnemic.model import Verdict

router = APIRouter(prefix="/api/memory/{item_id}", route_class=Guarded, tags=["memory"])
_NOT_NULL = ("content", "memory_type", "confidence", "metadata")


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
    version = await _version(who, item_id, meant)

    async def work() -> Verdict:
        try:
            verdict = await who.memory.update(who.actor, item_id, expected_version=version, **named)
        except Conflict as error:
            if error.code == "version_conflict" and version is not None:
                raise StaleVersion(error) from error
            raise
        who.service.metrics.decided([verdict])
        return verdict

    return await who.write(work, _changed(version))


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


async def _version(who: Asked, item_id: str, meant: Expected) -> int | None:
    """Return the one version that may be changed, None for whichever is there."""
    if meant.any:
        return None
    if len(meant.versions) == 1:
        return meant.versions[0]
    current = (await who.memory.get(who.actor, item_id)).version
    meant.require(current)
    return current


def _changed(version: int | None) -> Callable[[Verdict], Answer]:
    """Return what makes the answer; the ETag is the version that is there now, where it is known."""

    def render(verdict: Verdict) -> Answer:
        body = verdict_view(verdict)
        if version is None:
            return reply(body)
        kept = verdict.outcome in ("duplicate", "rejected")
        return reply(body, ETag=etag(version if kept else version + 1))

    return render


@router.delete("", operation_id="deleteMemory", response_model=DeletionAnswer)
async def delete(who: Who, item_id: ItemId, query: Annotated[Rehearsal, Query()]) -> Response:
    """Remove a memory with the earlier versions behind it; nothing of them stays."""
    return await who.write(
        lambda: who.memory.delete(who.actor, item_id, dry_run=query.dry_run), deleted
    )
