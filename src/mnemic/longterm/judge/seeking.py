"""Is a pattern worth running over a text at all?

A dozen patterns look for dates, and most texts hold none. Each match of a pattern holds at least one of its
needles: where none of them is in the text, the pattern cannot match and is not tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mnemic.text import holds_any

__all__ = ["Sought", "plain"]


@dataclass(frozen=True, slots=True)
class Sought:
    """A pattern with its needles; those of a pattern that ignores case are looked for in ``plain`` text."""

    needles: tuple[str, ...]
    pattern: re.Pattern[str]

    def may_be_in(self, text: str) -> bool:
        """Whether the text holds a needle."""
        return holds_any(self.needles, text)

    def is_in(self, text: str) -> bool:
        """Whether the pattern matches somewhere in a text."""
        return self.may_be_in(text) and self.pattern.search(text) is not None

    def all_in(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in a text."""
        return self.pattern.finditer(text) if self.may_be_in(text) else iter(())


def plain(text: str) -> str:
    """Return folded text in lower case, with one i where patterns that ignore case know three."""
    low = text.lower()
    return low if low.isascii() else low.replace("i̇", "i").replace("ı", "i")
