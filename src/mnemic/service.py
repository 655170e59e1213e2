"""What can be asked of a memory? The API that engineers use; ``parts`` puts together what it runs on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, overload

from mnemic.checks import whole
from mnemic.embedding.protocol import Embedder
from mnemic.lifetime import Lifetime
from mnemic.longterm.changes import UNCHANGED, Unchanged
from mnemic.longterm.draft import Draft, checked
from mnemic.longterm.gate import Decision
from mnemic.longterm.items import Deletion, Page, Question
from mnemic.longterm.passes import PassReport, Rate
from mnemic.model import (
    Actor,
    Hit,
    MemoryItem,
    MemoryType,
    ResourceHit,
    Scope,
    Source,
    Verdict,
    Visibility,
)
from mnemic.permissions import home, require
from mnemic.privacy.erase import Erasure
from mnemic.profile.values import AgentProfile
from mnemic.retrieval.context import format_context
from mnemic.retrieval.profile_text import format_profile


class MemoryService(Lifetime):
    """The memory of an agent's users. Made by ``open``; methods are safe to call from many tasks.

    Every method takes the Actor who asks. Errors are those of ``mnemic.errors``, each with a stable code.
    """

    async def create_embeddings(self, user_id: str) -> Embedder:
        """Return the embedder of this user: their own, or the deployment's."""
        return (await self._parts.models.for_actor(Actor(user_id))).embedder

    async def forget_user(self, actor: Actor, *, dry_run: bool = False) -> Erasure:
        """Remove every row of the actor's user, and their keys; see ``Erase.forget_user``."""
        return await self._parts.erase.forget_user(actor, dry_run=dry_run)

    # ---- writing

    async def add_explicit_memory(
        self,
        actor: Actor,
        content: str,
        memory_type: MemoryType = "fact",
        scope: Scope = "user",
        *,
        confidence: float = 0.9,
        source: Source = "user",
        source_id: str | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        metadata: Mapping[str, object] | None = None,
        visibility: Visibility = "members",
    ) -> Verdict:
        """Ask the gate to remember one text, and return what it did.

        ``confidence`` is 0 to 1: below 0.7 rejected, below 0.8 pending (settings). ``valid_from`` defaults
        to now and counts as now when it lies ahead; times need a zone. ``visibility`` says who of a project
        sees it. Raises InvalidInput for what cannot be meant, PermissionDenied for what the actor may not
        write, RateLimited for an agent that stores too much by itself (``source="ai"``).
        """
        draft = Draft(
            content,
            memory_type,
            scope,
            confidence,
            source,
            source_id,
            valid_from=valid_from,
            valid_to=valid_to,
            metadata=metadata or {},
            visibility=visibility,
        )
        if source == "ai" and actor.session is not None:
            await self._parts.passes.admit_ai_write(actor)
        (verdict,) = await self._parts.writer.add(actor, [draft])
        return verdict

    async def add_many(self, actor: Actor, drafts: Sequence[Draft]) -> list[Verdict]:
        """Ask the gate to remember many texts; one verdict each, in order. See ``Writer.add``."""
        if actor.session is not None and any(checked(draft).source == "ai" for draft in drafts):
            await self._parts.passes.admit_ai_write(actor)
        return await self._parts.writer.add(actor, drafts)

    async def update(
        self,
        actor: Actor,
        item_id: object,
        *,
        content: str | None = None,
        memory_type: MemoryType | None = None,
        confidence: float | None = None,
        valid_to: datetime | Unchanged | None = UNCHANGED,
        metadata: Mapping[str, object] | None = None,
        visibility: Visibility | None = None,
        expected_version: int | None = None,
    ) -> Verdict:
        """Write a new version of an item through the gate; see ``Changes.update``."""
        return await self._parts.changes.update(
            actor,
            item_id,
            content=content,
            memory_type=memory_type,
            confidence=confidence,
            valid_to=valid_to,
            metadata=metadata,
            visibility=visibility,
            expected_version=expected_version,
        )

    async def confirm(self, actor: Actor, item_id: object) -> Verdict:
        """Make a pending item active, by its user's word."""
        return await self._parts.changes.confirm(actor, item_id)

    async def deny(self, actor: Actor, item_id: object) -> Verdict:
        """Remove a pending item, by its user's word."""
        return await self._parts.changes.deny(actor, item_id)

    async def delete(
        self,
        actor: Actor,
        item_id: object,
        *,
        dry_run: bool = False,
        expected_version: int | None = None,
    ) -> Deletion:
        """Remove an item with the earlier versions behind it; see ``Items.delete``."""
        return await self._parts.items.delete(
            actor, item_id, dry_run=dry_run, expected_version=expected_version
        )

    async def delete_all(self, actor: Actor, *, dry_run: bool = False) -> Deletion:
        """Remove every item of the actor's user, of all sessions."""
        return await self._parts.items.delete_all(actor, dry_run=dry_run)

    async def extract(self, actor: Actor) -> PassReport:
        """Turn what was said in the actor's session since the last pass into memories.

        The turns become searchable first, also where the pass is refused for coming too soon.
        """
        await self._parts.resources.index(actor)
        return await self._parts.passes.run(actor)

    # ---- asking the gate without writing

    async def validate_memory(
        self,
        actor: Actor,
        content: str,
        *,
        confidence: float = 0.9,
        metadata: Mapping[str, object] | None = None,
    ) -> Verdict | None:
        """Return the verdict that refuses a text as it stands, None when it may be stored."""
        draft = checked(Draft(content, confidence=confidence, metadata=metadata or {}))
        result = self._parts.writer.screen(actor, draft)
        return result if isinstance(result, Verdict) else None

    async def check_duplicate(self, actor: Actor, content: str, scope: Scope = "user") -> Decision:
        """Return what is known already of a text: the duplicate that it is, or what it supersedes."""
        return await self._parts.writer.compare(actor, content, home(actor, scope)[0])

    async def check_rate_limit(self, actor: Actor) -> Rate:
        """Return how many extraction passes the actor's session has left."""
        return await self._parts.passes.rate(actor)

    # ---- reading

    async def get(self, actor: Actor, item_id: object) -> MemoryItem:
        """Return one item."""
        return await self._parts.items.get(actor, item_id)

    async def list(
        self,
        actor: Actor,
        *,
        limit: int = 50,
        cursor: str | None = None,
        memory_type: MemoryType | None = None,
        scope: Scope | None = None,
        status: str = "active",
    ) -> Page:
        """Return a page of items, newest first, with the total."""
        return await self._parts.items.page(
            actor, limit=limit, cursor=cursor, memory_type=memory_type, scope=scope, status=status
        )

    async def history(self, actor: Actor, item_id: object) -> Sequence[MemoryItem]:
        """Return the versions of an item, newest first."""
        return await self._parts.items.history(actor, item_id)

    async def questions(self, actor: Actor, *, limit: int = 100) -> Sequence[Question]:
        """Return the pending items with what to ask their user."""
        return await self._parts.items.questions(actor, limit=limit)

    @overload
    async def search_memories(
        self,
        actor: Actor,
        query: str,
        k: int = 5,
        memory_type: MemoryType | None = None,
        scope: Scope | None = None,
        *,
        include: tuple[Literal["memory"]] = ("memory",),
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        min_score: float = 0.0,
        include_pending: bool = False,
    ) -> Sequence[Hit]: ...

    @overload
    async def search_memories(
        self,
        actor: Actor,
        query: str,
        k: int = 5,
        memory_type: MemoryType | None = None,
        scope: Scope | None = None,
        *,
        include: tuple[str, ...],
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        min_score: float = 0.0,
        include_pending: bool = False,
    ) -> Sequence[Hit | ResourceHit]: ...

    async def search_memories(
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
    ) -> Sequence[Hit | ResourceHit]:
        """Return the best ``k`` (1 to 100) hits for a query, best first, each with its reasons.

        ``include`` names what is searched: "memory" (items), "resource" (chat turns and documents) or both;
        ``memory_type`` leaves resources out, which have none. ``as_of`` asks what was true then (of
        resources: said until then), ``known_at`` what was known then. Raises InvalidInput (``blank_query``,
        ``k_out_of_range``, ``naive_datetime``, ``unknown_memory_type``, ``unknown_include`` ...).
        """
        return await self._parts.search.run(
            actor,
            query,
            k,
            memory_type,
            scope,
            include=include,
            as_of=as_of,
            known_at=known_at,
            min_score=min_score,
            include_pending=include_pending,
        )

    async def get_profile_for_agent(self, actor: Actor) -> AgentProfile:
        """Return what an agent is told of its user and project; see ``Profiles``.

        Raises PermissionDenied (``not_a_member``) where the actor names a project that is not theirs.
        """
        known = await self._parts.profiles.get_profile_for_agent(actor)
        if actor.project is not None and known.project is None:
            require(None, "read")
        return known

    async def build_context(self, actor: Actor, query: str, budget_tokens: int = 800) -> str:
        """Return what is relevant to ``query`` as text for the end of a system prompt, "" for nothing.

        The profile stands first, in at most 0.4 of the budget, then memories, then turns of conversations
        that bear on it, but for the actor's session's last. At most ``budget_tokens`` (20 to 100,000) by a
        cautious estimate; all of it is framed as data.
        """
        return await self._parts.search.context(actor, query, budget_tokens)

    def format_memories_for_prompt(
        self, hits: Sequence[Hit], budget_tokens: int = 800, profile: AgentProfile | None = None
    ) -> str:
        """Return hits as the text block that ``build_context`` makes of them, the profile before them."""
        whole(budget_tokens, 20, 100_000, "budget_tokens")
        shown = [hit.content for hit in hits]
        about = "" if profile is None else format_profile(profile, budget_tokens, shown)
        return format_context(hits, (), budget_tokens, about)
