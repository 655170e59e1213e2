"""What must a rule know about one pair of statements?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from mnemic.longterm.judge.comparing import Difference, compare
from mnemic.longterm.judge.lexicon import lexicon
from mnemic.longterm.judge.reading import Reading, read
from mnemic.longterm.judge.resources import word_set
from mnemic.longterm.judge.tokens import Token

__all__ = ["Case", "aspects", "case_of", "heads", "sections"]

_NOT_VALUES = frozenset({"", "noun", "category", "axis", "additive", "exclusive", "linking"})
_TIMES = frozenset({"part", "period", "season"})
_HOLDING = frozenset({"work", "employed", "retired", "lead"})
_RIDES = frozenset({"drive", "cycle", "walk", "car", "ebike", "motorbike"})
_SLOTS = (
    frozenset({"way_to_work"}),
    frozenset({"school_stage"}),
    frozenset({"live"}),
    frozenset({"married", "engaged"}),
    frozenset({"work", "employed", "student", "retired"}),
    *(
        frozenset({state})
        for state in ("veg", "ill", "pregnant", "leave_time", "hospital", "abroad")
    ),
)


@dataclass(eq=False)
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
        """Whether the second text speaks of a change or an end."""
        fresh = "end" in self.second.flags and "end" not in self.first.flags
        return fresh or "change" in self.second.flags

    @cached_property
    def anchors(self) -> frozenset[str]:
        """Shared concepts that say what both texts are about."""
        told = frozenset(t.key for t in self.diff.shared if t.section not in _TIMES)
        return told - word_set("generic") - word_set("unnumbered")

    @property
    def other_head(self) -> bool:
        """Whether words before the verb differ on both sides: two things are described."""
        return bool(heads(self.diff.left_first) and heads(self.diff.left_second))

    @property
    def same_kind(self) -> bool:
        """Whether some word of the first could stand where one of the second does."""
        return bool(sections(self.diff.left_first) & sections(self.diff.left_second))

    @cached_property
    def slot(self) -> frozenset[str] | None:
        """The state that both texts fill and that has one value at a time (home, job), if any."""
        both = _states(self.first), _states(self.second)
        for slot in _SLOTS:
            if not (slot.isdisjoint(both[0]) or slot.isdisjoint(both[1])):
                return slot
        return None

    @property
    def quotes_differ(self) -> bool:
        """Whether each text quotes something that the other does not."""
        one = {words for words, _ in self.first.quoted}
        two = {words for words, _ in self.second.quoted}
        return bool(one - two and two - one)

    def verbs(self, tag: str) -> frozenset[str]:
        """Return the shared verbs whose section carries a tag (one, many, linking)."""
        lists = lexicon()
        return frozenset(t.key for t in self.diff.shared if lists.tagged(t.key, tag))


def heads(tokens: Iterable[Token]) -> tuple[Token, ...]:
    """Return the tokens before the verb."""
    return tuple(t for t in tokens if not t.tail)


def sections(tokens: Iterable[Token]) -> frozenset[str]:
    """Return the value sections (fruit, city, editor ...) of some tokens."""
    return frozenset(t.section for t in tokens) - _NOT_VALUES


def aspects(tokens: Iterable[Token]) -> frozenset[str]:
    """Return the value sections of some tokens and the axes (open, spicy ...) they lie on."""
    tokens = tuple(tokens)
    return sections(tokens) | {t.key for t in tokens if t.section == "axis"}


def _states(reading: Reading) -> frozenset[str]:
    states = {"work"} if _has_job(reading) else set[str]()
    if reading.keys & word_set("school_stages"):
        states.add("school_stage")
    travels = "work" in reading.keys or "commute" in reading.keys
    if travels and any(t.section == "transport" or t.key in _RIDES for t in reading.tokens):
        states.add("way_to_work")
    return reading.keys | states


def _has_job(reading: Reading) -> bool:
    """Whether a job is held: I'm a nurse, I teach at a college (not: we hired a nurse)."""
    if "job" not in reading.sections and "workplace" not in reading.sections:
        return False
    sections = {t.section for t in reading.tokens if t.key != "teach"}
    if "teach" in reading.keys and "workplace" in sections:
        return True
    if "job" not in sections or ("change" in reading.flags and "work" not in reading.keys):
        return False
    lists = lexicon()
    return not any(lists.tagged(key, "verb") for key in reading.keys - _HOLDING)


def case_of(first: str, second: str, similarity: float | None) -> Case:
    """Read and compare two texts."""
    one, two = read(first), read(second)
    return Case(one, two, compare(one, two), similarity)
