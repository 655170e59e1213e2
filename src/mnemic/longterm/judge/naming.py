"""Do the digits at one spot name the thing beside them (fact 12, 设备12, 12号仓库) or measure it?

Digits that follow a noun without copula, preposition or unit are its name: two numbers on one noun are two
things. Nouns that take a value (port 8080, 端口8080) and software (Java 21) measure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from mnemic.longterm.judge.lexicon import Entry, lexicon, stem
from mnemic.longterm.judge.resources import word_set

__all__ = ["name_after", "name_before"]

_REACH = 40
_ENGLISH = re.compile(
    r"(?<![a-z])(?:(?P<before>[a-z']+)[^a-z0-9㐀-鿿]{1,2})?(?P<noun>[a-z][a-z'&]*+)"
    r"(?: ?(?P<sign>#)| (?P<label>no\.?|nr\.?|number|num\.?|id))?[ _#-]?$"
)
_LABELS = frozenset({"no", "nr", "number", "num", "id"})
_ENGLISH_WORDS = 3
"""Words that a match of ``_ENGLISH`` spans at most: the one before, the noun, the label."""
_HAN = re.compile(r"(?P<run>[㐀-鿿]{1,6}?)(?P<label>编号为?|序号|代号|号码|号|第)?[ #]?$")
_HAN_REACH = 11
"""Characters that a match of ``_HAN`` spans at most, with a line end behind it."""
_ENDS_HAN = re.compile(r"[㐀-鿿][ #]?$")
_ENDS_ENGLISH = frozenset("abcdefghijklmnopqrstuvwxyz'&#._- \n")
"""Characters in one of which a match of ``_ENGLISH`` ends."""
_AFTER = re.compile(r"(?P<mark>号)?(?P<run>[㐀-鿿]{0,3})")
_NOT_NOUNS = frozenset({"particle", "flag", "me", "axis", "period", "part", "season"})
_VERSIONED = frozenset({"plang", "editor", "database", "queue", "os", "framework", "testtool"})
_VERSIONED |= {"cloud", "ci", "vcs", "pkgtool", "proxy"}
_USERS = frozenset({"user", "users", "用户"})
_HEADING = re.compile(r"[^\d.,;:!?。，；\n]*$")
_NOUN_ENDS = ("tion", "sion", "ment", "ence", "ance", "ness", "ity", "ship", "ism", "ist")
_ENDS = frozenset(
    "是在为到成有于至过约超共了的得和与及或从比每满达不个只仅才就都还再又也另近这那着给"
)
_MEASURES = "条个种件项章节名位台本张只次回部集期轮批组班届页"


def name_before(text: str, start: int, end: int) -> str | None:
    """Return the noun before ``start`` that the number up to ``end`` names, None if it measures."""
    last = text[start - 1 : start]
    in_front = text.startswith(":", end)
    if not in_front and last not in _ENDS_ENGLISH and not "㐀" <= last <= "鿿":
        return None
    near = text[max(0, start - _REACH) : start]
    if in_front and _is_heading(text, start, end):
        # "Preference 10: dark mode" has a heading, whatever its word means elsewhere.
        return re.split(r"[ #_-]", near.strip(" #_-"))[-1]
    if last == "#":
        return _english(near) or ""
    return _chinese(near) if _ENDS_HAN.search(near, max(0, len(near) - 3)) else _english(near)


def _is_heading(text: str, start: int, end: int) -> bool:
    """Whether a text starts with a numbered heading, whose colon belongs to no clock time."""
    timed = text[end + 1 : end + 2].isdigit()
    return not timed and start > 0 and _HEADING.match(text, 0, start) is not None


def name_after(text: str, end: int, *, ordinal: bool) -> str | None:
    """Return the noun after a number (第12条记忆, 12号仓库), None where the number names nothing.

    ``ordinal`` tells that 第 stands before the number.
    """
    if not (ordinal or text.startswith("号", end)):
        return None
    match = _AFTER.match(text, end)
    if match is None:
        return None
    run = match["run"].rstrip("了的是在吧呢")
    if ordinal and len(run) > 1 and run[0] in _MEASURES:
        run = run[1:]
    return _concept_han(run[:2], _forms(run, from_start=True))


def _english(near: str) -> str | None:
    ahead, *following = near.rsplit(None, _ENGLISH_WORDS) or [""]
    if following and following[-1] in _unnamed():
        return None
    match = _ENGLISH.search(near, len(ahead) if len(following) == _ENGLISH_WORDS else 0)
    if match is None:
        return None
    noun, label = match["noun"], match["label"] or match["sign"]
    if noun in _LABELS and not label:
        noun, label = (match["before"] or ""), noun
        if not _names(noun):
            return "number"
    if label or noun in _singular():
        return _key(noun) if _names(noun) or noun in _singular() else "number"
    spoken = (match["before"] or "") in word_set("speakers_en")
    return _key(noun) if not spoken and _names(noun) else None


@lru_cache(maxsize=1)
def _singular() -> frozenset[str]:
    return word_set("items_en")


@lru_cache(maxsize=1)
def _unnamed() -> frozenset[str]:
    """Return the English words that no number right behind them names, whatever stands before them.

    Of "batch_size" the noun is only a part.
    """
    values = _values() - _singular() - _USERS - _LABELS
    return frozenset(word for word in values if word.isalpha())


@lru_cache(maxsize=1)
def _values() -> frozenset[str]:
    return word_set("values_en") | word_set("not_named_en")


def _names(noun: str) -> bool:
    """Whether an English word is a noun that a number can name."""
    if noun in _singular() or noun in _USERS:
        return True
    if not noun or noun in _values():
        return False
    entry = _entry(noun)
    if entry is not None and not noun.endswith(_NOUN_ENDS):
        return _can_be_named(entry)
    plural = noun.endswith("s") and not noun.endswith(("ss", "us", "is"))
    return not plural and not (len(noun) > 4 and noun.endswith(("ed", "ing", "ly")))


def _entry(word: str) -> Entry | None:
    return lexicon().word(word)


def _can_be_named(entry: Entry) -> bool:
    section = entry.section
    if any(concept in word_set("unnumbered") for concept, _ in entry.concepts):
        return False
    return not ("verb" in entry.tags or section in _NOT_NOUNS or section in _VERSIONED)


def _key(noun: str) -> str:
    """Return what the noun stands for, so that two languages meet (server, 服务器)."""
    entry = _entry(noun)
    listed = entry is not None and entry.concepts and "verb" not in entry.tags
    return entry.concepts[0][0] if entry is not None and listed else stem(noun)


def _chinese(near: str) -> str | None:
    match = _HAN.search(near, max(0, len(near) - _HAN_REACH))
    if match is None:
        return None
    run, label = match["run"], match["label"]
    if label:
        return _concept_han(run[-2:], _forms(run, from_start=False)) or "number"
    forms = _forms(run, from_start=False)
    items, values = word_set("items_zh"), word_set("values_zh")
    for form in forms:
        if form in items or form in _USERS:
            return _concept_han(form, (form,))
        if form in values:
            return None
    entry = _first(forms)
    if entry is not None and not _can_be_named(entry):
        return None
    if run[-1] in word_set("value_ends_zh") or (entry is None and run[-1] in _ENDS):
        return None
    return _concept_han(run[-2:], forms)


def _forms(run: str, *, from_start: bool) -> tuple[str, ...]:
    """Return the ends (or beginnings) of a run of characters, longest first."""
    sizes = range(len(run), 0, -1)
    return tuple(run[:size] if from_start else run[-size:] for size in sizes)


def _first(forms: Iterable[str]) -> Entry | None:
    listed = lexicon().chinese
    return next((listed[form] for form in forms if form in listed), None)


def _concept_han(default: str, forms: Iterable[str]) -> str:
    entry = _first(forms)
    if entry is None or not entry.concepts or not _can_be_named(entry):
        return default
    return entry.concepts[0][0]
