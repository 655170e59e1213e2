"""What does a profile look like to whoever reads it? Frozen values, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

Value = str | tuple[str, ...] | None
Cause = Literal["begin", "known", "items", "edit", "delete", "model"]
"""What changed a profile: its beginning, the beginning of what is recorded, memories, its user or one of the
project's, its user who took it away, a chat model that wrote its background."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One value of a field and the items that say it; none for what the user wrote."""

    text: str
    items: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """What a field holds. ``edited_at`` is set where its user wrote it, which no item overrules.

    ``told`` marks a text that a chat model made of entries: the keyed hash of what it was made of.
    """

    entries: tuple[Entry, ...] = ()
    edited_at: datetime | None = None
    told: str | None = None

    @property
    def items(self) -> tuple[UUID, ...]:
        """The items behind the field, each once."""
        return tuple(dict.fromkeys(item for entry in self.entries for item in entry.items))

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(entry.text for entry in self.entries)


Fields = Mapping[str, Field]
"""The fields that hold something, by name."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the value of a field comes from: items, or the user's own word at a time."""

    items: tuple[UUID, ...] = ()
    edited_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a user at a glance; ``values`` names every field, empty ones too.

    Lists are tuples, an empty field is None or (). E-mail and phone are masked unless asked for. ``version``
    changes with every change of a field. ``asleep`` is the reason code why the archive of a user who was away
    could not be read: then the core fields alone are here, and the others are unknown, not empty.
    """

    user: str
    values: Mapping[str, Value]
    origins: Mapping[str, Origin] = field(default_factory=dict)
    version: int = 1
    created_at: datetime | None = None
    updated_at: datetime | None = None
    asleep: str | None = None

    @property
    def is_empty(self) -> bool:
        return not any(self.values.values())


@dataclass(frozen=True, slots=True)
class Decision:
    """What a project decided, why (None where nobody said) and when; ``item`` is the memory that tells."""

    decision: str
    reason: str | None
    time: datetime
    item: UUID


@dataclass(frozen=True, slots=True)
class ProjectProfile:
    """What is known of a project at a glance, as ``Profile`` of a user; the newest decisions come first."""

    project: str
    values: Mapping[str, Value]
    key_decisions: tuple[Decision, ...] = ()
    origins: Mapping[str, Origin] = field(default_factory=dict)
    version: int = 1
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def is_empty(self) -> bool:
        return not any(self.values.values()) and not self.key_decisions


@dataclass(frozen=True, slots=True)
class AgentProfile:
    """What an agent is told at the start: its user's profile, and its project's where there is one."""

    user: Profile
    project: ProjectProfile | None = None


@dataclass(frozen=True, slots=True)
class ProfileChange:
    """One change of a profile, which made it ``version``.

    ``values`` are those of the fields that changed, as they were from then on: an emptied one is None or ().
    Of a project also the decisions that were new (or said anew) and the items of those withdrawn, and the
    user who edited it.
    """

    version: int
    recorded_at: datetime
    cause: Cause
    values: Mapping[str, Value]
    origins: Mapping[str, Origin] = field(default_factory=dict)
    decided: tuple[Decision, ...] = ()
    withdrawn: tuple[UUID, ...] = ()
    by: str | None = None


@dataclass(frozen=True, slots=True)
class ProfileHistory:
    """Changes, the newest first; ``cursor`` continues after them, None at the end."""

    changes: tuple[ProfileChange, ...]
    cursor: str | None = None
