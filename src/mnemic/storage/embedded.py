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

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mnemic.errors import ConfigurationError
from mnemic.storage.shares import Share, enter, remove_fallback, socket_dir

if TYPE_CHECKING:
    from mnemic.storage.cluster import Wheel

__all__ = ["Joined", "default_data_dir", "join"]

LOCK_TIMEOUT = 90.0
"""Seconds to wait for another process that starts or stops the server."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A running server that this process has joined (a forked child has not: it joins anew)."""

    socket_dir: Path
    database: str = "mnemic"
    _server: str = field(kw_only=True, repr=False)
    _share: Share = field(kw_only=True, repr=False, compare=False)

    def url(self, role: Literal["owner", "service", "bootstrap"]) -> str:
        """Return the connection string of a role: the socket, this OS user, no password."""
        from mnemic.storage.cluster import ROLES, conninfo

        return conninfo(self.socket_dir, ROLES[role], self.database, self._server)

    def revive(self) -> None:
        """Start the server again when it died under us; a few milliseconds when it runs.

        Raises ConfigurationError as ``join`` does.
        """
        from mnemic.storage.cluster import wheel

        with self._share.alone(LOCK_TIMEOUT):
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
    share, (place, server) = enter(
        data_dir, _share, lambda directory: _serve(directory, binaries), LOCK_TIMEOUT
    )
    return Joined(place, _server=server, _share=share)


def _share(data_dir: Path) -> Share:
    return Share(data_dir, "PostgreSQL", lambda: _stop(data_dir))


def _stop(data_dir: Path) -> None:
    from mnemic.storage import postmaster

    pgdata = data_dir / "postgres"
    running = postmaster.read(pgdata)
    postmaster.stop(pgdata)
    remove_fallback(running.socket_dir if running else None, data_dir / "run")


def _serve(data_dir: Path, binaries: Wheel) -> tuple[Path, str]:
    """With the start lock held: return the ready server's socket directory and OS account."""
    from mnemic.storage import accounts, cluster, postmaster

    pgdata = data_dir / "postgres"
    exists = cluster.check(pgdata)
    account = accounts.server_account(pgdata if exists else None)
    place = postmaster.find(pgdata) if exists else None
    if place is None:
        program = binaries.bin / "postgres"
        account = accounts.with_passage(account, data_dir / "run", program)
        cluster.sweep(data_dir)
        if not exists:
            cluster.create(account, binaries, pgdata)
        cluster.configure(pgdata)
        cluster.admit(pgdata, accounts.current_name())
        place = socket_dir(data_dir, account, "PostgreSQL", postmaster.SOCKET_FILES[0])
        postmaster.start(account, program, pgdata, place)
    elif cluster.admit(pgdata, accounts.current_name()):
        postmaster.reload(pgdata)
        cluster.wait_until_admitted(place, account.name)
    if not cluster.is_complete(pgdata, binaries):
        cluster.bootstrap(pgdata, place, account.name, binaries)
    return place, account.name
