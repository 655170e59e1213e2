"""In what order does a model that reads query and text together put the best candidates?

A reranker (a cross-encoder, or an API) is optional and given by whoever opens the service;
docs/reference/reranker-protocol.md says what it promises. It gets the best candidates only, in clear. It
cannot break a search: when it fails, takes too long or answers nonsense, the order without it stands, and a
log line gives the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

from mnemic.errors import reason_of
from mnemic.model import Hit, Parts, ResourceHit
from mnemic.retrieval.rank import final_score

_LOG = structlog.get_logger("mnemic.search")
CANDIDATES = 50
"""Candidates that a reranker is given, or ``k`` where more are asked for."""
TIMEOUT = 3.0
"""Seconds that a search waits for a reranker."""
LONGEST = 4_000
"""Characters of a text that a reranker is given."""
AnyHit = Hit | ResourceHit


class Reranker(Protocol):
    """Judges how well texts answer a query."""

    async def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one number from 0 (nothing to do with it) to 1 (answers it) a text, in their order.

        ``query`` has 1 to 2,000 characters; there are 1 to 100 texts, each of at most 4,000. May be called
        from many tasks at once; must not block the event loop. What it raises costs the
        reranking, not the search.
        """


@dataclass(frozen=True, slots=True)
class RerankedParts(Parts):
    """Parts of a score in which ``reranked``, 0 to 1, stands in the place of ``similarity``."""

    reranked: float = 0.0


class Reranking:
    """Applies a reranker, if there is one, to what a search found."""

    def __init__(self, reranker: Reranker | None = None) -> None:
        self._reranker = reranker

    def reach(self, k: int, min_score: float) -> tuple[int, float]:
        """Return how many candidates a search for the best ``k`` has to find, and their least score."""
        return (k, min_score) if self._reranker is None else (max(k, CANDIDATES), 0.0)

    async def best(
        self, query: str, hits: Sequence[AnyHit], k: int, min_score: float
    ) -> Sequence[AnyHit]:
        """Return the best ``k`` of the hits with at least ``min_score``."""
        ordered = await self._ordered(query, hits)
        return [hit for hit in ordered if hit.score >= min_score][:k]

    async def apart(
        self, query: str, items: Sequence[Hit], turns: Sequence[ResourceHit]
    ) -> tuple[list[Hit], list[ResourceHit]]:
        """Return memories and turns, each best first."""
        ordered = await self._ordered(query, [*items, *turns])
        return (
            [hit for hit in ordered if isinstance(hit, Hit)],
            [hit for hit in ordered if isinstance(hit, ResourceHit)],
        )

    async def _ordered(self, query: str, hits: Sequence[AnyHit]) -> Sequence[AnyHit]:
        """Return the hits best first, each with its new score and why; as they came without a reranker.

        Of equal ones the one that came first stays first.
        """
        if self._reranker is None or not hits:
            return hits
        texts = [shown(hit) for hit in hits]
        scores, reason, told = await _ask(self._reranker, query, texts)
        if scores is None:
            _LOG.warning("search_without_reranker", reason=reason, **told, texts=len(texts))
            return hits
        reranked = [_reranked(hit, score) for hit, score in zip(hits, scores, strict=True)]
        return sorted(reranked, key=lambda hit: -hit.score)


async def _ask(
    reranker: Reranker, query: str, texts: Sequence[str]
) -> tuple[Sequence[float] | None, str, dict[str, str]]:
    """Return the scores, or None, the reason why there are none that can be used, and what of an error."""

    async def asked() -> tuple[float, ...] | None:
        return checked(await reranker.scores(query, texts), len(texts))  # to read it may raise too

    task = asyncio.create_task(asked())
    task.add_done_callback(_heard)
    try:
        # unlike wait_for this neither raises what the reranker raises nor waits for one that will not stop
        await asyncio.wait((task,), timeout=TIMEOUT)
    finally:
        task.cancel()  # one that is through does not mind
    if not task.done():
        return None, "reranker_timeout", {}
    error = None if task.cancelled() else task.exception()
    if task.cancelled() or error is not None:
        return None, "reranker_failed", reason_of(error) if isinstance(error, Exception) else {}
    scores = task.result()
    return scores, "" if scores is not None else "reranker_bad_answer", {}


def checked(answer: object, count: int) -> tuple[float, ...] | None:
    """Return an answer as ``count`` finite numbers from 0 to 1, None when it is anything else."""
    given = tuple(answer) if isinstance(answer, Iterable) else ()
    if len(given) != count or any(isinstance(one, str | bytes) for one in given):
        return None
    try:
        scores = tuple(float(one) for one in given)
    except (TypeError, ValueError, OverflowError):
        return None
    return scores if all(0.0 <= one <= 1.0 for one in scores) else None


def shown(hit: AnyHit) -> str:
    """Return what a reranker reads of a hit: its text, of a turn with the name of who said it."""
    speaker = hit.speaker if isinstance(hit, ResourceHit) else None
    text = f"{speaker}: {hit.content}" if speaker else hit.content
    return text[:LONGEST]


def _reranked(hit: AnyHit, score: float) -> AnyHit:
    found = hit.parts
    scope = hit.item.scope if isinstance(hit, Hit) else hit.scope
    parts = RerankedParts(found.similarity, found.confidence, found.scope, score)
    return replace(hit, score=final_score(score, found.confidence, scope), parts=parts)


def _heard(task: asyncio.Task[tuple[float, ...] | None]) -> None:
    """Take note of a failure after its time, which the event loop would print with its message."""
    if not task.cancelled():
        task.exception()
