"""What does a database error mean for the caller?

The one place where driver errors become Mnemic's: class of failure, stable code, what to do. The driver's
text stays in ``__cause__`` for the log of the process; it is never shown, since it can quote a row.
"""

from __future__ import annotations

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolClosed, PoolTimeout

from mnemic.errors import (
    ConfigurationError,
    Conflict,
    MnemicError,
    PermissionDenied,
    StorageError,
    StorageUnavailable,
)

NO_ANSWER = "The database does not answer; check that it runs and its address."
# What the server says while it cannot take anybody, at a moment when libpq tells no SQLSTATE.
_NOT_NOW = ("starting up", "shutting down", "recovery mode", "too many", "connection slots")
# And what PgBouncer says: of itself, and of the server behind it.
_POOLER_NOT_NOW = (
    "no more connections",
    "query_wait_timeout",
    "login has been failing",
    "cannot connect",
)
_AWAY = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.TooManyConnections,
)

_NOT_PREPARED = (errors.InvalidSqlStatementName, errors.DuplicatePreparedStatement)


def translate(error: psycopg.Error) -> MnemicError:
    """Return the error to raise in place of ``error``."""
    if isinstance(error, PoolTimeout):
        return StorageUnavailable(
            "database_busy", "No database connection came free in time; raise MNEMIC_POOL_SIZE."
        )
    if isinstance(error, PoolClosed):
        return StorageUnavailable(
            "service_closed", "This memory service is closed; open a new one."
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return PermissionDenied("database_denied", "The database refused access to these rows.")
    if isinstance(error, errors.NotNullViolation) and error.diag.table_name == "audit_log":
        return Conflict("audit_moved", "Somebody else was recorded at this moment; try again.")
    if isinstance(error, errors.UniqueViolation):
        return Conflict("already_exists", "The same row exists already; read again.")
    if isinstance(error, errors.SerializationFailure | errors.DeadlockDetected):
        return Conflict("busy_rows", "Others changed the same rows at once; try again.")
    if isinstance(error, errors.QueryCanceled):
        return StorageUnavailable(
            "statement_timeout", "The database took too long and was stopped."
        )
    if isinstance(error, errors.DiskFull):
        return StorageUnavailable("disk_full", "The database's disk is full; free some space.")
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return StorageUnavailable(
            "read_only", "The database takes no writes now; connect to the primary."
        )
    return _away(error) or _unexpected(error)


def _away(error: psycopg.Error) -> StorageUnavailable | None:
    if isinstance(error, _AWAY) or (
        isinstance(error, psycopg.OperationalError)
        and (error.sqlstate is None or error.diag.severity == "FATAL")  # a pooler's, of any class
    ):
        return StorageUnavailable("database_unreachable", NO_ANSWER)
    return None


def _unexpected(error: psycopg.Error) -> StorageError:
    if isinstance(error, _NOT_PREPARED):
        return StorageError(
            "database_error",
            "A pooler lost a prepared statement between Mnemic and the database: set MNEMIC_PREPARE=off.",
            sqlstate=error.sqlstate,
        )
    state = error.sqlstate or "unknown"
    return StorageError(
        "database_error", f"The database refused the work (SQLSTATE {state}).", sqlstate=state
    )


def unusable(schema: str, login: str) -> ConfigurationError:
    """Return the error to raise when pgvector is there, in a schema that this login may not use."""
    return ConfigurationError(
        "pgvector_missing",
        f"The login {login} may not use the schema {schema}, where pgvector lies: let an administrator"
        f" run GRANT USAGE ON SCHEMA {schema} TO {login}.",
    )


def not_connected(error: psycopg.Error, conninfo: str, variable: str) -> MnemicError:
    """Return the error to raise when a login failed; ``variable`` names the setting with the address.

    The driver's words are left behind: about a broken address they can quote its password.
    """
    if not isinstance(error, psycopg.OperationalError):
        return ConfigurationError(
            "bad_setting",
            f"{variable} is not a PostgreSQL address: write postgresql://user:password@host:5432/database.",
        )
    told = str(error)
    host = _place(conninfo)
    if any(words in told for words in (*_NOT_NOW, *_POOLER_NOT_NOW)):
        return StorageUnavailable(
            "database_unreachable", f"PostgreSQL at {host} takes no logins now: try again soon."
        )
    if "FATAL" in told or "password" in told:
        return StorageUnavailable(
            "database_login_refused",
            f"PostgreSQL at {host} refused the login of {variable}:"
            " check user, password and database name.",
        )
    return StorageUnavailable(
        "database_unreachable",
        f"PostgreSQL at {host} does not answer: check that it runs and that {variable} is right.",
    )


def _place(conninfo: str) -> str:
    """Return where an address leads, as host:port; the port only where it is named."""
    told = conninfo_to_dict(conninfo)
    host, port = told.get("host"), told.get("port")
    if not host:
        return "the local socket"
    return f"{host}:{port}" if port and not str(host).startswith("/") else str(host)
