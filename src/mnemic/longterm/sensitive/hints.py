"""Does a text hold one of the words without which a costly pattern cannot match?

Text in ASCII is asked for each word in turn, which is the fastest there; of any other, one pattern passes
over what begins no word. Words that are not ASCII are not looked for where they cannot be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mnemic.longterm.sensitive.lazy import lazy
from mnemic.text import holds_any

__all__ = ["Hints"]


class Hints:
    """Words of which a text must hold one, case and all, before anything else is tried on it."""

    def __init__(self, words: Iterable[str]) -> None:
        every = tuple(words)
        self._plain = tuple(word for word in every if word.isascii())
        self._any = lazy("|".join(map(re.escape, every)))

    def in_text(self, text: str) -> bool:
        """Tell whether the text holds one of the words."""
        if text.isascii():
            return holds_any(self._plain, text)
        return self._any.search(text) is not None
