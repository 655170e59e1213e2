"""Where do two readings meet and where do they part?"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from mnemic.longterm.judge.lexicon import lexicon
from mnemic.longterm.judge.marks import Mark, agree
from mnemic.longterm.judge.reading import Reading
from mnemic.longterm.judge.resources import lines, word_set
from mnemic.longterm.judge.tokens import Token

__all__ = ["Difference", "compare"]

_PLAIN = frozenset({"number", "count", "times", "points", "floor", "rate"})
_COUNTS = frozenset({"count", "number"})
_LIGHT = frozenset({"have", "eat", "drink", "take_in", "choose", "make", "need", "prefer", "know"})

# Who does a thing for a living, and doing it.
_AGENTS = frozenset(
    pair
    for verb, job in (
        ("teach", "teacher_job"),
        ("write", "writer"),
        ("drive", "driver"),
        ("design", "designer"),
        ("lead", "boss"),
        ("paint", "painter"),
        ("sell", "sales"),
        ("make", "programmer"),
        ("test", "tester"),
        ("pay", "payment_day"),
        ("smoke", "cigarette"),
    )
    for pair in ((verb, job), (job, verb))
)
_DOUBLED = re.compile(r"(.)\1")
_PRONOUNS = frozenset({"he", "she", "they"})
_WISHES = frozenset({"prefer", "like"})
_WAY = frozenset({"work", "commute"})


@lru_cache(maxsize=1)
def _implied() -> dict[str, frozenset[str]]:
    """Return for a concept those that say it too: whoever rents a flat lives there."""
    pairs = (line.split(">") for line in lines("implied.txt"))
    return {key.strip(): frozenset(words.split()) for key, words in pairs}


class Difference(NamedTuple):
    """What two readings share and what each says alone.

    ``flipped`` are shared concepts with opposite signs, ``clashes`` amounts of one kind with other
    values, ``left_first`` and ``left_second`` what only one says (light words left out), ``extra_first``
    and ``extra_second`` amounts without a counterpart.
    """

    shared: tuple[Token, ...]
    flipped: frozenset[str]
    left_first: tuple[Token, ...]
    left_second: tuple[Token, ...]
    clashes: tuple[tuple[Mark, Mark], ...]
    extra_first: tuple[Mark, ...]
    extra_second: tuple[Mark, ...]
    agreed: int


def compare(first: Reading, second: Reading) -> Difference:
    """Return the difference of two readings."""
    met = _met(first, second)
    left_first = [t for t in first.tokens if t not in met]
    left_second = [t for t in second.tokens if t not in met]
    shared = tuple([t for t in first.tokens if t in met])
    signed = {(token.key, token.sign) for token in second.tokens}
    flipped = frozenset(
        [t.key for t in first.tokens if t.key in second.keys and (t.key, t.sign) not in signed]
    )
    clashes, extra_first, extra_second, agreed = _amounts(first.marks, second.marks)
    extra_first = _uncounted(extra_first, second)
    extra_second = _uncounted(extra_second, first)
    return Difference(
        shared,
        flipped,
        tuple([t for t in left_first if _tells(t, second, left_second)]),
        tuple([t for t in left_second if _tells(t, first, left_first)]),
        clashes,
        extra_first,
        extra_second,
        agreed,
    )


def _met(first: Reading, second: Reading) -> set[Token]:
    """Return the tokens of either reading that have a counterpart in the other."""
    keys_first, keys_second = first.keys, second.keys
    named = "called" in keys_first or "called" in keys_second
    met = {t for t in first.tokens if t.key in keys_second and not _other_name(t, second, named)}
    met |= {t for t in second.tokens if t.key in keys_first and not _other_name(t, first, named)}
    rest = [t for t in second.tokens if t not in met]
    for token in first.tokens:
        if token in met:
            continue
        twin = next((other for other in rest if _same_word(token, other, named)), None)
        if twin is not None:
            met |= {token, twin}
            rest.remove(twin)
    return met


def _other_name(token: Token, other: Reading, named: bool) -> bool:
    """Whether the other reading has only another spelling of a name (Row, Rowe)."""
    if not token.name and (not named or token.known):
        return False
    twins = [t for t in other.tokens if t.key == token.key]
    is_name = token.name and all(twin.name for twin in twins)
    if not is_name and (not named or token.known):
        return False
    bare = token.text.removesuffix("'s")
    return all(t.text.removesuffix("'s") != bare for t in twins)


def _same_word(first: Token, second: Token, named: bool) -> bool:
    """Whether two words are one, misspelt or written shorter; names and listed pairs never are."""
    if (first.key, second.key) in _AGENTS:
        return first.sign == second.sign
    if (
        named
        or first.name
        or second.name
        or (first.known and second.known)
        or first.sign != second.sign
    ):
        return False
    one, two = first.text, second.text
    if one.isascii() and two.isascii():
        one, two = one.replace("ph", "f"), two.replace("ph", "f")
        if not (one.isalpha() and two.isalpha()):
            return False
        long_enough = len(one) >= 5 and len(two) >= 5
        return (long_enough and _near(one, two)) or _DOUBLED.sub(r"\1", one) == _DOUBLED.sub(
            r"\1", two
        )
    short, long = sorted((one, two), key=len)
    if len(short) < 2 or len(long) != len(short) + 1:
        return False
    return long.endswith(short) or (long.startswith(short) and long[-1] in word_set("suffixes"))


def _near(one: str, two: str) -> bool:
    """Whether one edit (or two neighbours swapped) turns one word into the other."""
    if one[0] != two[0] or abs(len(one) - len(two)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), None)
    if start is None:
        return True
    rest_one, rest_two = one[start:], two[start:]
    return (
        rest_one[1:] == rest_two[1:]
        or rest_one == rest_two[1:]
        or rest_one[1:] == rest_two
        or (rest_one[:2] == rest_two[1::-1] and rest_one[2:] == rest_two[2:])
    )


def _tells(token: Token, other: Reading, others_left: list[Token]) -> bool:
    """Whether a word without counterpart says something the other reading does not."""
    lists = lexicon()
    if token.section == "period" and "period" not in other.sections:
        return not any(mark.kind in ("weekday", "time", "times") for mark in other.marks)
    if lists.tagged(token.key, "weak"):
        return not lists.tagged(token.key, "linking") and _has_rival(token, others_left)
    if token.key in _PRONOUNS:
        return False
    if token.key in _WISHES and not other.keys.isdisjoint(_WISHES):
        return token.sign < 0
    if token.key in _LIGHT:
        return token.sign < 0 or (token.key == "prefer" and "me" in other.people)
    if token.key == "work" and ("job" in other.sections or "workplace" in other.sections):
        return token.sign < 0
    if token.key in _WAY and not other.keys.isdisjoint(_WAY):
        return token.sign < 0
    if token.sign > 0 and _implied().get(token.key, frozenset()) & other.keys:
        return False
    if token.section == "part":
        return _has_rival(token, others_left) or not any(m.kind == "time" for m in other.marks)
    # What belongs to a kind the other names adds nothing of its own kind: 布偶猫 is a 猫.
    return not (token.sign > 0 and lists.covers_any(token.key, other.keys))


def _has_rival(token: Token, others_left: list[Token]) -> bool:
    """Whether a word of the same section is left of the other text."""
    return bool(token.section) and any(t.section == token.section for t in others_left)


def _amounts(
    first: tuple[Mark, ...], second: tuple[Mark, ...]
) -> tuple[tuple[tuple[Mark, Mark], ...], tuple[Mark, ...], tuple[Mark, ...], int]:
    rest_first, rest_second = list(first), list(second)
    agreed = 0
    for mark in first:
        for twin in rest_second:
            if _comparable(mark, twin) and agree(mark, twin):
                rest_first.remove(mark)
                rest_second.remove(twin)
                agreed += 1
                break
    clashes: list[tuple[Mark, Mark]] = []
    for mark in tuple(rest_first):
        for rival in rest_second:
            if _comparable(mark, rival):
                clashes.append((mark, rival))
                rest_first.remove(mark)
                rest_second.remove(rival)
                break
    if len(rest_first) == len(rest_second) == 1:
        if _measured(rest_first[0], rest_second[0]):
            clashes.append((rest_first.pop(), rest_second.pop()))
        elif not clashes and _same_item(rest_first[0], rest_second[0]):
            rest_first, rest_second, agreed = [], [], agreed + 1
    return tuple(clashes), _telling(rest_first), _telling(rest_second), agreed


def _uncounted(marks: tuple[Mark, ...], other: Reading) -> tuple[Mark, ...]:
    """Leave out a count that the other text gives by listing: three, A and B and C."""
    most = (float(len(other.tokens)),)
    if not any(mark.kind in _COUNTS and mark.value <= most for mark in marks):
        return marks
    unlisted_kinds = word_set("not_listed")
    sections = [t.section for t in other.tokens if t.section and t.section not in unlisted_kinds]
    listed = {sections.count(section) for section in sections}
    unlisted = sum(token.name and not token.known for token in other.tokens)
    sizes = {(float(n),) for n in listed | {n + unlisted for n in listed} | {unlisted}} - {(1.0,)}
    return tuple(m for m in marks if not (m.kind in _COUNTS and m.value in sizes))


def _one_noun(first: str, second: str) -> bool:
    open_noun = {"", "number"} & {first, second}
    return bool(open_noun) or first == second or (first[-1] == second[-1] and not first.isascii())


def _telling(marks: list[Mark]) -> tuple[Mark, ...]:
    """Leave out the 1 of "one cat", which says no more than "a cat"."""
    return tuple(m for m in marks if not (m.kind in _COUNTS and m.value == (1.0,)))


def _measured(first: Mark, second: Mark) -> bool:
    """Whether two amounts can stand for one another although their units measure other things."""
    return {first.kind, second.kind} <= {"mass", "volume", "length", "area"}


def _same_item(first: Mark, second: Mark) -> bool:
    """Whether one numbered thing goes by two nouns or by its number alone: bus 12, 12路."""
    either = first.is_item or second.is_item
    return (
        either and {first.kind, second.kind} <= {"item", "number"} and first.value == second.value
    )


def _comparable(first: Mark, second: Mark) -> bool:
    one, two = first.kind, second.kind
    if one == "item" or two == "item":
        # The name of a thing never meets an amount, nor the name of another kind of thing.
        return one == two and _one_noun(first.noun, second.noun)
    if one == two:
        return True
    if "number" in (one, two) and len(first.value) == len(second.value) == 1:
        return first.value == second.value or (one in _PLAIN and two in _PLAIN)
    return one in _PLAIN and two in _PLAIN
