"""Which amounts, versions and numbered things does a text name, in which unit?

Units of one kind are brought to one base (5 km = 5000 m), so that notation is not mistaken for change
and a changed unit is not overlooked. Expects folded text with digits, dates blanked out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from mnemic.longterm.judge.lexicon import stem
from mnemic.longterm.judge.marks import Mark
from mnemic.longterm.judge.naming import name_after, name_before
from mnemic.longterm.judge.resources import lines, word_set
from mnemic.longterm.judge.seeking import Sought
from mnemic.text import holds_any

__all__ = ["scan"]

# Whatever matches starts with one of a few characters; most are turned down by the first look.
_NUMBER = re.compile(
    r"(?=[\d$€£¥v\-−零负mh半a])"
    r"(?:(?P<cur>[$€£¥]) ?(?P<money>\d[\d,]*(?:\.\d+)?)(?P<mm>万|k\b|m\b)?"
    r"|(?P<v>\bv(?:ersion)? ?)?(?P<neg>(?<![\w)-])[-−]|零下|负|\bminus )?"
    r"(?P<num>(?<![\d.])\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\d.])\d+(?:\.\d+)*)"
    r"(?P<mul>万|亿|千(?!克|米|瓦)|k(?=\b)|(?= thousand| million))?"
    r"|(?P<half>半个?|half an? |half-|\ban? (?=hour|minute))"
    r"(?=小时|天|年|月|公里|斤|升|hour|minute|mile|kilo|litre|year|day))"
)
_DIGIT = re.compile(r"\d")
_HALVES = ("半", "half", "a hour", "an hour", "a minute", "an minute")
"""One of these stands where a match of ``_NUMBER`` has no digit."""
_AHEAD = len("version minus ")
"""Characters that a match of ``_NUMBER`` has at most before its first digit."""
_SIGN_ENDS = frozenset("$€£¥vn-−下负s")
"""In one of these they end, but for a space."""
_MULTIPLIERS = {"万": 10_000.0, "亿": 1e8, "千": 1_000.0, "k": 1_000.0, "m": 1e6}
_DATA = {"g": 2.0**30, "m": 2.0**20, "t": 2.0**40, "k": 2.0**10}
_MEMORY = re.compile(r"memory|\bram\b|disk|drive|storage|内存|硬盘|磁盘|存储|显存|空间|流量|文件")
_WEIGHT = re.compile(r"weigh|\bheavy\b|体重|重量|lift")
_CURRENCIES = {"$": "usd", "€": "eur", "£": "gbp", "¥": "cny"}
_LABEL = re.compile(r"(?:\b(?:no|nr)\b\.? ?|#)$")
_LABEL_REACH = 5
"""Characters that a match of ``_LABEL`` spans at most, with a line end behind it."""
_RANKS = frozenset({"st", "nd", "rd", "th"})
_RANK = re.compile(r"(?:st|nd|rd|th) (?P<noun>[a-z]{3,})")
_OFTEN = Sought(
    ("twice", "once "), re.compile(r"\b(?:(?P<twice>twice)|once(?= (?:a|per|every|each|in)\b))")
)


@lru_cache(maxsize=1)
def _listed() -> frozenset[str]:
    return frozenset(stem(word) for word in word_set("items_en"))


@lru_cache(maxsize=1)
def _counters() -> re.Pattern[str]:
    """Return what may follow the number of a numbered thing (12号线, 三期)."""
    words = word_set("items_after")
    return re.compile(rf" ?(?={_starts(words)})(?P<noun>{_either(words)})(?!织)")


@lru_cache(maxsize=1)
def _after() -> frozenset[str]:
    """Return the characters in one of which what follows the number of a numbered thing starts."""
    return frozenset({" ", "号"} | {word[0] for word in word_set("items_after")})


def _starts(words: Iterable[str]) -> str:
    """Return the class of first characters: a look at one spares trying hundreds of words."""
    return f"[{re.escape(''.join(sorted({word[0] for word in words})))}]"


def _either(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))


@lru_cache(maxsize=1)
def _units() -> tuple[re.Pattern[str], dict[str, tuple[str, float]]]:
    table: dict[str, tuple[str, float]] = {}
    for line in lines("units.txt"):
        head, names = line.split(":", 1)
        kind, factor = head.split()
        table |= {name: (kind, float(factor)) for name in names.split()}
    names = _either(table)
    return re.compile(
        rf"(?=[个半 -]|{_starts(table)})(?!{_either(word_set('glued_zh'))})"
        rf"(?P<more>个半|半)?个?[ -]?(?={_starts(table)})(?P<unit>{names})"
        r"(?P<rest>半)?(?![a-z]|(?<=年)[级代轻])"
    ), table


def scan(text: str) -> list[Mark]:
    """Return the marks of amounts (kind and base value), plain numbers and numbered things."""
    marks: list[Mark] = []
    halved = holds_any(_HALVES, text)
    match = _next(text, 0, halved)
    while match:
        mark = _item(match, text) or _amount(match, text)
        marks.append(mark)
        match = _next(text, max(mark.end, match.end()), halved)
    for often in _OFTEN.all_in(text):
        marks.append(Mark("times", (2.0 if often["twice"] else 1.0,), *often.span()))
    return marks


def _next(text: str, start: int, halved: bool) -> re.Match[str] | None:
    """Return the first number from ``start`` on; unless ``halved``, it stands where a digit does."""
    if not halved:
        digit = _DIGIT.search(text, start)
        if digit is None:
            return None
        first = digit.start()
        signed = text[max(0, first - 2) : first].rstrip(" ")[-1:] in _SIGN_ENDS
        start = max(start, first - _AHEAD) if signed else first
    return _NUMBER.search(text, start)


def _item(match: re.Match[str], text: str) -> Mark | None:
    """Return the number as the name of a thing: its noun stays in the text as a word."""
    number, version, multiplier = match.group("num", "v", "mul")
    if not number or version or multiplier:
        return None
    start, end = match.span("num")
    ordinal = text.endswith("第", 0, start)
    rank = _RANK.match(text, end) if text[end : end + 2] in _RANKS else None
    after = rank["noun"] if rank else _noun_after(text, end, ordinal=ordinal)
    before = None if ordinal else name_before(text, start, end)
    if after is None and (before is None or match["neg"] == "minus "):
        return None
    if after is None and not ordinal and _measures(match, text, before or ""):
        return None
    label = _LABEL.search(text, max(0, start - _LABEL_REACH), start)
    start = label.start() if label else start
    hao = after is not None and text[end : end + 1] == "号"
    end = rank.start("noun") if rank else end
    noun = before if after is None or not (before is None or hao) else after
    return Mark("item", _version(number), start - ordinal, end + hao, noun or "")


def _noun_after(text: str, end: int, *, ordinal: bool) -> str | None:
    if not ordinal and text[end : end + 1] not in _after():
        return None
    counter = _counters().match(text, end)
    if counter is None:
        return name_after(text, end, ordinal=ordinal)
    return counter["noun"].removeprefix("号") or counter["noun"]


def _measures(match: re.Match[str], text: str, noun: str) -> bool:
    """Whether a number after a noun is an amount all the same: run 5 km, Django 4.2, -5."""
    if _units()[0].match(text, match.end()) or text.startswith("%", match.end()):
        return True
    return "." in match["num"] and noun not in _listed()


def _amount(match: re.Match[str], text: str) -> Mark:
    currency, money, thousands, version, minus, number, multiplier, half = match.groups()
    start, end = match.span()
    if currency:
        value = _float(money) * _MULTIPLIERS.get(thousands or "", 1.0)
        return Mark("money", (_CURRENCIES[currency], value), start, end)
    pattern, table = _units()
    unit = pattern.match(text, end)
    if half:
        value = 0.5 if half.startswith(("半", "half")) else 1.0
    elif version or ("." in number and (not unit or number.count(".") > 1)):
        return Mark("number", _version(number), start, end)
    else:
        value = _float(number) * _MULTIPLIERS.get(multiplier or "", 1.0)
        value = -value if minus else value
    if unit is None:
        return Mark("number", (value,), start, end)
    kind, factor = _in_context(unit["unit"], text) or table[unit["unit"]]
    if unit["more"] or unit["rest"]:
        value += 0.5
    return _measured(kind, value, factor, start, unit.end())


def _in_context(unit: str, text: str) -> tuple[str, float] | None:
    """Return what an ambiguous unit is beside certain words: 64 G of memory, 12 pounds of weight."""
    if unit in _DATA and _MEMORY.search(text):
        return "data", _DATA[unit]
    if unit in ("pound", "pounds") and _WEIGHT.search(text):
        return "mass", 0.45359237
    return None


def _measured(kind: str, value: float, factor: float, start: int, end: int) -> Mark:
    name, _, currency = kind.partition("/")
    if currency:
        return Mark(name, (currency, round(value * factor, 6)), start, end)
    return Mark(name, (round(value * factor, 6),), start, end)


def _float(text: str) -> float:
    return float(text.replace(",", "")[:40])


def _version(text: str) -> tuple[float, ...]:
    parts = [float(part[:15]) for part in text.replace(",", "").split(".")]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return tuple(parts)
