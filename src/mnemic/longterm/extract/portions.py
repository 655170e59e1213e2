"""How does a chat model read a conversation that is longer than what it takes in one call?

In portions, each with a few turns before it; a turn that is longer than a portion comes in pieces of its own,
cut at the end of a line, a sentence or a word. Nothing is left out. A model that refuses a portion gets it in
halves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mnemic.chat import ChatModel
from mnemic.errors import ChatError
from mnemic.longterm.extract.model import ModelExtraction, Skipped, extract_with_model
from mnemic.model import Candidate, Turn
from mnemic.session.tokens import estimate_tokens

PORTION = 8_000
"""Estimated tokens of turns that a model is shown in one call."""
LEAST = 500
"""Estimated tokens below which a portion that was refused is not halved any more."""
_TOO_LONG = frozenset({400, 413, 422})
_ENDS = tuple(map(re.compile, (r"\n", r"(?<=[。！？；])|(?<=[.!?;])\s", r"\s|(?<=[，、,])")))
"""Where a turn may be cut, the best first: after a line, a sentence, a word."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Turns for one call, of which ``turns[first_new:]`` are new."""

    turns: tuple[Turn, ...]
    first_new: int

    @property
    def tokens(self) -> int:
        """How much of it is new, in estimated tokens."""
        return sum(estimate_tokens(turn.content) for turn in self.turns[self.first_new :])


async def extract_in_portions(
    turns: Sequence[Turn], *, chat: ChatModel, first_new: int = 0, most: int = PORTION
) -> ModelExtraction:
    """Return what ``extract_with_model`` finds in all portions of ``turns``, in their order.

    ``most`` is in estimated tokens. Raises ChatError where a portion cannot be read, and returns nothing.
    """
    candidates: list[Candidate] = []
    skipped: list[Skipped] = []
    for portion in portions(turns, first_new, most):
        try:
            found = await extract_with_model(portion.turns, chat=chat, first_new=portion.first_new)
        except ChatError as error:
            half = min(most, portion.tokens) // 2
            if error.details.get("status") not in _TOO_LONG or half < LEAST:
                raise
            found = await extract_in_portions(
                portion.turns, chat=chat, first_new=portion.first_new, most=half
            )
        candidates += found.candidates
        skipped += found.skipped
    return ModelExtraction(tuple(candidates), tuple(skipped))


def portions(turns: Sequence[Turn], first_new: int, most: int) -> Iterator[Portion]:
    """Divide the new turns into portions of at most ``most`` estimated tokens, and as many before them as
    fit into a quarter of that."""
    before, group, size = list(turns[:first_new]), list[Turn](), 0
    for turn in turns[first_new:]:
        for piece in _pieces(turn, most):
            length = estimate_tokens(piece.content)
            if group and (size + length > most or piece.content != turn.content):
                yield _portion(before, group, most)
                before, group, size = before + group, [], 0
            group.append(piece)
            size += length
    if group:
        yield _portion(before, group, most)


def _portion(before: Sequence[Turn], group: Sequence[Turn], most: int) -> Portion:
    shown: list[Turn] = []
    room = most // 4
    for turn in reversed(before):
        room -= estimate_tokens(turn.content)
        if room < 0 or turn.seq == group[0].seq:
            break
        shown.insert(0, turn)
    return Portion((*shown, *group), len(shown))


def _pieces(turn: Turn, most: int) -> list[Turn]:
    if estimate_tokens(turn.content) <= most:
        return [turn]
    found, rest = [], turn.content
    while rest:
        end = _cut(rest, most)
        found.append(replace(turn, content=rest[:end], tool_calls=()))
        rest = rest[end:]
    return found


def _cut(text: str, most: int) -> int:
    """Return where a piece of at most ``most`` estimated tokens ends: at the last good place in its last
    quarter, or where it is full."""
    low, high = 1, min(len(text), 3 * most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate_tokens(text[:middle]) <= most else (low, middle - 1)
    if low == len(text):
        return low
    for end in _ENDS:
        places = [found.end() for found in end.finditer(text, low - low // 4, low)]
        if places:
            return places[-1]
    return low
