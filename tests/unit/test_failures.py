"""Is each failure of the database told by a stable code that says what to do, and never in its own words?"""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout

from mnemic.errors import ConfigurationError, Conflict, MnemicError, PermissionDenied, StorageError
from mnemic.errors import StorageUnavailable as Unavailable
from mnemic.storage.failures import not_connected, translate

QUOTED = "Key (content)=(my own words) exists"
CASES: list[tuple[psycopg.Error, type[MnemicError], str]] = [
    (PoolTimeout(QUOTED), Unavailable, "database_busy"),
    (PoolClosed(QUOTED), Unavailable, "service_closed"),
    (errors.InsufficientPrivilege(QUOTED), PermissionDenied, "database_denied"),
    (errors.UniqueViolation(QUOTED), Conflict, "already_exists"),
    (errors.SerializationFailure(QUOTED), Conflict, "busy_rows"),
    (errors.DeadlockDetected(QUOTED), Conflict, "busy_rows"),
    (errors.QueryCanceled(QUOTED), Unavailable, "statement_timeout"),
    (errors.DiskFull(QUOTED), Unavailable, "disk_full"),
    (errors.ReadOnlySqlTransaction(QUOTED), Unavailable, "read_only"),
    (errors.AdminShutdown(QUOTED), Unavailable, "database_unreachable"),
    (errors.CannotConnectNow(QUOTED), Unavailable, "database_unreachable"),
    (errors.TooManyConnections(QUOTED), Unavailable, "database_unreachable"),
    (psycopg.OperationalError(QUOTED), Unavailable, "database_unreachable"),
    (errors.CheckViolation(QUOTED), StorageError, "database_error"),
    (errors.UndefinedTable(QUOTED), StorageError, "database_error"),
    (psycopg.ProgrammingError(QUOTED), StorageError, "database_error"),
]


@pytest.mark.parametrize(
    ("error", "kind", "code"), CASES, ids=lambda value: getattr(value, "__name__", None)
)
def test_each_failure_has_its_class_and_code(
    error: Any, kind: type[MnemicError], code: str
) -> None:
    told = translate(error)
    assert type(told) is kind
    assert told.code == code
    assert "my own words" not in str(told) + repr(told.details)


def test_the_state_of_an_unknown_failure_is_told() -> None:
    told = translate(errors.CheckViolation(QUOTED))
    assert told.details == {"sqlstate": "23514"}
    assert "23514" in told.message


SECRET = "open" + "sesame"
ADDRESS = f"postgresql://kim:{SECRET}@db.example/m"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("FATAL:  password authentication failed for user", "database_login_refused"),
        ('FATAL:  database "m" does not exist', "database_login_refused"),
        ("FATAL:  no pg_hba.conf entry for host", "database_login_refused"),
        ("fe_sendauth: no password supplied", "database_login_refused"),
        ("FATAL:  the database system is starting up", "database_unreachable"),
        ("FATAL:  the database system is shutting down", "database_unreachable"),
        ("FATAL:  sorry, too many clients already", "database_unreachable"),
        ("FATAL:  remaining connection slots are reserved", "database_unreachable"),
        ("Connection refused", "database_unreachable"),
        ("connection timeout expired", "database_unreachable"),
    ],
)
def test_a_login_that_failed_says_whom_to_ask(words: str, code: str) -> None:
    told = not_connected(
        psycopg.OperationalError(f"{words} {SECRET}"), ADDRESS, "MNEMIC_DATABASE_URL"
    )
    assert told.code == code
    assert "db.example" in told.message
    assert SECRET not in str(told)


def test_an_address_that_is_none_names_its_variable() -> None:
    told = not_connected(psycopg.ProgrammingError(SECRET), SECRET, "MNEMIC_MIGRATION_URL")
    assert type(told) is ConfigurationError
    assert told.code == "bad_setting"
    assert told.message.startswith("MNEMIC_MIGRATION_URL ")
    assert "postgresql://" in told.message
    assert SECRET not in str(told)


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("postgresql://u@db.example:7455/m", "at db.example:7455 does"),
        ("postgresql://u@db.example/m", "at db.example does"),
        ("host=/run/pg port=7455", "at /run/pg does"),
        ("dbname=m", "at the local socket does"),
    ],
)
def test_a_server_that_is_away_is_named_with_its_port(address: str, place: str) -> None:
    told = not_connected(psycopg.OperationalError("Connection refused"), address, "X")
    assert place in told.message
