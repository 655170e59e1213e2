"""audit: who did what, and was the log of it changed?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.cli.consent import opened
from mnemic.cli.options import DONE, REFUSED, Common, command
from mnemic.cli.output import counted, plain
from mnemic.model import Actor

if TYPE_CHECKING:
    from mnemic.audit import AuditEntry, AuditKey, AuditPage
    from mnemic.audit.verify import Problem, Verified
    from mnemic.storage.pool import Database

_SHORT = 12
Mine = Annotated[
    bool, typer.Option("--mine", help="Only this user's own, without the owner's login.")
]
Limit = Annotated[int, typer.Option(help="Entries to show, 1 to 1,000.")]
Cursor = Annotated[str | None, typer.Option(help="Continues after the last page.")]
Action = Annotated[str | None, typer.Option(help="Only this deed, such as erase_user.")]
Target = Annotated[str | None, typer.Option(help="Only what was done to this id.")]
Head = Annotated[
    str | None, typer.Option(help="A head printed before: everything of then must be there.")
]
_SENTENCES = {
    "entry_changed": "was changed, moved or put in",
    "entries_missing": "and perhaps more are missing",
    "chain_cut": "and what follows is missing",
    "chain_missing": "is missing",
    "head_changed": "does not fit the chain's head",
    "audit_missing": "The beginning of the audit is missing; the first start of a service makes it.",
    "head_unknown": "The head was not printed by this log, or the log was put back to before it.",
    "head_not_reached": "is not what it was when the head was printed",
}


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    group = typer.Typer(no_args_is_help=True, help="Who did what, and was the log of it changed?")
    app.add_typer(group, name="audit")
    command(group, "show")(show)
    command(group, "verify")(verify)


async def show(
    common: Common,
    mine: Mine = False,
    limit: Limit = 50,
    cursor: Cursor = None,
    action: Action = None,
    target: Target = None,
) -> int:
    """Show entries, the newest first; with --user those of one user."""
    page = await (
        _own(common, limit, cursor) if mine else _all(common, limit, cursor, action, target)
    )
    if common.out.as_json:
        common.out.result(plain(page))
        return DONE
    for entry in page.entries:
        common.out.line(_line(entry))
    if page.cursor is not None:
        common.out.note(f"more: --cursor {page.cursor}")
    if not page.entries:
        common.out.line("No entries.")
    return DONE


async def verify(common: Common, head: Head = None) -> int:
    """Read the whole log and find every change by whoever has the database and not the key."""
    from mnemic.audit.verify import verify as verified

    async with _operators(common) as (database, key):
        with common.out.progress(quiet=common.out.as_json) as bar:
            task = bar.add_task("verifying", total=None)
            found = await verified(
                database,
                key,
                head=head,
                progress=lambda done, total: bar.update(task, completed=done, total=total),
            )
    common.out.result({"sound": found.sound, **plain(found)}, *_verdict(found))
    if found.head is not None:
        common.out.note(
            "Keep the head elsewhere; --head HEX proves later that nothing was put back."
        )
    return DONE if found.sound else REFUSED


async def _own(common: Common, limit: int, cursor: str | None) -> AuditPage:
    async with opened(common) as (_, audit):
        return await audit.mine(common.actor, limit=limit, cursor=cursor)


async def _all(
    common: Common, limit: int, cursor: str | None, action: str | None, target: str | None
) -> AuditPage:
    from mnemic.audit.verify import newest

    user = None if common.user is None else Actor(common.user)
    async with _operators(common) as (database, key):
        return await newest(
            database, key, user=user, target=target, action=action, limit=limit, cursor=cursor
        )


@asynccontextmanager
async def _operators(common: Common) -> AsyncIterator[tuple[Database, AuditKey]]:
    """The database with the owner's login, and the audit key."""
    from mnemic.audit import open_key
    from mnemic.deployment import as_owner

    async with as_owner(common.settings()) as (deployment, _):
        async with deployment.database.system() as tx:
            key = await open_key(tx, deployment.keys.provider)
        yield deployment.database, key


def _line(entry: AuditEntry) -> str:
    at = entry.at.isoformat(sep=" ", timespec="milliseconds")
    told: dict[str, Any] = {
        "user": entry.user,
        "by": entry.credential,
        "target": entry.target,
        "before": entry.before,
        "after": entry.after,
    }
    parts = [f"{name} {value[:_SHORT]}" for name, value in told.items() if value is not None]
    return "  ".join([at, entry.action, entry.why, *parts])


def _verdict(found: Verified) -> list[str]:
    entries = counted(found.entries, "entry", "entries")
    if found.sound:
        return [f"{entries}, nothing was changed.", f"head {found.head}"]
    lines = [f"{entries}, {counted(found.n_problems, 'problem')}:", *map(_sentence, found.problems)]
    if found.n_problems > len(found.problems):
        lines.append(f"... and {found.n_problems - len(found.problems):,} more")
    return lines


def _sentence(problem: Problem) -> str:
    told = _SENTENCES[problem.kind]
    if problem.chain is None:
        where = "The log " if problem.kind == "head_not_reached" else ""
        return f"  {where}{told} [{problem.kind}]"
    number = "" if problem.seq is None else f", entry {problem.seq}"
    return f"  chain {problem.chain}{number} {told} [{problem.kind}]"
