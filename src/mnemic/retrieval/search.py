"""Which memories answer this query? Plan, one round trip to the database, rank, explain."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog

from mnemic.checks import aware, one_of, share, whole
from mnemic.crypto import DataKey
from mnemic.embedding.registry import Model
from mnemic.errors import InvalidInput
from mnemic.item_rows import blind_slots, open_item
from mnemic.keys import KeyRing
from mnemic.lexical import query_tokens
from mnemic.model import (
    MEMORY_TYPES,
    Actor,
    Hit,
    MemoryType,
    Scope,
    Vector,
)
from mnemic.permissions import readable
from mnemic.retrieval.candidates import Candidate, best_first
from mnemic.retrieval.context import format_hits
from mnemic.retrieval.rank import relevance_floor, wording
from mnemic.retrieval.usage import UsageMarks
from mnemic.storage.halfvec import HalfVector
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements
from mnemic.text import normalise

_SQL = statements("retrieval")
_LOG = structlog.get_logger("mnemic.search")
MAX_K = 100
MAX_QUERY = 2_000
_CANDIDATES = 64
_CONTEXT_HITS = 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """A checked question."""

    query: str
    k: int
    scopes: tuple[str, ...]
    statuses: tuple[str, ...]
    memory_type: str | None
    as_of: datetime | None
    known_at: datetime | None
    min_score: float


@dataclass(frozen=True, slots=True)
class Found:
    """The best hits, and how many texts were searched for them."""

    hits: Sequence[Hit] = ()
    documents: int = 0


class Search:
    """Searches the memory items that an actor may read."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        model: Model,
        usage: UsageMarks,
        slots: Callable[[str], Collection[str]],
    ) -> None:
        """``slots`` names the attributes that a text fills or a question asks for (the judge's)."""
        self._database = database
        self._slots = slots
        self._keys = keys
        self._model = model
        self._usage = usage

    async def run(
        self,
        actor: Actor,
        query: str,
        k: int = 5,
        memory_type: MemoryType | None = None,
        scope: Scope | None = None,
        *,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        min_score: float = 0.0,
        include_pending: bool = False,
    ) -> Sequence[Hit]:
        """Return the best ``k`` items, best first; see ``MemoryService.search_memories``."""
        wanted = plan(
            actor, query, k, memory_type, scope, as_of, known_at, min_score, include_pending
        )
        hits = (await self._find(actor, wanted)).hits
        self._usage.note(actor, [(_scope_key(actor, hit), hit.item) for hit in hits])
        return hits

    async def context(self, actor: Actor, query: str, budget_tokens: int) -> str:
        """Return the relevant memories as prompt text; "" when nothing is."""
        whole(budget_tokens, 20, 100_000, "budget_tokens")
        wanted = plan(actor, query, _CONTEXT_HITS, None, None, None, None, 0.0, False)
        found = await self._find(actor, wanted)
        floor = relevance_floor(found.documents)
        hits = [hit for hit in found.hits if hit.parts.similarity >= floor]
        self._usage.note(actor, [(_scope_key(actor, hit), hit.item) for hit in hits])
        return format_hits(hits, budget_tokens)

    async def _find(self, actor: Actor, wanted: Wanted) -> Found:
        words = query_tokens(wanted.query)
        if not words:
            return Found()  # emoji or punctuation alone ask for nothing
        vector = await self._model.vector(wanted.query)
        limit = max(_CANDIDATES, 2 * wanted.k)
        async with self._database.transaction(actor) as tx:
            key = await self._keys.find(tx, actor)
            if key is None:
                return Found()
            while True:
                rows = await tx.all(_SQL["search"], self._params(key, wanted, words, vector, limit))
                ranked = best_first(rows, wanted.query, words, self._model.curve)
                hits = self._open(key, ranked, words, wanted)
                documents = rows[0]["documents"] if rows else 0
                # repeats may have eaten places: ask deeper until k are found or both arms are at their end
                if len(hits) >= wanted.k or len(rows) >= documents or len(rows) < limit:
                    return Found(hits, documents)
                limit *= 4

    def _params(
        self, key: DataKey, wanted: Wanted, words: Sequence[str], vector: Vector, limit: int
    ) -> dict[str, Any]:
        lexemes = [key.lexeme(word) for word in words]
        return {
            "lexemes": lexemes,
            "any_word": " | ".join(lexemes),
            "scopes": list(wanted.scopes),
            "statuses": list(wanted.statuses),
            "memory_type": wanted.memory_type,
            "as_of": wanted.as_of,
            "known_at": wanted.known_at,
            "model_id": self._model.model_id,
            "embedding": HalfVector(vector),
            "slots": blind_slots(key, self._slots(wanted.query)),
            "candidates": limit,
        }

    def _open(
        self, key: DataKey, ranked: Sequence[Candidate], words: Sequence[str], wanted: Wanted
    ) -> list[Hit]:
        """Unseal the winners; what only repeats a better one of its type is passed over."""
        hits: list[Hit] = []
        seen: set[tuple[str, tuple[tuple[str, ...], ...]]] = set()
        for candidate in ranked:
            if len(hits) == wanted.k or candidate.score < wanted.min_score:
                break
            item = open_item(key, candidate.row)
            said = (item.memory_type, wording(item.content))
            if said not in seen:
                seen.add(said)
                hits.append(candidate.hit(item, words))
        return hits


def plan(
    actor: Actor,
    query: object,
    k: object,
    memory_type: str | None,
    scope: Scope | None,
    as_of: datetime | None,
    known_at: datetime | None,
    min_score: float,
    include_pending: bool,
) -> Wanted:
    """Return the checked question.

    Raises InvalidInput: ``query_not_text``, ``blank_query``, ``k_out_of_range``, ``unknown_memory_type``,
    ``unknown_scope``, ``naive_datetime``, ``min_score_out_of_range``.
    """
    if not isinstance(query, str):
        raise InvalidInput("query_not_text", "The query must be text.")
    text = normalise(query).text
    if not text:
        raise InvalidInput("blank_query", "The query is blank: say what to look for.")
    if len(text) > MAX_QUERY:
        _LOG.info("query cut", chars=len(text), limit=MAX_QUERY)
    return Wanted(
        text[:MAX_QUERY],
        whole(k, 1, MAX_K, "k"),
        tuple(readable(actor, scope)),
        _statuses(as_of, known_at, include_pending),
        None if memory_type is None else one_of(memory_type, MEMORY_TYPES, "memory_type"),
        aware(as_of, "as_of"),
        aware(known_at, "known_at"),
        share(min_score, "min_score"),
    )


def _statuses(
    as_of: datetime | None, known_at: datetime | None, include_pending: bool
) -> tuple[str, ...]:
    statuses = ["active"]
    if as_of is not None or known_at is not None:
        statuses += ["superseded", "archived"]
    if include_pending:
        statuses.append("pending")
    return tuple(statuses)


def _scope_key(actor: Actor, hit: Hit) -> str:
    return readable(actor, hit.item.scope)[0]
