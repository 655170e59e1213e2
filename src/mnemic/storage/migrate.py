"""Is the schema there, and is it the newest?

``storage/migrations/NNNN_name.sql`` run forward only, in order, each in one transaction as the owner login.
Starters that come at once wait for each other by polling a transaction-level advisory lock: a blocking lock
would hold a snapshot, and a session-level lock would not survive a transaction pooler.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import psycopg
from psycopg import AsyncConnection, sql

from mnemic.errors import ConfigurationError, StorageUnavailable
from mnemic.storage.failures import not_connected, translate, unusable

MINIMUM_POSTGRES = 160000
MINIMUM_PGVECTOR = (0, 8)
CONNECT_TIMEOUT = 10
"""Seconds to wait for a server to answer at all."""
_LOCK = 0x6D6E656D
_PATIENCE = 60.0
_LONGEST_NAME = 63
"""Characters that PostgreSQL keeps of a name."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One forward step."""

    number: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where to migrate: our schema, the schema of pgvector's types, the login to grant rights to."""

    schema: str
    types: str
    service_role: str


@cache
def migrations() -> tuple[Migration, ...]:
    """Return every migration that this version of Mnemic knows, in order."""
    found = []
    for entry in files("mnemic.storage").joinpath("migrations").iterdir():
        if entry.name.endswith(".sql"):
            number, _, name = entry.name.removesuffix(".sql").partition("_")
            found.append(Migration(int(number), name, entry.read_text(encoding="utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.number))


async def connect_owner(conninfo: str) -> AsyncConnection[tuple[object, ...]]:
    """Connect as the owner login.

    Raises StorageUnavailable (``database_unreachable``, ``database_login_refused``) and ConfigurationError
    (``bad_setting``).
    """
    try:
        return await AsyncConnection.connect(
            conninfo,
            autocommit=True,
            prepare_threshold=None,
            application_name="mnemic-owner",
            connect_timeout=CONNECT_TIMEOUT,
        )
    except psycopg.Error as error:
        failure = not_connected(error, conninfo, "MNEMIC_MIGRATION_URL")
    raise failure


async def migrate(conninfo: str, *, schema: str, service_role: str) -> list[int]:
    """Bring the schema up to date as the owner and return the numbers that were applied now.

    Raises ConfigurationError for a server or extension that is too old (``postgres_too_old``,
    ``pgvector_missing``, ``pgvector_too_old``), for a schema made by a newer Mnemic
    (``schema_too_new``) and for a migration whose text was changed (``migration_changed``).
    """
    conn = await connect_owner(conninfo)
    async with conn:
        try:
            types = await _require_server(conn)
            await _require_role(conn, service_role)
            return await _apply_all(conn, _Place(schema, types, service_role))
        except psycopg.Error as error:
            raise translate(error) from error


def private_schema(schema: str) -> str:
    """Return the name of the schema beside ours that no service may enter: mnemic_private beside mnemic."""
    name = f"{schema}_private"
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{schema[:46]}_{hashlib.sha256(schema.encode()).hexdigest()[:8]}_private"


async def status(conn: AsyncConnection[tuple[object, ...]], schema: str) -> dict[int, str]:
    """Return number and digest of the applied migrations; empty when there is no schema yet."""
    table = f'"{schema}".schema_migration'
    found = await (await conn.execute("select to_regclass(%s)", [table])).fetchone()
    if found is None or found[0] is None:
        return {}
    query = sql.SQL("select number, sha256 from {}.schema_migration").format(sql.Identifier(schema))
    rows = await (await conn.execute(query)).fetchall()
    return {int(str(number)): str(digest) for number, digest in rows}


def pending(applied: dict[int, str]) -> list[Migration]:
    """Return what is still to be applied, after checking that what was applied is what we know."""
    known = {migration.number: migration for migration in migrations()}
    for number, digest in applied.items():
        if number not in known:
            raise ConfigurationError(
                "schema_too_new", "A newer Mnemic made this schema; upgrade this installation."
            )
        if known[number].digest != digest:
            raise ConfigurationError(
                "migration_changed",
                f"Migration {number} differs from the one that was applied: install the Mnemic that made"
                " this schema, or restore the database from a backup.",
            )
    return [migration for number, migration in sorted(known.items()) if number not in applied]


async def _require_server(conn: AsyncConnection[tuple[object, ...]]) -> str:
    """Return the schema of pgvector, after checking that server and extension are new enough."""
    if conn.info.server_version < MINIMUM_POSTGRES:
        raise ConfigurationError(
            "postgres_too_old",
            f"PostgreSQL 16 or newer is needed; this server is {conn.info.server_version // 10000}.",
        )
    query = """
        select e.extversion, n.nspname, has_schema_privilege(n.oid, 'usage'), current_user
        from pg_extension e join pg_namespace n on n.oid = e.extnamespace
        where e.extname = 'vector'"""
    row = await (await conn.execute(query)).fetchone()
    if row is None:
        raise ConfigurationError(
            "pgvector_missing",
            "The database has no pgvector: install it and run CREATE EXTENSION vector as a superuser.",
        )
    version = tuple(int(part) for part in str(row[0]).split(".")[:2])
    if version < MINIMUM_PGVECTOR:
        raise ConfigurationError(
            "pgvector_too_old",
            f"pgvector 0.8 or newer is needed, found {row[0]}: run ALTER EXTENSION vector UPDATE.",
        )
    if not row[2]:
        raise unusable(str(row[1]), str(row[3]))
    return str(row[1])


async def _require_role(conn: AsyncConnection[tuple[object, ...]], role: str) -> None:
    # policies also apply to members: a service that may act as the owner would see every row
    query = """
        select exists (select from pg_roles p where (p.rolsuper or p.rolbypassrls)
                       and pg_has_role(r.oid, p.oid, 'member')),
               pg_has_role(r.oid, (select oid from pg_roles where rolname = current_user), 'member')
        from pg_roles r where r.rolname = %s"""
    row = await (await conn.execute(query, [role])).fetchone()
    if row is None:
        raise ConfigurationError(
            "service_login_missing",
            f"There is no login {role}: create it as an administrator with"
            f" CREATE ROLE {role} LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD '...'.",
        )
    if row[0] or row[1]:
        raise ConfigurationError(
            "service_login_too_powerful",
            f"The service login {role} is a superuser, the owner, or a member of such a role, and would"
            " see past row-level security: name another login in MNEMIC_DATABASE_URL.",
        )


async def _apply_all(conn: AsyncConnection[tuple[object, ...]], place: _Place) -> list[int]:
    applied_now: list[int] = []
    deadline = time.monotonic() + _PATIENCE
    while True:
        async with conn.transaction():
            if await _locked(conn):
                await _prepare(conn, place)
                todo = pending(await status(conn, place.schema))
                if not todo:
                    return applied_now
                await _apply(conn, todo[0])
                applied_now.append(todo[0].number)
                continue
        if time.monotonic() > deadline:
            raise StorageUnavailable(
                "migration_locked",
                "Another process has been migrating for a minute; look at it first.",
            )
        await asyncio.sleep(0.05)


async def _locked(conn: AsyncConnection[tuple[object, ...]]) -> bool:
    row = await (await conn.execute("select pg_try_advisory_xact_lock(%s)", [_LOCK])).fetchone()
    return bool(row and row[0])


async def _prepare(conn: AsyncConnection[tuple[object, ...]], place: _Place) -> None:
    private = private_schema(place.schema)
    for schema in (place.schema, private):
        await _make_schema(conn, schema)
    path = sql.SQL("set local search_path = {}, {}").format(
        sql.Identifier(place.schema), sql.Identifier(place.types)
    )
    await conn.execute(path)
    query = "select set_config(%s, %s, true)"
    await conn.execute(query, ["mnemic.service_role", place.service_role])
    await conn.execute(query, ["mnemic.private_schema", private])
    await conn.execute(
        "create table if not exists schema_migration (number int primary key, name text not null,"
        " sha256 text not null, applied_at timestamptz not null default now())"
    )


async def _make_schema(conn: AsyncConnection[tuple[object, ...]], schema: str) -> None:
    # IF NOT EXISTS alone would ask for the right to create schemas where one was made for us
    query = """
        select n.oid is not null,
               coalesce(has_schema_privilege(n.oid, 'create'),
                        has_database_privilege(current_database(), 'create'))
        from (select to_regnamespace(%s) as oid) n"""
    row = await (await conn.execute(query, [f'"{schema}"'])).fetchone()
    assert row is not None
    exists, allowed = row
    if not allowed:
        raise ConfigurationError(
            "schema_not_writable",
            f"The login of MNEMIC_MIGRATION_URL may not create in schema {schema}: let an administrator"
            f" run CREATE SCHEMA {schema} AUTHORIZATION the owner's login, or make it the owner of"
            " the schema that is there.",
        )
    if not exists:
        await conn.execute(sql.SQL("create schema {}").format(sql.Identifier(schema)))


async def _apply(conn: AsyncConnection[tuple[object, ...]], migration: Migration) -> None:
    await conn.execute(migration.sql.encode())
    await conn.execute(
        "insert into schema_migration (number, name, sha256) values (%s, %s, %s)",
        [migration.number, migration.name, migration.digest],
    )
