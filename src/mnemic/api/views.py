"""How does each value of the library look as JSON? Pure; ``mnemic.api.answers`` describes the same shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import quote
from uuid import UUID

from mnemic.model import Hit, ResourceHit, Verdict

_AS_IT_IS = frozenset({str, int, bool, type(None)})


def plain(value: Any) -> Any:
    """Return a value as JSON has it: ids and times as text, dataclasses and mappings as objects."""
    kind: Any = type(value)
    if kind in _AS_IT_IS or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)  # JSON has no number for the others
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if (names := _field_names(kind)) is not None:
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, (Sequence, set, frozenset)):
        return [plain(inner) for inner in value]
    return str(value)


@cache
def _field_names(kind: type) -> tuple[str, ...] | None:
    """Return the names of a dataclass's fields, None for any other class."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None


def verdict_view(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict with its outcome under ``verdict``, as everywhere."""
    value = plain(verdict)
    return {"verdict": value.pop("outcome"), **value}


def hit_view(hit: Hit | ResourceHit) -> dict[str, Any]:
    """Return a hit with what it was found by."""
    shared: dict[str, Any] = {
        "id": str(hit.id),
        "content": hit.content,
        "score": round(hit.score, 4),
        "parts": {name: round(part, 4) for name, part in plain(hit.parts).items()},
        "arms": {"cosine": hit.cosine, "words": round(hit.words, 4), "matched": list(hit.matched)},
    }
    return shared | (_of_turn(hit) if isinstance(hit, ResourceHit) else _of_item(hit))


def _of_item(hit: Hit) -> dict[str, Any]:
    """Every field of the item; ``confidence`` stands in the parts of the score too."""
    item: dict[str, Any] = plain(hit.item)
    return item


def _of_turn(hit: ResourceHit) -> dict[str, Any]:
    return {
        "kind": hit.kind,
        "scope": hit.scope,
        "resource_id": str(hit.resource_id),
        "session": hit.session,
        "seq": hit.seq,
        "role": hit.role if hit.session else None,
        "speaker": hit.speaker,
        "title": hit.title,
        "occurred_at": hit.occurred_at and hit.occurred_at.isoformat(),
    }


def segment(name: str) -> str:
    """Return an id as one segment of a path; one of dots alone would be taken for a way up."""
    text = quote(name, safe="")
    return text.replace(".", "%2E") if text in (".", "..") else text
