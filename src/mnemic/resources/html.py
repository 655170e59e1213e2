"""What does a reader see of an HTML page: which headings, which paragraphs?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html.parser import HTMLParser

from mnemic.resources.chunking import Block
from mnemic.resources.formats import LINE

_UNSEEN = frozenset(("script", "style", "template", "noscript", "svg", "math", "iframe", "object"))
_BLOCK_NAMES = (
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption"
    " figure footer form header hr html legend li main nav ol option p pre section select summary table"
    " tbody tfoot thead title tr ul"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_CELLS = frozenset(("td", "th"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_STUCK = 1_000_000
"""Characters of one unfinished construct after which the page counts as broken there."""


def html_blocks(chars: Iterable[str]) -> Iterator[Block]:
    """Yield the headings and paragraphs of a page; scripts, styles and comments are left out."""
    reader = _Reader()
    for part in chars:
        reader.feed(part)
        if len(reader.rawdata) > _STUCK:
            reader.close()  # what was waited for does not come: it is taken as it stands
        yield from reader.taken()
    reader.close()
    reader.finish()
    yield from reader.taken()


class _Reader(HTMLParser):
    """Collects blocks while the page is fed to it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._blocks: list[Block] = []
        self._text: list[str] = []
        self._length = 0
        self._level = 0
        self._unseen: str | None = None
        self._depth = 0
        self._preformatted = 0

    def taken(self) -> list[Block]:
        blocks, self._blocks = self._blocks, []
        return blocks

    def finish(self) -> None:
        """Close the block at hand."""
        text = "".join(self._text)
        lines = (" ".join(line.split()) for line in text.split("\n"))
        text = text if self._preformatted else "\n".join(line for line in lines if line)
        if text.strip():
            self._blocks.append(Block(text, self._level))
        self._text, self._length = [], 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._unseen is not None:
            self._depth += tag == self._unseen
        elif tag in _UNSEEN:
            self._unseen, self._depth = tag, 1
        elif tag in _HEADINGS:
            self.finish()
            self._level = _HEADINGS[tag]
        elif tag in _BLOCKS:
            self.finish()
            self._level = 0
            self._preformatted += tag == "pre"
        elif tag == "br":
            self._say("\n")
        elif tag in _CELLS and self._text:
            self._say(" | ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _UNSEEN:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._unseen is not None:
            self._depth -= tag == self._unseen
            if self._depth <= 0:
                self._unseen = None
        elif tag in _HEADINGS or tag in _BLOCKS:
            self.finish()
            self._level = 0
            self._preformatted = max(0, self._preformatted - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        if self._unseen is None:
            # a line end in the source is a space, except where the page is set as it is written
            self._say(data if self._preformatted else " ".join(data.split("\n")))

    def _say(self, text: str) -> None:
        self._text.append(text)
        self._length += len(text)
        if self._length > LINE and not self._level:
            self.finish()
