"""Is every word accounted for, and if not: is what differs one value of one thing?"""

from __future__ import annotations

from itertools import combinations

from mnemic.longterm.judge.cases import Case, aspects, heads
from mnemic.longterm.judge.labels import Judgement, different, newer, same
from mnemic.longterm.judge.lexicon import lexicon
from mnemic.longterm.judge.reading import Reading
from mnemic.longterm.judge.resources import word_set
from mnemic.longterm.judge.tokens import Token

__all__ = ["accounted_for", "translated", "value_changed"]

_ALIKE, _UNLIKE = 0.88, 0.4
_CHOSEN = frozenset({"prefer", "favourite"})


def accounted_for(case: Case) -> Judgement | None:
    """Nothing left on one side or on both."""
    diff = case.diff
    more_first = bool(diff.left_first or diff.extra_first)
    more_second = bool(diff.left_second or diff.extra_second)
    if diff.clashes or (more_first and more_second) or not (diff.shared or diff.agreed):
        return None
    if case.quotes_differ:
        return newer("quoted_value_changed")
    if (more_first or more_second) and not case.anchors:
        return None
    if more_second:
        missing = _verb_missing(case)
        return different("tells_of_it", False) if missing else newer("restated_with_more")
    if "was" in case.second.flags - case.first.flags and not case.second.flags & {"now", "change"}:
        return newer("now_past", sure=False)
    fresh = case.second.flags - case.first.flags
    if more_first and "now" in fresh and case.diff.left_first:
        return newer("now_otherwise", sure=False)
    if more_first and _main_verb_missing(case):
        return different("mentions_it", False)
    return same("part_of") if more_first else _same_order(case)


def _main_verb_missing(case: Case) -> bool:
    """Whether all that is shared is one thing, of which the first tells something else."""
    lists = lexicon()
    verbs = {t.key for t in case.diff.left_first if lists.tagged(t.key, "verb")}
    gone = verbs - {"call", "tell", "know"}
    return bool(gone) and len(case.diff.shared) < 2 and not case.diff.agreed


def _verb_missing(case: Case) -> bool:
    """Whether the second only speaks of something in the first: I have a dog, my dog fears thunder."""
    lists = lexicon()
    verbs = {t.key for t in case.first.tokens if lists.tagged(t.key, "verb")}
    own = {key for key in verbs if not lists.tagged(key, "linking")} - case.second.keys
    return bool(own) and len(case.anchors) < 2


def _same_order(case: Case) -> Judgement:
    """Same words: only who does what, or what comes before what, can still be turned round."""
    if _compared(case.first) != _compared(case.second) or _clauses_differ(case):
        return newer("order_turned", sure=False)
    if "end" in case.second.flags - case.first.flags:
        return newer("ended", sure=False)
    if "finished" in case.second.flags - case.first.flags:
        return newer("finished", sure=False)
    if "ongoing" in case.first.flags - case.second.flags and "perfect" in case.second.flags:
        return newer("finished", sure=False)
    return same("same_content")


def _compared(reading: Reading) -> frozenset[tuple[str, str]]:
    """Return what stands after "than", "over" or (with an ordered verb) "to"."""
    than, to = word_set("than"), frozenset({"to", "给", "向"})
    roles = than | to if reading.keys & word_set("ordered") else than
    return frozenset((t.role, t.key) for t in reading.tokens if t.role in roles)


def _clauses_differ(case: Case) -> bool:
    """Whether two clauses have swapped their words (Anna writes, Ben reviews)."""
    common = frozenset(t.key for t in case.diff.shared) - {"work"}
    one, two = _clauses(case.first, common), _clauses(case.second, common)
    kinds = {t.key: "name" if t.name else t.section for t in case.diff.shared}
    kinds |= {key: key.split(":")[0] for key in one if key not in kinds}
    mixed = [{c for c in set(side.values()) if _mixed(side, kinds, c)} for side in (one, two)]
    rivals = (
        (a, b)
        for a, b in combinations(sorted(one.keys() & two.keys()), 2)
        if kinds[a] == kinds[b] and one[a] != one[b] and two[a] != two[b]
        if {one[a], one[b]} <= mixed[0] and {two[a], two[b]} <= mixed[1]
    )
    return any(
        (one[a] == one[c] and two[b] == two[c]) or (one[b] == one[c] and two[a] == two[c])
        for a, b in rivals
        for c in one.keys() & two.keys() - {a, b}
    )


def _mixed(side: dict[str, int], kinds: dict[str, str], clause: int) -> bool:
    """Whether a clause names things of more than one kind, so that it says who has what."""
    return len({kinds[key] for key, place in side.items() if place == clause and key in kinds}) > 1


def _clauses(reading: Reading, common: frozenset[str]) -> dict[str, int]:
    """Return in which clause each shared word and each amount stands."""
    places = {t.key: reading.clause(t.start) for t in reading.tokens if t.key in common}
    marks = {f"{m.kind}:{m.value}": reading.clause(m.start) for m in reading.marks}
    return places | marks


