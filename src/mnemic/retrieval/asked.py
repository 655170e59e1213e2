"""What does a query ask for, beside its words: whose turn, which side, which days?

Pure. Names are only candidates here: the database knows by keyed hash which of them spoke. The phrases
are general ones of Chinese and English, the same for every conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice

from mnemic.lexical import fold, query_tokens, telling, tokens
from mnemic.model import Hit
from mnemic.resources.turns import speaker_name
from mnemic.retrieval.dates import spans
from mnemic.retrieval.dialogue import lines_of
from mnemic.retrieval.span import Span

STANDING = ("preference", "habit", "constraint")
"""Types of memories that hold until further notice."""
STANDING_AMONG, _MOST_STANDING = 5, 3
"""Of so many best memories, so many lend a wish for help their words and meaning."""
LENT = 0.2
"""Weight of a word that is lent."""
EVERYDAY = 0.5
"""Weight of everyday words in a query over turns; memories are short and give them a quarter."""
SENTENCES_FROM = 3
"""Sentences from which a query is also read sentence by sentence."""
FADING = 0.7
"""What a line of a conversation counts beside the one after it."""
_MOST_PARTS, _SHORTEST = 24, 4
_MOST_NAMES = 256
_MOST_LENT = 64
_YEARS = 12

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_NAME = re.compile(r"[^\W\d_\u2e80-\u9fff]+(?:['’-][^\W\d_\u2e80-\u9fff]+)*")
_HAN_RUN = re.compile(r"[\u3400-\u9fff·]{2,}")
_POSSESSIVE = re.compile(r"['’]s?$")

_SAY = (
    "say|tell|suggest|recommend|mention|advise|explain|give|offer|list|propose|introduce|describe"
    "|provide|teach"
)
_SAID = (
    "said|told|suggested|recommended|mentioned|advised|explained|gave|given|offered|listed|proposed|introduced"
    "|described|provided|taught"
)
_TOLD = re.compile(
    rf"\byou (?:(?:just|also|already|once|previously|have|had|earlier) )*(?:{_SAID})\b"
    r"|\byour (?:earlier |previous )?(?:advice|suggestion|recommendation|answer|explanation|reply|tips)"
    rf"|\b(?:did|have|had) you (?:\w+ )?(?:{_SAY})"
    r"|(?<![跟对给向和同与诉])[你您](?:之前|曾经|曾|以前|上次|那天|当时|还|都|是)*(?:怎么|如何|都|给我|为我|向我|跟我|对我)*"
    r"(?:说过|说的|告诉过|告诉我|推荐过|推荐了|推荐的|建议过|建议我|建议了|提到|介绍|提供了|提供过|给出|分享|教过|教我"
    r"|回答|解释)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\b(?:can|could|would|will) you\b|\b(?:recommend|suggest|help me|give me|show me|how (?:do|can|should) i"
    r"|what (?:are|should)|explain|plan)\b|推荐|建议|帮我|怎么|请",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:did|was|were|had|have i|has)\b|我.{0,6}[过了]", re.IGNORECASE)
_TALK = "conversation|chat|session|time we (?:talked|spoke|met|chatted)"
_HAN_TALK = "对话|聊天|聊|见面|交流|谈"
_FIRST = re.compile(
    rf"\b(?:very first|first|initial) (?:{_TALK})|第一次(?:{_HAN_TALK})|最开始[聊谈说]",
    re.IGNORECASE,
)
_LATEST = re.compile(
    rf"\b(?:most recent|last|latest|previous) (?:{_TALK})|(?:上一?次|最近一次)(?:{_HAN_TALK})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as the ranking of turns reads it.

    ``names`` are folded words that may be a speaker's name, ``of_name`` the places in ``lexemes`` that each
    gives. The last ``lent`` lexemes are not the query's own. ``side`` is -1 when it asks what the assistant
    said, else 1. ``request`` marks a wish for help, to which standing preferences apply.
    """

    lexemes: tuple[str, ...]
    tells: tuple[float, ...]
    names: tuple[str, ...] = ()
    of_name: tuple[tuple[int, ...], ...] = ()
    side: int = 1
    request: bool = False
    spans: tuple[Span, ...] = ()
    first: bool = False
    latest: bool = False
    lent: int = 0


