"""Which concept does each word put into a statement, and is it affirmed or denied?

A negation reaches the next content word of its clause, passes over light verbs (I don't eat beef denies
the beef) and covers a list (neither meat nor fish).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from mnemic.longterm.judge.lexicon import stem
from mnemic.longterm.judge.resources import word_set
from mnemic.longterm.judge.words import Word

__all__ = ["Setting", "Token", "tokens_of"]

_PERSONAL = frozenset({"live", "work"})
_MEANT_AT_TIMES = _PERSONAL | {"at"}
_WORK_LIGHT = frozenset({"做", "当", "任", "干"})


class Token(NamedTuple):
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


_token = partial(tuple.__new__, Token)
"""Makes a token of all its fields, in half the time: there are many tokens."""


class Setting(NamedTuple):
    """What is known of a statement before its words: verb position, words that name its subject.

    ``personal`` tells that a person acts (so that "moved to" is a home), ``job`` that a job is named.
    """

    pivot: int
    dropped: frozenset[int]
    personal: bool
    job: bool


def tokens_of(words: list[Word], setting: Setting) -> tuple[Token, ...]:
    """Return the signed concepts of the words, in their order."""
    scope = _Scope(setting)
    for word in words:
        if not word.stop:
            scope.take(word)
        elif word.text == "、":
            scope.joined = True
        else:
            scope.close()
    scope.close()
    return tuple(scope.tokens)


class _Scope:
    """How far the negation at hand reaches, word by word."""

    def __init__(self, setting: Setting) -> None:
        self.tokens: list[Token] = []
        self.joined = False
        self._pivot, self._dropped, self._personal, self._job = setting
        self._roles, self._listing = word_set("roles"), word_set("listing")
        self._verbs_light = word_set("light")
        self._negated, self._role, self._spread = False, "", ""
        self._light: int | None = None
        self._clause = 0

    def close(self) -> None:
        """End a clause: a negation that met only a light verb falls on its topic, or on the verb."""
        if self._negated:
            end = len(self.tokens) if self._light is None else self._light
            for index in self._topic(end):
                self._turn(index)
        self._clause = len(self.tokens)
        self._negated, self._role, self._light = False, "", None

    def take(self, word: Word) -> None:
        """Add one word."""
        text, entry, start, _, _ = word
        for concept, sign in ((stem(text), 1),) if entry is None else entry.concepts:
            if concept == "not":
                if self._negated and self._light is not None:
                    self.close()
                self._negated, self._light = not self._negated, None
            elif concept in _MEANT_AT_TIMES and self._skipped(word, concept):
                continue
            elif start not in self._dropped:
                self._add(word, concept, sign)
        role = text.rsplit(" ", 1)[-1] if " " in text else text
        if role in self._roles:
            self._role = role
        if text in self._listing:
            self.joined = True
        elif self.joined:
            self.joined = entry is not None and not entry.concepts

    def _skipped(self, word: Word, concept: str) -> bool:
        """Whether a word that is not always a concept is none here."""
        if concept == "at":
            return True
        if concept == "work" and word.text in _WORK_LIGHT and not self._job:
            return True
        changes = word.entry is not None and "change" in word.entry.flags
        return changes and not self._personal

    def _add(self, word: Word, concept: str, sign: int) -> None:
        text, entry, start, _, name = word
        known = entry is not None
        section = "" if entry is None else entry.section
        tail = start >= self._pivot
        at = len(self.tokens)
        told = (concept, section, sign, text, start, tail, self._role, name, known)
        self.tokens.append(_token(told))
        self._role = ""
        if not (self._negated or self.joined):
            self._spread = ""
        elif self._negated and concept in self._verbs_light and sign > 0:
            self._light = at if self._light is None else self._light
        elif self._negated or (self.joined and _alike(section, self._spread)):
            self._turn(at)
            self._negated, self._light, self._spread = False, None, section
        else:
            self._spread = ""

    def _topic(self, end: int) -> list[int]:
        """Return what a "not" at the end of its clause denies: 香菜我不吃, 烟和酒都不碰, else the verb."""
        verbal = word_set("verbal")
        before = list(enumerate(self.tokens[self._clause : end], start=self._clause))
        if self._light is None:
            # "Buying shoes online is something I never do": the act is denied.
            acts = [i for i, token in before if token.section == "additive" and token.sign > 0]
            return acts[:1] or [i for i, token in before if token.sign > 0][:1]
        nouns = [i for i, token in before if token.section not in verbal and token.sign > 0]
        if len(nouns) == len(before) > 1:
            return nouns
        return nouns[-1:] or [self._light]

    def _turn(self, index: int) -> None:
        self.tokens[index] = self.tokens[index]._replace(sign=-self.tokens[index].sign)


def _alike(section: str, spread: str) -> bool:
    """Whether two words can stand in one list, so that one "not" reaches both."""
    return bool(section) and (section == spread or {section, spread} <= word_set("food"))
