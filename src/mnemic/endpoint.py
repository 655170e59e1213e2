"""How does one JSON request reach an outside endpoint, and what can come back?

A ``Reply`` for every final HTTP status, an error for everything that is none: the callers
(embedding, chat) decide what a status means. Only allowed hosts are called, redirects are not
followed, and neither proxies nor ``.netrc`` are taken from the environment, since both would send
bytes to hosts that nobody listed.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from mnemic.errors import ConfigurationError, MnemicError

try:
    import httpx2
except ModuleNotFoundError:
    raise ConfigurationError(
        "openai_not_installed",
        "Calling an endpoint needs more packages: pip install '.[openai]' in the clone.",
    ) from None

from mnemic.hosts import require_allowed, require_public

if TYPE_CHECKING:
    from pydantic import SecretStr

_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Statuses that may be gone at the next attempt."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A final HTTP status (100 to 599) and the JSON value of the body, None when it is no JSON."""

    status: int
    data: object = field(repr=False)
    retry_after: float | None = None

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one request may take (s), how often it is repeated and how long the pauses are (s).

    A pause is ``backoff`` x 2^attempt, of which up to half is taken off at random, or what the
    server asks for. A server that asks for more than ``longest_pause`` is not waited for: its reply
    is final.
    """

    timeout: float = 30.0
    retries: int = 4
    backoff: float = 0.5
    longest_pause: float = 60.0
    retry_timeouts: bool = True


class Endpoint:
    """A base URL with its key: one connection pool for each running event loop.

    ``failure(code, message)`` makes the caller's error; ``prefix`` begins its codes
    (``<prefix>_unreachable``, ``<prefix>_timeout``). Raises HostNotAllowed or ConfigurationError
    at once when the URL or the key cannot be meant.

    With ``public_only`` the host is looked up before every attempt, its addresses are checked
    (``hosts.require_public``), and the request goes to the address that was checked: a name that
    changes its mind between two look-ups leads nowhere else.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | SecretStr | None,
        allowed_hosts: Collection[str],
        patience: Patience,
        concurrency: int,
        failure: Callable[[str, str], MnemicError],
        prefix: str,
        public_only: bool = False,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.host = require_allowed(base_url, allowed_hosts)
        self._allowed = frozenset(
            [allowed_hosts] if isinstance(allowed_hosts, str) else allowed_hosts
        )
        self._public_only = public_only
        self._base = _base(base_url)
        self._key = _key(api_key)
        self._patience = patience
        self.concurrency = concurrency
        self._failure = failure
        self._prefix = prefix
        self._sleep = sleep
        self._lock = threading.Lock()
        self._lines: dict[asyncio.AbstractEventLoop, _Line] = {}

    def __repr__(self) -> str:
        return f"<Endpoint {self.host}>"

    async def post(self, path: str, body: Mapping[str, object]) -> Reply:
        """Send ``body`` to the base URL + ``path``; repeat what may pass by itself.

        Raises the caller's error with ``<prefix>_unreachable`` (no connection, or it broke) or
        ``<prefix>_timeout``, when the last attempt ended so.
        """
        # Half a character has no UTF-8: better a "?" at the server than an encoding error here.
        content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        line = self._line()
        async with line.slots:
            for attempt in range(max(0, self._patience.retries) + 1):
                outcome = await self._attempt(line, path, content)
                pause = pause_before_retry(outcome, attempt, self._patience)
                if pause is None:
                    break
                await self._sleep(pause)
        if isinstance(outcome, Reply):
            return outcome
        raise self._failed(outcome)

    async def aclose(self) -> None:
        """Close the running loop's connections; call it in each loop that used this endpoint."""
        with self._lock:
            line = self._lines.pop(asyncio.get_running_loop(), None)
        if line is not None:
            await line.client.aclose()

    async def _attempt(self, line: _Line, path: str, content: bytes) -> Reply | str:
        try:
            async with asyncio.timeout(self._patience.timeout):
                url = httpx2.URL(self._base + path)
                if not self._public_only:
                    answer = await line.client.post(url, content=content)
                else:
                    answer = await line.client.post(
                        url.copy_with(host=await self._checked_address(url)),
                        content=content,
                        headers={"host": url.netloc.decode("ascii")},
                        extensions={"sni_hostname": url.host},
                    )
        except (TimeoutError, httpx2.TimeoutException):
            return "timeout"
        except (httpx2.TransportError, httpx2.DecodingError, socket.gaierror):
            return "unreachable"
        return Reply(
            answer.status_code,
            _json(answer.content),
            retry_after(answer.headers.get("retry-after")),
        )

    async def _checked_address(self, url: httpx2.URL) -> str:
        """Look the host up and return an address that may be called. Raises HostNotAllowed."""
        found = await asyncio.get_running_loop().getaddrinfo(
            url.host, url.port or 443, type=socket.SOCK_STREAM
        )
        addresses = [str(info[4][0]) for info in found]
        require_public(self.host, addresses, self._allowed)
        return addresses[0]

    def _line(self) -> _Line:
        loop = asyncio.get_running_loop()
        with self._lock:
            for gone in [known for known in self._lines if known.is_closed()]:
                del self._lines[gone]
            if loop not in self._lines:
                self._lines[loop] = _Line(self._client(), asyncio.Semaphore(self.concurrency))
            return self._lines[loop]

    def _client(self) -> httpx2.AsyncClient:
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key}"
        return httpx2.AsyncClient(
            headers=headers,
            timeout=self._patience.timeout,
            follow_redirects=False,
            trust_env=False,
        )

    def _failed(self, kind: str) -> MnemicError:
        if kind == "timeout":
            message = f"The endpoint did not answer within {self._patience.timeout:g} s: try later."
        else:
            message = "The endpoint cannot be reached: check its URL and the network."
        return self._failure(f"{self._prefix}_{kind}", message)


@dataclass(frozen=True, slots=True)
class _Line:
    client: httpx2.AsyncClient
    slots: asyncio.Semaphore


def pause_before_retry(outcome: Reply | str, attempt: int, patience: Patience) -> float | None:
    """Return the seconds to wait before the next attempt, None when ``outcome`` is final."""
    if attempt >= patience.retries:
        return None
    if outcome == "timeout" and not patience.retry_timeouts:
        return None
    wanted = None
    if isinstance(outcome, Reply):
        if outcome.status not in _PASSING:
            return None
        wanted = outcome.retry_after
    if wanted is not None:
        return wanted if wanted <= patience.longest_pause else None
    pause = patience.backoff * 2.0**attempt * random.uniform(0.5, 1.0)
    return min(pause, patience.longest_pause)


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Return a Retry-After header (RFC 9110: seconds or a date) as seconds from now, 0 or more."""
    if value is None:
        return None
    if value.strip().isascii() and value.strip().isdigit():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())


def _json(content: bytes) -> object:
    try:
        value: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value


def _base(url: str) -> str:
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        parsed = None
    if parsed is None or parsed.query or parsed.fragment:
        raise ConfigurationError(
            "endpoint_url_invalid", "Write the base URL as https://host/path, without ? and #."
        )
    return url.rstrip("/")


def _key(api_key: str | SecretStr | None) -> str | None:
    if api_key is None:
        return None
    text = api_key if isinstance(api_key, str) else api_key.get_secret_value()
    text = text.strip()
    if not text.isascii() or not (text == "" or text.isprintable()):
        raise ConfigurationError(
            "api_key_invalid", "The endpoint's key holds characters that no header can carry."
        )
    return text or None
