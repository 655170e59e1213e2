"""What is there to be searched beside memories, and what goes when it is removed?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.checks import one_of, whole
from mnemic.crypto import DataKey, place
from mnemic.cursors import decode_cursor, encode_cursor
from mnemic.embedding.models import Models
from mnemic.errors import InvalidInput, NotFound
from mnemic.keys import KeyRing, with_keys_of_now
from mnemic.model import Actor, Visibility, known_actor
from mnemic.permissions import require, require_within
from mnemic.resources.conversations import Conversations
from mnemic.resources.documents import Documents, Shelf
from mnemic.session.messages import read_turns
from mnemic.storage.pool import Database, Deed, Transaction
from mnemic.storage.statements import statements

_SQL = statements("resources")
MAX_PAGE = 1000
_KINDS = ("chat", "document", "project_resource")
_COLLECTIONS = ("memory", "knowledge_base")


@dataclass(frozen=True, slots=True)
class Resource:
    """A conversation (``session`` names it) or a document."""

    id: UUID
    kind: str
    collection: str
    chunks: int
    created_at: datetime
    title: str | None = None
    uri: str | None = None
    session: str | None = None
    occurred_at: datetime | None = None
    scope: Shelf = "user"
    owner: str = ""
    visibility: Visibility = "members"


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """Some resources, newest first; ``cursor`` asks for the next page (None at the end)."""

    resources: tuple[Resource, ...]
    total: int
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document, or a turn; ``ordinal`` counts from 1."""

    ordinal: int
    text: str


@dataclass(frozen=True, slots=True)
class Removal:
    """What a deletion takes; ``dry_run`` took nothing."""

    id: UUID
    chunks: int
    dry_run: bool = False


class Resources:
    """Conversations and documents of one actor, and documents of the project that the actor names.

    ``add`` and ``index`` are those of the two.
    """

    def __init__(self, database: Database, keys: KeyRing, models: Models) -> None:
        self._database = database
        self._keys = keys
        self.index = Conversations(database, keys, models).index
        self.add = Documents(database, keys, models).add

    @with_keys_of_now
    async def get(self, actor: Actor, resource_id: object) -> Resource:
        """Return a resource. Raises NotFound (``resource_not_found``)."""
        async with self._database.transaction(actor) as tx:
            return _opened(*await self._fetch(tx, actor, resource_id))

    @with_keys_of_now
    async def list(
        self,
        actor: Actor,
        *,
        limit: int = 50,
        cursor: str | None = None,
        kind: str | None = None,
        collection: str | None = None,
    ) -> ResourcePage:
        """Return a page of resources, newest first, with the total of all pages.

        ``limit`` is 1 to 1,000. Raises InvalidInput (``limit_out_of_range``, ``invalid_cursor``,
        ``unknown_kind``, ``unknown_collection``), PermissionDenied (``not_a_member``).
        """
        whole(limit, 1, MAX_PAGE, "limit")
        before_at, before_id = (None, None) if cursor is None else decode_cursor(cursor)
        params: dict[str, Any] = {
            "scopes": list(known_actor(actor).readable_scopes),
            "kind": None if kind is None else one_of(kind, _KINDS, "kind"),
            "collection": None
            if collection is None
            else one_of(collection, _COLLECTIONS, "collection"),
            "before_at": before_at,
            "before_id": before_id,
            "limit": limit + 1,
        }
        async with self._database.transaction(actor) as tx:
            require_within(actor, params["scopes"], tx.role)
            keys = await self._keys.readable(tx, actor)
            rows = await tx.all(_SQL["list"], params)
            counted = await tx.one(_SQL["count"], params)
        shown = tuple(_opened(keys[row["scope_key"]], row) for row in rows[:limit])
        last = shown[-1] if len(rows) > limit else None
        next_page = encode_cursor(last.created_at, last.id) if last else None
        return ResourcePage(shown, counted["total"] if counted else 0, next_page)

    @with_keys_of_now
    async def read(
        self, actor: Actor, resource_id: object, *, after: int = 0, limit: int = 100
    ) -> tuple[Chunk, ...]:
        """Return the text of the chunks behind ``after``, at most ``limit`` (1 to 1,000).

        Raises NotFound (``resource_not_found``), InvalidInput (``after_out_of_range`` ...).
        """
        whole(after, 0, 2**62, "after")
        whole(limit, 1, MAX_PAGE, "limit")
        async with self._database.transaction(actor) as tx:
            key, row = await self._fetch(tx, actor, resource_id)
            if row["session_id"] is not None:
                speaker = replace(actor, session=row["session_id"])
                turns = await read_turns(tx, key, speaker, after=after, limit=limit)
                return tuple(Chunk(turn.seq or 0, turn.content) for turn in turns)
            scope = row["scope_key"]
            wanted = {"scope_key": scope, "id": row["id"], "after": after, "limit": limit}
            return tuple(
                Chunk(
                    one["ordinal"],
                    key.open(one["text_enc"], place("chunk", scope, one["id"], "text")),
                )
                for one in await tx.all(_SQL["pieces"], wanted)
            )

    @with_keys_of_now
    async def delete(self, actor: Actor, resource_id: object, *, dry_run: bool = False) -> Removal:
        """Remove a resource with its chunks; the turns of a conversation stay in the message log.

        Raises NotFound (``resource_not_found``), PermissionDenied (``role_too_low``).
        """
        async with self._database.transaction(actor) as tx:
            _, row = await self._fetch(tx, actor, resource_id)
            if row["scope_key"] == actor.project_scope:
                require(tx.role, "delete", row["visibility"], own=row["owner_id"] == actor.user)
            if not dry_run:
                await tx.run(_SQL["delete"], {"scope_key": row["scope_key"], "id": row["id"]})
            removal = Removal(row["id"], row["n_chunks"], dry_run)
            deeds = [] if dry_run else [Deed("delete_resource", row["id"], row["n_chunks"])]
            await tx.answer(removal, *deeds)
        return removal

    async def _fetch(
        self, tx: Transaction, actor: Actor, resource_id: object
    ) -> tuple[DataKey, Any]:
        wanted = parse_resource_id(resource_id)
        keys = await self._keys.readable(tx, actor)
        scopes = list(actor.readable_scopes)
        row = await tx.one(_SQL["get"], {"scopes": scopes, "id": wanted})
        if row is None:
            raise NotFound("resource_not_found", "There is no such resource.")
        return keys[row["scope_key"]], row


def parse_resource_id(value: object) -> UUID:
    """Return the id that ``value`` spells. Raises InvalidInput (``invalid_resource_id``)."""
    if isinstance(value, UUID):
        return value
    try:
        return UUID(str(value))
    except ValueError:
        raise InvalidInput("invalid_resource_id", "The id of a resource must be a UUID.") from None


def _opened(key: DataKey, row: Any) -> Resource:
    def opened(column: str) -> str | None:
        sealed = row[f"{column}_enc"]
        at = place("resource", row["scope_key"], row["id"], column)
        return None if sealed is None else key.open(sealed, at)

    return Resource(
        id=row["id"],
        kind=row["kind"],
        collection=row["collection"],
        chunks=row["n_chunks"],
        created_at=row["created_at"],
        title=opened("title"),
        uri=opened("uri"),
        session=row["session_id"],
        occurred_at=row["occurred_at"],
        scope="project" if row["scope_key"].startswith("project:") else "user",
        owner=row["owner_id"],
        visibility=row["visibility"],
    )
