"""Is an answer that would lose or retire a fact open to doubt?

Each rule looks at one way in which two texts that share their words stay true side by side: people who
have changed places, a narrower statement, another occasion, another matter, another side of one's work. A
kept duplicate costs less than a lost fact, so that one doubt is enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from mnemic.longterm.judge.cases import Case
from mnemic.longterm.judge.labels import Judgement, different
from mnemic.longterm.judge.lexicon import lexicon
from mnemic.longterm.judge.reading import Reading
from mnemic.longterm.judge.roles import swapped
from mnemic.longterm.judge.tokens import Token
from mnemic.longterm.judge.workplaces import sides_of_work

__all__ = ["doubted"]

_DAYS = frozenset({"weekday", "date"})
_MOMENTS = _DAYS | {"time"}
_DAY_REASONS = frozenset({"weekday_changed", "date_changed", "time_changed"})
_SIGNS = frozenset({"turned_round", "corrected", "kind_denied"})
_WITHIN = frozenset({"part", "period", "season", "axis", "colour"})
_SETTING = re.compile(
    r"\b(?:in|on|at|when|while|after|before|during|with|for|if|about|unless|except)"
    r" (?!general\b|fact\b|all\b|now\b|any\b)|时候|的时|之后|以后|之前|以前|[时里上中](?:我|[，,])"
)
# 以后 also means "from now on".
_AFTER_HOUR = re.compile(r"[点天午晚上]半?[以之]?后")
_ON_A_DATE = re.compile(
    r"\bon ((?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)\w* \d+|\d+ (?:jan|feb|mar|apr|may|"
    r"june?|july?|aug|sep|oct|nov|dec)\w*)"
)
_COMPARES = re.compile(r"\b(?:than|over|before|after|reports? to)\b|比|汇报")
_BEGINS = re.compile(r"\b(?:start|begin|open)s?\b|上班|开始|开门")
_STOPS = re.compile(r"\b(?:finish|end|stop|close)(?:es|s)?\b|下班|结束|关门")
_NICKNAME = re.compile(r"\bcalls? me\b|叫我|英文名|小名|外号|绰号|\bnicknames?\b")
_SEVERAL = re.compile(
    r"^my (?:plant|pet|tree|flower|hobby|friend|toy|bird|fish) is\b|^我的(?:爱好|宠物|植物)是"
)
_HAPPENED = re.compile(
    r"\b(?:[a-z]{2,}ed|was|were|went|met|came|saw|had|ate|did|got|took|gave|ran|flew|drove|left|spoke)\b"
)
_STANDS = re.compile(r"\b(?:is|are|be|will|has|have|need)\b")
_DESCRIBES = re.compile(r"[^我你他她它们]的$")
_DENIES = re.compile(r"(?:\b(?:not|never|no longer)|n't) $|[不没别]$")
_STAYED = re.compile(r"住过|待过|呆过")
_DESCRIBED = re.compile(r"^[Mm]y \w+ is an? (\w+)")
_ONE_AT_A_TIME = re.compile(
    r"\b(?:due|deadline|birthday|appointments? is|rent|payday|deploy\w*|release\w*|"
    r"stand-?up|ship\w*|launch\w*|flight|exam|wedding|(?:is|are|was) (?:on|at|in|every|scheduled))\b"
    r"|截止|生日|房租|例会|上线|发布|发版|部署|考试|婚礼|发薪|航班"
)
_EVENT = re.compile(
    r"^(?:a |the |my )?(?:\w+ )?(?:meeting|lunch|dinner|interview|breakfast|brunch|coffee|"
    r"drinks|call|appointment|date|party) (?:with \w+ |at \w+ )?(?:on|at)?\b"
    r"|[和跟与].{1,6}(?:吃饭|见面|约会|聚餐|聚会|喝咖啡|喝酒|喝茶|打球|逛街|看电影)"
)
_SETTLED = frozenset({"slot_changed", "kind_denied"})
_WHOEVER = frozenset({"he", "she", "they"})
_OF_ITS_OWN, _BESIDE_A_MOOD = 3, 2
"""Words that only one text has, from which it may be about another matter; a mood may change with each."""
_MOODS = frozenset({"happy"})
_HABIT = re.compile(
    r"^(?:on |every )?\x00?[\w ]*?(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b[,:]? "
)


def doubted(case: Case, answer: Judgement) -> Judgement:
    """Return the answer, or ``different`` when it would lose or retire a fact on doubtful grounds."""
    if answer.label == "different":
        return answer
    found = (why for why, doubt in _DOUBTS if doubt(case, answer))
    return next((different(why, sure=False) for why in found), answer)


def _fresh(case: Case) -> bool:
    """Whether the second text says itself that something is otherwise now."""
    return case.changed or "now" in case.second.flags


def _people_swapped(case: Case, answer: Judgement) -> bool:
    told = _fresh(case) and bool(case.diff.left_second)
    compared = answer.why == "order_turned" and _COMPARES.search(case.second.text.lower())
    if compared or told or not all(map(_is_one_clause, _both(case))):
        return False
    one, two = case.first, case.second
    linked = "states" in one.flags & two.flags
    return swapped(one.cast, two.cast, (one.text, two.text), linked)


def _other_side_of_work(case: Case, answer: Judgement) -> bool:
    travels = case.slot is not None and "way_to_work" in case.slot
    if travels or not _works(case.first) or not _works(case.second):
        return False
    one, two = sides_of_work(case.first), sides_of_work(case.second)
    if "away" in one | two:
        return False
    if answer.why in ("slot_changed", "value_changed"):
        return not one & two and (bool(one or two) or not _fresh(case))
    if answer.why in _DAY_REASONS:
        return not one & two and bool(one or two)
    return bool(one and two) and not one & two


def _works(reading: Reading) -> bool:
    return "job" in reading.sections or bool(reading.keys & {"work", "employed"})


def _start_and_end(case: Case, answer: Judgement) -> bool:
    one, two = case.first.text.lower(), case.second.text.lower()
    turned = _BEGINS.search(one) and _STOPS.search(two)
    turned = turned or (_STOPS.search(one) and _BEGINS.search(two))
    timed = all(any(m.kind == "time" for m in r.marks) for r in (case.first, case.second))
    return bool(turned) and timed


def _other_stay(case: Case, answer: Judgement) -> bool:
    """Two homes of the past; a home and the floor it is on."""
    if "live" not in case.first.keys & case.second.keys or answer.why != "slot_changed":
        return False
    past = all("was" in r.flags or _STAYED.search(r.text) for r in _both(case))
    floors = ["floor" in reading.keys for reading in (case.first, case.second)]
    return past or (floors[0] != floors[1] and not case.changed)


def _nickname(case: Case, answer: Judgement) -> bool:
    one, two = (bool(_NICKNAME.search(r.text.lower())) for r in (case.first, case.second))
    return one != two and answer.label == "newer" and not case.changed


def _several(case: Case, answer: Judgement) -> bool:
    if answer.why != "value_changed" or _fresh(case):
        return False
    found = [_DESCRIBED.search(reading.text) for reading in _both(case)]
    described = found[0] and found[1] and found[0][1].islower() != found[1][1].islower()
    return bool(described) or all(_SEVERAL.search(r.text.lower()) for r in _both(case))


def _narrower(case: Case, answer: Judgement) -> bool:
    """No coffee after four; no big dogs: the general statement stays."""
    if answer.why not in _SIGNS or (_fresh(case) and not _AFTER_HOUR.search(case.second.text)):
        return False
    if case.second.flags & {"done", "perfect"} or not _is_one_clause(case.second):
        return False
    diff = case.diff
    extra = (
        any(m.kind in _MOMENTS for m in side) for side in (diff.extra_first, diff.extra_second)
    )
    if any(extra) or any(pair[0].kind in _MOMENTS for pair in diff.clashes):
        return True
    return _limited(case) or _other_setting(case)


def _limited(case: Case) -> bool:
    """Whether only one of the texts speaks of a kind of the thing, or of a circumstance."""
    sides = (case.diff.left_first, case.diff.left_second)
    hours = [any(t.section in ("part", "season") for t in side) for side in sides]
    if hours[0] != hours[1]:
        return True
    one, two = (any(_limits(t, case) for t in side) for side in sides)
    if one != two and not (sides[0] and sides[1]):
        return True
    settings = [bool(_SETTING.search(r.text.lower())) for r in _both(case)]
    kinds = [_names_kind(case.first, case.second), _names_kind(case.second, case.first)]
    return settings[0] != settings[1] or kinds[0] != kinds[1]


def _names_kind(reading: Reading, other: Reading) -> bool:
    """Whether a word of its own stands before a noun that both share: iced tea."""
    lists = lexicon()
    described = any(
        t.key in other.keys and _DESCRIBES.search(reading.text[: t.start]) for t in reading.tokens
    )
    return described or any(
        after.start == token.start + len(token.text) + 1
        and token.key not in other.keys
        and after.key in other.keys
        and not (lists.tagged(token.key, "verb") or lists.tagged(after.key, "verb"))
        for token, after in zip(reading.tokens, reading.tokens[1:], strict=False)
    )


def _limits(token: Token, case: Case) -> bool:
    return token.section in _WITHIN and token.sign > 0 and token.key not in case.diff.flipped


def _other_setting(case: Case) -> bool:
    """Whether each text names a circumstance, and something the other does not mention."""
    if not case.left:
        return False
    settings = all(_SETTING.search(r.text.lower()) for r in (case.first, case.second))
    return settings or _other_object(case)


def _other_object(case: Case) -> bool:
    """Whether one verb is said of one thing and denied of another."""
    lists = lexicon()
    verbs = {t.key for t in case.diff.shared if lists.tagged(t.key, "verb")} | {"allergic"}
    one, two = case.diff.left_first, case.diff.left_second
    lone = len(one) == len(two) == 1 and "axis" not in (one[0].section, two[0].section)
    return lone and bool(verbs & case.diff.flipped)


def _other_occasion(case: Case, answer: Judgement) -> bool:
    """What was done, or what somebody does, on another day."""
    days = answer.why in _DAY_REASONS and any(p[0].kind in _DAYS for p in case.diff.clashes)
    if not days or _fresh(case):
        return False
    texts = [reading.text.lower() for reading in (case.first, case.second)]
    if any("name day" in text for text in texts):
        return True
    if all(_is_past(reading) for reading in _both(case)):
        return True
    if any(_ONE_AT_A_TIME.search(text) for text in texts):
        return False
    acts = all(_somebody_acts(reading) for reading in _both(case))
    return acts or all(_EVENT.search(text) or _HABIT.search(text) for text in texts)


def _on_another_date(case: Case, answer: Judgement) -> bool:
    """Whether each text gives the value of its own day: weight on May 1, weight on June 1."""
    days = [_ON_A_DATE.findall(reading.text.lower()) for reading in _both(case)]
    measured = answer.why.endswith("_changed") and answer.why not in _DAY_REASONS
    return measured and all(days) and days[0] != days[1] and not _fresh(case)


def _is_one_clause(reading: Reading) -> bool:
    return len({reading.clause(token.start) for token in reading.tokens}) <= 1


def _both(case: Case) -> tuple[Reading, Reading]:
    return case.first, case.second


def _is_past(reading: Reading) -> bool:
    """Whether what a text tells has happened, so that no other day can take its place."""
    happened = _HAPPENED.search(reading.text.lower()) and not _STANDS.search(reading.text.lower())
    return bool(happened or reading.flags & {"done", "was", "perfect"})


def _somebody_acts(reading: Reading) -> bool:
    return bool(re.search(r"\bI\b|我(?![们的])", reading.text))


def _made_part(case: Case, answer: Judgement) -> bool:
    """Running and running shoes: a word that now only tells of which kind another thing is."""
    if answer.why not in ("part_of", "restated_with_more"):
        return False
    pairs = (
        (case.first, case.diff.left_first, case.second),
        (case.second, case.diff.left_second, case.first),
    )
    return any(_heads_noun(left, more, less) for more, left, less in pairs)


def _part_denied(case: Case, answer: Judgement) -> bool:
    """Whether what one text says beyond the other is a denial of a part: no cold milk."""
    if answer.why not in ("part_of", "restated_with_more") or _fresh(case):
        return False
    one, two = case.first, case.second
    return _denies_act(one, two) != _denies_act(two, one)


def _denies_act(reading: Reading, other: Reading) -> bool:
    """Whether "not" stands right before a verb that both share."""
    lists = lexicon()
    low = reading.text.lower()
    return any(
        token.key in other.keys
        and lists.tagged(token.key, "verb")
        and _DENIES.search(low[: token.start])
        for token in reading.tokens
    )


def _heads_noun(left: tuple[Token, ...], more: Reading, less: Reading) -> bool:
    lists = lexicon()
    several = any(lists.tagged(token.key, "many") for token in more.tokens)
    low = less.text.lower().rstrip(" .!")
    lone = [
        t
        for t in more.tokens
        if t.key in less.keys and (t.text.endswith("ing") or (several and low.endswith(t.text)))
    ]
    others = [t for t in left if not t.role and t.text.isascii() and _is_thing(t)]
    return any(
        other.start == token.start + len(token.text) + 1 for token in lone for other in others
    )


def _is_thing(token: Token) -> bool:
    verb = lexicon().tagged(token.key, "verb") and not token.text.endswith("s")
    return token.text == "shorts" or not (verb or token.name or token.section in _WITHIN)


def _other_matter(case: Case, answer: Judgement) -> bool:
    """Whether each text tells more of its own than both share, beside whom it is about and how that was."""
    if answer.label != "newer" or answer.why in _SETTLED:
        return False
    own = min(len(case.diff.left_first), len(case.diff.left_second))
    both = {t.key for t in case.diff.shared if not t.name and t.section != "axis"} - _WHOEVER
    moods = case.diff.flipped and case.diff.flipped <= _MOODS
    return own >= (_BESIDE_A_MOOD if moods else _OF_ITS_OWN) and len(both) < own


_DOUBTS: tuple[tuple[str, Callable[[Case, Judgement], bool]], ...] = (
    ("roles_swapped", _people_swapped),
    ("other_side_of_work", _other_side_of_work),
    ("start_and_end", _start_and_end),
    ("other_stay", _other_stay),
    ("nickname", _nickname),
    ("adds_up", _several),
    ("narrower", _narrower),
    ("other_occasion", _other_occasion),
    ("other_time", _on_another_date),
    ("narrower", _part_denied),
    ("other_thing", _made_part),
    ("other_matter", _other_matter),
)