def translated(case: Case) -> Judgement | None:
    """Two languages, words on both sides that the lists lack, and the encoder finds them alike."""
    diff = case.diff
    if diff.clashes or diff.extra_first or diff.extra_second or not case.anchors:
        return None
    sides = (diff.left_first, diff.left_second)
    strange = all(len(side) <= 2 and any(not t.known for t in side) for side in sides)
    crossing = case.first.is_han != case.second.is_han
    if crossing and strange and (case.similarity or 0.0) >= _ALIKE:
        return same("translated", sure=False)
    return None


def value_changed(case: Case) -> Judgement | None:
    """One thing, one attribute, another value."""
    more = case.diff.left_second or case.diff.extra_second
    if case.changed and more and case.anchors and not case.other_head:
        return _likes_it(case) or newer("value_changed")
    if not case.left:
        return None
    if case.other_head and _took_over(case):
        return newer("value_changed", sure=False)
    if case.other_head:
        return None if case.changed and case.same_kind else different("other_subject")
    if case.changed and case.same_kind and (case.anchors or _only_values(case)):
        return newer("value_changed", sure=False)
    single = case.verbs("one") - {"set"}
    if not single and ("called" in case.first.keys) != ("called" in case.second.keys):
        return different("other_attribute", sure=False)
    if "now" in case.second.flags and case.anchors:
        return newer("value_changed", sure=False)
    return _other_verb(case, single) or _replaced(case, single)


def _likes_it(case: Case) -> Judgement | None:
    """What somebody likes may be used for something else (games liked, Friday is games night)."""
    liking = any(t.key == "like" and t.sign > 0 for t in case.diff.left_first)
    denied = any(t.sign < 0 for t in case.second.tokens)
    ended = "end" in case.second.flags
    return different("only_mentions_it", False) if liking and not (denied or ended) else None


def _took_over(case: Case) -> bool:
    """Kim is the designer; Lee is the designer now."""
    one, two = case.diff.left_first, case.diff.left_second
    alone = _values(one) == _values(two) == 1 and not any(t.known or t.tail for t in (*one, *two))
    agent = any(token.role in ("由", "by") for token in two)
    return alone and "now" in case.second.flags and (agent or not case.verbs("many"))


def _only_values(case: Case) -> bool:
    """Whether the second names nothing but a value of the kind the first has: switched to tea."""
    kinds = {token.section for token in case.diff.left_second}
    met = kinds <= {token.section for token in case.diff.left_first} and len(kinds) == 1
    return "change" in case.second.flags and met and all(t.sign > 0 for t in case.diff.left_first)


def _other_verb(case: Case, single: frozenset[str]) -> Judgement | None:
    """Likes add up, and another verb tells another thing."""
    one, two = _has_verb(case.diff.left_first), _has_verb(case.diff.left_second)
    if "own_way" in case.verbs("weak") and case.anchors - {"own_way"}:
        return newer("value_changed", sure=False)
    if case.verbs("many") and not single & _CHOSEN:
        return different("adds_up")
    if case.anchors and "ongoing" in case.first.flags and "done" in case.second.flags:
        return newer("finished", sure=False)
    if one and two:
        return different("other_event")
    return different("other_attribute", sure=False) if one != two and not single else None


def _replaced(case: Case, single: frozenset[str]) -> Judgement | None:
    one, two = case.diff.left_first, case.diff.left_second
    if "wear" in single and "now" not in case.second.flags:
        return different("adds_up", sure=False)
    if "lead" in single and not {"states"} & case.first.flags & case.second.flags:
        return different("adds_up", sure=False)
    head = bool(heads(case.diff.shared)) or (case.first.subject != "me" and bool(case.diff.shared))
    if _values(one) > 1 and _values(two) > 1:
        return None
    if case.same_kind and (single or head):
        return newer("value_changed")
    if case.quotes_differ and case.anchors:
        return newer("quoted_value_changed", sure=False)
    if ("have" in case.first.keys) != ("have" in case.second.keys):
        return None
    stated = case.first.flags ^ case.second.flags
    if _looks(one) != _looks(two) or ("states" in stated and not case.second.is_han and not single):
        return None
    if _values(one) > 1 or _values(two) > 1 or (aspects(one) and aspects(two)):
        return None
    extra = case.diff.extra_first or case.diff.extra_second
    unlike = case.similarity is not None and case.similarity < _UNLIKE
    if (head and not extra and not unlike) or single & (_CHOSEN | {"called"}):
        return newer("value_changed", sure=False)
    return None


def _looks(tokens: tuple[Token, ...]) -> bool:
    """Whether words describe (black, cheap) rather than name."""
    return any(token.section in ("colour", "axis") for token in tokens)


def _values(tokens: tuple[Token, ...]) -> int:
    """Return how many things the tokens name; a name of several words is one."""
    follows = zip(tokens, (None, *tokens), strict=False)
    return sum(
        before is None or token.known or before.known or bool(token.role)
        for token, before in follows
    )


def _has_verb(tokens: tuple[Token, ...]) -> bool:
    lists = lexicon()
    return any(lists.tagged(token.key, "verb") for token in tokens)
