"""How do processes share one PostgreSQL that nobody had to install?

    data_dir/postgres       the cluster (0700, of the server's OS account)
    data_dir/run            start.lock: held while a process starts, joins or leaves
                            users.lock: every process that uses the server holds a share of it
                            socket/: where the server listens, when its path is short enough

The first process starts the server, the last one to leave stops it. A killed process loses its
share with its life, so whoever comes next finds the truth. Directories that exist keep their mode
and owner.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mnemic.errors import ConfigurationError

if TYPE_CHECKING:
    from mnemic.storage.accounts import Account
    from mnemic.storage.cluster import Wheel
    from mnemic.storage.postmaster import Postmaster

__all__ = ["Joined", "default_data_dir", "join"]

LOCK_TIMEOUT = 90.0
"""Seconds to wait for another process that starts or stops the server."""

_SOCKET_LIMIT = 103 if sys.platform == "darwin" else 107
"""Bytes that the system allows for a socket's path."""
_SHARED_MODE = 0o022
_members: list[_Share] = []
_hooked: list[int] = []


@dataclass(frozen=True, slots=True)
class Joined:
    """A running server that this process has joined (a forked child has not: it joins anew)."""

    socket_dir: Path
    database: str = "mnemic"
    _server: str = field(kw_only=True, repr=False)
    _share: _Share = field(kw_only=True, repr=False, compare=False)

    def url(self, role: Literal["owner", "service", "bootstrap"]) -> str:
        """Return the connection string of a role: the socket, this OS user, no password."""
        from mnemic.storage.cluster import ROLES, conninfo

        return conninfo(self.socket_dir, ROLES[role], self.database, self._server)

    def revive(self) -> None:
        """Start the server again when it died under us; a few milliseconds when it runs.

        Raises ConfigurationError as ``join`` does.
        """
        from mnemic.storage.cluster import wheel

        with self._share.alone():
            _serve(self._share.data_dir, wheel())

    def leave(self) -> None:
        """Give the share back; idempotent, at the latest at exit. The last user stops the server.

        Raises ConfigurationError ``embedded_busy`` when another process holds the start lock too
        long.
        """
        self._share.leave()


def default_data_dir() -> Path:
    """Return the platform's directory for a user's data; for root ``/var/lib/mnemic``."""
    if sys.platform != "win32" and os.geteuid() == 0:
        return Path("/var/lib/mnemic")
    import platformdirs

    return platformdirs.user_data_path("mnemic", appauthor=False)


def join(data_dir: Path) -> Joined:
    """Join the server of ``data_dir``, starting (and making) it if need be; it accepts connections.

    Blocks: about a second for a first start, a few milliseconds to join. Raises ConfigurationError
    with a code that starts with ``embedded_`` or ``data_dir_`` (docs/explain/embedded-server.md).
    """
    if sys.platform == "win32":
        raise ConfigurationError(
            "embedded_unsupported_platform",
            "The embedded PostgreSQL does not run on Windows: set MNEMIC_DATABASE_URL, or use WSL.",
        )
    from mnemic.storage.cluster import wheel

    binaries = wheel()
    directory = data_dir
    try:
        directory = data_dir.expanduser().resolve()
        share = _Share(_prepare(directory))
        with share.alone():
            share.take()
            try:
                socket_dir, server = _serve(directory, binaries)
            except BaseException:
                share.give_back()
                raise
    except OSError as error:
        raise _explained(error, directory) from error
    _remember(share)
    return Joined(socket_dir, _server=server, _share=share)


class _Share:
    """One share of ``users.lock``. A forked child closes its copy, which changes nothing for us."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self._run = data_dir / "run"
        self._pid = os.getpid()
        self._fds: list[int] = []

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the start lock; ConfigurationError ``embedded_busy`` after LOCK_TIMEOUT."""
        import fcntl

        fd = _open_lock(self._run / "start.lock")
        try:
            deadline = time.monotonic() + LOCK_TIMEOUT
            while not _locked(fd, fcntl.LOCK_EX):
                if time.monotonic() > deadline:
                    raise ConfigurationError(
                        "embedded_busy",
                        "Another process has been starting or stopping PostgreSQL in "
                        f"{self.data_dir} for {LOCK_TIMEOUT:.0f} seconds: wait for it or end it, "
                        "and try again.",
                    )
                time.sleep(0.02)
            yield
        finally:
            # Said aloud: a child that was forked meanwhile holds a copy, so closing would not
            # unlock.
            fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)

    def take(self) -> None:
        import fcntl

        fd = _open_lock(self._run / "users.lock")
        fcntl.flock(fd, fcntl.LOCK_SH)
        self._fds.append(fd)

    def leave(self) -> None:
        if self._fds and os.getpid() == self._pid:
            with suppress(FileNotFoundError, NotADirectoryError):  # the data directory was removed
                with self.alone():
                    self.give_back()
                return
        self.forget()

    def give_back(self) -> None:
        """With the start lock held: stop the server if nobody else has a share."""
        import fcntl

        from mnemic.storage import postmaster

        with suppress(IndexError):
            fd = self._fds.pop()
            try:
                if _locked(fd, fcntl.LOCK_EX):
                    pgdata = self.data_dir / "postgres"
                    running = postmaster.read(pgdata)
                    postmaster.stop(pgdata)
                    _remove_fallback(running, self._run)
            finally:
                fcntl.flock(fd, fcntl.LOCK_UN)
                os.close(fd)
        _drop(self)

    def forget(self) -> None:
        """Close our copy of the share and do nothing else."""
        with suppress(IndexError):
            os.close(self._fds.pop())
        _drop(self)


