"""How do values get vectors of the model in use, after it was changed or did not answer when they were put?

A search that comes by finds them by their words, and gives some of them new vectors for the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mnemic.errors import ConfigurationError, EmbeddingError
from mnemic.integrations.langgraph.asking import Named, kind
from mnemic.integrations.langgraph.entries import opened_texts
from mnemic.integrations.langgraph.shelf import Shelf
from mnemic.model import Actor
from mnemic.storage.statements import statements

_SQL = statements("store")
AT_ONCE = 32
"""Values that one search gives new vectors."""


async def refill(shelf: Shelf, actor: Actor, outdated: Sequence[Named]) -> int:
    """Give values vectors of the model in use, and return how many got some; a model that is away gives none.

    What was put anew meanwhile is left alone, and so is what the actor may not change.
    """
    database = shelf.parts.deployment.database
    fresh: list[dict[str, Any]] = []
    for row, texts in await _texts(shelf, actor, outdated[:AT_ONCE]):
        try:
            vectors = await shelf.vectors(actor, kind(row["scope_key"]), texts)
        except (EmbeddingError, ConfigurationError):
            break
        if vectors["model_id"] is not None:
            fresh.append(row | vectors)
    if not fresh:
        return 0
    fresh.sort(key=lambda row: (row["scope_key"], bytes(row["entry_mac"])))  # as all write them
    async with database.transaction(actor) as tx:
        return sum([await tx.run(_SQL["revector"], row) for row in fresh])


async def _texts(
    shelf: Shelf, actor: Actor, named: Sequence[Named]
) -> list[tuple[dict[str, Any], list[str]]]:
    places = [scope_key for scope_key, _ in named]
    params = {"places": places, "entries": [mac for _, mac in named]}
    async with shelf.parts.deployment.database.transaction(actor) as tx:
        keys = await shelf.keys_of(tx, actor, places)
        rows = await tx.all(_SQL["get"], params)
        return [
            (
                {"scope_key": row["scope_key"], "entry_mac": row["entry_mac"], "id": row["id"]},
                opened_texts(keys[row["scope_key"]], row),
            )
            for row in rows
        ]
