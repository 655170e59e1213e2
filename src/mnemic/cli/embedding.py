"""embedding: which model embeds for this user, and the change to another one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.cli.options import DONE, Common, command
from mnemic.cli.output import counted
from mnemic.errors import InvalidInput

if TYPE_CHECKING:
    from mnemic.embedding.follow import Progress, Reembedded

BaseUrl = Annotated[
    str, typer.Option(help="Base URL of an OpenAI-compatible endpoint; its host must be allowed.")
]
Model = Annotated[str, typer.Option("--model", help="Its model.")]
Dims = Annotated[int | None, typer.Option(help="Width of its vectors; else what it answers.")]
KeyFile = Annotated[
    str | None,
    typer.Option(help="File that holds the endpoint's key; - for standard input."),
]


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    group = typer.Typer(no_args_is_help=True, help="The embedding model of this user.")
    app.add_typer(group, name="embedding")
    functions = (("show", show), ("set", choose), ("clear", clear), ("reembed", reembed))
    for name, function in functions:
        command(group, name)(function)


async def show(common: Common) -> int:
    """Show which model embeds for this user."""
    async with common.open() as memory:
        found = await memory.embeddings.get(common.actor)
        name = (await memory.create_embeddings(common.actor.user)).name
    lines = [f"model    {name}" + ("" if found.own else " (the deployment's)")]
    if found.own is not None:
        width = counted(found.own.dims, "dimension")
        lines.append(f"endpoint {found.own.base_url}, {width}")
        lines.append(f"key      {'set' if found.own.key_set else 'none'}")
    if found.changing:
        to = found.next.model if found.next else "the deployment's model"
        lines.append(f"changing to {to}: run `mnemic embedding reembed` to go on")
    common.out.result(
        {"model": name, "own": found.own, "changing": found.changing, "next": found.next}, *lines
    )
    return DONE


async def choose(
    common: Common, base_url: BaseUrl, model: Model, dims: Dims = None, key_file: KeyFile = None
) -> int:
    """Let an endpoint of your own embed for this user, and embed anew what is remembered."""
    key = None if key_file is None else _read(key_file)
    async with common.open() as memory:
        with _Bar(common) as progress:
            report = await memory.embeddings.set(
                common.actor, base_url, model, key, dims, progress=progress
            )
    return _told(common, report)


async def clear(common: Common) -> int:
    """Let the deployment's model embed for this user again."""
    async with common.open() as memory:
        with _Bar(common) as progress:
            report = await memory.embeddings.clear(common.actor, progress=progress)
    return _told(common, report)


async def reembed(common: Common) -> int:
    """Go on with a change that was interrupted; embed what was refused before."""
    async with common.open() as memory:
        with _Bar(common) as progress:
            report = await memory.embeddings.reembed(common.actor, progress=progress)
    return _told(common, report)


class _Bar:
    """A progress bar while rows are embedded."""

    def __init__(self, common: Common) -> None:
        self._bar = common.out.progress(quiet=common.out.as_json)

    def __enter__(self) -> Progress:
        self._bar.__enter__()
        task = self._bar.add_task("embedding", total=None)
        return lambda done, total: self._bar.update(task, completed=done, total=total)

    def __exit__(self, *exc: Any) -> None:
        self._bar.__exit__(*exc)


def _told(common: Common, report: Reembedded) -> int:
    common.out.result(
        {
            "rows": report.rows,
            "model": report.model,
            "dims": report.dims,
            "refused": report.refused,
        },
        f"{report.model} ({counted(report.dims, 'dimension')}) embeds now;"
        f" {counted(report.rows, 'vector was', 'vectors were')} replaced.",
        *(f"no vector: {one.table} {one.id} [{one.reason}]" for one in report.refused),
    )
    return DONE


def _read(key_file: str) -> str:
    try:
        text = sys.stdin.read() if key_file == "-" else Path(key_file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(
            "key_unreadable", "The file with the endpoint's key cannot be read."
        ) from None
    return text.strip()
