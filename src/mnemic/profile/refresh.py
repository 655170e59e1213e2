"""How is a profile made anew of its items? In one transaction, whoever else is about to.

Under a lock on the profile the marks of the outbox are taken and the items read after that, so that a change
is in the profile or its mark is still there. Doing it twice changes nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, LiteralString, Protocol
from uuid import UUID

from mnemic.crypto import DataKey, ProjectKey
from mnemic.errors import Conflict, MnemicError
from mnemic.keys import KeyRing
from mnemic.model import Actor
from mnemic.permissions import RUN_BY
from mnemic.profile.aggregate import decisions, first_end, merged, of_project, of_user
from mnemic.profile.history_changes import Change, changed
from mnemic.profile.history_rows import record
from mnemic.profile.known import Known
from mnemic.profile.rows import (
    PROJECTS,
    USERS,
    ContactIndex,
    Row,
    blind_names,
    contact_macs,
    open_decisions,
    open_fields,
    open_known,
    own_index,
    seal_decision,
    seal_fields,
)
from mnemic.profile.sleeping import profile_asleep
from mnemic.profile.values import Cause, Decision, Field, Fields
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements

_SQL = statements("profiles")
ITEMS_A_TYPE = 200
"""Newest items of each type that a profile is made of; what fills an attribute counts however old."""
_IN_THE_LOOP = 50
"""So many items are read in the event loop; more of them in a thread, for it takes a tenth of a second."""
Edit = Callable[[Fields, datetime], Fields]
"""Makes the edited fields of those that are there; the time is that of the edit."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A profile's fields and version as they stand now, and the version before."""

    fields: dict[str, Field]
    version: int
    before: int
    created_at: datetime
    updated_at: datetime


class Sleep(Protocol):
    """What knows of profiles that are asleep: ``hibernation``."""

    def why(self, actor: Actor) -> MnemicError:
        """Return why the user's profile is asleep still."""

    async def give_up(self, tx: Transaction, actor: Actor) -> None:
        """Forget what is asleep of the user's profile."""


