"""Whom is a statement about: the user, or which other person?"""

from __future__ import annotations

from mnemic.longterm.judge.lexicon import lexicon
from mnemic.longterm.judge.resources import word_set
from mnemic.longterm.judge.words import Word
from mnemic.text import holds_any

__all__ = ["ME", "acts_as_person", "named_users", "people_in", "subject_of"]

ME = "me"
_NOBODY = Word("", None, 0)
_USERS = frozenset({"user", "用户"})
_BEFORE = frozenset({"me", "particle", "flag"})
"""Sections of words that may stand before the person a statement is about."""


def named_users(words: list[Word], text: str) -> list[Word]:
    """Tell "the user table" (a thing) from "the user" (who this memory is about), in the words of a text."""
    if not holds_any(_USERS, text):
        return words
    users = lexicon().english["users"]
    return [
        word._replace(entry=users)
        if word.text in _USERS and after.text in word_set("user_things")
        else word
        for word, after in zip(words, [*words[1:], _NOBODY], strict=False)
    ]


def subject_of(words: list[Word]) -> tuple[str, frozenset[int]]:
    """Return who the statement is about (``me`` or persons) and the starts of the words saying so."""
    content = [word for word in words if not word.stop]
    for index, word in enumerate(content):
        entry = word.entry
        # "I have a sister called Ida" is about the sister.
        if entry and "verb" in entry.tags and not (_means(word, "have") and _names(content)):
            break
        section = entry.section if entry else ""
        if section == "person" and not _is_beside(content, index):
            return _chain(content[index : index + 4])
        if section == "me" and word.text not in word_set("possessive"):
            if not _introduces(content[index : index + 4], content):
                break
        elif section not in _BEFORE and index > 3:
            break
    return ME, frozenset()


def _is_beside(content: list[Word], index: int) -> bool:
    """Whether a person is only acted for or with, or owned by somebody: 给我妈, his sister."""
    if content[index].text in word_set("others_own"):
        return True
    beside = word_set("beside")
    return any(word.text in beside for word in content[max(0, index - 2) : index])


def _names(words: list[Word]) -> bool:
    """Whether somebody or something is called by a name."""
    return any(_means(word, "called") for word in words)


def _introduces(following: list[Word], content: list[Word]) -> bool:
    """Whether a "me" only leads to somebody else: 我爸, I have a sister called."""
    kin = _section(following[1]) == "person" if len(following) > 1 else False
    if kin and following[0].text.removeprefix("the ") in word_set("kin_owners"):
        return True
    return any(_means(word, "have") for word in following) and _names(content)


def _chain(words: list[Word]) -> tuple[str, frozenset[int]]:
    """Return my brother's boss as one subject."""
    chain = [words[0]]
    for word in words[1:]:
        if _section(word) == "person":
            chain.append(word)
        elif word.entry is None or word.text not in ("的", "'s", "of"):
            break
    names = [concept for word in chain if word.entry for concept, _ in word.entry.concepts]
    return "/".join(names), frozenset(word.start for word in chain)


def people_in(words: list[Word]) -> frozenset[str]:
    """Return everybody mentioned; ``me`` only where the user acts."""
    people = {
        concept
        for word in words
        if word.entry and word.entry.section == "person"
        for concept, _ in word.entry.concepts
    }
    for word, after in zip(words, [*words[1:], _NOBODY], strict=False):
        if word.text in ("i", "we") or (word.text == "我" and not _is_owned(after)):
            people.add(ME)
    return frozenset(people)


def _is_owned(word: Word) -> bool:
    return _section(word) == "person" or word.text == "的"


def acts_as_person(words: list[Word], pivot: int, sections: set[str]) -> bool:
    """Return whether a person (or nobody in particular) does what the verb says.

    ``sections`` are those of the words.
    """
    if "leisure" in sections:
        return False
    if "me" in sections or "person" in sections:
        return True
    before = (word for word in words if word.start < pivot and not word.stop)
    return not any(word.entry is None or word.entry.concepts for word in before)


def _section(word: Word) -> str:
    return word.entry.section if word.entry else ""


def _means(word: Word, concept: str) -> bool:
    return word.entry is not None and concept in word.entry.names
