"""How does a vector travel to PostgreSQL?

pgvector's ``halfvec`` in its binary form: dimensions and a reserved field (two 16-bit integers), then one
IEEE half float a dimension, all big-endian. Half the bytes of text, and no parsing. A list of HalfVector
travels as ``halfvec[]``. Statements that read one back say ``embedding::real[]``.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

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


def pack(values: Sequence[float]) -> bytes:
    """Return the binary form of a vector. Raises OverflowError for a value beyond +-65504."""
    return struct.pack(f">hh{len(values)}e", len(values), 0, *values)


class _HalfDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: HalfVector) -> Buffer | None:
        return pack(obj.values)


async def register(conn: AsyncConnection[object]) -> None:
    """Teach one connection the type; raises ConfigurationError (``pgvector_missing``) without it."""
    info = await TypeInfo.fetch(conn, "halfvec")
    if info is None:
        raise ConfigurationError(
            "pgvector_missing",
            "The database has no pgvector 0.8 or newer: install it and run "
            "CREATE EXTENSION vector as a superuser.",
        )
    info.register(conn)  # with its array type, by which psycopg sends a list of them
    dumper = type("HalfDumper", (_HalfDumper,), {"oid": info.oid})
    conn.adapters.register_dumper(HalfVector, dumper)
