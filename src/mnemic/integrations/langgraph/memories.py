"""How does a value become a memory, and a memory a value?

What is put into a namespace of memories goes through the gate like everything that is to be remembered. Its
text is the memory's; the rest of the value stands in the memory's metadata, and the key in a row that names
the memory. Memories that came by another way are found there too, by their id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from mnemic.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from mnemic.integrations.langgraph.entries import (
    Entry,
    entry_mac,
    opened_entry,
    prefixes_mac,
    sealed,
    value_text,
)
from mnemic.integrations.langgraph.places import Place
from mnemic.integrations.langgraph.refusals import MemoryRefused
from mnemic.item_rows import open_item
from mnemic.keys import with_keys_of_now
from mnemic.longterm.changes import UNCHANGED
from mnemic.longterm.draft import Draft, checked
from mnemic.longterm.known import lock
from mnemic.model import MEMORY_TYPES, Actor, MemoryItem, MemoryType, Source, Verdict
from mnemic.permissions import require
from mnemic.service import MemoryService
from mnemic.storage.statements import statements
from mnemic.storage.transaction import Deed, Transaction

_SQL = statements("store")
TEXT_FIELDS = ("content", "text", "memory", "data")
"""Where a value in a namespace of memories has its text: the first of these that it has."""
_META = "store"
_KEPT = ("active", "pending")
_MOVED = ("version_conflict", "item_not_found", "item_retired")
"""What a put hears of a memory that others changed or deleted since it was read."""
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Link:
    """A key under which a memory stands; ``made`` says that it came by that key and no other way."""

    entry: Entry
    item: MemoryItem
    made: bool

    @property
    def counts(self) -> bool:
        """Whether the memory is in force: not retired, not expired and not waiting for confirmation."""
        end = self.item.valid_to
        return self.item.status == "active" and (end is None or end > datetime.now(UTC))


class Memories:
    """Puts memories by key, and reads them so."""

    def __init__(self, service: MemoryService, source: Source, confidence: float) -> None:
        self._service = service
        self._source = source
        self._confidence = confidence

    # ---- putting

    async def refused(self, actor: Actor, value: Mapping[str, Any]) -> Verdict | None:
        """Return the verdict that refuses a value as it stands, None when it may be put.

        Raises InvalidInput (``memory_text_missing``, ``value_not_json`` ...).
        """
        value_text(value)
        draft = checked(self._draft(value, "user", None))
        return await self._service.validate_memory(
            actor, draft.content, confidence=draft.confidence, metadata=draft.metadata
        )

    async def put(
        self, actor: Actor, place: Place, key: str, value: Mapping[str, Any], minutes: float | None
    ) -> Verdict:
        """Put a value as a memory. Of puts at once the last one counts. Raises MemoryRefused where the gate
        says no after all."""
        for _ in range(_TRIES):
            try:
                return await self._put(actor, place, key, value, minutes)
            except (Conflict, NotFound) as error:
                if error.code not in _MOVED:
                    raise
        return await self._put(actor, place, key, value, minutes)

    async def _put(
        self, actor: Actor, place: Place, key: str, value: Mapping[str, Any], minutes: float | None
    ) -> Verdict:
        draft = self._draft(value, place.scope, minutes)
        link = await self.link(actor, place, key)
        if link is not None and link.made and link.item.status in _KEPT:
            verdict = await self._edited(actor, link.item, draft)
        else:
            verdict = await self._service.add_explicit_memory(
                actor,
                draft.content,
                draft.memory_type,
                place.scope,
                confidence=draft.confidence,
                source=self._source,
                valid_to=draft.valid_to,
                metadata=draft.metadata,
            )
        if verdict.outcome == "rejected":
            raise MemoryRefused(verdict)
        await self._keep(actor, place, key, verdict, link)
        return verdict

    async def remove(self, actor: Actor, place: Place, key: str) -> bool:
        """Remove a key and the memory that came by it, or the memory of that id; tell if it was there."""
        link = await self.link(actor, place, key)
        if link is None:
            item = await self._by_id(actor, place, key)
            if item is not None:
                await self._service.delete(actor, item.id)
            return item is not None
        if link.made:
            return await self._gone(actor, link.item.id)
        async with self._database.transaction(actor) as tx:
            params = {
                "scope_key": place.scope_key,
                "entries": [await self._mac(tx, actor, place, key)],
            }
            await tx.run(_SQL["remove"], params)
            await tx.answer(None)
        return True

    # ---- reading

    async def get(self, actor: Actor, place: Place, key: str) -> Entry | None:
        """Return the memory under a key, or of an id, as a value; None for one that is not in force."""
        link = await self.link(actor, place, key)
        if link is not None:
            return link.entry if link.counts else None
        item = await self._by_id(actor, place, key)
        return None if item is None else bare(item, place)

    async def entries(self, actor: Actor, place: Place, items: Sequence[MemoryItem]) -> list[Entry]:
        """Return memories of one scope as values, each under its key if it has one."""
        links = await self.links(actor, place, items=[item.id for item in items])
        by_item = {link.item.id: link.entry for link in links}
        return [
            replace(by_item[item.id], namespace=place.namespace)
            if item.id in by_item
            else bare(item, place)
            for item in items
        ]

    @with_keys_of_now
    async def link(self, actor: Actor, place: Place, key: str) -> Link | None:
        """Return what stands under a key, in whatever status."""
        async with self._database.transaction(actor) as tx:
            mac = await self._mac(tx, actor, place, key)
            return next(iter(await self._read(tx, actor, place.scope_key, entries=[mac])), None)

    @with_keys_of_now
    async def links(
        self, actor: Actor, place: Place, *, items: Sequence[UUID] | None = None
    ) -> list[Link]:
        """Return the keys of a scope, or of some of its memories."""
        async with self._database.transaction(actor) as tx:
            return await self.within(tx, actor, place.scope_key, items=items)

    async def within(
        self, tx: Transaction, actor: Actor, scope_key: str, *, items: Sequence[UUID] | None = None
    ) -> list[Link]:
        """The same inside an open transaction."""
        return await self._read(tx, actor, scope_key, items=items)

    # ---- how it is done

    @property
    def _database(self) -> Any:
        return self._service.deployment.database

    async def _edited(self, actor: Actor, before: MemoryItem, draft: Draft) -> Verdict:
        """Give a memory its new text; one that says then what another says already goes."""
        verdict = await self._service.update(
            actor,
            before.id,
            content=draft.content,
            memory_type=draft.memory_type,
            valid_to=UNCHANGED if draft.valid_to is None else draft.valid_to,
            metadata=draft.metadata,
        )
        if verdict.outcome == "duplicate":
            await self._service.delete(actor, before.id)
        return verdict

    @with_keys_of_now
    async def _keep(
        self, actor: Actor, place: Place, key: str, verdict: Verdict, before: Link | None
    ) -> None:
        """Let a key name the memory that its value is now; what another put at once made of it goes."""
        duplicate = verdict.outcome == "duplicate"
        item_id = verdict.of if duplicate else verdict.id
        same = before is not None and before.item.id == item_id
        known = {item_id, None if before is None else before.item.id}
        async with self._database.transaction(actor) as tx:
            data_key = await self._service.deployment.keys.obtain(tx, actor, place.scope_key)
            mac = entry_mac(data_key, place.known_as, key)
            await lock(tx, place.scope_key)  # as whoever writes a memory, or deletes one
            if await tx.one(_SQL["there"], {"scope_key": place.scope_key, "id": item_id}) is None:
                raise Conflict("version_conflict", "The memory was deleted meanwhile: put again.")
            other = next(iter(await self._read(tx, actor, place.scope_key, entries=[mac])), None)
            deeds: list[Deed] = []
            if other is not None and other.made and other.item.id not in known:
                deeds = await self._displace(tx, actor, other.item.id)
            row = {
                "scope_key": place.scope_key,
                "entry_mac": mac,
                "owner_id": actor.user,
                "prefixes_mac": prefixes_mac(data_key, place.namespace),
                "item_id": item_id,
                "made": (before.made if before is not None and same else not duplicate),
            }
            row |= sealed(data_key, place.scope_key, place.namespace, key, None)
            if place.scope == "project":
                require(tx.role, "create")
            await tx.run(_SQL["link"], row)
            await tx.answer(verdict, *deeds)

    async def _displace(self, tx: Transaction, actor: Actor, item_id: UUID) -> list[Deed]:
        """Delete the memory that another put at once left under a key; return what was done."""
        items = self._service.parts.items
        try:
            held, row = await items.hold(tx, actor, item_id, "delete")
        except PermissionDenied:
            return []  # another member's, who keeps it, under its id
        gone = await items.remove(held, item_id)
        states = {item_id: row["version"]}
        return [Deed("delete_memory", one, states.get(one, "superseded")) for one in gone]

    async def _gone(self, actor: Actor, item_id: UUID) -> bool:
        """Delete a memory; tell whether somebody else was not quicker."""
        try:
            await self._service.delete(actor, item_id)
        except NotFound:
            return False
        return True

    async def _mac(self, tx: Transaction, actor: Actor, place: Place, key: str) -> bytes:
        data_key = await self._service.deployment.keys.find(tx, actor, place.scope_key)
        return b"" if data_key is None else entry_mac(data_key, place.known_as, key)

    async def _read(
        self,
        tx: Transaction,
        actor: Actor,
        scope_key: str,
        *,
        entries: Sequence[bytes] | None = None,
        items: Sequence[UUID] | None = None,
    ) -> list[Link]:
        data_key = await self._service.deployment.keys.find(tx, actor, scope_key)
        if data_key is None:
            return []
        params = {
            "scope_key": scope_key,
            "entries": None if entries is None else list(entries),
            "items": None if items is None else list(items),
        }
        links = []
        for row in await tx.all(_SQL["links"], params):
            item = open_item(data_key, row)
            namespace, name = opened_entry(data_key, row, "put_id")
            entry = Entry(namespace, name, value_of(item), row["put_at"], row["put_again_at"])
            links.append(Link(entry, item, row["made"]))
        return links

    async def _by_id(self, actor: Actor, place: Place, key: str) -> MemoryItem | None:
        """Return the memory of an id, if it is one of the namespace's scope and in force."""
        try:
            item = await self._service.get(actor, UUID(key))
        except (ValueError, NotFound):
            return None
        link = Link(bare(item, place), item, made=False)
        return item if item.scope == place.scope and link.counts else None

    def _draft(self, value: Mapping[str, Any], scope: Any, minutes: float | None) -> Draft:
        field = next((name for name in TEXT_FIELDS if isinstance(value.get(name), str)), None)
        if field is None:
            raise InvalidInput(
                "memory_text_missing",
                f"A value among memories has its text under {', '.join(TEXT_FIELDS)}.",
            )
        rest = {name: inner for name, inner in value.items() if name != field}
        end = None if minutes is None else datetime.now(UTC) + timedelta(minutes=minutes)
        return Draft(
            value[field],
            _memory_type(value),
            scope,
            self._confidence,
            self._source,
            valid_to=end,
            metadata={_META: {"field": field, "rest": rest}},
        )


def bare(item: MemoryItem, place: Place) -> Entry:
    """Return a memory that no key names as a value, under its id."""
    value = {"content": item.content, "memory_type": item.memory_type}
    return Entry(place.namespace, str(item.id), value, item.created_at, item.recorded_at)


def value_of(item: MemoryItem) -> dict[str, Any]:
    """Return the value that a memory was put as."""
    told = item.metadata.get(_META)
    if not isinstance(told, Mapping):
        return {"content": item.content, "memory_type": item.memory_type}
    rest = told.get("rest")
    field = str(told.get("field", TEXT_FIELDS[0]))
    return {field: item.content, **(rest if isinstance(rest, Mapping) else {})}


def _memory_type(value: Mapping[str, Any]) -> MemoryType:
    given = value.get("memory_type")
    return next((known for known in MEMORY_TYPES if known == given), "fact")
