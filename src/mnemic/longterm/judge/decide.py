"""Which rule settles a pair, and how?

Rules are asked in order; the first that answers decides. Those that keep both texts come before those
that retire one, and a text is called a duplicate only when every word and amount is accounted for.
"""

from __future__ import annotations

from collections.abc import Callable

from mnemic.longterm.judge.cases import Case, heads, sections
from mnemic.longterm.judge.labels import Judgement, different, newer, same
from mnemic.longterm.judge.lexicon import lexicon
from mnemic.longterm.judge.reading import Reading, Token

__all__ = ["decide"]

Rule = Callable[[Case], Judgement | None]

_PRONOUNS = frozenset({"he", "she", "they", "partner", "family"})
_SLOTS = (
    frozenset({"live"}),
    frozenset({"work", "employed", "student", "retired", "study"}),
    frozenset({"married"}),
    frozenset({"veg"}),
)
_FROM, _TO = frozenset({"from", "从"}), frozenset({"to", "到", "给", "向", "往", "for"})
_THAN = frozenset({"than", "over", "比", "前"})
_ORDERED = frozenset({"prefer", "report_to", "lend", "borrow", "teach", "send", "receive", "before", "after"})


def decide(case: Case) -> Judgement:
    """Return the judgement of the first rule that answers."""
    for rule in _RULES:
        judgement = rule(case)
        if judgement is not None:
            return judgement
    return different("no_rule", sure=False)


def other_person(case: Case) -> Judgement | None:
    one, two = case.first.subject, case.second.subject
    if one == two or _PRONOUNS & set(one.split("/")) or _PRONOUNS & set(two.split("/")):
        return None
    return different("other_person")


def other_scope(case: Case) -> Judgement | None:
    """test / production, import / export: a setting named on both sides, not the same one."""
    lists = lexicon()
    for token in case.diff.left_first:
        rival = next((t for t in case.diff.left_second if t.section == token.section), None)
        if rival is None or not lists.tagged(token.key, "scope"):
            continue
        alone = len(case.diff.left_first) == len(case.diff.left_second) == 1 and not case.diff.clashes
        if not (alone and (case.changed or (token.tail and rival.tail and token.section != "env"))):
            return different("other_scope")
    return None


def other_direction(case: Case) -> Judgement | None:
    """From A to B is not from B to A."""
    roles = {t.key: t.role for t in case.second.tokens}
    for token in case.diff.shared:
        one, two = token.role, roles.get(token.key, "")
        if (one in _FROM and two in _TO) or (one in _TO and two in _FROM):
            return different("other_direction")
    return None


def other_item(case: Case) -> Judgement | None:
    """Room 12 and room 21: the number names the thing spoken of."""
    for one, two in case.diff.clashes:
        if one.is_item and two.is_item and not (
            case.first.in_tail(one) and case.second.in_tail(two)
        ):
            return different("other_item")
    return None


def corrected(case: Case) -> Judgement | None:
    """X, not Y: the second names the value of the first only to deny it."""
    denied = {t.key for t in case.second.tokens if t.sign < 0}
    stated = {t.key for t in case.first.tokens if t.sign > 0 and t.section not in ("axis", "additive")}
    kept = {t.key for t in case.second.tokens if t.sign > 0}
    if (denied & stated) - kept and case.diff.left_second and not heads(case.diff.left_first):
        return newer("corrected")
    return None


def other_time(case: Case) -> Judgement | None:
    """What was true in 2020 stays true whatever holds now."""
    one, two = _bounded(case.first), _bounded(case.second)
    dates = [pair for pair in case.diff.clashes if pair[0].kind == "date"]
    differs = bool(case.diff.left_first or case.diff.left_second or case.diff.clashes)
    if differs and one != two:
        return different("other_time")
    if one and two and dates:
        return different("other_time")
    return None


def _bounded(reading: Reading) -> bool:
    current = reading.flags & {"change", "now", "end"}
    year = any(m.kind == "date" and m.value[0] and m.value[1] is None for m in reading.marks)
    return not current and ("past" in reading.flags or year)


