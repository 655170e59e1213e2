"""How does an error look over HTTP? As problem details (RFC 9457) with the library's reason code. Pure.

The REST service and the MCP endpoint both answer so. One table gives the status of a class of errors, another
that of single codes. What went wrong inside the deployment (5xx) is told by its code and one sentence:
addresses, settings and driver texts stay inside.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from mnemic.errors import (
    ChatError,
    ConfigurationError,
    Conflict,
    ConsentRequired,
    EmbeddingError,
    InvalidInput,
    KeyUnavailable,
    MnemicError,
    NotFound,
    PermissionDenied,
    RateLimited,
    StorageError,
    StorageUnavailable,
    Unauthenticated,
)

MEDIA_TYPE = "application/problem+json"


class StaleVersion(Conflict):
    """The version that the caller meant is not there any more: 412 instead of 409."""

    def __init__(self, conflict: Conflict) -> None:
        super().__init__(conflict.code, conflict.message, **conflict.details)


TITLES: Mapping[int, str] = {
    400: "Bad request",
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "Request too slow",
    409: "Conflict",
    412: "Precondition failed",
    413: "Too large",
    415: "Unsupported media type",
    422: "Not understood",
    428: "Precondition required",
    429: "Too many requests",
    500: "Internal error",
    502: "A model did not answer",
    503: "Not available now",
    504: "Took too long",
}

# the first class that fits counts: the special ones stand before those that they derive from
_CLASSES: tuple[tuple[type[MnemicError], int], ...] = (
    (InvalidInput, 422),
    (NotFound, 404),
    (Unauthenticated, 401),
    (ConsentRequired, 403),
    (PermissionDenied, 403),
    (RateLimited, 429),
    (StaleVersion, 412),
    (Conflict, 409),
    (KeyUnavailable, 503),
    (ConfigurationError, 503),
    (StorageUnavailable, 503),
    (StorageError, 500),
    (EmbeddingError, 503),
    (ChatError, 502),
)
CODES: Mapping[str, int] = {
    "malformed_json": 400,
    "invalid_if_match": 400,
    "body_too_slow": 408,
    "body_too_large": 413,
    "document_too_large": 413,
    "unsupported_media_type": 415,
    "pdf_not_installed": 415,
    "method_not_allowed": 405,
    "precondition_required": 428,
    "request_timeout": 504,
}
_INSIDE: Mapping[int, str] = {
    500: "The service could not do this; its log has more under the request id.",
    502: "The language model gave no usable answer; try again later.",
    503: "The service cannot do this now; try again later.",
}
_OWN_WORDS = frozenset({"database_busy", "service_closing"})
_SOON = 1
"""Seconds after which what is not available may be back."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as it goes over the wire; ``headers`` go beside the body."""

    status: int
    code: str
    kind: str
    detail: str
    details: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self, request_id: str | None) -> bytes:
        """Return the JSON text; ``request_id`` finds the request in the log."""
        value: dict[str, object] = {
            "type": f"urn:mnemic:reason:{self.code}",
            "title": TITLES.get(self.status, "Error"),
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "error": self.kind,
        }
        if self.details:
            value["details"] = self.details
        if request_id is not None:
            value["request_id"] = request_id
        return json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace")


def status_of(error: MnemicError) -> int:
    """Return the status of an error: that of its code where one is set, else of its class."""
    if error.code in CODES:
        return CODES[error.code]
    return next((status for kind, status in _CLASSES if isinstance(error, kind)), 500)


def problem_of(error: MnemicError, status: int | None = None) -> Problem:
    """Return the problem that tells of ``error``; ``status`` replaces the one of the tables."""
    chosen = status_of(error) if status is None else status
    inside = chosen >= 500 and chosen != 504 and error.code not in _OWN_WORDS
    return Problem(
        status=chosen,
        code=error.code,
        kind=kind_of(error),
        detail=_INSIDE.get(chosen, _INSIDE[500]) if inside else error.message,
        details={} if inside else error.details,
        headers=_headers(error, chosen),
    )


def kind_of(error: MnemicError) -> str:
    """Return the name of the library's class that an error belongs to."""
    kinds = type(error).__mro__
    return next(kind.__name__ for kind in kinds if kind.__module__ == MnemicError.__module__)


def internal() -> Problem:
    """Return the problem for what nobody foresaw: nothing of it is told outside."""
    return Problem(500, "internal_error", "MnemicError", _INSIDE[500])


def _headers(error: MnemicError, status: int) -> dict[str, str]:
    wait = error.details.get("retry_after")
    if isinstance(wait, int | float) and math.isfinite(wait):
        return {"Retry-After": str(max(1, math.ceil(wait)))}
    if status in (429, 503):
        return {"Retry-After": str(_SOON)}
    if status == 401:
        return {"WWW-Authenticate": 'Bearer realm="mnemic"'}
    return {}
