"""How does a text read once its disguises are taken off, and where was each character before?

Full-width and mathematical letters and digits become plain ones, format and combining characters
vanish, every dash is ``-``, every blank a space, spelled-out Chinese digit strings become digits, and a
Cyrillic or Greek look-alike inside a Latin word becomes Latin. Only odd characters cost time.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

from mnemic.longterm.sensitive.lazy import lazy

_PLAIN = r"\t\n\r\x20-\x7e\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7a3、。《》（）【】"
_ODD = lazy(f"[^{_PLAIN}]")
_WRAPPED_CODES = (
    *(0xB2, 0xB3, 0xB9, 0x24EA),
    *range(0x2070, 0x208A),
    *range(0x2460, 0x246A),
    *range(0x2776, 0x2780),
)
_WRAPPED_DIGITS = frozenset(map(chr, _WRAPPED_CODES))
_SPELLED = lazy(
    r"[零〇○一二三四五六七八九幺壹贰叁肆伍陆柒捌玖](?:[ \-]"
    r"?[零〇○一二三四五六七八九幺壹贰叁肆伍陆柒捌玖]){5,}"
)
_SPELLED_TABLE = str.maketrans(
    "零〇○一二三四五六七八九幺壹贰叁肆伍陆柒捌玖", "000123456789" + "1123456789"
)
_LOOKALIKES = dict(zip("аеорсухіѕјԁһкмтвнαορικν", "aeopcyxisjdhkmtbhaopikv", strict=True)) | dict(
    zip("АЕОРСХІЅЈКМТВНΑΒΕΗΙΚΜΝΟΡΤΧ", "AEOPCXISJKMTBHABEHIKMNOPTX", strict=True)
)
_DIGIT = lazy(r"[0-9]")  # no other digit is left in a folded text
_NUMBER = lazy(
    r"[0-9](?:(?:[ \-.·/:()]{0,3}[A-Za-z]?\d){5}|\d{3}[A-Za-z]\d|[A-Za-z]{2}\d|"
    r"(?<=[A-Za-z]{5}\d)\d{3}[A-Za-z])"
)
_FIXED = {
    "\u2212": "-", "\u00b7": "·", "\u2022": "·", "\u2027": "·", "\u30fb": "·", "\uff65": "·",
    "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2028": "\n", "\u2029": "\n",
    "\u3164": "", "\u115f": "", "\u1160": "", "\uffa0": "", "\u2800": " ", "\u2032": "'",
    "\u2033": '"', "\u00ba": "°", "\u00b0": "°", "。": "。", "\u2013": "-", "\u2014": "-",
}  # fmt: skip


class Span(NamedTuple):
    """A hit in a folded text: category and half-open character range."""

    category: str
    start: int
    end: int


class Folded:
    """A folded text with the way back to the offsets of the original, and what every detector asks of it.

    ``lower`` is the text in lower case, with the same length; ``digit`` tells whether it holds a digit,
    ``number`` whether there are as many as the shortest number of a person has; ``longest`` is the length
    of its longest stretch without a blank.
    """

    __slots__ = ("_breaks", "_shifts", "digit", "longest", "lower", "number", "text")

    def __init__(
        self, text: str, breaks: tuple[int, ...] = (0,), shifts: tuple[int, ...] = (0,)
    ) -> None:
        lowered = text.lower()
        self.text = text
        self.lower = lowered if len(lowered) == len(text) else text
        self.digit = _DIGIT.search(text) is not None
        self.number = self.digit and _NUMBER.search(text) is not None
        self.longest = max(map(len, text.split()), default=0)
        self._breaks = breaks
        self._shifts = shifts

    def original(self, index: int) -> int:
        """Return the offset in the original text of the folded character at ``index``."""
        return index + self._shifts[bisect_right(self._breaks, index) - 1]


@lru_cache(maxsize=4096)
def _fold_char(char: str) -> str:
    fixed = _FIXED.get(char)
    if fixed is not None:
        return fixed
    kind = unicodedata.category(char)
    if kind in ("Cf", "Mn", "Me", "Cc", "Cs"):
        return ""
    if kind == "Zs":
        return " "
    if kind == "Pd":
        return "-"
    if kind == "Nd":
        return str(unicodedata.decimal(char))
    plain = unicodedata.normalize("NFKD", char)
    return "".join(part for part in plain if unicodedata.category(part) not in ("Mn", "Me", "Cf"))


def _fold_at(text: str, index: int) -> str:
    """Fold one odd character; look-alikes and ringed digits only beside their own kind."""
    char = text[index]
    if char in _LOOKALIKES:
        beside_latin = any(near.isascii() and near.isalpha() for near in _beside(text, index))
        return _LOOKALIKES[char] if beside_latin else char
    if char in _WRAPPED_DIGITS and _WRAPPED_DIGITS.isdisjoint(_beside(text, index)):
        return char
    return _fold_char(char)


def _beside(text: str, index: int) -> str:
    return text[max(0, index - 1) : index] + text[index + 1 : index + 2]


_MARKS = {mark: _fold_char(mark) for mark in "，：；？！“”"}
"""What most Chinese texts hold, a character for a character; in one step each."""


def fold(text: str) -> Folded:
    """Return ``text`` without disguises; the cost grows with its odd characters only."""
    if text.isascii() and text.isprintable():
        return Folded(text)
    for mark, plain in _MARKS.items():
        text = text.replace(mark, plain)
    if not (_ODD.search(text) or _SPELLED.search(text)):
        return Folded(text)
    pieces: list[str] = []
    breaks, shifts = [0], [0]
    position = length = 0
    for match in _ODD.finditer(text):
        index = match.start()
        folded = _fold_at(text, index)
        pieces.append(text[position:index])
        pieces.append(folded)
        length += index - position + len(folded)
        position = index + 1
        if len(folded) != 1:
            breaks.append(length)
            shifts.append(position - length)
    pieces.append(text[position:])
    plain = "".join(pieces)
    if _SPELLED.search(plain):
        plain = _SPELLED.sub(lambda run: run[0].translate(_SPELLED_TABLE), plain)
    return Folded(plain, tuple(breaks), tuple(shifts))
