"""Which digits does a number word mean? 三十五, 两百, 一千二, twenty-five, half a dozen.

``with_digits`` writes number words as digits where they are meant as numbers, and leaves 一般 or 十分 alone.
"""

from __future__ import annotations

import re

from mnemic.longterm.judge.seeking import plain
from mnemic.text import holds_any

__all__ = ["chinese_number", "with_digits"]

_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "两": 2,
    "俩": 2,
    "仨": 3,
}
_SCALES = {"十": 10, "百": 100, "千": 1_000}
_SMALL = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ENGLISH = {word: i for i, word in enumerate(_SMALL)} | {
    word: 10 * i for i, word in enumerate(_TENS, start=2)
}
_WEEKS, _OFTEN = ("周", "星期", "礼拜"), ("次", "遍", "回")
_YEARS_OLD = re.compile(r"(?<=\d)[ -]years?[ -]old\b", re.IGNORECASE)
# "one floor" counts; "the one I like", "one of them", "one day" do not.
_COUNTED = re.compile(
    r" (?!(?:of|more|day|another|who|that|which|can|is|was|i|we|you|and|or|in|on|at|for|to)\b)[a-z]"
)
_SPOKEN = ("quarter", "and a half", "一刻钟")
_QUARTERS = (
    (re.compile(r"\bthree[ -]quarters of an hour\b", re.I), "45 minutes"),
    (re.compile(r"\b(?:a )?quarter of an hour\b", re.I), "15 minutes"),
    (re.compile(r"\ban hour and a half\b|\bone and a half hours\b", re.I), "1.5 hours"),
    (re.compile(r"\bone and a half\b", re.I), "1.5"),
    (re.compile(r"一刻钟"), "15分钟"),
)
# A piece of every number word and of every word for a place in a row.
_SPELT = re.compile(
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twel|twent|thir|fort|fift|eigh|nint|zero"
    r"|first|second|dozen|hundred|thousand|million"
)
# With a word that starts so: "phone" and "often" hold such pieces, but no number.
_SPELT_WORD = re.compile(rf"\b(?=[defhmnostz])(?:{_SPELT.pattern})", re.IGNORECASE)
_SPELT_RANK = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    *("tenth", "eleventh", "twelfth", "teenth", "tieth"),
)
_BIG = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}

# What may follow a Chinese numeral for it to be a number at all.
_AFTER = (
    r"(?:[个只条本台件位名口头匹辆双套部座家张把杯瓶碗份门支次回遍趟轮届期章集季节班组楼层级号日月年天周岁点时分秒"
    r"块元角毛斤两克吨米里度倍折成页行列步段首场局组排类种项款代版寸亩升万千百棵根粒片盒箱袋包]|公[里斤分]|千[米克]"
    r"|英[里尺寸镑]|厘米|毫米|毫秒|小时|分钟|星期|礼拜|美元|欧元|英镑|日元|平方|摄氏|人|室|线|副|顿|颗|间|所|盏|股|成|环)"
)
_COUNTER = re.compile(_AFTER)
_NUMERAL = re.compile("[零〇一二两俩仨三四五六七八九十百千万亿]")
_CHINESE = re.compile(
    r"(第|百分之|周|星期|礼拜|初)?(?<!\d)([零〇一二两俩仨三四五六七八九十百千万亿]+)(?:点([零一二三四五六七八九]+)(?=倍|[万亿]|公|米|斤|%))?"
    rf"(半)?(?={_AFTER})?"
)
_IDIOMS = re.compile(
    r"一(?:般|直|样|起|定|些|下|切|向|律|致|旦|边|同|共|并|生|家人|会儿|点点|点儿|点(?![零一二三四五六七八九十半整钟到前开左]))"
    r"|十分(?!钟)|万一|千万(?![元块美人])|百度|三亚|四川|五一(?=假|节|放)|十一(?=假|黄金)|双十一|三文鱼|三明治|九寨|七喜|万科|千层|百事"
    r"|一线|二手|三星|二胡|八卦|四季(?!度)|一期一会|百合|九江|六安|三国|五金|万维|七夕|重阳|一方面|一半|第一时间|二维码|一个人"
)
_ENGLISH_RUN = re.compile(
    r"\b(?=[adefhnostz])(?:(?:half a |a )?dozen|(?:(?:a|{w})(?=[ -](?:hundred|thousand|million))|{w})"
    r"(?:(?:[ -]|(?<=hundred) and )(?:{w}|hundred|thousand|million))*)\b".replace(
        "{w}", "(?:" + "|".join(sorted(_ENGLISH, key=len, reverse=True)) + ")"
    ),
    re.IGNORECASE,
)


