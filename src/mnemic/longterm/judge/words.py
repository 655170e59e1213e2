"""Into which words and known phrases does a text fall, in the order of the text?

English goes by stems and by the longest listed phrases; Chinese is cut by rjieba, then known
phrases across the cuts are joined and unknown words taken apart where the lists know their pieces.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import rjieba

from mnemic.longterm.judge.lexicon import Entry, Lexicon, lexicon, stem

__all__ = ["Word", "words_of"]

_RUN = re.compile(
    r"(?P<zh>[㐀-鿿]+)|(?P<en>[^\W\d_㐀-鿿][\w'+#&-]*(?:\.(?!\d)[^\W\d_㐀-鿿][\w-]*)*)"
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


def words_of(text: str, cased: str) -> list[Word]:
    """Return the words of folded text; ``cased`` is the same text with its capitals."""
    lists = lexicon()
    found: list[Word] = []
    run: list[tuple[str, int]] = []
    for match in _RUN.finditer(text):
        kind, piece, start = match.lastgroup, match[0], match.start()
        if kind == "en":
            run.append((piece.strip("'-&"), start))
            continue
        if run:
            found += _english(run, cased, lists)
            run = []
        if kind == "zh":
            found += _chinese(piece, start, lists)
        else:
            found.append(Word(piece, None, start, stop=kind == "stop"))
    return found + _english(run, cased, lists)


def _english(run: list[tuple[str, int]], cased: str, lists: Lexicon) -> list[Word]:
    texts = [word for word, _ in run]
    stems = list(map(stem, texts))
    found: list[Word] = []
    index = 0
    while index < len(run):
        word, start = run[index]
        name = cased[start].isupper() and _is_name(word, start, index, cased)
        size = 1
        if word in lists.reach or stems[index] in lists.reach:
            size = max(lists.longest(texts, index), lists.longest(stems, index))
            size = min(size, len(run) - index)
        while size:
            if size == 1:
                text, stemmed = word, stems[index]
            else:
                text = " ".join(texts[index : index + size])
                stemmed = " ".join(stems[index : index + size])
            entry = lists.english.get(text)
            if entry is None and not (size == 1 and name):
                entry = lists.stems.get(stemmed)
            if entry is not None and not (name and _is_named(word, entry, size)):
                found.append(Word(text, entry, start))
                break
            size -= 1
        else:
            found += _unlisted(word, start, cased, lists)
            size = 1
        index += size
    return found


def _is_name(word: str, start: int, index: int, cased: str) -> bool:
    """Whether a word with a capital is one inside a sentence: its stem is no one's business."""
    lone = len(word) == 1 and word != "i"
    inside = index > 0 or "㐀" <= cased[:start].rstrip()[-1:] <= "鿿"
    return inside and (lone or not cased[start : start + 2].isupper())


def _is_named(word: str, entry: Entry, size: int) -> bool:
    """Whether a name is all that was found: "prefers Go for scripts" is not "go for"."""
    if word == "a":  # "service A" has no article
        return True
    return _says(entry) if size > 1 else not entry.flags.isdisjoint(_MOODS)


def _says(entry: Entry) -> bool:
    return "verb" in entry.tags or not entry.concepts


def _unlisted(word: str, start: int, cased: str, lists: Lexicon) -> list[Word]:
    for ending, meaning in _CONTRACTED.items() if "'" in word else ():
        if word.endswith(ending) and len(word) > len(ending):
            head = _english([(word[: -len(ending)], start)], cased, lists)
            return head + (_english([(meaning, start)], cased, lists) if meaning else [])
    if "-" in word:
        pieces = [piece for piece in word.split("-") if piece]
        known = [lists.word(piece) for piece in pieces]
        if pieces and all(entry is not None and entry.concepts for entry in known):
            return [Word(p, e, start) for p, e in zip(pieces, known, strict=True)]
    is_name = cased[start : start + 1].isupper()
    return [Word(word, None, start, name=is_name)]


def _chinese(text: str, offset: int, lists: Lexicon) -> list[Word]:
    cuts = _nicknames(rjieba.cut(text, False))
    found: list[Word] = []
    index, at = 0, offset
    while index < len(cuts):
        piece = cuts[index]
        size = _joined(cuts, index, lists) if piece in lists.heads else int(piece in lists.chinese)
        if size > 1:
            piece = "".join(cuts[index : index + size])
        if size:
            found.append(Word(piece, lists.chinese[piece], at))
        else:
            start = at
            for part in _pieces(piece, lists):
                found.append(Word(part, lists.chinese.get(part), start))
                start += len(part)
        at += len(piece)
        index += size or 1
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
    """Return how many cuts from index make up the longest listed phrase, 0 for none."""
    best, text = 0, ""
    for end in range(index, len(cuts)):
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
