"""Into which words and known phrases does a text fall, in the order of the text?

English goes by stems and by the longest listed phrases; Chinese is cut by rjieba, then known
phrases across the cuts are joined and unknown words taken apart where the lists know their pieces.
"""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple

import rjieba

from mnemic.longterm.judge.lexicon import Entry, Lexicon, lexicon, stem

__all__ = ["Word", "words_of"]

_RUN = re.compile(
    r"(?P<zh>[㐀-鿿]+)"
    r"|(?P<en>[^\W\d_㐀-鿿](?:[^\W㐀-鿿]|['+#&-])*(?:\.(?!\d)[^\W\d_㐀-鿿](?:[^\W㐀-鿿]|-)*)*)"
    r"|(?P<stop>[.,;:!?。、！？；，：()\n])|(?P<sign>[👍👎✅❌✔✖🚫❤💔])"
)
_CALLED = frozenset("小老阿")
# 外套 is a coat, whatever 外 and 套 are alone; 都是 stays two particles.
_LIGHT = frozenset("是的了就都会能要在把被给让很太不也还这那它们着过请每可")
_MOODS = frozenset({"change", "end"})
_CONTRACTED = {"'m": "", "'ve": "", "'re": "", "'ll": "will", "'d": "would", "n't": "not"}


class Word(NamedTuple):
    """One word or phrase: its surface, its entry (None when unknown) and where it starts.

    ``entry`` is None and ``stop`` True for punctuation; ``name`` tells a word written as a name.
    """

    text: str
    entry: Entry | None
    start: int
    stop: bool = False
    name: bool = False


_word = partial(tuple.__new__, Word)
"""Makes a word of all its fields, in half the time: there are many words."""


def words_of(text: str, cased: str) -> list[Word]:
    """Return the words of folded text; ``cased`` is the same text with its capitals."""
    lists = lexicon()
    found: list[Word] = []
    texts: list[str] = []
    starts: list[int] = []
    for match in _RUN.finditer(text):
        kind, piece, start = match.lastgroup, match[0], match.start()
        if kind == "en":
            texts.append(piece.strip("'-&"))
            starts.append(start)
            continue
        if texts:
            found += _english(texts, starts, cased, lists)
            texts, starts = [], []
        if kind == "zh":
            found += _chinese(piece, start, lists)
        else:
            found.append(_word((piece, None, start, kind == "stop", False)))
    return found + _english(texts, starts, cased, lists) if texts else found


def _english(texts: list[str], starts: list[int], cased: str, lists: Lexicon) -> list[Word]:
    listed, stemmed, reach = lists.english, lists.stems, lists.reach
    stems = list(map(stem, texts))
    found: list[Word] = []
    last = len(texts) - 1
    index = 0
    while index <= last:
        word, root, start = texts[index], stems[index], starts[index]
        name = cased[start].isupper() and _is_name(word, start, index, cased)
        if index < last and (word in reach or root in reach):
            size = max(lists.longest(texts, index), lists.longest(stems, index))
            phrase = _phrase(index, size, texts, stems, name, lists) if size > 1 else None
            if phrase is not None:
                text, entry, size = phrase
                found.append(_word((text, entry, start, False, False)))
                index += size
                continue
        single = listed.get(word)
        if single is None and not name:
            single = stemmed.get(root)
        if single is not None and not (name and _is_named(word, single, 1)):
            found.append(_word((word, single, start, False, False)))
        elif "'" in word or "-" in word:
            found += _compound(word, start, cased, lists)
        else:
            found.append(_unlisted(word, start, cased))
        index += 1
    return found


def _phrase(
    index: int, most: int, texts: list[str], stems: list[str], name: bool, lists: Lexicon
) -> tuple[str, Entry, int] | None:
    """Return the longest listed phrase of two to ``most`` words from ``index`` on, with its size."""
    for end in range(min(index + most, len(texts)), index + 1, -1):
        text = " ".join(texts[index:end])
        entry = lists.english.get(text) or lists.stems.get(" ".join(stems[index:end]))
        if entry is not None and not (name and _is_named(texts[index], entry, end - index)):
            return text, entry, end - index
    return None


def _is_name(word: str, start: int, index: int, cased: str) -> bool:
    """Whether a word with a capital is one inside a sentence: its stem is no one's business."""
    lone = len(word) == 1 and word != "i"
    if lone and "㐀" <= cased[start + 1 : start + 2] <= "鿿":
        return True  # A项目
    inside = index > 0 or "㐀" <= cased[:start].rstrip()[-1:] <= "鿿"
    return inside and (lone or not cased[start : start + 2].isupper())


