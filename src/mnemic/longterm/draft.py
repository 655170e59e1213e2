"""What is asked to be remembered, checked for sense before the gate looks at its text?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from mnemic.checks import aware, one_of
from mnemic.errors import InvalidInput
from mnemic.item_rows import metadata_text
from mnemic.local_time import instant
from mnemic.model import MEMORY_TYPES, SCOPES, SOURCES, MemoryType, Scope, Source, Visibility
from mnemic.permissions import checked_visibility
from mnemic.text import normalise

MAX_SOURCE_ID = 500


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
    visibility: Visibility = "members"


def checked(draft: Draft) -> Draft:
    """Return the draft, free of characters that cannot be stored, when every part of it can be meant.

    Raises InvalidInput: ``not_a_draft``, ``unknown_memory_type``, ``unknown_scope``, ``unknown_source``,
    ``invalid_source_id``, ``naive_datetime``, ``datetime_out_of_range``, ``validity_reversed``,
    ``metadata_not_json``, ``metadata_too_large``, ``unknown_visibility``, ``visibility_without_project``.
    """
    if not isinstance(draft, Draft):
        raise InvalidInput("not_a_draft", "Every memory to add must be a Draft.")
    one_of(draft.memory_type, MEMORY_TYPES, "memory_type")
    one_of(draft.scope, SCOPES, "scope")
    one_of(draft.source, SOURCES, "source")
    checked_visibility(draft.visibility, draft.scope)
    start = instant(aware(draft.valid_from, "valid_from"))
    end = instant(aware(draft.valid_to, "valid_to"))
    if start is not None and end is not None and end <= start:
        raise InvalidInput("validity_reversed", "valid_to must be later than valid_from.")
    if start is None and end is not None and end <= datetime.now(UTC):
        raise InvalidInput(
            "validity_reversed",
            "valid_to lies in the past: say with valid_from since when it was true.",
        )
    metadata_text(draft.metadata)
    if not isinstance(draft.reason, str | None):
        raise InvalidInput("reason_not_text", "The reason of a draft must be text.")
    seqs = draft.source_seqs
    if not isinstance(seqs, tuple) or not all(isinstance(seq, int) and seq > 0 for seq in seqs):
        raise InvalidInput("invalid_source_seqs", "source_seqs is a tuple of turn numbers from 1.")
    reason = None if draft.reason is None else normalise(draft.reason).text or None
    return replace(draft, source_id=_source_id(draft.source_id), reason=reason)


def texts_of(metadata: Mapping[str, object]) -> Iterator[str]:
    """Yield every key and text in metadata, and each pair of them as ``key: text``."""
    waiting: list[object] = [metadata]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            for name, inner in value.items():
                waiting += [name, inner]
                if isinstance(inner, str):
                    yield f"{name}: {inner}"
        elif isinstance(value, list | tuple):
            waiting += value


def _source_id(value: object) -> str | None:
    if value is None:
        return None
    cleaned = normalise(value).text if isinstance(value, str) else ""
    if not 1 <= len(cleaned) <= MAX_SOURCE_ID:
        raise InvalidInput(
            "invalid_source_id", f"source_id is text of 1 to {MAX_SOURCE_ID} characters."
        )
    return cleaned
