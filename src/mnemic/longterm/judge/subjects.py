"""Whom is a statement about: the user, or which other person?"""

from __future__ import annotations

from mnemic.longterm.judge.lexicon import lexicon
from mnemic.longterm.judge.resources import word_set
from mnemic.longterm.judge.words import Word

__all__ = ["ME", "acts_as_person", "named_users", "people_in", "subject_of"]

ME = "me"
_NOBODY = Word("", None, 0)
_USERS = frozenset({"user", "用户"})


def named_users(words: list[Word]) -> list[Word]:
    """Tell "the user table" (a thing) from "the user" (who this memory is about)."""
    if not any(word.text in _USERS for word in words):
        return words
    users = lexicon().english[("users",)]
    return [
        word._replace(entry=users)
        if word.text in _USERS and after.text in word_set("user_things")
        else word
        for word, after in zip(words, [*words[1:], _NOBODY], strict=False)
    ]


def subject_of(words: list[Word]) -> tuple[str, frozenset[int]]:
    """Return who the statement is about (``me`` or persons) and the starts of the words saying so."""
    content = [word for word in words if not word.stop]
    # "I have a sister called Ida" is about the sister.
    named = any(word.entry is not None and "called" in word.entry.names for word in content)
    for index, word in enumerate(content):
        if word.entry and "verb" in word.entry.tags and not (named and _means(word, "have")):
            break
        section = _section(word)
        beside = any(w.text in word_set("beside") for w in content[max(0, index - 2) : index])
        if section == "person" and not beside and word.text not in word_set("others_own"):
            return _chain(content[index : index + 4])
        if section == "me" and word.text not in word_set("possessive"):
            if not _introduces(content[index : index + 4], named):
                break
        elif section not in ("me", "particle", "flag") and index > 3:
            break
    return ME, frozenset()


def _introduces(following: list[Word], named: bool) -> bool:
    """Whether a "me" only leads to somebody else: 我爸, I have a sister called."""
    kin = _section(following[1]) == "person" if len(following) > 1 else False
    has = named and any(_means(word, "have") for word in following)
    return has or (kin and following[0].text.removeprefix("the ") in word_set("kin_owners"))


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


def acts_as_person(words: list[Word], pivot: int) -> bool:
    """Return whether a person (or nobody in particular) does what the verb says."""
    if any(_section(word) == "leisure" for word in words):
        return False
    if any(_section(word) in ("me", "person") for word in words):
        return True
    before = (word for word in words if word.start < pivot and not word.stop)
    return not any(word.entry is None or word.entry.concepts for word in before)


def _section(word: Word) -> str:
    return word.entry.section if word.entry else ""


def _means(word: Word, concept: str) -> bool:
    return word.entry is not None and concept in word.entry.names
