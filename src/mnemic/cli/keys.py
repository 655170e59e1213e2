"""keys: which key of keys is in use, how it is replaced, and when erasures become final."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.cli.options import BACK_IT_UP, DONE, Common, command, unconfirmed
from mnemic.cli.output import counted, plain
from mnemic.errors import InvalidInput

if TYPE_CHECKING:
    from mnemic.audit import Audit
    from mnemic.deployment import Deployment
    from mnemic.privacy.epochs import Closing, Epochs, Kek, KeyState
    from mnemic.privacy.rotate import Progress

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count.")]
Prepare = Annotated[
    bool, typer.Option("--prepare", help="Only make the next key, to take it to other machines.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Close; without it nothing is.")]
IfDue = Annotated[
    bool, typer.Option("--if-due", help="Only if an erasure waited MNEMIC_KEY_EPOCH_DAYS.")
]
_WHEN = "%Y-%m-%d %H:%M"
_NOTHING = "There is nothing to make final."


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    group = typer.Typer(no_args_is_help=True, help="The key of keys: state, rotation, epochs.")
    app.add_typer(group, name="keys")
    for name, function in (("status", status), ("rotate", rotate), ("close-epoch", close_epoch)):
        command(group, name)(function)


async def status(common: Common) -> int:
    """Say which key of keys is in use, what hangs on which, and which erasures are not final yet."""
    async with _opened(common) as (deployment, audit):
        state = await _epochs(common, deployment, audit).state()
    common.out.result(
        {**plain(state), "key_file": deployment.key_file},
        *(f"key file  {deployment.key_file}" for _ in range(deployment.key_file is not None)),
        *map(_kek_line, state.keks),
        *_prepared_lines(state),
        *_epoch_lines(state),
    )
    return DONE


async def rotate(common: Common, dry_run: DryRun = False, prepare: Prepare = False) -> int:
    """Bring a new key of keys into use and wrap all data keys with it, while everything runs.

    Safe to interrupt and run again.
    """
    from mnemic.privacy.rotate import Rotation

    if dry_run and prepare:
        raise InvalidInput("wrong_usage", "Give --dry-run or --prepare, not both.")
    async with _opened(common) as (deployment, audit):
        rotation = Rotation(deployment.database, deployment.keys.provider, audit)
        if prepare:
            kek_id = await rotation.prepare()
            common.out.result({"prepared": kek_id}, f"{kek_id} is ready and not in use yet.")
            return DONE
        with _bar(common) as progress:
            done = await rotation.run(common.actor, progress=progress, dry_run=dry_run)
    again = " An earlier rotation is ended." if done.resumed else ""
    keys = counted(done.keys, "data key")
    lines = [f"{keys} to wrap anew." if dry_run else f"{keys} wrapped anew.{again}"]
    if not dry_run:
        lines.append(f"The key in use is {done.kek_id}.")
        _say_back_up(common, deployment)
    common.out.result(plain(done), *lines)
    return DONE


async def close_epoch(
    common: Common, yes: Yes = False, if_due: IfDue = False, dry_run: DryRun = False
) -> int:
    """Make all erasures final: wrap what is left with a new key of keys and destroy the earlier ones.

    No copy of the data from before can be read afterwards: make a backup then.
    """
    async with _opened(common) as (deployment, audit):
        epochs = _epochs(common, deployment, audit)
        state = await epochs.state()
        if if_due and not await epochs.due():
            common.out.result(_would(state), *_not_due_lines(state))
            return DONE
        if dry_run or not yes:
            return _previewed(common, state, asked=dry_run)
        with _bar(common) as progress:
            closing = await epochs.close(common.actor, progress=progress)
    if closing is None:
        common.out.result({"closed": False}, _NOTHING)
        return DONE
    common.out.result({"closed": True, **plain(closing)}, *_closing_lines(closing))
    _say_back_up(common, deployment)
    common.out.note("Copies of the data from before cannot be read any more: make a backup now.")
    return DONE


def _previewed(common: Common, state: KeyState, *, asked: bool) -> int:
    value = _would(state)
    if not value["earlier"] and state.open_since is None:
        common.out.result(value, _NOTHING)
        return DONE
    keys = sum(kek.data_keys for kek in state.keks)
    lines = [
        f"{counted(state.open_erasures, 'erasure')} would be final; {counted(keys, 'data key')} would"
        " be wrapped anew, and no copy of the data from before could be read.",
        *_due_lines(state),
    ]
    if not asked:
        raise unconfirmed(common, "Nothing was closed: add --yes to close.", value, *lines)
    common.out.result(value, *lines)
    return DONE


def _would(state: KeyState) -> dict[str, Any]:
    old = sum(not kek.current and kek.destroyed_at is None for kek in state.keks)
    waits = {"erasures": state.open_erasures, "due_at": state.due_at, "earlier": old}
    return {"closed": False, **waits}


def _not_due_lines(state: KeyState) -> list[str]:
    if state.due_at is None:
        return ["Nothing is due: no erasure waits to be final."]
    return [f"Nothing is due before {_at(state.due_at)}."]


@asynccontextmanager
async def _opened(common: Common) -> AsyncIterator[tuple[Deployment, Audit]]:
    from mnemic.audit import Audit
    from mnemic.deployment import as_owner

    async with as_owner(common.settings()) as (deployment, _):
        yield deployment, await Audit.open(deployment.database, deployment.keys.provider)


def _epochs(common: Common, deployment: Deployment, audit: Audit) -> Epochs:
    from mnemic.privacy.epochs import Epochs

    days = common.settings().key_epoch_days
    return Epochs(deployment.database, deployment.keys.provider, audit, days=days)


@contextmanager
def _bar(common: Common) -> Iterator[Progress]:
    with common.out.progress(quiet=common.out.as_json) as bar:
        task = bar.add_task("wrapping", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _say_back_up(common: Common, deployment: Deployment) -> None:
    if deployment.key_file is not None:
        common.out.note(f"The key file has changed: {deployment.key_file}. {BACK_IT_UP}")


def _kek_line(kek: Kek) -> str:
    told = counted(kek.data_keys, "data key")
    if kek.current:
        return f"in use    {kek.kek_id} since {_at(kek.opened_at)}, {told}" + _missing(kek)
    if kek.destroyed_at is not None:
        return f"destroyed {kek.kek_id} at {_at(kek.destroyed_at)}"
    return f"earlier   {kek.kek_id} until {_at(kek.replaced_at)}, {told}" + _missing(kek)


def _prepared_lines(state: KeyState) -> list[str]:
    return [] if state.prepared is None else [f"prepared  {state.prepared}: mnemic keys rotate"]


def _missing(kek: Kek) -> str:
    return "" if kek.held else ", and its provider does not hold it"


def _epoch_lines(state: KeyState) -> list[str]:
    lines = [f"erasures  {state.open_erasures:,} not final yet", *_due_lines(state)]
    if state.unknown:
        lines.append(f"warning   {counted(state.unknown, 'data key')} under keys never used here")
    for closing in state.closings[-1:]:
        lines.append(
            f"closed    {_at(closing.closed_at)}: {counted(closing.erasures, 'erasure')} final"
        )
    return lines


def _due_lines(state: KeyState) -> list[str]:
    if state.due_at is None:
        return []
    return [f"due       {_at(state.due_at)}: mnemic keys close-epoch"]


def _closing_lines(closing: Closing) -> list[str]:
    final = counted(closing.erasures, "erasure")
    gone = counted(closing.destroyed, "earlier key")
    lines = [f"{final} final in every copy, {gone} destroyed."]
    if closing.first_erasure_at is not None:
        lines.append(
            f"The erasures were from {_at(closing.first_erasure_at)} to {_at(closing.last_erasure_at)}."
        )
    return lines


def _at(time: datetime | None) -> str:
    return "never" if time is None else time.astimezone().strftime(_WHEN)
