"""Which sentences of a conversation say most of it? Pure: extraction of a summary, without a model.

A sentence counts by the telling words that it shares with other turns, more when the user said it or when it
holds a figure or a name, and less for what was chosen already. The chosen ones stand in their old order, each
with its turn's number and speaker.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mnemic.model import Turn
from mnemic.session.contribution import telling_words
from mnemic.session.tokens import TokenCounter, estimate_tokens

_END = re.compile(r"(?<=[。！？；!?\n])|(?<=[.;])(?=\s)")
_FIGURE = re.compile(r"\d|(?<=\w[ ,])[A-Z][a-z]|[零一二两三四五六七八九十百千万亿]{2}|[“\"「『《`]")
_QUESTION = re.compile(r"[?？]\s*$|[吗呢]\s*$")
_LONGEST = 200
_MOST = 4_000
"""Sentences that are looked at; of more the latest."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    place: int
    turn: Turn
    text: str
    words: frozenset[str]

    @property
    def line(self) -> str:
        who = self.turn.speaker or self.turn.role
        return f"[{self.turn.seq}] {who}: {self.text}" if self.turn.seq else f"{who}: {self.text}"


def digest(turns: Sequence[Turn], budget_tokens: int, count: TokenCounter = estimate_tokens) -> str:
    """Return the most telling sentences within ``budget_tokens``, a line each.

    Where no whole one fits, or none tells anything, the beginning of the first turn stands for all.
    """
    sentences = list(_sentences(turns))[-_MOST:]
    chosen = _chosen(sentences, budget_tokens, count)
    if chosen:
        return "\n".join(sentence.line for sentence in chosen)
    return _beginning(turns, budget_tokens, count)


def _sentences(turns: Sequence[Turn]) -> Iterator[_Sentence]:
    place = 0
    for turn in turns:
        if turn.role not in ("user", "assistant"):
            continue
        for part in _END.split(turn.content):
            text = " ".join(part.split())
            words = telling_words(text)
            if words:
                shown = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
                yield _Sentence(place, turn, shown, words)
                place += 1


def _chosen(sentences: Sequence[_Sentence], budget: int, count: TokenCounter) -> list[_Sentence]:
    """Return sentences in their order: always the one that adds most, as long as there is room."""
    common = Counter(word for sentence in sentences for word in sentence.words)
    base = {sentence.place: _worth(sentence, common) for sentence in sentences}
    taken: set[str] = set()
    chosen: list[_Sentence] = []
    for sentence in sorted(sentences, key=lambda s: (-base[s.place], s.place)):
        fresh = len(sentence.words - taken) / len(sentence.words)
        cost = count(sentence.line) + 1
        if fresh < 0.5 or cost > budget:
            continue
        budget -= cost
        taken |= sentence.words
        chosen.append(sentence)
    return sorted(chosen, key=lambda s: s.place)


def _worth(sentence: _Sentence, common: Counter[str]) -> float:
    shared = sum(min(common[word], 5) for word in sentence.words) / (len(sentence.words) + 2)
    worth = shared + (1.0 if sentence.turn.role == "user" else 0.0)
    if _FIGURE.search(sentence.text):
        worth += 1.0
    if _QUESTION.search(sentence.text) and sentence.turn.role == "assistant":
        worth *= 0.3
    return worth


def _beginning(turns: Sequence[Turn], budget: int, count: TokenCounter) -> str:
    text = " ".join(turns[0].content.split())[:_LONGEST] if turns else ""
    while text and count(text) > budget:
        text = text[: len(text) // 2]
    return text or "…"
