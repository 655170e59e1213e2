"""Is there an exact position in this text?

Coordinates with at least four decimals (about ten metres; three behind the names of both axes) or seconds
of arc, beside a word, a sign, a letter or a map address that makes them coordinates; five decimals in a
bare pair; plus codes, geohashes and what3words. Cities, streets and public buildings pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.hints import Hints
from mnemic.longterm.sensitive.lazy import Pattern, lazy
from mnemic.longterm.sensitive.numbers import after, before, stands_alone

_DEGREES = r"-?\d{1,3}\.\d{4,15}"
_PRECISE = lazy(r"[0-9](?:\.\d{3}|\d\d点\d{3})")
_JOIN = (
    r"[°\s]{0,3}(?:[NSEWnsew北南东西]\b)?[\s\"',，、;；/|:：)(=和&]{0,6}(?:and |lng|lon|long|"
    r"longitude|经度|纬度|东经|西经|北纬|南纬|e\b|w\b)?[\s\"',:：=是为a-z]{0,12}"
)
_PAIR = lazy(rf"(?<![\d.])(?P<a>{_DEGREES}){_JOIN}(?P<b>{_DEGREES})(?![\d.]*\d)", re.I)
_WORDS = lazy(
    r"坐标|经度|纬度|北纬|南纬|东经|西经|经纬|定位|gps|location|coord|latitude|longitude|(?<![a-z])lat|"
    r"(?<![a-z])l(?:o?ng|on)(?![a-z])|geo[:j ]|maps?[/.]|map\.|/@|\bhome\b|\bhouse\b|cabin|"
    r"\blives?\b|live at|\bmeet|"
    r"\bdrop|pick me|\bpark|position|marker|point ?\(|wgs|gcj|bd-?09|"
    r"位置|房|老家|宿舍|小区|地方|地点|地址|住址|停车|学校|公司|座標|緯度|経度|经緯|住|"
    r"(?<![国大专作画玩买卖商])家(?![具电])|"
    r"单元|楼|门口|集合|碰头|见面|接我|导航|办公|工位|仓库|营地|帐篷|民宿|墓|坟|发你|这里|这儿|"
    r"那里|那儿|送到|收货|"
    r"[ns] ?$"
)
_MEASURES = lazy(
    r"均值|平均|方差|误差|率|精度|召回|loss|损失|得分|score|系数|权重|向量|embedding|耗时|毫秒|"
    r"汇率|价|比例|学习率|"
    r"accuracy|precision|recall|f1|auc|rmse|mae|std|mean|圆周率|常数|ratio|reached|版本|指标|特征"
)
_HEMISPHERE = lazy(
    r"(?<![A-Za-z0-9])(?:[NSns] ?\d{1,2}\.\d{4,}°?[ ,，、/]{0,3}[EWew] ?\d{1,3}\.\d{4,}|"
    r"\d{1,2}\.\d{4,}°? ?[NSns][ ,，、/]{0,3}\d{1,3}\.\d{4,}°? ?[EWew](?![A-Za-z])|"
    r"[EWew] ?\d{1,3}\.\d{4,}°?[ ,，、/]{0,3}[NSns] ?\d{1,2}\.\d{4,})"
)
_ARC = r"\d{1,3} ?[°度] ?\d{1,2} ?['分] ?\d{1,2}(?:\.\d{1,6})? ?(?:''|\"|秒)"
_DMS = lazy(
    rf"{_ARC} ?[NSEW]?(?:[ ,，、和及]{{0,3}}(?:东经|西经|北纬|南纬|[NSEW])? ?{_ARC} ?[NSEW]?)?"
)
_DECIMAL_MINUTES = lazy(
    r"[NS]? ?\d{1,2} ?° ?\d{1,2}\.\d{3,} ?'? ?[NS]?[ ,，]{0,3}(?:[EW]|东经|"
    r"西经)? ?\d{1,3} ?° ?\d{1,2}\.\d{3,}"
    r" ?'? ?[EW]?"
)
_SET = r"(?:itude|_?deg)?[\"')°是为:：=\s约在]{0,6}"
_LATITUDE = rf"(?:北纬|南纬|纬度|(?<![a-z])lat){_SET}"
_LONGITUDE = rf"(?:东经|西经|经度|(?<![a-z])l(?:ong?|ng)){_SET}"
_VALUE = r"-?\d{1,3}\.\d{3,15}"
_NAMED = (
    lazy(rf"{_LATITUDE}(?P<a>{_VALUE})[^\n]{{1,24}}?{_LONGITUDE}(?P<b>{_VALUE})", re.I),
    lazy(rf"{_LONGITUDE}(?P<a>{_VALUE})[^\n]{{1,24}}?{_LATITUDE}(?P<b>{_VALUE})", re.I),
    lazy(rf"[\"']x[\"'] ?: ?(?P<a>{_DEGREES}), ?[\"']y[\"'] ?: ?(?P<b>{_DEGREES})", re.I),
    lazy(r"!3d(?P<a>-?\d{1,2}\.\d{3,15})!4d(?P<b>-?\d{1,3}\.\d{3,15})"),
)
_HAN = r"[\d零〇一二三四五六七八九十百两]"
_SPOKEN = lazy(
    rf"(?:东经|西经|北纬|南纬|经度|纬度)[是为:约]{{0,2}} ?{_HAN}{{1,6}}(?:度)?"
    rf"(?:点{_HAN}{{4,12}}度?|度{_HAN}{{1,4}}分{_HAN}{{1,4}}(?:点{_HAN}{{1,4}})?秒)"
    rf"(?:[,，、 和]{{0,2}}(?:东经|西经|北纬|南纬|经度|纬度)[是为:约]{{0,2}} ?{_HAN}{{1,6}}度?"
    rf"(?:点{_HAN}{{4,12}}度?|度{_HAN}{{1,4}}分{_HAN}{{1,4}}秒))?"
)
_PLUS_CODE = lazy(
    r"(?<![A-Za-z0-9])[23456789CFGHJMPQRVWX]{8}\+[23456789CFGHJMPQRVWX]{2,3}(?![A-Za-z0-9])"
)
_THREE_WORDS = lazy(
    r"(?<![/:\w])///[a-z]{3,20}\.[a-z]{3,20}\.[a-z]{3,20}(?![\w.])|"
    r"(?:what3words\.com|w3w\.co)/[a-z]{3,20}\.[a-z]{3,20}\.[a-z]{3,20}"
)
_GEOHASH = lazy(
    r"(?:geohash|mgrs|utm)[^\n!-~]{0,6}(?: is|:|=)? ?[\"']?(?P<code>(?=[A-Za-z]*\d)[0-9b-hjkmnp-z]{7,12}|"
    r"\d{1,2}[A-Z]{3}(?: ?\d{3,5}){2}|\d{1,2}[A-Z] \d{6} \d{7})(?![A-Za-z0-9])"
)
_HINTS = Hints(("经", "纬", "+", "///", "what3words", "w3w"))
_NUMBERED_HINTS = Hints(("°", "度", "geohash", "mgrs", "utm"))
"""Words for a position that is written in digits."""


def find_places(folded: Folded) -> Iterable[Span]:
    """Return each exact position."""
    return _each(folded) if _HINTS.in_text(folded.lower) or _may_measure(folded) else ()


def _may_measure(folded: Folded) -> bool:
    return folded.digit and (
        _PRECISE.search(folded.text) is not None or _NUMBERED_HINTS.in_text(folded.lower)
    )


def _each(folded: Folded) -> Iterator[Span]:
    text = folded.text
    if _PRECISE.search(text):
        for pattern in (_PAIR, *_NAMED):
            for match in pattern.finditer(text):
                if _on_earth(match) and (pattern is not _PAIR or _is_position(folded, match)):
                    yield Span("exact_location", match.start("a"), match.end("b"))
        yield from _plain(_HEMISPHERE, text)
        yield from _plain(_DECIMAL_MINUTES, text)
    if folded.digit and ("°" in text or "度" in text):
        yield from _plain(_DMS, text)
    if "经" in text or "纬" in text:
        yield from _plain(_SPOKEN, text)
    if "+" in text:
        yield from _plain(_PLUS_CODE, text)
    if "///" in text or "what3words" in text or "w3w" in text:
        yield from _plain(_THREE_WORDS, text)
    if "geohash" in folded.lower or "mgrs" in folded.lower or "utm" in folded.lower:
        for match in _GEOHASH.finditer(text):
            yield Span("exact_location", *match.span("code"))


def _plain(pattern: Pattern, text: str) -> Iterator[Span]:
    for match in pattern.finditer(text):
        yield Span("exact_location", match.start(), match.end())


def _on_earth(match: re.Match[str]) -> bool:
    first, second = abs(float(match["a"])), abs(float(match["b"]))
    return min(first, second) <= 90 and max(first, second) <= 180 and first + second > 2


def _is_position(folded: Folded, match: re.Match[str]) -> bool:
    """Accept a pair beside a word for a place, alone, or bare with five decimals or more on both sides."""
    ahead = before(folded, match.start(), 30)
    near = ahead + match[0].lower() + after(folded, match.end(), 24)
    if re.fullmatch(r" ?= ?", folded.text[match.end("a") : match.start("b")]):
        return False
    if _MEASURES.search(near) and not re.search(r"坐标|经度|纬度|经纬|lat|coord|定位|gps", near):
        return False
    if _WORDS.search(near) or "°" in match[0] or stands_alone(folded, *match.span()):
        return True
    listed = re.match(r"[ ,]{0,2}-?\d", after(folded, match.end(), 3)) or re.search(
        r"\d[ ,]{1,2}$|\[[^\]]{0,2}$", ahead
    )
    close = re.fullmatch(r"[ ,，/、]{1,3}", folded.text[match.end("a") : match.start("b")])
    fine = all(len(match[name].partition(".")[2]) >= 5 for name in ("a", "b"))
    return bool(close and fine and not listed)
