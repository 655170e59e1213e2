"""Which words does a text consist of, for the index and for a query?

Chinese is cut by rjieba's search mode and, beside that, into all neighbouring pairs of
characters: a pair is found however the words around it were cut. English is lower-cased, freed of
accents and stemmed (Snowball). Identifiers, versions, addresses and paths stay whole and also
give their parts. Full-width forms are folded (NFKC), traditional characters to simplified ones.
Both halves of ``用Redis存会话`` are seen, since runs end where the script changes. Emoji and
punctuation are no words.

``tokens`` is for the index and keeps repeats (term frequency) and stop words; ``query_tokens``
has neither. Both take time linear in the text. The dictionary (35 MB, 0.1 s) is loaded at the
first Chinese text.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from itertools import islice
from operator import add
from typing import Any

from mnemic.lexical.lists import (
    EVERYDAY_CHARACTERS,
    EVERYDAY_CHINESE,
    EVERYDAY_ENGLISH,
    SCRIPT_PAIRS,
    STOP_CHARACTERS,
    STOP_CHINESE,
    STOP_ENGLISH,
)

MAX_TOKENS = 8_000
"""Tokens of one text at most; what comes after them is not searched by word."""
MAX_QUERY_TOKENS = 96
"""Distinct lexemes of one query at most; a long query keeps its last ones, where the question
stands.
"""
EVERYDAY = 0.25
"""Weight of a word that everybody uses every day, beside 1 for every other word."""
MAX_WHOLE = 64
"""Characters of an identifier that is kept whole; longer ones (URLs, hashes) give their parts
only.
"""
_PIECE = 256
"""Characters of Chinese that are cut in one go, so that no text makes the cutter's tables large."""

_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\uac00-\ud7af"
_LETTER = rf"[^\W_{_HAN}{_UNSPACED}]"
_RUN = re.compile(
    rf"(?P<han>[{_HAN}]+)"
    rf"|(?P<unspaced>[{_UNSPACED}]+)"
    rf"|(?P<word>(?:(?<!\w)\.(?=net\b))?{_LETTER}+(?:[-._@/\\:'&+~#]+{_LETTER}+)*(?:\+\+|\#)?)",
    re.IGNORECASE,
)
_READ = re.compile(
    rf"(?P<han>[{_HAN}]{{1,{_PIECE}}})|[{_UNSPACED}]+"
    rf"|(?:(?<!\w)-(?=\d))?{_LETTER}+(?:[-._@/\\:'&+~#]{_LETTER}+)*(?:\+\+|\#)?|(?P<sign>[^\w\s])"
)
_LATIN = re.compile(r"[A-Za-z]")
_JOINT = re.compile(r"[-._@/\\:&+~#]+")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)")
_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_POSSESSIVE = re.compile(r"'s?$", re.IGNORECASE)


def tokens(text: str) -> list[str]:
    """Return the lexemes of a text in order, repeats included, at most ``MAX_TOKENS``."""
    return list(islice(_lexemes(fold(text), _han_index), MAX_TOKENS))


def query_tokens(text: str) -> list[str]:
    """Return the distinct lexemes of a query, without stop words unless it has nothing else.

    A Chinese query gives its words and the pairs inside them, but not the accidental pairs
    between two words: these would ask for what nobody said.
    """
    found = dict.fromkeys(islice(_lexemes(fold(text), _han_query), MAX_TOKENS))
    content = [token for token in found if token not in _stop_words()]
    return (content or list(found))[-MAX_QUERY_TOKENS:]


def telling(token: str) -> float:
    """Return how much a lexeme says in everyday language: 1, or 0.25 when everybody uses it daily.

    A scope of thirty memories cannot tell by counting that ``weekend`` says less than ``ski``.
    """
    slight = token in _everyday_words() or token in _stop_words()
    return EVERYDAY if slight or (len(token) == 1 and token.isascii()) else 1.0


def script(text: str) -> str:
    """Return the script that carries a text: ``han``, ``unspaced`` (kana, hangul, Thai ...),
    ``letters``, or "" for a text without words. Ideographs count one each, other words one each.
    """
    read = text[:MAX_TOKENS]
    if read.isascii() and _LATIN.search(read):
        return "letters"
    counts = {"han": 0, "unspaced": 0, "letters": 0}
    for run in _RUN.finditer(read):
        if run.lastgroup == "word":
            counts["letters"] += not run.group().isdigit()
        elif run.lastgroup is not None:
            counts[run.lastgroup] += len(run.group())
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else ""


def words(text: str) -> list[str]:
    """Return the words, numbers and meaningful signs of a text in reading order, folded, unstemmed.

    Chinese is cut without overlaps. Plain punctuation is left out, but not currency signs, emoji,
    operators and the sign of a number.
    """
    found: list[str] = []
    for run in _READ.finditer(fold(text).casefold()):
        if run.lastgroup == "han":
            found.extend(_cutter().cut(run.group()))
        elif run.lastgroup != "sign" or _is_meaningful(run.group()):
            found.append(run.group())
    return found


