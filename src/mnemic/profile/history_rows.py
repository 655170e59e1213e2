"""How do changes of a profile lie in the database, and how are they read back?

A change is one sealed row, bound to its profile and version. What is old of a profile is one fold: the
changes as text, compressed with zstd, then sealed, bound to its profile and number. A change may be read
twice, as a row and in the fold that has taken its place meanwhile: its version tells that it is one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import zstandard

from mnemic.crypto import DataKey, place
from mnemic.profile.history_changes import (
    Change,
    from_lines,
    from_text,
    to_lines,
    to_text,
    without,
)
from mnemic.profile.sleeping import profile_asleep
from mnemic.storage.pool import Transaction
from mnemic.storage.statements import statements

_SQL = statements("history")
_LEVEL = 12
_IN_THE_LOOP = 65_536
"""Bytes of a fold that is opened in the event loop; a longer one in a thread."""


@dataclass(frozen=True, slots=True)
class Fold:
    """The old changes of a profile, as lines; how often they were folded, how many they are, since when."""

    lines: str
    number: int
    n_changes: int
    first_at: datetime


async def record(
    tx: Transaction, key: DataKey, scope_key: str, change: Change, known: Callable[[], Change]
) -> None:
    """Write a change in the transaction that makes it.

    Where nothing was recorded yet, as of profiles older than their history, ``known`` is written too: what
    the profile was before.
    """
    if not await _written(tx, key, scope_key, change):
        await _written(tx, key, scope_key, known())


async def _written(tx: Transaction, key: DataKey, scope_key: str, change: Change) -> bool:
    """Write a change; tell whether anything was recorded before."""
    if scope_key.startswith("project:") and change.items:
        # what the items of a member say goes when that member is erased
        rows = await tx.all(_SQL["authors"], {"scope_key": scope_key, "ids": list(change.items)})
        change = replace(change, authors={row["id"]: row["owner_id"] for row in rows})
    row = await tx.one(_SQL["record"], _row(key, scope_key, change))
    return row is not None and bool(row["begun"])


async def read(
    tx: Transaction,
    key: DataKey,
    scope_key: str,
    *,
    until: datetime | None = None,
    before: int | None = None,
    most: int | None = None,
) -> list[Change]:
    """Return changes up to a time, or before a version, the newest first; ``most`` of them."""
    asked = {"scope_key": scope_key, "until": until, "before": before, "most": most}
    rows = await tx.all(_SQL["changes"], asked)
    found = [open_change(key, scope_key, row) for row in rows]
    if most is not None and len(found) >= most:
        return found
    fold = await read_fold(tx, key, scope_key)
    seen = {change.version for change in found}
    found += [
        change
        for change in reversed(from_lines(fold.lines) if fold else [])
        if change.version not in seen
        and (until is None or change.recorded_at <= until)
        and (before is None or change.version < before)
    ]
    return found[:most]


async def read_fold(tx: Transaction, key: DataKey, scope_key: str) -> Fold | None:
    """Return what is folded of a profile, None where nothing is."""
    row = await tx.one(_SQL["fold"], {"scope_key": scope_key})
    if row is None:
        return None
    number, sealed = row["fold_no"], bytes(row["fold_enc"])
    if not sealed:  # it lies in the cold store, with the rest of the profile
        raise profile_asleep()
    if len(sealed) < _IN_THE_LOOP:
        text = unfolded(key, scope_key, number, sealed)
    else:
        text = await asyncio.to_thread(unfolded, key, scope_key, number, sealed)
    return Fold(text, number, row["n_changes"], row["first_at"])


def folded(key: DataKey, scope_key: str, number: int, lines: str) -> bytes:
    """Return changes, as lines, as one compressed, sealed value."""
    packed = zstandard.ZstdCompressor(level=_LEVEL).compress(lines.encode())
    return key.seal_bytes(packed, _fold_place(scope_key, number))


def unfolded(key: DataKey, scope_key: str, number: int, sealed: bytes) -> str:
    """Return what was folded. Raises KeyUnavailable (``sealed_value_damaged``, ``unknown_key_id``)."""
    packed = key.open_bytes(sealed, _fold_place(scope_key, number))
    return zstandard.ZstdDecompressor().decompress(packed).decode()


def seal_change(key: DataKey, scope_key: str, change: Change) -> bytes:
    """Return the sealed column of a change."""
    return key.seal(to_text(change), _place(scope_key, change.version))


def open_change(key: DataKey, scope_key: str, row: Mapping[str, Any]) -> Change:
    """Return the change of a row."""
    version, recorded_at, cause = row["version"], row["recorded_at"], row["cause"]
    if row["change_enc"] is None:
        return Change(version, recorded_at, cause)
    text = key.open(bytes(row["change_enc"]), _place(scope_key, version))
    return from_text(text, version, recorded_at, cause)


def without_user(key: DataKey, row: Mapping[str, Any], user: str) -> bytes | None:
    """Return a change or a fold of a project sealed anew without what a user's items say.

    ``row`` tells the profile's version and when it was, or the number of a fold and no time. None where it
    holds nothing of the user.
    """
    scope_key, number, sealed = row["scope_key"], row["row_no"], bytes(row["value"])
    if row["recorded_at"] is None:
        lines = unfolded(key, scope_key, number, sealed)
        less = to_lines(without(change, user) for change in from_lines(lines))
        return None if less == lines else folded(key, scope_key, number, less)
    text = key.open(sealed, _place(scope_key, number))
    change = from_text(text, number, row["recorded_at"], "items")
    less = to_text(without(change, user))
    return None if less == text else key.seal(less, _place(scope_key, number))


def _row(key: DataKey, scope_key: str, change: Change) -> dict[str, object]:
    return {
        "scope_key": scope_key,
        "version": change.version,
        "recorded_at": change.recorded_at,
        "cause": change.cause,
        "change_enc": seal_change(key, scope_key, change),
    }


def _place(scope_key: str, version: int) -> bytes:
    return place("profile_history", scope_key, "profile", "change", version)


def _fold_place(scope_key: str, number: int) -> bytes:
    return place("profile_history_fold", scope_key, "profile", "fold", number)
