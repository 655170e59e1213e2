"""What does a user do with what is known: look, correct, confirm, deny, delete?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.checks import one_of, whole
from mnemic.cursors import decode_cursor, encode_cursor
from mnemic.errors import Conflict, NotFound
from mnemic.ids import new_id, parse_id
from mnemic.item_rows import Row, at, open_item, seal_texts, search_columns
from mnemic.longterm.draft import Draft, checked
from mnemic.longterm.gate import decide
from mnemic.longterm.judge import judge
from mnemic.longterm.write import Ready, Writer, written
from mnemic.model import MEMORY_TYPES, Actor, MemoryItem, MemoryType, Scope, Verdict
from mnemic.permissions import readable
from mnemic.storage.pool import Transaction
from mnemic.storage.statements import statements

_SQL = statements("items")
MAX_PAGE = 1000
CONFIRMED = 0.95
_STATUSES: Mapping[str, list[str]] = {
    "active": ["active"],
    "pending": ["pending"],
    "superseded": ["superseded"],
    "archived": ["archived"],
    "current": ["active", "pending"],
    "all": ["active", "pending", "superseded", "archived"],
}


@dataclass(frozen=True, slots=True)
class Page:
    """Some items, newest first; ``total`` counts all, ``cursor`` asks for the next page (None at the end)."""

    items: tuple[MemoryItem, ...]
    total: int
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """An unsure item and what to ask its user about it; ``asked`` is None for instruction-like text."""

    item: MemoryItem
    reason: str
    asked: str | None
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class Deletion:
    """How many rows a deletion takes, earlier versions included; ``dry_run`` took none."""

    count: int
    ids: tuple[UUID, ...] = ()
    dry_run: bool = False


class Items:
    """Reads and changes single items of one actor."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._database = writer.database
        self._keys = writer.keys

    async def get(self, actor: Actor, item_id: object) -> MemoryItem:
        """Return an item in whatever status. Raises NotFound (``item_not_found``)."""
        async with self._database.transaction(actor) as tx:
            return open_item(*await self._fetch(tx, actor, parse_id(item_id), "get"))

    async def page(
        self,
        actor: Actor,
        *,
        limit: int = 50,
        cursor: str | None = None,
        memory_type: MemoryType | None = None,
        scope: Scope | None = None,
        status: str = "active",
    ) -> Page:
        """Return a page of items, newest first, with the total of all pages.

        ``limit`` is 1 to 1,000; ``status`` active, pending, current (both), superseded, archived or all.
        Raises InvalidInput (``limit_out_of_range``, ``unknown_status``, ``invalid_cursor`` ...).
        """
        whole(limit, 1, MAX_PAGE, "limit")
        before_at, before_id = decode_cursor(cursor) if cursor else (None, None)
        params: dict[str, Any] = {
            "scopes": readable(actor, scope),
            "statuses": _STATUSES[one_of(status, tuple(_STATUSES), "status")],
            "memory_type": memory_type and one_of(memory_type, MEMORY_TYPES, "memory_type"),
            "with_expired": status not in ("active", "pending", "current"),
            "before_at": before_at,
            "before_id": before_id,
            "limit": limit + 1,
        }
        async with self._database.transaction(actor) as tx:
            key = await self._keys.find(tx, actor)
            if key is None:
                return Page((), 0)
            rows = await tx.all(_SQL["list"], params)
            counted = await tx.one(_SQL["count"], params)
        shown = tuple(open_item(key, row) for row in rows[:limit])
        last = shown[-1] if len(rows) > limit else None
        next_page = encode_cursor(last.recorded_at, last.id) if last else None
        return Page(shown, counted["total"] if counted else 0, next_page)

    async def history(self, actor: Actor, item_id: object) -> list[MemoryItem]:
        """Return the chain of versions that this item belongs to, newest first."""
        wanted = parse_id(item_id)
        async with self._database.transaction(actor) as tx:
            key = (await self._fetch(tx, actor, wanted, "get"))[0]
            params = {"scopes": list(actor.scope_keys), "id": wanted}
            return [open_item(key, row) for row in await tx.all(_SQL["history"], params)]

    async def delete(self, actor: Actor, item_id: object, *, dry_run: bool = False) -> Deletion:
        """Remove an item and the earlier versions that it superseded; nothing of them stays."""
        wanted = parse_id(item_id)
        params: dict[str, Any] = {"scopes": list(actor.scope_keys), "id": wanted}
        async with self._database.transaction(actor) as tx:
            await self._fetch(tx, actor, wanted, "get_for_update")
            ids = [row["id"] for row in await tx.all(_SQL["chain_ids"], params)]
            if not dry_run:
                await tx.run(_SQL["delete"], params | {"ids": ids})
        return Deletion(len(ids), tuple(ids), dry_run)

    async def delete_all(self, actor: Actor, *, dry_run: bool = False) -> Deletion:
        """Remove every item of the user, those of all sessions included."""
        params = {"user_scope": actor.user_scope, "sessions": actor.session_prefix}
        async with self._database.transaction(actor) as tx:
            if not dry_run:
                return Deletion(await tx.run(_SQL["delete_all"], params))
            row = await tx.one(_SQL["count_all"], params)
        return Deletion(row["total"] if row else 0, dry_run=True)

    async def questions(self, actor: Actor, *, limit: int = 100) -> list[Question]:
        """Return what awaits the user's word, oldest first."""
        params = {"scopes": list(actor.scope_keys), "limit": limit}
        async with self._database.transaction(actor) as tx:
            key = await self._keys.find(tx, actor)
            if key is None:
                return []
            found = []
            for row in await tx.all(_SQL["open_questions"], params):
                place = at(row["scope_key"], row["item_id"], "question", 1)
                asked = key.open(row["question_enc"], place)
                item = open_item(*await self._fetch(tx, actor, row["item_id"], "get"))
                shown = None if row["reason"] == "instruction_like" else asked
                found.append(Question(item, row["reason"], shown, row["asked_at"]))
            return found

    async def confirm(self, actor: Actor, item_id: object) -> Verdict:
        """Make a pending item active, by its user's word; what it replaces is superseded.

        Raises Conflict (``item_not_pending``) for any other item.
        """
        wanted = parse_id(item_id)
        ready = await self._again(await self.get(actor, wanted))
        async with self._database.transaction(actor) as tx:
            key, row = await self._fetch(tx, actor, wanted, "get_for_update")
            _require(row["status"] == "pending", "item_not_pending", "This item awaits no answer.")
            asked = await tx.one(_SQL["question"], {"scopes": [row["scope_key"]], "id": wanted})
            harmless = asked is None or asked["reason"] != "instruction_like"
            _require(
                harmless, "instruction_like", "Text that reads like an instruction stays pending."
            )
            await tx.one(_SQL["lock_scope"], {"scope_key": row["scope_key"]})
            decision = await self._writer.activate(tx, key, row["scope_key"], wanted, ready)
        return written(wanted, decision, "confirmed")

    async def deny(self, actor: Actor, item_id: object) -> Verdict:
        """Remove a pending item that its user says is not true."""
        wanted = parse_id(item_id)
        async with self._database.transaction(actor) as tx:
            _, row = await self._fetch(tx, actor, wanted, "get_for_update")
            _require(row["status"] == "pending", "item_not_pending", "This item awaits no answer.")
            await tx.run(_SQL["delete"], {"scopes": [row["scope_key"]], "ids": [wanted]})
        return Verdict(
            "rejected", id=wanted, reason="denied", message="Denied by its user and removed."
        )

    async def update(
        self,
        actor: Actor,
        item_id: object,
        *,
        content: str | None = None,
        memory_type: MemoryType | None = None,
        confidence: float | None = None,
        valid_to: datetime | None = None,
        metadata: Mapping[str, object] | None = None,
        expected_version: int | None = None,
    ) -> Verdict:
        """Write a new version of an item, through the gate again; what is not named stays as it is.

        The id, creation time, owner and source stay; the earlier version remains as history. Raises Conflict:
        ``version_conflict`` when ``expected_version`` is not the current one, ``item_retired`` for an item
        that was superseded or archived.
        """
        wanted = parse_id(item_id)
        before = await self.get(actor, wanted)
        changes = {
            "content": content,
            "memory_type": memory_type,
            "confidence": confidence,
            "valid_to": valid_to,
            "metadata": metadata,
        }
        given = {name: value for name, value in changes.items() if value is not None}
        draft = checked(replace(_as_draft(before), **given))  # type: ignore[arg-type]
        (ready,) = await self._writer.prepare(actor, [draft])
        if isinstance(ready, Verdict):
            return replace(ready, id=wanted)
        async with self._database.transaction(actor) as tx:
            key, row = await self._fetch(tx, actor, wanted, "get_for_update")
            expected = before.version if expected_version is None else expected_version
            _require(row["version"] == expected, "version_conflict", "The item was changed since.")
            _require(row["status"] in ("active", "pending"), "item_retired", "The item is retired.")
            return await self._replace(tx, key, row, ready, open_item(key, row))

    async def _replace(
        self, tx: Transaction, key: Any, row: Row, ready: Ready, before: MemoryItem
    ) -> Verdict:
        scope_key, wanted, text = row["scope_key"], before.id, ready.screened.text
        await tx.one(_SQL["lock_scope"], {"scope_key": scope_key})
        twin = await self._writer.find_exact(tx, key, scope_key, text, besides=wanted)
        if twin is not None:
            return Verdict("duplicate", id=wanted, reason="exact", of=twin)
        near = await self._writer.neighbours(tx, key, scope_key, ready.vector, besides=wanted)
        decision = decide(text, near, judge, self._writer.limits.duplicate_threshold)
        if decision.duplicate_of is not None and text != before.content:
            return Verdict("duplicate", id=wanted, reason=decision.why, of=decision.duplicate_of)
        await self._keep(tx, key, scope_key, before)
        pending = ready.screened.pending
        sealed = seal_texts(
            key,
            scope_key,
            wanted,
            before.version + 1,
            content=text,
            reason=ready.draft.reason,
            metadata=ready.draft.metadata,
        )
        params = {
            "scope_key": scope_key,
            "id": wanted,
            "version": before.version,
            "memory_type": ready.draft.memory_type,
            "confidence": ready.screened.confidence,
            "status": "active" if pending is None else "pending",
            "valid_to": ready.draft.valid_to,
        }
        found_by = search_columns(key, text, ready.vector, self._writer.model.model_id)
        await tx.run(_SQL["replace"], params | sealed | found_by)
        if pending is not None:
            return await self._writer.ask_user(tx, key, scope_key, ready, wanted, pending)
        await tx.run(_SQL["answer"], params)
        await self._writer.retire(tx, scope_key, decision.supersedes, by=wanted)
        return written(wanted, decision, "edited")

    async def _keep(self, tx: Transaction, key: Any, scope_key: str, before: MemoryItem) -> None:
        """Keep the version that is about to be replaced, as a retired row of its own."""
        version_id = new_id()
        sealed = seal_texts(
            key,
            scope_key,
            version_id,
            before.version,
            content=before.content,
            reason=before.reason,
            metadata=before.metadata,
        )
        params = {"scope_key": scope_key, "id": before.id, "version_id": version_id}
        await tx.run(_SQL["keep_version"], params | sealed)

    async def _again(self, item: MemoryItem) -> Ready:
        """Return what the writer needs to compare a stored item with its neighbours once more."""
        screened = self._writer.trusted(item.content, max(item.confidence, CONFIRMED))
        vector = await self._writer.model.vector(item.content)
        return Ready(Draft(item.content, item.memory_type, item.scope), screened, vector)

    async def _fetch(
        self, tx: Transaction, actor: Actor, item_id: UUID, statement: str
    ) -> tuple[Any, Row]:
        key = await self._keys.find(tx, actor)
        params = {"scopes": list(actor.scope_keys), "id": item_id}
        row = await tx.one(_SQL[statement], params) if key else None
        if row is None:
            raise NotFound("item_not_found", "There is no such memory item.")
        return key, row


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
    )


def _require(holds: bool, code: str, message: str) -> None:
    if not holds:
        raise Conflict(code, f"{message} Read it again.")
