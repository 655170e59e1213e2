"""Which dates, weekdays and clock times does a text name, whatever the notation?

5月20日 = May 20 = 05-20, 周三 = Wednesday, 下午三点 = 15:00 = 3 pm. Expects folded text in which number
words are digits already (``numerals.with_digits``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from mnemic.longterm.judge.marks import Mark, blank
from mnemic.longterm.judge.seeking import Sought
from mnemic.text import holds_any

__all__ = ["scan"]

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH = {name: i for i, name in enumerate(_MONTHS, start=1)} | {
    name[:3]: i for i, name in enumerate(_MONTHS, start=1)
}
_MONTH["sept"] = 9
_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_SHORT_DAYS = {"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4}
_SHORT_DAYS |= {"sat": 5, "sun": 6}
_CHINESE_DAYS = {c: i for i, c in enumerate("一二三四五六日")} | {"天": 6, "末": -1}
_CHINESE_DAYS |= {str(i + 1): i for i in range(7)}

_Y = r"(?P<y>(?:19|20)\d\d)"
_M = r"(?P<m>1[0-2]|0?[1-9])"
_D = r"(?P<d>3[01]|[12]\d|0?[1-9])"
_NUMBERED = (
    "线|楼|门|桌|房|柜|机|车|会议室|厅|院|馆|球|店|库|仓|教室|病|床|站|窗|储|工[位单人程厂]|服务|节点"
    "|员工|产品|设备|客户|用户|学生|选手|嫌|项目|文件|记录|样|实验|试|电|组|队|班|仪|泵|炉|塔|井|船|桥|路|街|区"
    "|地块|片|标|合同|订单|任务|方案|提案|议|通道|[入出]口|展|航站|登机|跑道|摊|铺|商[户铺店]|台|柱|阀|按钮|键|色"
    "|舱|单元|别墅|宿|食堂|包[间厢裹]|卡|牌|箱|罐|桶|笼|棚|田|苗|基地|矿|厂|公[路寓]|国道|附件|决议|笔记|事实|记忆"
)
_AFTER_DAY = (
    "of|at|in|on|and|or|each|every|but|by|before|for|from|to|is|was|are|as|with|instead|this|next|now|not|when"
    "|so|because|after|until|till|if|it|i|we|rather|too|also|day|works|suits"
)


class _Notation(NamedTuple):
    """One way to write a date or time.

    Its patterns match only where one of ``behind`` stands right behind a digit ("": where there is a digit,
    None: without one too), one of the needles is in the text and ``sign``, if there is one, matches.
    """

    behind: str | None
    needles: tuple[str, ...]
    sign: re.Pattern[str] | None
    patterns: tuple[re.Pattern[str], ...]


def _notation(
    behind: str | None, needles: tuple[str, ...], *patterns: str, sign: str | None = None
) -> _Notation:
    compiled = tuple(map(re.compile, patterns))
    return _Notation(behind, needles, None if sign is None else re.compile(sign), compiled)


_DATES = (
    _notation("-/.", ("19", "20"), rf"(?<!\d){_Y}[-/.]{_M}[-/.]{_D}(?!\d)"),
    _notation("/", ("/19", "/20"), rf"(?<!\d){_M}/{_D}/{_Y}(?!\d)"),
    _notation("/.", ("/19", "/20", ".19", ".20"), rf"(?<!\d){_D}[/.]{_M}[/.]{_Y}(?!\d)"),
    _notation("年", ("年",), rf"(?<!\d){_Y}年(?:{_M}月(?:份|{_D}[日号]?)?)?"),
    _notation("月", ("月",), rf"(?<![\d.]){_M}月(?:{_D}[日号]?|份)?(?!\d)"),
    _notation(
        None,
        tuple(name[:3] for name in _MONTHS),
        rf"\b{_D}(?:st|nd|rd|th)?(?: of)? (?P<n>{_NAMES})\b\.?(?:,? {_Y}\b)?",
        rf"\b(?P<n>{_NAMES})\b\.? {_D}(?:st|nd|rd|th)?\b(?![:\d])(?:,? {_Y}\b)?",
        rf"\b(?P<n>{_NAMES}) {_Y}\b",
        r"\b(?:in|by|until|till|since|from|this|next|last|early|late|mid|every|for|to) "
        rf"(?P<n>{_NAMES})\b",
        rf"\b(?P<n>{'|'.join(name for name in _MONTHS if name not in ('may', 'march'))})\b",
        sign=rf"\b(?=[adfjmnos])(?:{_NAMES})\b",
    ),
    _notation(
        "/",
        ("/",),
        rf"(?<![\d./-]){_M}/{_D}(?![\d/])",
        rf"(?<![\d./-]){_D}/{_M}(?![\d/])",
        sign=r"/(?:(?<=(?<![\d./-])\d/)|(?<=(?<![\d./-])[0-3]\d/))[0-3]?\d(?![\d/])",
    ),
    _notation("-", ("-",), r"(?<![\d.-])(?P<m>0[1-9]|1[0-2])-(?P<d>0[1-9]|[12]\d|3[01])(?![\d-])"),
    _notation("日号", ("日", "号"), rf"(?<!\d)(?<!第){_D}(?:日|号(?!\d|{_NUMBERED}))"),
    _notation(
        "snrt",
        ("st", "nd", "rd", "th"),
        rf"\b(?:the )?{_D}(?:st|nd|rd|th)\b(?! (?!(?:{_AFTER_DAY})\b)[a-z])",
    ),
    _notation(
        "",
        (" 19", " 20"),
        rf"\b(?:in|since|from|until|by|during|of|year|back in) {_Y}\b",
    ),
)
_AM_PM = r"(?P<ap>a\.?m\b\.?|p\.?m\b\.?)"
_PART = r"(?P<p>上午|早上|早晨|清晨|凌晨|中午|下午|傍晚|晚上|夜里|夜间|午后|今晚|每晚|当晚|晚)?"
_TIMES = (
    _notation(
        ":",
        (":",),
        rf"{_PART}的?(?<![\d.])(?<!\d:)(?P<h>[01]?\d|2[0-4]):(?P<mi>[0-5]\d)(?!\d|:\d)"
        rf"(?: ?{_AM_PM})?",
    ),
    _notation(
        " .ap",
        ("am", "a.m", "pm", "p.m"),
        rf"\b(?P<h>1[0-2]|0?[1-9])(?:\.(?P<mi>[0-5]\d))? ?{_AM_PM}",
    ),
    _notation(
        "点",
        ("点",),
        rf"{_PART}的?(?<![\d.])(?P<h>1?\d|2[0-4])点(?:钟|整)?(?P<q>半|[一1]刻|[三3]刻)?"
        r"(?:(?P<mi>[0-5]?\d)分?)?(?!\d|[万倍亿])",
    ),
    _notation(
        " ",
        ("clock",),
        r"\b(?P<h>1[0-2]|[1-9]) o'?clock(?: in the (?P<ep>morning|afternoon|evening))?",
    ),
    _notation(
        "",
        ("half", "quarter"),
        r"\b(?P<rel>half past|half|(?:a )?quarter past|(?:a )?quarter to) (?P<h>1[0-2]|[1-9])\b"
        r"(?: in the (?P<ep>morning|afternoon|evening)| at (?P<at>night))?",
    ),
    _notation(
        " ",
        (" in the morning", " in the afternoon", " in the evening", " at night"),
        r"(?<![\d.:])\b(?P<h>1[0-2]|[1-9])"
        r" (?:in the (?P<ep>morning|afternoon|evening)|at (?P<at>night))\b",
    ),
    _notation(
        "",
        ("at ",),
        r"\bat (?P<h>1[0-2]|[1-9]) (?:in the|every|each) (?P<ep>morning|afternoon|evening)",
        r"\bat (?P<h>1[0-2]|[1-9])"
        r"(?=[,;!?]|\.(?!\d)|$| (?:on|sharp|every|from|until|instead|now)\b)",
        sign=r"at [1-9]",
    ),
)
_WEEKDAYS = Sought(
    ("mon", "tue", "wed", "thu", "fri", "sat", "sun", "周", "星期", "礼拜"),
    re.compile(
        rf"\b(?P<en>{'|'.join(_DAYS)})s?\b|\b(?:on|every|each|and|to|,|/) ?(?P<ab>{'|'.join(_SHORT_DAYS)})\b"
        r"|(?:周|星期|礼拜)(?P<zh>[一二三四五六日天1-7](?:[、和到至]?(?:周|星期)?[一二三四五六日天](?![个些般百千十]))*)(?!\d|[月年次遍回])"
    ),
)


_BEHIND = re.compile(r"\d(\D?)")


def scan(text: str) -> list[Mark]:
    """Return the marks of kinds ``date`` (year, month, day), ``time`` and ``weekday`` (0 is Monday)."""
    found: list[Mark] = []
    ends = _BEHIND.findall(text)
    notations = _possible(_ENDS.intersection(ends)) if ends else _WITHOUT_DIGITS
    for reader, (_, needles, sign, patterns) in notations:
        if not holds_any(needles, text) or (sign is not None and not sign.search(text)):
            continue
        for pattern in patterns:
            marks = [reader(match) for match in pattern.finditer(text)]
            if marks:
                found += marks
                text = blank(text, marks)
    return found + [mark for match in _WEEKDAYS.all_in(text) for mark in _weekdays(match)]


@cache
def _possible(ends: frozenset[str]) -> tuple[_Read, ...]:
    """Return the notations that are possible with these of ``_ENDS`` behind digits, in their order."""
    known = ((read, read[1].behind) for read in _ALL)
    return tuple(read for read, behind in known if not behind or not ends.isdisjoint(behind))


def _date(match: re.Match[str]) -> Mark:
    parts = match.groupdict()
    month = _MONTH[parts["n"]] if parts.get("n") else _number(parts.get("m"))
    value = (_number(parts.get("y")), month, _number(parts.get("d")))
    return Mark("date", value, *match.span())


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def _time(match: re.Match[str]) -> Mark:
    parts = match.groupdict()
    hour = int(parts["h"])
    minute = int(parts.get("mi") or 0)
    quarter, relation = parts.get("q") or "", parts.get("rel") or ""
    if "半" in quarter or "half" in relation:
        minute = 30
    elif quarter or "quarter past" in relation:
        minute = 45 if quarter[:1] in ("三", "3") else 15
    elif relation:
        hour, minute = hour - 1, 45
    half = _half_of_day(parts)
    if half == "pm" and hour < 12:
        hour += 12
    elif half == "am" and hour == 12:
        hour = 0
    is_open = half is None and hour <= 12 and not match.group(0).startswith("0")
    return Mark("time", (hour % 24 * 60 + minute, float(is_open)), *match.span())


def _half_of_day(parts: dict[str, str | None]) -> str | None:
    if parts.get("ap"):
        return (parts["ap"] or "")[0] + "m"
    if parts.get("ep"):
        return "am" if parts["ep"] == "morning" else "pm"
    if parts.get("at"):
        return "pm"
    part = parts.get("p")
    if not part:
        return None
    return "am" if part in ("上午", "早上", "早晨", "清晨", "凌晨") else "pm"


def _weekdays(match: re.Match[str]) -> Iterator[Mark]:
    if match["zh"]:
        days = [_CHINESE_DAYS[c] for c in match["zh"] if c in _CHINESE_DAYS]
    else:
        word = match["en"] or match["ab"]
        days = [_DAYS.index(word) if word in _DAYS else _SHORT_DAYS[word]]
    for day in days:
        yield Mark("weekday", (day,), *match.span())


_Read = tuple[Callable[[re.Match[str]], Mark], _Notation]
_ALL: list[_Read] = [(_date, notation) for notation in _DATES]
_ALL += [(_time, notation) for notation in _TIMES]
_WITHOUT_DIGITS = tuple(read for read in _ALL if read[1].behind is None)
_ENDS = frozenset("".join(notation.behind or "" for _, notation in _ALL))
