"""How do tests run hundreds of commands without importing the program hundreds of times?

A nursery imports the program once and loads the model, and forks a child for each command. The child is a
process as any other: it has the arguments, environment, directory and streams that it was given, an exit
status, and can be killed. What Python itself reads at its start (``LC_ALL``, ``PYTHON...``) cannot be given
to a child: ``fits`` tells whether a command can be forked, and others are started as a user starts them.

Run as a program, this file is the nursery (``nursery DIRECTORY``) or a command that is forked by one.
"""

from __future__ import annotations

import array
import atexit
import gc
import io
import json
import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

_SOCKET = "NURSERY_SOCKET"
_USUAL = {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "utf-8"}


def fits(env: Mapping[str, str]) -> bool:
    """Whether a forked child is what a new process with this environment would be."""
    read = {k: v for k, v in env.items() if k.startswith(("PYTHON", "LC_", "LANG", "OPENBLAS"))}
    read.pop("OPENBLAS_NUM_THREADS", None)
    return all(_USUAL.get(name) == value for name, value in read.items()) and bool(read)


class Child:
    """A forked process that runs a command."""

    def __init__(self, channel: socket.socket) -> None:
        self._told = channel.makefile("r", encoding="utf-8")
        self._channel = channel
        self.pid = int(self._told.readline())

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status, negative for a signal. Raises TimeoutExpired, and kills it then."""
        self._channel.settimeout(timeout)
        try:
            status = int(self._told.readline())
        except TimeoutError:
            self.kill()
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0) from None
        self._told.close()
        self._channel.close()
        return status

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def fork(
    address: str,
    args: Sequence[str | bytes | Path],
    env: Mapping[str, str],
    cwd: str | Path,
    streams: Sequence[int],
) -> Child:
    """Let the nursery at ``address`` run ``mnemic ...`` or ``python FILE ...``."""
    channel = socket.socket(socket.AF_UNIX)
    channel.connect(address)
    asked = {"args": [os.fsdecode(arg) for arg in args], "env": dict(env), "cwd": str(cwd)}
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", streams))]
    channel.sendmsg([b"+"], rights)
    channel.sendall(json.dumps(asked).encode() + b"\n")
    return Child(channel)


def run(
    args: Sequence[str | bytes | Path],
    env: Mapping[str, str],
    cwd: str | Path,
    timeout: float = 120,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command without input in a fork, and return what it printed."""
    with (
        open(os.devnull, "rb") as nothing,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        streams = (nothing.fileno(), out.fileno(), err.fileno())
        status = fork(nursery().address, args, env, cwd, streams).wait(timeout)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(args, status, out.read(), err.read())


class Nursery:
    """The process that forks, and a directory with commands that are forked by it, for a PATH."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="nursery-"))
        self.address = str(self.home / "socket")
        self.bin = self.home / "bin"
        self.bin.mkdir()
        for name in ("mnemic", "python-forked"):
            _write_command(self.bin / name, name.removesuffix("-forked"), self.address)
        self._process = subprocess.Popen(
            [sys.executable, __file__, "nursery", self.address],
            env={"PATH": os.environ["PATH"], "OPENBLAS_NUM_THREADS": "1", **_USUAL},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        shutil.rmtree(self.home)


@cache
def nursery() -> Nursery:
    """Return the nursery of this process, which ends with it."""
    made = Nursery()
    atexit.register(made.close)
    return made


def _write_command(path: Path, program: str, address: str) -> None:
    path.write_text(
        f"#!/bin/sh\n{_SOCKET}='{address}' exec '{sys.executable}' -IS '{__file__}' {program} \"$@\"\n"
    )
    path.chmod(0o755)


def _stand_for() -> int:
    """Have the command of this process forked, pass on signals, and return its status as a shell would."""
    address = os.environ.pop(_SOCKET)
    child = fork(address, sys.argv[1:], os.environ, Path.cwd(), (0, 1, 2))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(child.pid, number))
    status = child.wait()
    return status if status >= 0 else 128 - status


# ---- inside the nursery


def _serve(address: str) -> None:
    _import_everything()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    os.write(1, b"ready\n")
    parent = threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True)
    parent.start()
    while True:
        channel, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _watch(channel)
        channel.close()


def _import_everything() -> None:
    import importlib
    import pkgutil

    import redis.asyncio
    import redis.asyncio.retry  # noqa: F401

    import mnemic
    from mnemic.embedding import local
    from mnemic.longterm.judge.lexicon import lexicon

    sys.path[:] = [entry for entry in sys.path if entry != str(Path(__file__).parent)]
    for module in pkgutil.walk_packages(mnemic.__path__, "mnemic."):
        importlib.import_module(module.name)
    local.shared_encoder()._model = local._load()
    lexicon()
    gc.collect()
    gc.freeze()


def _watch(channel: socket.socket) -> None:
    """Fork the command, tell its number, and its status when it has ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    streams = array.array("i")
    _, rights, *_ = channel.recvmsg(1, socket.CMSG_LEN(3 * streams.itemsize))
    streams.frombytes(rights[0][2])
    with channel.makefile("r", encoding="utf-8") as file:
        asked = json.loads(file.readline())
    child = os.fork()
    if child == 0:
        channel.close()
        _become(asked, streams)
    for stream in streams:
        os.close(stream)
    channel.sendall(f"{child}\n".encode())
    _, status = os.waitpid(child, 0)
    with suppress(BrokenPipeError):
        channel.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become(asked: dict[str, Any], streams: Sequence[int]) -> None:
    """Be the process that was asked for, to its end."""
    for target, source in enumerate(streams):
        os.dup2(source, target)
    os.closerange(3, 256)
    os.environ.clear()
    os.environ.update(asked["env"])
    time.tzset()
    os.chdir(asked["cwd"])
    sys.stdin = _stream(0, "r")
    sys.stdout = _stream(1, "w")
    sys.stderr = _stream(2, "w")
    program, *args = asked["args"]
    os._exit(_status_of(program, args))


def _stream(number: int, mode: str) -> io.TextIOWrapper:
    raw = open(number, mode + "b", closefd=False)  # noqa: SIM115 - it lives as long as the process
    return io.TextIOWrapper(raw, "utf-8", line_buffering=number == 2 or os.isatty(number))


def _status_of(program: str, args: list[str]) -> int:
    status = 0
    try:
        _call(program, args)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if end.code is not None and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001 - it is told as Python tells it
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        status = 120
    return status


def _call(program: str, args: list[str]) -> None:
    if program == "mnemic":
        from mnemic.cli.main import main

        sys.argv = ["mnemic", *args]
        main()
        return
    if args[0] == "-W":
        warnings.simplefilter("error", DeprecationWarning)
        del args[:2]
    sys.argv = args
    sys.path.insert(0, str(Path(args[0]).resolve().parent))
    runpy.run_path(args[0], run_name="__main__")


if __name__ == "__main__":
    if sys.argv[1] == "nursery":
        _serve(sys.argv[2])
    else:
        sys.exit(_stand_for())
