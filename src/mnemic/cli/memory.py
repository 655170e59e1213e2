"""add, search, context, list, show, edit, delete, verify: one memory at a time."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from mnemic.cli.options import DONE, REFUSED, Command, Common, command
from mnemic.cli.output import plain, verdict_text
from mnemic.errors import InvalidInput
from mnemic.model import Hit, MemoryItem, Verdict

Id = Annotated[str, typer.Argument(help="The id of the memory.")]
Type = Annotated[str | None, typer.Option("--type", help="preference, fact, skill, habit ...")]
ScopeName = Annotated[str | None, typer.Option("--scope", help="user, project or session.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for name, function in _COMMANDS.items():
        command(app, name)(function)
    verify = typer.Typer(no_args_is_help=True, help="What awaits your word.")
    app.add_typer(verify, name="verify")
    for name, function in _VERIFY.items():
        command(verify, name)(function)


async def add(
    common: Common,
    text: Annotated[str, typer.Argument(help="What to remember.")],
    memory_type: Annotated[
        str, typer.Option("--type", help="preference, fact, skill ...")
    ] = "fact",
    scope: Annotated[str, typer.Option("--scope", help="user, project or session.")] = "user",
    confidence: Annotated[float, typer.Option(help="How sure it is, 0 to 1.")] = 0.9,
    valid_from: Annotated[
        str | None, typer.Option(help="Since when it is true (with zone).")
    ] = None,
    valid_to: Annotated[str | None, typer.Option(help="Until when it is true (with zone).")] = None,
) -> int:
    """Remember one text, through the gate."""
    async with common.open() as memory:
        verdict = await memory.add_explicit_memory(
            common.actor,
            text,
            memory_type,  # type: ignore[arg-type]  # the service checks it
            scope,  # type: ignore[arg-type]
            confidence=confidence,
            valid_from=parse_time(valid_from, "valid-from"),
            valid_to=parse_time(valid_to, "valid-to"),
        )
    return show_verdict(common, verdict)


async def search(
    common: Common,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    k: Annotated[int, typer.Option("-k", "--k", help="How many hits, 1 to 100.")] = 5,
    memory_type: Type = None,
    scope: ScopeName = None,
    as_of: Annotated[str | None, typer.Option(help="What was true then (with zone).")] = None,
    known_at: Annotated[str | None, typer.Option(help="What was known then (with zone).")] = None,
    min_score: Annotated[float, typer.Option(help="Least final score, 0 to 1.")] = 0.0,
    include_pending: Annotated[bool, typer.Option(help="Also what awaits your word.")] = False,
) -> int:
    """Find memories by meaning and by word."""
    async with common.open() as memory:
        hits = await memory.search_memories(
            common.actor,
            query,
            k,
            memory_type,  # type: ignore[arg-type]
            scope,  # type: ignore[arg-type]
            as_of=parse_time(as_of, "as-of"),
            known_at=parse_time(known_at, "known-at"),
            min_score=min_score,
            include_pending=include_pending,
        )
    common.out.result({"hits": [hit_json(hit) for hit in hits]}, hit_table(hits))
    return DONE


async def context(
    common: Common,
    query: Annotated[str, typer.Argument(help="What the user is about to ask.")],
    budget: Annotated[int, typer.Option(help="Most tokens of the text.")] = 800,
) -> int:
    """Print what a prompt about this query would be given."""
    async with common.open() as memory:
        text = await memory.build_context(common.actor, query, budget)
    common.out.result({"context": text}, text or "Nothing relevant is known.")
    return DONE


async def list_items(
    common: Common,
    limit: Annotated[int, typer.Option(help="Items a page, 1 to 1,000.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the last page ended.")] = None,
    memory_type: Type = None,
    scope: ScopeName = None,
    status: Annotated[
        str, typer.Option(help="active, pending, current, superseded, all")
    ] = "active",
) -> int:
    """List what is remembered, newest first."""
    async with common.open() as memory:
        page = await memory.list(
            common.actor,
            limit=limit,
            cursor=cursor,
            memory_type=memory_type,  # type: ignore[arg-type]
            scope=scope,  # type: ignore[arg-type]
            status=status,
        )
    table = Table("id", "type", "status", "since", "content", box=None)
    for item in page.items:
        since = item.valid_from.astimezone().strftime("%Y-%m-%d")
        table.add_row(str(item.id), item.memory_type, item.status, since, Text(item.content))
    more = f" Next page: --cursor {page.cursor}" if page.cursor else ""
    value = {"items": page.items, "total": page.total, "cursor": page.cursor}
    common.out.result(value, table, f"{len(page.items)} of {page.total}.{more}")
    return DONE


async def show(
    common: Common,
    item_id: Id,
    history: Annotated[bool, typer.Option("--history", help="All its versions.")] = False,
) -> int:
    """Show one memory, or its whole chain of versions."""
    async with common.open() as memory:
        item = await memory.get(common.actor, item_id)
        chain = list(await memory.history(common.actor, item_id)) if history else []
    value = plain(item) | ({"history": plain(chain)} if history else {})
    common.out.result(value, *(item_table(one) for one in chain or [item]))
    return DONE


async def edit(
    common: Common,
    item_id: Id,
    text: Annotated[str, typer.Argument(help="The new text.")],
    memory_type: Type = None,
    version: Annotated[int | None, typer.Option(help="Only if this is its version.")] = None,
) -> int:
    """Write a new version of a memory, through the gate; the old one stays as history."""
    async with common.open() as memory:
        verdict = await memory.update(
            common.actor,
            item_id,
            content=text,
            memory_type=memory_type,  # type: ignore[arg-type]
            expected_version=version,
        )
    return show_verdict(common, verdict)


async def delete(
    common: Common,
    item_id: Annotated[str | None, typer.Argument(help="The id of the memory.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All memories of the user.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask (for --all).")] = False,
) -> int:
    """Delete a memory with its earlier versions, or everything (--all asks for --yes or shows a dry run)."""
    if everything == (item_id is not None):
        raise InvalidInput("nothing_to_delete", "Name one memory, or --all.")
    only_show = dry_run or (everything and not yes)
    async with common.open() as memory:
        if everything:
            gone = await memory.delete_all(common.actor, dry_run=only_show)
        else:
            gone = await memory.delete(common.actor, item_id, dry_run=only_show)
    said = f"{gone.count} rows would go" if gone.dry_run else f"{gone.count} rows are gone"
    hint = " Add --yes to delete them." if everything and only_show and not dry_run else ""
    value = {
        "deleted": 0 if gone.dry_run else gone.count,
        "count": gone.count,
        "dry_run": gone.dry_run,
    }
    common.out.result(value | {"ids": gone.ids}, f"{said}, earlier versions included.{hint}")
    return DONE


async def verify_list(common: Common) -> int:
    """List what awaits your word."""
    async with common.open() as memory:
        questions = await memory.questions(common.actor)
    table = Table("id", "why", "question", box=None)
    for question in questions:
        table.add_row(
            str(question.item.id), question.reason, Text(question.asked or question.item.content)
        )
    common.out.result({"questions": questions}, table)
    return DONE


async def verify_confirm(common: Common, item_id: Id) -> int:
    """Say that a pending memory is true."""
    async with common.open() as memory:
        return show_verdict(common, await memory.confirm(common.actor, item_id))


async def verify_deny(common: Common, item_id: Id) -> int:
    """Say that a pending memory is not true; it is removed."""
    async with common.open() as memory:
        verdict = await memory.deny(common.actor, item_id)
    show_verdict(common, verdict)
    return DONE


_COMMANDS: dict[str, Command] = {
    "add": add,
    "search": search,
    "context": context,
    "list": list_items,
    "show": show,
    "edit": edit,
    "delete": delete,
}
_VERIFY: dict[str, Command] = {"list": verify_list, "confirm": verify_confirm, "deny": verify_deny}


def parse_time(text: str | None, name: str) -> datetime | None:
    """Return the time of an option. Raises InvalidInput (``invalid_datetime``)."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            "invalid_datetime", f"--{name} must be ISO 8601, such as 2026-03-02T09:14:00+08:00."
        ) from None


