"""Into which pieces is a document cut?

Pure functions over iterators: whatever the size of the document, only a few pieces are held at once. A piece
is about 800 characters, ends where a paragraph or sentence ends, never crosses a heading, and carries the
headings above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mnemic.text import normalise

VERSION = 1
"""Counts changes of the rules: an interrupted document goes on only under the rules that it began with."""
SIZE = 800
_LONGEST = 1.3
_SMALL = 0.25
_HEADING = 120
_PATH = 300
# Where a text may be cut, best first.
_ENDS = (
    re.compile(r"\n"),
    re.compile(r"[.!?](?=\s)|[。！？；…]"),
    re.compile(r"[,;:，、：](?!\d)|\s"),
)


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, or a heading of ``level`` 1 to 6."""

    text: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a document under its headings, outermost first."""

    body: str
    headings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What is stored and searched: the path of headings on a line of its own, then the body."""
        path = " > ".join(self.headings)
        if len(path) > _PATH:
            path = "… " + path[-_PATH:]
        return f"{path}\n{self.body}" if path else self.body


def pieces(blocks: Iterable[Block], size: int = SIZE) -> Iterator[Piece]:
    """Yield the pieces of a document in order, each of ``size`` characters at most, give or take a third.

    A heading with nothing below it is a piece too, so that no word is lost.
    """
    cutter = _Cutter(size)
    for block in blocks:
        text = normalise(block.text).text
        if not text:
            continue
        yield from cutter.heading(text, block.level) if block.level else cutter.paragraph(text)
    yield from cutter.end()


class _Cutter:
    """Gathers paragraphs under one path of headings."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._path: list[tuple[int, str]] = []
        self._parts: list[str] = []
        self._length = 0
        self._whole: str | None = None
        self._bare = False

    def heading(self, text: str, level: int) -> Iterator[Piece]:
        yield from self._flush()
        if self._bare and self._path[-1][0] >= level:
            yield self._alone()
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._path.append((level, " ".join(text.split())[:_HEADING]))
        self._bare = True

    def paragraph(self, text: str) -> Iterator[Piece]:
        self._bare = False
        for part in split(text, self._size):
            if self._parts and self._length + len(part) > self._size:
                yield from self._fill()
            self._parts.append(part)
            self._length += len(part)

    def end(self) -> Iterator[Piece]:
        yield from self._flush()
        if self._bare:
            yield self._alone()

    def _fill(self) -> Iterator[Piece]:
        """Close the piece at hand; it waits for one more, in case that is too small to stand alone."""
        if self._whole is not None:
            yield Piece(self._whole, self._headings())
        self._whole = "\n\n".join(self._parts)
        self._parts, self._length = [], 0

    def _flush(self) -> Iterator[Piece]:
        if self._whole is not None and 0 < self._length < self._size * _SMALL:
            self._parts.insert(0, self._whole)
            self._whole = None
        if self._parts:
            yield from self._fill()
        if self._whole is not None:
            yield Piece(self._whole, self._headings())
            self._whole = None

    def _alone(self) -> Piece:
        *above, own = self._headings()
        self._bare = False
        return Piece(own, tuple(above))

    def _headings(self) -> tuple[str, ...]:
        return tuple(text for _, text in self._path)


def split(text: str, size: int = SIZE) -> Iterator[str]:
    """Yield a text in parts of ``size`` characters at most; one that is a third longer stays whole."""
    start = 0
    while len(text) - start > size * _LONGEST:
        end = _cut(text, start, size)
        if part := text[start:end].strip():
            yield part
        start = end
    if part := text[start:].strip():
        yield part


def _cut(text: str, start: int, size: int) -> int:
    """Return where a part that begins at ``start`` ends: after the last good end in its second half."""
    for pattern in _ENDS:
        found = [match.end() for match in pattern.finditer(text, start + size // 2, start + size)]
        if found:
            return found[-1]
    return start + size
