"""What is known already that a text may repeat, replace, or come too late for?

Reads inside the caller's transaction; what follows from the answers is written elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from mnemic.crypto import DataKey
from mnemic.embedding.registry import Model
from mnemic.item_rows import Row, at, blind_slots
from mnemic.longterm.foresee import Beside, Candidate, Earlier, Incoming, Twin
from mnemic.longterm.gate import DISTANT, Decision, Judge, Neighbour, announces_change, decide
from mnemic.longterm.judge import Judgement, judge, slots
from mnemic.model import Vector, Visibility
from mnemic.permissions import may
from mnemic.storage.halfvec import HalfVector, HalfVectors
from mnemic.storage.pool import Transaction
from mnemic.storage.statements import statements
from mnemic.storage.transaction import Params
from mnemic.text import exact_form

_SQL = statements("items")
NEIGHBOURS, MEMBERS = 8, 16
"""How many of the nearest are judged; more when a whole kind may be denied."""
NOBODY = UUID(int=0)
_ROUNDING = 1e-6  # the database compares with a little more than the curve asks for
Opinions = Mapping[tuple[str, str], Judgement]
NO_OPINIONS: Opinions = {}


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a draft goes: a scope, and in a project's what only its author sees apart."""

    scope_key: str
    private: bool = False


@dataclass(frozen=True, slots=True)
class Ground:
    """One scope with the key and the embedding model of what lies in it.

    ``private`` is what nobody but ``user`` sees in a project: it is compared with its own kind only.
    """

    key: DataKey
    scope_key: str
    model: Model
    user: str
    private: bool = False

    def mac(self, text: str) -> bytes:
        """Return the keyed hash by which this very text is found again here."""
        form = exact_form(text)
        return self.key.mac(f"owner_only|{self.user}|{form}" if self.private else form)


@dataclass(frozen=True, slots=True)
class Place(Ground):
    """A ground inside an open transaction."""

    tx: Transaction = field(kw_only=True)

    async def lock(self) -> None:
        """Wait until no other writer is in this scope; taken before any row of it is locked."""
        await lock(self.tx, self.scope_key)

    def others(self, row: Row) -> str | None:
        """Return whose item a row is where this user may not change it, else None."""
        owner: str = row["owner_id"]
        if not self.scope_key.startswith("project:"):
            return None
        visibility: Visibility = "owner_only" if self.private else "members"
        return None if may(self.tx.role, "edit", visibility, own=owner == self.user) else owner


