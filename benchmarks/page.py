"""What does docs/reference/benchmarks.md say? What the last runs with ``--write`` measured.

The section about many profiles stands between two markers: each run writes its own part and keeps the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.table import Line, machine, markdown

_TEMPLATE = Path(__file__).with_name("page.md")
_PROFILES = Path(__file__).with_name("profile_page.md")
PAGE = Path(__file__).parent.parent / "docs/reference/benchmarks.md"
BEGIN, END = "<!-- many profiles -->", "<!-- end of many profiles -->"


def page(lines: Sequence[Line], command: str, profiles: str = "") -> str:
    """Return the page about what a command measured; ``profiles`` is the section between the markers."""
    return _TEMPLATE.read_text("utf-8").format(
        command=command,
        day=_today(),
        machine=_machine(),
        table=markdown(lines),
        profiles=f"{BEGIN}\n{profiles}{END}",
    )


def profile_section(lines: Sequence[Line], users: int) -> str:
    """Return the section about a run of ``benchmarks.profiles``."""
    return _PROFILES.read_text("utf-8").format(
        command=f"python -m benchmarks.profiles --users {users} --write",
        day=_today(),
        machine=_machine(),
        table=markdown(lines),
    )


def kept(text: str) -> str:
    """Return the section about many profiles in a page, "" where it has none."""
    _, begun, rest = text.partition(f"{BEGIN}\n")
    section, ended, _ = rest.partition(END)
    return section if begun and ended else ""


def with_profiles(text: str, section: str) -> str:
    """Return a page with another section about many profiles; at its end, where it has none yet."""
    before, begun, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (begun and ended):
        before, after = f"{text}\n", "\n"
    return f"{before}{BEGIN}\n{section}{END}{after}"


def write_profiles(lines: Sequence[Line], users: int, place: Path = PAGE) -> None:
    """Put the section about a run of ``benchmarks.profiles`` in its place."""
    text = place.read_text("utf-8")
    place.write_text(with_profiles(text, profile_section(lines, users)), encoding="utf-8")


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _machine() -> str:
    return "\n".join(f"| {name} | {value} |" for name, value in machine().items())
