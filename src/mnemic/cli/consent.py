"""consent: may this user be remembered?"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.options import BACK_IT_UP, DONE, Common, command
from mnemic.cli.output import plain

if TYPE_CHECKING:
    from mnemic.audit import Audit
    from mnemic.consent import ConsentState
    from mnemic.deployment import Deployment
    from mnemic.session.window import Window

Purpose = Annotated[str, typer.Option(help="remember (all that memory does) or insight.")]
_CLOCK_GRAIN = 0.05  # a file system's clock may lag behind by some milliseconds


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    group = typer.Typer(no_args_is_help=True, help="May this user be remembered?")
    app.add_typer(group, name="consent")
    for name, function in (("grant", grant), ("refuse", refuse), ("show", show)):
        command(group, name)(function)


async def grant(common: Common, purpose: Purpose = "remember") -> int:
    """Record that this user agrees."""
    from mnemic.consent import Consents

    async with opened(common) as (deployment, audit):
        consents = Consents(deployment.database, audit)
        return _told(common, await consents.grant(common.actor, purpose))


async def refuse(common: Common, purpose: Purpose = "remember") -> int:
    """Record that this user does not agree, or no longer; it holds at once. Nothing is erased."""
    from mnemic.consent import Consents

    async with opened(common) as (deployment, audit), windows(common, deployment) as window:
        consents = Consents(deployment.database, audit, window)
        status = _told(common, await consents.refuse(common.actor, purpose))
    common.out.note("What is stored stays stored, out of use: `mnemic erase` removes it.")
    return status


async def show(common: Common) -> int:
    """Show what this user agreed to, and when."""
    from mnemic.consent import Consents

    async with opened(common) as (deployment, audit):
        state = await Consents(deployment.database, audit).show(common.actor)
    _told(common, state)
    if not common.out.as_json:
        for record in state.records:
            at = record.recorded_at.isoformat(timespec="seconds")
            common.out.line(f"{at}  {record.purpose} {record.state} ({record.via})")
    return DONE


@asynccontextmanager
async def opened(common: Common) -> AsyncIterator[tuple[Deployment, Audit]]:
    """The database and its audit, without a model; says where the key lies when it has just been made."""
    from mnemic.audit import Audit
    from mnemic.deployment import Deployment

    started = time.time()
    deployment = await Deployment.start(common.settings())
    try:
        key_file = deployment.key_file
        if key_file is not None and key_file.stat().st_mtime > started - _CLOCK_GRAIN:
            common.out.note(f"A new key was made: {key_file}. {BACK_IT_UP}")
        yield deployment, await Audit.open(deployment.database, deployment.keys.provider)
    finally:
        await deployment.close()


def _told(common: Common, state: ConsentState) -> int:
    lines = [f"{purpose:<9} {word}" for purpose, word in state.purposes.items()]
    common.out.result(plain(state), *lines)
    return DONE


@asynccontextmanager
async def windows(common: Common, deployment: Deployment) -> AsyncIterator[Window]:
    """Where conversations are kept for a while, so that nothing is left there."""
    from mnemic.session.messages import MessageLog
    from mnemic.session.window import Window
    from mnemic.session.window_opening import open_windows

    opened = await open_windows(common.settings(), deployment.data_dir)
    try:
        database, keys = deployment.database, deployment.keys
        yield Window(database, keys, opened.store, MessageLog(database, keys))
    finally:
        await opened.close()
