"""How does a result look: as one JSON object, or for people?

Results go to stdout, everything else (progress, warnings, errors for people) to stderr. A character that the
terminal cannot show is replaced, never fatal.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
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


class Output:
    """Prints the results of one command."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        self._console = Console(highlight=False, soft_wrap=True)
        self._side = Console(stderr=True, highlight=False, soft_wrap=True)

    def result(self, value: Mapping[str, Any], *lines: str | Text | Table) -> None:
        """Print a result: ``value`` with --json, else the lines."""
        if self.as_json:
            ascii_only = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
            sys.stdout.write(json.dumps(plain(value), ensure_ascii=ascii_only) + "\n")
            sys.stdout.flush()
            return
        for line in lines:
            self.line(line)

    def line(self, line: str | Text | Table = "") -> None:
        """Print a line for people; with --json it goes to stderr."""
        console = self._side if self.as_json else self._console
        console.print(Text(line) if isinstance(line, str) else line)

    def note(self, text: str) -> None:
        """Print a remark to stderr."""
        self._side.print(Text(text, style="dim"))

    def error(self, error: MnemicError) -> None:
        """Print an error: its reason code in JSON, its sentence for people."""
        if self.as_json:
            self.result({"reason": error.code, "message": error.message, **error.details})
        else:
            self._side.print(Text(f"{error.message} [{error.code}]", style="red"))

    def progress(self, quiet: bool = False) -> Progress:
        """Return a progress bar on stderr; it draws nothing where no terminal is."""
        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._side,
            transient=True,
            disable=quiet or not self._side.is_terminal,
        )


def verdict_text(outcome: str) -> Text:
    """Return a verdict's outcome in its colour."""
    return Text(outcome, style=f"bold {_COLOURS.get(outcome, 'white')}")


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
