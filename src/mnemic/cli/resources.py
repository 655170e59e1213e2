"""resource add, list, show, delete: documents and conversations that can be searched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.checks import one_of, whole
from mnemic.cli.memory import parse_time
from mnemic.cli.options import DONE, Command, Common, command
from mnemic.cli.output import counted, plain
from mnemic.cli.views import day

if TYPE_CHECKING:
    from rich.text import Text

    from mnemic.resources.documents import Collection, Kind
    from mnemic.resources.formats import Format
    from mnemic.resources.shelf import Resource

_KB = 1024
_LABEL = 15
Id = Annotated[str, typer.Argument(help="The id of the resource.")]
Shelved = Annotated[str | None, typer.Option(help="memory or knowledge_base.")]
_COLLECTIONS: tuple[Collection, ...] = ("memory", "knowledge_base")
_DOCUMENTS: tuple[Kind, ...] = ("document", "project_resource")
_KINDS = ("chat", *_DOCUMENTS)


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    resource = typer.Typer(no_args_is_help=True, help="Documents and conversations.")
    app.add_typer(resource, name="resource")
    for name, function in _COMMANDS.items():
        command(resource, name)(function)


async def add(
    common: Common,
    file: Annotated[Path, typer.Argument(help="Text, Markdown, HTML or PDF, at most 50 MB.")],
    title: Annotated[str | None, typer.Option(help="Its title; else the file's name.")] = None,
    uri: Annotated[str | None, typer.Option(help="Where it came from; else the file.")] = None,
    kind: Annotated[str, typer.Option(help="document or project_resource.")] = "document",
    collection: Annotated[str, typer.Option(help="memory or knowledge_base.")] = "knowledge_base",
    format: Annotated[
        str | None, typer.Option(help="text, markdown, html or pdf; else by its name.")
    ] = None,
    occurred_at: Annotated[
        str | None, typer.Option(help="Of which time it is (with zone).")
    ] = None,
) -> int:
    """Make a document searchable. The same bytes again change nothing; a new version replaces the old."""
    sort = one_of(kind, _DOCUMENTS, "kind")
    where = one_of(collection, _COLLECTIONS, "collection")
    time = parse_time(occurred_at, "occurred-at")
    how = _read_as(file, format, uri)
    async with common.open() as memory:
        with common.out.progress() as progress:
            bar = progress.add_task("KB", total=None)
            report = await memory.resources.add(
                common.actor,
                file,
                title=title,
                uri=uri,
                kind=sort,
                collection=where,
                format=how,
                occurred_at=time,
                progress=lambda done, total: progress.update(
                    bar, completed=done // _KB, total=total // _KB
                ),
            )
    pieces = counted(report.chunks, "piece")
    common.out.result(plain(report), f"{report.outcome}  {report.id}  {pieces}")
    return DONE


async def list_resources(
    common: Common,
    limit: Annotated[int, typer.Option(help="Resources a page, 1 to 1,000.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the last page ended.")] = None,
    kind: Annotated[str | None, typer.Option(help="chat, document or project_resource.")] = None,
    collection: Shelved = None,
) -> int:
    """List documents and conversations, newest first."""
    whole(limit, 1, 1000, "limit")
    _known(kind, collection)
    async with common.open() as memory:
        page = await memory.resources.list(
            common.actor, limit=limit, cursor=cursor, kind=kind, collection=collection
        )
    if common.out.as_json:
        common.out.result(plain(page))
        return DONE
    for resource in page.resources:
        common.out.record(_head(resource), _name(resource))
    common.out.note(f"{len(page.resources)} of {page.total}")
    if page.cursor:
        common.out.note(f"next page: --cursor {page.cursor}")
    return DONE


async def show(
    common: Common,
    resource_id: Id,
    after: Annotated[int, typer.Option(help="Begin behind this piece.")] = 0,
    limit: Annotated[int, typer.Option(help="So many pieces, 1 to 1,000.")] = 20,
) -> int:
    """Show a resource and its pieces."""
    whole(after, 0, 2**62, "after")
    whole(limit, 1, 1000, "limit")
    async with common.open() as memory:
        resource = await memory.resources.get(common.actor, resource_id)
        chunks = await memory.resources.read(common.actor, resource.id, after=after, limit=limit)
    if common.out.as_json:
        common.out.result(plain(resource) | {"pieces": plain(chunks)})
        return DONE
    from rich.text import Text

    for name, value in plain(resource).items():
        if value is not None:
            common.out.line(
                Text(f"{name:<{_LABEL}}", style="dim") + Text(str(value), style="not dim")
            )
    for chunk in chunks:
        common.out.line()
        common.out.record(Text(str(chunk.ordinal), style="bold"), chunk.text)
    if chunks and chunks[-1].ordinal < resource.chunks:
        common.out.note(f"more: --after {chunks[-1].ordinal}")
    return DONE


async def delete(
    common: Common,
    resource_id: Id,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
) -> int:
    """Remove a resource from the search, with its pieces; a conversation stays in the message log."""
    async with common.open() as memory:
        gone = await memory.resources.delete(common.actor, resource_id, dry_run=dry_run)
    said = "would go" if gone.dry_run else "deleted"
    deleted = {"deleted": 0 if gone.dry_run else 1}
    pieces = counted(gone.chunks, "piece")
    common.out.result(deleted | plain(gone), f"1 resource with {pieces} {said}.")
    return DONE


_COMMANDS: dict[str, Command] = {
    "add": add,
    "list": list_resources,
    "show": show,
    "delete": delete,
}


def _read_as(file: Path, format: str | None, uri: str | None) -> Format:
    """Return how a file is read; refuse one that is no document before the database is opened."""
    from mnemic.resources.formats import format_of
    from mnemic.resources.sources import encoding_of, of_path

    source = of_path(file)
    how = format_of(format, file.name, uri)
    if how != "pdf":
        encoding_of(source.open)
    return how


def _known(kind: str | None, collection: str | None) -> None:
    if kind is not None:
        one_of(kind, _KINDS, "kind")
    if collection is not None:
        one_of(collection, _COLLECTIONS, "collection")


def _head(resource: Resource) -> Text:
    from rich.text import Text

    head = Text(str(resource.id), style="dim")
    when = day(resource.occurred_at or resource.created_at)
    shown = f"  {resource.kind:<16}  {when}  {counted(resource.chunks, 'piece')}"
    return head.append(shown, style="not dim default")


def _name(resource: Resource) -> str:
    if resource.session is not None:
        return f"session {resource.session}"
    return resource.title or resource.uri or "(untitled)"