def _serve(data_dir: Path, binaries: Wheel) -> tuple[Path, str]:
    """With the start lock held: return the ready server's socket directory and OS account."""
    from mnemic.storage import accounts, cluster, postmaster

    pgdata = data_dir / "postgres"
    exists = cluster.check(pgdata)
    account = accounts.server_account(pgdata if exists else None)
    socket_dir = postmaster.find(pgdata) if exists else None
    if socket_dir is None:
        program = binaries.bin / "postgres"
        account = accounts.with_passage(account, data_dir / "run", program)
        cluster.sweep(data_dir)
        if not exists:
            cluster.create(account, binaries, pgdata)
        cluster.configure(pgdata)
        cluster.admit(pgdata, accounts.current_name())
        socket_dir = _socket_dir(data_dir, account)
        postmaster.start(account, program, pgdata, socket_dir)
    elif cluster.admit(pgdata, accounts.current_name()):
        postmaster.reload(pgdata)
        cluster.wait_until_admitted(socket_dir, account.name)
    if not cluster.is_complete(pgdata, binaries):
        cluster.bootstrap(pgdata, socket_dir, account.name, binaries)
    return socket_dir, account.name


def _prepare(data_dir: Path) -> Path:
    """Make what is missing of data_dir and data_dir/run; an existing directory is left as it is."""
    from mnemic.storage import accounts

    data_dir.parent.mkdir(parents=True, exist_ok=True)
    as_root = os.geteuid() == 0
    if _made(data_dir) and as_root:
        accounts.hand_over(data_dir, accounts.server_account(None))
    # The server passes through run to its socket, but the locks are ours: it cannot replace them.
    if _made(data_dir / "run") and as_root:
        (data_dir / "run").chmod(0o711)
    return data_dir


def _made(directory: Path) -> bool:
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        return False
    return True


def _open_lock(path: Path) -> int:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    folder = path.parent.stat()
    if os.geteuid() == 0 and os.fstat(fd).st_uid != folder.st_uid:
        os.fchown(fd, folder.st_uid, folder.st_gid)  # root must not lock the owner out
    return fd


def _locked(fd: int, kind: int) -> bool:
    import fcntl

    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _socket_dir(data_dir: Path, account: Account) -> Path:
    """Return a directory of the account alone, whose path is short and plain enough."""
    from mnemic.storage.accounts import hand_over

    place = data_dir / "run" / "socket"
    if not _fits(place):
        name = "mnemic-" + hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
        parents = [Path("/run")] if os.geteuid() == 0 else []
        parents += [Path(tempfile.gettempdir()).resolve(), Path("/tmp")]
        usable = (parent / name for parent in parents if os.access(parent, os.W_OK | os.X_OK))
        place = next((path for path in usable if _fits(path)), Path("/tmp") / name)
    with suppress(FileExistsError):
        place.mkdir(mode=0o700)
    found = place.lstat()
    owners = (account.uid, os.geteuid())
    if (
        not stat.S_ISDIR(found.st_mode)
        or found.st_uid not in owners
        or found.st_mode & _SHARED_MODE
    ):
        raise ConfigurationError(
            "embedded_socket_refused",
            f"{place}, where PostgreSQL has to listen, belongs to somebody else or is open to "
            "others: remove it and start again.",
            directory=str(place),
        )
    if found.st_uid != account.uid:
        hand_over(place, account)
    return place


def _fits(place: Path) -> bool:
    path = os.fsencode(place / ".s.PGSQL.5432")
    # libpq reads a comma as the next host, and psycopg sends the path as UTF-8.
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return len(path) <= _SOCKET_LIMIT and b"," not in path


def _remove_fallback(running: Postmaster | None, run: Path) -> None:
    place = running.socket_dir if running is not None else None
    if place is not None and place != run / "socket":
        with suppress(OSError):
            place.rmdir()


def _explained(error: OSError, data_dir: Path) -> ConfigurationError:
    """Say what a failed system call means for the one who chose the directory."""
    where = {"directory": str(data_dir)}
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        code, text = (
            "data_dir_not_a_directory",
            f"{data_dir} is not a directory: choose another one.",
        )
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        code = "embedded_start_failed"
        text = f"The disk of {data_dir} is full: make room and start again."
    elif error.errno == errno.ENOENT:
        # every missing parent is made, so this file system takes no directories, as /proc does
        code = "data_dir_read_only"
        text = f"No directory can be made at {data_dir}: choose another data directory."
    else:
        code = "data_dir_read_only"
        text = (
            f"{data_dir} cannot be written by this OS user ({error.strerror}): choose another data "
            "directory, or give the user write permission on it."
        )
    return ConfigurationError(code, text, **where)


def _remember(share: _Share) -> None:
    _members.append(share)
    if not _hooked:
        _hooked.append(os.getpid())
        atexit.register(_leave_all)
        os.register_at_fork(after_in_child=_forget_all)


def _drop(share: _Share) -> None:
    with suppress(ValueError):
        _members.remove(share)


def _leave_all() -> None:
    for share in tuple(_members):
        share.leave()


def _forget_all() -> None:
    for share in tuple(_members):
        share.forget()
