"""How does a result look: as one JSON object, or for people?

Results go to stdout, everything else (progress, warnings, errors for people) to stderr. A character that the
terminal cannot show is replaced, never fatal. On a terminal long lines are wrapped at its width; in a pipe
every line stays whole, and a reader who goes away ends the printing and not the work. A full disk ends both.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from uuid import UUID

from mnemic.errors import ConfigurationError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

    from mnemic.errors import MnemicError

_COLOURS = {
    "stored": "green",
    "superseded": "cyan",
    "duplicate": "yellow",
    "pending": "magenta",
    "rejected": "red",
}
_LEAST_WIDTH = 40


class Output:
    """Prints the results of one command."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")

    @cached_property
    def _console(self) -> Console:
        return _console(stderr=self.as_json)

    @cached_property
    def _side(self) -> Console:
        return _console(stderr=True)

    def result(self, value: Mapping[str, Any], *lines: str | Text | Table) -> None:
        """Print a result: ``value`` with --json, else the lines."""
        if self.as_json:
            ascii_only = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
            text = json.dumps(plain(value), ensure_ascii=ascii_only)
            with _writing_to(sys.stdout):
                sys.stdout.write(text + "\n")
                sys.stdout.flush()
            return
        for line in lines:
            self.line(line)

    def line(self, line: str | Text | Table = "", hang: int = 0) -> None:
        """Print a line for people, its continuations ``hang`` columns in; with --json it goes to stderr."""
        _print(self._console, line, hang)

    def record(self, head: Text, body: str, note: str = "") -> None:
        """Print one of many results: below its head on a terminal, beside it on one line in a pipe."""
        from rich.text import Text

        shown = Text(" ⏎ ".join(body.splitlines()))
        remark = Text(note, style="dim")
        if self._console.is_terminal:
            self.line(head)
            self.line(Text("    ") + shown, hang=4)
            if note:
                self.line(Text("    ") + remark, hang=4)
        else:
            self.line(Text("  ").join(part for part in (head, shown, remark) if part))

    def note(self, text: str) -> None:
        """Print a remark to stderr."""
        from rich.text import Text

        _print(self._side, Text(text, style="dim"), 2)

    def error(self, error: MnemicError) -> None:
        """Print an error: its reason code in JSON, its sentence for people."""
        if self.as_json and error.code != "output_unwritable":
            self.result({"reason": error.code, "message": error.message, **error.details})
            return
        from rich.text import Text

        _print(self._side, Text(f"{error.message} [{error.code}]", style="red"), 2)

    def progress(self, quiet: bool = False) -> Progress:
        """Return a progress bar on stderr; it draws nothing where no terminal is."""
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._side,
            transient=True,
            disable=quiet or not self._side.is_terminal,
        )


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    class Patient(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Patient(stderr=stderr, highlight=False, soft_wrap=True)


def _print(console: Console, line: str | Text | Table, hang: int) -> None:
    from rich.text import Text

    content = Text(line) if isinstance(line, str) else line
    with _writing_to(console.file):
        if not isinstance(content, Text) or not console.is_terminal:
            console.print(content)
            return
        width = max(console.width - hang, _LEAST_WIDTH)
        for number, part in enumerate(content.wrap(console, width)):
            part.rstrip()
            console.print(Text(" " * hang) + part if number else part)


@contextmanager
def _writing_to(stream: IO[str]) -> Iterator[None]:
    """Send to nowhere what follows once the reader has gone, or nothing more can be written.

    Raises ConfigurationError (``output_unwritable``) when it is results that cannot; remarks are given up.
    """
    try:
        yield
    except BrokenPipeError:
        _forget(stream)
    except OSError as error:
        if stream is not sys.stdout:
            _forget(stream)
            return
        raise unwritable(error) from error


def unwritable(error: OSError) -> ConfigurationError:
    """Return the error of a stdout that takes no more; what is left of it goes nowhere."""
    _forget(sys.stdout)
    message = f"The output cannot be written: {error.strerror}."
    return ConfigurationError("output_unwritable", message)


def _forget(stream: IO[str]) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def verdict_text(outcome: str, width: int = 0) -> Text:
    """Return a verdict's outcome in its colour, filled up to ``width``."""
    from rich.text import Text

    return Text(f"{outcome:<{width}}", style=f"bold {_COLOURS.get(outcome, 'white')}")


def counted(number: int, thing: str, things: str | None = None) -> str:
    """Return a number with what it counts: 1 row, 2 rows; ``things`` where an s does not make them many."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def plain(value: object) -> Any:
    """Return a value as JSON can hold it: ids and times as text, dataclasses as objects."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID | Path):
        return str(value)
    if isinstance(value, Sequence | frozenset | set):
        return [plain(inner) for inner in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")
