"""eval: score the gate and the search on files of labelled rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.cli.options import DONE, REFUSED, Common, command

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


def register(app: typer.Typer) -> None:
    """Add this command to the application."""
    command(app, "eval")(evaluate_files)


async def evaluate_files(
    common: Common,
    files: Annotated[
        list[Path], typer.Argument(help="Files of labelled rows; the kind is read from them.")
    ],
    floors: Annotated[
        Path | None, typer.Option(help="JSON of least (or most) figures to hold.")
    ] = None,
) -> int:
    """Score files and print figures by language or category; with --floors, fail below them."""
    from mnemic.evaluation.kinds import evaluate

    reports: list[dict[str, Any]] = []
    with common.out.progress() as progress:
        for path in progress.track(files, description="eval"):
            reports.append(await evaluate(path))
    misses = _misses(reports, floors) if floors else []
    value: dict[str, Any] = dict(reports[0]) if len(reports) == 1 else {"reports": reports}
    if floors:
        value["misses"] = misses
    common.out.result(value, *[line for report in reports for line in _lines(report)], *misses)
    return REFUSED if misses else DONE


def _lines(report: dict[str, Any]) -> list[str | Text | Table]:
    from rich.table import Table
    from rich.text import Text

    lines: list[str | Text | Table] = [Text(f"{report['set']} ({report['kind']})", style="bold")]
    rows = {key: figures for key, figures in report["by"].items() if isinstance(figures, dict)}
    if rows:
        names = [n for n, v in next(iter(rows.values())).items() if not isinstance(v, dict)]
        table = Table("", *names, box=None)
        for key, figures in rows.items():
            table.add_row(key, *(_figure(figures.get(name)) for name in names))
        lines.append(table)
    for key, figures in rows.items():
        if "confusion" in figures:
            lines += _confusion(key, figures["confusion"])
    return lines


def _confusion(key: str, confusion: dict[str, dict[str, int]]) -> list[str | Text | Table]:
    from rich.table import Table

    table = Table(f"{key}: label \\ judged", *next(iter(confusion.values())), box=None)
    for label, judged in confusion.items():
        table.add_row(label, *(str(count) for count in judged.values()))
    return [table]


def _figure(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return "-" if value is None else str(value)


def _misses(reports: list[dict[str, Any]], floors: Path) -> list[str]:
    import json

    wanted = json.loads(floors.read_text(encoding="utf-8"))
    misses = []
    for report in reports:
        for path, (word, limit) in wanted.get(report["set"], {}).items():
            value: Any = report
            for part in path.split("/"):
                value = value[part]
            if (value < limit) if word == "least" else (value > limit):
                misses.append(f"{report['set']}: {path} is {value:.3f}, {word} is {limit}")
    return misses
