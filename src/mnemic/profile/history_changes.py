"""What is one change of a profile, and what do all changes up to one come to? Pure.

A change holds the fields as they are from then on, None for one that holds nothing any more; of a project
also the decisions that came and went, whose the items are, and who edited. Replayed in order, changes are the
profile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.profile.fields import PROJECT_FIELDS, USER_FIELDS, origins, shown
from mnemic.profile.rows import field_json, field_of
from mnemic.profile.values import (
    Cause,
    Decision,
    Entry,
    Field,
    Fields,
    ProfileChange,
    Value,
)

_SPECS = {**USER_FIELDS, **PROJECT_FIELDS}
Masks = Mapping[str, Callable[[str], str]]


@dataclass(frozen=True, slots=True)
class Change:
    """A change as it is kept. ``authors`` tells who wrote the items of a project's, ``by`` who edited it."""

    version: int
    recorded_at: datetime
    cause: Cause
    fields: Mapping[str, Field | None] = field(default_factory=dict)
    decided: tuple[Decision, ...] = ()
    withdrawn: tuple[UUID, ...] = ()
    authors: Mapping[UUID, str] = field(default_factory=dict)
    by: str | None = None

    @property
    def items(self) -> set[UUID]:
        """The items that the change names."""
        named = {item for one in self.fields.values() if one is not None for item in one.items}
        return named | {decision.item for decision in self.decided}


@dataclass(frozen=True, slots=True)
class State:
    """What a profile was from ``since`` on."""

    fields: Fields
    decisions: tuple[Decision, ...]
    version: int
    since: datetime


def changed(before: Fields, after: Fields) -> dict[str, Field | None]:
    """Return what makes the one into the other."""
    names = [name for name in _SPECS if before.get(name) != after.get(name)]
    return {name: after.get(name) for name in names}


def replayed(changes: Iterable[Change]) -> State | None:
    """Return the profile after these changes, in whatever order they come; None where there are none."""
    fields: dict[str, Field] = {}
    decisions: dict[UUID, Decision] = {}
    last: Change | None = None
    for last in sorted(changes, key=lambda change: change.version):
        if last.cause in ("begin", "known"):  # the whole of it
            fields, decisions = {}, {}
        for name, value in last.fields.items():
            if value is None:
                fields.pop(name, None)
            else:
                fields[name] = value
        for item in last.withdrawn:
            decisions.pop(item, None)
        decisions |= {decision.item: decision for decision in last.decided}
    if last is None:
        return None
    newest = sorted(decisions.values(), key=lambda one: (one.time, one.item), reverse=True)
    return State(fields, tuple(newest), last.version, last.recorded_at)


def without(change: Change, user: str) -> Change:
    """Return a project's change without what a user's items say, and without the user's name."""
    gone = {item for item, author in change.authors.items() if author == user}
    return replace(
        change,
        fields={name: _less(value, gone) for name, value in change.fields.items()},
        decided=tuple(one for one in change.decided if one.item not in gone),
        withdrawn=tuple(item for item in change.withdrawn if item not in gone),
        authors={item: who for item, who in change.authors.items() if item not in gone},
        by=None if change.by == user else change.by,
    )


def _less(value: Field | None, gone: set[UUID]) -> Field | None:
    if value is None or gone.isdisjoint(value.items):
        return value
    left = [
        Entry(entry.text, tuple(item for item in entry.items if item not in gone))
        for entry in value.entries
        if not entry.items or not gone.issuperset(entry.items)
    ]
    return replace(value, entries=tuple(left)) if left or value.edited_at else None


def told(change: Change, masks: Masks) -> ProfileChange:
    """Return a change as it is handed out, addresses masked."""
    there = {name: value for name, value in change.fields.items() if value is not None}
    every = shown(there, {name: _SPECS[name] for name in change.fields})
    values: dict[str, Value] = {
        name: masks[name](value) if name in masks and isinstance(value, str) else value
        for name, value in every.items()
    }
    return ProfileChange(
        change.version,
        change.recorded_at,
        change.cause,
        values,
        origins(there),
        change.decided,
        change.withdrawn,
        change.by,
    )


# ---- as text


def to_text(change: Change) -> str:
    """Return what a row seals of a change; version, time and cause stand beside it."""
    return json.dumps(_told(change), ensure_ascii=False, separators=(",", ":"))


def from_text(text: str, version: int, recorded_at: datetime, cause: Cause) -> Change:
    """Return the change of a row."""
    return _read(json.loads(text), version, recorded_at, cause)


def to_lines(changes: Iterable[Change]) -> str:
    """Return many changes as one text, a line each, in the order of their versions.

    Two such texts, one behind the other, are one.
    """
    return "".join(
        json.dumps(
            [one.version, one.recorded_at.isoformat(), one.cause, _told(one)],
            ensure_ascii=False,
            separators=(",", ":"),
        )
        + "\n"
        for one in sorted(changes, key=lambda change: change.version)
    )


def from_lines(text: str) -> list[Change]:
    """Return the changes of such a text."""
    return [
        _read(value, version, datetime.fromisoformat(recorded_at), cause)
        for version, recorded_at, cause, value in map(json.loads, text.split("\n")[:-1])
    ]


def _told(change: Change) -> dict[str, Any]:
    value = {
        "fields": {n: f and field_json(f) for n, f in change.fields.items()},
        "decided": [
            [one.item.hex, one.decision, one.reason, one.time.isoformat()] for one in change.decided
        ],
        "withdrawn": [item.hex for item in change.withdrawn],
        "authors": {item.hex: who for item, who in change.authors.items()},
        "by": change.by,
    }
    return {name: part for name, part in value.items() if part}


def _read(value: dict[str, Any], version: int, recorded_at: datetime, cause: Cause) -> Change:
    fields = value.get("fields", {})
    return Change(
        version,
        recorded_at,
        cause,
        {name: None if part is None else field_of(part) for name, part in fields.items()},
        tuple(
            Decision(decision, reason, datetime.fromisoformat(time), UUID(hex=item))
            for item, decision, reason, time in value.get("decided", ())
        ),
        tuple(UUID(hex=item) for item in value.get("withdrawn", ())),
        {UUID(hex=item): who for item, who in value.get("authors", {}).items()},
        value.get("by"),
    )