async def lock(tx: Transaction, scope_key: str) -> None:
    """Wait until no other writer is in this scope, and nobody changes the embedding model of its user."""
    await tx.one(_SQL["lock_scope"], {"scope_key": scope_key})


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
            "content_mac": place.mac(text),
            "since": since,
            "except_id": besides,
        }
        row = await place.tx.one(_SQL["exact"], params)
        if row is None and since is not None:
            row = await place.tx.one(_SQL["exact_past"], params)
        return Twin(row["id"], row["expired"], others=place.others(row)) if row else None

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
            "private": place.private,
            "embedding": HalfVector(vector),
            "model_id": place.model.model_id,
            "since": since,
            "except_id": besides,
            "slots": blind_slots(place.key, slots(text)),
            "limit": self._most(least),
        }
        rows = await place.tx.all(_SQL["neighbours"], params)
        near = [(row, place.model.curve(row["cosine"])) for row in rows]
        return [
            _neighbour(place, row, similarity)
            for row, similarity in near
            if similarity >= least or row["same_slot"]
        ]

    def question(
        self, ground: Ground, items: Sequence[Incoming], vectors: Sequence[Vector]
    ) -> Params:
        """Return what one look at the scope asks about some texts: the parameters of ``look``."""
        least = [self.least(item.text) for item in items]
        curve = ground.model.curve
        return {
            "scope_key": ground.scope_key,
            "model_id": ground.model.model_id,
            "private": ground.private,
            "macs": [ground.mac(item.text) for item in items],
            "sinces": [item.since for item in items],
            "embeddings": HalfVectors(tuple(vectors)),
            "slot_lists": [" ".join(blind_slots(ground.key, item.slots)) for item in items],
            "farthest": [1.0 - curve.raw(one) + _ROUNDING for one in least],
            "most": [self._most(one) for one in least],
        }

    def question_of_one(self, ground: Ground, item: Incoming, vector: Vector) -> Params:
        """Return what is asked about one text that is true from now on: the parameters of ``begin_add``."""
        least = self.least(item.text)
        return {
            "scope_key": ground.scope_key,
            "model_id": ground.model.model_id,
            "private": ground.private,
            "mac": ground.mac(item.text),
            "embedding": HalfVector(vector),
            "slots": " ".join(blind_slots(ground.key, item.slots)),
            "farthest": 1.0 - ground.model.curve.raw(least) + _ROUNDING,
            "most": self._most(least),
        }

    async def look(
        self, place: Place, items: Sequence[Incoming], vectors: Sequence[Vector]
    ) -> list[Beside]:
        """Return what stands beside each of some texts, with one look at the scope."""
        rows = await place.tx.all(_SQL["look"], self.question(place, items, vectors))
        return self.told(place, items, rows)

    def told(self, place: Place, items: Sequence[Incoming], rows: Iterable[Row]) -> list[Beside]:
        """Return what stands beside each of some texts, as the rows of a look tell it."""
        seen: list[list[Row]] = [[] for _ in items]
        for row in rows:
            seen[row["item"] - 1].append(row)
        least = [self.least(item.text) for item in items]
        return [
            _beside(place, beside, self._most(one), one)
            for beside, one in zip(seen, least, strict=True)
        ]

    def _most(self, least: float) -> int:
        return NEIGHBOURS if least >= self.threshold else MEMBERS

    async def now(self, place: Place, items: Sequence[Incoming]) -> datetime:
        """Return the transaction's time; where no text has a time of its own, any time does."""
        if all(item.since is None and item.until is None for item in items):
            return datetime.now(UTC)
        row = await place.tx.one(_SQL["clock"])
        assert row is not None
        now: datetime = row["now"]
        return now

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
        found = await self.neighbours(
            place, text, vector, least=self.least(text), since=since, besides=besides
        )
        return decide(text, found, judge_with(opinions), self.threshold, since)

    def least(self, text: str) -> float:
        """Return the calibrated similarity from which stored texts are compared with this one."""
        return min(DISTANT, self.threshold) if announces_change(text) else self.threshold


def _beside(place: Place, rows: Sequence[Row], most: int, least: float) -> Beside:
    twins, stored, earlier = {}, [], []
    for row in rows:
        if row["arm"] in ("twin", "past"):
            twins[row["arm"]] = Twin(row["id"], row["expired"], row["asked"], place.others(row))
            continue
        cosine = row["cosine"]
        similarity = place.model.curve(cosine)
        if row["arm"] == "batch":
            earlier.append(Earlier(row["other"] - 1, cosine, similarity, bool(row["same_slot"])))
        else:
            stored.append(Candidate(_neighbour(place, row, similarity), cosine, row["asked"]))
    near = sum(not c.neighbour.same_slot or c.neighbour.similarity >= least for c in stored)
    of_slot = sum(c.neighbour.same_slot for c in stored)
    twin = twins.get("twin") or twins.get("past")
    return Beside(most, least, twin, stored, earlier, cut=max(near, of_slot) >= most)


def _neighbour(place: Place, row: Row, similarity: float) -> Neighbour:
    sealed_at = at(place.scope_key, row["id"], "content", row["version"])
    text = place.key.open(row["content_enc"], sealed_at)
    slot = bool(row["same_slot"])
    return Neighbour(row["id"], text, similarity, row["valid_from"], slot, place.others(row))


def judge_with(opinions: Opinions) -> Judge:
    """Return the judge, with a chat model's opinion where it gave one."""

    def judged(first: str, second: str, similarity: float | None) -> Judgement:
        return opinions.get((first, second)) or judge(first, second, similarity)

    return judged
