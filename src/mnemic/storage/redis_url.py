"""What does MNEMIC_REDIS_URL name: one server, a Sentinel's master or a cluster?

    redis://[user:password@]host:port/db         rediss://...          unix:///path/to/socket
    redis+sentinel://[user:password@]host:port,host:port/service       ?db=0
    redis+cluster://[user:password@]host:port,host:port

Queries: ``ssl=true`` and ``ssl_ca_certs=/path`` for the last two; ``sentinel_username`` and
``sentinel_password`` where the sentinels want others; whatever redis-py takes for the first three.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

from mnemic.errors import ConfigurationError

Kind = Literal["single", "sentinel", "cluster"]
_SINGLE = ("redis", "rediss", "unix")
_PORTS: dict[str, int] = {"sentinel": 26_379, "cluster": 6_379}
_QUERIES = {"ssl", "ssl_ca_certs", "db", "sentinel_username", "sentinel_password"}


@dataclass(frozen=True, slots=True)
class Target:
    """Where Redis is. ``url`` is for a single server; the rest for the others."""

    kind: Kind
    url: str = field(default="", repr=False)
    hosts: tuple[tuple[str, int], ...] = ()
    service: str = ""
    db: int = 0
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    sentinel_username: str | None = None
    sentinel_password: str | None = field(default=None, repr=False)
    ssl: bool = False
    ssl_ca_certs: str | None = None


def target_of(url: str) -> Target:
    """Return what a URL names. Raises ConfigurationError (``redis_url_invalid``), without the URL."""
    try:
        return _read(url.removeprefix("redis+"), compound=url.startswith("redis+"))
    except ValueError:
        raise ConfigurationError(
            "redis_url_invalid",
            "MNEMIC_REDIS_URL must read redis://host:port/0, or rediss://, unix://,"
            " redis+cluster://host:port,host:port, redis+sentinel://host:port,host:port/service.",
        ) from None


def _read(url: str, *, compound: bool) -> Target:
    parts = urlsplit(url)
    kind = parts.scheme
    if kind in _SINGLE and (parts.path if kind == "unix" else parts.hostname):
        return Target("single", url=url)
    if kind not in ("sentinel", "cluster") or not compound:
        raise ValueError(kind)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    service = unquote(parts.path.strip("/"))
    if set(query) - _QUERIES or (kind == "sentinel") != bool(service):
        raise ValueError(kind)
    login, _, hosts = parts.netloc.rpartition("@")
    username, _, password = login.partition(":")
    return Target(
        "sentinel" if kind == "sentinel" else "cluster",
        hosts=tuple(_host(text, _PORTS[kind]) for text in hosts.split(",")),
        service=service,
        db=int(query.get("db", "0")),
        username=unquote(username) or None,
        password=unquote(password) or None,
        sentinel_username=query.get("sentinel_username"),
        sentinel_password=query.get("sentinel_password"),
        ssl=query.get("ssl", "false") == "true",
        ssl_ca_certs=query.get("ssl_ca_certs"),
    )


def _host(text: str, port: int) -> tuple[str, int]:
    parts = urlsplit("//" + text)
    if not parts.hostname:
        raise ValueError("a host is missing")
    return parts.hostname, parts.port or port
