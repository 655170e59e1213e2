"""How much does each exchange of a conversation matter to what it is about? Pure.

What the session is about is what most of its exchanges, and the latest ones, have in common. An exchange
weighs as much as it is like the others, the later ones counting more; the one that weighs most has 1. What
is like a weighty exchange gets part of its weight, for a conversation moves on in steps. The exchange at hand
has 1, and so has what is like it; a mere "yes, do" weighs what it answers (docs/explain/truncation.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from operator import mul

from mnemic.lexical import query_tokens, telling
from mnemic.model import Turn, Vector

_FADING = 0.9
"""How much less an exchange counts than the one after it."""
_CHANCE = 0.2
"""Calibrated similarity that unrelated texts reach by chance."""
_STEP = 0.7
"""Part of its weight that an exchange hands to what is like it."""
_ENOUGH_WORDS = 2
"""Telling words in common that make two exchanges alike."""
_LEAST = 0.25
"""Below this the exchanges have nothing in common: the session is about nothing in particular."""
_FIGURES = re.compile(r"\d|[零〇一二两三四五六七八九十百千万亿半]")
"""What numbers are written with: two turns that hold the same one may be about anything."""
_READ = 2_000
"""Characters of an exchange whose words are looked at."""
Curve = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one exchange is about: vectors of length 1, telling words, and its intent where one is named.

    ``asked`` is the vector of the user's turn; ``light``: the user's words tell nothing by themselves.
    """

    asked: Vector | None
    about: Vector | None
    words: frozenset[str]
    intent: str | None
    light: bool


def exchange_of(turns: Sequence[Turn], vectors: Sequence[Vector | None]) -> Exchange:
    """Return what an exchange is about; ``vectors`` has one for each turn, None where there is none."""
    asked = next((v for t, v in zip(turns, vectors, strict=True) if t.role == "user"), None)
    said = [t.content for t in turns if t.role in ("user", "assistant")]
    question = " ".join(t.content for t in turns if t.role == "user")
    intents = [t.intent for t in turns if t.intent is not None]
    return Exchange(
        asked=_unit([asked]) if asked else None,
        about=_unit([v for v in vectors if v]),
        words=telling_words("\n".join(said)),
        intent=intents[-1] if intents else None,
        light=not intents and not telling_words(question),
    )


def telling_words(text: str) -> frozenset[str]:
    """Return the words of a text that say what it is about; numbers and everyday words do not."""
    found = query_tokens(text[:_READ])
    return frozenset(word for word in found if telling(word) == 1.0 and not _FIGURES.search(word))


def contributions(
    exchanges: Sequence[Exchange], curve: Curve, *, intent: str | None = None
) -> list[float]:
    """Return the weight of each exchange, from 0 to 1, oldest first.

    ``curve`` turns a raw cosine into a similarity from 0 to 1. ``intent`` names the open one: what is tagged
    with it has 1.
    """
    count = len(exchanges)
    like = [[0.0] * count for _ in range(count)]
    for one in range(count):
        for other in range(one):
            like[one][other] = like[other][one] = alike(exchanges[one], exchanges[other], curve)
    fading = [_FADING ** (count - 1 - place) for place in range(count)]
    sums = [sum(map(mul, fading, like[place])) for place in range(count)]
    most = max(sums, default=0.0)
    if most < _LEAST:
        weights = [1.0] * count
    else:
        own = [value / most for value in sums]
        handed = [
            _STEP * max(map(mul, like[place], own), default=0.0) if count > 1 else 0.0
            for place in range(count)
        ]
        weights = [max(pair) for pair in zip(own, handed, strict=True)]
    return _completed(exchanges, weights, like, intent)


def _completed(
    exchanges: Sequence[Exchange],
    weights: list[float],
    like: Sequence[Sequence[float]],
    intent: str | None,
) -> list[float]:
    """Add what the open intent lends, and what a light exchange has from the one before it."""
    for place, exchange in enumerate(exchanges):
        at_hand = place == len(exchanges) - 1
        if at_hand or (intent is not None and exchange.intent == intent):
            weights[place] = 1.0
        elif not exchanges[-1].light:
            weights[place] = max(weights[place], like[place][-1])
        if exchange.light and place and not at_hand:
            weights[place] = max(weights[place], weights[place - 1])
    return [min(1.0, weight) for weight in weights]


def alike(one: Exchange, other: Exchange, curve: Curve) -> float:
    """Return how much two exchanges have in common, 0 to 1; where both name an intent it decides alone."""
    if one.intent is not None and other.intent is not None:
        return 1.0 if one.intent == other.intent else 0.0
    about = _above_chance(one.about, other.about, curve)
    asked = _above_chance(one.asked, other.asked, curve)
    words = min(1.0, len(one.words & other.words) / _ENOUGH_WORDS)
    return max((about + max(about, asked)) / 2, words)


def _above_chance(one: Vector | None, other: Vector | None, curve: Curve) -> float:
    if one is None or other is None or len(one) != len(other):
        return 0.0
    return max(0.0, curve(sum(map(mul, one, other))) - _CHANCE) / (1.0 - _CHANCE)


def _unit(vectors: Sequence[Vector]) -> Vector | None:
    """Return the direction of a sum of vectors, None where it has none."""
    if not vectors or len({len(vector) for vector in vectors}) > 1:
        return None
    total = [sum(values) for values in zip(*vectors, strict=True)]
    length = sqrt(sum(value * value for value in total))
    return tuple(value / length for value in total) if length > 0 else None
