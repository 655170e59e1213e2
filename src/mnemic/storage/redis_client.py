"""How is a client of Redis made so that no call waits for long? Limits, timeouts and no silent repeats.

redis-py repeats a call by itself, with pauses; here it never does: ``redis_calls`` repeats once, and counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from importlib.util import find_spec
from math import inf
from typing import Any, Protocol

from mnemic.errors import ConfigurationError
from mnemic.storage.redis_url import Target

HEALTH_CHECK = 30
"""Seconds after which an idle connection is asked whether it lives before it is used."""
Command = tuple[Any, ...]
OnConnect = Callable[[str, str | None], None]
"""Is told of every new connection: to which node (of a cluster), and which run of a server answers there, if
it tells."""


class Client(Protocol):
    """Sends commands; a command's failure is returned in its place, a lost connection is raised.

    ``most`` is how many commands one ``send`` takes.
    """

    most: int

    async def send(self, commands: Sequence[Command]) -> list[Any]:
        """Run commands, each on one key, and return their answers in order."""

    async def ping(self) -> None:
        """Return when the server answers."""

    async def aclose(self) -> None:
        """Close all connections."""


def failures() -> tuple[type[Exception], ...]:
    """Return what a call may fail with; a cluster's exception is no RedisError."""
    from redis.exceptions import RedisClusterException, RedisError

    return RedisError, RedisClusterException, OSError, TimeoutError


def require_redis() -> None:
    """Raise ConfigurationError (``redis_not_installed``) where redis-py is missing."""
    if find_spec("redis") is None:
        raise ConfigurationError(
            "redis_not_installed",
            "The client of Redis is not installed: run pip install '.[redis]' in the clone.",
        )


def connect(target: Target, *, connections: int, timeout: float, on_connect: OnConnect) -> Client:
    """Return a client; nothing is connected yet. ``on_connect``: see ``OnConnect``.

    ``connections`` is how many batches are under way at once at most, each over a connection of its own (of a
    cluster: over up to 8 to each node); ``timeout`` in seconds what one connection attempt or one answer may
    take. Raises ConfigurationError (``redis_not_installed``).
    """
    require_redis()
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    async def connected(connection: Any) -> None:
        await connection.on_connect()
        node = repr(connection) if target.kind == "cluster" else ""
        on_connect(node, await _run_of(connection))

    options: dict[str, Any] = {
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "health_check_interval": HEALTH_CHECK,
        "retry": Retry(NoBackoff(), 0),
    }
    if target.kind == "cluster":
        return _Cluster(_cluster(target, options, connections, connected))
    hooked = options | {"redis_connect_func": connected, "max_connections": connections + 1}
    if target.kind == "sentinel":
        return _Sentinel(*_sentinel(target, options, hooked))
    from redis.asyncio import Redis

    return _One(Redis.from_url(target.url, **hooked))


def _packed(commands: Sequence[Command]) -> bytes:
    """Return commands as they travel; redis-py's own packing looks at each argument several times."""
    parts: list[bytes] = []
    for command in commands:
        parts.append(b"*%d\r\n" % len(command))
        for given in command:
            part = given if isinstance(given, bytes) else str(given).encode()
            parts.append(b"$%d\r\n%b\r\n" % (len(part), part))
    return b"".join(parts)


class _One:
    """One server, or whichever server a pool leads to: a batch is one pipeline."""

    most = 64

    def __init__(self, redis: Any) -> None:
        self._redis = redis

    async def send(self, commands: Sequence[Command]) -> list[Any]:
        from redis.exceptions import ResponseError

        pool = self._redis.connection_pool
        connection = await pool.get_connection()
        answers: list[Any] = []
        try:
            await connection.send_packed_command(_packed(commands))
            for _ in commands:
                try:
                    # whoever sends bounds the whole batch: a timer for each answer costs as much as it
                    answers.append(await connection.read_response(timeout=inf))
                except ResponseError as error:
                    answers.append(error)
        finally:
            await pool.release(connection)
        return answers

    async def ping(self) -> None:
        await self._redis.ping()

    async def aclose(self) -> None:
        await self._redis.aclose()


class _Sentinel(_One):
    """The master of a service, which the sentinels tell anew at each connection."""

    def __init__(self, redis: Any, sentinels: Sequence[Any]) -> None:
        super().__init__(redis)
        self._sentinels = sentinels

    async def aclose(self) -> None:
        await super().aclose()
        await self._redis.connection_pool.disconnect()
        for sentinel in self._sentinels:
            await sentinel.aclose()


class _Cluster:
    """The master of each key's slot. A batch goes out at once, over one connection a command."""

    most = 8

    def __init__(self, redis: Any) -> None:
        self._redis = redis

    async def send(self, commands: Sequence[Command]) -> list[Any]:
        answers = await asyncio.gather(
            *(self._redis.execute_command(*command) for command in commands),
            return_exceptions=True,
        )
        for answer in answers:
            if isinstance(answer, BaseException) and not isinstance(answer, failures()):
                raise answer
        return list(answers)

    async def ping(self) -> None:
        await self._redis.initialize()
        await self._redis.ping(target_nodes="primaries")

    async def aclose(self) -> None:
        await self._redis.aclose()


async def _run_of(connection: Any) -> str | None:
    """Return what tells one run of a server from every other; None where asking is not allowed."""
    from redis.exceptions import ResponseError

    await connection.send_command("INFO", "server")
    try:
        told = await connection.read_response()
    except ResponseError:
        return None
    text = told.decode() if isinstance(told, bytes) else str(told)
    _, _, rest = text.partition("\nrun_id:")
    return rest.split("\r", 1)[0].strip() or None


def _cluster(
    target: Target,
    options: dict[str, Any],
    connections: int,
    connected: Callable[[Any], Awaitable[None]],
) -> Any:
    from redis.asyncio.cluster import ClusterNode, RedisCluster

    redis: Any = RedisCluster(
        startup_nodes=[ClusterNode(host, port) for host, port in target.hosts],
        max_connections=connections * _Cluster.most + 1,
        username=target.username,
        password=target.password,
        ssl=target.ssl,
        ssl_ca_certs=target.ssl_ca_certs,
        **options,
    )
    # RedisCluster takes no such argument, and nodes copy these when they are found
    redis.connection_kwargs["redis_connect_func"] = connected
    for node in redis.nodes_manager.startup_nodes.values():
        node.connection_kwargs["redis_connect_func"] = connected
    return redis


def _sentinel(
    target: Target, options: dict[str, Any], hooked: dict[str, Any]
) -> tuple[Any, Sequence[Any]]:
    from redis.asyncio import sentinel as sentinels

    secure = {"ssl": True, "ssl_ca_certs": target.ssl_ca_certs} if target.ssl else {}
    login = {
        "username": target.sentinel_username,
        "password": target.sentinel_password,
    }
    untyped: Any = sentinels
    sentinel = untyped.Sentinel(
        list(target.hosts), sentinel_kwargs=options | secure | login, **options, **secure
    )
    master = sentinel.master_for(
        target.service,
        db=target.db,
        username=target.username,
        password=target.password,
        check_connection=True,
        **{name: hooked[name] for name in ("redis_connect_func", "max_connections")},
    )
    return master, sentinel.sentinels
