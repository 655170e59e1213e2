"""How does one known thing change: corrected, confirmed, denied?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Final, Literal
from uuid import UUID

from mnemic.checks import whole
from mnemic.embedding.models import switched
from mnemic.errors import Conflict
from mnemic.ids import new_id, parse_id
from mnemic.item_rows import Row, open_item, seal_texts, search_columns
from mnemic.keys import with_keys_of_now
from mnemic.longterm.draft import Draft, checked
from mnemic.longterm.gate import Decision, Screened
from mnemic.longterm.items import Items, changed_since
from mnemic.longterm.judge import slots
from mnemic.longterm.known import Place
from mnemic.longterm.verdicts import written
from mnemic.longterm.write import Writer
from mnemic.model import Actor, MemoryItem, MemoryType, Vector, Verdict, Visibility
from mnemic.permissions import require
from mnemic.storage.pool import Deed
from mnemic.storage.statements import statements

_SQL = statements("items")
CONFIRMED = 0.95


class _Unchanged(Enum):
    UNCHANGED = "unchanged"


UNCHANGED: Final = _Unchanged.UNCHANGED
"""Stands for "leave it as it is" where None means "none"."""
Unchanged = Literal[_Unchanged.UNCHANGED]


@dataclass(frozen=True, slots=True)
class _Version:
    """The next version of an item; ``vector`` (of ``model_id``) is None when its text stays."""

    before: MemoryItem
    draft: Draft
    screened: Screened
    vector: Vector | None
    model_id: int | None = None

    @property
    def corrected(self) -> bool:
        """Whether it is true since the same time as before: the text stays, or all of it is past."""
        end = self.draft.valid_to
        return self.vector is None or (end is not None and end <= datetime.now(UTC))

    @property
    def confirmed(self) -> bool:
        """Whether only its confidence rose, so that an unsure item is now sure."""
        was = self.before.status == "pending"
        return was and self.vector is None and self.screened.pending is None


class Changes:
    """Changes single items of one actor."""

    def __init__(self, writer: Writer, items: Items) -> None:
        self._writer = writer
        self._items = items

    @with_keys_of_now
    async def confirm(self, actor: Actor, item_id: object) -> Verdict:
        """Make a pending item active, by its user's word; what it replaces is superseded.

        An item that another member has contested stays as it is, and its question is answered. Raises
        Conflict: ``item_not_pending`` where nothing is asked, ``instruction_like`` for text that reads like
        an instruction, which never becomes active.
        """
        wanted = parse_id(item_id)
        async with self._writer.database.transaction(actor) as tx:
            place, row = await self._items.hold(tx, actor, wanted, "edit")
            asked = await tx.one(_SQL["question"], {"scopes": [place.scope_key], "id": wanted})
            _require_asked(row, asked)
            if asked is not None and asked["reason"] == "instruction_like":
                raise Conflict(
                    "instruction_like", "Text that reads like an instruction stays pending."
                )
            item = open_item(place.key, row)
            sure = Screened(item.content, max(item.confidence, CONFIRMED))
            decision = await self._activate(place, wanted, sure)
            verdict = written(wanted, decision, "confirmed")
            await tx.answer(verdict, Deed("confirm_memory", wanted, row["status"], "active"))
        return verdict

    @with_keys_of_now
    async def deny(self, actor: Actor, item_id: object) -> Verdict:
        """Remove an item that its user, being asked, says is not true, with its earlier versions.

        Raises Conflict (``item_not_pending``) where nothing is asked.
        """
        wanted = parse_id(item_id)
        async with self._writer.database.transaction(actor) as tx:
            place, row = await self._items.hold(tx, actor, wanted, "edit")
            asked = await tx.one(_SQL["question"], {"scopes": [place.scope_key], "id": wanted})
            _require_asked(row, asked)
            await self._items.remove(place, wanted)
            verdict = Verdict(
                "rejected", id=wanted, reason="denied", message="Denied by its user and removed."
            )
            await tx.answer(verdict, Deed("deny_memory", wanted, row["status"]))
        return verdict

    @with_keys_of_now
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
        """Write a new version of an item, through the gate again; what is not named stays as it is.

        ``valid_to=None`` takes the end away. Id, creation time, owner and source stay; the earlier version
        remains as history. A new text is true from now on, any other change corrects the version before it
        and needs no embedder. A verdict ``duplicate`` or ``rejected`` changed nothing. Raises Conflict:
        ``version_conflict`` (not what it was, or not ``expected_version``), ``item_retired``.
        """
        wanted = parse_id(item_id)
        if expected_version is not None:
            whole(expected_version, 1, 2**31 - 1, "expected_version")
        before = await self._items.get(actor, wanted)
        _require_kept(before.status)
        draft = _edited(before, content, memory_type, confidence, valid_to, metadata, visibility)
        new = await self._next(actor, before, checked(draft))
        if isinstance(new, Verdict):
            return replace(new, id=wanted)
        async with self._writer.database.transaction(actor) as tx:
            place, row = await self._items.hold(tx, actor, wanted, "edit")
            _require_current(row, before, expected_version)
            private = new.draft.visibility == "owner_only"
            if private:  # nobody hides what another wrote
                require(tx.role, "edit", "owner_only", own=row["owner_id"] == actor.user)
            verdict = await self._apply(replace(place, private=private), new)
            deed = Deed("edit_memory", wanted, before.version, before.version + 1)
            await tx.answer(verdict, *([] if verdict.outcome == "duplicate" else [deed]))
        return verdict

    async def _next(self, actor: Actor, before: MemoryItem, draft: Draft) -> _Version | Verdict:
        screened = self._writer.screen(actor, draft)
        if isinstance(screened, Verdict):
            return screened
        if screened.text == before.content:
            return _Version(before, draft, screened, None)
        (ready,) = await self._writer.prepare(actor, [draft])
        if isinstance(ready, Verdict):
            return ready
        return _Version(before, draft, ready.screened, ready.vector, ready.model.model_id)

    async def _apply(self, place: Place, new: _Version) -> Verdict:
        if new.model_id not in (None, place.model.model_id):
            raise switched()
        item_id, pending = new.before.id, new.screened.pending
        decision = await self._compared(place, new)
        if decision.duplicate_of is not None:
            return Verdict(
                "duplicate",
                id=item_id,
                reason=decision.why,
                of=decision.duplicate_of,
                message="Nothing was changed: another memory says this already.",
            )
        await self._keep(place, new)
        await self._write(place, new)
        if pending is not None:
            return self._writer.ask_user(place, new.screened, item_id, pending)
        if new.confirmed:
            decision = await self._activate(place, item_id, new.screened)
        else:
            await place.tx.run(_SQL["answer"], {"scope_key": place.scope_key, "id": item_id})
            self._writer.settle(place, item_id, decision)
        return replace(
            written(item_id, decision, "edited"),
            removed=new.screened.removed,
            masked=new.screened.masked,
        )

    async def _compared(self, place: Place, new: _Version) -> Decision:
        """Compare a new text with what else is known; an unchanged one was compared before."""
        if new.vector is None and new.draft.visibility == new.before.visibility:
            return Decision()
        known, text, item_id = self._writer.known, new.screened.text, new.before.id
        twin = await known.twin(place, text, besides=item_id)
        if twin is not None and not twin.expired:
            return Decision(duplicate_of=twin.id, why="exact")
        if new.vector is None:
            return Decision()
        decision = await known.decide(place, text, new.vector, besides=item_id)
        if twin is not None and decision.duplicate_of is None:
            await self._writer.make_room(place, twin.id)
        return decision

    async def _activate(self, place: Place, item_id: UUID, screened: Screened) -> Decision:
        vector = await self._writer.known.vector_of(place, item_id)
        return await self._writer.activate(place, item_id, screened, vector)

    async def _keep(self, place: Place, new: _Version) -> None:
        """Keep the version that is about to be replaced, as a retired row of its own."""
        before, version_id = new.before, new_id()
        sealed = seal_texts(
            place.key,
            place.scope_key,
            version_id,
            before.version,
            content=before.content,
            reason=before.reason,
            metadata=before.metadata,
        )
        params = {
            "scope_key": place.scope_key,
            "id": before.id,
            "version_id": version_id,
            "corrected": new.corrected,
        }
        await place.tx.run(_SQL["keep_version"], params | sealed)

    async def _write(self, place: Place, new: _Version) -> None:
        text, item_id = new.screened.text, new.before.id
        sealed = seal_texts(
            place.key,
            place.scope_key,
            item_id,
            new.before.version + 1,
            content=text,
            reason=new.draft.reason,
            metadata=new.draft.metadata,
        )
        unsure = new.screened.pending is not None or new.confirmed
        params: dict[str, object] = sealed | {
            "scope_key": place.scope_key,
            "id": item_id,
            "version": new.before.version,
            "memory_type": new.draft.memory_type,
            "confidence": new.screened.confidence,
            "status": "pending" if unsure else "active",
            "valid_to": new.draft.valid_to,
            "visibility": new.draft.visibility,
            "content_mac": place.mac(text),
        }
        if new.vector is None:
            await place.tx.run(_SQL["revise"], params)
            return
        found_by = search_columns(place.key, text, new.vector, place.model.model_id, slots(text))
        await place.tx.run(_SQL["replace"], found_by | params | {"corrected": new.corrected})


def _edited(
    before: MemoryItem,
    content: str | None,
    memory_type: MemoryType | None,
    confidence: float | None,
    valid_to: datetime | Unchanged | None,
    metadata: Mapping[str, object] | None,
    visibility: Visibility | None,
) -> Draft:
    draft = _as_draft(before)
    return replace(
        draft,
        content=draft.content if content is None else content,
        memory_type=draft.memory_type if memory_type is None else memory_type,
        confidence=draft.confidence if confidence is None else confidence,
        valid_to=draft.valid_to if valid_to is UNCHANGED else valid_to,
        metadata=draft.metadata if metadata is None else metadata,
        visibility=draft.visibility if visibility is None else visibility,
    )


def _as_draft(item: MemoryItem) -> Draft:
    return Draft(
        item.content,
        item.memory_type,
        item.scope,
        item.confidence,
        item.source,
        valid_from=item.valid_from,
        valid_to=item.valid_to,
        reason=item.reason,
        metadata=item.metadata,
        visibility=item.visibility,
    )


def _require_asked(row: Row, asked: Row | None) -> None:
    contested = row["status"] == "active" and asked is not None
    if row["status"] != "pending" and not contested:
        raise Conflict("item_not_pending", "This item awaits no answer. Read it again.")


def _require_current(row: Row, before: MemoryItem, expected: int | None) -> None:
    if row["version"] != before.version or expected not in (None, row["version"]):
        raise changed_since(row["version"])
    _require_kept(row["status"])


def _require_kept(status: str) -> None:
    if status not in ("active", "pending"):
        raise Conflict("item_retired", "The item is retired. Read it again.")
