"""What stands in a Markdown page: headings, links and fenced blocks?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```\s*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[(?:[^\]]*)\]\((?P<to>[^)\s]+)\)")
_HEADING = re.compile(r"^(?P<level>#{1,6}) (?P<title>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; ``marks`` are the words after its language."""

    page: str
    line: int
    language: str
    marks: tuple[str, ...]
    text: str

    @property
    def first_line(self) -> str:
        return self.text.split("\n", 1)[0]


def pages() -> list[Path]:
    """Every page of the documentation."""
    tops = sorted(ROOT.glob("*.md"))
    return tops + sorted((ROOT / "docs").rglob("*.md"))


def name(page: Path) -> str:
    """Return how tests call a page."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        language, *marks = found["info"].split() or [""]
        line = text.count("\n", 0, found.start()) + 1
        yield Block(name(page), line, language, tuple(marks), found["text"])


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """Return the targets of a page's links, in order."""
    return [found["to"] for found in _LINK.finditer(prose(page))]


def headings(page: Path) -> list[tuple[int, str]]:
    """Return level and title of the headings, in order."""
    return [(len(h["level"]), h["title"].strip()) for h in _HEADING.finditer(prose(page))]


def anchors(page: Path) -> set[str]:
    """Return the fragments that GitHub gives the headings of a page."""
    return {
        re.sub(r"[^\w\- ]", "", title.replace("`", "").lower()).replace(" ", "-")
        for _, title in headings(page)
    }
