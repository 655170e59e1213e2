"""Into which words and known phrases does a text fall, in the order of the text?

English goes by stems and phrases of up to the longest listed length; Chinese is cut by rjieba, then known
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
    r"|(?P<stop>[.,;:!?。、！？；，：()\n])|(?P<quote>[\"'])|(?P<sign>[👍👎✅❌✔✖🚫❤💔])"
)
_LONGEST_CHINESE = 7
# 外套 is a coat, whatever 外 and 套 are alone; 都是 stays two particles.
_LIGHT = frozenset("是的了就都会能要在把被给让很太不也还这那它们着过请每可")
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
        if match["en"]:
            run.append((match["en"].strip("'-&"), match.start()))
            continue
        if match["quote"]:
            continue
        found += _english(run, cased, lists)
        run = []
        if match["zh"]:
            found += _chinese(match["zh"], match.start(), lists)
        else:
            found.append(Word(match.group(0), None, match.start(), stop=not match["sign"]))
    return found + _english(run, cased, lists)


def _english(run: list[tuple[str, int]], cased: str, lists: Lexicon) -> list[Word]:
    texts = [word for word, _ in run]
    stems = [stem(word) for word in texts]
    found: list[Word] = []
    index = 0
    while index < len(run):
        longest = max(lists.reach.get(texts[index], 1), lists.reach.get(stems[index], 1))
        for size in range(min(longest, len(run) - index), 0, -1):
            span = slice(index, index + size)
            entry = lists.english.get(tuple(texts[span]))
            name = _is_name(*run[index], index, cased)
            if entry is None and not (size == 1 and name):
                entry = lists.stems.get(tuple(stems[span]))
            # "prefers Go for scripts" is not "go for"; "service A" is not an article.
            if entry and name and ((size > 1 and _says(entry)) or texts[index] == "a"):
                entry = None
            if entry and name and size == 1 and entry.flags & {"change", "end"}:
                entry = None
            if entry is not None:
                found.append(Word(" ".join(texts[span]), entry, run[index][1]))
                index += size
                break
        else:
            found += _unlisted(*run[index], cased, lists)
            index += 1
    return found


def _is_name(word: str, start: int, index: int, cased: str) -> bool:
    """Whether a word inside a sentence is written with a capital: its stem is no one's business."""
    capital = cased[start : start + 1].isupper()
    lone = len(word) == 1 and word != "i"
    inside = index > 0 or "㐀" <= cased[:start].rstrip()[-1:] <= "鿿"
    return inside and capital and (lone or not cased[start : start + 2].isupper())


def _says(entry: Entry) -> bool:
    return "verb" in entry.tags or not entry.concepts


def _unlisted(word: str, start: int, cased: str, lists: Lexicon) -> list[Word]:
    for ending, meaning in _CONTRACTED.items():
        if word.endswith(ending) and len(word) > len(ending):
            head = _english([(word[: -len(ending)], start)], cased, lists)
            return head + (_english([(meaning, start)], cased, lists) if meaning else [])
    if "-" in word:
        pieces = [piece for piece in word.split("-") if piece]
        known = [lists.phrase((piece,), (stem(piece),)) for piece in pieces]
        if pieces and all(entry is not None and entry.concepts for entry in known):
            return [Word(p, e, start) for p, e in zip(pieces, known, strict=True)]
    is_name = cased[start : start + 1].isupper()
    return [Word(word, None, start, name=is_name)]


def _chinese(text: str, offset: int, lists: Lexicon) -> list[Word]:
    cuts = _nicknames(list(rjieba.cut(text, False)))
    found: list[Word] = []
    index, at = 0, offset
    while index < len(cuts):
        size = _joined(cuts, index, lists)
        piece = "".join(cuts[index : index + max(size, 1)])
        if size:
            found.append(Word(piece, lists.chinese[piece], at))
        else:
            start = at
            for part in _pieces(piece):
                found.append(Word(part, lists.chinese.get(part), start))
                start += len(part)
        at += len(piece)
        index += max(size, 1)
    return found


def _nicknames(cuts: list[str]) -> list[str]:
    """Join 小 or 老 with the one character that follows it: 小李 is a name."""
    joined: list[str] = []
    for cut in cuts:
        if joined and joined[-1] in ("小", "老", "阿") and len(cut) == 1 and cut not in "的了是":
            joined[-1] += cut
        else:
            joined.append(cut)
    return joined


def _joined(cuts: list[str], index: int, lists: Lexicon) -> int:
    """Return how many cuts from index make up the longest listed phrase, 0 for none."""
    best, text = 0, ""
    for size, cut in enumerate(cuts[index : index + _LONGEST_CHINESE], start=1):
        text += cut
        if len(text) > _LONGEST_CHINESE:
            break
        if text in lists.chinese:
            best = size
    return best


def _pieces(word: str) -> tuple[str, ...]:
    """Return an unlisted word whole, or its pieces when the lists know enough of it."""
    listed = lexicon().chinese
    if len(word) == 2 and word[0] in "小老阿":
        return (word,)
    parts: list[str] = []
    index = 0
    while index < len(word):
        size = next(
            (n for n in range(len(word) - index, 0, -1) if word[index : index + n] in listed), 0
        )
        if size or not parts or parts[-1] in listed:
            parts.append(word[index : index + max(size, 1)])
        else:
            parts[-1] += word[index]
        index += max(size, 1)
    if len(word) > 1 and all(_is_empty(part, listed) for part in parts) and not _LIGHT & set(word):
        return (word,)
    known = sum(len(part) for part in parts if part in listed)
    long_enough = any(len(part) > 1 and part in listed for part in parts)
    if known == len(word) or (long_enough and len(word) > 2) or _light(parts, listed):
        return tuple(parts)
    return (word,)


def _is_empty(part: str, listed: dict[str, Entry]) -> bool:
    return part in listed and not listed[part].concepts and not listed[part].flags


def _light(parts: list[str], listed: dict[str, Entry]) -> bool:
    """Whether a particle is all that is known (不 in an unlisted 不X, 我 in 我养)."""
    return any(
        part in listed and (not listed[part].concepts) and listed[part].section != "particle"
        for part in parts
    )
