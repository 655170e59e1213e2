"""Which keys does the issuer sign with today?

The key set is fetched over https from an allowed host (plain http on loopback only), without redirects and
proxies, kept for ten minutes, and fetched again for a key id that is not in it, at most once a minute. While
the issuer does not answer, the last set serves for a day.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import ssl
import time
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from mnemic.access.tokens import VerificationKey, jwks_keys
from mnemic.errors import ConfigurationError
from mnemic.hosts import require_allowed

KEPT = 600.0
"""Seconds after which the set is fetched again."""
PAUSE = 60.0
"""Seconds between two fetches at least, whatever key ids tokens name."""
STALE = 86_400.0
"""Seconds for which the last set serves while the issuer does not answer."""
LARGEST = 262_144
"""Bytes of a key set."""
TIMEOUT = 5.0
"""Seconds for one fetch, from name to last byte."""
_FIRST_PAUSE = 5.0
"""Seconds between two attempts while there is no set at all."""

Fetch = Callable[[str], bytes]


class Jwks:
    """The key set behind a URL."""

    def __init__(
        self,
        url: str,
        allowed_hosts: Collection[str],
        *,
        fetch: Fetch | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises HostNotAllowed (``host_not_allowed``); nothing is fetched yet."""
        require_allowed(url, allowed_hosts)
        self._url = url
        self._fetch = fetch or _fetched
        self._clock = clock
        self._keys: tuple[VerificationKey, ...] = ()
        self._of = float("-inf")
        self._asked = float("-inf")
        self._asking = asyncio.Lock()

    async def keys(self, kid: str | None) -> tuple[VerificationKey, ...]:
        """Return the issuer's keys, fetched anew when ``kid`` may be one that we do not know.

        Raises ConfigurationError (``jwks_unreachable``) while there has never been a set.
        """
        # while one request asks, only those wait that the old keys do not help
        if self._due(kid) and not (self._asking.locked() and self._knows(kid)):
            async with self._asking:
                if self._due(kid):  # else somebody else has just asked
                    await self._ask()
        if not self._usable:
            raise ConfigurationError(
                "jwks_unreachable",
                "The issuer's keys cannot be fetched: check MNEMIC_JWT_JWKS_URL and the network.",
            )
        return self._keys

    @property
    def _usable(self) -> bool:
        return bool(self._keys) and self._clock() - self._of < STALE

    def _due(self, kid: str | None) -> bool:
        now = self._clock()
        if now - self._asked < (PAUSE if self._keys else _FIRST_PAUSE):
            return False
        return not self._knows(kid) or now - self._of >= KEPT

    def _knows(self, kid: str | None) -> bool:
        """Tell whether a key of this id may be among ours."""
        if kid is None:
            return bool(self._keys)
        return any(key.kid in (kid, None) for key in self._keys)

    async def _ask(self) -> None:
        began = self._clock()
        try:
            body = await asyncio.to_thread(self._fetch, self._url)
            keys = jwks_keys(json.loads(body))
        except (OSError, http.client.HTTPException, ValueError, RecursionError):
            return
        finally:
            self._asked = self._clock()
        if keys:
            self._keys, self._of = keys, began


def _fetched(url: str) -> bytes:
    """Return the body of a 200 answer. Blocks; raises OSError, HTTPException or ValueError."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    deadline = time.monotonic() + TIMEOUT
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(
            parts.hostname, parts.port, timeout=TIMEOUT, context=ssl.create_default_context()
        )
    else:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", target, headers={"Accept": "application/json"})
        return _body(connection.getresponse(), deadline)
    finally:
        connection.close()


def _body(answer: http.client.HTTPResponse, deadline: float) -> bytes:
    """Read what comes in time; a server that sends byte by byte does not hold the thread."""
    if answer.status != 200:
        raise ValueError(f"status {answer.status}")
    body = b""
    while part := answer.read1(65_536):
        body += part
        if len(body) > LARGEST:
            raise ValueError("too large for a key set")
        if time.monotonic() > deadline:
            raise TimeoutError
    return body