class Refresh:
    """Makes profiles anew."""

    def __init__(self, database: Database, keys: KeyRing, index: ContactIndex = own_index) -> None:
        self.database = database
        self.keys = keys
        self.index = index
        self.sleep: Sleep | None = None

    async def user(
        self,
        tx: Transaction,
        actor: Actor,
        edit: Edit | None = None,
        expected: int | None = None,
        *,
        deleted: bool | None = None,
    ) -> Standing:
        """Make the user's profile anew and return it; with ``edit`` that holds from now on.

        ``deleted`` takes the profile away, or gives it back. Raises Conflict (``version_conflict``) where it
        is not at the ``expected`` version.
        """
        scope_key = actor.user_scope
        key = await self.keys.obtain(tx, actor)
        named = {"scope_key": scope_key, "user_id": actor.user}
        await tx.one(_SQL["hold"], named)
        await tx.run(_SQL["begin_user"], named)
        row = await tx.one(_SQL["user"], named)
        assert row is not None, "the profile was made above"
        if row["asleep_at"] is not None:
            row = await self._given_up(tx, actor, named, deleted is True)
        _require_version(row, expected)
        before = open_fields(key, USERS, scope_key, row, row["version"])
        await tx.run(_SQL["take"], named)
        gone = row["is_deleted"] if deleted is None else deleted
        items = [] if gone else await self._items(tx, key, scope_key)
        edited = await _edited(tx, before, edit)
        made = {} if gone else merged(await _made(of_user, items), edited)
        fields, stale_at = _told_again(key, made, before), first_end(items)
        if fields == before and gone == row["is_deleted"]:
            return await _kept(tx, _SQL["user_stale"], row, before, named | {"stale_at": stale_at})
        version = row["version"] + 1
        put: dict[str, Any] = named | self.user_columns(key, scope_key, fields, version)
        put |= {"version": version, "stale_at": stale_at, "is_deleted": gone}
        now = _standing({**row, **(await tx.one(_SQL["put_user"], put) or {})}, fields, version)
        change = Change(version, now.updated_at, _cause(edit, deleted), changed(before, fields))
        await record(tx, key, scope_key, change, lambda: known(row, before))
        return now

    async def _given_up(
        self, tx: Transaction, actor: Actor, named: dict[str, Any], deleted: bool
    ) -> dict[str, Any]:
        """Return what is left of a profile whose rest is asleep, for whoever takes it away."""
        if not deleted or self.sleep is None:
            raise profile_asleep() if self.sleep is None else self.sleep.why(actor)
        await self.sleep.give_up(tx, actor)
        row = await tx.one(_SQL["user"], named)
        assert row is not None, "it was there above"
        return row

    def user_columns(
        self, key: DataKey, scope_key: str, fields: Fields, version: int
    ) -> dict[str, bytes | None]:
        """Return the sealed and keyed columns of a user's profile at one version."""
        sealed = seal_fields(key, USERS, scope_key, fields, version)
        return sealed | contact_macs(key, fields, self.index)

    async def project(
        self,
        tx: Transaction,
        actor: Actor,
        edit: Edit | None = None,
        expected: int | None = None,
    ) -> Standing:
        """The same of the actor's project, for its owners and admins; its decisions too."""
        scope_key = str(actor.project_scope)
        key = await self.projects_own(tx, actor)
        named = {"scope_key": scope_key}
        await tx.one(_SQL["hold"], named)
        await tx.run(_SQL["begin_project"], named)
        row = await tx.one(_SQL["project"], named)
        assert row is not None, "the profile was made above"
        _require_version(row, expected)
        before = open_fields(key, PROJECTS, scope_key, row, row["version"])
        await tx.run(_SQL["take"], named)
        items = await self._items(tx, key, scope_key)
        edited = await _edited(tx, before, edit)
        fields = merged(await _made(of_project, items), edited)
        decided = await self._put_decisions(tx, key, scope_key, items)
        stale_at = first_end(items)
        if fields == before and not decided.new and not decided.gone:
            return await _kept(
                tx, _SQL["project_stale"], row, before, named | {"stale_at": stale_at}
            )
        version = row["version"] + 1
        put: dict[str, Any] = named | seal_fields(key, PROJECTS, scope_key, fields, version)
        put |= {"version": version, "stale_at": stale_at}
        now = _standing({**row, **(await tx.one(_SQL["put_project"], put) or {})}, fields, version)
        by = None if edit is None else actor.user
        change = decided.change(version, now.updated_at, changed(before, fields), by)
        await record(tx, key, scope_key, change, lambda: decided.known(key, scope_key, row, before))
        return now

    async def projects_own(self, tx: Transaction, actor: Actor) -> DataKey:
        """Return the key of the project itself: what it seals outlives whoever wrote it."""
        key = await self.keys.find(tx, actor, actor.project_scope)
        if key is None:
            key = await self.keys.obtain(tx, actor, actor.project_scope)
        return key.by("") if isinstance(key, ProjectKey) else key

    async def user_items(self, tx: Transaction, key: DataKey, actor: Actor) -> tuple[Known, ...]:
        """Return what the user's profile is made of; nothing where it was taken away."""
        row = await tx.one(_SQL["user"], {"scope_key": actor.user_scope})
        if row is None or row["is_deleted"]:
            return ()
        return tuple(await self._items(tx, key, actor.user_scope))

    async def project_items(self, tx: Transaction, actor: Actor) -> tuple[Known, ...]:
        """Return what the project's profile is made of, as any member may read it."""
        key = await self.projects_own(tx, actor)
        return tuple(await self._items(tx, key, str(actor.project_scope)))

    async def _items(self, tx: Transaction, key: DataKey, scope_key: str) -> list[Known]:
        names = blind_names(key)
        params = {"scope_key": scope_key, "most": ITEMS_A_TYPE, "slots": list(names)}
        return [open_known(key, row, names) for row in await tx.all(_SQL["items"], params)]

    async def _put_decisions(
        self, tx: Transaction, key: DataKey, scope_key: str, items: Sequence[Known]
    ) -> _Decided:
        """Let the project's decisions be those of its items, and return what changed."""
        rows = await tx.all(_SQL["decisions"], {"scope_key": scope_key})
        there = {row["item_id"]: (row["item_version"], row["decided_at"]) for row in rows}
        wanted = {item.id: (item, decision) for item, decision in decisions(items)}
        gone = [item for item in there if item not in wanted]
        new = [
            (item, decision)
            for item, decision in wanted.values()
            if there.get(item.id) != (item.version, decision.time)
        ]
        if gone:
            await tx.run(_SQL["drop_decisions"], {"scope_key": scope_key, "ids": gone})
        if new:
            sealed = [seal_decision(key, scope_key, item, decision) for item, decision in new]
            await tx.many(_SQL["put_decision"], sealed)
        return _Decided(rows, tuple(decision for _, decision in new), tuple(gone))


