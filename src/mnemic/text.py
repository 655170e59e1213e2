"""What may a stored text be made of, and how long does a reader find it?

Rules of the design, section 4 "Text": NFC; NUL and the other C0 and C1 controls, unpaired surrogates and
bidi overrides are removed and reported; joiners and emoji sequences stay; line ends stay.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
_PAIRS = re.compile(r"[\ud800-\udbff][\udc00-\udfff]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_OVERRIDES = re.compile(r"[\u202a-\u202e\u2066-\u206f]")
_UNSEEN = "\u115f\u1160\u2800\u3164\uffa0"  # fillers: letters and signs without a shape
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}

_UNWANTED = (
    ("control_characters", _CONTROLS),
    ("lone_surrogates", _SURROGATES),
    ("direction_overrides", _OVERRIDES),
)


def holds_any(needles: Iterable[str], text: str) -> bool:
    """Tell whether a text holds one of the needles: the cheap look before a costly pattern."""
    for needle in needles:  # noqa: SIM110 - several times as fast as any() here
        if needle in text:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Normalised:
    """A text that may be stored, and what kinds of characters were taken out of it."""

    text: str
    removed: tuple[str, ...] = ()


def normalise(text: str) -> Normalised:
    """Return the storable form of ``text``; doing it twice changes nothing more."""
    if text.isprintable():  # no control, surrogate or override is
        return Normalised(unicodedata.normalize("NFC", text).strip())
    removed = []
    text = _PAIRS.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    for name, pattern in _UNWANTED:
        text, count = pattern.subn("", text)
        if count:
            removed.append(name)
    return Normalised(unicodedata.normalize("NFC", text).strip(), tuple(removed))


def fold_width(text: str) -> str:
    """Map full-width letters, digits and the ideographic space to their plain forms."""
    return text if text.isascii() else text.translate(_FULL_WIDTH)


def exact_form(text: str) -> str:
    """Return the form whose equality makes an exact duplicate: width and white space do not count."""
    return " ".join(fold_width(text).split())


def reading_length(text: str) -> int:
    """Return the length in half-width columns: an East-Asian wide character says as much as two letters."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def says_something(text: str) -> bool:
    """Tell whether a text holds a letter, a digit or a picture, beyond punctuation and fillers."""
    first = text[:1]
    if first.isalpha() and first not in _UNSEEN:
        return True  # as nearly every text begins
    return any(
        (category[0] in "LN" or category == "So") and char not in _UNSEEN
        for char in text
        for category in (unicodedata.category(char),)
    )


def can_be_seen(text: str) -> bool:
    """Tell whether anything of a text shows: a letter, a digit, a sign; no fillers, no format characters."""
    return any(unicodedata.category(char)[0] in "LNPS" and char not in _UNSEEN for char in text)