def plan_and_fact(case: Case) -> Judgement | None:
    """A plan never ends a fact; a fact ends the plan for the same thing."""
    one, two = _planned(case.first), _planned(case.second)
    moved = any(pair[0].kind in ("date", "time", "weekday") for pair in case.diff.clashes)
    if one == two or (moved and not case.left):
        return None
    if two:
        return None if case.second.flags & {"end"} and case.anchors else different("plan_not_fact")
    if _slot(case) is not None or (case.anchors and not case.left and not case.diff.clashes):
        return newer("plan_done")
    nouns = {t.key for t in case.diff.shared if t.section not in ("additive", "exclusive", "linking")}
    if nouns - {"project"} and case.second.flags & {"done", "end"}:
        return newer("plan_done", sure=False)
    return None


def _planned(reading: Reading) -> bool:
    return "plan" in reading.flags and not reading.flags & {"done"}


def kind_denied(case: Case) -> Judgement | None:
    """No longer fruit: no longer apples."""
    lists = lexicon()
    turned = bool(case.diff.flipped & {"like", "eat", "drink", "have"})
    for token in case.second.tokens:
        members = [t for t in case.first.tokens if t.sign > 0 and lists.covers(token.key, t.key)]
        if members and (token.sign < 0 or turned):
            return newer("kind_denied")
    return None


def turned_round(case: Case) -> Judgement | None:
    """The same said with the opposite sign."""
    flipped = case.diff.flipped
    odd = _odd(case.diff.left_first) != _odd(case.diff.left_second)
    if not flipped and not (odd and case.anchors):
        return None
    if case.other_head:
        return different("other_subject")
    about = case.anchors - flipped if flipped <= {"like"} else case.anchors | flipped
    if case.left and not case.changed and not (case.same_kind and not flipped <= {"like"}):
        if flipped - {"like"} and (flipped & _slot_words() or len(about) > 1):
            return newer("turned_round", sure=False)
        return different("other_object", sure=False)
    if about:
        return newer("turned_round")
    return None


def _slot_words() -> frozenset[str]:
    return frozenset().union(*_SLOTS)


def _odd(tokens: tuple[Token, ...]) -> bool:
    return sum(t.sign < 0 for t in tokens) % 2 == 1


def ended(case: Case) -> Judgement | None:
    """Sold, gave up, cancelled, no longer: what the first states has come to an end."""
    if "end" not in case.second.flags or "end" in case.first.flags or case.other_head:
        return None
    if case.anchors - {"live"} or _slot(case):
        return newer("ended", sure=not case.left)
    return None


def slot_filled(case: Case) -> Judgement | None:
    """One home, one job, one marital state: another value takes the place of the old one."""
    slot = _slot(case)
    if slot is None:
        return None
    if case.changed and (case.diff.left_second or case.diff.clashes):
        return newer("slot_changed")
    if not case.left:
        return None
    kinds = _aspects(case.diff.left_first), _aspects(case.diff.left_second)
    if kinds[0] and kinds[1] and not kinds[0] & kinds[1]:
        return different("other_attribute", sure=False)
    return newer("slot_changed", sure=False)


def _aspects(tokens: tuple[Token, ...]) -> frozenset[str]:
    return sections(tokens) | {t.key for t in tokens if t.section == "axis"}


def _slot(case: Case) -> frozenset[str] | None:
    one, two = _slot_keys(case.first), _slot_keys(case.second)
    return next((slot for slot in _SLOTS if slot & one and slot & two), None)


def _slot_keys(reading: Reading) -> frozenset[str]:
    jobs = frozenset({"work"} if any(t.section == "job" for t in reading.tokens) else ())
    return reading.keys | jobs


def amount_changed(case: Case) -> Judgement | None:
    """Another number, date, unit or version on the same thing."""
    if not case.diff.clashes:
        return None
    kind = case.diff.clashes[0][0].kind
    if case.other_head:
        return different("other_subject")
    if case.changed and (case.anchors or not case.left):
        return newer(f"{kind}_changed")
    if not case.left:
        return newer(f"{kind}_changed")
    return different("other_statement", sure=False)


