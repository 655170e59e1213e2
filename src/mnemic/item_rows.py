"""How does a memory item look as a row, sealed, and back?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from mnemic.crypto import DataKey, place
from mnemic.errors import InvalidInput
from mnemic.lexical import script, tokens
from mnemic.local_time import local
from mnemic.model import MemoryItem, Vector
from mnemic.storage.halfvec import HalfVector
from mnemic.text import exact_form

Row = Mapping[str, Any]
MAX_METADATA = 16_384
_MAX_FREQUENCY = 16_383  # the largest position that a tsvector can hold


def at(scope_key: str, item_id: UUID, column: str, version: int) -> bytes:
    """Return the place of one sealed value of an item."""
    return place("memory_item", scope_key, item_id, column, version)


def seal_texts(
    key: DataKey,
    scope_key: str,
    item_id: UUID,
    version: int,
    *,
    content: str,
    reason: str | None,
    metadata: Mapping[str, object],
) -> dict[str, bytes | None]:
    """Return the sealed columns of an item at one version."""

    def sealed(column: str, text: str | None) -> bytes | None:
        return None if text is None else key.seal(text, at(scope_key, item_id, column, version))

    return {
        "content_enc": sealed("content", content),
        "reason_enc": sealed("reason", reason),
        "metadata_enc": sealed("metadata", metadata_text(metadata)),
    }


def search_columns(
    key: DataKey, content: str, vector: Vector, model_id: int, slots: Iterable[str] = ()
) -> dict[str, object]:
    """Return the columns by which an item is found: vector, blind lexemes and slots, exact hash, script."""
    counted = Counter(tokens(content))
    return {
        "content_mac": key.mac(exact_form(content)),
        "embedding": HalfVector(vector),
        "model_id": model_id,
        "lexemes": blind_lexemes(key, counted),
        "n_tokens": sum(counted.values()),
        "slots": blind_slots(key, slots),
        "script": script(content),
    }


def blind_slots(key: DataKey, slots: Iterable[str]) -> list[str]:
    """Return the keyed form of attributes such as ``user/employer``."""
    return [key.lexeme(f"slot {slot}") for slot in slots]


def blind_lexemes(key: DataKey, counted: Mapping[str, int]) -> str:
    """Return a tsvector literal of keyed words; each one's only position is its frequency.

    A tsvector keeps positions up to 16,383 and at most 255 of them a lexeme; a frequency written as a
    position loses neither for texts of this length.
    """
    pairs = (f"{key.lexeme(token)}:{min(n, _MAX_FREQUENCY)}" for token, n in counted.items())
    return " ".join(pairs)


def metadata_text(metadata: Mapping[str, object]) -> str | None:
    """Return metadata as JSON, None when empty.

    Raises InvalidInput: ``metadata_not_json`` for what JSON cannot hold, ``metadata_too_large`` above
    16,384 characters.
    """
    if not metadata:
        return None
    if not isinstance(metadata, Mapping) or not all(isinstance(name, str) for name in metadata):
        raise InvalidInput("metadata_not_json", "Metadata must be an object with text keys.")
    try:
        text = json.dumps(dict(metadata), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput("metadata_not_json", "Metadata must be plain JSON values.") from None
    if len(text) > MAX_METADATA:
        raise InvalidInput(
            "metadata_too_large", f"Metadata holds at most {MAX_METADATA} characters."
        )
    return text


def open_item(key: DataKey, row: Row) -> MemoryItem:
    """Return the item of a full row."""

    def opened(column: str) -> str | None:
        sealed = row[f"{column}_enc"]
        if sealed is None:
            return None
        return key.open(sealed, at(row["scope_key"], row["id"], column, row["version"]))

    metadata = opened("metadata")
    return MemoryItem(
        id=row["id"],
        scope=row["scope"],
        scope_id=row["scope_id"],
        owner_id=row["owner_id"],
        memory_type=row["memory_type"],
        content=opened("content") or "",
        source=row["source"],
        confidence=round(row["confidence"], 4),
        status=row["status"],
        created_at=row["created_at"],
        recorded_at=row["recorded_at"],
        valid_from=local(row["valid_from"], row["local_offset"]),
        valid_to=row["valid_to"],
        retired_at=row["retired_at"],
        superseded_by=row["superseded_by"],
        source_id=row["source_id"],
        source_seqs=tuple(row["source_seqs"] or ()),
        reason=opened("reason"),
        version=row["version"],
        metadata=json.loads(metadata) if metadata else {},
        visibility=row["visibility"],
    )
