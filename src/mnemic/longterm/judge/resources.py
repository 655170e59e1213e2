"""What do the word lists beside this module say, line by line?"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["lines", "word_set"]


def lines(name: str) -> list[str]:
    """Return the stripped lines of ``words/<name>`` without blank ones and ``#`` comments."""
    text = (files("mnemic.longterm.judge") / "words" / name).read_text(encoding="utf-8")
    stripped = (line.strip() for line in text.splitlines())
    return [line for line in stripped if line and not line.startswith("#")]


@cache
def _sets() -> dict[str, frozenset[str]]:
    pairs = (line.split(":", 1) for line in lines("sets.txt"))
    return {name.strip(): frozenset(words.split()) for name, words in pairs}


@cache
def word_set(name: str) -> frozenset[str]:
    """Return one small closed set of words; raises KeyError for a name that is not listed."""
    return _sets()[name]
