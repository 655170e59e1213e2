"""Which database, with which key, does this process work on?

Embedded: join (or start) the server under the data directory. Otherwise the servers of
``MNEMIC_DATABASE_URL`` and, for the owner's work, ``MNEMIC_MIGRATION_URL``. Either way: the schema is
brought up to date where the owner login is at hand, the key is proved to be the data's, and a service login
that could see past row-level security is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow

from mnemic.errors import ConfigurationError, MnemicError
from mnemic.keychoice import provider_of
from mnemic.keyfile import KeyFile
from mnemic.keys import KeyProvider, KeyRing, check, deployment_id, establish
from mnemic.settings import Settings
from mnemic.storage.embedded import Joined, default_data_dir, join
from mnemic.storage.failures import not_connected, translate
from mnemic.storage.migrate import CONNECT_TIMEOUT, connect_owner, migrate, pending
from mnemic.storage.pool import Database, learn
from mnemic.storage.statements import statements

_SQL = statements("models")
_KEYS = statements("keys")
_OWNERS_POOL = 3


@dataclass(frozen=True, slots=True)
class Addresses:
    """Connection strings of the two logins; ``joined``, and where, when the server is the embedded one."""

    service: str = field(repr=False)
    owner: str | None = field(repr=False)
    joined: Joined | None = None
    data_dir: Path | None = None


@dataclass(frozen=True, slots=True)
class Deployment:
    """An open database with its key ring. ``key_file`` is where the key lies, when it lies in a file,
    ``data_dir`` where the embedded server has its data."""

    database: Database
    keys: KeyRing
    key_file: Path | None
    joined: Joined | None
    data_dir: Path | None = None

    @classmethod
    async def start(cls, settings: Settings, provider: KeyProvider | None = None) -> Self:
        """Open everything. Raises ConfigurationError, KeyUnavailable or StorageUnavailable, each with
        one sentence that says what to do."""
        addresses = await locate(settings)
        try:
            if addresses.owner is not None:
                provider = await initialise(settings, addresses, provider)
            return await cls._open(settings, addresses, provider)
        except BaseException:
            if addresses.joined is not None:
                await asyncio.to_thread(addresses.joined.leave)
            raise

    @classmethod
    async def _open(
        cls, settings: Settings, addresses: Addresses, provider: KeyProvider | None
    ) -> Self:
        await _require_answer(addresses.service)
        database = Database(
            addresses.service,
            schema=settings.db_schema,
            size=settings.pool_size,
            timeout=settings.pool_timeout,
            prepare=settings.prepare == "on",
            consent_required=settings.consent == "required",
            revive=addresses.joined.revive if addresses.joined else None,
        )
        await database.__aenter__()
        try:
            provider = await _verified(settings, database, provider)
        except BaseException:
            await database.close()
            raise
        key_file = provider.path if isinstance(provider, KeyFile) else None
        return cls(database, KeyRing(provider), key_file, addresses.joined, addresses.data_dir)

    async def server_version(self) -> str:
        """Return the versions of PostgreSQL and pgvector."""
        async with self.database.system() as tx:
            row = await tx.one(_SQL["versions"])
        return f"PostgreSQL {row['server']}, pgvector {row['pgvector']}" if row else "unknown"

    async def close(self) -> None:
        """Close the pool and leave the embedded server; idempotent."""
        try:
            await self.database.close()
        finally:
            if self.joined is not None:
                await asyncio.to_thread(self.joined.leave)


@asynccontextmanager
async def as_owner(settings: Settings) -> AsyncIterator[tuple[Deployment, Addresses]]:
    """Open the database with the owner's login, which sees the rows of all users: for maintenance only.

    Raises ConfigurationError (``migration_url_missing``) without that login, else as ``Deployment.start``.
    """
    addresses = await locate(settings)
    try:
        if addresses.owner is None:
            raise ConfigurationError(
                "migration_url_missing", "Set MNEMIC_MIGRATION_URL to the owner's URL."
            )
        provider = await initialise(settings, addresses)
        database = Database(
            addresses.owner,
            schema=settings.db_schema,
            size=_OWNERS_POOL,
            timeout=settings.pool_timeout,
            prepare=settings.prepare == "on",
        )
        async with database:
            async with database.system() as tx:
                row = await tx.one(_KEYS["deployment"])
            assert row is not None
            await check(str(row["id"]), row["kek_id"], row["kek_check"], provider)
            key_file = provider.path if isinstance(provider, KeyFile) else None
            yield Deployment(database, KeyRing(provider), key_file, None), addresses
    finally:
        if addresses.joined is not None:
            await asyncio.to_thread(addresses.joined.leave)


async def locate(settings: Settings) -> Addresses:
    """Return where the database is, after starting the embedded one when no URL is configured."""
    if settings.database_url is not None:
        owner = settings.migration_url
        return Addresses(
            settings.database_url.get_secret_value(), owner.get_secret_value() if owner else None
        )
    if settings.migration_url is not None:
        raise ConfigurationError(
            "database_url_missing",
            "MNEMIC_MIGRATION_URL is set without MNEMIC_DATABASE_URL: name the service login's URL too.",
        )
    data_dir = settings.data_dir or default_data_dir()
    if settings.key_file and settings.key_file.resolve().is_relative_to(data_dir.resolve()):
        raise ConfigurationError(
            "key_file_inside_data",
            f"The key file {settings.key_file} would lie inside the data directory, and a copy of the data"
            " would hold its key: name a place outside in MNEMIC_KEY_FILE.",
        )
    joined = await _join(data_dir)
    return Addresses(joined.url("service"), joined.url("owner"), joined, data_dir)


async def _join(data_dir: Path) -> Joined:
    """Join off the event loop; whoever is cancelled meanwhile leaves what the thread has joined."""
    work = asyncio.get_running_loop().run_in_executor(None, join, data_dir)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        with suppress(MnemicError):
            await asyncio.to_thread((await work).leave)
        raise


async def initialise(
    settings: Settings, addresses: Addresses, provider: KeyProvider | None = None
) -> KeyProvider:
    """Do the owner's part: schema, deployment row, key. Safe from several processes at once."""
    assert addresses.owner is not None
    service_role = _login_of(addresses.service)
    await migrate(addresses.owner, schema=settings.db_schema, service_role=service_role)
    conn = await connect_owner(addresses.owner)
    async with conn:
        deployment = await deployment_id(conn, settings.db_schema)
        provider = provider or provider_of(settings, deployment)
        await establish(conn, settings.db_schema, provider)
    return provider