_RANK_WORDS = {"third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12}
_RANK_WORDS |= {
    f"{word}th": i for i, word in enumerate(_SMALL) if i not in (0, 1, 2, 3, 5, 8, 9, 12)
}
_RANK_WORDS |= {f"{word[:-1]}ieth": 10 * i for i, word in enumerate(_TENS, start=2)}
_UNITS = {"first": 1, "second": 2} | {w: i for w, i in _RANK_WORDS.items() if i < 10}
# "two thirds", "a fifth of" are shares, not places in a row.
_RANKS = re.compile(
    (
        r"\b(?=[efnst])(?<!\ba )(?<!\bone )(?:(?P<ten>{tens})[ -](?P<unit>{units})|(?P<word>{words}))\b"
        r"(?! of (?!{months}))"
    ).format(
        tens="|".join(_TENS),
        units="|".join(_UNITS),
        words="|".join(sorted(_RANK_WORDS, key=len, reverse=True)),
        months="jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|the month|each|every",
    ),
    re.IGNORECASE,
)
_METRES = re.compile(
    r"(?P<whole>[12一两])米(?P<rest>[一二三四五六七八九]{1,2}|\d{1,2})(?![\d十百千万米厘个])"
)
_MILLIONS = re.compile(r"(?<![\d.])(\d[\d,]*\.\d{1,3}) (thousand|million)\b", re.IGNORECASE)
_BIRTHDAY = re.compile(r"(?<=\d)(?:st|nd|rd|th) birthday\b", re.IGNORECASE)


def chinese_number(text: str) -> int | None:
    """Return the value of a Chinese numeral (also 二〇二四 and 一千二), or None when it is not one."""
    if len(text) > 24:
        return None
    if all(char in _DIGITS for char in text):
        return int("".join(str(_DIGITS[char]) for char in text)) if text else None
    total = section = digit = 0
    scale = 1
    for char in text:
        if char in _DIGITS:
            digit, scale = _DIGITS[char], 1 if char in "零〇" else scale
        elif char in _SCALES:
            scale = _SCALES[char]
            section, digit = section + (digit or 1) * scale, 0
        else:
            scale = 10_000 if char == "万" else 100_000_000
            total, section, digit = (total + section + digit) * scale, 0, 0
    # 一千二 is 1200: a last digit right after a scale counts tenths of it, unless 零 came between.
    tail = digit * scale // 10 if scale > 10 and text[-2:-1] not in ("零", "〇") else digit
    return total + section + tail


def with_digits(text: str) -> str:
    """Return the folded text with number words written in digits."""
    low = plain(text)
    if holds_any(_SPOKEN, low):
        for quarters, minutes in _QUARTERS:
            text = quarters.sub(minutes, text)
    if "米" in low:
        text = _METRES.sub(_metres, text)
    spelt = _SPELT.search(low) is not None
    if spelt and holds_any(_SPELT_RANK, low):
        text = _RANKS.sub(_rank, text)
    text = _chinese(text)
    if spelt and _SPELT_WORD.search(text):
        text = _MILLIONS.sub(_millions, _ENGLISH_RUN.sub(_english, text))
    if "old" in low or "birthday" in low:
        text = _BIRTHDAY.sub(" yo", _YEARS_OLD.sub(" yo", text))
    return text


def _chinese(text: str) -> str:
    if not _NUMERAL.search(text):
        return text
    numbers = ((match, _written(match, text)) for match in _CHINESE.finditer(text))
    meant = [(match, written) for match, written in numbers if written is not None]
    if not meant:
        return text
    spared = [match.span() for match in _IDIOMS.finditer(text)]
    pieces: list[str] = []
    last = 0
    for match, written in meant:
        if not any(start <= match.start(2) < end for start, end in spared):
            pieces += [text[last : match.start()], written]
            last = match.end()
    return "".join([*pieces, text[last:]])


def _written(match: re.Match[str], text: str) -> str | None:
    before, run, decimals, half = match.group(1, 2, 3, 4)
    value = chinese_number(run)
    if value is None or (before in _WEEKS and text[match.end(2) : match.end(2) + 1] not in _OFTEN):
        return None
    counted = _COUNTER.match(text, match.end(2)) is not None or half is not None
    # 三十五 is a number wherever it stands; 三 alone needs something that is counted.
    composed = len(run) > 1 and any(char in _SCALES or char in "万亿" for char in run)
    digits = len(run) > 1 and all(char in _DIGITS for char in run)
    if not (before or run in "俩仨" or counted or composed or digits):
        return None
    shown = str(value)
    if decimals:
        shown += "." + "".join(str(_DIGITS[char]) for char in decimals)
    if before == "百分之":
        return f"{shown}%"
    return f"{before or ''}{shown}{half or ''}"


def _metres(match: re.Match[str]) -> str:
    """1米75 and 一米三 are 1.75 and 1.3 metres."""
    whole, rest = (
        "".join(str(_DIGITS.get(char, char)) for char in match[part]) for part in ("whole", "rest")
    )
    return f"{whole}.{rest}米"


def _millions(match: re.Match[str]) -> str:
    return f"{float(match[1].replace(',', '')) * _BIG[match[2].lower()]:.0f}"


def _rank(match: re.Match[str]) -> str:
    if match["word"]:
        value = _RANK_WORDS[match["word"].lower()]
    else:
        value = 10 * (_TENS.index(match["ten"].lower()) + 2) + _UNITS[match["unit"].lower()]
    ends = {1: "st", 2: "nd", 3: "rd"} if value // 10 != 1 else {}
    return f"{value}{ends.get(value % 10, 'th')}"


def _english(match: re.Match[str]) -> str:
    text = match.group(0).lower()
    if text.endswith("dozen"):
        return "6" if text.startswith("half") else "12"
    if text == "one" and not _COUNTED.match(match.string, match.end()):
        return match.group(0)
    total = current = 0
    for word in re.split(r"[ -]", text):
        if word in _BIG:
            current = max(current, 1) * _BIG[word]
            if word != "hundred":
                total, current = total + current, 0
        elif word != "and":
            current += 1 if word == "a" else _ENGLISH[word]
    return str(total + current)
