"""What became of a request, and is it worth sending again? Pure."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from mnemic import errors
from mnemic.client.reading import unreadable
from mnemic.errors import MnemicError, StorageUnavailable

# answers that may be others soon; 409 only while the first of two equal requests is under way
_PASSING = frozenset({408, 429, 502, 503, 504})
_IN_FLIGHT = "idempotency_in_flight"
_KINDS: Mapping[str, type[MnemicError]] = {
    name: kind
    for name in errors.__all__
    if isinstance(kind := getattr(errors, name), type) and issubclass(kind, MnemicError)
}


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one attempt may take (s), how often it is repeated, and how long the pauses are (s).

    A pause is ``backoff`` x 2^attempt, of which up to half is taken off at random, or what the service asks
    for. A service that asks for more than ``longest_pause`` is not waited for.
    """

    timeout: float = 30.0
    retries: int = 3
    backoff: float = 0.2
    longest_pause: float = 30.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """One attempt: its status and JSON, or (status 0) that no answer came."""

    status: int
    value: Any = None
    retry_after: float | None = None

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


def pause_before_retry(outcome: Outcome, attempt: int, patience: Patience) -> float | None:
    """Return the seconds to wait before sending it again, None when the outcome is final."""
    if attempt >= patience.retries or outcome.ok:
        return None
    if outcome.status and not (outcome.status in _PASSING or _code(outcome) == _IN_FLIGHT):
        return None
    if outcome.retry_after is not None:
        return outcome.retry_after if outcome.retry_after <= patience.longest_pause else None
    pause: float = patience.backoff * 2.0**attempt * random.uniform(0.5, 1.0)
    return min(pause, patience.longest_pause)


def error_of(outcome: Outcome) -> MnemicError:
    """Return the library's error that a problem tells of: same class, same code, same details."""
    if outcome.status == 0:
        return StorageUnavailable(
            "service_unreachable",
            "The service cannot be reached: check that it runs, its address and the network.",
        )
    value = outcome.value
    if not isinstance(value, dict) or not isinstance(value.get("code"), str):
        return unreadable()
    kind = _KINDS.get(str(value.get("error")), MnemicError)
    details = value.get("details")
    given = details if isinstance(details, dict) else {}
    if outcome.retry_after is not None:
        given = {"retry_after": outcome.retry_after} | given
    given = {name: one for name, one in given.items() if name not in ("code", "message", "self")}
    return kind(value["code"], str(value.get("detail", "")), **given)


def seconds(header: str | None, now: datetime | None = None) -> float | None:
    """Return a Retry-After header (RFC 9110: seconds or a date) as seconds from now, 0 or more."""
    if header is None:
        return None
    if header.strip().isascii() and header.strip().isdigit():
        return float(header)
    try:
        at = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(
        0.0, (at.replace(tzinfo=at.tzinfo or UTC) - (now or datetime.now(UTC))).total_seconds()
    )


def _code(outcome: Outcome) -> object:
    return outcome.value.get("code") if isinstance(outcome.value, dict) else None
