"""What does a store answer? Values and memories together, as whoever asks may see them."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    SearchItem,
    SearchOp,
)

from mnemic.checks import one_of, whole
from mnemic.integrations.langgraph.asking import checked_query, meanings, ranked
from mnemic.integrations.langgraph.entries import Entry
from mnemic.integrations.langgraph.filters import checked_filter, matches
from mnemic.integrations.langgraph.memories import Memories
from mnemic.integrations.langgraph.places import (
    IsMemory,
    Namespace,
    Place,
    checked,
    checked_key,
    place_of,
    scopes_under,
)
from mnemic.integrations.langgraph.refill import refill
from mnemic.integrations.langgraph.shelf import Shelf, Under
from mnemic.keys import with_keys_of_now
from mnemic.model import Actor, MemoryItem
from mnemic.permissions import require_member, require_within
from mnemic.service import MemoryService

MAX_LIMIT = 1_000
_MOST_HITS = 100
_PAGE = 500
_MATCHES = ("prefix", "suffix")
Scored = tuple[float | None, Entry]


class Reading:
    """Answers the reading operations of one batch."""

    def __init__(
        self,
        service: MemoryService,
        shelf: Shelf,
        memories: Memories,
        is_memory: IsMemory,
        actor: Actor,
    ) -> None:
        self._service = service
        self._shelf = shelf
        self._memories = memories
        self._is_memory = is_memory
        self._actor = actor
        self._database = service.deployment.database

    @with_keys_of_now
    async def get(self, op: GetOp) -> Item | None:
        """Return what stands under a key."""
        place, key = place_of(op.namespace, self._actor, self._is_memory), checked_key(op.key)
        if place.memory:
            entry = await self._memories.get(self._actor, place, key)
            return None if entry is None else entry.item(place.namespace)
        async with self._database.transaction(self._actor) as tx:
            require_member(tx.role, place.scope)
            found = await self._shelf.find(tx, self._actor, place, key)
            if found is not None and op.refresh_ttl:
                await self._shelf.touch(tx, [(place.scope_key, found[0])])
        return None if found is None else found[1].item()

    @with_keys_of_now
    async def search(self, op: SearchOp) -> list[SearchItem]:
        """Return what fits, the most relevant to the query first, else the last put first.

        Raises InvalidInput (``limit_out_of_range`` beyond 1 to 1,000, ``offset_out_of_range``,
        ``blank_query``, ``invalid_filter``, ``unknown_operator``, ``invalid_namespace``).
        """
        whole(op.limit, 1, MAX_LIMIT, "limit")
        whole(op.offset, 0, 10**9, "offset")
        prefix, wanted = checked(op.namespace_prefix), checked_filter(op.filter)
        query = None if op.query is None else checked_query(op.query)
        under = Under(prefix, scopes_under(prefix, self._actor), wanted)
        most = op.limit + op.offset
        found = await self._values(under, query, most, refresh=op.refresh_ttl)
        found += await self._remembered(under, query)
        if query is not None:
            found.sort(key=lambda pair: -(pair[0] or 0.0))
        else:
            found.sort(key=lambda pair: pair[1].put_again_at, reverse=True)
        return [_answer(score, entry) for score, entry in found[op.offset : most]]

    @with_keys_of_now
    async def namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        """Return the namespaces that fit, in order. Raises InvalidInput as ``search``."""
        whole(op.limit, 1, MAX_LIMIT, "limit")
        whole(op.offset, 0, 10**9, "offset")
        if op.max_depth is not None:
            whole(op.max_depth, 1, MAX_LIMIT, "max_depth")
        conditions = tuple(op.match_conditions or ())
        for condition in conditions:
            one_of(getattr(condition, "match_type", None), _MATCHES, "match_type")
        paths = [(condition.match_type, checked(condition.path)) for condition in conditions]
        prefix: Namespace = next((path for kind, path in paths if kind == "prefix"), ())
        scopes = scopes_under(prefix, self._actor)
        fixed = prefix[: prefix.index("*")] if "*" in prefix else prefix
        async with self._database.transaction(self._actor) as tx:
            require_within(self._actor, scopes, tx.role)
            every = await self._shelf.namespaces(tx, self._actor, fixed, scopes)
        fitting = (one for one in every if all(_fits(condition, one) for condition in conditions))
        found = sorted({one[: op.max_depth] for one in fitting})
        return found[op.offset : op.offset + op.limit]

    # ---- how it is done

    async def _values(
        self, under: Under, query: str | None, most: int, *, refresh: bool
    ) -> list[Scored]:
        found: list[Scored] = []
        named: list[tuple[str, bytes]] = []
        outdated: list[tuple[str, bytes]] = []
        meant = (
            {} if query is None else await meanings(self._shelf, self._actor, query, under.scopes)
        )
        async with self._database.transaction(self._actor) as tx:
            require_within(self._actor, under.scopes, tx.role)
            if query is not None:
                best, outdated = await ranked(
                    self._shelf, tx, self._actor, under, query, meant, most
                )
                for score, at, entry in best:
                    found.append((score, entry))
                    named.append(at)
            else:
                async for at, entry in self._shelf.under(tx, self._actor, under):
                    found.append((None, entry))
                    named.append(at)
                    if len(found) == most:
                        break
            if refresh:
                await self._shelf.touch(tx, named)
        if outdated:
            await refill(self._shelf, self._actor, outdated)
        return found

    async def _remembered(self, under: Under, query: str | None) -> list[Scored]:
        """Return the memories under a prefix: all of a scope for one of its names, else those put there."""
        actor = self._actor
        if under.prefix and self._is_memory(under.prefix):
            place = place_of(under.prefix, actor, self._is_memory)
            items = await self._items(place, query)
            entries = await self._memories.entries(actor, place, [item for _, item in items])
            found = [(score, entry) for (score, _), entry in zip(items, entries, strict=True)]
        else:
            found = await self._linked(under, query)
        return [(score, one) for score, one in found if matches(one.value, under.wanted)]

    async def _linked(self, under: Under, query: str | None) -> list[Scored]:
        actor, found = self._actor, list[Scored]()
        async with self._database.transaction(actor) as tx:
            links = [
                link
                for scope in under.scopes
                for link in await self._memories.within(tx, actor, scope)
                if link.counts and link.entry.namespace[: len(under.prefix)] == under.prefix
            ]
        if query is None or not links:
            return [(None, link.entry) for link in links]
        hits = await self._service.search_memories(actor, query, _MOST_HITS)
        score = {hit.id: hit.parts.similarity for hit in hits}
        found += [(score.get(link.item.id, 0.0), link.entry) for link in links]
        return found

    async def _items(
        self, place: Place, query: str | None
    ) -> Sequence[tuple[float | None, MemoryItem]]:
        """Return the memories of a scope, those that bear most on a query first."""
        if query is not None:
            hits = await self._service.search_memories(
                self._actor, query, _MOST_HITS, scope=place.scope
            )
            return [(hit.score, hit.item) for hit in hits]
        items: list[tuple[float | None, MemoryItem]] = []
        cursor = None
        while True:
            page = await self._service.list(
                self._actor, limit=_PAGE, cursor=cursor, scope=place.scope
            )
            items += [(None, item) for item in page.items]
            if page.cursor is None:
                return items
            cursor = page.cursor


def _answer(score: float | None, entry: Entry) -> SearchItem:
    return SearchItem(
        namespace=entry.namespace,
        key=entry.key,
        value=entry.value,
        created_at=entry.put_at,
        updated_at=entry.put_again_at,
        score=score,
    )


def _fits(condition: MatchCondition, namespace: Namespace) -> bool:
    """Tell whether a namespace begins, or ends, with a path in which * stands for any label."""
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return not path or all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
