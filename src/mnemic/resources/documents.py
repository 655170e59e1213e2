"""How does a document become searchable pieces, all of them or none?

Pieces are made and embedded in batches and wait as drafts, which no search sees. When the last one is there
they become the document's chunks in one transaction, in place of what the same address held before. After a
crash, or when the embedder went away, the next ``add`` of the same bytes goes on behind the drafts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from mnemic.checks import aware, one_of
from mnemic.crypto import DataKey, place
from mnemic.embedding.models import Models
from mnemic.embedding.registry import Model
from mnemic.errors import Conflict, InvalidInput
from mnemic.ids import new_id
from mnemic.item_rows import blind_lexemes
from mnemic.keys import KeyRing
from mnemic.model import Actor, Visibility
from mnemic.permissions import checked_visibility, home, require
from mnemic.resources.chunking import VERSION, Block, Piece, pieces
from mnemic.resources.formats import Format, format_of, markdown_blocks, text_blocks
from mnemic.resources.html import html_blocks
from mnemic.resources.pdf import pdf_blocks, require_reader
from mnemic.resources.sources import Source, empty, of_bytes, of_path, of_stream, require_file
from mnemic.resources.turns import counted
from mnemic.resources.vectors import vectors_of
from mnemic.storage.halfvec import HalfVector
from mnemic.storage.pool import Database, Deed, Transaction
from mnemic.storage.statements import statements
from mnemic.text import normalise

_SQL = statements("resources")
BATCH = 64
"""Pieces that are embedded and written together."""
MAX_TITLE = 500
MAX_URI = 2_000
Collection = Literal["memory", "knowledge_base"]
Kind = Literal["document", "project_resource"]
Shelf = Literal["user", "project"]
SHELVES: tuple[Shelf, ...] = ("user", "project")
Given = Path | str | bytes | AsyncIterable[bytes]
Progress = Callable[[int, int], None]
"""Told the bytes that were read so far, and all bytes."""


@dataclass(frozen=True, slots=True)
class ResourceReport:
    """What became of a document: ``stored``, ``unchanged`` (known), or ``replaced`` (same address)."""

    id: UUID
    chunks: int
    outcome: Literal["stored", "unchanged", "replaced"]


@dataclass(frozen=True, slots=True)
class _About:
    """What is said about a document by whoever adds it, and where it is to lie."""

    kind: str
    collection: str
    title: str | None
    uri: str | None
    occurred_at: datetime | None
    scope: Shelf
    scope_key: str
    visibility: Visibility

    def keyed(self, actor: Actor) -> str:
        """What goes in front of the hashes: what others may not see is not known again as theirs."""
        return f"{actor.user}|" if self.visibility == "owner_only" else ""


@dataclass(frozen=True, slots=True)
class _Macs:
    """The keyed hashes by which a document is known again, and the key that made them."""

    key_id: UUID
    content: bytes
    draft: bytes
    uri: bytes | None


class Documents:
    """Adds documents to the user's collections."""

    def __init__(self, database: Database, keys: KeyRing, models: Models) -> None:
        self._database = database
        self._keys = keys
        self._models = models

    async def add(
        self,
        actor: Actor,
        document: Given,
        *,
        title: str | None = None,
        uri: str | None = None,
        kind: Kind = "document",
        collection: Collection = "knowledge_base",
        format: Format | None = None,
        occurred_at: datetime | None = None,
        scope: Shelf = "user",
        visibility: Visibility = "members",
        progress: Progress | None = None,
    ) -> ResourceReport:
        """Store a document as pieces of about 800 characters, and return what became of it.

        ``document`` is a Path, text, bytes, or an async iterable of bytes; at most 50 MB. A file's ``uri``
        is its own, its ``title`` its name; another document of the same ``uri`` is replaced. ``format`` is
        text, markdown, html or pdf, by default what the name tells (text given as such is text). The same
        bytes again change nothing. In scope "project" it belongs to the actor's project, for those whom
        ``visibility`` names; to replace another member's document takes the right to delete it.

        Raises InvalidInput (``document_not_text``, ``document_empty``, ``document_too_large`` ...),
        ConfigurationError (``pdf_not_installed``), Conflict (``document_changed``, ``document_disturbed``),
        PermissionDenied, and EmbeddingError, with what is done by then kept for the next time.
        """
        about = _checked(
            actor, kind, collection, title, uri, occurred_at, document, scope, visibility
        )
        how, source = await _opened(document, format, about)
        macs, ready = await self._known(actor, about, f"{how}|{source.digest}")
        if ready is not None:
            return ready
        seen, model = progress or _nothing, await self._models.for_scope(actor, scope)
        count = await self._draft(actor, about, macs, _cut(how, source, seen), model)
        report = await self._publish(actor, about, macs, count, model)
        seen(source.size, source.size)
        return report

    async def _known(
        self, actor: Actor, about: _About, digest: str
    ) -> tuple[_Macs, ResourceReport | None]:
        """Return the document's hashes, and the report when there is nothing to do."""
        async with self._database.transaction(actor) as tx:
            if about.scope == "project":
                require(tx.role, "create", about.visibility)
            key = await self._keys.obtain(tx, actor, about.scope_key)
            owner, author = about.keyed(actor), actor.user if about.scope == "project" else ""
            macs = _Macs(
                key_id=key.key_id,
                content=key.mac(f"document|{owner}{digest}"),
                draft=key.mac(f"draft|{VERSION}|{author}{about.collection}|{digest}"),
                uri=None if about.uri is None else key.mac(f"uri|{owner}{about.uri}"),
            )
            found = await tx.one(_SQL["same_content"], _params(actor, about, macs))
            if found is None:
                return macs, None
            return macs, await self._as_known(tx, actor, about, macs, found)

    async def _as_known(
        self, tx: Transaction, actor: Actor, about: _About, macs: _Macs, found: Any
    ) -> ResourceReport:
        """Report a document that stands already; one that the same address held before goes."""
        params = _params(actor, about, macs)
        await tx.run(_SQL["drop_drafts"], params)
        old = await tx.one(_SQL["same_uri"], params)
        gone: list[Deed] = []  # the document that stands gets no entry: only one that goes does
        if old is not None and old["id"] != found["id"]:
            await self._replace(tx, actor, about, params, old)
            gone.append(Deed("delete_resource", old["id"], old["n_chunks"]))
        report = ResourceReport(found["id"], found["n_chunks"], "replaced" if gone else "unchanged")
        await tx.answer(report, *gone)
        return report

    async def _replace(
        self, tx: Transaction, actor: Actor, about: _About, params: dict[str, Any], old: Any
    ) -> None:
        """Remove what the same address held before, where the actor may."""
        if about.scope == "project":
            require(tx.role, "delete", old["visibility"], own=old["owner_id"] == actor.user)
        await tx.run(_SQL["delete"], params | {"id": old["id"]})

    async def _draft(
        self, actor: Actor, about: _About, macs: _Macs, cut: Iterator[Piece], model: Model
    ) -> int:
        """Write the pieces that no earlier run has written; return how many there are in all."""
        count = await self._begun(actor, about, macs, model)
        await asyncio.to_thread(lambda: next(islice(cut, count, count), None))
        while batch := await asyncio.to_thread(lambda: list(islice(cut, BATCH))):
            vectors = await vectors_of(model, [piece.text for piece in batch])
            async with self._database.transaction(actor) as tx:
                key = await self._same_key(tx, actor, about, macs)
                rows = await asyncio.to_thread(_rows, key, about.scope_key, batch)
                for number, (piece, row) in enumerate(zip(batch, rows, strict=True), start=1):
                    vector = vectors.get(piece.text)
                    row["ordinal"] = count + number
                    row["embedding"] = vector and HalfVector(vector)
                    row["model_id"] = model.model_id
                    row["draft_mac"] = macs.draft
                    row["owner_id"] = actor.user
                await tx.many(_SQL["add_draft"], rows)
            count += len(batch)
        if not count:
            raise empty()
        return count

    async def _begun(self, actor: Actor, about: _About, macs: _Macs, model: Model) -> int:
        """Return how many pieces an earlier run has left; none when they are of no use."""
        params = {"scope_key": about.scope_key, "draft_mac": macs.draft}
        async with self._database.transaction(actor) as tx:
            left = await tx.one(_SQL["drafts"], params)
            if left is None or _usable(left, left["last"], model.model_id):
                return left["count"] if left else 0
            await tx.run(_SQL["drop_drafts"], params)
            return 0

    async def _same_key(self, tx: Transaction, actor: Actor, about: _About, macs: _Macs) -> DataKey:
        """Return the key, as long as it is the one that we began with: else its user was erased meanwhile."""
        key = await self._keys.obtain(tx, actor, about.scope_key)
        if key.key_id != macs.key_id:
            raise _disturbed()
        return key

    async def _publish(
        self, actor: Actor, about: _About, macs: _Macs, count: int, model: Model
    ) -> ResourceReport:
        params = _params(actor, about, macs)
        async with self._database.transaction(actor) as tx:
            await self._models.hold(tx, actor, about.scope_key, model)
            await tx.run(_SQL["lock_documents"], params)
            found = await tx.one(_SQL["same_content"], params)
            if found is not None:
                return await self._as_known(tx, actor, about, macs, found)
            left = await tx.one(_SQL["drafts"], params)
            if left is None or not _usable(left, count, model.model_id):
                raise _disturbed()
            old = await tx.one(_SQL["same_uri"], params)
            if old is not None:
                await self._replace(tx, actor, about, params, old)
            key = await self._same_key(tx, actor, about, macs)
            row = params | _sealed(key, about.scope_key, new_id(), about) | {"n_chunks": count}
            await tx.run(_SQL["add_document"], row)
            await tx.run(_SQL["publish"], row)
            await tx.run(_SQL["drop_drafts"], params)
            report = ResourceReport(row["id"], count, "stored" if old is None else "replaced")
            deed = Deed("add_resource", row["id"], old and str(old["id"]), count)
            await tx.answer(report, deed)
        return report


