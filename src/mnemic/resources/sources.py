"""Which bytes is a document, and are they text?

A document is read twice: once to know what it is (size, hash, encoding), once to be cut into pieces. A file
is never held as a whole; a stream cannot be read twice, so it is, compressed, up to 50 MB. Nothing is
written to a temporary file.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import stat
import zlib
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from mnemic.errors import Conflict, InvalidInput

MAX_BYTES = 50 * 1024 * 1024
_BLOCK = 65_536
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\f\r\x1b"))
_MOST_CONTROLS = 0.005
_HIGH = bytes(range(0x80, 0x100))
_COMMON_HAN = re.compile(rb"[\xa1-\xf7][\xa1-\xfe]")
_MOSTLY = 0.9
_PDF = b"%PDF-"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

Opener = Callable[[], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of a document; ``open`` yields them from the start, ``name`` may tell their format."""

    open: Opener
    size: int
    digest: str
    name: str | None = None

    def text(self, seen: Callable[[int], None] = lambda _: None) -> Iterator[str]:
        """Yield the characters; ``seen`` is told how many bytes were read.

        Raises InvalidInput (``document_not_text``) for bytes that are no text, Conflict
        (``document_changed``) when they are not those that were hashed.
        """
        decoder = codecs.getincrementaldecoder(encoding_of(self.open))("strict")
        hashed, done = hashlib.sha256(), 0
        for block in self.open():
            hashed.update(block)
            done += len(block)
            yield decoder.decode(block)
            seen(done)
        yield decoder.decode(b"", final=True)
        if hashed.hexdigest() != self.digest:
            raise Conflict("document_changed", "The file changed while it was read: add it again.")

    def file(self) -> BinaryIO:
        """Return the bytes as a file in memory, for readers that jump about."""
        return BytesIO(b"".join(self.open()))


def of_path(path: Path) -> Source:
    """Return a file as a source. Raises InvalidInput (``file_not_found``, ``file_unreadable``, and as
    ``survey``).
    """

    def opened() -> Iterator[bytes]:
        with _reading(path) as file:
            while block := file.read(_BLOCK):
                yield block

    return survey(opened, path.name)


def require_file(path: Path) -> None:
    """Raise InvalidInput (``file_not_found``, ``file_unreadable``) for what is no regular file."""
    with _reading(path):
        pass


@contextmanager
def _reading(path: Path) -> Iterator[BinaryIO]:
    try:
        with open(path, "rb", opener=_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InvalidInput("file_unreadable", f"{path} is no regular file.")
            yield file
    except FileNotFoundError:
        raise InvalidInput("file_not_found", f"There is no file {path}.") from None
    except OSError as error:
        raise InvalidInput(
            "file_unreadable", f"{path} cannot be read: {error.strerror}."
        ) from error


def _at_once(path: str, flags: int) -> int:
    """Open without waiting, as one would for a pipe or a device."""
    return os.open(path, flags | os.O_NONBLOCK)


def of_bytes(data: bytes, name: str | None = None) -> Source:
    """Return bytes at hand as a source."""
    return survey(lambda: (data[at : at + _BLOCK] for at in range(0, len(data), _BLOCK)), name)


async def of_stream(stream: AsyncIterable[bytes], name: str | None = None) -> Source:
    """Return a stream as a source; it is kept in memory, compressed."""
    packer, packed, size = zlib.compressobj(1), list[bytes](), 0
    async for block in stream:
        if not isinstance(block, bytes):
            raise InvalidInput("document_not_bytes", "A stream of a document must yield bytes.")
        size += len(block)
        if size > MAX_BYTES:
            raise _too_large()
        packed.append(packer.compress(block))
    packed.append(packer.flush())
    return survey(lambda: _unpacked(packed), name)


def _unpacked(packed: Iterable[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj()
    for part in packed:
        while part:
            if block := unpacker.decompress(part, _BLOCK):
                yield block
            part = unpacker.unconsumed_tail
    if rest := unpacker.flush():
        yield rest


def survey(opener: Opener, name: str | None = None) -> Source:
    """Return the source of these bytes. Raises InvalidInput (``document_empty``, ``document_too_large``)."""
    hashed, size = hashlib.sha256(), 0
    for block in opener():
        hashed.update(block)
        size += len(block)
        if size > MAX_BYTES:
            raise _too_large()
    if not size:
        raise empty()
    return Source(opener, size, hashed.hexdigest(), name)


def encoding_of(opener: Opener) -> str:
    """Return the encoding of text: UTF-8, UTF-16 with its mark, or GB 18030.

    Raises InvalidInput (``document_not_text``) for anything else, such as a picture or a PDF.
    """
    first = next(opener(), b"")
    if first.startswith(_PDF):
        raise InvalidInput(
            "document_not_text", "This is a PDF: name it .pdf, or say that its format is pdf."
        )
    for mark, name in _MARKS:
        if first.startswith(mark):
            if _decodes(opener, name):
                return name
            raise _not_text()
    size = controls = high = han = 0
    for block in opener():
        size += len(block)
        controls += len(block) - len(block.translate(None, _CONTROLS))
        if b"\0" in block:
            raise _not_text()
        high += len(block) - len(block.translate(None, _HIGH))
        han += 2 * len(_COMMON_HAN.findall(block))
    if controls > size * _MOST_CONTROLS:
        raise _not_text()
    if _decodes(opener, "utf-8"):
        return "utf-8"
    if han >= high * _MOSTLY and _decodes(opener, "gb18030"):
        return "gb18030"
    raise _not_text()


def _decodes(opener: Opener, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    try:
        for block in opener():
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def empty() -> InvalidInput:
    """Return the refusal of a document without words."""
    return InvalidInput("document_empty", "There is no text in this document.")


def _not_text() -> InvalidInput:
    return InvalidInput(
        "document_not_text", "This is no text: save it as UTF-8, or name its real format."
    )


def _too_large() -> InvalidInput:
    return InvalidInput(
        "document_too_large", f"A document holds at most {MAX_BYTES // 1024**2} MB: split it."
    )
