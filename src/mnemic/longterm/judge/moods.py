"""Is a statement a plan, a change, an end, something past - and where does its verb stand?"""

from __future__ import annotations

import re
from itertools import pairwise

from mnemic.longterm.judge.lexicon import Entry, stem
from mnemic.longterm.judge.marks import Mark
from mnemic.longterm.judge.resources import word_set
from mnemic.longterm.judge.seeking import Sought
from mnemic.longterm.judge.words import Word

__all__ = ["flags_of", "verb_at"]

_MOODS = frozenset({"change", "end", "plan"})
_TIMES = frozenset({"past", "now"})
_SPEAKERS = frozenset({"i", "we", "user", "the user"})
_NO_VERB = 1_000_000
_SIMPLE = r"(?<!have )(?<!has )(?<!'ve )\b"
_TENSES = {
    "finished": Sought(
        ("完", "finished"), re.compile(r"[^\W\d_a-z]完(?![全成整美善工毕])|\bfinished \w+ing\b")
    ),
    "end": Sought(
        ("got ", "took ", "had ", "了"),
        re.compile(
            r"\b(?:got|took|had) (?:my|the|our) [\w -]{2,20} (?:off|out|removed)(?=[.,;!]|$)|"
            r"不(?!了|得|错|过|止|少|多|同|见|住|起|下|到|好)[^\W\d_a-z]{1,3}了(?=[,，。；;！!]|$)"
        ),
    ),
    "past": Sought(
        ("worked", "lived", "studied"), re.compile(_SIMPLE + r"(?:worked|lived|studied)\b")
    ),
    "was": Sought(
        ("had", "worked", "lived", "studied", "was ", "were "),
        re.compile(_SIMPLE + r"(?:had|worked|lived|studied|(?:was|were) an?)\b"),
    ),
    "ongoing": Sought(
        ("ing", "在"),
        re.compile(
            r"(?:\b(?:am|are|is)|'re|'m) \w+ing\b|"
            r"正在|在(?:学|读|写|看|追|练|做|准备|装修|减肥|备考)"
        ),
    ),
    "perfect": Sought(
        ("have ", "has ", "'ve ", "'s ", "已"),
        re.compile(
            r"(?:\b(?:have|has)|'ve|'s) (?:(?:just|already|now|finally) )?\w+(?:ed|en)\b|已经|已"
        ),
    ),
}


def flags_of(words: list[Word], text: str) -> frozenset[str]:
    """Return the flags of the words (change, end, plan, soon, done, past, now, also) and tenses."""
    habit = "每" in text
    copulas = word_set("copulas")
    flags: set[str] = set()
    for surface, entry, _, _, _ in words:
        if surface in copulas:
            flags.add("states")
        if entry is not None and entry.flags and not (habit and surface.startswith("要")):
            flags |= entry.flags
    if not flags.isdisjoint(_TIMES) and _follows_event(words):
        flags -= _TIMES
    for flag, tense in _TENSES.items():
        if tense.is_in(text):
            flags.add(flag)
    return frozenset(flags)


def _follows_event(words: list[Word]) -> bool:
    """Whether 之前 or 以前 stands after an event (开会之前) rather than for the past."""
    for before, word in pairwise(words):
        if word.text in ("之前", "以前"):
            return not before.stop and (before.entry is None or bool(before.entry.concepts))
    return False


def verb_at(words: list[Word], marks: list[Mark]) -> int:
    """Return where the verb (or, without one, the value) starts; past any end when there is none."""
    copula = _copula_at(words)
    if copula is not None:
        return copula
    pivots = word_set("pivots")
    for text, entry, start, _, _ in words:
        # In "run 41" and "test 5" the word is a noun, whatever else it may be.
        if _is_verb(text, entry, pivots) and not _is_numbered(text, start, marks):
            return start
    spots = [mark.start for mark in marks if not mark.is_item]
    spots += [word.start for word in words if word.entry and word.entry.section == "period"]
    return min((spot for spot in spots if spot > 0), default=_NO_VERB)


def _copula_at(words: list[Word]) -> int | None:
    """Return where the first copula starts, unless a speaker stands before it."""
    copulas = word_set("copulas")
    speaker = _NO_VERB
    for text, _, start, _, _ in words:
        if text in copulas:
            return start if speaker >= start else None
        if text in _SPEAKERS:
            speaker = min(speaker, start)
    return None


def _is_numbered(text: str, start: int, marks: list[Mark]) -> bool:
    if not marks:
        return False
    end = start + len(text)
    near = [mark.noun for mark in marks if mark.is_item and end <= mark.start <= end + 8]
    return bool(near) and (stem(text) in near or text[-2:] in near)


def _is_verb(text: str, entry: Entry | None, pivots: frozenset[str]) -> bool:
    if text in pivots or text in _SPEAKERS:
        return True
    return entry is not None and ("verb" in entry.tags or not entry.flags.isdisjoint(_MOODS))
