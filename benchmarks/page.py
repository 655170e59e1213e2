"""What does docs/reference/benchmarks.md say? What the last run with ``--write`` measured."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.table import Line, machine, markdown

_TEMPLATE = Path(__file__).with_name("page.md")


def page(lines: Sequence[Line], *, full: bool, peers: bool) -> str:
    """Return the page about these lines."""
    wanted = [flag for flag, given in (("--full", full), ("--peers", peers)) if given]
    command = " ".join(["python -m benchmarks.run", *wanted, "--write"])
    facts = "\n".join(f"| {name} | {value} |" for name, value in machine().items())
    return _TEMPLATE.read_text("utf-8").format(
        command=command,
        day=datetime.now(UTC).date().isoformat(),
        machine=facts,
        table=markdown(lines),
    )
