"""Which model did a user choose, and how does that choice look as a row, sealed, and back?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from psycopg.types.json import Jsonb

from mnemic.crypto import DataKey, place
from mnemic.embedding.calibration import Curve
from mnemic.ids import new_id
from mnemic.model import Actor
from mnemic.storage.pool import Transaction
from mnemic.storage.statements import statements

_SQL = statements("embedding")
Stage = Literal["active", "next"]


@dataclass(frozen=True, slots=True)
class Choice:
    """An OpenAI-compatible endpoint of a user's own; ``dims`` is the width of its vectors."""

    base_url: str
    model: str
    dims: int
    api_key: str | None = field(default=None, repr=False)

    def same_model(self, other: Choice | None) -> bool:
        """Tell whether the vectors of both can be compared: all but the key is the same."""
        return other is not None and (self.base_url, self.model, self.dims) == (
            other.base_url,
            other.model,
            other.dims,
        )


@dataclass(frozen=True, slots=True)
class Kept:
    """A choice as it is stored; without ``choice`` and ``model_id`` it is the way back."""

    choice: Choice | None
    model_id: int | None
    curve: Curve | None
    updated_at: datetime


async def kept(tx: Transaction, key: DataKey, actor: Actor) -> dict[Stage, Kept]:
    """Return the user's choice in use (``active``) and the one on its way (``next``)."""
    rows = await tx.all(_SQL["settings"], {"scope_key": actor.user_scope})
    return {row["stage"]: _opened(key, actor, row) for row in rows}


async def kept_of_model(tx: Transaction, key: DataKey, actor: Actor, model_id: int) -> Kept | None:
    """Return the user's choice of this model, None when it is not theirs."""
    params = {"scope_key": actor.user_scope, "model_id": model_id}
    row = await tx.one(_SQL["settings_of_model"], params)
    return _opened(key, actor, row) if row else None


async def put(
    tx: Transaction,
    key: DataKey,
    actor: Actor,
    stage: Stage,
    choice: Choice | None,
    model_id: int | None,
) -> None:
    """Write a choice, sealed, over the one of that stage."""
    sealed: dict[str, Any] = {"base_url_enc": None, "model_enc": None, "api_key_enc": None}
    if choice is not None and model_id is not None:
        texts = {"base_url": choice.base_url, "model": choice.model, "api_key": choice.api_key}
        sealed = {
            f"{column}_enc": None if text is None else key.seal(text, _at(actor, model_id, column))
            for column, text in texts.items()
        }
    plain = {
        "scope_key": actor.user_scope,
        "user_id": actor.user,
        "stage": stage,
        "dims": choice.dims if choice else None,
        "model_id": model_id,
    }
    await tx.run(_SQL["put_settings"], plain | sealed)


async def add_model(tx: Transaction, dims: int, curve: Curve) -> int:
    """Keep the calibration of a user's model under a random name, and return its id."""
    params = {"name": f"own:{new_id()}", "dims": dims, "calibration": Jsonb(curve.to_json())}
    row = await tx.one(_SQL["add_own_model"], params)
    assert row is not None
    return int(row["model_id"])


def _opened(key: DataKey, actor: Actor, row: Mapping[str, Any]) -> Kept:
    model_id = row["model_id"]
    if model_id is None:
        return Kept(None, None, None, row["updated_at"])

    def opened(column: str) -> str | None:
        sealed = row[f"{column}_enc"]
        return None if sealed is None else key.open(sealed, _at(actor, model_id, column))

    choice = Choice(opened("base_url") or "", opened("model") or "", row["dims"], opened("api_key"))
    return Kept(choice, model_id, Curve.from_json(row["calibration"]), row["updated_at"])


def _at(actor: Actor, model_id: int, column: str) -> bytes:
    return place("embedding_settings", actor.user_scope, model_id, column)