def _login_of(conninfo: str) -> str:
    """Return the role that an address logs in as, by the driver's own defaults when it names none."""
    try:
        named = conninfo_to_dict(conninfo).get("user")
    except psycopg.Error as error:
        failure = not_connected(error, conninfo, "MNEMIC_DATABASE_URL")
    else:
        defaults = {option.keyword: option.val for option in pq.Conninfo.get_defaults()}
        return str(named or (defaults.get(b"user") or b"").decode())
    raise failure


async def _verified(
    settings: Settings, database: Database, provider: KeyProvider | None
) -> KeyProvider:
    """Check login, schema and key as the service, and return the provider that holds the key."""
    async with database.system() as tx:
        _require_service(await tx.one(_SQL["service_login"], {"schema": settings.db_schema}))
        applied = {row["number"]: row["sha256"] for row in await tx.all(_SQL["applied"])}
        row = await tx.one(_KEYS["deployment"])
    if pending(applied) or row is None or row["kek_id"] is None:
        raise _not_initialised()
    provider = provider or provider_of(settings, row["id"])
    await check(str(row["id"]), row["kek_id"], row["kek_check"], provider)
    return provider


def _require_service(login: DictRow | None) -> None:
    if login is None or login["powerful"]:
        raise ConfigurationError(
            "service_login_too_powerful",
            "MNEMIC_DATABASE_URL must name a login that is neither superuser nor owner, is no member of"
            " such a role and has no BYPASSRLS; `mnemic db init --script` prints the statements that make"
            " one.",
        )
    if not login["prepared"]:
        raise _not_initialised()
    if not login["admitted"]:
        raise ConfigurationError(
            "service_login_not_admitted",
            "The login of MNEMIC_DATABASE_URL has no rights in this schema: name the one that"
            " `mnemic db init` was run with, or GRANT that role to it.",
        )


def _not_initialised() -> ConfigurationError:
    return ConfigurationError(
        "schema_missing",
        "The database is not prepared for this version: set MNEMIC_MIGRATION_URL to the owner's URL"
        " and run `mnemic db init`.",
    )


async def _require_answer(conninfo: str) -> None:
    """Try the address once, so that the reason is told at once and not after a pool's patience."""
    try:
        conn = await psycopg.AsyncConnection.connect(conninfo, connect_timeout=CONNECT_TIMEOUT)
    except psycopg.Error as error:
        failure = not_connected(error, conninfo, "MNEMIC_DATABASE_URL")
    else:
        try:
            async with conn:
                await learn(conn)
        except psycopg.Error as error:
            raise translate(error) from error
        return
    raise failure
