"""Which runs of digits does a text hold, how are they grouped, and which words stand beside them?

Cards, accounts and identity numbers all start from the same runs: digits with at most three separators
between groups. A run never crosses a line end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from mnemic.longterm.sensitive.fold import Folded
from mnemic.longterm.sensitive.lazy import lazy

_RUN = lazy(r"\d+(?:[ \-.·_/:]{1,3}\d+)*")
_GROUP = lazy(r"\d+")
_ENDS = lazy(r"[\s\"'“”「」(){}\[\],.;:!?。，；：！？、#*|<>=-]+")
_MAX_GROUPS = 19
_MARGIN = 64
_CROWD = 40
"""More groups than this are a table of figures: only stretches that begin with four digits count."""


@dataclass(frozen=True, slots=True)
class Run:
    """Digits of one candidate, their group sizes and separators, and its range in the folded text."""

    digits: str
    groups: tuple[int, ...]
    separators: tuple[str, ...]
    start: int
    end: int


def runs(folded: Folded, least: int, most: int) -> Iterator[Run]:
    """Yield each stretch of whole groups that has ``least`` to ``most`` digits, longest first.

    A stretch inside a longer run must be cut at blanks, so that ``0.4111…`` is never read as ``4111…``.
    """
    for match in _RUN.finditer(folded.text):
        if match.end() - match.start() < least:
            continue
        spans = [m.span() for m in _GROUP.finditer(folded.text, match.start(), match.end())]
        yield from _stretches(folded.text, spans, least, most)


def _stretches(text: str, spans: list[tuple[int, int]], least: int, most: int) -> Iterator[Run]:
    crowded = len(spans) > _CROWD
    for first, (start, end) in enumerate(spans):
        if crowded and end - start < 4:
            continue
        if first and " " not in text[spans[first - 1][1] : spans[first][0]]:
            continue
        found: list[Run] = []
        total = 0
        for last in range(first, min(len(spans), first + _MAX_GROUPS)):
            total += spans[last][1] - spans[last][0]
            if total > most:
                break
            ends = last + 1 == len(spans) or " " in text[spans[last][1] : spans[last + 1][0]]
            if total >= least and ends:
                found.append(_run(text, spans[first : last + 1]))
        yield from reversed(found)


def _run(text: str, spans: list[tuple[int, int]]) -> Run:
    return Run(
        digits="".join(text[start:end] for start, end in spans),
        groups=tuple(end - start for start, end in spans),
        separators=tuple(text[left[1] : right[0]] for left, right in pairwise(spans)),
        start=spans[0][0],
        end=spans[-1][1],
    )


def before(folded: Folded, start: int, width: int) -> str:
    """Return up to ``width`` lower-case characters before ``start``."""
    return folded.lower[max(0, start - width) : start]


def after(folded: Folded, end: int, width: int) -> str:
    """Return up to ``width`` lower-case characters from ``end`` on."""
    return folded.lower[end : end + width]


def stands_alone(folded: Folded, start: int, end: int) -> bool:
    """Tell whether the whole text is this number, punctuation aside: nothing says it is harmless."""
    if start > _MARGIN or len(folded.text) - end > _MARGIN:
        return False
    return not _ENDS.sub("", folded.text[:start]) and not _ENDS.sub("", folded.text[end:])


def is_embedded(folded: Folded, start: int, end: int) -> bool:
    """Tell whether the number is a piece of a longer code, such as ``HT-2024-…`` or a UUID."""
    left, right = folded.text[max(0, start - 2) : start], folded.text[end : end + 2]
    return bool(
        re.search(r"[A-Za-z0-9][-_./]?$|[-_./+%&=]$", left) and not re.search(r"[:]$|\s$", left)
    ) or bool(re.match(r"[-_./]?[A-Za-z0-9]", right))
