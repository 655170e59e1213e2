"""Which writings of a text are the same text?

Width, case, script (traditional or simplified), quote marks and frequent misspellings say nothing: they are
folded away before anything is compared. The cased form keeps capitals, which tell names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from mnemic.longterm.judge.once import once
from mnemic.longterm.judge.resources import lines
from mnemic.text import holds_any

__all__ = ["fold", "fold_cased", "skeleton"]

_QUOTES = str.maketrans(dict.fromkeys("‘’ʼ′´`", "'") | dict.fromkeys("“”„«»「」『』《》〈〉″", '"'))
_NOT_TEXT = re.compile(r"[\W_]+", re.UNICODE)
_BETWEEN_DIGITS = re.compile(r"(?<=\d)([.,:/-])(?=\d)")
_SIGNS = re.compile(r"[+#%$€£¥°👍👎✅❌✔✖🚫❤💔]|(?<!\w)-(?=\d)")


@cache
def _characters() -> tuple[re.Pattern[str], dict[int, str]]:
    """Return the traditional characters and quote marks, as a pattern and with what they are read as."""
    pairs = (pair for line in lines("traditional.txt") for pair in line.split())
    plain = {ord(pair[0]): pair[1] for pair in pairs} | _QUOTES
    return re.compile(f"[{re.escape(''.join(map(chr, plain)))}]"), plain


@cache
def _variants() -> tuple[re.Pattern[str], dict[str, str]]:
    right = dict(line.split() for line in lines("variants.txt"))
    return _either(right), right


@cache
def _misspelt() -> tuple[re.Pattern[str], tuple[str, ...]]:
    """Return the variants that hold other than Latin letters as a pattern, and the English ones.

    A look for each English one takes a fifth of the time of their pattern, whose every first letter is
    everywhere.
    """
    wrong = _variants()[1]
    return _either(w for w in wrong if not w.isascii()), tuple(w for w in wrong if w.isascii())


def _either(words: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, words)))


@once
def fold_cased(text: str) -> str:
    """Return the text with width, script, quote marks and known misspellings folded, capitals kept."""
    folded = unicodedata.normalize("NFKC", text)
    odd, plain = _characters()
    if odd.search(folded):
        folded = folded.translate(plain)
    if not folded.isprintable():
        folded = "".join(c for c in folded if c.isprintable() or c.isspace())
    chinese, english = _misspelt()
    if not (chinese.search(folded) or holds_any(english, folded)):
        return folded
    pattern, right = _variants()
    return pattern.sub(lambda match: right[match.group(0)], folded)


def fold(text: str) -> str:
    """Return the folded text in lower case, with the same length as ``fold_cased`` wherever possible."""
    return fold_cased(text).lower()


@once
def skeleton(text: str) -> str:
    """Return letters and digits only, folded: equal skeletons are equal statements.

    Signs that carry a value (``.`` and ``-`` between digits, ``+``, ``#``, ``%``, currency) stay.
    """
    folded = _BETWEEN_DIGITS.sub(r"mark\1", fold(text))
    kept = _SIGNS.sub(_spell, folded)
    for mark, word in ((".", "dot"), (":", "colon"), ("/", "slash"), ("-", "dash"), (",", "")):
        kept = kept.replace("mark" + mark, word)
    return _NOT_TEXT.sub("", kept) or "".join(folded.split())


def _spell(match: re.Match[str]) -> str:
    return f"sign{ord(match.group(0)):x}"