def adds_up(case: Case) -> Judgement | None:
    """Also: the second stands beside the first."""
    beside = "also" in case.second.flags and not case.changed and "now" not in case.second.flags
    if beside and case.diff.left_second:
        return different("adds_up")
    return None


def accounted_for(case: Case) -> Judgement | None:
    """Nothing left on one side or on both."""
    diff = case.diff
    more_first = bool(diff.left_first or diff.extra_first)
    more_second = bool(diff.left_second or diff.extra_second)
    if case.left or diff.clashes or (more_first and more_second):
        return None
    if not (diff.shared or diff.agreed):
        return None
    if not more_first and not more_second:
        return _same_order(case)
    if more_first:
        return same("part_of")
    if _verb_missing(case):
        return different("tells_of_it", sure=False)
    return newer("restated_with_more")


def _verb_missing(case: Case) -> bool:
    """Whether the second only speaks of something in the first: I have a dog, my dog fears thunder."""
    lists = lexicon()
    verbs = {t.key for t in case.first.tokens if lists.tagged(t.key, "verb")}
    verbs = {key for key in verbs if not lists.tagged(key, "linking")}
    return bool(verbs - case.second.keys) and len(case.anchors) < 2


def _same_order(case: Case) -> Judgement:
    """Same words: only who does what, or what comes before what, can still be turned round."""
    if _compared(case.first) != _compared(case.second) or _clauses_differ(case):
        return newer("order_turned", sure=False)
    return same("same_content")


def _compared(reading: Reading) -> frozenset[tuple[str, str]]:
    """Return what stands after "than", "over" or (with an ordered verb) "to"."""
    ordered = bool(reading.keys & _ORDERED)
    return frozenset(
        (t.role, t.key)
        for t in reading.tokens
        if t.role in _THAN or (ordered and t.role in ("to", "给", "向"))
    )


def _clauses_differ(case: Case) -> bool:
    """Whether two clauses have swapped their words (Anna writes, Ben reviews)."""
    one, two = _clauses(case.first), _clauses(case.second)
    return len(one) > 1 and len(one) == len(two) and set(one) != set(two)


def _clauses(reading: Reading) -> list[frozenset[str]]:
    parts: dict[int, set[str]] = {}
    for token in reading.tokens:
        parts.setdefault(reading.clause(token.start), set()).add(token.key)
    for mark in reading.marks:
        parts.setdefault(reading.clause(mark.start), set()).add(f"{mark.kind}:{mark.value}")
    return [frozenset(part) for part in parts.values() if len(part) > 1]


def value_changed(case: Case) -> Judgement | None:
    """One thing, one attribute, another value."""
    if not case.left:
        return None
    if case.other_head:
        return None if case.changed and case.same_kind else different("other_subject")
    if case.changed and (case.anchors or case.same_kind):
        return newer("value_changed", sure=bool(case.anchors))
    single = case.verbs("one") - {"set"}
    if case.verbs("many") and not single & {"prefer", "favourite"}:
        return different("adds_up")
    if _new_verb(case.diff.left_first) and _new_verb(case.diff.left_second):
        return different("other_event")
    return _replaced(case, bool(single))


def _replaced(case: Case, single: bool) -> Judgement | None:
    one, two = case.diff.left_first, case.diff.left_second
    few = len(one) <= 3 and len(two) <= 3
    head = bool(heads(case.diff.shared)) or case.first.subject != "me"
    if case.same_kind and (single or head):
        return newer("value_changed")
    known = sections(one) and sections(two)
    if head and few and not known and not case.diff.extra_first:
        return newer("value_changed", sure=False)
    if single and few and not known and case.verbs("one") & {"prefer", "favourite", "called"}:
        return newer("value_changed", sure=False)
    return None


def _new_verb(tokens: tuple[Token, ...]) -> bool:
    lists = lexicon()
    return any(lists.tagged(t.key, "verb") for t in tokens)


_RULES: tuple[Rule, ...] = (
    other_person,
    other_scope,
    other_direction,
    other_item,
    corrected,
    other_time,
    plan_and_fact,
    kind_denied,
    turned_round,
    adds_up,
    ended,
    slot_filled,
    amount_changed,
    accounted_for,
    value_changed,
)
