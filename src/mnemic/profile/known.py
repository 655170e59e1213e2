"""What does aggregation know of an item? Values only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mnemic.model import MemoryType, Source


@dataclass(frozen=True, slots=True)
class Known:
    """An item that is true now. ``slots`` names the attributes it fills of which there is one at a time."""

    id: UUID
    memory_type: MemoryType
    text: str
    since: datetime
    slots: frozenset[str] = frozenset()
    source: Source = "user"
    version: int = 1
    until: datetime | None = None
