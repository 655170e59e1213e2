"""How do decisions get into the database, in as few statements as they have kinds of effect?

Each function runs inside the caller's transaction, under the lock of the scope.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mnemic.crypto import DataKey, ProjectKey
from mnemic.embedding.registry import Model
from mnemic.ids import new_id
from mnemic.item_rows import at, seal_texts, search_columns
from mnemic.local_time import instant, offset_of
from mnemic.longterm.draft import Draft
from mnemic.longterm.foresee import Incoming
from mnemic.longterm.gate import Neighbour, Screened
from mnemic.longterm.judge import slots
from mnemic.longterm.known import Ground, Place
from mnemic.longterm.questions import question
from mnemic.model import Actor, Vector
from mnemic.permissions import home
from mnemic.storage.statements import statements

_SQL = statements("items")
CONTESTED = "contested"
"""Why an item that is not pending is asked about."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A draft that passed the screen and has its vector, of ``model``."""

    draft: Draft
    screened: Screened
    vector: Vector
    model: Model


@dataclass(frozen=True, slots=True)
class Row:
    """A draft that gets a row, as ``incoming``."""

    item: Ready
    incoming: Incoming


Columns = dict[str, object]


def rows_of(items: Sequence[Ready]) -> list[Row]:
    """Return drafts with the ids that they get, and what they state."""
    # in the order of the texts, though all are made within a millisecond: lists go by it
    ids = sorted(new_id() for _ in items)
    return [_row(*pair) for pair in zip(ids, items, strict=True)]


def _row(new: UUID, item: Ready) -> Row:
    text, pending = item.screened.text, item.screened.pending
    since, until = instant(item.draft.valid_from), instant(item.draft.valid_to)
    return Row(item, Incoming(new, text, slots(text), since, until, pending))


def insert(place: Place, rows: list[Columns]) -> None:
    """Write new rows; a pending one still needs its question (``ask``)."""
    for row in rows:
        place.tx.later(_SQL["insert"], row)


def columns(ground: Ground, actor: Actor, row: Row) -> Columns:
    """Return what ``insert`` writes, sealed and made findable."""
    draft, screened, new = row.item.draft, row.item.screened, row.incoming
    sealed = seal_texts(
        ground.key,
        ground.scope_key,
        new.id,
        1,
        content=new.text,
        reason=draft.reason,
        metadata=draft.metadata,
    )
    model_id = row.item.model.model_id
    found_by = search_columns(ground.key, new.text, row.item.vector, model_id, new.slots)
    plain = {
        "scope_key": ground.scope_key,
        "id": new.id,
        "scope": draft.scope,
        "scope_id": home(actor, draft.scope)[1],
        "owner_id": actor.user,
        "visibility": draft.visibility,
        "memory_type": draft.memory_type,
        "source": draft.source,
        "source_id": draft.source_id,
        "source_seqs": list(draft.source_seqs) or None,
        "confidence": screened.confidence,
        "status": "active" if screened.pending is None else "pending",
        "valid_from": draft.valid_from,
        "local_offset": offset_of(draft.valid_from),
        "valid_to": draft.valid_to,
    }
    return plain | sealed | found_by | {"content_mac": ground.mac(new.text)}


def supersede(place: Place, ended: Mapping[UUID, tuple[UUID, datetime | None]]) -> None:
    """Retire items: each names the one that replaces it, and since when (None: now)."""
    if not ended:
        return
    params = {
        "scope_key": place.scope_key,
        "ids": list(ended),
        "by": [by for by, _ in ended.values()],
        "sinces": [since for _, since in ended.values()],
    }
    place.tx.later(_SQL["supersede"], params)


def strengthen(place: Place, again: Mapping[UUID, Sequence[float]]) -> None:
    """Note that items were said again, each with these confidences."""
    if not again:
        return
    scope_key, ids = place.scope_key, sorted(again)
    strongest = [max(again[item_id]) for item_id in ids]
    place.tx.later(
        _SQL["strengthen"], {"scope_key": scope_key, "ids": ids, "confidences": strongest}
    )
    uses = [len(again[item_id]) for item_id in ids]
    place.tx.later(
        _SQL["mark_used"], {"scope_keys": [scope_key] * len(ids), "ids": ids, "uses": uses}
    )


def contest(place: Place, stands: Neighbour) -> None:
    """Ask the author of an item whether it still holds, when another member has said otherwise."""
    key = place.key
    if isinstance(key, ProjectKey) and stands.others is not None:
        key = key.by(stands.others)
    asked = question(stands.text)
    place.tx.later(_SQL["contest"], _question(place, key, stands.id, asked, CONTESTED))


def ask(place: Place, item_id: UUID, text: str, why: str) -> str | None:
    """Keep the question to a pending item; return it, None for instruction-like text, never asked."""
    asked = question(text)
    place.tx.later(_SQL["ask"], _question(place, place.key, item_id, asked, why))
    return asked if why != "instruction_like" else None


def _question(place: Place, key: DataKey, item_id: UUID, asked: str, why: str) -> Columns:
    return {
        "scope_key": place.scope_key,
        "id": item_id,
        "reason": why,
        "question_enc": key.seal(asked, at(place.scope_key, item_id, "question", 1)),
    }
