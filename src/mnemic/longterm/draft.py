"""What is asked to be remembered, checked for sense before the gate looks at its text?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from mnemic.checks import aware, one_of
from mnemic.errors import InvalidInput
from mnemic.item_rows import metadata_text
from mnemic.model import MEMORY_TYPES, SCOPES, SOURCES, MemoryType, Scope, Source


@dataclass(frozen=True, slots=True)
class Draft:
    """One text on its way to the gate, with everything that will stand beside it."""

    content: str
    memory_type: MemoryType = "fact"
    scope: Scope = "user"
    confidence: float = 0.9
    source: Source = "user"
    source_id: str | None = None
    source_seqs: tuple[int, ...] = ()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    reason: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)


def checked(draft: Draft) -> Draft:
    """Return the draft when every part of it can be meant.

    Raises InvalidInput: ``unknown_memory_type``, ``unknown_scope``, ``unknown_source``,
    ``naive_datetime``, ``validity_reversed``, ``metadata_not_json``, ``metadata_too_large``.
    """
    one_of(draft.memory_type, MEMORY_TYPES, "memory_type")
    one_of(draft.scope, SCOPES, "scope")
    one_of(draft.source, SOURCES, "source")
    start, end = aware(draft.valid_from, "valid_from"), aware(draft.valid_to, "valid_to")
    if start is not None and end is not None and end <= start:
        raise InvalidInput("validity_reversed", "valid_to must be later than valid_from.")
    metadata_text(draft.metadata)
    return draft
