"""How do processes that start at any time, and may be killed, agree on who starts a server and who stops it?

    data_dir/run    a start lock: held while a process starts, joins or leaves
                    a users' lock: every process that uses the server holds a share of it
                    socket/: where servers listen, when its path is short enough

A killed process loses its share with its life, so whoever comes next finds the truth. Directories that
exist keep their mode and owner.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mnemic.errors import ConfigurationError

if TYPE_CHECKING:
    from mnemic.storage.accounts import Account

__all__ = ["LOCK_TIMEOUT", "Share", "enter", "made", "remove_fallback", "socket_dir"]

T = TypeVar("T")

LOCK_TIMEOUT = 90.0
"""Seconds to wait for another process that starts or stops the server."""

_SOCKET_LIMIT = 103 if sys.platform == "darwin" else 107
"""Bytes that the system allows for a socket's path."""
_SHARED_MODE = 0o022
_members: list[Share] = []
_hooked: list[int] = []


class Share:
    """One process's share of a server. A forked child closes its copy, which changes nothing for us."""

    def __init__(
        self,
        data_dir: Path,
        server: str,
        stop: Callable[[], None],
        *,
        start_lock: str = "start.lock",
        users_lock: str = "users.lock",
    ) -> None:
        """``stop`` ends the server of the last user, with the start lock held; ``server`` is its name."""
        self.data_dir = data_dir
        self._server = server
        self._stop = stop
        self._start_lock = data_dir / "run" / start_lock
        self._users_lock = data_dir / "run" / users_lock
        self._pid = os.getpid()
        self._fds: list[int] = []

    @contextmanager
    def alone(self, timeout: float | None = None) -> Iterator[None]:
        """Hold the start lock; ConfigurationError ``embedded_busy`` after ``timeout`` seconds."""
        import fcntl

        seconds = LOCK_TIMEOUT if timeout is None else timeout
        fd = _open_lock(self._start_lock)
        try:
            deadline = time.monotonic() + seconds
            while not _locked(fd, fcntl.LOCK_EX):
                if time.monotonic() > deadline:
                    raise ConfigurationError(
                        "embedded_busy",
                        f"Another process has been starting or stopping {self._server} in "
                        f"{self.data_dir} for {seconds:.0f} seconds: wait for it or end it, "
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
        """Take the share, with the start lock held."""
        import fcntl

        fd = _open_lock(self._users_lock)
        fcntl.flock(fd, fcntl.LOCK_SH)
        self._fds.append(fd)

    def leave(self) -> None:
        """Give the share back; idempotent, and nothing but forgetting it in a forked child."""
        if self._fds and os.getpid() == self._pid:
            with suppress(FileNotFoundError, NotADirectoryError):  # the data directory was removed
                with self.alone():
                    self.give_back()
                return
        self.forget()

    def give_back(self) -> None:
        """With the start lock held: stop the server if nobody else has a share."""
        import fcntl

        with suppress(IndexError):
            fd = self._fds.pop()
            try:
                if _locked(fd, fcntl.LOCK_EX):
                    self._stop()
            finally:
                fcntl.flock(fd, fcntl.LOCK_UN)
                os.close(fd)
        _drop(self)

    def forget(self) -> None:
        """Close our copy of the share and do nothing else."""
        with suppress(IndexError):
            os.close(self._fds.pop())
        _drop(self)

    def remember(self) -> None:
        """Leave at exit, at the latest."""
        _members.append(self)
        if not _hooked:
            _hooked.append(os.getpid())
            atexit.register(_leave_all)
            os.register_at_fork(after_in_child=_forget_all)


def enter(
    data_dir: Path,
    share_in: Callable[[Path], Share],
    serve: Callable[[Path], T],
    timeout: float | None = None,
) -> tuple[Share, T]:
    """Take a share of the server of ``data_dir`` and return it with what ``serve`` says of the server.

    ``serve`` finds the server or starts it, with the start lock held. Raises ConfigurationError
    (``data_dir_...``, ``embedded_...``) when it fails; the share is given back then.
    """
    directory = data_dir
    try:
        directory = data_dir.expanduser().resolve()
        share = share_in(_prepare(directory))
        with share.alone(timeout):
            share.take()
            try:
                served = serve(directory)
            except BaseException:
                share.give_back()
                raise
    except OSError as error:
        raise _explained(error, directory) from error
    share.remember()
    return share, served


def _prepare(data_dir: Path) -> Path:
    """Make what is missing of data_dir and data_dir/run; an existing directory is left as it is."""
    from mnemic.storage import accounts

    data_dir.parent.mkdir(parents=True, exist_ok=True)
    as_root = os.geteuid() == 0
    if made(data_dir) and as_root:
        accounts.hand_over(data_dir, accounts.server_account(None))
    # The server passes through run to its socket, but the locks are ours: it cannot replace them.
    if made(data_dir / "run") and as_root:
        (data_dir / "run").chmod(0o711)
    return data_dir


def made(directory: Path) -> bool:
    """Make a directory of mode 0700; False when there was one."""
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


def socket_dir(data_dir: Path, account: Account, server: str, file: str) -> Path:
    """Return a directory of the account alone, whose path is short and plain enough for the socket ``file``.

    Raises ConfigurationError ``embedded_socket_refused`` for a directory of somebody else.
    """
    from mnemic.storage.accounts import hand_over

    place = data_dir / "run" / "socket"
    if not _fits(place / file):
        name = "mnemic-" + hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
        parents = [Path("/run")] if os.geteuid() == 0 else []
        parents += [Path(tempfile.gettempdir()).resolve(), Path("/tmp")]
        usable = (parent / name for parent in parents if os.access(parent, os.W_OK | os.X_OK))
        place = next((path for path in usable if _fits(path / file)), Path("/tmp") / name)
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
            f"{place}, where {server} has to listen, belongs to somebody else or is open to "
            "others: remove it and start again.",
            directory=str(place),
        )
    if found.st_uid != account.uid:
        hand_over(place, account)
    return place


def _fits(file: Path) -> bool:
    path = os.fsencode(file)
    # libpq reads a comma as the next host, and psycopg sends the path as UTF-8.
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return len(path) <= _SOCKET_LIMIT and b"," not in path


def remove_fallback(place: Path | None, run: Path) -> None:
    """Remove the directory of a socket that stood outside the data directory, once nobody listens there."""
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


def _drop(share: Share) -> None:
    with suppress(ValueError):
        _members.remove(share)


def _leave_all() -> None:
    for share in tuple(_members):
        share.leave()


def _forget_all() -> None:
    for share in tuple(_members):
        share.forget()
