"""When does the second text take the place of the first?

Corrections, plans carried out, negations, ends, states with one value at a time, changed amounts. Each
rule answers None when it does not apply.
"""

from __future__ import annotations

from mnemic.longterm.judge.cases import Case, aspects, heads
from mnemic.longterm.judge.labels import Judgement, different, newer
from mnemic.longterm.judge.lexicon import lexicon
from mnemic.longterm.judge.marks import Mark
from mnemic.longterm.judge.reading import Reading
from mnemic.longterm.judge.resources import word_set
from mnemic.longterm.judge.tokens import Token

__all__ = [
    "amount_changed",
    "corrected",
    "ended",
    "kind_denied",
    "plan_and_fact",
    "slot_filled",
    "turned_round",
]

_FEELINGS = frozenset({"like", "eat", "drink", "have"})
_TAKING = frozenset({"have", "adopt_pet", "buy"})
_TEMPORAL = frozenset({"date", "time", "weekday"})
_ACTS = frozenset({"additive", "exclusive", "linking"})
_STAGES = frozenset({"school_stage"})
_LIKING = frozenset({"like"})


def corrected(case: Case) -> Judgement | None:
    """X, not Y: the second names the value of the first only to deny it."""
    denied = {t.key for t in case.second.tokens if t.sign < 0}
    kept = {t.key for t in case.second.tokens if t.sign > 0}
    values = (t for t in case.first.tokens if t.section not in ("axis", "additive"))
    stated = {t.key for t in values if t.sign > 0}
    if (denied & stated) - kept and case.diff.left_second and not heads(case.diff.left_first):
        return newer("corrected")
    return None


def plan_and_fact(case: Case) -> Judgement | None:
    """A plan never ends a fact; a fact ends the plan for the same thing."""
    one, two = _planned(case.first), _planned(case.second)
    moved = any(pair[0].kind in _TEMPORAL for pair in case.diff.clashes)
    if one == two or (moved and not case.left):
        return None
    if two:
        gone = "end" in case.second.flags and case.anchors
        return None if gone else different("plan_not_fact")
    if case.slot is not None or (case.anchors and not case.left and not case.diff.clashes):
        return newer("plan_done")
    verbs = ("additive", "exclusive", "linking")
    if case.same_kind and case.diff.shared and "now" in case.second.flags:
        return newer("plan_replaced", sure=False)
    things = {t.key for t in case.diff.shared if t.section not in verbs} - {"project"}
    if things and case.second.flags & {"done", "end"}:
        return newer("plan_done", sure=False)
    return None


def _planned(reading: Reading) -> bool:
    soon = "soon" in reading.flags and "me" in reading.people
    return ("plan" in reading.flags or soon) and "done" not in reading.flags


def kind_denied(case: Case) -> Judgement | None:
    """No longer fruit: no longer apples."""
    lists = lexicon()
    turned = bool(case.diff.flipped & _FEELINGS)
    for token in case.first.tokens:
        if (
            token.sign < 0
            and not case.second.keys.isdisjoint(_TAKING)
            and any(t.sign > 0 and lists.covers(token.key, t.key) for t in case.second.tokens)
        ):
            return newer("kind_taken_up", sure=False)
    for token in case.second.tokens:
        if (token.sign < 0 or turned) and any(
            t.sign > 0 and lists.covers(token.key, t.key) for t in case.first.tokens
        ):
            return newer("kind_denied")
    return None


def turned_round(case: Case) -> Judgement | None:
    """The same said with the opposite sign."""
    flipped = case.diff.flipped
    odd = _odd(case.diff.left_first) != _odd(case.diff.left_second)
    if flipped and _only_placed_otherwise(case):
        return None
    if not flipped:
        return _one_denied(case) if odd and case.anchors else None
    if case.other_head or _describing(case):
        return different("other_subject")
    if _only_generic(case):
        return different("other_object", sure=False)
    liking = flipped <= _LIKING
    about = case.anchors - flipped if liking else case.anchors | flipped
    if case.left and not case.changed and not (case.same_kind and not liking):
        return _other_object(case, about)
    return newer("turned_round") if about else None


def _only_placed_otherwise(case: Case) -> bool:
    """Whether both deny one thing, only that "not" stands at another word of it (eat no meat)."""
    denied = [_denied(reading) for reading in (case.first, case.second)]
    if len(denied[0]) != len(denied[1]) or not denied[0] or case.diff.clashes:
        return False
    acts = [{token.section in _ACTS for token in side} for side in denied]
    kinds = [{token.section for token in side} for side in denied]
    apart = not kinds[0] & kinds[1] and all(_is_one_clause(r) for r in (case.first, case.second))
    return acts[0] != acts[1] or apart


