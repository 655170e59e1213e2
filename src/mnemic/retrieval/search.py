"""Which memories, turns and documents answer this query? Plan, ask the database once, rank, explain."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog

from mnemic.checks import aware, one_of, share, whole
from mnemic.crypto import DataKey
from mnemic.embedding.models import Models
from mnemic.errors import InvalidInput
from mnemic.item_rows import blind_slots, open_item
from mnemic.keys import KeyRing
from mnemic.lexical import query_tokens
from mnemic.model import (
    MAX_QUERY,
    MEMORY_TYPES,
    Actor,
    Hit,
    MemoryType,
    ResourceHit,
    Scope,
)
from mnemic.permissions import readable
from mnemic.retrieval.candidates import Candidate, best_first
from mnemic.retrieval.context import format_context
from mnemic.retrieval.meaning import WORDS_ALONE, Meaning, Meanings
from mnemic.retrieval.nearest import Nearest
from mnemic.retrieval.rank import relevance_floor, wording
from mnemic.retrieval.turns import TurnSearch
from mnemic.retrieval.usage import UsageMarks
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements
from mnemic.text import normalise

_SQL = statements("retrieval")
_LOG = structlog.get_logger("mnemic.search")
MAX_K = 100
_CANDIDATES = 64
_ATTEMPTS = 3
_CONTEXT_HITS = 20
_CONTEXT_TURNS = 10
_IN_MIND = 20
"""Last turns of the actor's own session that its prompt is thought to hold already."""
INCLUDES = ("memory", "resource")
AnyHit = Hit | ResourceHit


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
    include: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The best hits, and how many texts were searched for them."""

    hits: Sequence[Hit] = ()
    documents: int = 0


class Search:
    """Searches what an actor may read: memory items, and with ``turns`` conversations and documents."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        models: Models,
        usage: UsageMarks,
        slots: Callable[[str], Collection[str]],
    ) -> None:
        """``slots`` names the attributes that a text fills or a question asks for (the judge's)."""
        self.turns = TurnSearch(database, keys, models)
        self._database = database
        self._slots = slots
        self._keys = keys
        self._meanings = Meanings(models)
        self._nearest = Nearest()
        self._usage = usage

    async def run(
        self,
        actor: Actor,
        query: str,
        k: int = 5,
        memory_type: MemoryType | None = None,
        scope: Scope | None = None,
        *,
        include: tuple[str, ...] = ("memory",),
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        min_score: float = 0.0,
        include_pending: bool = False,
    ) -> Sequence[AnyHit]:
        """Return the best ``k``, best first; see ``MemoryService.search_memories``."""
        wanted = plan(
            actor,
            query,
            k,
            memory_type,
            scope,
            as_of,
            known_at,
            min_score,
            include_pending,
            include,
        )
        items = (await self._find(actor, wanted)).hits if "memory" in wanted.include else ()
        found: Sequence[AnyHit] = items
        if "resource" in wanted.include and wanted.memory_type is None:
            found = _merged(items, await self._resources(actor, wanted), wanted.k)
        self._note(actor, [hit for hit in found if isinstance(hit, Hit)])
        return found

    async def context(self, actor: Actor, query: str, budget_tokens: int) -> str:
        """Return the relevant memories, then turns, as prompt text; "" when nothing is."""
        whole(budget_tokens, 20, 100_000, "budget_tokens")
        wanted = plan(actor, query, _CONTEXT_HITS, None, None, None, None, 0.0, False, INCLUDES)
        found = await self._find(actor, wanted)
        floor = relevance_floor(found.documents)
        items = [hit for hit in found.hits if hit.parts.similarity >= floor]
        self._note(actor, items)
        turns = await self.turns.find(
            actor,
            wanted.query,
            _CONTEXT_TURNS,
            wanted.scopes,
            neighbours=True,
            in_mind=_IN_MIND,
            relevant_only=True,
        )
        return format_context(items, turns.hits, budget_tokens)

    async def _resources(self, actor: Actor, wanted: Wanted) -> list[ResourceHit]:
        found = await self.turns.find(
            actor, wanted.query, wanted.k, wanted.scopes, as_of=wanted.as_of or wanted.known_at
        )
        return [hit for hit in found.hits if hit.score >= wanted.min_score]

    def _note(self, actor: Actor, hits: Sequence[Hit]) -> None:
        self._usage.note(actor, [(_scope_key(actor, hit), hit.item) for hit in hits])

    async def _find(self, actor: Actor, wanted: Wanted) -> Found:
        words = query_tokens(wanted.query)
        if not words:
            return Found()  # emoji or punctuation alone ask for nothing
        for _ in range(_ATTEMPTS):
            meaning = await self._meanings.of(actor, lambda model: model.vector(wanted.query))
            found = await self._look(actor, wanted, words, meaning)
            if found is not None:
                return found
        return await self._look(actor, wanted, words, WORDS_ALONE) or Found()

    async def _look(
        self, actor: Actor, wanted: Wanted, words: Sequence[str], meaning: Meaning
    ) -> Found | None:
        """Search in one transaction; None when the actor's vectors are of another model by now."""
        limit = max(_CANDIDATES, 2 * wanted.k)
        async with self._database.transaction(actor) as tx:
            if not self._meanings.fits(tx, actor, meaning):
                return None
            key = await self._keys.find(tx, actor)
            if key is None:
                return Found()
            while True:
                params = self._params(key, wanted, words, meaning, limit)
                params["near"] = await self._nearest.ids(tx, meaning, wanted.scopes, params)
                rows = await tx.all(_SQL["search"], params)
                compared = any(row["cosine"] is not None for row in rows)
                if not compared and not await self._meanings.still_fits(tx, actor, meaning):
                    return None
                ranked = best_first(rows, wanted.query, words, meaning.curve)
                hits = self._open(key, ranked, words, wanted)
                documents = rows[0]["documents"] if rows else 0
                self._nearest.learn(wanted.scopes, documents)
                # repeats may have eaten places: ask deeper until k are found or both arms are at their end
                if len(hits) >= wanted.k or len(rows) >= documents or len(rows) < limit:
                    return Found(hits, documents)
                limit *= 4

    def _params(
        self, key: DataKey, wanted: Wanted, words: Sequence[str], meaning: Meaning, limit: int
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
            "model_id": meaning.model_id,
            "embedding": meaning.vector,
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
    include: object = ("memory",),
) -> Wanted:
    """Return the checked question.

    Raises InvalidInput: ``query_not_text``, ``blank_query``, ``k_out_of_range``, ``unknown_memory_type``,
    ``unknown_scope``, ``naive_datetime``, ``min_score_out_of_range``, ``unknown_include``.
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
        _included(include),
    )


def _included(include: object) -> tuple[str, ...]:
    """Return what to search; a text alone is no list of them."""
    given = tuple(include) if isinstance(include, tuple | list | set | frozenset) else (include,)
    return tuple(one_of(one, INCLUDES, "include") for one in given or (None,))


def _merged(items: Sequence[Hit], resources: Sequence[ResourceHit], k: int) -> list[AnyHit]:
    """Put both kinds in one order by score; of equal ones the memory first."""
    both: list[AnyHit] = [*items, *resources]
    return sorted(both, key=lambda hit: -hit.score)[:k]


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
