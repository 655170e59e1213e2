"""May this credential ask again already?

A moving window counts the requests of each rate key: in Redis for all workers together, else in each worker's
memory, where every worker has its share of the limit. While Redis does not answer, or refuses, a worker falls
back to a tenth of its share: an outage makes the service slower for the greedy, never unlimited. The log
tells each cause once, until Redis counts again.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import structlog

from mnemic.errors import ConfigurationError, RateLimited
from mnemic.settings import Settings

if TYPE_CHECKING:
    from limits import RateLimitItem
    from limits.aio.storage import Storage

_LOG = structlog.get_logger("mnemic.access")
REDIS_TIMEOUT = 0.25
"""Seconds that a request waits for Redis."""
REDIS_PAUSE = 5.0
"""Seconds for which Redis is left alone after it did not answer."""
FALLBACK = 10
"""What a worker's share is divided by while Redis is away."""
_UNITS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}
_NAMESPACE = "mnemic:rate"
CAUSES = ("timeout", "unreachable", "login_refused", "not_permitted", "out_of_memory", "failed")
"""Why Redis did not count."""

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Limit:
    """``amount`` requests in ``seconds``."""

    amount: int
    seconds: int

    def divided(self, by: int) -> Limit:
        """Return the limit of one among ``by``, one request at least."""
        return Limit(max(1, self.amount // by), self.seconds)


def limit_of(text: str) -> Limit | None:
    """Return the limit that a setting such as ``600/minute`` spells, None for ``off``."""
    if text == "off":
        return None
    amount, _, unit = text.partition("/")
    return Limit(int(amount), _UNITS[unit])


class Rates:
    """The limiter of one worker."""

    def __init__(
        self,
        limit: str,
        *,
        workers: int = 1,
        redis_url: str | None = None,
        clock: Clock = time.monotonic,
        fell_back: Callable[[str], None] | None = None,
    ) -> None:
        """``limit`` is such as ``600/minute`` or ``off``; ``workers`` is how many share it.

        ``fell_back`` hears of every time that Redis was asked and did not count, with its cause. Raises
        ConfigurationError (``redis_url_invalid``); nothing is connected yet.
        """
        self._clock = clock
        self._fell_back = fell_back
        self._told: set[str] = set()
        self._away_until = float("-inf")
        self.limit = limit_of(limit)
        """What all workers together let in, None without a limit."""
        self.share = self.limit.divided(workers) if self.limit else None
        """What one worker lets in without Redis."""
        self.fallback = self.share.divided(FALLBACK) if self.share else None
        """What one worker lets in while Redis is away."""
        self._local = LocalWindows(clock)
        self._redis = _RedisWindows(redis_url, self.limit) if redis_url and self.limit else None

    @classmethod
    def of(
        cls,
        settings: Settings,
        workers: int = 1,
        *,
        fell_back: Callable[[str], None] | None = None,
    ) -> Rates:
        """Return the limiter that the settings ask for."""
        url = settings.redis_url
        return cls(
            settings.rate_limit,
            workers=workers,
            redis_url=url.get_secret_value() if url is not None else None,
            fell_back=fell_back,
        )

    @property
    def degraded(self) -> bool:
        """Whether Redis did not answer lately, so that the smaller local cap holds."""
        return self._clock() < self._away_until

    async def admit(self, rate_key: str) -> None:
        """Count one request. Raises RateLimited (``rate_limited``, details: retry_after in seconds)."""
        if self.share is None or self.fallback is None:
            return
        if self._redis is None:
            wait = self._local.hit(rate_key, self.share)
        else:
            wait = await self._shared(self._redis, self.fallback, rate_key)
        if wait is not None:
            raise RateLimited("rate_limited", "Too many requests: wait a little.", retry_after=wait)

    async def close(self) -> None:
        """Close the connections to Redis; idempotent."""
        if self._redis is not None:
            await self._redis.close()

    async def _shared(self, redis: _RedisWindows, fallback: Limit, rate_key: str) -> int | None:
        from limits.errors import StorageError

        if not self.degraded:
            try:
                async with asyncio.timeout(2 * REDIS_TIMEOUT):
                    wait = await redis.hit(rate_key)
            except (StorageError, TimeoutError, OSError) as error:
                self._away_until = self._clock() + REDIS_PAUSE
                self._tell(cause_of(error))
            else:
                self._told.clear()
                return wait
        return self._local.hit(rate_key, fallback)

    def _tell(self, cause: str) -> None:
        if self._fell_back is not None:
            self._fell_back(cause)
        if cause not in self._told:
            self._told.add(cause)
            _LOG.warning(
                "rates counted without redis",
                cause=cause,
                each_worker=self.fallback,
                retry_in=REDIS_PAUSE,
            )


def cause_of(error: BaseException) -> str:
    """Return which of ``CAUSES`` an error of the limiter's storage has: its own, or the one behind it."""
    from redis import exceptions as redis

    kinds: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
        (redis.NoPermissionError, "not_permitted"),
        ((redis.AuthenticationError, redis.AuthorizationError), "login_refused"),
        ((TimeoutError, redis.TimeoutError), "timeout"),
        (redis.OutOfMemoryError, "out_of_memory"),
        ((redis.ConnectionError, OSError), "unreachable"),
    )
    found: BaseException | None = error
    while found is not None:
        for kind, cause in kinds:
            if isinstance(found, kind):
                return cause
        found = found.__cause__ or found.__context__
    return "failed"


class LocalWindows:
    """Moving windows in this process's memory; those that nobody uses are dropped.

    The library's own storage looks through all its keys in a thread at every request.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._hits: OrderedDict[str, deque[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._hits)

    def hit(self, rate_key: str, limit: Limit) -> int | None:
        """Count a request; return None, or the whole seconds until the next one is let in."""
        now = self._clock()
        since = now - limit.seconds
        self._forget(since)
        hits = self._hits.setdefault(rate_key, deque())
        self._hits.move_to_end(rate_key)
        while hits and hits[0] <= since:
            hits.popleft()
        if len(hits) >= limit.amount:
            return max(1, math.ceil(hits[-limit.amount] - since))
        hits.append(now)
        return None

    def _forget(self, since: float) -> None:
        """Drop windows from the end that was used longest ago."""
        while self._hits:
            hits = next(iter(self._hits.values()))
            if hits and hits[-1] > since:
                return
            self._hits.popitem(last=False)


class _RedisWindows:
    """Moving windows that all workers share."""

    def __init__(self, url: str, limit: Limit) -> None:
        from limits.aio.strategies import MovingWindowRateLimiter

        self._item = _item(limit)
        self._storage = _storage(url)
        self._limiter = MovingWindowRateLimiter(self._storage)

    async def hit(self, rate_key: str) -> int | None:
        """Count a request; see ``LocalWindows.hit``. Raises limits' StorageError."""
        if await self._limiter.hit(self._item, rate_key):
            return None
        stats = await self._limiter.get_window_stats(self._item, rate_key)
        return max(1, math.ceil(stats.reset_time - time.time()))

    async def close(self) -> None:
        storage: Any = self._storage  # no storage of the library can be closed
        await storage.bridge.get_connection().aclose()


def _item(limit: Limit) -> RateLimitItem:
    from limits import RateLimitItemPerSecond

    return RateLimitItemPerSecond(limit.amount, limit.seconds, namespace=_NAMESPACE)


def _storage(url: str) -> Storage:
    """Return limits' storage for redis://, rediss://, redis+cluster:// or redis+sentinel://."""
    from limits.errors import ConfigurationError as Unknown
    from limits.storage import storage_from_string
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    options: dict[str, Any] = {
        "socket_timeout": REDIS_TIMEOUT,
        "socket_connect_timeout": REDIS_TIMEOUT,
        "retry": Retry(NoBackoff(), 1),  # once: a connection that died in the pool is no outage
    }
    try:
        found: Any = storage_from_string(
            f"async+{url}", wrap_exceptions=True, implementation="redispy", **options
        )
    except (Unknown, ValueError):
        raise ConfigurationError(
            "redis_url_invalid",
            "MNEMIC_REDIS_URL must read redis://host:port/0, or rediss://, redis+cluster://,"
            " redis+sentinel://.",
        ) from None
    return cast("Storage", found)
