"""eval: score the gate and the search on files of labelled rows."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.cli.options import DONE, REFUSED, Common, command
from mnemic.errors import InvalidInput

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
    plot: Annotated[
        Path | None, typer.Option(help="Where to draw recall over k, as SVG (retrieval sets).")
    ] = None,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Also without each ingredient (retrieval sets).")
    ] = False,
    injection: Annotated[
        bool,
        typer.Option("--injection", help="How often a prompt is given something (retrieval sets)."),
    ] = False,
) -> int:
    """Score files and print figures by language or category; with --floors, fail below them."""
    from mnemic.evaluation.floors import misses as missed
    from mnemic.evaluation.floors import read_floors

    if plot is not None:
        _require_curves(files, plot, injection)
    limits = read_floors(floors) if floors else {}
    reports = await _reports(common, files, ablation, injection)
    if plot is not None:
        _draw(reports, plot)
    misses = missed(reports, limits)
    value: dict[str, Any] = dict(reports[0]) if len(reports) == 1 else {"reports": reports}
    if floors:
        value["misses"] = misses
    common.out.result(value, *[line for report in reports for line in _lines(report)], *misses)
    return REFUSED if misses else DONE


async def _reports(
    common: Common, files: list[Path], ablation: bool, injection: bool
) -> list[dict[str, Any]]:
    from mnemic.evaluation.kinds import count_queries, evaluate

    reports = []
    with common.out.progress() as progress:
        for path in files:
            bar = progress.add_task(path.parent.name or path.stem, total=count_queries(path) or 1)
            step = partial(progress.advance, bar)
            reports.append(await evaluate(path, ablation=ablation, injection=injection, step=step))
            progress.remove_task(bar)
    return reports


def _require_curves(files: list[Path], plot: Path, injection: bool) -> None:
    """Refuse, before the work, a plot that could not be written or would show nothing."""
    from mnemic.evaluation.kinds import has_queries

    if plot.is_dir() or not os.access(plot if plot.exists() else plot.parent, os.W_OK):
        raise InvalidInput("file_unwritable", f"{plot} cannot be written.")
    if injection:
        raise InvalidInput("wrong_usage", "Give --plot or --injection, not both.")
    if not any(map(has_queries, files)):
        raise InvalidInput(
            "nothing_to_plot", "Leave --plot out: only retrieval sets have recall to draw."
        )


def _draw(reports: list[dict[str, Any]], path: Path) -> None:
    from mnemic.evaluation.plot import recall_plot

    curves = {
        f"{report['set']} {name}": curve
        for report in reports
        for name, curve in report.get("curves", {}).items()
    }
    try:
        path.write_text(recall_plot(curves, "Recall over k"), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            "file_unwritable", f"{path} cannot be written: {error.strerror}."
        ) from error


def _lines(report: dict[str, Any]) -> list[str | Text | Table]:
    from rich.text import Text

    lines: list[str | Text | Table] = [Text(f"{report['set']} ({report['kind']})", style="bold")]
    for title, rows in _tables(report):
        figures = {key: value for key, value in rows.items() if isinstance(value, dict)}
        if figures:
            lines.append(_table(title, figures))
    for key, row in report.get("by", {}).items():
        if isinstance(row, dict) and "confusion" in row:
            lines += _confusion(key, row["confusion"])
    if speed := report.get("speed"):
        lines.append(
            Text("  ".join(f"{name} {value}" for name, value in speed.items()), style="dim")
        )
    return lines


def _tables(report: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the tables of a report with their titles: of the gate one, of retrieval one a level."""
    if "by" in report:
        return [("", report["by"])]
    tables = [(level, report.get(level, {})) for level in ("turn", "session")]
    tables += [(f"{level}, category", rows) for level, rows in report.get("category", {}).items()]
    for level, groups in report.get("ablation", {}).items():
        tables += [(f"{level} {group}, arm", arms) for group, arms in groups.items()]
    return tables


def _table(title: str, rows: dict[str, dict[str, Any]]) -> Table:
    from rich.table import Table

    names = [
        name for name, value in next(iter(rows.values())).items() if not isinstance(value, dict)
    ]
    table = Table(title, *names, box=None)
    for key, figures in rows.items():
        table.add_row(key, *(_figure(figures.get(name)) for name in names))
    return table


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
