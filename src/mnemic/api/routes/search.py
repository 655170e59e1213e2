"""/api/memory/search, context, extract: what bears on this question, and what was said worth keeping?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query
from starlette.responses import Response

from mnemic.access.idempotency import Answer
from mnemic.api.answers import ContextAnswer, HitsAnswer, PassAnswer
from mnemic.api.bodies import BuildContext, Nothing, SearchMemory
from mnemic.api.doors import Asked, Who
from mnemic.api.guard import RIGHT, Guarded
from mnemic.api.queries import SearchQuery
from mnemic.api.replies import reply
from mnemic.api.views import hit_view, plain, verdict_view
from mnemic.longterm.passes import PassReport
from mnemic.model import Hit, ResourceHit
from mnemic.retrieval.wanted import is_cut

router = APIRouter(prefix="/api/memory", route_class=Guarded, tags=["search"])
_READS: dict[str, Any] = {RIGHT: "read"}


@router.get("/search", operation_id="searchMemory", response_model=HitsAnswer)
async def search(who: Who, query: Annotated[SearchQuery, Query()]) -> Response:
    """Return the best ``k`` hits, best first, each with its reasons.

    A query in an address ends up in logs of proxies: the POST form keeps it in the body.
    """
    asked = dict(query) | {"include": tuple(query.include.split(","))}
    return await _searched(who, asked)


@router.post(
    "/search", operation_id="searchMemoryByBody", response_model=HitsAnswer, openapi_extra=_READS
)
async def search_by_body(who: Who, body: SearchMemory) -> Response:
    """Return the best ``k`` hits, best first, each with its reasons."""
    return await _searched(who, dict(body))


async def _searched(who: Asked, asked: dict[str, Any]) -> Response:
    found = who.memory.search_memories(who.actor, **asked)

    def shown(hits: Sequence[Hit | ResourceHit]) -> Answer:
        return reply({"hits": [hit_view(hit) for hit in hits], "query_cut": is_cut(asked["query"])})

    return await who.read(found, shown)


@router.post(
    "/context", operation_id="buildContext", response_model=ContextAnswer, openapi_extra=_READS
)
async def context(who: Who, body: BuildContext) -> Response:
    """Return what is relevant as text for the end of a system prompt, framed as data."""
    text = who.memory.build_context(who.actor, body.query, body.budget_tokens)
    return await who.read(
        text, lambda text: reply({"context": text, "query_cut": is_cut(body.query)})
    )


@router.post(
    "/extract",
    operation_id="extractMemory",
    response_model=PassAnswer,
    responses={502: {"description": "The chat model gave no usable answer"}},
)
async def extract(who: Who, body: Annotated[Nothing | None, Body()] = None) -> Response:
    """Turn what was said in the session (``Mnemic-Session``) since the last pass into memories.

    A pass that ended early goes on where it stopped: nothing is read twice.
    """

    async def work() -> PassReport:
        report = await who.memory.extract(who.actor)
        who.service.metrics.decided(finding.verdict for finding in report.findings)
        return report

    return await who.write(work, _passed, at_once=False)


def _passed(report: PassReport) -> Answer:
    findings = [
        {"candidate": plain(finding.candidate), "verdict": verdict_view(finding.verdict)}
        for finding in report.findings
    ]
    return reply({"turns": report.turns, "findings": findings, "skipped": list(report.skipped)})
