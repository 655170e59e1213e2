"""Which JSON value is this body? Pure: bytes in, value or refusal out.

Half a surrogate pair and NUL inside a text are legal JSON; they are handed on, for the gate takes them out
and says so.
"""

from __future__ import annotations

import json
from typing import NoReturn

from mnemic.errors import InvalidInput

JSON = "application/json"


def read_json(body: bytes) -> object:
    """Return the value of UTF-8 JSON. Raises InvalidInput (``malformed_json``) for anything else.

    NaN and infinities, which JSON does not know, are refused, and so is nesting that is too deep to read. An
    object that names a field twice is refused too (``field_repeated``): two readers could take two of them.
    """
    try:
        value: object = json.loads(
            body.decode("utf-8-sig"), parse_constant=_refuse, object_pairs_hook=_once
        )
    except InvalidInput:
        raise
    except (ValueError, RecursionError):
        raise InvalidInput("malformed_json", "The body is not valid JSON in UTF-8.") from None
    return value


def require_media(content_type: str | None, allowed: tuple[str, ...]) -> str:
    """Return the media type that a Content-Type header names, without its parameters.

    Raises InvalidInput (``unsupported_media_type``, details: allowed) for none and for any other.
    """
    media = (content_type or "").partition(";")[0].strip().lower()
    if media not in allowed:
        raise InvalidInput(
            "unsupported_media_type",
            f"Send the body with Content-Type {' or '.join(allowed)}.",
            allowed=list(allowed),
        )
    return media


def require_unpacked(encoding: str | None) -> None:
    """Raise InvalidInput (``unsupported_media_type``) for a body that would have to be unpacked first.

    A few bytes could become any number of them, and a packed text would be stored as what it looks like.
    """
    if (encoding or "identity").strip().lower() != "identity":
        raise InvalidInput(
            "unsupported_media_type",
            "Send the body as it is, without a Content-Encoding.",
            allowed=["identity"],
        )


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise InvalidInput("field_repeated", "An object in the body names a field twice.")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
