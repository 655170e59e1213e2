"""Who gets into the embedded server, what may they do there, and what does its log tell?"""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import psycopg
import pytest

from mnemic.storage import cluster
from mnemic.storage.embedded import Joined, join
from mnemic.storage.machine import memory, shared_buffers

STRANGER = "nobody"


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("embedded") / "data"


@pytest.fixture(scope="module")
def joined(data_dir: Path) -> Iterator[Joined]:
    server = join(data_dir)
    yield server
    server.leave()


def rows(conninfo: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(conninfo) as conn:
        return conn.execute(statement.encode()).fetchall()


def as_stranger(joined: Joined, *capabilities: str) -> subprocess.CompletedProcess[str]:
    """Let another OS user try to get in, with help to reach the socket if so wanted."""
    granted = ",".join(["-all", *(f"+{name}" for name in capabilities)])
    uid = pwd.getpwnam(STRANGER).pw_uid
    become = ["setpriv", f"--reuid={uid}", "--clear-groups"]
    become += [f"--inh-caps={granted}", f"--ambient-caps={granted}", "--"]
    target = f"host={joined.socket_dir} port=5432 user=mnemic_service dbname=mnemic"
    psql = str(cluster.wheel().bin / "psql")
    return subprocess.run(
        [*become, psql, "-X", "-c", "select 1", target],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_os_user_neither_reaches_the_socket_nor_is_let_in(joined: Joined) -> None:
    outside = as_stranger(joined)
    assert outside.returncode != 0
    assert "Permission denied" in outside.stderr
    inside = as_stranger(joined, "dac_override")
    assert inside.returncode != 0
    assert "Peer authentication failed" in inside.stderr


def test_only_the_mapped_os_users_come_in_and_only_through_the_socket(joined: Joined) -> None:
    superuser = joined.url("bootstrap")
    rules = "select type, database, user_name, auth_method, options from pg_hba_file_rules"
    assert rows(superuser, rules) == [("local", ["all"], ["all"], "peer", ["map=mnemic"])]
    me = pwd.getpwuid(os.geteuid()).pw_name
    mapped = "select sys_name, pg_username from pg_ident_file_mappings order by 2"
    users = ("mnemic_owner", "mnemic_service", "postgres")
    assert rows(superuser, mapped) == [(me, user) for user in users]
    assert rows(superuser, "show listen_addresses") == [("",)]


@pytest.mark.parametrize(
    ("role", "user"),
    [("owner", "mnemic_owner"), ("service", "mnemic_service"), ("bootstrap", "postgres")],
)
def test_each_role_has_its_connection(
    joined: Joined, role: Literal["owner", "service", "bootstrap"], user: str
) -> None:
    statement = "select current_user::text, current_database()::text, '[1,2]'::vector::text"
    assert rows(joined.url(role), statement) == [(user, "mnemic", "[1,2]")]
    assert "password" not in joined.url(role)


def test_a_server_of_another_os_account_is_not_believed(joined: Joined) -> None:
    expected = joined.url("service").rpartition("requirepeer=")[0] + "requirepeer='somebody-else'"
    with pytest.raises(psycopg.OperationalError, match="requirepeer"):
        psycopg.connect(expected)


def test_owner_and_service_have_no_right_beyond_their_work(joined: Joined) -> None:
    flags = (
        "select rolsuper or rolcreatedb or rolcreaterole or rolreplication or rolbypassrls "
        "from pg_roles where rolname in ('mnemic_owner', 'mnemic_service')"
    )
    assert rows(joined.url("bootstrap"), flags) == [(False,), (False,)]
    with psycopg.connect(joined.url("owner")) as conn:
        conn.execute("create schema mnemic_check")
    for statement in (
        "create table public.t (n int)",
        "create temporary table t (n int)",
        "create schema s",
        "set role mnemic_owner",
        "copy (select 1) to program 'true'",
        "select pg_read_file('PG_VERSION')",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            rows(joined.url("service"), statement)
    for database in ("postgres", "template1"):
        other = joined.url("service").replace("dbname='mnemic'", f"dbname='{database}'")
        with pytest.raises(psycopg.OperationalError, match="permission denied"):
            psycopg.connect(other)


def test_the_settings_are_safe_and_small(joined: Joined) -> None:
    expected = {
        "data_checksums": "on",
        "fsync": "on",
        "full_page_writes": "on",
        "jit": "off",
        "log_error_verbosity": "terse",
        "log_min_error_statement": "panic",
        "log_parameter_max_length": "0",
        "log_statement": "none",
        "max_connections": "100",
        "password_encryption": "scram-sha-256",
        "server_encoding": "UTF8",
        "shared_buffers": f"{shared_buffers(memory())}MB",
        "synchronous_commit": "on",
        "wal_compression": "off",
    }
    found = {name: rows(joined.url("service"), f"show {name}")[0][0] for name in expected}
    assert found == expected
    locale = "select datlocprovider::text, datlocale from pg_database where datname = 'mnemic'"
    assert rows(joined.url("service"), locale) == [("b", "C.UTF-8")]
    assert rows(joined.url("service"), "select upper('straße é') = 'STRASSE É', lower('Ä')") == [
        (False, "ä")
    ]


def test_the_log_holds_no_statement_and_no_value(joined: Joined, data_dir: Path) -> None:
    planted = "planted" + "value"
    with psycopg.connect(joined.url("service"), autocommit=True) as conn:
        for statement in (f"select '{planted}'::int", f"select {planted}"):
            with pytest.raises(psycopg.Error):
                conn.execute(statement.encode())
        with pytest.raises(psycopg.Error):
            conn.execute("select %s::int", [planted])
    log = (data_dir / "postgres" / "server.log").read_text()
    assert "ready to accept connections" in log
    assert planted not in log