def read(query: str, today: date | None = None, own_name: str = "") -> Asked:
    """Return what a query asks for. ``own_name`` is the actor's: it says nothing in the actor's own scope.

    A conversation has the words of all its lines, and asks what its last line asks.
    """
    own = frozenset(tokens(own_name))
    last, query = _last(query), whole(query)
    lexemes = tuple(word for word in query_tokens(query) if word not in own)
    place = {lexeme: index for index, lexeme in enumerate(lexemes)}
    names = tuple(speaker_candidates(query))
    years = range(today.year - _YEARS, today.year + 2) if today else ()
    return Asked(
        lexemes,
        tuple(1.0 if telling(lexeme) == 1.0 else EVERYDAY for lexeme in lexemes),
        names,
        tuple(tuple(place[word] for word in tokens(name) if word in place) for name in names),
        -1 if _TOLD.search(last) else 1,
        wants_help(last),
        spans(last, years, today),
        bool(_FIRST.search(last)),
        bool(_LATEST.search(last)),
    )


def wants_help(query: str) -> bool:
    """Tell whether a query asks for help, to which standing preferences apply, and not for what was."""
    last = _last(query)
    return bool(_REQUEST.search(last)) and not _PAST.search(last)


def standing(hits: Sequence[Hit]) -> tuple[str, ...]:
    """Return what the user wishes or does in general, of the best memories; nobody else's in a project."""
    own = (h for h in hits if h.item.memory_type in STANDING and h.item.scope != "project")
    return tuple(hit.content for hit in islice(own, _MOST_STANDING))


def lend(asked: Asked, texts: Sequence[str]) -> Asked:
    """Return a query with the telling words of ``texts``, each at a small weight."""
    words = dict.fromkeys(word for text in texts for word in tokens(text) if telling(word) == 1.0)
    lent = tuple(word for word in words if word not in asked.lexemes)[:_MOST_LENT]
    return replace(
        asked,
        lexemes=asked.lexemes + lent,
        tells=asked.tells + (LENT,) * len(lent),
        lent=len(lent),
    )


def speaker_candidates(query: str) -> Iterator[str]:
    """Yield what may be a speaker's name in a query, folded, each once, at most 256.

    One to three words that follow each other; in Chinese two to four characters.
    """
    found: dict[str, None] = {}
    text = fold(query)
    words = [_POSSESSIVE.sub("", word) for word in _NAME.findall(text)]
    for length in (1, 2, 3):
        for start in range(len(words) - length + 1):
            found.setdefault(speaker_name(" ".join(words[start : start + length])) or "")
    for run in _HAN_RUN.findall(text):
        for length in (2, 3, 4):
            for start in range(len(run) - length + 1):
                found.setdefault(speaker_name(run[start : start + length]) or "")
    yield from islice((name for name in found if len(name) > 1), _MOST_NAMES)


def parts_of(query: str, *, by_sentence: bool = True) -> tuple[tuple[str, float], ...]:
    """Return the parts by which a query is also read, each with what it counts; nothing for a short one.

    These are its sentences, where it has three or more; of a conversation its lines, the last first.
    """
    lines = lines_of(query)
    if lines:
        faded = ((line.text, FADING**back) for back, line in enumerate(reversed(lines)))
        parts = [(text, count) for text, count in faded if len(text) >= _SHORTEST]
        return tuple(parts[:_MOST_PARTS])
    split = (part.strip() for part in _SENTENCE.split(query) if part) if by_sentence else ()
    parts = [(part, 1.0) for part in split if len(part) >= _SHORTEST]
    return tuple(parts[:_MOST_PARTS]) if len(parts) >= SENTENCES_FROM else ()


def whole(query: str) -> str:
    """Return a query as one text: a conversation with the names in it, without "User" and "Assistant"."""
    return "\n".join(line.words for line in lines_of(query)) or query


def _last(query: str) -> str:
    """Return what a query ends with: the last line of a conversation, else all of it."""
    lines = lines_of(query)
    return lines[-1].text if lines else query
