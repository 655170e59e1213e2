"""What does one statement say: about whom, which concepts with which sign, which amounts, in which mood?"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from mnemic.longterm.judge import dates, quantities
from mnemic.longterm.judge.folding import fold_cased
from mnemic.longterm.judge.marks import Mark, blank
from mnemic.longterm.judge.moods import flags_of, verb_at
from mnemic.longterm.judge.numerals import with_digits
from mnemic.longterm.judge.resources import word_set
from mnemic.longterm.judge.roles import Part, cast_of
from mnemic.longterm.judge.subjects import acts_as_person, named_users, people_in, subject_of
from mnemic.longterm.judge.tokens import Setting, Token, tokens_of
from mnemic.longterm.judge.words import Word, words_of

__all__ = ["Reading", "read"]

_QUOTED = re.compile(r'"([^"]{1,60})"|(?<!\w)\'([^\']{1,60})\'(?!\w)')


@dataclass(frozen=True, slots=True)
class Reading:
    """One statement, taken apart.

    ``subject`` is ``me`` or the person it is about, ``people`` everybody mentioned, ``pivot`` where the
    verb starts, ``breaks`` where clauses end, ``quoted`` what stands in quote marks and where,
    ``cast`` the people in the order of the sentence, ``text`` the folded text with its capitals.
    """

    tokens: tuple[Token, ...]
    marks: tuple[Mark, ...]
    subject: str
    people: frozenset[str]
    flags: frozenset[str]
    pivot: int
    breaks: tuple[int, ...]
    quoted: tuple[tuple[str, int], ...]
    cast: tuple[Part, ...]
    text: str

    @property
    def keys(self) -> frozenset[str]:
        """Concepts of the statement, whatever their sign."""
        return frozenset(token.key for token in self.tokens)

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


_SO_FAR: ContextVar[dict[str, Reading] | None] = ContextVar("readings_so_far", default=None)


@contextmanager
def reading_once() -> Iterator[None]:
    """Read each text once inside the block; nothing of it outlives the block."""
    token = _SO_FAR.set({})
    try:
        yield
    finally:
        _SO_FAR.reset(token)


def read(text: str) -> Reading:
    """Return the reading of a text; any text has one, an empty text an empty one.

    Cached only inside ``reading_once``: no copy of what a user wrote may outlive the call.
    """
    so_far = _SO_FAR.get()
    if so_far is None:
        return _read(text)
    if text not in so_far:
        so_far[text] = _read(text)
    return so_far[text]


def _read(text: str) -> Reading:
    cased = with_digits(fold_cased(text))
    digits = cased.lower()
    marks = dates.scan(digits)
    rest = blank(digits, marks)
    amounts = quantities.scan(rest)
    marks = sorted(marks + amounts, key=lambda mark: mark.start)
    same_length = len(cased) == len(digits)
    words = named_users(words_of(blank(rest, amounts), cased if same_length else digits))
    subject, said_by = subject_of(words)
    pivot = verb_at(words, marks)
    setting = Setting(pivot, said_by, acts_as_person(words, pivot), _names_job(words))
    return Reading(
        tokens_of(words, setting),
        tuple(marks),
        subject,
        people_in(words),
        flags_of(words, digits),
        pivot,
        tuple(
            w.start for w in words if (w.stop and w.text != "、") or w.text in word_set("joints")
        ),
        _quotes(digits),
        cast_of(words, cased),
        cased,
    )


def _names_job(words: list[Word]) -> bool:
    return any(word.entry is not None and word.entry.section == "job" for word in words)


def _quotes(text: str) -> tuple[tuple[str, int], ...]:
    found = ((match[1] or match[2], match.start()) for match in _QUOTED.finditer(text))
    return tuple((words.strip(), start) for words, start in found)
