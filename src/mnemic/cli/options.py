"""Which options does every command take, and what becomes of its result and its errors?

A command is a coroutine function whose first parameter is ``Common``; ``command`` adds the options that all
share. Exit status: 0 done, 1 refused or not found, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import asyncio
import getpass
import inspect
import os
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from mnemic.cli.output import Output
from mnemic.errors import InvalidInput, MnemicError
from mnemic.model import Actor
from mnemic.service import MemoryService
from mnemic.settings import Settings

DONE, REFUSED, USAGE, INTERRUPTED = 0, 1, 2, 130


@dataclass(frozen=True, slots=True)
class Common:
    """The options that every command takes."""

    user: str | None
    project: str | None
    session: str | None
    data_dir: Path | None
    database_url: str | None
    out: Output

    @property
    def actor(self) -> Actor:
        """Who is asking: --user, MNEMIC_USER, else the login name."""
        return Actor(self.user or getpass.getuser(), self.project, self.session, purpose="cli")

    def settings(self) -> Settings:
        """The environment with the options over it."""
        return Settings.read(data_dir=self.data_dir, database_url=self.database_url)

    def open(self) -> MemoryService:
        """The service that the options name."""
        return MemoryService.open(settings=self.settings())


Command = Callable[..., Coroutine[Any, Any, int]]

_SHARED: dict[str, Any] = {
    "user": Annotated[
        str | None, typer.Option(help="Whose memory; else the login name.", envvar="MNEMIC_USER")
    ],
    "project": Annotated[str | None, typer.Option(help="The project at hand.")],
    "session": Annotated[str | None, typer.Option(help="The session at hand.")],
    "data_dir": Annotated[
        Path | None,
        typer.Option(help="Where the embedded database lies.", envvar="MNEMIC_DATA_DIR"),
    ],
    "database_url": Annotated[
        str | None,
        typer.Option(
            help="A PostgreSQL in place of the embedded one.",
            envvar="MNEMIC_DATABASE_URL",
            show_envvar=True,
        ),
    ],
    "json": Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")],
}


def command(app: typer.Typer, name: str) -> Callable[[Command], Command]:
    """Register a coroutine function as the command ``name``, with the shared options added."""

    def register(function: Command) -> Command:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        shared = [
            inspect.Parameter(
                option,
                inspect.Parameter.KEYWORD_ONLY,
                default=False if option == "json" else None,
                annotation=annotation,
            )
            for option, annotation in _SHARED.items()
        ]

        @wraps(function)
        def run(**given: Any) -> None:
            out = Output(given.pop("json"))
            shared = {option: given.pop(option) for option in _SHARED if option != "json"}
            common = Common(**shared, out=out)
            raise typer.Exit(execute(function, common, given))

        keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
        del run.__wrapped__
        run.__signature__ = inspect.Signature([*keywords, *shared])  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in [*keywords, *shared]}
        app.command(name)(run)
        return function

    return register


def execute(function: Command, common: Common, given: dict[str, Any]) -> int:
    """Run a command and return its exit status; an error of ours is printed, never a traceback."""
    try:
        return asyncio.run(function(common, **given))
    except MnemicError as error:
        common.out.error(error)
        return USAGE if isinstance(error, InvalidInput) else REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whoever read us has gone; end quietly
        return DONE
