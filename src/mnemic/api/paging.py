"""Whose list does a cursor continue? Pure: it carries a mark of the list that it came from.

The mark is no secret and guards nothing (row-level security does): it keeps a cursor of another user, or of a
list with other filters, from quietly answering with some other page.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping

from mnemic.errors import InvalidInput
from mnemic.model import Actor

_MARK = 12
_INVALID = "This cursor does not belong to this list; start from the first page."


def mark_of(actor: Actor, route: str, filters: Mapping[str, object]) -> str:
    """Return the mark of one list: who asks, what for, with which filters."""
    about = [actor.user, actor.project, actor.session, route, sorted(filters.items())]
    text = json.dumps(about, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_MARK]


def wrap(cursor: str | None, mark: str) -> str | None:
    """Return the cursor that goes out, None at the end of the list."""
    if cursor is None:
        return None
    return base64.urlsafe_b64encode(f"{mark}{cursor}".encode()).decode("ascii")


def unwrap(cursor: str | None, mark: str) -> str | None:
    """Return the library's cursor. Raises InvalidInput (``invalid_cursor``) for one of another list."""
    if cursor is None:
        return None
    try:
        text = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True).decode(
            "ascii"
        )
    except (ValueError, binascii.Error):
        raise InvalidInput("invalid_cursor", _INVALID) from None
    if text[:_MARK] != mark:
        raise InvalidInput("invalid_cursor", _INVALID)
    return text[_MARK:]
