"""How is a row named before the database has seen it?"""

from __future__ import annotations

import os
import time
from uuid import UUID

from mnemic.errors import InvalidInput


def new_id() -> UUID:
    """Return a UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, then 74 random bits."""
    value = int.from_bytes((time.time_ns() // 1_000_000).to_bytes(6, "big") + os.urandom(10), "big")
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    return UUID(int=(value & ~(0x3 << 62)) | (0x2 << 62))


def parse_id(value: object) -> UUID:
    """Return the id that ``value`` spells. Raises InvalidInput (``invalid_item_id``)."""
    if isinstance(value, UUID):
        return value
    try:
        return UUID(str(value))
    except ValueError:
        raise InvalidInput("invalid_item_id", "The id of a memory item must be a UUID.") from None
