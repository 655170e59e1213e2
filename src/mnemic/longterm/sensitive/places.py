"""Is there an exact position in this text?

Coordinates with at least four decimals (about ten metres) or seconds of arc, beside a word, a sign or a
letter that makes them coordinates; plus codes and what3words addresses. Cities, streets and public
buildings pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.numbers import after, before, stands_alone

_DEGREES = r"-?\d{1,3}\.\d{4,15}"
_PRECISE = re.compile(r"\d\.\d{3}")
_JOIN = (
    r"[°\s]{0,3}(?:[NSEWnsew北南东西]\b)?[\s\"',，、;；/|:：)(=和&]{0,6}(?:and |lng|lon|long|"
    r"longitude|经度|纬度|"
    r"东经|西经|北纬|南纬|e\b|w\b)?[\s\"',:：=是为a-z]{0,12}"
)
_PAIR = re.compile(rf"(?<![\d.])(?P<a>{_DEGREES}){_JOIN}(?P<b>{_DEGREES})(?![\d.]*\d)", re.I)
_WORDS = re.compile(
    r"坐标|经度|纬度|北纬|南纬|东经|西经|经纬|定位|gps|location|coordinat|latitude|longitude|\blat\b|\blng\b|"
    r"\blon\b|geo:|maps?[/.]|/@|\bhome\b|live at|位置|房子|老家|宿舍|小区|地方|地点|地址|住址|停车|"
    r"学校|公司|座標|緯度|"
    r"经緯|我家|住在|住的|lat\"|"
    r"lng\"|[ns] ?$"
)
_HEMISPHERE = re.compile(
    r"(?<![A-Za-z0-9])(?:[NSns] ?\d{1,2}\.\d{4,}°?[ ,，]{0,3}[EWew] ?\d{1,3}\.\d{4,}|"
    r"\d{1,2}\.\d{4,}°? ?[NSns][ ,，]{0,3}\d{1,3}\.\d{4,}°? ?[EWew](?![A-Za-z]))"
)
_ARC = r"\d{1,3} ?[°度] ?\d{1,2} ?['分] ?\d{1,2}(?:\.\d{1,6})? ?(?:''|\"|秒)"
_DMS = re.compile(
    rf"{_ARC} ?[NSEW]?(?:[ ,，、和及]{{0,3}}(?:东经|西经|北纬|南纬|[NSEW])? ?{_ARC} ?[NSEW]?)?"
)
_DECIMAL_MINUTES = re.compile(
    r"[NS]? ?\d{1,2} ?° ?\d{1,2}\.\d{3,} ?'? ?[NS]?[ ,，]{0,3}[EW]? ?\d{1,3} ?° ?\d{1,2}\.\d{3,} ?'? ?[EW]?"
)
_SINGLE = re.compile(
    rf"(?:北纬|南纬|纬度|latitude|\blat)[\"'是为:：=\s约]{{0,6}}(?P<a>{_DEGREES})[^\n]"
    rf"{{1,24}}?(?:东经|西经|经度|"
    rf"longitude|\blng|\blon)[\"'是为:：=\s约]{{0,6}}(?P<b>{_DEGREES})",
    re.I,
)
_PLUS_CODE = re.compile(
    r"(?<![A-Za-z0-9])[23456789CFGHJMPQRVWX]{8}\+[23456789CFGHJMPQRVWX]{2,3}(?![A-Za-z0-9])"
)
_THREE_WORDS = re.compile(
    r"(?<![/:\w])///[a-z]{3,20}\.[a-z]{3,20}\.[a-z]{3,20}(?![\w.])|"
    r"what3words\.com/[a-z]{3,20}\.[a-z]{3,20}\.[a-z]{3,20}"
)


def find_places(folded: Folded) -> Iterator[Span]:
    """Yield each exact position."""
    text = folded.text
    if _PRECISE.search(text):
        for pattern in (_PAIR, _SINGLE):
            for match in pattern.finditer(text):
                if _on_earth(match) and (pattern is _SINGLE or _named(folded, match)):
                    yield Span("exact_location", match.start("a"), match.end("b"))
        yield from _plain(_HEMISPHERE, text)
        yield from _plain(_DECIMAL_MINUTES, text)
    if "°" in text or "度" in text:
        yield from _plain(_DMS, text)
    if "+" in text:
        yield from _plain(_PLUS_CODE, text)
    if "///" in text or "what3words" in text:
        yield from _plain(_THREE_WORDS, text)


def _plain(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    for match in pattern.finditer(text):
        yield Span("exact_location", match.start(), match.end())


def _on_earth(match: re.Match[str]) -> bool:
    first, second = abs(float(match["a"])), abs(float(match["b"]))
    return min(first, second) <= 90 and max(first, second) <= 180 and first + second > 2


def _named(folded: Folded, match: re.Match[str]) -> bool:
    near = before(folded, match.start(), 30) + match[0].lower() + after(folded, match.end(), 24)
    return bool(_WORDS.search(near)) or "°" in match[0] or stands_alone(folded, *match.span())
