"""What is known already that a text may repeat, replace, or come too late for?

Reads inside the caller's transaction; what follows from the answers is written elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mnemic.crypto import DataKey
from mnemic.embedding.registry import Model
from mnemic.item_rows import at, blind_slots
from mnemic.longterm.gate import DISTANT, Decision, Judge, Neighbour, announces_change, decide
from mnemic.longterm.judge import Judgement, judge, slots
from mnemic.model import Vector
from mnemic.storage.halfvec import HalfVector
from mnemic.storage.pool import Transaction
from mnemic.storage.statements import statements
from mnemic.text import exact_form

_SQL = statements("items")
NEIGHBOURS, MEMBERS = 8, 16
"""How many of the nearest are judged; more when a whole kind may be denied."""
NOBODY = UUID(int=0)
Opinions = Mapping[tuple[str, str], Judgement]
NO_OPINIONS: Opinions = {}


@dataclass(frozen=True, slots=True)
class Place:
    """One scope inside an open transaction, with the key and the embedding model of what lies in it."""

    tx: Transaction
    key: DataKey
    scope_key: str
    model: Model

    async def lock(self) -> None:
        """Wait until no other writer is in this scope; taken before any row of it is locked."""
        await lock(self.tx, self.scope_key)


async def lock(tx: Transaction, scope_key: str) -> None:
    """Wait until no other writer is in this scope, and nobody changes the embedding model of its user."""
    await tx.one(_SQL["lock_scope"], {"scope_key": scope_key})


@dataclass(frozen=True, slots=True)
class Twin:
    """An item that holds the very same text; one that has expired makes room."""

    id: UUID
    expired: bool


class Known:
    """Finds the items that a text has to do with."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    async def twin(
        self, place: Place, text: str, since: datetime | None = None, besides: UUID = NOBODY
    ) -> Twin | None:
        """Return the item that holds this very text, if any.

        For a statement of an earlier time (``since``) a retired item counts too, while it was true then.
        """
        params = {
            "scope_key": place.scope_key,
            "content_mac": place.key.mac(exact_form(text)),
            "since": since,
            "except_id": besides,
        }
        row = await place.tx.one(_SQL["exact"], params)
        if row is None and since is not None:
            row = await place.tx.one(_SQL["exact_past"], params)
        return Twin(row["id"], row["expired"]) if row else None

    async def neighbours(
        self,
        place: Place,
        text: str,
        vector: Vector,
        *,
        least: float,
        since: datetime | None = None,
        besides: UUID = NOBODY,
    ) -> list[Neighbour]:
        """Return the stored texts that a text must be compared with, nearest first.

        Nominated are those with a calibrated similarity of at least ``least``, and those that fill the same
        slot, however far apart the encoder finds them.
        """
        params = {
            "scope_key": place.scope_key,
            "embedding": HalfVector(vector),
            "model_id": place.model.model_id,
            "since": since,
            "except_id": besides,
            "slots": blind_slots(place.key, slots(text)),
            "limit": NEIGHBOURS if least >= self.threshold else MEMBERS,
        }
        rows = await place.tx.all(_SQL["neighbours"], params)
        near = [(row, place.model.curve(row["cosine"])) for row in rows]
        return [
            Neighbour(
                row["id"],
                place.key.open(
                    row["content_enc"], at(place.scope_key, row["id"], "content", row["version"])
                ),
                similarity,
                row["valid_from"],
                row["same_slot"],
            )
            for row, similarity in near
            if similarity >= least or row["same_slot"]
        ]

    async def vector_of(self, place: Place, item_id: UUID) -> Vector | None:
        """Return the stored vector of an item; None when it is of another model."""
        params = {
            "scope_key": place.scope_key,
            "id": item_id,
            "model_id": place.model.model_id,
        }
        row = await place.tx.one(_SQL["vector"], params)
        return tuple(row["vector"]) if row else None

    async def decide(
        self,
        place: Place,
        text: str,
        vector: Vector,
        *,
        since: datetime | None = None,
        besides: UUID = NOBODY,
        opinions: Opinions = NO_OPINIONS,
    ) -> Decision:
        """Return what the neighbours of a text make of it."""
        least = min(DISTANT, self.threshold) if announces_change(text) else self.threshold
        found = await self.neighbours(
            place, text, vector, least=least, since=since, besides=besides
        )
        return decide(text, found, _judge_with(opinions), self.threshold, since)


def _judge_with(opinions: Opinions) -> Judge:
    def judged(first: str, second: str, similarity: float | None) -> Judgement:
        return opinions.get((first, second)) or judge(first, second, similarity)

    return judged
