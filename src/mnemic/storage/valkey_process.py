"""Is the embedded Valkey of a data directory running, and how is it started and stopped?

The callers hold the start lock. What counts is an answer on the socket: a process id in a file proves
nothing. The server keeps nothing on disk, so one that does not answer is ended and replaced.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mnemic.errors import ConfigurationError
from mnemic.storage.accounts import Account, launch

__all__ = ["SOCKET", "alive", "start", "stop"]

SOCKET = "valkey.sock"
START_TIMEOUT = 20.0
STOP_TIMEOUT = 10.0
ANSWER_TIMEOUT = 3.0
"""Seconds after which a server that takes a connection and says nothing counts as stuck."""
MAX_MEMORY = "128mb"
"""Windows of about 2,000 conversations at their largest; the ones unused for longest make room."""

_POLL = 0.01
_SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "save": "",
    "appendonly": "no",
    "maxmemory": MAX_MEMORY,
    "maxmemory-policy": "allkeys-lru",
    "databases": "1",
    "maxclients": "1000",
    "timeout": "0",
    "daemonize": "yes",
    "always-show-logo": "no",
    "loglevel": "notice",
    "slowlog-max-len": "0",
    "crash-log-enabled": "no",
    "enable-debug-command": "no",
    "enable-module-command": "no",
    "shutdown-on-sigterm": "nosave now force",
    "shutdown-on-sigint": "nosave now force",
}

_logger = logging.getLogger(__name__)


def alive(place: Path) -> bool:
    """Return whether a server answers on the socket in ``place``; a stuck one is killed.

    Waits a little for one that is still loading or ending.
    """
    deadline = time.monotonic() + ANSWER_TIMEOUT
    while True:
        answer, pid = _ask(place / SOCKET, b"PING\r\n", max(0.1, deadline - time.monotonic()))
        if answer is None:
            return False
        if answer.startswith(b"+PONG"):
            return True
        if time.monotonic() > deadline:
            _logger.warning("embedded Valkey does not answer and is replaced: pid=%s", pid)
            _end(pid, signal.SIGKILL)
            return False
        time.sleep(_POLL)


def start(account: Account, program: Path, home: Path, place: Path) -> None:
    """Start the server in a session of its own and return when it answers.

    Raises ConfigurationError ``embedded_start_failed`` with the log's last line.
    """
    (place / SOCKET).unlink(missing_ok=True)
    log = home / "server.log"
    with suppress(FileNotFoundError):
        log.replace(log.with_suffix(".log.1"))
    settings = _SETTINGS | {
        "unixsocket": str(place / SOCKET),
        "dir": str(home),
        "logfile": str(log),
        "pidfile": str(home / "valkey.pid"),
    }
    command = [str(program)]
    for name, value in settings.items():
        command += [f"--{name}", *(value.split() if name.startswith("shutdown") else [value])]
    try:
        done = launch(account, command, timeout=START_TIMEOUT)
    except (OSError, subprocess.SubprocessError) as error:
        raise _not_started(f"{program.name} could not be run", log) from error
    if done.returncode != 0 or not _wait(lambda: alive(place), START_TIMEOUT):
        raise _not_started(_last_line(log) or "it ended without a word", log)


def stop(place: Path) -> None:
    """End the server on the socket in ``place`` and wait until it is gone; idempotent."""
    path = place / SOCKET
    answer, pid = _ask(path, b"SHUTDOWN NOSAVE\r\n", ANSWER_TIMEOUT)
    if answer is None:
        return
    if not _wait(lambda: not _listening(path), STOP_TIMEOUT):
        _end(pid, signal.SIGKILL)
    path.unlink(missing_ok=True)


def _ask(path: Path, command: bytes, timeout: float) -> tuple[bytes | None, int | None]:
    """Return what the listener answers ("" for nothing) and its process id; None for no listener."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(timeout)
        try:
            client.connect(os.fsencode(path))
        except TimeoutError:
            return b"", None  # a full queue
        except OSError:
            return None, None
        pid = _peer(client)
        try:
            client.sendall(command)
            return client.recv(64), pid
        except OSError:
            return b"", pid


def _listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(1.0)
        try:
            client.connect(os.fsencode(path))
        except TimeoutError:
            return True
        except OSError:
            return False
    return True


def _peer(client: socket.socket) -> int | None:
    """Return the process that listens; None in another process namespace or where the system is silent."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    size = struct.calcsize("3i")
    credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return int(struct.unpack("3i", credentials)[0]) or None


def _end(pid: int | None, how: signal.Signals) -> None:
    if pid is not None:
        with suppress(PermissionError, ProcessLookupError):
            os.kill(pid, how)


def _wait(condition: Callable[[], bool], timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


def _last_line(log: Path) -> str:
    """Return the last line of the log; it tells of the server's life and of no key or value."""
    with suppress(OSError):
        lines = log.read_text("utf-8", "replace")[-10_000:].splitlines()
        return lines[-1].partition(" # ")[2][:300].rstrip(". ") if lines else ""
    return ""


def _not_started(failure: str, log: Path) -> ConfigurationError:
    return ConfigurationError(
        "embedded_start_failed",
        f"Valkey did not start ({failure}): mend this, see {log}, and start again, or set "
        "MNEMIC_REDIS_URL.",
        log=str(log),
    )
