"""What does docs/reference/soak.md say? What the last soak with ``--write`` measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.table import Line, machine, markdown

_TEMPLATE = Path(__file__).with_name("soak_page.md")


def page(
    lines: Sequence[Line], facts: Mapping[str, str], clients: int, seconds: float, workers: int
) -> str:
    """Return the page about a run."""
    told = dict(machine())
    told["load average after"] = told.pop("load average")
    rows = "\n".join(f"| {name} | {value} |" for name, value in (told | dict(facts)).items())
    return _TEMPLATE.read_text("utf-8").format(
        day=datetime.now(UTC).date().isoformat(),
        clients=clients,
        seconds=f"{seconds:g}",
        workers=workers,
        machine=rows,
        table=markdown(lines),
    )
