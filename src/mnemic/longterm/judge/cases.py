"""What must a rule know about one pair of statements?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mnemic.longterm.judge.comparing import Difference, compare
from mnemic.longterm.judge.lexicon import lexicon
from mnemic.longterm.judge.reading import Reading, Token, read

__all__ = ["Case", "case_of"]

_GENERIC = frozenset(
    {"like", "have", "choose", "set", "called", "date", "start", "eat", "drink", "take_in", "make"}
    | {"need", "know", "want", "buy", "daily", "weekly", "monthly", "yearly", "play", "visit", "see"}
)


@dataclass(frozen=True, slots=True)
class Case:
    """A pair of readings, their difference and the encoder's similarity (0 to 1, None if unknown)."""

    first: Reading
    second: Reading
    diff: Difference
    similarity: float | None

    @property
    def left(self) -> bool:
        """Whether each text has words that the other lacks."""
        return bool(self.diff.left_first and self.diff.left_second)

    @property
    def changed(self) -> bool:
        """Whether the second text speaks of a change."""
        return bool(self.second.flags & {"change", "end"})

    @property
    def anchors(self) -> frozenset[str]:
        """Shared concepts that say what both texts are about."""
        return frozenset(t.key for t in self.diff.shared if t.key not in _GENERIC)

    @property
    def other_head(self) -> bool:
        """Whether the two texts describe different things: words before the verb differ on both sides."""
        return bool(heads(self.diff.left_first) and heads(self.diff.left_second))

    @property
    def same_kind(self) -> bool:
        """Whether some word of the first could stand where one of the second does."""
        return bool(sections(self.diff.left_first) & sections(self.diff.left_second))

    def verbs(self, tag: str) -> frozenset[str]:
        """Return the shared verbs whose section carries a tag (one, many)."""
        lists = lexicon()
        return frozenset(t.key for t in self.diff.shared if lists.tagged(t.key, tag))


def heads(tokens: Iterable[Token]) -> tuple[Token, ...]:
    """Return the tokens before the verb."""
    return tuple(t for t in tokens if not t.tail)


def sections(tokens: Iterable[Token]) -> frozenset[str]:
    """Return the value sections (fruit, city, editor ...) of some tokens."""
    return frozenset(
        t.section for t in tokens if t.section not in ("", "noun", "category", "axis", "additive", "exclusive", "linking")
    )


def case_of(first: str, second: str, similarity: float | None) -> Case:
    """Read and compare two texts."""
    one, two = read(first), read(second)
    return Case(one, two, compare(one, two), similarity)
