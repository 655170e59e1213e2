"""Which options does every command take, and what becomes of its result and its errors?

A command is a coroutine function whose first parameter is ``Common``; ``command`` adds the options that all
share. Exit status: 0 done, 1 refused or not found, 2 wrong usage (InvalidInput, also of a named file), 130
interrupted. The service and its driver are loaded when a command opens it, so that help and refusals of wrong
input come at once.
"""

from __future__ import annotations

import getpass
import inspect
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.cli.output import Output
from mnemic.errors import ConfigurationError, InvalidInput, MnemicError, PermissionDenied
from mnemic.model import Actor

if TYPE_CHECKING:
    from mnemic.service import MemoryService
    from mnemic.settings import Settings

DONE, REFUSED, USAGE, INTERRUPTED = 0, 1, 2, 130
BACK_IT_UP = "Back it up, away from the data. Without it nothing can be read."
_CLOCK_GRAIN = 0.05  # a file system's clock may lag behind by some milliseconds


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
        """Who is asking: --user, MNEMIC_USER, else the login name; an empty --user is refused."""
        user = os.environ.get("MNEMIC_USER") or _login() if self.user is None else self.user
        return Actor(
            _said("user", user),
            self.project,
            self.session,
            purpose="cli",
        )

    def settings(self) -> Settings:
        """The environment with the options over it."""
        from mnemic.settings import Settings

        return Settings.read(data_dir=self.data_dir, database_url=self.database_url)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[MemoryService]:
        """The service that the options name; says where the key lies when it has just been made."""
        from mnemic.service import MemoryService

        started = time.time()
        async with MemoryService.open(settings=self.settings()) as memory:
            key_file = memory.key_file
            if key_file is not None and key_file.stat().st_mtime > started - _CLOCK_GRAIN:
                self.out.note(f"A new key was made: {key_file}. {BACK_IT_UP}")
            yield memory


Command = Callable[..., Coroutine[Any, Any, int]]

_SHARED: dict[str, Any] = {
    "user": Annotated[
        str | None,
        typer.Option(help="Whose memory; else MNEMIC_USER, else the login name."),
    ],
    "project": Annotated[str | None, typer.Option(help="The project at hand.")],
    "session": Annotated[str | None, typer.Option(help="The session at hand.")],
    "data_dir": Annotated[
        Path | None,
        typer.Option(help="Where the embedded database lies; else MNEMIC_DATA_DIR."),
    ],
    "database_url": Annotated[
        str | None,
        typer.Option(help="A PostgreSQL in place of the embedded one; else MNEMIC_DATABASE_URL."),
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
            try:
                given = {option: _said(option, value) for option, value in given.items()}
            except InvalidInput as error:
                out.error(error)
                raise typer.Exit(USAGE) from None
            shared = {option: given.pop(option) for option in _SHARED if option != "json"}
            common = Common(**shared, out=out)
            raise typer.Exit(execute(function, common, given))

        keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
        del run.__wrapped__
        vars(run)["__signature__"] = inspect.Signature([*keywords, *shared])
        run.__annotations__ = {p.name: p.annotation for p in [*keywords, *shared]}
        app.command(name)(run)
        return function

    return register


def unconfirmed(common: Common, told: str, counts: Mapping[str, Any], *lines: str) -> MnemicError:
    """Return what a command without --yes ends with, after the lines that say what it would do.

    With --json ``counts`` say it, beside the reason.
    """
    if not common.out.as_json:
        common.out.result({}, *lines)
    return PermissionDenied("confirmation_required", told, **counts)


def execute(function: Command, common: Common, given: dict[str, Any]) -> int:
    """Run a command and return its exit status; an error of ours is printed, never a traceback."""
    import asyncio

    try:
        return asyncio.run(function(common, **given))
    except MnemicError as error:
        common.out.error(error)
        return USAGE if isinstance(error, InvalidInput) else REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED


def _said(option: str, value: Any) -> Any:
    try:
        return as_said(value)
    except InvalidInput:
        if option in ("user", "project", "session"):
            return value  # refused as every other id that is none
        raise


def as_said(value: Any) -> Any:
    """Return text as it was typed: a C locale hands over every byte of UTF-8 as a lone surrogate.

    Raises InvalidInput (``argument_not_text``) for bytes that are no UTF-8; the path of a file may have them.
    """
    if isinstance(value, list | tuple):
        return type(value)(map(as_said, value))
    if not isinstance(value, str) or not any("\udc80" <= char <= "\udcff" for char in value):
        return value
    try:
        return value.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        raise InvalidInput(
            "argument_not_text", "An argument is not text in UTF-8: write it in that encoding."
        ) from None


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # KeyError before Python 3.13
        raise ConfigurationError(
            "user_unknown", "This login has no name: say whose memory it is with --user."
        ) from None
