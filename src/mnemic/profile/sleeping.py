"""What of a profile goes to sleep, and as which bytes? Pure.

Awake stays what every prompt needs (``fields.CORE``) and the keyed hashes by which an address is found.
The rest, with the behaviour vector, is one zstd frame: the fields as JSON in which items are numbers,
then the ids of the items, then the vector in half precision.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import zstandard

from mnemic.errors import StorageUnavailable
from mnemic.profile.behaviour import Behaviour
from mnemic.profile.fields import CORE, USER_FIELDS
from mnemic.profile.values import Entry, Field

_LEVEL = 19
_ID = 16
_HEAD = struct.Struct("<HI")
"""The format, and the length of the JSON text."""
_FOLD = struct.Struct("<I")
_FORMAT = 1
_MOST = 64 << 20
SLEEPING = tuple(name for name in USER_FIELDS if name not in CORE)
"""The fields that go to sleep, in the order of a profile."""


@dataclass(frozen=True, slots=True)
class Asleep:
    """What was put to sleep."""

    fields: Mapping[str, Field]
    behaviour: Behaviour | None = None


def profile_asleep() -> StorageUnavailable:
    """Return the error of a profile whose rest is archived."""
    return StorageUnavailable(
        "profile_asleep", "This profile is archived and has not been brought back yet: try again."
    )


def packed(asleep: Asleep) -> bytes:
    """Return what goes to sleep as compressed bytes, not sealed yet."""
    ids: dict[UUID, int] = {}
    told = {name: _written(field, ids) for name, field in asleep.fields.items()}
    head: dict[str, Any] = {"fields": told, "ids": len(ids)}
    vector = b""
    if (mean := asleep.behaviour) is not None:
        vector = struct.pack(f"<{len(mean.mean)}e", *mean.mean)
        head["behaviour"] = [mean.weight, mean.at.isoformat(), mean.model_id]
    text = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode()
    plain = _HEAD.pack(_FORMAT, len(text)) + text + b"".join(one.bytes for one in ids) + vector
    return zstandard.ZstdCompressor(level=_LEVEL).compress(plain)


def unpacked(data: bytes) -> Asleep:
    """Return what was packed. Raises ValueError for anything else: the bytes were authentic before."""
    plain = zstandard.ZstdDecompressor().decompress(data, max_output_size=_MOST)
    text, rest = _cut(plain)
    head = json.loads(text)
    end = _ID * head["ids"]
    ids = [UUID(bytes=rest[at : at + _ID]) for at in range(0, end, _ID)]
    fields = {name: _read(value, ids) for name, value in head["fields"].items()}
    return Asleep(fields, _behaviour(head.get("behaviour"), rest[end:]))


def _written(field: Field, ids: dict[UUID, int]) -> list[Any]:
    entries = [
        [entry.text, *(ids.setdefault(item, len(ids)) for item in entry.items)]
        for entry in field.entries
    ]
    return [entries, field.edited_at and field.edited_at.isoformat(), field.told]


def _read(value: list[Any], ids: list[UUID]) -> Field:
    entries, edited, told = value
    return Field(
        tuple(Entry(text, tuple(ids[number] for number in numbers)) for text, *numbers in entries),
        datetime.fromisoformat(edited) if edited else None,
        told,
    )


def _behaviour(told: list[Any] | None, vector: bytes) -> Behaviour | None:
    if told is None:
        return None
    weight, at, model_id = told
    mean = struct.unpack(f"<{len(vector) // 2}e", vector)
    return Behaviour(mean, weight, datetime.fromisoformat(at), model_id)


@dataclass(frozen=True, slots=True)
class Fold:
    """The fold of a history as it lies in its table: its number, and the sealed bytes."""

    fold_no: int
    fold_enc: bytes


def bundled(archive: bytes, fold: Fold | None) -> bytes:
    """Return what goes into the cold store, not sealed yet: packed fields, and the fold of the history."""
    told = b"" if fold is None else _FOLD.pack(fold.fold_no) + fold.fold_enc
    return _HEAD.pack(_FORMAT, len(archive)) + archive + told


def unbundled(data: bytes) -> tuple[bytes, Fold | None]:
    """Return what was bundled. Raises ValueError for another format."""
    archive, rest = _cut(data)
    if not rest:
        return archive, None
    (fold_no,) = _FOLD.unpack_from(rest)
    return archive, Fold(fold_no, rest[_FOLD.size :])


def _cut(data: bytes) -> tuple[bytes, bytes]:
    version, length = _HEAD.unpack_from(data)
    if version != _FORMAT:
        raise ValueError("an archive of another format")
    start = _HEAD.size + length
    return data[_HEAD.size : start], data[start:]
