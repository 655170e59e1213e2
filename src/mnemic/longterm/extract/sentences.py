"""Where do the sentences and clauses of a turn begin and end?

Offsets are positions in the turn's text, so that a content can be cut out word for word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

HAN = "\u3400-\u4dbf\u4e00-\u9fff"
LONGEST_CLAUSE = 600

_ABBREVIATIONS = frozenset(
    [
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "st",
        "vs",
        "etc",
        "eg",
        "ie",
        "e.g",
        "i.e",
        "a.m",
        "p.m",
        "approx",
        "no",
        "vol",
        "inc",
        "ltd",
        "jr",
        "sr",
        "dept",
        "est",
        "fig",
    ]
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A stretch without a comma: ``start`` and ``end`` are offsets in the turn."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """Clauses up to a full stop; ``asks`` when it ends with a question mark."""

    clauses: tuple[Clause, ...]
    asks: bool

    @property
    def start(self) -> int:
        return self.clauses[0].start

    @property
    def end(self) -> int:
        return self.clauses[-1].end


@cache
def _sentence_end() -> re.Pattern[str]:
    closing = "[\"'”’」』)）】]*"
    return re.compile(
        rf"[。！？!?；;…～\n]+{closing}|\.{{1,6}}{closing}(?=\s|$)|(?<=[{HAN}])\.(?=[{HAN}])"
    )


@cache
def _clause_end() -> re.Pattern[str]:
    subject = (
        r"I|I'm|I've|I'd|my|you|we|we're|we've|our|he|she|they|he's|she's|please|can|could|would|what|how|"
        r"which|is|are|do|does|any|the|don't|never|always|let's|call|everyone|people|friends|everybody|most"
    )
    verb = (
        r"(?:(?:also|now|currently|still|usually|really)\s+)?(?:lives?|works?|loves?|hates?|prefers?|studies|study|"
        r"teach(?:es)?|speaks?|collects?|plays?|drives?|owns?|runs?|can't|cannot|don't|doesn't|never)"
    )
    return re.compile(
        r"[,，](?!\d)|[:：](?!\d)(?!//)|[—–]+|\s-+\s|\s*[()（）]\s*"
        rf"|\s(?=(?:and|but|so|because|though|although|plus)\s+(?:{subject})(?=[\s'])(?!\s*$))"
        r"(?!and I (?:are|were)\b)"
        rf"|\s(?=(?:and|but)\s+{verb}\s+\S)"
        rf"|(?<=[{HAN}])\s+(?=[{HAN}])|(?<=[{HAN}])(?=(?:但是|不过|所以|而且|因此)[{HAN}])",
        re.IGNORECASE,
    )


def _clauses(text: str, start: int, end: int) -> tuple[Clause, ...]:
    found: list[Clause] = []
    at = start
    for mark in _clause_end().finditer(text, start, end):
        found.append(Clause(at, mark.start()))
        at = mark.end()
    found.append(Clause(at, end))
    trimmed = (_trim(text, clause) for clause in found)
    return tuple(clause for clause in trimmed if clause.end > clause.start)


def _trim(text: str, clause: Clause) -> Clause:
    piece = text[clause.start : clause.end]
    start = clause.start + len(piece) - len(piece.lstrip())
    return Clause(start, max(start, clause.start + len(piece.rstrip())))


def _is_abbreviation(text: str, stop: int) -> bool:
    word = re.search(r"(\d *)?\b([A-Za-z.]+)$", text[max(0, stop - 8) : stop])
    if word is None or not text[stop + 1 :].lstrip(" "):
        return False
    return word[1] is None and word[2].casefold() in _ABBREVIATIONS


def split(text: str) -> tuple[Sentence, ...]:
    """Cut a text into sentences and those into clauses; blank ones are left out. Linear time."""
    found: list[Sentence] = []
    at = 0
    ends = [(m.start(), m.end(), m[0]) for m in _sentence_end().finditer(text)]
    for stop, after, mark in [*ends, (len(text), len(text), "")]:
        if mark.startswith(".") and _is_abbreviation(text, stop):
            continue
        clauses = _clauses(text, at, stop)
        if clauses:
            found.append(Sentence(clauses, "?" in mark or "？" in mark))
        at = after
    return tuple(found)


def has_han(text: str) -> bool:
    """Tell whether a text holds a Chinese character."""
    return re.search(f"[{HAN}]", text) is not None
