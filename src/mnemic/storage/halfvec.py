"""How does a vector travel to and from PostgreSQL?

pgvector's ``halfvec`` in its binary form: dimensions and a reserved field (two 16-bit integers), then one
IEEE half float a dimension, all big-endian. Half the bytes of text, and no parsing.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import AsyncConnection
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo

from mnemic.errors import ConfigurationError
from mnemic.model import Vector


@dataclass(frozen=True, slots=True)
class HalfVector:
    """A vector on its way to a ``halfvec`` parameter."""

    values: Vector


def pack(values: Sequence[float]) -> bytes:
    """Return the binary form of a vector with finite values within +-65504."""
    return struct.pack(f">hh{len(values)}e", len(values), 0, *values)


def unpack(data: bytes) -> Vector:
    """Return the vector of a binary ``halfvec``."""
    (dims,) = struct.unpack_from(">h", data)
    return struct.unpack_from(f">{dims}e", data, 4)


class _HalfDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: HalfVector) -> Buffer | None:
        return pack(obj.values)


class _HalfLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> Vector:
        return unpack(bytes(data))


async def register(conn: AsyncConnection[object]) -> None:
    """Teach one connection the type; raises ConfigurationError (``pgvector_missing``) without it."""
    info = await TypeInfo.fetch(conn, "halfvec")
    if info is None:
        raise ConfigurationError(
            "pgvector_missing",
            "The database has no pgvector 0.8 or newer: install it and run "
            "CREATE EXTENSION vector as a superuser.",
        )
    dumper = type("HalfDumper", (_HalfDumper,), {"oid": info.oid})
    conn.adapters.register_dumper(HalfVector, dumper)
    conn.adapters.register_loader(info.oid, _HalfLoader)
