"""What does one statement say: about whom, which concepts with which sign, which amounts, in which mood?"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import lru_cache

from mnemic.longterm.judge import dates, quantities
from mnemic.longterm.judge.folding import fold, fold_cased
from mnemic.longterm.judge.lexicon import stem
from mnemic.longterm.judge.marks import Mark, blank
from mnemic.longterm.judge.numerals import with_digits
from mnemic.longterm.judge.words import Word, words_of

__all__ = ["Reading", "Token", "read"]

ME = "me"
_PIVOTS = frozenset(["is", "are", "was", "were", "am", "be", "'s", "是", "在", "为", "要", "有", "用", "放", "会", "需要", "里"])
_COPULAS = frozenset("is are was were 's 是 叫 叫做 为".split())
_LIGHT = frozenset(
    {"have", "eat", "drink", "take_in", "choose", "set", "called", "need", "make", "date"}
)
_ROLES = frozenset(
    ["from", "to", "for", "before", "after", "than", "over", "under", "above", "below", "by", "从", "到", "给", "向", "比", "往", "对", "被", "把", "由", "跟"]
)
_PERSONAL = frozenset({"live", "work"})
_MOODS = frozenset({"change", "end", "plan"})
_SPEAKERS = frozenset({"i", "we", "user", "the user"})
_WORK_LIGHT = frozenset({"做", "当", "任", "干"})
_JOINTS = frozenset("and while whereas but 而 但 但是 并 且".split())
_NO_VERB = 1_000_000


@dataclass(frozen=True, slots=True)
class Token:
    """One concept (or unlisted word) of a statement.

    ``sign`` is -1 under a negation, ``tail`` tells that it stands after the verb, ``role`` is the
    preposition before it, ``name`` that it is written as a name, ``known`` that the lists have it.
    """

    key: str
    section: str
    sign: int
    text: str
    start: int
    tail: bool = False
    role: str = ""
    name: bool = False
    known: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """One statement, taken apart. ``subject`` is ``me`` or the person it is about."""

    tokens: tuple[Token, ...]
    marks: tuple[Mark, ...]
    subject: str
    flags: frozenset[str]
    pivot: int
    breaks: tuple[int, ...]

    def clause(self, start: int) -> int:
        """Return the number of the clause in which a position lies."""
        return bisect_right(self.breaks, start)

    @property
    def keys(self) -> frozenset[str]:
        """Concepts of the statement, whatever their sign."""
        return frozenset(token.key for token in self.tokens)

    def in_tail(self, mark: Mark) -> bool:
        """Return whether an amount stands after the verb: a value rather than the thing described."""
        return mark.start > self.pivot


@lru_cache(maxsize=512)
def read(text: str) -> Reading:
    """Return the reading of a text; any text has one, an empty text an empty one."""
    digits = with_digits(fold(text))
    cased = with_digits(fold_cased(text))
    if len(cased) != len(digits):
        cased = digits
    marks = dates.scan(digits)
    rest = blank(digits, marks)
    amounts = quantities.scan(rest)
    marks = sorted(marks + amounts, key=lambda mark: mark.start)
    words = words_of(blank(rest, amounts), cased)
    subject, owner_words = _subject(words)
    flags = frozenset(f for word in words if word.entry for f in word.entry.flags)
    pivot = _pivot(words, marks)
    job = any(word.entry and word.entry.section == "job" for word in words)
    scope = _Scope(pivot, owner_words, _about_person(words, pivot), job)
    breaks = tuple(word.start for word in words if word.stop or word.text in _JOINTS)
    return Reading(_tokens(words, scope), tuple(marks), subject, flags, pivot, breaks)


def _subject(words: list[Word]) -> tuple[str, frozenset[int]]:
    """Return who the statement is about and the starts of the words that say so."""
    content = [word for word in words if not word.stop]
    for index, word in enumerate(content):
        section = word.entry.section if word.entry else ""
        if section == "person" and word.entry:
            chain = [word]
            for after in content[index + 1 : index + 4]:
                if after.entry and after.entry.section == "person":
                    chain.append(after)
                elif not (after.entry and after.text in ("的", "'s", "of")):
                    break
            names = [c for w in chain if w.entry for c, _ in w.entry.concepts]
            return "/".join(names), frozenset(w.start for w in chain)
        if section == "me" and word.text not in ("my", "our", "mine", "我的", "我们的", "我家"):
            following = content[index + 1] if index + 1 < len(content) else None
            kin = following and following.entry and following.entry.section == "person"
            if not (
                kin and word.text in ("我", "我们", "咱", "咱们", "user", "the user", "用户", "俺")
            ):
                return ME, frozenset()
        elif section not in ("me", "particle", "flag") and index > 3:
            break
    return ME, frozenset()


def _pivot(words: list[Word], marks: list[Mark]) -> int:
    """Return where the verb of the statement starts; past the end when it has none."""
    items = [mark.start for mark in marks if mark.is_item]
    copula = next((w.start for w in words if w.text in _COPULAS), None)
    if copula is not None and not any(w.text in _SPEAKERS for w in words if w.start < copula):
        return copula
    for word in words:
        tags = word.entry.tags if word.entry else frozenset()
        flags = word.entry.flags if word.entry else frozenset()
        speaks = word.text in _SPEAKERS
        if speaks or word.text in _PIVOTS or "verb" in tags or flags & _MOODS:
            end = word.start + len(word.text)
            # In "run 41" and "test 5" the word is a noun, whatever else it may be.
            if not any(end <= item <= end + 4 for item in items):
                return word.start
    return _NO_VERB


class _Scope:
    """Builds tokens word by word: a negation reaches the next content word of its clause."""

    def __init__(self, pivot: int, dropped: frozenset[int], personal: bool, job: bool) -> None:
        self.tokens: list[Token] = []
        self._pivot, self._dropped, self._personal, self._job = pivot, dropped, personal, job
        self._negated, self._role = False, ""
        self._light: int | None = None

    def close(self) -> None:
        """End a clause: a negation that met only a light verb stays with it."""
        if self._negated and self._light is not None:
            self._turn(self._light)
        self._negated, self._role, self._light = False, "", None

    def take(self, word: Word) -> None:
        """Add one word."""
        role = word.text.rsplit(" ", 1)[-1]
        entry = word.entry
        for concept, sign in entry.concepts if entry else ((stem(word.text), 1),):
            if concept == "not":
                self._negated, self._light = not self._negated, None
            elif not (concept == "at" or word.start in self._dropped or self._moves(word, concept)):
                self._add(word, concept, sign)
        if role in _ROLES:
            self._role = role

    def _moves(self, word: Word, concept: str) -> bool:
        if concept == "work" and word.text in _WORK_LIGHT and not self._job:
            return True
        changes = word.entry is not None and "change" in word.entry.flags
        return concept in _PERSONAL and changes and not self._personal

    def _add(self, word: Word, concept: str, sign: int) -> None:
        known = word.entry is not None
        section = word.entry.section if word.entry else ""
        tail = word.start >= self._pivot
        token = Token(concept, section, sign, word.text, word.start, tail, self._role, word.name, known)
        self.tokens.append(token)
        self._role = ""
        if self._negated and concept in _LIGHT and sign > 0:
            self._light = len(self.tokens) - 1 if self._light is None else self._light
        elif self._negated:
            self._turn(len(self.tokens) - 1)
            self._negated, self._light = False, None

    def _turn(self, index: int) -> None:
        self.tokens[index] = replace(self.tokens[index], sign=-self.tokens[index].sign)


def _tokens(words: list[Word], scope: _Scope) -> tuple[Token, ...]:
    for word in words:
        if word.stop:
            scope.close()
        else:
            scope.take(word)
    scope.close()
    return tuple(scope.tokens)


def _about_person(words: list[Word], pivot: int) -> bool:
    """Return whether a person (or nobody in particular) does what the verb says."""
    if any(word.entry and word.entry.section == "leisure" for word in words):
        return False
    before = [word for word in words if word.start < pivot and not word.stop]
    people = any(word.entry and word.entry.section in ("me", "person") for word in words)
    return people or not any(word.entry is None or word.entry.concepts for word in before)
