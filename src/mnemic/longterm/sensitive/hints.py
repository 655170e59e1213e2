"""Does a text hold one of the words without which a costly pattern cannot match?

Text in ASCII is asked for a few words in turn, which is the fastest there; of any other text, and where there
are many words, one pattern passes over what begins no word. Words that are not ASCII are not looked for where
they cannot be. Hints are derived from others, and from patterns, never copied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from itertools import groupby

from mnemic.text import holds_any

__all__ = ["Hints", "openings"]

_MANY = 40
_CROWD = 200
"""From so many words on one pattern is faster than a look for each; from so many on, pairs are faster."""
_ATOM = re.compile(
    r"(?:\[(?P<digits>\\d)?(?P<set>[^\]^\\-]*)\]|(?P<digit>\\d)|\\(?P<sign>[^\w])|"
    r"(?P<letter>[^\\.^$*+?{}\[\]|()]))(?P<optional>\??)(?![*{])"
)
_DIGITS = "0123456789"


class Hints:
    """Words of which a text must hold one, case and all, before anything else is tried on it.

    ``wide`` are words in ASCII that mean something only beside others that are not. Patterns are made at the
    first look; the words are there from the start, so that threads that look first find all of them.
    """

    def __init__(self, words: Iterable[str], wide: Iterable[str] = ()) -> None:
        self._words = tuple(dict.fromkeys(words))
        self._wide = tuple(dict.fromkeys(wide))

    @cached_property
    def _plain(self) -> tuple[str, ...]:
        return tuple(word for word in self._words if word.isascii())

    @cached_property
    def _in_plain(self) -> Callable[[str], object]:
        if len(self._plain) <= _MANY:
            return partial(holds_any, self._plain)
        return re.compile(_tree(self._plain)).search

    @cached_property
    def _in_other(self) -> Callable[[str], object]:
        every = (*self._words, *self._wide)
        crowded = len(self._words) - len(self._plain) > _CROWD
        return _Crowd(every).search if crowded else re.compile(_tree(every)).search

    def in_text(self, text: str) -> bool:
        """Tell whether the text holds one of the words."""
        return bool(self._in_plain(text) if text.isascii() else self._in_other(text))

    def __or__(self, other: Hints) -> Hints:
        """Return hints that are in a text where those of one of two are."""
        return Hints((*self._words, *other._words), (*self._wide, *other._wide))


class _Crowd:
    """Very many words, by the two characters that each begins with: one pattern would try too many."""

    def __init__(self, words: Iterable[str]) -> None:
        long = sorted(word for word in words if len(word) > 1)
        first, second = (_one_of(word[at] for word in long) for at in (0, 1))
        self._single = re.compile(_one_of(word for word in words if len(word) == 1))
        self._pair = re.compile(f"({first})(?=({second}))")
        grouped = groupby(long, key=lambda word: (word[0], word[1]))
        self._beginning = {pair: tuple(those) for pair, those in grouped}

    def search(self, text: str) -> re.Match[str] | None:
        """Return where one of the words begins."""
        found = self._single.search(text)
        if found is not None or self._beginning.keys().isdisjoint(self._pair.findall(text)):
            return found
        for match in self._pair.finditer(text):
            words = self._beginning.get((match[1], match[2]))
            if words is not None and text.startswith(words, match.start()):
                return match
        return None


def _one_of(letters: Iterable[str]) -> str:
    every = "".join(sorted(set(map(re.escape, letters))))
    return f"[{every}]" if every else r"(?!)"


def openings(source: str) -> tuple[str, ...]:
    """Return what the matches of a pattern in folded text begin with.

    Its alternatives are letters, digits and sets of them, optional or not; each is read up to its first piece
    of another kind, and none may begin with such a piece.
    """
    found: list[str] = []
    for alternative in source.split("|"):
        starts, position = [""], 0
        while atom := _ATOM.match(alternative, position):
            letters = _DIGITS if atom["digits"] or atom["digit"] else ""
            letters += (atom["set"] or "") + (atom["sign"] or "") + (atom["letter"] or "")
            kept = starts if atom["optional"] else []
            starts = [*kept, *(start + letter for start in starts for letter in letters)]
            position = atom.end()
        if "" in starts:
            raise ValueError(f"nothing begins {alternative}")
        found += starts
    return tuple(found)


def _tree(words: Iterable[str]) -> str:
    """Return a pattern of the words in which none is tried whose beginning is not there."""
    ordered = sorted(set(words))
    if "" in ordered:
        return ""
    branches = (
        re.escape(first) + _tree(word[1:] for word in those)
        for first, those in groupby(ordered, key=lambda word: word[0])
    )
    return f"(?:{'|'.join(branches)})"