def _disturbed() -> Conflict:
    return Conflict("document_disturbed", "Another run took pieces of this document: add it again.")


def _checked(
    actor: Actor,
    kind: str,
    collection: str,
    title: str | None,
    uri: str | None,
    occurred_at: datetime | None,
    document: Given,
    scope: Shelf,
    visibility: Visibility,
) -> _About:
    one_of(kind, ("document", "project_resource"), "kind")
    one_of(collection, ("memory", "knowledge_base"), "collection")
    if isinstance(document, Path):
        title = document.name if title is None else title
        uri = document.absolute().as_uri() if uri is None else uri
    return _About(
        kind,
        collection,
        _label(title, MAX_TITLE, "title"),
        _label(uri, MAX_URI, "uri"),
        aware(occurred_at, "occurred_at"),
        one_of(scope, SHELVES, "scope"),
        home(actor, scope)[0],
        checked_visibility(visibility, scope),
    )


def _label(value: str | None, most: int, name: str) -> str | None:
    """Return a title or address. Raises InvalidInput (``<name>_not_text``, ``<name>_too_long``)."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInput(f"{name}_not_text", f"The {name} of a document must be text.")
    text = normalise(value).text
    if len(text) > most:
        raise InvalidInput(f"{name}_too_long", f"A {name} holds at most {most:,} characters.")
    return text or None


async def _opened(document: Given, given: Format | None, about: _About) -> tuple[Format, Source]:
    """Return how a document is read, and its bytes; what is no file is refused as that, whatever its name."""
    if isinstance(document, Path):
        await asyncio.to_thread(require_file, document)
    return _format(document, given, about), await _source(document)


def _format(document: Given, given: Format | None, about: _About) -> Format:
    """Return the format; raises ConfigurationError (``pdf_not_installed``) where it cannot be read here."""
    given = "text" if given is None and isinstance(document, str) else given
    name = document.name if isinstance(document, Path) else None
    how = format_of(given, name, about.uri, about.title)
    if how == "pdf":
        require_reader()
    return how


async def _source(document: Given) -> Source:
    if isinstance(document, Path):
        return await asyncio.to_thread(of_path, document)
    if isinstance(document, str):
        return of_bytes(normalise(document).text.encode())
    if isinstance(document, bytes):
        return of_bytes(document)
    if isinstance(document, AsyncIterable):
        return await of_stream(document)
    raise InvalidInput(
        "document_not_bytes", "A document is a Path, text, bytes or an async iterable of bytes."
    )


def _cut(how: Format, source: Source, seen: Progress) -> Iterator[Piece]:
    """Return the pieces, cut as they are asked for."""
    blocks: Iterator[Block]
    if how == "pdf":
        blocks = pdf_blocks(source.file())
    else:
        readers = {"text": text_blocks, "markdown": markdown_blocks, "html": html_blocks}
        blocks = readers[how](source.text(lambda done: seen(done, source.size)))
    return pieces(blocks)


def _rows(key: DataKey, scope_key: str, batch: Sequence[Piece]) -> list[dict[str, Any]]:
    """Return pieces sealed and with their blind words."""
    rows = []
    for piece in batch:
        chunk_id, words = new_id(), counted(piece.text)
        rows.append(
            {
                "scope_key": scope_key,
                "id": chunk_id,
                "text_enc": key.seal(piece.text, place("chunk", scope_key, chunk_id, "text")),
                "lexemes": blind_lexemes(key, words),
                "n_tokens": sum(words.values()),
            }
        )
    return rows


def _usable(left: Any, count: int, model_id: int) -> bool:
    """Tell whether drafts are the first ``count`` pieces without a gap, all of this model."""
    whole = left["count"] == left["last"] == count
    return whole and (not count or (left["models"] == 1 and left["model_id"] == model_id))


def _params(actor: Actor, about: _About, macs: _Macs) -> dict[str, Any]:
    return {
        "scope_key": about.scope_key,
        "owner_id": actor.user,
        "visibility": about.visibility,
        "kind": about.kind,
        "collection": about.collection,
        "content_mac": macs.content,
        "draft_mac": macs.draft,
        "uri_mac": macs.uri,
        "occurred_at": about.occurred_at,
    }


def _sealed(key: DataKey, scope_key: str, new: UUID, about: _About) -> dict[str, Any]:
    def sealed(column: str, text: str | None) -> bytes | None:
        return key.seal(text, place("resource", scope_key, new, column)) if text else None

    return {
        "id": new,
        "title_enc": sealed("title", about.title),
        "uri_enc": sealed("uri", about.uri),
    }


def _nothing(done: int, total: int) -> None:
    """Tell nobody how far it is."""
