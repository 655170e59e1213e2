"""Which writings of a text are the same text?

Width, case, script (traditional or simplified), quote marks and frequent misspellings say nothing: they are
folded away before anything is compared. The cased form keeps capitals, which tell names.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from mnemic.longterm.judge.once import once
from mnemic.longterm.judge.resources import lines
from mnemic.longterm.judge.seeking import any_of

__all__ = ["fold", "fold_cased", "skeleton"]

_QUOTES = str.maketrans(dict.fromkeys("‘’ʼ′´`", "'") | dict.fromkeys("“”„«»「」『』《》〈〉″", '"'))
_TEXT = re.compile(r"[^\W_]+")
# Both start with the sign itself, so that a search skips what is none.
_BETWEEN_DIGITS = re.compile(r"[.,:/-](?<=\d.)(?=\d)")
_SIGNS = re.compile(r"[+#%$€£¥°👍👎✅❌✔✖🚫❤💔-](?:(?<!-)|(?<!\w-)(?=\d))")
_LETTER = re.compile(r"[a-z]")
_BETWEEN = {".": "dot", ":": "colon", "/": "slash", "-": "dash", ",": ""}


@cache
def _characters() -> tuple[re.Pattern[str], dict[int, str]]:
    """Return the traditional characters and quote marks, as a pattern and with what they are read as."""
    pairs = (pair for line in lines("traditional.txt") for pair in line.split())
    plain = {ord(pair[0]): pair[1] for pair in pairs} | _QUOTES
    return re.compile(f"[{re.escape(''.join(map(chr, plain)))}]"), plain


@cache
def _misspelt() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what tells quickly whether a text holds an English variant, and whether a Chinese one."""
    variants = _variants()[1]
    english, chinese = (
        any_of(word for word in variants if word.isascii() is ascii) for ascii in (True, False)
    )
    return re.compile(english), re.compile(chinese)


@cache
def _variants() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return the variants, as a pattern and with what they are read as."""
    right = dict(line.split() for line in lines("variants.txt"))
    return re.compile("|".join(map(re.escape, right))), right


@once
def fold_cased(text: str) -> str:
    """Return the text with width, script, quote marks and known misspellings folded, capitals kept."""
    folded = unicodedata.normalize("NFKC", text)
    odd, plain = _characters()
    if odd.search(folded):
        folded = folded.translate(plain)
    if not folded.isprintable():
        folded = "".join(c for c in folded if c.isprintable() or c.isspace())
    if not _is_misspelt(folded):
        return folded
    pattern, right = _variants()
    return pattern.sub(lambda match: right[match.group(0)], folded)


def _is_misspelt(text: str) -> bool:
    """Whether a folded text holds a variant; each script is looked for only where it is written."""
    english, chinese = _misspelt()
    if not text.isascii() and chinese.search(text):
        return True
    return _LETTER.search(text) is not None and english.search(text) is not None


def fold(text: str) -> str:
    """Return the folded text in lower case, with the same length as ``fold_cased`` wherever possible."""
    return fold_cased(text).lower()


@once
def skeleton(text: str) -> str:
    """Return letters and digits only, folded: equal skeletons are equal statements.

    Signs that carry a value (``.`` and ``-`` between digits, ``+``, ``#``, ``%``, currency) stay.
    """
    folded = fold(text)
    kept = _SIGNS.sub(_spell, _BETWEEN_DIGITS.sub(_between, folded))
    return "".join(_TEXT.findall(kept)) or "".join(folded.split())


def _between(match: re.Match[str]) -> str:
    return _BETWEEN[match[0]]


def _spell(match: re.Match[str]) -> str:
    return f"sign{ord(match.group(0)):x}"
