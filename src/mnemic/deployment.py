"""Which database, with which key, does this process work on?

Embedded: join (or start) the server under the data directory. Otherwise the servers of
``MNEMIC_DATABASE_URL`` and, for the owner's work, ``MNEMIC_MIGRATION_URL``. Either way: the schema is
brought up to date where the owner login is at hand, the key is proved to be the data's, and a service login
that could see past row-level security is refused.
"""

from __future__ import annotations

import asyncio
import getpass
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psycopg
from psycopg.conninfo import conninfo_to_dict

from mnemic.errors import ConfigurationError, StorageUnavailable
from mnemic.keyfile import KeyFile, default_key_file
from mnemic.keys import KeyProvider, KeyRing, check, deployment_id, establish
from mnemic.settings import Settings
from mnemic.storage.embedded import Joined, default_data_dir, join
from mnemic.storage.migrate import connect_owner, migrate, pending
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements

_SQL = statements("models")


@dataclass(frozen=True, slots=True)
class Addresses:
    """Connection strings of the two logins; ``joined`` when the server is the embedded one."""

    service: str
    owner: str | None
    joined: Joined | None = None


@dataclass(frozen=True, slots=True)
class Deployment:
    """An open database with its key ring. ``key_file`` is where the key lies, when it lies in a file."""

    database: Database
    keys: KeyRing
    key_file: Path | None
    joined: Joined | None

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
        )
        await database.__aenter__()
        try:
            provider, kek_id = await _verified(settings, database, provider)
        except BaseException:
            await database.close()
            raise
        key_file = provider.path if isinstance(provider, KeyFile) else None
        return cls(database, KeyRing(provider, kek_id), key_file, addresses.joined)

    async def server_version(self) -> str:
        """Return the versions of PostgreSQL and pgvector."""
        async with self.database.system() as tx:
            row = await tx.one(_SQL["versions"])
        return f"PostgreSQL {row['server']}, pgvector {row['pgvector']}" if row else "unknown"

    async def close(self) -> None:
        """Close the pool and leave the embedded server; idempotent."""
        await self.database.close()
        if self.joined is not None:
            await asyncio.to_thread(self.joined.leave)


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
    joined = await asyncio.to_thread(join, settings.data_dir or default_data_dir())
    return Addresses(joined.url("service"), joined.url("owner"), joined)


async def initialise(
    settings: Settings, addresses: Addresses, provider: KeyProvider | None = None
) -> KeyProvider:
    """Do the owner's part: schema, deployment row, key. Safe from several processes at once."""
    assert addresses.owner is not None
    service_role = str(conninfo_to_dict(addresses.service).get("user") or getpass.getuser())
    await migrate(addresses.owner, schema=settings.db_schema, service_role=service_role)
    conn = await connect_owner(addresses.owner)
    async with conn:
        deployment = await deployment_id(conn, settings.db_schema)
        provider = provider or KeyFile(settings.key_file or default_key_file(deployment))
        await establish(conn, settings.db_schema, provider)
    return provider


async def _verified(
    settings: Settings, database: Database, provider: KeyProvider | None
) -> tuple[KeyProvider, str]:
    """Check login, schema and key as the service, and return the provider with its key's id."""
    try:
        async with database.system() as tx:
            login = await tx.one(_SQL["service_login"], {"schema": settings.db_schema})
            if login is None or login["powerful"] or login["owner"]:
                raise ConfigurationError(
                    "service_login_too_powerful",
                    "MNEMIC_DATABASE_URL must name a login that is neither superuser nor owner and has"
                    " no BYPASSRLS; `mnemic db init --script` prints the statements that make one.",
                )
            applied = {row["number"]: row["sha256"] for row in await tx.all(_SQL["applied"])}
            row = await tx.one(_SQL["deployment"])
    except psycopg.errors.UndefinedTable as error:
        raise _not_initialised() from error
    if pending(applied) or row is None or row["kek_id"] is None:
        raise _not_initialised()
    provider = provider or KeyFile(settings.key_file or default_key_file(row["id"]))
    return provider, await check(str(row["id"]), row["kek_id"], row["kek_check"], provider)


def _not_initialised() -> ConfigurationError:
    return ConfigurationError(
        "schema_missing",
        "The database is not prepared for this version: set MNEMIC_MIGRATION_URL to the owner's URL"
        " and run `mnemic db init`.",
    )


async def _require_answer(conninfo: str) -> None:
    """Try the address once, so that the reason is told at once and not after a pool's patience."""
    try:
        conn = await psycopg.AsyncConnection.connect(conninfo, connect_timeout=10)
    except psycopg.OperationalError as error:
        refused = "FATAL" in str(error)
        host = conninfo_to_dict(conninfo).get("host") or "the local socket"
        raise StorageUnavailable(
            "database_login_refused" if refused else "database_unreachable",
            f"PostgreSQL at {host} refused the login: check user, password and database name."
            if refused
            else f"PostgreSQL at {host} does not answer: check that it runs and that the URL is right.",
        ) from error
    except psycopg.ProgrammingError as error:
        raise ConfigurationError(
            "bad_setting", "MNEMIC_DATABASE_URL is not a PostgreSQL connection string."
        ) from error
    await conn.close()
