"""add, search, context, list, show, edit, delete, verify: one memory at a time.

What can be refused by looking at it is refused before the database is opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.checks import aware, one_of, share, whole
from mnemic.cli.options import DONE, REFUSED, Command, Common, command, unconfirmed
from mnemic.cli.output import counted, plain
from mnemic.cli.views import (
    hit_json,
    show_hits,
    show_item,
    show_items,
    verdict_json,
    verdict_lines,
)
from mnemic.errors import InvalidInput
from mnemic.ids import parse_id
from mnemic.model import (
    MAX_QUERY,
    MEMORY_TYPES,
    SCOPES,
    VISIBILITIES,
    Hit,
    MemoryItem,
    MemoryType,
    ResourceHit,
    Scope,
    Verdict,
)

if TYPE_CHECKING:
    from mnemic.service import MemoryService

Id = Annotated[str, typer.Argument(help="The id of the memory.")]
_INCLUDED = {"memory": ("memory",), "resource": ("resource",), "both": ("memory", "resource")}
Type = Annotated[str | None, typer.Option("--type", help="preference, fact, skill, habit ...")]
_WHO_SEES = "Who of the project sees it: public, members or owner_only."
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
    scope: Annotated[
        str | None, typer.Option("--scope", help="user (unless you say), project or session.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="How sure it is, 0 to 1.")] = 0.9,
    valid_from: Annotated[
        str | None, typer.Option(help="Since when it is true (with zone).")
    ] = None,
    valid_to: Annotated[str | None, typer.Option(help="Until when it is true (with zone).")] = None,
    visibility: Annotated[str, typer.Option(help=_WHO_SEES)] = "members",
) -> int:
    """Remember one text, through the gate."""
    kind = one_of(memory_type, MEMORY_TYPES, "memory_type")
    where = one_of("user" if scope is None else scope, SCOPES, "scope")
    seen_by = one_of(visibility, VISIBILITIES, "visibility")
    share(confidence, "confidence")
    start, end = parse_time(valid_from, "valid-from"), parse_time(valid_to, "valid-to")
    actor = common.actor
    async with common.open() as memory:
        verdict = await memory.add_explicit_memory(
            actor,
            text,
            kind,
            where,
            confidence=confidence,
            valid_from=start,
            valid_to=end,
            visibility=seen_by,
        )
        if scope is None and actor.project is not None:
            common.out.note(
                f"Without --scope project it is {actor.user}'s own: members of {actor.project} do not see it."
            )
        return await _answer(common, memory, verdict)


async def search(
    common: Common,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    k: Annotated[int, typer.Option("-k", "--k", help="How many hits, 1 to 100.")] = 5,
    memory_type: Type = None,
    scope: ScopeName = None,
    as_of: Annotated[str | None, typer.Option(help="What was true then (with zone).")] = None,
    known_at: Annotated[str | None, typer.Option(help="What was known then (with zone).")] = None,
    min_score: Annotated[
        float, typer.Option(help="Least final score, 0 to 1; what fits nothing has some 0.4.")
    ] = 0.0,
    include_pending: Annotated[bool, typer.Option(help="Also what awaits your word.")] = False,
    include: Annotated[
        str, typer.Option(help="What to search: memory, resource (turns, documents), or both.")
    ] = "memory",
) -> int:
    """Find memories, and with --include resource chat turns and documents, by meaning and by word."""
    kind, where = _kind(memory_type), _scope(scope)
    _said(query)
    searched = _INCLUDED[one_of(include, tuple(_INCLUDED), "include")]
    whole(k, 1, 100, "k")
    share(min_score, "min_score")
    asked: dict[str, Any] = {
        "memory_type": kind,
        "scope": where,
        "include": searched,
        "as_of": parse_time(as_of, "as-of"),
        "known_at": parse_time(known_at, "known-at"),
        "min_score": min_score,
        "include_pending": include_pending,
    }
    actor = common.actor
    async with common.open() as memory:
        hits = await memory.search_memories(actor, query, k, **asked)
    _show_found(common, query, hits)
    return DONE


def _show_found(common: Common, query: str, hits: Sequence[Hit | ResourceHit]) -> None:
    cut = _was_cut(common, query)
    if common.out.as_json:
        common.out.result({"hits": [hit_json(hit) for hit in hits], "query_cut": cut})
    else:
        show_hits(hits, common.out)


def _was_cut(common: Common, query: str) -> bool:
    """Tell whether a query was too long to be read whole, and say so."""
    from mnemic.retrieval.wanted import is_cut

    cut = is_cut(query)
    if cut:
        common.out.note(f"Only the first {MAX_QUERY:,} characters of the query were read.")
    return cut


async def context(
    common: Common,
    query: Annotated[str, typer.Argument(help="What the user is about to ask.")],
    budget: Annotated[int, typer.Option(help="Most tokens of the text.")] = 800,
) -> int:
    """Print what a prompt about this query would be given."""
    _said(query)
    whole(budget, 20, 100_000, "budget_tokens")
    async with common.open() as memory:
        text = await memory.build_context(common.actor, query, budget)
    value = {"context": text, "query_cut": _was_cut(common, query)}
    common.out.result(value, text or "Nothing relevant is known.")
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
    kind, where = _kind(memory_type), _scope(scope)
    whole(limit, 1, 1000, "limit")
    async with common.open() as memory:
        if common.session is not None and where is None:
            await memory.sessions.require(common.actor)
        page = await memory.list(
            common.actor,
            limit=limit,
            cursor=cursor,
            memory_type=kind,
            scope=where,
            status=status,
        )
    if common.out.as_json:
        common.out.result({"items": page.items, "total": page.total, "cursor": page.cursor})
        return DONE
    show_items(page.items, common.out)
    common.out.note(f"{len(page.items)} of {page.total}")
    if page.cursor:
        common.out.note(f"next page: --cursor {page.cursor}")
    return DONE


async def show(
    common: Common,
    item_id: Id,
    history: Annotated[bool, typer.Option("--history", help="All its versions.")] = False,
) -> int:
    """Show one memory, or its whole chain of versions."""
    wanted = parse_id(item_id)
    async with common.open() as memory:
        item = await memory.get(common.actor, wanted)
        chain = list(await memory.history(common.actor, wanted)) if history else []
    if common.out.as_json:
        common.out.result(plain(item) | ({"history": plain(chain)} if history else {}))
        return DONE
    for number, version in enumerate(chain or [item]):
        if number:
            common.out.line()
        show_item(version, common.out)
    return DONE


async def edit(
    common: Common,
    item_id: Id,
    text: Annotated[
        str | None, typer.Argument(help="The new text; without it the text stays.")
    ] = None,
    memory_type: Type = None,
    visibility: Annotated[str | None, typer.Option(help=_WHO_SEES)] = None,
    version: Annotated[int | None, typer.Option(help="Only if this is its version.")] = None,
) -> int:
    """Write a new version of a memory, through the gate; the old one stays as history."""
    kind = _kind(memory_type)
    seen_by = None if visibility is None else one_of(visibility, VISIBILITIES, "visibility")
    wanted = parse_id(item_id)
    if text is None and kind is None and seen_by is None:
        raise InvalidInput("nothing_to_change", "Say the new text, --type or --visibility.")
    async with common.open() as memory:
        verdict = await memory.update(
            common.actor,
            wanted,
            content=text,
            memory_type=kind,
            visibility=seen_by,
            expected_version=version,
        )
        return await _answer(common, memory, verdict)


async def delete(
    common: Common,
    item_id: Annotated[str | None, typer.Argument(help="The id of the memory.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All memories of the user.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask (for --all).")] = False,
    version: Annotated[int | None, typer.Option(help="Only if this is its version.")] = None,
) -> int:
    """Delete a memory with its earlier versions, or everything.

    --all without --yes only says what would go.
    """
    if everything == (item_id is not None) or (everything and version is not None):
        raise InvalidInput("nothing_to_delete", "Name one memory, or --all.")
    wanted = None if item_id is None else parse_id(item_id)
    only_show = dry_run or (everything and not yes)
    async with common.open() as memory:
        if everything:
            gone = await memory.delete_all(common.actor, dry_run=only_show)
        else:
            gone = await memory.delete(
                common.actor, wanted, dry_run=only_show, expected_version=version
            )
    rows = counted(gone.count, "row")
    said = f"{rows} would go" if gone.dry_run else f"{rows} deleted"
    value = {
        "deleted": 0 if gone.dry_run else gone.count,
        "count": gone.count,
        "dry_run": gone.dry_run,
        "ids": gone.ids,
    }
    told = f"{said}, earlier versions included."
    if gone.count and everything and not (yes or dry_run):
        raise unconfirmed(common, "Nothing was deleted: add --yes to delete.", value, told)
    common.out.result(value, told)
    return DONE


async def verify_list(common: Common) -> int:
    """List what awaits your word."""
    async with common.open() as memory:
        questions = await memory.questions(common.actor)
    if common.out.as_json:
        common.out.result({"questions": questions})
        return DONE
    from rich.text import Text

    for question in questions:
        head = Text(str(question.item.id), style="dim")
        head.append(f"  {question.reason}", style="not dim magenta")
        common.out.record(head, question.asked or question.item.content)
    if not questions:
        common.out.line("Nothing awaits your word.")
    return DONE


async def verify_confirm(common: Common, item_id: Id) -> int:
    """Say that a pending memory is true."""
    wanted = parse_id(item_id)
    async with common.open() as memory:
        verdict = await memory.confirm(common.actor, wanted)
        return await _answer(common, memory, verdict)


async def verify_deny(common: Common, item_id: Id) -> int:
    """Say that a pending memory is not true; it is removed."""
    wanted = parse_id(item_id)
    async with common.open() as memory:
        verdict = await memory.deny(common.actor, wanted)
        await _answer(common, memory, verdict)
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
    """Return the time of an option. Raises InvalidInput (``invalid_datetime``, ``naive_datetime``)."""
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            "invalid_datetime", f"--{name} must be ISO 8601, such as 2026-03-02T09:14:00+08:00."
        ) from None
    return aware(time, f"--{name}")


def _kind(memory_type: str | None) -> MemoryType | None:
    return None if memory_type is None else one_of(memory_type, MEMORY_TYPES, "memory_type")


def _scope(scope: str | None) -> Scope | None:
    return None if scope is None else one_of(scope, SCOPES, "scope")


def _said(query: str) -> None:
    if not query.strip():
        raise InvalidInput("blank_query", "The query is blank: say what to look for.")


async def _answer(common: Common, memory: MemoryService, verdict: Verdict) -> int:
    """Print a verdict, for people with the text that it is about, and return its exit status."""
    status = REFUSED if verdict.outcome == "rejected" else DONE
    if common.out.as_json:
        common.out.result(verdict_json(verdict))
        return status
    other: MemoryItem | None = None
    if verdict.of is not None:
        other = await memory.get(common.actor, verdict.of)
    for line in verdict_lines(verdict, other):
        common.out.line(line, hang=4)
    return status
