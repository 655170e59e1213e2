"""What does one statement say: about whom, which concepts with which sign, which amounts, in which mood?"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from mnemic.longterm.judge import dates, quantities
from mnemic.longterm.judge.folding import fold_cased
from mnemic.longterm.judge.marks import Mark, blank
from mnemic.longterm.judge.moods import flags_of, verb_at
from mnemic.longterm.judge.numerals import with_digits
from mnemic.longterm.judge.once import once, reading_once
from mnemic.longterm.judge.resources import word_set
from mnemic.longterm.judge.roles import Part, cast_of
from mnemic.longterm.judge.subjects import acts_as_person, named_users, people_in, subject_of
from mnemic.longterm.judge.tokens import Setting, Token, tokens_of
from mnemic.longterm.judge.words import Word, words_of

__all__ = ["Reading", "read", "reading_once"]

_start = attrgetter("start")
_QUOTED = re.compile(r'"([^"]{1,60})"|(?<!\w)\'([^\']{1,60})\'(?!\w)')


@dataclass(eq=False)
class Reading:
    """One statement, taken apart; what few rules ask for is found when the first of them does.

    ``subject`` is ``me`` or the person it is about, ``pivot`` where the verb starts, ``quoted`` what stands
    in quote marks and where, ``text`` the folded text with its capitals, ``keys`` the concepts whatever
    their sign, ``sections`` theirs.
    """

    words: list[Word]
    tokens: tuple[Token, ...]
    marks: tuple[Mark, ...]
    subject: str
    flags: frozenset[str]
    pivot: int
    quoted: tuple[tuple[str, int], ...]
    text: str
    keys: frozenset[str]
    sections: frozenset[str]

    @cached_property
    def people(self) -> frozenset[str]:
        """Everybody mentioned."""
        return people_in(self.words)

    @cached_property
    def cast(self) -> tuple[Part, ...]:
        """The people in the order of the sentence."""
        return cast_of(self.words, self.text)

    @cached_property
    def breaks(self) -> tuple[int, ...]:
        """Where clauses end."""
        joints = word_set("joints")
        ends = (w for w in self.words if (w.stop and w.text != "、") or w.text in joints)
        return tuple(word.start for word in ends)

    @property
    def is_han(self) -> bool:
        """Whether most words are Chinese."""
        return 2 * sum(not token.text.isascii() for token in self.tokens) > len(self.tokens)

    def clause(self, start: int) -> int:
        """Return the number of the clause in which a position lies."""
        return bisect_right(self.breaks, start)

    def in_tail(self, mark: Mark) -> bool:
        """Return whether an amount stands after the verb: a value, not the thing described."""
        return mark.start > self.pivot


@once
def read(text: str) -> Reading:
    """Return the reading of a text; any text has one, an empty text an empty one.

    Remembered only inside ``reading_once``: no copy of what a user wrote may outlive the call.
    """
    cased = with_digits(fold_cased(text))
    digits = cased.lower()
    marks = dates.scan(digits)
    rest = blank(digits, marks)
    amounts = quantities.scan(rest)
    marks = sorted(marks + amounts, key=_start)
    same_length = len(cased) == len(digits)
    words = words_of(blank(rest, amounts), cased if same_length else digits)
    words = named_users(words, digits)
    sections = {entry.section for _, entry, _, _, _ in words if entry is not None}
    subject, said_by = subject_of(words)
    pivot = verb_at(words, marks)
    setting = Setting(pivot, said_by, acts_as_person(words, pivot, sections), "job" in sections)
    tokens = tokens_of(words, setting)
    return Reading(
        words,
        tokens,
        tuple(marks),
        subject,
        flags_of(words, digits),
        pivot,
        _quotes(digits),
        cased,
        frozenset([token.key for token in tokens]),
        frozenset([token.section for token in tokens]),
    )


def _quotes(text: str) -> tuple[tuple[str, int], ...]:
    if '"' not in text and "'" not in text:
        return ()
    found = ((match[1] or match[2], match.start()) for match in _QUOTED.finditer(text))
    return tuple((words.strip(), start) for words, start in found)
