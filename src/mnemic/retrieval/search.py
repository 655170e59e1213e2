"""Which memories, turns and documents answer this query? Plan, find, put in one order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime

from mnemic.checks import whole
from mnemic.embedding.models import Models
from mnemic.keys import KeyRing
from mnemic.model import Actor, Hit, MemoryType, ResourceHit, Scope
from mnemic.permissions import readable
from mnemic.profile.store import Profiles
from mnemic.retrieval.asked import STANDING_AMONG, standing, wants_help
from mnemic.retrieval.context import format_context
from mnemic.retrieval.memories import ItemSearch
from mnemic.retrieval.profile_text import format_profile
from mnemic.retrieval.rank import relevance_floor
from mnemic.retrieval.rerank import Reranker, Reranking
from mnemic.retrieval.turns import TurnSearch
from mnemic.retrieval.usage import UsageMarks
from mnemic.retrieval.wanted import INCLUDES, Wanted, plan
from mnemic.storage.pool import Database

_CONTEXT_HITS = 20
_CONTEXT_TURNS = 10
_IN_MIND = 20
"""Last turns of the actor's own session that its prompt is thought to hold already."""
AnyHit = Hit | ResourceHit


class Search:
    """Searches what an actor may read: memory items, and with ``turns`` conversations and documents."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        models: Models,
        usage: UsageMarks,
        slots: Callable[[str], Collection[str]],
        reranker: Reranker | None = None,
        *,
        one_trip: bool = True,
        profiles: Profiles | None = None,
    ) -> None:
        """``slots`` names the attributes that a text fills or a question asks for (the judge's).

        With ``profiles`` a prompt begins with the profile.
        """
        self._profiles = profiles
        self.items = ItemSearch(database, keys, models, slots, one_trip=one_trip)
        self.turns = TurnSearch(database, keys, models)
        self._usage = usage
        self._reranking = Reranking(reranker)

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
        k, least = self._reranking.reach(wanted.k, wanted.min_score)
        deep = replace(wanted, k=k, min_score=least)
        items = (await self.items.find(actor, deep)).hits if "memory" in wanted.include else ()
        found: Sequence[AnyHit] = items
        if "resource" in wanted.include and wanted.memory_type is None:
            found = _merged(items, await self._resources(actor, deep), k)
        found = await self._reranking.best(wanted.query, found, wanted.k, wanted.min_score)
        self._note(actor, [hit for hit in found if isinstance(hit, Hit)])
        return found

    async def context(self, actor: Actor, query: str, budget_tokens: int) -> str:
        """Return the profile, the relevant memories, then turns, as prompt text; "" when there is nothing."""
        whole(budget_tokens, 20, 100_000, "budget_tokens")
        wanted = plan(actor, query, _CONTEXT_HITS, None, None, None, None, 0.0, False, INCLUDES)
        found = await self.items.find(actor, wanted)
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
        items, said = await self._reranking.apart(wanted.query, items, turns.hits)
        profile = await self._profile(actor, budget_tokens, [hit.content for hit in items])
        return format_context(items, said, budget_tokens, profile)

    async def _profile(self, actor: Actor, budget_tokens: int, besides: Collection[str]) -> str:
        if self._profiles is None:
            return ""
        known = await self._profiles.get_profile_for_agent(actor)
        return format_profile(known, budget_tokens, besides)

    async def _resources(self, actor: Actor, wanted: Wanted) -> list[ResourceHit]:
        found = await self.turns.find(
            actor,
            wanted.query,
            wanted.k,
            wanted.scopes,
            as_of=wanted.as_of or wanted.known_at,
            standing=await self._standing(actor, wanted),
        )
        return [hit for hit in found.hits if hit.score >= wanted.min_score]

    async def _standing(self, actor: Actor, wanted: Wanted) -> Sequence[str]:
        """Return what the actor wishes until further notice, where the query asks for help."""
        if not wants_help(wanted.query):
            return ()
        confirmed = tuple(status for status in wanted.statuses if status != "pending")
        among = replace(wanted, k=STANDING_AMONG, statuses=confirmed, min_score=0.0)
        return standing((await self.items.find(actor, among)).hits)

    def _note(self, actor: Actor, hits: Sequence[Hit]) -> None:
        self._usage.note(actor, [(_scope_key(actor, hit), hit.item) for hit in hits])


def _merged(items: Sequence[Hit], resources: Sequence[ResourceHit], k: int) -> list[AnyHit]:
    """Put both kinds in one order by score; of equal ones the memory first."""
    both: list[AnyHit] = [*items, *resources]
    return sorted(both, key=lambda hit: -hit.score)[:k]


def _scope_key(actor: Actor, hit: Hit) -> str:
    return readable(actor, hit.item.scope)[0]
