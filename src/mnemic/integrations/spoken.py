"""Did the user say so? What an agent wants to be remembered counts for more when it quotes its user. Pure.

A quote that stands in what the user said makes an explicit memory (0.9, by the user). Without one it is the
agent's own idea (0.75): kept, and its user is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mnemic.model import Source
from mnemic.text import exact_form, normalise

QUOTED, UNQUOTED = 0.9, 0.75
LEAST = 2
"""Characters, letters and digits only, that a quote has at least."""
_NOISE = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Trust:
    """How sure a memory is that an agent adds, and whose word it is."""

    confidence: float
    source: Source


def trust(content: str, quote: str | None, said: Iterable[str] | None) -> Trust:
    """Return the trust in what an agent adds.

    ``said`` are the user's turns, None where nobody has written down what was said: then a quote is taken
    at its word and the agent stays its source. A content that is the user's own words quotes itself.
    """
    if said is None:
        return Trust(QUOTED, "ai") if quote and _letters(quote) else Trust(UNQUOTED, "ai")
    turns = list(said)
    for words in (quote, content):
        if words is not None and was_said(words, turns):
            return Trust(QUOTED, "user")
    return Trust(UNQUOTED, "ai")


def was_said(quote: str, said: Iterable[str]) -> bool:
    """Tell whether a quote stands in one of the texts; width, case, spaces and punctuation do not count."""
    words = _letters(quote)
    return len(words) >= LEAST and any(words in _letters(text) for text in said)


def _letters(text: str) -> str:
    return _NOISE.sub("", exact_form(normalise(text).text).casefold())
