"""What does a user find of what is known by id and by list, and what goes when it is deleted?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.checks import one_of, whole
from mnemic.crypto import DataKey
from mnemic.cursors import decode_cursor, encode_cursor
from mnemic.errors import Conflict, NotFound
from mnemic.ids import parse_id
from mnemic.item_rows import Row, at, open_item
from mnemic.keys import with_keys_of_now
from mnemic.longterm.known import Place, lock
from mnemic.longterm.write import Writer
from mnemic.model import MEMORY_TYPES, Actor, MemoryItem, MemoryType, Scope, known_actor
from mnemic.permissions import Action, readable, require, require_within
from mnemic.session.sessions import require_session
from mnemic.storage.pool import Deed, Transaction
from mnemic.storage.statements import statements

_SQL = statements("items")
MAX_PAGE = 1000
MAX_QUESTIONS = 10_000
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


def changed_since(version: int) -> Conflict:
    """Return the error for an item that is not at the version that was meant; ``version`` is there now."""
    return Conflict(
        "version_conflict", "The item was changed since. Read it again.", version=version
    )


class Items:
    """Reads, lists and deletes the items of one actor, and of the project that the actor names."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._database = writer.database
        self._keys = writer.keys

    @with_keys_of_now
    async def get(self, actor: Actor, item_id: object) -> MemoryItem:
        """Return an item in whatever status. Raises NotFound (``item_not_found``)."""
        async with self._database.transaction(actor) as tx:
            return open_item(*await self.fetch(tx, actor, parse_id(item_id)))

    @with_keys_of_now
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
        Raises InvalidInput (``limit_out_of_range``, ``unknown_status``, ``invalid_cursor`` ...),
        PermissionDenied (``not_a_member``), and for session scope NotFound (``session_not_found``).
        """
        whole(limit, 1, MAX_PAGE, "limit")
        before_at, before_id = (None, None) if cursor is None else decode_cursor(cursor)
        params: dict[str, Any] = {
            "scopes": readable(actor, scope),
            "statuses": _STATUSES[one_of(status, tuple(_STATUSES), "status")],
            "memory_type": None
            if memory_type is None
            else one_of(memory_type, MEMORY_TYPES, "memory_type"),
            "with_expired": status not in ("active", "pending", "current"),
            "before_at": before_at,
            "before_id": before_id,
            "limit": limit + 1,
        }
        async with self._database.transaction(actor) as tx:
            require_within(actor, params["scopes"], tx.role)
            if scope == "session":
                await require_session(tx, actor)
            keys = await self._keys.readable(tx, actor)
            rows = await tx.all(_SQL["list"], params)
            counted = await tx.one(_SQL["count"], params)
        shown = tuple(open_item(keys[row["scope_key"]], row) for row in rows[:limit])
        last = shown[-1] if len(rows) > limit else None
        next_page = encode_cursor(last.recorded_at, last.id) if last else None
        return Page(shown, counted["total"] if counted else 0, next_page)

    @with_keys_of_now
    async def history(self, actor: Actor, item_id: object) -> list[MemoryItem]:
        """Return the chain of versions that this item belongs to, newest first."""
        wanted = parse_id(item_id)
        async with self._database.transaction(actor) as tx:
            key, _ = await self.fetch(tx, actor, wanted)
            params = {"scopes": list(actor.readable_scopes), "id": wanted}
            return [open_item(key, row) for row in await tx.all(_SQL["history"], params)]

    @with_keys_of_now
    async def delete(
        self,
        actor: Actor,
        item_id: object,
        *,
        dry_run: bool = False,
        expected_version: int | None = None,
    ) -> Deletion:
        """Remove an item and the earlier versions that it superseded; nothing of them stays.

        Raises Conflict (``version_conflict``) unless ``expected_version``, where it is given, is there.
        """
        wanted = parse_id(item_id)
        if expected_version is not None:
            whole(expected_version, 1, 2**31 - 1, "expected_version")
        async with self._database.transaction(actor) as tx:
            place, row = await self.hold(tx, actor, wanted, "delete")
            if expected_version not in (None, row["version"]):
                raise changed_since(row["version"])
            ids = await self.remove(place, wanted, dry_run=dry_run)
            deletion = Deletion(len(ids), ids, dry_run)
            states = {wanted: row["version"]}
            deeds = [Deed("delete_memory", one, states.get(one, "superseded")) for one in ids]
            await tx.answer(deletion, *(() if dry_run else deeds))
        return deletion

    async def delete_all(self, actor: Actor, *, dry_run: bool = False) -> Deletion:
        """Remove every item of the user, those of all sessions included; a project's stay."""
        params = {"user_scope": known_actor(actor).user_scope, "sessions": actor.session_prefix}
        async with self._database.transaction(actor) as tx:
            if dry_run:
                row = await tx.one(_SQL["count_all"], params)
                return Deletion(row["total"] if row else 0, dry_run=True)
            await tx.one(_SQL["lock_scope"], {"scope_key": actor.user_scope})
            deletion = Deletion(await tx.run(_SQL["delete_all"], params))
            done = Deed("delete_all_memories", actor.user_scope, deletion.count)
            await tx.answer(deletion, *([done] if deletion.count else []))
        return deletion

    @with_keys_of_now
    async def questions(self, actor: Actor, *, limit: int = 100) -> list[Question]:
        """Return what awaits the user's word, oldest first; ``limit`` is 1 to 10,000.

        Of a project's items those that the actor wrote: nobody else is asked.
        """
        whole(limit, 1, MAX_QUESTIONS, "limit")
        params = {
            "scopes": list(known_actor(actor).readable_scopes),
            "user_id": actor.user,
            "limit": limit,
        }
        async with self._database.transaction(actor) as tx:
            require_within(actor, actor.readable_scopes, tx.role)
            keys = await self._keys.readable(tx, actor)
            rows = await tx.all(_SQL["open_questions"], params)
        return [_question(keys[row["scope_key"]], row) for row in rows]

    async def fetch(
        self, tx: Transaction, actor: Actor, item_id: UUID, statement: str = "get"
    ) -> tuple[Any, Row]:
        """Return an item's row with the key that opens it. Raises NotFound (``item_not_found``)."""
        keys = await self._keys.readable(tx, actor)
        params = {"scopes": list(actor.readable_scopes), "id": item_id}
        row = await tx.one(_SQL[statement], params)
        if row is None:
            raise NotFound("item_not_found", "There is no such memory item.")
        return keys[row["scope_key"]], row

    async def hold(
        self, tx: Transaction, actor: Actor, item_id: UUID, action: Action
    ) -> tuple[Place, Row]:
        """Return an item's row, for whoever may do that to it, its scope locked against other writers.

        The scope is locked before the row, and before a key is made, as adding does it, so that no two
        writers wait for each other. Raises NotFound (``item_not_found``), PermissionDenied
        (``role_too_low``).
        """
        key, seen = await self.fetch(tx, actor, item_id)
        shared = seen["scope"] == "project"
        if shared:
            require(tx.role, action, seen["visibility"], own=seen["owner_id"] == actor.user)
        await lock(tx, seen["scope_key"])
        if shared:
            key = await self._keys.obtain(tx, actor, seen["scope_key"], of=seen["owner_id"])
        model = await self._writer.models.in_use(tx, actor, seen["scope_key"])
        private = seen["visibility"] == "owner_only"
        place = Place(key, seen["scope_key"], model, actor.user, private, tx=tx)
        _, row = await self.fetch(tx, actor, item_id, "get_for_update")
        return place, row

    async def remove(
        self, place: Place, item_id: UUID, *, dry_run: bool = False
    ) -> tuple[UUID, ...]:
        """Remove an item with everything that it superseded, and return the ids."""
        params: dict[str, Any] = {"scopes": [place.scope_key], "id": item_id}
        ids = [row["id"] for row in await place.tx.all(_SQL["chain_ids"], params)]
        if not dry_run:
            gone = {row["id"] for row in await place.tx.all(_SQL["delete"], params | {"ids": ids})}
            ids = [one for one in ids if one in gone]  # what others wrote may have to stay
        return tuple(ids)


def _question(key: DataKey, row: Row) -> Question:
    asked = key.open(row["question_enc"], at(row["scope_key"], row["id"], "question", 1))
    shown = None if row["why"] == "instruction_like" else asked
    return Question(open_item(key, row), row["why"], shown, row["asked_at"])
