"""What does a database error mean for the caller?

The one place where driver errors become Mnemic's: class of failure, stable code, what to do. The driver's
text stays in ``__cause__`` for the log of the process; it is never shown, since it can quote a row.
"""

from __future__ import annotations

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout

from mnemic.errors import Conflict, MnemicError, PermissionDenied, StorageError, StorageUnavailable

_NO_ANSWER = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.TooManyConnections,
)


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
    if isinstance(error, _NO_ANSWER) or (
        isinstance(error, psycopg.OperationalError) and error.sqlstate is None
    ):
        return StorageUnavailable(
            "database_unreachable",
            "The database does not answer; check that it runs and its address.",
        )
    state = error.sqlstate or "unknown"
    return StorageError(
        "database_error", f"The database refused the work (SQLSTATE {state}).", sqlstate=state
    )
