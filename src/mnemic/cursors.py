"""Where did the last page end? A cursor is opaque to callers: time and id of the last row shown."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from uuid import UUID

from mnemic.errors import InvalidInput


def encode_cursor(time: datetime, row: UUID) -> str:
    """Return a cursor that continues after this row."""
    return encode_named(time, str(row))


def decode_cursor(cursor: object) -> tuple[datetime, UUID]:
    """Return the row after which to continue. Raises InvalidInput (``invalid_cursor``)."""
    time, row = decode_named(cursor)
    try:
        return time, UUID(row)
    except ValueError:
        raise _not_ours() from None


def encode_named(time: datetime, name: str) -> str:
    """Return a cursor that continues after the row of this name."""
    return base64.urlsafe_b64encode(f"{time.isoformat()}|{name}".encode()).decode("ascii")


def decode_named(cursor: object) -> tuple[datetime, str]:
    """Return time and name of the row after which to continue. Raises InvalidInput (``invalid_cursor``)."""
    try:
        time, _, name = base64.urlsafe_b64decode(str(cursor).encode()).decode().partition("|")
        parsed = datetime.fromisoformat(time)
        if parsed.tzinfo is None or not name or "\0" in name:
            raise ValueError
        return parsed, name
    except (ValueError, binascii.Error):
        raise _not_ours() from None


def _not_ours() -> InvalidInput:
    return InvalidInput(
        "invalid_cursor", "This cursor is not one of ours; start from the first page."
    )