def _is_meaningful(sign: str) -> bool:
    return sign in "%#&@" or unicodedata.category(sign) in ("Sc", "Sm", "So")


def fold(text: str) -> str:
    """Fold what looks different and means the same: width, script variant, digit grouping."""
    if text.isascii():
        return _THOUSANDS.sub("", text) if "," in text else text
    plain = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    return _THOUSANDS.sub("", plain).translate(_simplified())


def _lexemes(text: str, han: Callable[[str], Iterable[str]]) -> Iterator[str]:
    for run in _RUN.finditer(text):
        kind, found = run.lastgroup, run.group()
        if kind == "word" and _is_plain(found):
            yield _stem(_bare(found))
        elif kind == "word":
            yield from _word(found)
        elif kind == "han":
            for start in range(0, len(found), _PIECE):
                yield from han(found[start : start + _PIECE])
        else:
            yield from _pairs(found) if len(found) > 1 else (found,)


def _pairs(run: str) -> Iterator[str]:
    return map(add, run, islice(run, 1, None))


def _han_index(run: str) -> list[str]:
    """All pairs, and the cutter's words of other lengths (a word of two characters is a pair
    already).
    """
    return [*(word for word in _cutter().cut_for_search(run) if len(word) != 2), *_pairs(run)]


def _han_query(run: str) -> Iterator[str]:
    """The cutter's words, what longer ones are made of, and pairs of characters it left single."""
    single = ""
    for word in _cutter().cut(run):
        if len(word) == 1 and word not in _stop_words():
            if single:
                yield single + word
            single = word
        else:
            single = ""
        yield word
        if len(word) > 2 and word not in _stop_words():
            inner = [part for part in _cutter().cut_for_search(word) if 1 < len(part) < len(word)]
            yield from inner or _pairs(word)


def _word(found: str) -> Iterator[str]:
    """Lexemes of a run of letters and digits, which may hold joints such as dots and slashes."""
    if not _JOINT.search(found):
        yield from _plain(found)
        return
    whole = _bare(found)
    if len(whole) <= MAX_WHOLE:
        yield whole
    version = _VERSION.fullmatch(whole)
    if version:
        number = version.group(1)
        yield from () if number == whole else (number,)
        yield from (".".join(number.split(".")[:2]),) if number.count(".") > 1 else ()
        return
    for part in _JOINT.split(found):
        if len(part) > 1:
            yield from _plain(part)


def _plain(word: str) -> Iterator[str]:
    """Lexemes of one word without joints: itself, and its humps when it is camelCase or 5km."""
    if "'" in word:
        word = _POSSESSIVE.sub("", word).replace("'", "")
    yield _stem(_bare(word))
    if _is_plain(word):
        return
    if _ORDINAL.fullmatch(word):
        yield word[:-2]
        return
    humps = _HUMP.findall(word)
    if len(humps) > 1 and len(word) <= MAX_WHOLE:
        yield from (_stem(hump.lower()) for hump in humps if len(hump) > 1 or hump.isdigit())


def _is_plain(word: str) -> bool:
    """Tell a number, or a word of letters in one case, a capital at its beginning aside: it has no parts."""
    if word.isalpha():
        return word.islower() or word.isupper() or word[1:].islower()
    return word.isdecimal()


def _bare(word: str) -> str:
    """Lower case, without accents."""
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFD", word.casefold())
    kept = "".join(char for char in apart if not "\u0300" <= char <= "\u036f")
    return unicodedata.normalize("NFC", kept)


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    if len(word) < 3 or len(word) > MAX_WHOLE or not (word.isascii() and word.isalpha()):
        return word
    with _STEMMING:
        return str(_stemmer().stemWord(word))


_STEMMING = threading.Lock()
"""The stemmer keeps its state between calls."""


@cache
def _stemmer() -> Any:
    from snowballstemmer import stemmer

    return stemmer("english")


@cache
def _cutter() -> Any:
    import rjieba

    return rjieba


@cache
def _simplified() -> dict[int, str]:
    return {ord(old): new for old, new in zip(SCRIPT_PAIRS[::2], SCRIPT_PAIRS[1::2], strict=True)}


@cache
def _stop_words() -> frozenset[str]:
    return frozenset(
        (
            *STOP_ENGLISH.split(),
            *STOP_CHARACTERS,
            *STOP_CHINESE.split(),
            *map(_stem, STOP_ENGLISH.split()),
        )
    )


@cache
def _everyday_words() -> frozenset[str]:
    english = map(_stem, EVERYDAY_ENGLISH.split())
    return frozenset((*english, *EVERYDAY_CHARACTERS, *EVERYDAY_CHINESE.split()))
