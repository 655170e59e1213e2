"""/api/resources: documents and conversations that are searched beside the memories."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Annotated, Any, cast

from fastapi import APIRouter, Query
from starlette.responses import Response

from mnemic.access.idempotency import Answer
from mnemic.api.answers import (
    ChunksAnswer,
    RemovalAnswer,
    ResourceAnswer,
    ResourcesAnswer,
    UploadAnswer,
)
from mnemic.api.doors import IDEMPOTENCY, Asked, Who
from mnemic.api.guard import DOCUMENTS, Guarded
from mnemic.api.intake import limited, read_whole
from mnemic.api.json_body import require_media
from mnemic.api.paging import mark_of, unwrap, wrap
from mnemic.api.paths import ResourceId
from mnemic.api.queries import ListResources, ReadTurns, Rehearsal, Upload
from mnemic.api.replies import reply
from mnemic.api.views import plain
from mnemic.model import Visibility
from mnemic.resources.documents import Collection, Kind, ResourceReport, Shelf
from mnemic.resources.formats import Format

router = APIRouter(prefix="/api/resources", route_class=Guarded, tags=["resources"])

FORMATS: dict[str, Format] = {
    "text/plain": "text",
    "text/markdown": "markdown",
    "text/html": "html",
    "application/pdf": "pdf",
}
_TEXT = {"schema": {"type": "string", "minLength": 1}}
_BYTES = {"schema": {"type": "string", "format": "binary"}}
_UPLOAD: dict[str, Any] = {
    DOCUMENTS: list(FORMATS),
    "requestBody": {
        "required": True,
        "content": {media: _TEXT if media.startswith("text/") else _BYTES for media in FORMATS},
    },
}


@router.post(
    "",
    operation_id="addResource",
    status_code=201,
    response_model=UploadAnswer,
    responses={200: {"model": UploadAnswer, "description": "Known already, or replaced"}},
    openapi_extra=_UPLOAD,
)
async def add(who: Who, query: Annotated[Upload, Query()]) -> Response:
    """Store a document: the body is its bytes, the media type its format; at most 50 MB, streamed.

    Another document of the same ``uri`` is replaced, the same bytes again change nothing, so a lost answer
    can be asked for again; with an Idempotency-Key the document may hold no more than a JSON body. The
    larger it is, the longer it may take; one that was stopped goes on when it is sent again.
    """
    media = require_media(who.header("content-type"), tuple(FORMATS))
    asked, document = await _document(who)

    async def work() -> ResourceReport:
        return await who.memory.resources.add(
            who.actor,
            document,
            title=query.title,
            uri=query.uri,
            kind=cast(Kind, query.kind),  # the library checks them
            collection=cast(Collection, query.collection),
            format=FORMATS[media],
            occurred_at=query.occurred_at,
            scope=cast(Shelf, query.scope),
            visibility=cast(Visibility, query.visibility),
        )

    return await asked.write(work, _uploaded)


async def _document(who: Asked) -> tuple[Asked, bytes | AsyncIterable[bytes]]:
    """Return the document as it comes, or as a whole where a repeated request must be known again."""
    limits = who.service.limits
    if who.header(IDEMPOTENCY) is None:
        return who, limited(who.request, limits.document, limits.document_seconds)
    body = await read_whole(who.request, limits.body, limits.document_seconds)
    return Asked(who.service, who.identity, who.request, body), body


def _uploaded(report: ResourceReport) -> Answer:
    where = f"/api/resources/{report.id}"
    return reply(plain(report), 201 if report.outcome == "stored" else 200, Location=where)


@router.get("", operation_id="listResources", response_model=ResourcesAnswer)
async def list_resources(who: Who, query: Annotated[ListResources, Query()]) -> Response:
    """List resources, newest first, a page at a time."""
    mark = mark_of(who.actor, "resources", {"kind": query.kind, "collection": query.collection})
    page = who.memory.resources.list(
        who.actor,
        limit=query.limit,
        cursor=unwrap(query.cursor, mark),
        kind=query.kind,
        collection=query.collection,
    )
    return await who.read(
        page,
        lambda page: reply(
            {
                "resources": plain(page.resources),
                "total": page.total,
                "cursor": wrap(page.cursor, mark),
            }
        ),
    )


@router.get("/{resource_id}", operation_id="getResource", response_model=ResourceAnswer)
async def get(who: Who, resource_id: ResourceId) -> Response:
    """Return what is known of a resource."""
    found = who.memory.resources.get(who.actor, resource_id)
    return await who.read(found, lambda resource: reply(plain(resource)))


@router.get("/{resource_id}/chunks", operation_id="readResource", response_model=ChunksAnswer)
async def read(who: Who, resource_id: ResourceId, query: Annotated[ReadTurns, Query()]) -> Response:
    """Return the text of the pieces behind ``after``."""
    chunks = who.memory.resources.read(who.actor, resource_id, after=query.after, limit=query.limit)
    return await who.read(chunks, lambda found: reply({"chunks": plain(found)}))


@router.delete("/{resource_id}", operation_id="deleteResource", response_model=RemovalAnswer)
async def delete(
    who: Who, resource_id: ResourceId, query: Annotated[Rehearsal, Query()]
) -> Response:
    """Remove a resource; the turns of a conversation stay in its session's log."""
    return await who.write(
        lambda: who.memory.resources.delete(who.actor, resource_id, dry_run=query.dry_run),
        lambda removal: reply(plain(removal)),
    )
