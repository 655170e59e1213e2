"""Is a pattern worth running over a text at all?

A dozen patterns look for dates, and most texts hold none. Each match of a pattern holds at least one of its
needles: where none of them is in the text, the pattern cannot match and is not tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from mnemic.text import holds_any

__all__ = ["Sought", "any_of", "plain"]


@dataclass(frozen=True, slots=True)
class Sought:
    """A pattern with its needles; those of a pattern that ignores case are looked for in ``plain`` text."""

    needles: tuple[str, ...]
    pattern: re.Pattern[str]

    def is_in(self, text: str) -> bool:
        """Whether the pattern matches somewhere in a text."""
        for needle in self.needles:
            if needle in text:
                return self.pattern.search(text) is not None
        return False

    def all_in(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in a text."""
        return self.pattern.finditer(text) if holds_any(self.needles, text) else iter(())


def plain(text: str) -> str:
    """Return folded text in lower case, with one i where patterns that ignore case know three."""
    low = text.lower()
    return low if low.isascii() else low.replace("i̇", "i").replace("ı", "i")


def any_of(words: Iterable[str]) -> str:
    """Return a pattern that finds where one of the words starts; it tells no more than that there is one.

    Words that begin alike are told apart from there on: many words cost little more than a few.
    """
    beginnings = groupby(sorted(words), key=lambda word: word[:1])
    return "|".join(first and re.escape(first) + _rests(group) for first, group in beginnings)


def _rests(words: Iterable[str]) -> str:
    rests = [word[1:] for word in words]
    return re.escape(rests[0]) if len(rests) == 1 else f"(?:{any_of(rests)})"
