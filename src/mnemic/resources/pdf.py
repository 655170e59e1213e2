"""What does a PDF say, page by page? Read with pypdf, an extra: pip install '.[pdf]' in the clone."""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from mnemic.errors import ConfigurationError, InvalidInput
from mnemic.resources.chunking import Block
from mnemic.resources.formats import text_blocks

MOST_CHARS = 50_000_000
_DAMAGED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    zlib.error,
)
"""What pypdf raises, beside errors of its own, when it meets what it does not expect."""


def require_reader() -> None:
    """Raise ConfigurationError (``pdf_not_installed``) where PDF cannot be read."""
    if importlib.util.find_spec("pypdf") is None:
        raise ConfigurationError(
            "pdf_not_installed", "PDF needs an extra: run pip install '.[pdf]' in the clone."
        )


def pdf_blocks(file: BinaryIO) -> Iterator[Block]:
    """Yield the paragraphs of a PDF; pages that are only pictures say nothing.

    Raises InvalidInput: ``document_unreadable`` for a damaged or locked file, ``document_too_large`` when
    its text unfolds beyond 50,000,000 characters.
    """
    import logging

    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of every flaw that it mends
    chars = 0
    try:
        for page in PdfReader(file).pages:
            text = page.extract_text()
            chars += len(text)
            if chars > MOST_CHARS:
                raise InvalidInput("document_too_large", "The text of this PDF is too large.")
            yield from text_blocks([text])
    except InvalidInput:
        raise
    except (PyPdfError, *_DAMAGED) as error:
        raise InvalidInput(
            "document_unreadable", "This PDF is damaged or locked: save it anew without a password."
        ) from error