def _is_named(word: str, entry: Entry, size: int) -> bool:
    """Whether a name is all that was found: "prefers Go for scripts" is not "go for"."""
    if word == "a":  # "service A" has no article
        return True
    return _says(entry) if size > 1 else not entry.flags.isdisjoint(_MOODS)


def _says(entry: Entry) -> bool:
    return "verb" in entry.tags or not entry.concepts


def _compound(word: str, start: int, cased: str, lists: Lexicon) -> list[Word]:
    """Return the known words that an unlisted one is made of (you're, part-time), or it alone."""
    for ending, meaning in _CONTRACTED.items() if "'" in word else ():
        if word.endswith(ending) and len(word) > len(ending):
            head = _english([word[: -len(ending)]], [start], cased, lists)
            return head + (_english([meaning], [start], cased, lists) if meaning else [])
    if "-" in word:
        pieces = [piece for piece in word.split("-") if piece]
        known = [lists.word(piece) for piece in pieces]
        if pieces and all(entry is not None and entry.concepts for entry in known):
            return [Word(p, e, start) for p, e in zip(pieces, known, strict=True)]
    return [_unlisted(word, start, cased)]


def _unlisted(word: str, start: int, cased: str) -> Word:
    return Word(word, None, start, name=cased[start : start + 1].isupper())


def _chinese(text: str, offset: int, lists: Lexicon) -> list[Word]:
    listed, heads = lists.chinese, lists.heads
    cuts = _nicknames(rjieba.cut(text, False))
    found: list[Word] = []
    index, at, count = 0, offset, len(cuts)
    while index < count:
        piece = cuts[index]
        index += 1
        if piece in heads and index < count:
            size = _joined(cuts, index - 1, lists)
            if size > 1:
                piece = "".join(cuts[index - 1 : index - 1 + size])
                index += size - 1
        entry = listed.get(piece)
        if entry is not None or len(piece) == 1:
            found.append(_word((piece, entry, at, False, False)))
        else:
            start = at
            for part in _pieces(piece, lists):
                found.append(_word((part, listed.get(part), start, False, False)))
                start += len(part)
        at += len(piece)
    return found


def _nicknames(cuts: list[str]) -> list[str]:
    """Join 小 or 老 with the one character that follows it: 小李 is a name."""
    if _CALLED.isdisjoint(cuts):
        return cuts
    joined: list[str] = []
    for cut in cuts:
        if joined and joined[-1] in _CALLED and len(cut) == 1 and cut not in "的了是":
            joined[-1] += cut
        else:
            joined.append(cut)
    return joined


def _joined(cuts: list[str], index: int, lists: Lexicon) -> int:
    """Return how many cuts from index make up the longest listed phrase, 1 when it is at most the first."""
    best, text = 1, cuts[index]
    for end in range(index + 1, len(cuts)):
        text += cuts[end]
        if text in lists.chinese:
            best = end + 1 - index
        if text not in lists.heads:
            break
    return best


def _pieces(word: str, lists: Lexicon) -> tuple[str, ...]:
    """Return an unlisted word whole, or its pieces when the lists know enough of it."""
    listed = lists.chinese
    if len(word) == 1 or (len(word) == 2 and word[0] in _CALLED):
        return (word,)
    parts: list[str] = []
    index = 0
    while index < len(word):
        size = _longest(word, index, lists)
        if size or not parts or parts[-1] in listed:
            parts.append(word[index : index + (size or 1)])
        else:
            parts[-1] += word[index]
        index += size or 1
    if len(word) > 1 and all(_is_empty(part, listed) for part in parts) and not _LIGHT & set(word):
        return (word,)
    known = sum(len(part) for part in parts if part in listed)
    long_enough = any(len(part) > 1 and part in listed for part in parts)
    if known == len(word) or (long_enough and len(word) > 2) or _light(parts, listed):
        return tuple(parts)
    return (word,)


def _longest(word: str, start: int, lists: Lexicon) -> int:
    """Return the length of the longest listed form from ``start`` on, 0 for none."""
    best = 0
    for end in range(start + 1, len(word) + 1):
        piece = word[start:end]
        if piece in lists.chinese:
            best = end - start
        if piece not in lists.heads:
            break
    return best


def _is_empty(part: str, listed: dict[str, Entry]) -> bool:
    return part in listed and not listed[part].concepts and not listed[part].flags


def _light(parts: list[str], listed: dict[str, Entry]) -> bool:
    """Whether a particle is all that is known (不 in an unlisted 不X, 我 in 我养)."""
    return any(
        part in listed and (not listed[part].concepts) and listed[part].section != "particle"
        for part in parts
    )
