"""How does a vector travel to PostgreSQL?

pgvector's ``halfvec`` in its binary form: dimensions and a reserved field (two 16-bit integers), then one
IEEE half float a dimension, all big-endian. Half the bytes of text, and no parsing. ``HalfVectors``
travel as ``halfvec[]``. Statements that read one back say ``embedding::real[]``.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from psycopg import AsyncConnection
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types import TypeInfo

from mnemic.errors import ConfigurationError
from mnemic.model import Vector


@dataclass(frozen=True, slots=True)
class HalfVector:
    """A vector on its way to a ``halfvec`` parameter."""

    values: Vector


@dataclass(frozen=True, slots=True)
class HalfVectors:
    """Vectors on their way to a ``halfvec[]`` parameter."""

    vectors: tuple[Vector, ...] = ()


def pack(values: Sequence[float]) -> bytes:
    """Return the binary form of a vector. Raises OverflowError for a value beyond +-65504."""
    return _layout(len(values)).pack(len(values), 0, *values)


@cache
def _layout(dimensions: int) -> struct.Struct:
    return struct.Struct(f">hh{dimensions}e")


def pack_all(vectors: Sequence[Sequence[float]], element: int) -> bytes:
    """Return the binary form of a one-dimensional array of vectors; ``element`` is the oid of their type."""
    if not vectors:
        return struct.pack(">iiI", 0, 0, element)
    head = struct.pack(">iiIii", 1, 0, element, len(vectors), 1)
    packed = map(pack, vectors)
    return head + b"".join(struct.pack(">i", len(one)) + one for one in packed)


class _HalfDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: HalfVector) -> Buffer | None:
        return pack(obj.values)


class _HalvesDumper(Dumper):
    format = Format.BINARY
    element: int

    def dump(self, obj: HalfVectors) -> Buffer | None:
        return pack_all(obj.vectors, self.element)


async def register(conn: AsyncConnection[object]) -> None:
    """Teach one connection the type; raises ConfigurationError (``pgvector_missing``) without it."""
    info = await TypeInfo.fetch(conn, "halfvec")
    if info is None:
        raise ConfigurationError(
            "pgvector_missing",
            "The database has no pgvector 0.8 or newer: install it and run "
            "CREATE EXTENSION vector as a superuser.",
        )
    one = type("HalfDumper", (_HalfDumper,), {"oid": info.oid})
    many = type("HalvesDumper", (_HalvesDumper,), {"oid": info.array_oid, "element": info.oid})
    conn.adapters.register_dumper(HalfVector, one)
    conn.adapters.register_dumper(HalfVectors, many)
