"""What becomes of the texts of a batch, one after the other, before any of them is written?

Pure. One look at the scope shows what stands beside each text; what earlier texts of the batch add and
retire is followed here. A text of which that look does not tell enough ends the foresight: what was
foreseen is written, and the scope is looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mnemic.longterm.gate import Decision, Judge, Neighbour, decide
from mnemic.text import exact_form


@dataclass(frozen=True, slots=True)
class Incoming:
    """A text on its way in, with the id that its row would have and the ``slots`` that it fills.

    True from ``since`` (None: now) to ``until``; ``pending`` names why it awaits confirmation, if it does.
    """

    id: UUID
    text: str
    slots: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    pending: str | None = None


@dataclass(frozen=True, slots=True)
class Twin:
    """An item that holds the very same text; one that has expired makes room. ``asked``: see Candidate;
    ``others``: see Neighbour."""

    id: UUID
    expired: bool
    asked: bool = False
    others: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A neighbour; ``asked`` tells that its user has not answered the question about it."""

    neighbour: Neighbour
    cosine: float
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Earlier:
    """A text of the same batch, ``index`` places from its start, that may be a neighbour of a later one."""

    index: int
    cosine: float
    similarity: float
    same_slot: bool


@dataclass(frozen=True, slots=True)
class Beside:
    """What stands beside one text: at most ``most`` near items and ``most`` of its slots are compared.

    ``least`` is the similarity of near ones. ``cut`` tells that there may be more than were looked at.
    """

    most: int
    least: float
    twin: Twin | None = None
    stored: Sequence[Candidate] = ()
    earlier: Sequence[Earlier] = ()
    cut: bool = False


def foresee(
    items: Sequence[Incoming],
    beside: Sequence[Beside],
    now: datetime,
    judge: Judge,
    threshold: float,
) -> list[Decision]:
    """Return the decisions about the first texts, as many as can be foreseen (perhaps none).

    They are those that adding one text after the other comes to. ``now`` is the transaction's time.
    """
    batch = _Batch(items, now, judge, threshold)
    for known in beside:
        decision = batch.decide(known)
        if decision is None:
            break
        batch.take(decision)
    return batch.decisions


class _Batch:
    """The texts so far: which of them became rows, and which rows are retired."""

    def __init__(
        self, items: Sequence[Incoming], now: datetime, judge: Judge, threshold: float
    ) -> None:
        self.decisions: list[Decision] = []
        self._items = items
        self._now = now
        self._judge = judge
        self._threshold = threshold
        self._rows: set[int] = set()
        self._forms: dict[str, int] = {}
        self._retired: set[UUID] = set()

    def decide(self, known: Beside) -> Decision | None:
        """Return what becomes of the next text, None when that cannot be foreseen."""
        item = self._items[len(self.decisions)]
        if self._retired and (item.since is not None or self._may_be_missing(known)):
            return None
        twin = self._twin(item, known)
        if twin is not None:
            # its row must make room, in the database, before another one may hold the text
            leaves = twin.expired or twin.id in self._retired
            return None if leaves or twin.asked else Decision(duplicate_of=twin.id, why="exact")
        found = self._candidates(item, known)
        neighbours = [candidate.neighbour for candidate in found]
        decision = decide(item.text, neighbours, self._judge, self._threshold, item.since)
        asked = {candidate.neighbour.id for candidate in found if candidate.asked}
        others = decision.untouched or decision.contested
        if others or decision.superseded_by is not None or decision.duplicate_of in asked:
            return None
        return decision

    def take(self, decision: Decision) -> None:
        """Go on to the next text."""
        index = len(self.decisions)
        item = self._items[index]
        self.decisions.append(decision)
        if decision.duplicate_of is not None:
            return
        self._rows.add(index)
        self._forms[exact_form(item.text)] = index
        if item.pending is None:
            self._retired.update(decision.supersedes)

    def _may_be_missing(self, known: Beside) -> bool:
        """Whether a neighbour that was not looked at could stand in for a retired one."""
        return known.cut and any(c.neighbour.id in self._retired for c in known.stored)

    def _twin(self, item: Incoming, known: Beside) -> Twin | None:
        index = self._forms.get(exact_form(item.text))
        if index is None:
            return known.twin
        row = self._items[index]
        return Twin(row.id, self._expired(row, item), row.pending is not None)

    def _expired(self, row: Incoming, item: Incoming) -> bool:
        return row.until is not None and row.until <= (item.since or self._now)

    def _candidates(self, item: Incoming, known: Beside) -> list[Candidate]:
        """Return whom adding it alone would compare the text with: the nearest, and those of its slots."""
        found = [c for c in known.stored if c.neighbour.id not in self._retired]
        found += [self._row(one) for one in known.earlier if self._is_comparable(one.index, item)]
        found.sort(key=lambda candidate: -candidate.cosine)
        near = [c for c in found if c.neighbour.similarity >= known.least][: known.most]
        of_slot = [c for c in found if c.neighbour.same_slot][: known.most]
        return near + [candidate for candidate in of_slot if candidate not in near]

    def _is_comparable(self, index: int, item: Incoming) -> bool:
        row = self._items[index]
        stands = index in self._rows and row.id not in self._retired
        return stands and row.pending != "instruction_like" and not self._expired(row, item)

    def _row(self, one: Earlier) -> Candidate:
        row = self._items[one.index]
        since = min(row.since or self._now, self._now)
        neighbour = Neighbour(row.id, row.text, one.similarity, since, one.same_slot)
        return Candidate(neighbour, one.cosine, row.pending is not None)
