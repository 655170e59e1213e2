"""Which concept does a word or phrase stand for, in Chinese or English?

The lists under ``words/`` map surface forms to concepts; "-open" is the other end of "open". Loaded on
first use. English is looked up by stems, so that every inflection of a listed word is found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import snowballstemmer

from mnemic.longterm.judge.resources import lines

__all__ = ["Entry", "Lexicon", "lexicon", "stem"]

_FILES = ("grammar", "verbs", "axes", "topics", "people", "places", "things")
_HAN = re.compile(r"[㐀-鿿]")
_TAGS = ("verb", "one", "many", "weak", "linking", "scope")


@dataclass(frozen=True, slots=True)
class Entry:
    """What one surface form stands for.

    ``concepts`` are pairs of concept and sign (+1 or -1), ``names`` the concepts alone, ``flags`` mark
    change, end, plan and so on, ``section`` is the list it comes from, ``tags`` how its section behaves.
    """

    concepts: tuple[tuple[str, int], ...]
    flags: frozenset[str]
    section: str
    tags: frozenset[str]
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All lists: forms to entries, concepts to sections, kinds to members.

    English forms are words (or stems) with one space between. ``reach`` gives for a word (or stem) and the
    next one how many words the longest English phrase from them has, ``heads`` with what a longer Chinese
    form begins.
    """

    english: dict[str, Entry]
    stems: dict[str, Entry]
    chinese: dict[str, Entry]
    section: dict[str, str]
    tags: dict[str, frozenset[str]]
    kinds: dict[str, frozenset[str]]
    reach: dict[str, dict[str, int]]
    heads: frozenset[str]

    def word(self, text: str) -> Entry | None:
        """Return the entry of an English word: as written if listed so, else by its stem."""
        return self.english.get(text) or self.stems.get(stem(text))

    def longest(self, words: Sequence[str], index: int) -> int:
        """Return how many words (or stems) the longest phrase from ``index``, not the last, may have."""
        following = self.reach.get(words[index])
        return 1 if following is None else following.get(words[index + 1], 1)

    def section_of(self, concept: str) -> str:
        """Return the section of a concept, "" for words outside the lists."""
        return self.section.get(concept, "")

    def tagged(self, concept: str, tag: str) -> bool:
        """Return whether the section of a concept carries a tag."""
        return tag in self.tags.get(concept, frozenset())

    def covers_any(self, kind: str, members: frozenset[str]) -> bool:
        """Return whether a concept is a kind that one of the others belongs to."""
        return kind in self.kinds and not self.kinds[kind].isdisjoint(members)

    def covers(self, kind: str, member: str) -> bool:
        """Return whether a concept is a kind that the other belongs to (fruit, apple)."""
        return member in self.kinds.get(kind, frozenset())


@lru_cache(maxsize=1)
def _stemmer() -> snowballstemmer.stemmer:
    return snowballstemmer.stemmer("english")


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word; British and American spellings meet."""
    plain = word[:40].removesuffix("'s").removesuffix("'")
    stemmed = str(_stemmer().stemWord(plain))
    stemmed = re.sub(r"our(?=s?$|it|abl|ful|i)", "or", stemmed)
    return re.sub(r"metre?$", "meter", stemmed)


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """Return the lists, read once."""
    english: dict[str, Entry] = {}
    stems: dict[str, Entry] = {}
    chinese: dict[str, Entry] = {}
    section_of: dict[str, str] = {}
    tags_of: dict[str, frozenset[str]] = {}
    for name in _FILES:
        section, tags = "", frozenset[str]()
        for line in lines(f"{name}.txt"):
            if line.startswith("["):
                section, tags = _header(line)
                continue
            entry, forms_en, forms_zh = _entry(line, section, tags)
            english |= dict.fromkeys(forms_en, entry)
            if section in ("person", "job"):
                # "managed" is no manager: of who people are only the plural is looked up.
                english |= {form + "s": entry for form in forms_en}
                english |= {form + "'s": entry for form in forms_en}
            elif section not in ("particle", "me"):
                stems |= {" ".join(map(stem, form.split())): entry for form in forms_en}
            chinese |= dict.fromkeys(forms_zh, entry)
            for concept, _ in entry.concepts:
                section_of[concept] = section_of.get(concept, section)
                tags_of[concept] = tags_of.get(concept, tags)
    reach: dict[str, dict[str, int]] = {}
    for phrase in (*english, *stems):
        first, *rest = phrase.split(" ")
        if rest:
            following = reach.setdefault(first, {})
            following[rest[0]] = max(1 + len(rest), following.get(rest[0], 1))
    heads = frozenset(form[:end] for form in chinese for end in range(1, len(form)))
    return Lexicon(english, stems, chinese, section_of, tags_of, _kinds(section_of), reach, heads)


def _header(line: str) -> tuple[str, frozenset[str]]:
    words = line.strip("[]").split()
    return words[0], frozenset(words[1:]) | ({words[0]} & set(_TAGS))


def _entry(line: str, section: str, tags: frozenset[str]) -> tuple[Entry, list[str], list[str]]:
    head, _, forms = line.partition(":")
    words = head.split()
    names = [] if words[0] == "-" else words[0].split("+")
    concepts = tuple((name.lstrip("-"), -1 if name.startswith("-") else 1) for name in names)
    flags = frozenset(word[1:] for word in words[1:])
    left, _, right = forms.partition("|")
    english = [" ".join(form.split()) for form in left.split(",") if form.strip()]
    chinese = right.split()
    plain = frozenset(name for name, _ in concepts)
    return Entry(concepts, flags, section, tags, plain), english, chinese


def _kinds(section_of: dict[str, str]) -> dict[str, frozenset[str]]:
    kinds: dict[str, frozenset[str]] = {}
    for line in lines("kinds.txt"):
        kind, _, right = line.partition(">")
        members: set[str] = set()
        for word in right.split():
            section = word.strip("[]")
            inside = {c for c, s in section_of.items() if s == section}
            members |= inside if word.startswith("[") else {word}
        kinds[kind.strip()] = frozenset(members - {kind.strip()})
    return kinds