def _is_one_clause(reading: Reading) -> bool:
    return len({reading.clause(token.start) for token in reading.tokens}) == 1


def _denied(reading: Reading) -> list[Token]:
    return [token for token in reading.tokens if token.sign < 0 and token.section != "axis"]


def _only_generic(case: Case) -> bool:
    """Whether no more is shared than a verb like have or use, with another sign."""
    more = case.diff.left_first or case.diff.left_second
    bare = case.diff.flipped <= word_set("generic") and not case.anchors - case.diff.flipped
    return bool(more) and bare


def _describing(case: Case) -> bool:
    """Whether what is turned round tells two things apart: the big room, the small room."""
    turned = [t for t in (*case.first.tokens, *case.second.tokens) if t.key in case.diff.flipped]
    parts = case.left or bool(case.diff.clashes)
    return parts and all(t.key in word_set("attributive") and not t.tail for t in turned)


def _one_denied(case: Case) -> Judgement:
    """Only one text denies something, and the other does not mention that."""
    if len(case.anchors) > 2:
        return newer("turned_round", sure=False)
    if case.other_head:
        return different("other_subject")
    if case.left and "called" in case.verbs("linking"):
        return newer("renamed")
    if case.left and not case.changed and not case.same_kind:
        return _other_object(case, case.anchors)
    return newer("turned_round")


def _other_object(case: Case, about: frozenset[str]) -> Judgement:
    """Opposite signs, and each text names something of its own: tea liked, milk disliked."""
    flipped = case.diff.flipped
    few = len(case.diff.left_first) == len(case.diff.left_second) == 1
    state = bool(case.slot and case.slot & flipped)
    if case.diff.extra_second and not case.anchors - flipped:
        return different("other_object", sure=False)
    if ((flipped - _LIKING and _short(case)) or few) and (state or len(about) > 1):
        return newer("turned_round", sure=False)
    return different("other_object", sure=False)


def _short(case: Case) -> bool:
    return max(len(case.diff.left_first), len(case.diff.left_second)) < 2


def _odd(tokens: tuple[Token, ...]) -> bool:
    return sum(token.sign < 0 and token.section != "axis" for token in tokens) % 2 == 1


def ended(case: Case) -> Judgement | None:
    """Sold, gave up, cancelled, no longer: what the first states has come to an end."""
    if "end" not in case.second.flags or "end" in case.first.flags or case.other_head:
        return None
    if case.anchors - {"live"} or case.slot:
        return newer("ended", sure=not case.left)
    return None


def slot_filled(case: Case) -> Judgement | None:
    """One home, one job, one marital state: another value takes the place of the old one."""
    if case.slot is None or (case.other_head and case.slot != _STAGES):
        return None
    if case.changed and (case.diff.left_second or case.diff.clashes):
        return newer("slot_changed")
    if not case.left:
        return None
    if _described(case) and "now" not in case.second.flags:
        return different("other_subject", sure=False)
    one, two = (aspects(side) - case.slot for side in (case.diff.left_first, case.diff.left_second))
    if one and two and not one & two and "now" not in case.second.flags:
        return different("other_attribute", sure=False)
    return newer("slot_changed", sure=False)


def _described(case: Case) -> bool:
    """Whether a word before the verb tells of which home or school the text speaks."""
    left = (*case.diff.left_first, *case.diff.left_second)
    if case.slot == _STAGES:
        return len(left) > 2 or any(not token.known for token in left)
    return any(token.key not in word_set("unnumbered") for token in heads(left))


def _is_named_by(case: Case, pair: tuple[Mark, Mark]) -> bool:
    """Whether a day or hour before the verb tells two things apart: the Monday shift."""
    before = not (case.first.in_tail(pair[0]) or case.second.in_tail(pair[1]))
    return before and pair[0].kind in _TEMPORAL


def amount_changed(case: Case) -> Judgement | None:
    """Another number, date, unit or version on the same thing."""
    if not case.diff.clashes:
        return None
    kinds = {pair[0].kind in _TEMPORAL for pair in case.diff.clashes}
    if len(kinds) == 2 and not case.changed:
        return different("other_event", sure=False)
    differing = len(case.diff.clashes) > 1 or case.left
    if (
        differing
        and not case.changed
        and any(_is_named_by(case, pair) for pair in case.diff.clashes)
    ):
        return different("other_event", sure=False)
    if not case.anchors and not case.changed and (case.diff.left_first or case.diff.left_second):
        return different("other_statement", sure=False)
    why = f"{case.diff.clashes[0][0].kind}_changed"
    if case.other_head:
        return different("other_subject")
    if not case.left or (case.changed and case.anchors):
        return newer(why)
    if case.anchors and case.second.flags & {"done", "perfect", "now"}:
        return newer(why, sure=False)
    return different("other_statement", sure=False)
