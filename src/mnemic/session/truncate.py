"""Which turns go when a conversation is too long for its prompt? Pure: by contribution, not by age.

What weighs under 0.3 for what the session is about goes first, the least weighty exchange first; then the
oldest, which belong into a summary. Pinned turns, the system's turns before anybody spoke, the user's newest
turn and results with their calls never part from the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mnemic.checks import whole
from mnemic.errors import InvalidInput
from mnemic.model import Turn, Vector
from mnemic.session.contribution import Curve, contributions, exchange_of
from mnemic.session.exchanges import Layout, Places, layout
from mnemic.session.tokens import TokenCounter, estimate_tokens, turn_tokens

FLOOR = 0.3
"""Turns of a lower weight go first."""
MAX_BUDGET = 10_000_000


@dataclass(frozen=True, slots=True)
class Truncation:
    """What stays and what goes, in the order in which it was said.

    ``kept`` takes ``tokens``. ``aside`` weighed too little; ``oldest`` had no room and belongs into a
    summary; ``pairs`` had no room either, and no summary takes calls and results; ``orphans`` are results
    whose call was not there. ``weights`` has one from 0 to 1 for each turn that was given. ``fits`` is False
    when what never goes is by itself over the budget.
    """

    kept: tuple[Turn, ...]
    aside: tuple[Turn, ...] = ()
    oldest: tuple[Turn, ...] = ()
    pairs: tuple[Turn, ...] = ()
    orphans: tuple[Turn, ...] = ()
    weights: tuple[float, ...] = ()
    tokens: int = 0
    fits: bool = True


def truncate(
    turns: Sequence[Turn],
    budget_tokens: int,
    *,
    vectors: Sequence[Vector | None] = (),
    curve: Curve = lambda cosine: max(0.0, cosine),
    intent: str | None = None,
    count: TokenCounter = estimate_tokens,
    reserve: int = 0,
) -> Truncation:
    """Return what of ``turns`` stays within ``budget_tokens`` (1 to 10,000,000).

    ``vectors`` has one for each turn (None where there is none), or is empty: then only words tell what is
    alike. ``curve`` turns a raw cosine into a similarity from 0 to 1, ``intent`` names the open one,
    ``count`` counts tokens; ``reserve`` tokens are kept free where turns go for want of room. Raises
    InvalidInput (``budget_tokens_out_of_range``, ``vectors_not_matching``).
    """
    whole(budget_tokens, 1, MAX_BUDGET, "budget_tokens")
    if vectors and len(vectors) != len(turns):
        raise InvalidInput("vectors_not_matching", "Give one vector for each turn, or none.")
    places = layout(turns)
    room = _Room(
        [turn_tokens(turn, count) for turn in turns], places.orphans, budget_tokens, len(turns)
    )
    if room.fits:
        return _result(turns, room, [1.0] * len(turns))
    weights = weights_of(turns, places, vectors or [None] * len(turns), curve, intent)
    staying = _staying(turns, places)
    current = -1 if places.newest_user is None else places.exchange_of[places.newest_user]
    for exchange in _by_weight(places, weights, current):
        room.let_go(_blocks_in(places, exchange, staying), "aside")
    room.budget -= reserve if not room.fits else 0
    for exchange in range(-1, current):
        blocks = _blocks_in(places, exchange, staying)
        room.let_go([block for block in blocks if not _calls(turns, block)], "oldest")
        room.let_go([block for block in blocks if _calls(turns, block)], "pairs")
    for block in _blocks_in(places, current, staying):
        room.let_go([block], "pairs" if _calls(turns, block) else "oldest")
    return _result(turns, room, weights)


def weights_of(
    turns: Sequence[Turn],
    places: Layout,
    vectors: Sequence[Vector | None],
    curve: Curve,
    intent: str | None = None,
) -> list[float]:
    """Return the weight of each turn: that of its exchange; what comes before the first has 1."""
    members: dict[int, list[int]] = {}
    for place, exchange in enumerate(places.exchange_of):
        if exchange >= 0:
            members.setdefault(exchange, []).append(place)
    found = [
        exchange_of([turns[p] for p in inside], [vectors[p] for p in inside])
        for inside in members.values()
    ]
    weights = contributions(found, curve, intent=intent)
    return [1.0 if e < 0 else weights[e] for e in places.exchange_of]


class _Room:
    """How many tokens are taken, and why each turn that goes does."""

    def __init__(self, tokens: Sequence[int], orphans: Places, budget: int, count: int) -> None:
        self.budget = budget
        self.gone: dict[int, str] = dict.fromkeys(orphans, "orphan")
        self._cost = tokens
        self.tokens = sum(tokens[place] for place in range(count) if place not in self.gone)

    @property
    def fits(self) -> bool:
        return self.tokens <= self.budget

    def let_go(self, blocks: Sequence[Places], why: str) -> None:
        """Let all of these go, unless everything has room already."""
        if self.fits:
            return
        for block in blocks:
            for place in block if block[0] not in self.gone else ():
                self.gone[place] = why
                self.tokens -= self._cost[place]


def _staying(turns: Sequence[Turn], places: Layout) -> frozenset[int]:
    """Return the places of turns that never go, with those that never part from them."""
    fixed = {
        place
        for place, turn in enumerate(turns)
        if turn.pinned
        or place == places.newest_user
        or (turn.role == "system" and places.exchange_of[place] < 0)
    }
    return frozenset(p for block in places.blocks if fixed & set(block) for p in block)


def _by_weight(places: Layout, weights: Sequence[float], current: int) -> list[int]:
    """Return the exchanges under the floor, the least weighty first, of equal ones the oldest."""
    weight_of = dict(zip(places.exchange_of, weights, strict=True))
    low = [e for e in weight_of if 0 <= e < current and weight_of[e] < FLOOR]
    return sorted(low, key=lambda exchange: (weight_of[exchange], exchange))


def _blocks_in(places: Layout, exchange: int, staying: frozenset[int]) -> list[Places]:
    """Return the blocks that may go and begin in an exchange."""
    return [
        block
        for block in places.blocks
        if places.exchange_of[block[0]] == exchange and not staying & set(block)
    ]


def _calls(turns: Sequence[Turn], block: Places) -> bool:
    return any(turns[place].tool_calls for place in block)


def _result(turns: Sequence[Turn], room: _Room, weights: Sequence[float]) -> Truncation:
    def those(why: str | None) -> tuple[Turn, ...]:
        return tuple(turn for place, turn in enumerate(turns) if room.gone.get(place) == why)

    return Truncation(
        kept=those(None),
        aside=those("aside"),
        oldest=those("oldest"),
        pairs=those("pairs"),
        orphans=those("orphan"),
        weights=tuple(weights),
        tokens=room.tokens,
        fits=room.fits,
    )
