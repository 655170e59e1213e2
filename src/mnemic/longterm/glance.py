"""How is a scope looked at with the very beginning of the transaction that writes to it?

By a key that was opened lately. What the look tells counts if the database is in the state that the key
belongs to; else the scope is looked at again. Texts are sealed while the database looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from mnemic.crypto import DataKey
from mnemic.longterm.foresee import Beside, Incoming
from mnemic.longterm.known import Ground, Known, Place, Spot
from mnemic.longterm.record import Columns, Row, columns
from mnemic.model import Actor, Vector
from mnemic.storage.answer import Look
from mnemic.storage.statements import statements

_SQL = statements("items")


@dataclass(frozen=True, slots=True)
class Seen:
    """What stands beside each of some texts, and these as they may be written."""

    beside: Sequence[Beside]
    sealed: Sequence[Columns]


@dataclass(slots=True)
class Glance:
    """What is asked about some texts with the beginning of a transaction.

    ``state`` is the key epoch of the user, or the keys of the project, that ``ground.key`` belongs to.
    """

    known: Known
    actor: Actor
    ground: Ground
    state: str
    rows: Sequence[Row]
    sealed: list[Columns] = field(default_factory=list)

    @classmethod
    def by_key(
        cls,
        key: DataKey,
        state: str,
        known: Known,
        actor: Actor,
        spot: Spot,
        rows: Sequence[Row],
    ) -> Self:
        """Return the glance by a key that belongs to that state."""
        ground = Ground(key, spot.scope_key, rows[0].item.model, actor.user, spot.private)
        return cls(known, actor, ground, state, rows)

    @property
    def look(self) -> Look:
        """Return how the transaction begins."""
        first = self.rows[0]
        if len(self.rows) == 1 and first.incoming.since is None:
            one = self.known.question_of_one(self.ground, first.incoming, first.item.vector)
            return Look(_SQL["begin_add"], one, self._seal)
        asked = self.known.question(self.ground, _incoming(self.rows), _vectors(self.rows))
        return Look(_SQL["begin_write"], asked, self._seal)

    def told(self, place: Place) -> Seen | None:
        """Return what the look told; None where it does not count."""
        tx = place.tx
        state = tx.project_keys if self._of_project else str(tx.key_epoch)
        if tx.seen is None or state != self.state or not tx.known_user:
            return None
        beside = self.known.told(place, _incoming(self.rows), tx.seen.found)
        return Seen(beside, self.sealed or _sealed(place, self.actor, self.rows))

    @property
    def _of_project(self) -> bool:
        return self.ground.scope_key == self.actor.project_scope

    def _seal(self) -> None:
        if not self._of_project:  # what is a project's is sealed with a key of its author
            self.sealed = _sealed(self.ground, self.actor, self.rows)


async def look_beside(known: Known, place: Place, actor: Actor, rows: Sequence[Row]) -> Seen:
    """Look at a scope inside a transaction; texts are sealed, for those that are duplicates in vain."""
    beside = await known.look(place, _incoming(rows), _vectors(rows))
    return Seen(beside, _sealed(place, actor, rows))


def _incoming(rows: Sequence[Row]) -> list[Incoming]:
    return [row.incoming for row in rows]


def _vectors(rows: Sequence[Row]) -> list[Vector]:
    return [row.item.vector for row in rows]


def _sealed(ground: Ground, actor: Actor, rows: Sequence[Row]) -> list[Columns]:
    return [columns(ground, actor, row) for row in rows]
