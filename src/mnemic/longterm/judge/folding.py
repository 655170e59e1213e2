"""Which writings of a text are the same text?

Width, case, script (traditional or simplified), quote marks and frequent misspellings say nothing: they are
folded away before anything is compared. The cased form keeps capitals, which tell names.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from mnemic.longterm.judge.once import once
from mnemic.longterm.judge.resources import lines

__all__ = ["fold", "fold_cased", "skeleton"]

_QUOTES = str.maketrans(dict.fromkeys("‘’ʼ′´`", "'") | dict.fromkeys("“”„«»「」『』《》〈〉″", '"'))
_NOT_TEXT = re.compile(r"[\W_]+", re.UNICODE)


@lru_cache(maxsize=1)
def _simplified() -> dict[int, str]:
    pairs = (pair for line in lines("traditional.txt") for pair in line.split())
    return {ord(pair[0]): pair[1] for pair in pairs}


@lru_cache(maxsize=1)
def _variants() -> tuple[re.Pattern[str], dict[str, str]]:
    right = dict(line.split() for line in lines("variants.txt"))
    return re.compile("|".join(re.escape(wrong) for wrong in right)), right


@once
def fold_cased(text: str) -> str:
    """Return the text with width, script, quote marks and known misspellings folded, capitals kept."""
    folded = unicodedata.normalize("NFKC", text).translate(_simplified()).translate(_QUOTES)
    if not folded.isprintable():
        folded = "".join(c for c in folded if c.isprintable() or c.isspace())
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
    folded = re.sub(r"(?<=\d)([.,:/-])(?=\d)", r"mark\1", fold(text))
    kept = re.sub(r"([+#%$€£¥°👍👎✅❌✔✖🚫❤💔])|(?<!\w)-(?=\d)", _spell, folded)
    for mark, word in ((".", "dot"), (":", "colon"), ("/", "slash"), ("-", "dash"), (",", "")):
        kept = kept.replace("mark" + mark, word)
    return _NOT_TEXT.sub("", kept) or "".join(folded.split())


def _spell(match: re.Match[str]) -> str:
    return f"sign{ord(match.group(0)):x}"