@dataclass(frozen=True, slots=True)
class _Decided:
    """What changed in a project's decisions: the rows before, what is new, the items of what is gone."""

    before: Sequence[Row]
    new: tuple[Decision, ...]
    gone: tuple[UUID, ...]

    def change(
        self, version: int, at: datetime, fields: Mapping[str, Field | None], by: str | None
    ) -> Change:
        """Return the change of the profile that this is a part of."""
        cause: Cause = "items" if by is None else "edit"
        return Change(version, at, cause, fields, self.new, self.gone, by=by)

    def known(self, key: DataKey, scope_key: str, row: Row, fields: Fields) -> Change:
        """Return what the profile was before, as a change."""
        rows = [tuple(one.values()) for one in self.before]
        return replace(known(row, fields), decided=open_decisions(key, scope_key, rows))


def may_make(tx: Transaction) -> bool:
    """Tell whether the asker's role allows to write the project's profile."""
    return tx.role in RUN_BY


def source_of(key: DataKey, field: Field) -> str:
    """Return the keyed hash of the statements of a field."""
    said = [[entry.text, [item.hex for item in entry.items]] for entry in field.entries]
    return key.mac(f"told {json.dumps(said)}").hex()


def _told_again(key: DataKey, fields: dict[str, Field], before: Fields) -> dict[str, Field]:
    """Keep the flowing text of a chat model while the statements are those that it was made of."""
    told, new = before.get("background"), fields.get("background")
    if told is None or new is None or told.told is None or new.edited_at is not None:
        return fields
    return {**fields, "background": told} if told.told == source_of(key, new) else fields


async def _made(
    aggregate: Callable[[Sequence[Known]], dict[str, Field]], items: Sequence[Known]
) -> dict[str, Field]:
    if len(items) <= _IN_THE_LOOP:
        return aggregate(items)
    return await asyncio.to_thread(aggregate, items)


async def _edited(tx: Transaction, before: Fields, edit: Edit | None) -> Fields:
    if edit is None:
        return before
    row = await tx.one(_SQL["clock"])
    assert row is not None
    return edit(before, row["now"])


def _cause(edit: Edit | None, deleted: bool | None) -> Cause:
    return "edit" if edit is not None else "delete" if deleted else "items"


async def _kept(
    tx: Transaction, statement: LiteralString, row: Row, fields: Fields, stale: dict[str, Any]
) -> Standing:
    """Return a profile that stays as it is; only when it will be behind its items may have moved."""
    if stale["stale_at"] != row["stale_at"]:
        await tx.run(statement, stale)
    return _standing(row, fields, row["version"])


def known(row: Row, fields: Fields) -> Change:
    """Return what a profile is, as a change that made it so."""
    return Change(row["version"], row["updated_at"], "known", dict(fields))


def _require_version(row: Row, expected: int | None) -> None:
    if expected not in (None, row["version"]):
        raise Conflict(
            "version_conflict",
            "The profile was changed since. Read it again.",
            version=row["version"],
        )


def _standing(row: Mapping[str, object], fields: Fields, version: int) -> Standing:
    made, changed, before = row["created_at"], row["updated_at"], row["version"]
    assert isinstance(made, datetime)
    assert isinstance(changed, datetime)
    assert isinstance(before, int)
    return Standing(dict(fields), version, before, made, changed)


def edited_fields(changes: Mapping[str, Field | None], *, whole: bool) -> Edit:
    """Return the edit that puts these fields, None giving one back to its items.

    With ``whole`` every field that is not named is given back too.
    """

    def edit(before: Fields, now: datetime) -> Fields:
        kept = {} if whole else {n: f for n, f in before.items() if n not in changes}
        put = {
            name: replace(field, edited_at=now)
            for name, field in changes.items()
            if field is not None
        }
        return {**kept, **put}

    return edit
