"""As which OS account does the embedded PostgreSQL run, and how does it get to its directory?

An ordinary user runs it as itself. PostgreSQL refuses to run as root, so root runs it as the owner
of an existing cluster, else as the account ``mnemic-pg``, which is made without a login. Where that
account cannot pass a directory on the way (a 0700 parent is usual), nothing is opened to others:
the server is started with the one Linux capability that lets it pass
(docs/adr/0003-embedded-postgresql.md).
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mnemic.errors import ConfigurationError

__all__ = ["Account", "current_name", "hand_over", "launch", "server_account", "with_passage"]

SERVER_ACCOUNT = "mnemic-pg"
PASSAGES: tuple[str | None, ...] = (None, "dac_read_search", "dac_override")
"""Tried in this order: no privilege, read and search everywhere, then read and write everywhere."""

_ADD_ACCOUNT = (
    ("useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"),
    ("adduser", "-S", "-D", "-H"),
)
_NOLOGIN = "/usr/sbin/nologin"
_INHERITED = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class Account:
    """The OS account of the server. ``passage`` names a Linux capability, without ``CAP_``."""

    name: str
    uid: int
    gid: int
    passage: str | None = None

    @property
    def is_other(self) -> bool:
        """Whether this process must switch (only root can)."""
        return self.uid != os.geteuid()


def current_name() -> str:
    """Return the name of this process's OS user; ConfigurationError when the system knows none."""
    return _entry(os.geteuid()).pw_name


def server_account(pgdata: Path | None) -> Account:
    """Return the account that owns the cluster in ``pgdata``, or (None) shall own a new one.

    Raises ConfigurationError ``data_dir_wrong_owner`` for a cluster of somebody else (or of root,
    as whom PostgreSQL refuses to run), ``embedded_account_missing`` when no account can be made.
    """
    me = os.geteuid()
    if pgdata is None:
        return _account(_dedicated() if me == 0 else _entry(me))
    owner = pgdata.stat().st_uid
    if owner == 0 or me not in (0, owner):
        raise ConfigurationError(
            "data_dir_wrong_owner",
            f"The database in {pgdata} belongs to the OS user {owner}, as whom PostgreSQL cannot "
            "be started from here: start Mnemic as the user who made it, give it back to that "
            "user with chown -R, or choose another data directory.",
            directory=str(pgdata),
        )
    return _account(_entry(owner))


def with_passage(account: Account, directory: Path, program: Path) -> Account:
    """Return the account with the least privilege by which it enters directory and runs program.

    Raises ConfigurationError ``data_dir_unreachable`` when none of the known ways works.
    """
    if not account.is_other:
        return account
    probe = ("/bin/sh", "-c", 'cd "$1" && exec "$2" --version', "sh", str(directory), str(program))
    for passage in PASSAGES:
        candidate = replace(account, passage=passage)
        if passage is not None and shutil.which("setpriv") is None:
            continue
        try:
            done = launch(candidate, probe, timeout=20)
        except (OSError, subprocess.SubprocessError):
            continue
        if done.returncode == 0:
            return candidate
    raise ConfigurationError(
        "data_dir_unreachable",
        f"The OS account {account.name}, as which PostgreSQL runs for root, cannot enter "
        f"{directory} or run {program}: install setpriv (util-linux) and allow "
        "CAP_DAC_READ_SEARCH, choose a directory whose parents others may enter, start Mnemic as "
        "an ordinary user, or set MNEMIC_DATABASE_URL.",
        directory=str(directory),
    )


def hand_over(directory: Path, account: Account) -> None:
    """Give a directory that we made to the account.

    Raises ConfigurationError ``data_dir_unreachable`` when this root may not (a stripped container).
    """
    if not account.is_other:
        return
    try:
        os.chown(directory, account.uid, account.gid, follow_symlinks=False)
    except PermissionError:
        raise ConfigurationError(
            "data_dir_unreachable",
            f"PostgreSQL cannot run as root, and here root may not give {directory} to "
            f"{account.name}: allow CAP_CHOWN, CAP_SETUID and CAP_SETGID, start Mnemic as an "
            "ordinary user, or set MNEMIC_DATABASE_URL.",
            directory=str(directory),
        ) from None


def launch(
    account: Account, command: Sequence[str], *, timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run a command as the account, in a session of its own, and return its output.

    It starts in ``/`` with umask 077 and without this process's environment, which may hold secrets
    that another account could read. ``timeout`` is in seconds (subprocess.TimeoutExpired).
    """
    switch = account.is_other and account.passage is None
    return subprocess.run(
        [*_prefix(account), *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
        cwd="/",
        umask=0o077,
        env=_environment(os.environ),
        start_new_session=True,
        user=account.uid if switch else None,
        group=account.gid if switch else None,
        extra_groups=os.getgrouplist(account.name, account.gid) if switch else None,
    )


def _prefix(account: Account) -> list[str]:
    if not account.is_other or account.passage is None:
        return []
    capability = f"-all,+{account.passage}"
    return [
        shutil.which("setpriv") or "setpriv",
        f"--reuid={account.uid}",
        f"--regid={account.gid}",
        "--init-groups",
        "--no-new-privs",
        f"--inh-caps={capability}",
        f"--ambient-caps={capability}",
        "--",
    ]


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    kept = {name: environ[name] for name in _INHERITED if name in environ}
    return {"PATH": "/usr/bin:/bin", **kept, "LC_ALL": "C", "TZ": "UTC"}


def _entry(uid: int) -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        raise ConfigurationError(
            "embedded_account_missing",
            f"The OS user {uid} has no name on this system, which embedded PostgreSQL needs: add "
            "it to /etc/passwd, or set MNEMIC_DATABASE_URL.",
            uid=uid,
        ) from None


def _account(entry: pwd.struct_passwd) -> Account:
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _dedicated(attempts: int = 5) -> pwd.struct_passwd:
    # Two processes may add it at once: one of them finds the password file locked or the name
    # taken.
    for attempt in range(attempts):
        try:
            return pwd.getpwnam(SERVER_ACCOUNT)
        except KeyError:
            if attempt:
                time.sleep(0.2)
            _add_account()
    try:
        return pwd.getpwnam(SERVER_ACCOUNT)
    except KeyError:
        raise ConfigurationError(
            "embedded_account_missing",
            f"PostgreSQL cannot run as root and the OS account {SERVER_ACCOUNT} could not be "
            "made: add it, start Mnemic as an ordinary user, or set MNEMIC_DATABASE_URL.",
        ) from None


def _add_account() -> None:
    for command in _ADD_ACCOUNT:
        program = shutil.which(command[0])
        if program is not None:
            arguments = [program, *command[1:], "-s", _NOLOGIN, SERVER_ACCOUNT]
            subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, check=False)
            return
