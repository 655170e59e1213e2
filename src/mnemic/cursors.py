"""Where did the last page end? A cursor is opaque to callers: time and id of the last row shown."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from uuid import UUID

from mnemic.errors import InvalidInput


def encode_cursor(time: datetime, row: UUID) -> str:
    """Return a cursor that continues after this row."""
    return base64.urlsafe_b64encode(f"{time.isoformat()}|{row}".encode()).decode("ascii")


def decode_cursor(cursor: object) -> tuple[datetime, UUID]:
    """Return the row after which to continue. Raises InvalidInput (``invalid_cursor``)."""
    try:
        time, _, row = base64.urlsafe_b64decode(str(cursor).encode()).decode().partition("|")
        parsed = datetime.fromisoformat(time)
        if parsed.tzinfo is None:
            raise ValueError
        return parsed, UUID(row)
    except (ValueError, binascii.Error):
        raise InvalidInput(
            "invalid_cursor", "This cursor is not one of ours; start from the first page."
        ) from None