def show_verdict(common: Common, verdict: Verdict) -> int:
    """Print a verdict and return the exit status that it means."""
    line = verdict_text(verdict.outcome)
    for part in (verdict.id, verdict.reason, verdict.of and f"of {verdict.of}", verdict.message):
        if part:
            line.append(f"  {part}", style="not bold default")
    common.out.result(
        verdict_json(verdict), line, *([verdict.question] if verdict.question else [])
    )
    return REFUSED if verdict.outcome == "rejected" else DONE


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as the command line and the service show it."""
    value = plain(verdict)
    return {"verdict": value.pop("outcome"), **value}


def hit_json(hit: Hit) -> dict[str, Any]:
    """Return a hit as the command line and the service show it."""
    item = hit.item
    return {
        "id": str(item.id),
        "content": item.content,
        "memory_type": item.memory_type,
        "scope": item.scope,
        "score": round(hit.score, 4),
        "parts": {name: round(value, 4) for name, value in plain(hit.parts).items()},
        "arms": {"cosine": hit.cosine, "words": round(hit.words, 4), "matched": list(hit.matched)},
        "valid_from": item.valid_from.isoformat(),
        "valid_to": item.valid_to and item.valid_to.isoformat(),
        "status": item.status,
        "source": item.source,
        "source_id": item.source_id,
    }


def hit_table(hits: Any) -> Table | str:
    """Return hits with the parts of their scores."""
    if not hits:
        return "No hits."
    table = Table("score", "similarity", "confidence", "scope", "type", "content", box=None)
    for hit in hits:
        parts = (hit.score, hit.parts.similarity, hit.parts.confidence, hit.parts.scope)
        table.add_row(*(f"{part:.2f}" for part in parts), hit.item.memory_type, Text(hit.content))
    return table


def item_table(item: MemoryItem) -> Table:
    """Return an item, a field a row."""
    table = Table(show_header=False, box=None)
    for name, value in plain(item).items():
        if value not in (None, [], {}):
            table.add_row(name, Text(str(value)))
    return table
