"""Which turns belong together? Pure: exchanges, and the blocks in them that never part.

An exchange is a turn of the user with everything up to their next one. A block is a single turn, or the turn
that calls tools with the results of these calls, wherever they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mnemic.model import Turn

Places = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things stand in a list of turns, as places from 0, each once and in order.

    ``blocks`` covers all turns but ``orphans`` (results whose call is not there); ``exchange_of`` tells for
    each turn which exchange it is in, -1 before the first turn of the user.
    """

    blocks: tuple[Places, ...]
    orphans: Places
    exchange_of: tuple[int, ...]
    newest_user: int | None


def layout(turns: Sequence[Turn]) -> Layout:
    """Return how turns belong together. An id of a call that comes again means the latest call before it."""
    caller: dict[str, int] = {}
    block_of: dict[int, int] = {}
    orphans: list[int] = []
    for place, turn in enumerate(turns):
        answered = None if turn.tool_call_id is None else caller.get(turn.tool_call_id)
        if turn.role == "tool" and answered is None:
            orphans.append(place)
            continue
        block_of[place] = place if answered is None else answered
        caller.update((call.id, place) for call in turn.tool_calls)
    members: dict[int, list[int]] = {}
    for place, block in block_of.items():
        members.setdefault(block, []).append(place)
    users = [place for place, turn in enumerate(turns) if turn.role == "user"]
    return Layout(
        blocks=tuple(tuple(places) for places in members.values()),
        orphans=tuple(orphans),
        exchange_of=_exchanges(turns),
        newest_user=users[-1] if users else None,
    )


def _exchanges(turns: Sequence[Turn]) -> tuple[int, ...]:
    number, found = -1, []
    for turn in turns:
        number += turn.role == "user"
        found.append(number)
    return tuple(found)


def whole_tail(turns: Sequence[Turn], last: int) -> list[Turn]:
    """Return the newest ``last`` turns, and more where a result would lose its call; orphans are left out."""
    if last <= 0:
        return []
    start = max(0, len(turns) - last)
    while start:
        lost = layout(turns[start:]).orphans
        callers = [
            place
            for place in range(start - 1, -1, -1)
            if any(turns[start + o].tool_call_id in _ids(turns[place]) for o in lost)
        ]
        if not callers:
            break
        start = callers[0]
    tail = list(turns[start:])
    return [turn for place, turn in enumerate(tail) if place not in layout(tail).orphans]


def _ids(turn: Turn) -> set[str]:
    return {call.id for call in turn.tool_calls}
