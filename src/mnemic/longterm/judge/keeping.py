"""When do both texts stay true because they speak of different things?

Each rule looks at one way of being about something else (person, setting, direction, key, numbered
thing, time) and answers None when it does not apply.
"""

from __future__ import annotations

from collections import Counter

from mnemic.longterm.judge.cases import Case, heads
from mnemic.longterm.judge.labels import Judgement, different, newer, same
from mnemic.longterm.judge.lexicon import lexicon
from mnemic.longterm.judge.marks import Mark
from mnemic.longterm.judge.reading import Reading
from mnemic.longterm.judge.resources import word_set
from mnemic.longterm.judge.tokens import Token

__all__ = [
    "adds_up",
    "other_direction",
    "other_item",
    "other_key",
    "other_person",
    "other_scope",
    "other_time",
]

_PRONOUNS = frozenset({"he", "she", "they"})
_ANYBODY = _PRONOUNS


def other_person(case: Case) -> Judgement | None:
    """My mother and my father; but "I cook, my wife washes up" can be turned round."""
    one, two = case.first.subject, case.second.subject
    if one == two == "me" and _others_own(case):
        return different("other_person", sure=False)
    if _same_person(one, two) or _ANYBODY & {*one.split("/"), *two.split("/")}:
        return None
    role = case.first.subject if case.first.flags & {"states"} else ""
    if role in case.second.keys and case.second.flags & {"now", "change"}:
        return newer("role_passed_on", sure=False)
    if "end" in case.second.flags and "states" in case.first.flags and case.anchors:
        return None if case.diff.left_second else newer("ended", sure=False)
    both = case.first.people == case.second.people and len(case.first.people) > 1
    rest = (*case.diff.left_first, *case.diff.left_second)
    if both and not case.diff.clashes and all(token.section == "person" for token in rest):
        told = "me" not in case.first.people and not (
            case.diff.extra_first or case.diff.extra_second
        )
        return same("same_content", False) if told else newer("order_turned", sure=False)
    return different("other_person")


def _others_own(case: Case) -> bool:
    """Whether one text is about what is his or hers and the other is not."""
    if case.first.keys.isdisjoint(_PRONOUNS) == case.second.keys.isdisjoint(_PRONOUNS):
        return False
    return case.left and len(case.first.people | case.second.people) <= 2


def _same_person(one: str, two: str) -> bool:
    """Whether two ways to name a person can mean the same one: brother, elder brother."""
    if one == two:
        return True
    pairs = list(zip(one.split("/"), two.split("/"), strict=False))
    related = all(a == b or lexicon().covers(a, b) or lexicon().covers(b, a) for a, b in pairs)
    return related and one.count("/") == two.count("/")


def other_scope(case: Case) -> Judgement | None:
    """test / production, import / export: a setting named on both sides, not the same one."""
    lists = lexicon()
    for token in case.diff.left_first:
        rival = next((t for t in case.diff.left_second if t.section == token.section), None)
        if rival and lists.tagged(token.key, "scope") and not _is_value(case, token, rival):
            return different("other_scope")
    return None


def _is_value(case: Case, token: Token, rival: Token) -> bool:
    """Whether a setting is all that differs and is what the texts state: it moved."""
    sizes = len(case.diff.left_first), len(case.diff.left_second), len(case.diff.clashes)
    stated = token.tail and rival.tail and token.section != "env"
    moved = case.changed and token.tail and rival.tail and token.section == "platform"
    return moved or (sizes == (1, 1, 0) and (case.changed or stated))


def other_direction(case: Case) -> Judgement | None:
    """From A to B is not from B to A, and who lends is not who borrows."""
    to, start = word_set("to"), word_set("from")
    roles = {token.key: token.role for token in case.second.tokens}
    for token in case.diff.shared:
        one, two = token.role, roles.get(token.key, "")
        if (one in start and two in to) or (one in to and two in start):
            return different("other_direction")
    ordered = case.first.keys & case.second.keys & (word_set("ordered") | {"called"})
    if ordered and (case.left or case.diff.clashes) and _zones_swapped(case):
        return different("other_direction", sure=False)
    return None


def _zones_swapped(case: Case) -> bool:
    zones = {token.key: token.tail for token in case.second.tokens}
    things = (token for token in case.diff.shared if not token.known)
    return any(token.tail != zones.get(token.key, token.tail) for token in things)


def other_key(case: Case) -> Judgement | None:
    """Two quoted keys are two settings."""
    one = {words for words, start in case.first.quoted if start < case.first.pivot}
    two = {words for words, start in case.second.quoted if start < case.second.pivot}
    return different("other_key") if one - two and two - one else None


def other_item(case: Case) -> Judgement | None:
    """Fact 12 and fact 21: the number names the thing spoken of, unless it is what is stated of it."""
    items = [pair for pair in case.diff.clashes if pair[0].is_item]
    if _items_swapped(case) or not all(_is_stated(case, one, two) for one, two in items):
        return different("other_item")
    return None


def _items_swapped(case: Case) -> bool:
    """Whether two things of one noun have changed sides: item 1 follows item 2."""
    first = _zones(case.first)
    second = _zones(case.second) if first else {}
    return any(second.get(item, tail) != tail for item, tail in first.items())


def _zones(reading: Reading) -> dict[Mark, int]:
    """Return before or after the verb (without a verb: as the how manieth) each thing is named."""
    items = [mark for mark in reading.marks if mark.is_item]
    if len(items) < 2:
        return {}
    nouns = Counter(mark.noun for mark in items)
    paired = [mark for mark in items if nouns[mark.noun] > 1]
    verbless = all(mark.end < reading.pivot for mark in reading.marks)
    return {
        mark._replace(start=0, end=0): place if verbless else int(reading.in_tail(mark))
        for place, mark in enumerate(paired)
    }


def _is_stated(case: Case, one: Mark, two: Mark) -> bool:
    """Whether a numbered thing is where or what something is now: I park in bay 12."""
    if one.noun in ("grade", "年级") and case.first.subject != "me":
        return True
    if not (case.first.in_tail(one) and case.second.in_tail(two)):
        return False
    if case.changed or "now" in case.second.flags:
        return True
    shared = {token.key for token in case.diff.shared}
    copulas = "states" in case.first.flags and "states" in case.second.flags
    described = copulas and heads(case.diff.shared) and not case.verbs("many")
    return bool(described or shared & word_set("stative"))


def other_time(case: Case) -> Judgement | None:
    """What was true in 2020 stays true whatever holds now."""
    one, two = _bounded(case.first), _bounded(case.second)
    dates = any(pair[0].kind == "date" for pair in case.diff.clashes)
    extra = (m for m in (*case.diff.extra_first, *case.diff.extra_second) if m.kind != "date")
    words = case.diff.left_first or case.diff.left_second
    differs = bool(words or case.diff.clashes or any(extra))
    if (differs and one != two) or (one and two and dates):
        return different("other_time")
    return None


def _bounded(reading: Reading) -> bool:
    current = reading.flags & {"change", "now", "end"}
    year = any(m.kind == "date" and m.value[0] and m.value[1] is None for m in reading.marks)
    return not current and ("past" in reading.flags or year)


def adds_up(case: Case) -> Judgement | None:
    """Also: the second stands beside the first."""
    beside = "also" in case.second.flags and not case.changed and "now" not in case.second.flags
    return different("adds_up") if beside and case.diff.left_second else None
