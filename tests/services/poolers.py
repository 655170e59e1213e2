"""How does a test put PgBouncer in front of a server, with passwords and on a port of its own?

In transaction mode, as the OS account of the server behind it: that one lets in whom the socket names, and
PgBouncer refuses to run as root.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.rows import dict_row

from mnemic.storage import accounts, cluster, postmaster

if TYPE_CHECKING:
    from conftest import Server

PROGRAM = Path("/usr/sbin/pgbouncer")
LOGINS = {"service": "mnemic_service", "owner": "mnemic_owner", "console": "console"}
_PATIENCE = 15.0
_INI = """\
[databases]
mnemic = host={socket_dir} port=5432 dbname=mnemic
elsewhere = host={empty} port=5432 dbname=mnemic
{others}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {home}/users.txt
stats_users = console
pool_mode = transaction
default_pool_size = {size}
max_db_connections = {size}
max_client_conn = 200
query_wait_timeout = {wait}
server_login_retry = 1
logfile = {home}/log
pidfile = {home}/pid
"""


@dataclass(frozen=True, slots=True)
class Pooler:
    """A running PgBouncer."""

    port: int
    passwords: dict[str, str] = field(repr=False)

    def url(self, role: str, database: str = "mnemic") -> str:
        """Return the address of a role ("service", "owner", "console") in a database."""
        login = LOGINS[role]
        return f"postgresql://{login}:{self.passwords[login]}@127.0.0.1:{self.port}/{database}"

    def ask(self, what: str) -> list[dict[str, Any]]:
        """Ask the console, for instance ``show servers``."""
        with psycopg.connect(
            self.url("console", "pgbouncer"), autocommit=True, row_factory=dict_row
        ) as conn:
            return conn.execute(what.encode()).fetchall()

    def sessions(self) -> int:
        """Return how many sessions it has with the server."""
        return len(self.ask("show servers"))


@contextmanager
def started(server: Server, size: int, wait: int = 60, *, every: bool = False) -> Iterator[Pooler]:
    """Start a PgBouncer with ``size`` sessions at most; a query waits ``wait`` seconds for one.

    It leads to the database ``mnemic`` alone, or to ``every`` one, with so many sessions each.
    """
    pgdata = server.data_dir / "postgres"
    owner = accounts.server_account(pgdata)
    if cluster.admit(pgdata, owner.name):
        postmaster.reload(pgdata)
    account = accounts.with_passage(owner, server.joined.socket_dir, PROGRAM)
    pooler = Pooler(_free_port(), {login: secrets.token_hex(12) for login in LOGINS.values()})
    home = Path(tempfile.mkdtemp(prefix="pooler-"))
    try:
        others = f"* = host={server.joined.socket_dir} port=5432" if every else ""
        _write(home, pooler, server.joined.socket_dir, size, wait, others)
        for path in (*home.iterdir(), home):
            accounts.hand_over(path, account)
        done = accounts.launch(account, [str(PROGRAM), "-d", str(home / "ini")], timeout=20)
        assert done.returncode == 0, done.stderr
        _wait_until_ready(pooler, home)
        yield pooler
    finally:
        _stop(home)
        shutil.rmtree(home)


def _write(home: Path, pooler: Pooler, socket_dir: Path, size: int, wait: int, others: str) -> None:
    empty = home / "empty"
    empty.mkdir()
    users = [f'"{login}" "{word}"\n' for login, word in pooler.passwords.items()]
    (home / "users.txt").write_text("".join(users))
    ini = _INI.format(
        socket_dir=socket_dir,
        empty=empty,
        others=others,
        port=pooler.port,
        home=home,
        size=size,
        wait=wait,
    )
    (home / "ini").write_text(ini)
    for name in ("users.txt", "ini"):
        (home / name).chmod(0o600)


def _wait_until_ready(pooler: Pooler, home: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            psycopg.connect(pooler.url("service"), connect_timeout=5).close()
        except psycopg.OperationalError:
            assert time.monotonic() < deadline, (home / "log").read_text()
            time.sleep(0.1)
        else:
            return


def _stop(home: Path) -> None:
    if not (home / "pid").exists():
        return
    pid = int((home / "pid").read_text())
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + _PATIENCE
    while (home / "pid").exists() and time.monotonic() < deadline:
        time.sleep(0.02)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
