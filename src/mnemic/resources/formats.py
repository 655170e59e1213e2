"""Which reader takes which document, and what are its paragraphs and headings?

Readers turn characters, as they come, into blocks. HTML has a module of its own, PDF too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Literal, get_args
from urllib.parse import urlsplit

from mnemic.checks import one_of
from mnemic.errors import InvalidInput
from mnemic.resources.chunking import Block

Format = Literal["text", "markdown", "html", "pdf"]
FORMATS: tuple[Format, ...] = get_args(Format)
_SUFFIXES: dict[str, Format] = {
    "txt": "text",
    "text": "text",
    "log": "text",
    "rst": "text",
    "org": "text",
    "md": "markdown",
    "markdown": "markdown",
    "mdown": "markdown",
    "mkd": "markdown",
    "html": "html",
    "htm": "html",
    "xhtml": "html",
    "pdf": "pdf",
}
LINE = 16_384
"""Characters of a line or paragraph after which it is handed on in parts."""
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(?:(=+)|-{2,})[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def format_of(given: str | None, *names: str | None) -> Format:
    """Return the format that was given, else the one that the first name with a suffix tells.

    Raises InvalidInput: ``unknown_format``, or ``document_format_unknown`` when nothing tells it.
    """
    if given is not None:
        return one_of(given, FORMATS, "format")
    for name in names:
        suffix = PurePosixPath(urlsplit(name).path if name and "://" in name else name or "").suffix
        if suffix.lower().lstrip(".") in _SUFFIXES:
            return _SUFFIXES[suffix.lower().lstrip(".")]
    raise InvalidInput(
        "document_format_unknown",
        "Say which format the document has: text, markdown, html or pdf; its name does not tell.",
    )


def text_blocks(chars: Iterable[str]) -> Iterator[Block]:
    """Yield the paragraphs of plain text: what stands between blank lines."""
    yield from _paragraphs(_lines(chars))


def markdown_blocks(chars: Iterable[str]) -> Iterator[Block]:
    """Yield headings (both kinds) and paragraphs of Markdown; a fenced block's ``#`` is no heading."""
    waiting: list[str] = []
    length = 0
    fence: str | None = None
    for line in _lines(chars):
        was, fence = fence, _fence_after(fence, line)
        heading = None if was or fence else _heading(line, waiting[-1] if waiting else "")
        ends = heading is not None or not (was or fence or line.strip())
        if ends or length > LINE:
            underlined = heading is not None and not line.lstrip().startswith("#")
            yield from _paragraphs(waiting[:-1] if underlined else waiting)
            waiting, length = [], 0
        if heading is not None:
            yield heading
        elif not ends:
            waiting.append(line)
            length += len(line) + 1
    yield from _paragraphs(waiting)


def _heading(line: str, before: str) -> Block | None:
    """Return the heading that a line is, or makes of the line before it."""
    marked, underline = _ATX.match(line), _SETEXT.match(line)
    if marked:
        return Block(marked[2] or "", len(marked[1]))
    if underline and before.strip():
        return Block(before, 1 if underline[1] else 2)
    return None


def _fence_after(fence: str | None, line: str) -> str | None:
    """Return the fence that is open after a line: one closes with its own kind, at least as long."""
    found = _FENCE.match(line)
    if fence is None or found is None:
        return found[1] if found else fence
    mark = found[1]
    closes = mark[0] == fence[0] and len(mark) >= len(fence) and line.strip() == mark
    return None if closes else fence


def _paragraphs(lines: Iterable[str]) -> Iterator[Block]:
    current: list[str] = []
    length = 0
    for line in lines:
        if line.strip():
            current.append(line)
            length += len(line)
        if current and (not line.strip() or length > LINE):
            yield Block("\n".join(current))
            current, length = [], 0
    if current:
        yield Block("\n".join(current))


def _lines(chars: Iterable[str]) -> Iterator[str]:
    """Yield lines without their ends; a line that goes on for long comes in parts."""
    rest = ""
    for part in chars:
        *whole, rest = (rest + part).split("\n")
        for line in whole:
            yield line.rstrip("\r")
        while len(rest) > LINE:
            end = rest.rfind(" ", LINE // 2, LINE) + 1 or LINE
            yield rest[:end]
            rest = rest[end:]
    if rest:
        yield rest.rstrip("\r")
