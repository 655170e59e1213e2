"""Is the embedded PostgreSQL of a data directory running, and how is it started and stopped?

The callers hold the start lock, so nobody else starts or stops at the same time. A process id in
``postmaster.pid`` proves nothing (it may have been given to another process): what counts is a
listener on the socket, or a process whose command line names the directory.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mnemic.errors import ConfigurationError
from mnemic.storage.accounts import Account, launch

__all__ = ["Postmaster", "find", "read", "reload", "start", "stop"]

START_TIMEOUT = 60.0
"""Seconds to wait for a start, crash recovery included."""
STOP_TIMEOUT = 60.0
ORPHAN_TIMEOUT = 10.0
"""Seconds to wait for the processes of a killed server to go."""

SOCKET_FILES = (".s.PGSQL.5432", ".s.PGSQL.5432.lock")
READY = ("ready", "standby")
UNKNOWN = 0
"""A listener in another process namespace, or on a system that does not tell."""
_SSL_REQUEST = struct.pack("!2i", 8, 80877103)
"""The one question that the server answers (with no) before it knows who asks, and does not log."""
_POLL = 0.01
_ORPHANS = "pre-existing shared memory block"
_START = 'log=$1; shift; { exec "$@"; } </dev/null >"$log" 2>&1 & echo $!'

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Postmaster:
    """What ``postmaster.pid`` says; ``socket_dir`` is unknown in the first moments of a start."""

    pid: int
    socket_dir: Path | None
    status: str


def find(pgdata: Path) -> Path | None:
    """Return the socket directory of the running server once it is ready, None when none runs.

    Waits for one that is starting or stopping; one whose socket was removed is stopped. Raises
    ConfigurationError ``embedded_start_failed`` when that takes longer than START_TIMEOUT.
    """
    deadline = time.monotonic() + START_TIMEOUT
    while True:
        known = read(pgdata)
        if known is None:
            return None
        ready = known.status in READY
        if ready and _listener(known) in (known.pid, UNKNOWN):
            return known.socket_dir
        if not _is_ours(known.pid, pgdata):
            return None
        if ready:
            stop(pgdata)
        if time.monotonic() > deadline:
            raise ConfigurationError(
                "embedded_start_failed",
                f"The PostgreSQL process {known.pid} of {pgdata} does not become ready: look at "
                f"{_log(pgdata)}, end the process and start again.",
                pid=known.pid,
            )
        time.sleep(_POLL)


def read(pgdata: Path) -> Postmaster | None:
    """Return what ``postmaster.pid`` says, None when it is missing or says nothing yet."""
    try:
        lines = (pgdata / "postmaster.pid").read_text("utf-8", "surrogateescape").splitlines()
        pid = int(lines[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    place = lines[4].strip() if len(lines) > 4 else ""
    status = lines[7].strip() if len(lines) > 7 else ""
    return Postmaster(pid, Path(place) if place else None, status)


def start(account: Account, program: Path, pgdata: Path, socket_dir: Path) -> None:
    """Start the server in a session of its own and return when it accepts connections.

    ``find`` has said that none runs. Raises ConfigurationError ``embedded_start_failed`` with the
    log's path and its last line about the failure.
    """
    deadline = time.monotonic() + ORPHAN_TIMEOUT
    while True:
        _clear(pgdata, socket_dir)
        failure = _try_start(account, program, pgdata, socket_dir)
        if failure is None:
            return
        if _ORPHANS not in failure:
            raise _not_started(pgdata, failure or "it ended without a word", "mend this")
        if time.monotonic() > deadline:
            hint = f"end the processes named 'postgres' of the OS user {account.name}"
            raise _not_started(pgdata, failure, hint)
        time.sleep(0.25)


def stop(pgdata: Path) -> None:
    """End all sessions, write everything down and stop (a fast shutdown); idempotent.

    A server that is still there after STOP_TIMEOUT, or that this process may not signal, stays.
    """
    known = read(pgdata)
    if known is None or not _may_be_signalled(known, pgdata):
        return
    try:
        os.kill(known.pid, signal.SIGINT)
    except (PermissionError, ProcessLookupError):
        _logger.warning("embedded PostgreSQL cannot be signalled: pid=%d", known.pid)
        return
    # The file goes last but one: waiting for the process too spares the next start a wait for it.
    gone = _wait(lambda: read(pgdata) is None and not _exists(known.pid), STOP_TIMEOUT)
    if not gone:
        _logger.warning("embedded PostgreSQL has not stopped yet: pid=%d", known.pid)


def reload(pgdata: Path) -> None:
    """Tell the server to read its configuration files again; returns before it has."""
    known = read(pgdata)
    if known is not None and _may_be_signalled(known, pgdata):
        os.kill(known.pid, signal.SIGHUP)


def _try_start(account: Account, program: Path, pgdata: Path, socket_dir: Path) -> str | None:
    """Return None when the server is ready, else what its log says of the failure."""
    log = _log(pgdata)
    with suppress(FileNotFoundError):
        log.replace(log.with_suffix(".log.1"))
    quoted = str(socket_dir).replace('"', '""')
    settings = ("listen_addresses=", f'unix_socket_directories="{quoted}"', "port=5432")
    server = [str(program), "-D", str(pgdata)]
    for setting in (*settings, "unix_socket_permissions=0700"):
        server += ["-c", setting]
    try:
        done = launch(account, ["/bin/sh", "-c", _START, "sh", str(log), *server], timeout=30)
        pid = int(done.stdout)
    except (ValueError, subprocess.SubprocessError):
        return "the shell could not start it"
    if not _wait(lambda: _is_ready(pgdata, pid) or not _exists(pid), START_TIMEOUT):
        stop(pgdata)
        return f"it was not ready after {START_TIMEOUT:.0f} seconds"
    return None if _is_ready(pgdata, pid) else _last_failure(log)


def _is_ready(pgdata: Path, pid: int) -> bool:
    known = read(pgdata)
    return known is not None and known.pid == pid and known.status in READY


def _clear(pgdata: Path, socket_dir: Path) -> None:
    """Remove lock files whose process id now belongs to a stranger: PostgreSQL would wait for it.

    Files of processes that are gone stay, since PostgreSQL looks there for orphans of its own.
    """
    known = read(pgdata)
    if known is not None and _exists(known.pid, zombies=True):
        (pgdata / "postmaster.pid").unlink(missing_ok=True)
    for name in SOCKET_FILES:
        (socket_dir / name).unlink(missing_ok=True)


def _may_be_signalled(known: Postmaster, pgdata: Path) -> bool:
    # In another container the same number may be another process: a name or a socket must prove it.
    return _is_ours(known.pid, pgdata) or _listener(known) == known.pid


def _listener(known: Postmaster) -> int | None:
    """Return the id of the process that answers on the socket, UNKNOWN, or None for nobody.

    Connecting is not enough: the queue of a process that is just being killed still takes us.
    """
    if known.socket_dir is None:
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(2.0)
        try:
            client.connect(os.fsencode(known.socket_dir / SOCKET_FILES[0]))
            client.sendall(_SSL_REQUEST)
            if not client.recv(1):
                return None
        except TimeoutError:
            return UNKNOWN  # a full queue: busy, not gone
        except OSError:
            return None
        if hasattr(socket, "SO_PEERCRED"):
            size = struct.calcsize("3i")
            credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
            return int(struct.unpack("3i", credentials)[0])
    return UNKNOWN


def _is_ours(pid: int, pgdata: Path) -> bool:
    """Whether the process is the postmaster of the directory, by its command line.

    The command line may be read without a right over the process, which root in a container lacks.
    A zombie has none.
    """
    if Path("/proc/self/cmdline").exists():
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False
        return b"\0-D\0" + os.fsencode(pgdata) + b"\0" in line
    shown = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return f"-D {pgdata} " in shown.stdout


def _exists(pid: int, *, zombies: bool = False) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return True  # no /proc here: signal 0 is the answer
    return zombies or state.rpartition(")")[2].split()[0] != "Z"


def _wait(condition: Callable[[], bool], timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


def _log(pgdata: Path) -> Path:
    return pgdata / "server.log"


def _last_failure(log: Path) -> str:
    """Return the last line about a failure; before any connection no line holds content."""
    try:
        fd = os.open(log, os.O_RDONLY | os.O_NOFOLLOW)
        with open(fd, encoding="utf-8", errors="replace") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return ""
            lines = file.read(100_000).splitlines()
    except OSError:
        return ""
    told = [line for line in lines if re.search(r"\b(FATAL|PANIC|ERROR)\b|could not|error", line)]
    last = (told or lines or [""])[-1]
    return re.sub(r"^[-\d]+ [\d:.]+ \w+ \[\d+\] ", "", last)[:300].rstrip(". ")


def _not_started(pgdata: Path, failure: str, hint: str) -> ConfigurationError:
    return ConfigurationError(
        "embedded_start_failed",
        f"PostgreSQL did not start ({failure}): {hint}, see {_log(pgdata)}, and start again.",
        log=str(_log(pgdata)),
    )
