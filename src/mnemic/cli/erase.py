"""erase: forget one user, completely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.consent import opened, windows
from mnemic.cli.options import DONE, Common, command, unconfirmed
from mnemic.cli.output import counted, plain

if TYPE_CHECKING:
    from mnemic.privacy.erase import Erasure

Yes = Annotated[bool, typer.Option("--yes", help="Erase; without it nothing is.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count.")]


def register(app: typer.Typer) -> None:
    """Add this command to the application."""
    command(app, "erase")(erase)


async def erase(common: Common, yes: Yes = False, dry_run: DryRun = False) -> int:
    """Remove every row of this user from every table, and the data key; nothing brings them back."""
    from mnemic.cold.opening import open_cold_store
    from mnemic.cold.removals import Removals
    from mnemic.privacy.erase import Erase

    actor, store = common.actor, open_cold_store(common.settings())
    async with opened(common) as (deployment, audit), windows(common, deployment) as window:
        database = deployment.database
        removals = Removals(database, store)
        service = Erase(database, deployment.keys, audit, windows=window, removals=removals)
        report = await service.forget_user(actor, dry_run=dry_run or not yes)
    value, lines = {**plain(report), "total": report.total}, _lines(report, actor.user)
    if report.total and not (yes or dry_run):
        raise unconfirmed(common, "Nothing was erased: add --yes to erase.", value, *lines)
    common.out.result(value, *lines)
    return DONE


def _lines(report: Erasure, user: str) -> list[str]:
    if not report.total:
        return [f"Nothing is stored of {user}."]
    width = max(map(len, report.counts))
    lines = [f"{table:<{width}} {count:>8,}" for table, count in report.counts.items() if count]
    would = " would go" if report.dry_run else " went"
    rows = counted(report.total, "row")
    lines.append(f"{rows} of {user}{would}, and with the key what any copy holds.")
    if report.inherited or report.ended:
        lines.append(
            f"projects: {report.inherited} with a new owner, {report.ended} without other members ended"
        )
    return lines
