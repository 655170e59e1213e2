"""How does a profile lie in the database, and how is it read back?

Each field is one sealed value: its entries with their items, when its user wrote it, and what a chat model
made it of. Every value is bound to its table, scope, column and the version of the profile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

from mnemic.crypto import DataKey, place
from mnemic.item_rows import at, blind_slots
from mnemic.profile.fields import PROJECT_FIELDS, USER_FIELDS
from mnemic.profile.fillings import SLOTS
from mnemic.profile.known import Known
from mnemic.profile.values import Decision, Entry, Field, Fields

Row = Mapping[str, Any]
ContactKind = Literal["email", "phone"]
ContactIndex = Callable[[DataKey, ContactKind, str], bytes]
"""Returns the keyed hash of an address: of the user's key, "email" or "phone", and its normal form."""
USERS, PROJECTS, DECISIONS = "user_profile", "project_profile", "key_decision"
_SPECS = {USERS: USER_FIELDS, PROJECTS: PROJECT_FIELDS}


def own_index(key: DataKey, kind: ContactKind, text: str) -> bytes:
    """Return a hash under the user's own key: equal within what is theirs, told by nothing else."""
    return key.mac(f"{kind} {text}")


def seal_fields(
    key: DataKey, table: str, scope_key: str, fields: Fields, version: int
) -> dict[str, bytes | None]:
    """Return the sealed columns of a profile at one version."""

    def sealed(name: str) -> bytes | None:
        if name not in fields:
            return None
        return key.seal(_written(fields[name]), place(table, scope_key, "profile", name, version))

    return {f"{name}_enc": sealed(name) for name in _SPECS[table]}


def contact_macs(key: DataKey, fields: Fields, index: ContactIndex) -> dict[str, bytes | None]:
    """Return the columns by which an address is found; a field that holds none has none."""
    macs: dict[str, bytes | None] = {}
    for kind in get_args(ContactKind):
        texts = fields[kind].texts if kind in fields else ()  # none where its user emptied it
        macs[f"{kind}_mac"] = index(key, kind, texts[0]) if texts else None
    return macs


def open_fields(
    key: DataKey, table: str, scope_key: str, row: Row, version: int
) -> dict[str, Field]:
    """Return the fields of a row: all, or KeyUnavailable (``sealed_value_damaged`` ...) is raised."""
    sealed = [row[f"{name}_enc"] for name in _SPECS[table]]
    return open_values(key, table, scope_key, sealed, version)


def open_values(
    key: DataKey,
    table: str,
    scope_key: str,
    sealed: Iterable[bytes | None],
    version: int,
    *,
    with_items: bool = True,
) -> dict[str, Field]:
    """Return the same of the sealed values in the order of the fields; items cost time to read."""
    return {
        name: _read(key.open(value, place(table, scope_key, "profile", name, version)), with_items)
        for name, value in zip(_SPECS[table], sealed, strict=True)
        if value is not None
    }


def _written(field: Field) -> str:
    return json.dumps(field_json(field), ensure_ascii=False, separators=(",", ":"))


def field_json(field: Field) -> dict[str, Any]:
    """Return a field as JSON has it."""
    return {
        "entries": [[entry.text, [item.hex for item in entry.items]] for entry in field.entries],
        "edited_at": field.edited_at and field.edited_at.isoformat(),
        "told": field.told,
    }


def _read(text: str, with_items: bool) -> Field:
    return field_of(json.loads(text), with_items=with_items)


def field_of(value: Mapping[str, Any], *, with_items: bool = True) -> Field:
    """Return the field of what ``field_json`` made; without its items, which cost time to read."""
    entries = tuple(
        Entry(said, tuple(UUID(hex=item) for item in items) if with_items else ())
        for said, items in value["entries"]
    )
    edited = value["edited_at"]
    return Field(entries, datetime.fromisoformat(edited) if edited else None, value["told"])


def blind_names(key: DataKey) -> dict[str, str]:
    """Return the attributes that fill fields by their keyed form, as items carry it."""
    return dict(zip(blind_slots(key, SLOTS), SLOTS, strict=True))


def open_known(key: DataKey, row: Row, names: Mapping[str, str]) -> Known:
    """Return what aggregation needs of an item's row."""
    place_of = at(row["scope_key"], row["id"], "content", row["version"])
    return Known(
        id=row["id"],
        memory_type=row["memory_type"],
        text=key.open(row["content_enc"], place_of),
        since=row["valid_from"],
        slots=frozenset(names[slot] for slot in row["slots"] if slot in names),
        source=row["source"],
        version=row["version"],
        until=row["valid_to"],
    )


def seal_decision(
    key: DataKey, scope_key: str, item: Known, decision: Decision
) -> dict[str, object]:
    """Return the columns of a key decision."""

    def sealed(column: str, text: str | None) -> bytes | None:
        where = place(DECISIONS, scope_key, item.id, column, item.version)
        return None if text is None else key.seal(text, where)

    return {
        "scope_key": scope_key,
        "item_id": item.id,
        "item_version": item.version,
        "decision_enc": sealed("decision", decision.decision),
        "reason_enc": sealed("reason", decision.reason),
        "decided_at": decision.time,
    }


def open_decisions(
    key: DataKey, scope_key: str, rows: Iterable[tuple[UUID, int, bytes, bytes | None, datetime]]
) -> tuple[Decision, ...]:
    """Return decisions of (item, its version, decision, reason, time), in the order of the rows."""
    opened = []
    for item, version, decision, reason, time in rows:

        def text(column: str, sealed: bytes, of: UUID = item, at_version: int = version) -> str:
            return key.open(sealed, place(DECISIONS, scope_key, of, column, at_version))

        why = None if reason is None else text("reason", reason)
        opened.append(Decision(text("decision", decision), why, time, item))
    return tuple(opened)
