"""profile hibernate, profile wake: whose profile is archived, and how it comes back."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.options import DONE, REFUSED, Common
from mnemic.cli.output import counted, plain
from mnemic.errors import InvalidInput

if TYPE_CHECKING:
    from mnemic.profile.sleepers import Saved

_AWAY = re.compile(r"[0-9]{1,5}[mhd]", re.ASCII)
Away = Annotated[
    str | None,
    typer.Option(
        help="Of users who were away for so long, as 30d or 12h; else MNEMIC_HIBERNATE_AFTER, or"
        " MNEMIC_COLD_AFTER with --cold."
    ),
]
Cold = Annotated[
    bool, typer.Option("--cold", help="Move archives from the database into the cold store.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only measure.")]
TakeOver = Annotated[
    bool,
    typer.Option(
        "--take-over",
        help="With --cold: the objects there are this database's; the one that it is a copy of is gone.",
    ),
]
Abandon = Annotated[
    bool,
    typer.Option(
        "--abandon", help="Give up an archive that is lost, and make the profile anew of memories."
    ),
]


async def hibernate(
    common: Common,
    away: Away = None,
    cold: Cold = False,
    take_over: TakeOver = False,
    dry_run: DryRun = False,
) -> int:
    """Archive the profiles of all users who have been away, and say how many bytes that saves.

    Safe to interrupt and run again; `mnemic worker` does it every night.
    """
    long = _duration(away)
    if take_over and (dry_run or not cold):
        raise InvalidInput("wrong_usage", "Give --take-over with --cold, without --dry-run.")
    with common.out.progress(quiet=common.out.as_json) as bar:
        task = bar.add_task("cooling" if cold else "archiving", total=None)

        def told(done: int) -> None:
            bar.update(task, completed=done)

        async with common.open() as memory:
            if cold and not memory.sleepers.has_store:
                raise InvalidInput("cold_store_missing", "Set MNEMIC_COLD_STORE first.")
            if take_over:
                await memory.sleepers.take_over_store()
            move = memory.sleepers.cool if cold else memory.sleepers.hibernate
            saved = await move(away=long, dry_run=dry_run, progress=told)
    common.out.result({**plain(saved), "bytes_saved": saved.bytes_saved}, *_lines(saved, cold=cold))
    return REFUSED if saved.failed else DONE


async def wake(common: Common, abandon: Abandon = False) -> int:
    """Bring this user's archived profile back, as any request of theirs does."""
    async with common.open() as memory:
        if abandon and await memory.sleepers.abandon(common.actor):
            common.out.result(
                {"awake": True, "abandoned": True},
                "The archive is given up; the profile is made of memories.",
            )
            return DONE
        await memory.sleepers.wake(common.actor)
    common.out.result({"awake": True, "abandoned": False}, "The profile is awake.")
    return DONE


def _duration(text: str | None) -> timedelta | None:
    from mnemic.settings import age

    if text is None:
        return None
    if not _AWAY.fullmatch(text):
        raise InvalidInput("away_out_of_range", "Write a time away as 30d, 12h or 90m.")
    return age(text)


def _lines(saved: Saved, *, cold: bool) -> list[str]:
    what = "moved to the cold store" if cold else "archived"
    would = "would be " if saved.dry_run else ""
    lines = [f"{counted(saved.users, 'profile')} {would}{what}."]
    if saved.users:
        share = 100 * saved.bytes_after / max(saved.bytes_before, 1)
        lines.append(
            f"{saved.bytes_before:,} bytes before, {saved.bytes_after:,} after ({share:.0f}%)."
        )
    lines += [f"left as they were: {n:,} [{code}]" for code, n in saved.failed.items()]
    return lines
