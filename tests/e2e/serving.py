"""How do tests run ``mnemic serve``, and talk to it?"""

from __future__ import annotations

import http.client
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from conftest import make_quick
from e2e.program import MNEMIC, UTF8, run
from mnemic.storage.embedded import join

PATIENCE = 60.0


@dataclass(frozen=True)
class Reply:
    """What the service answered."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str:
        return str(self.json["code"])


@dataclass
class Served:
    """A running service."""

    process: subprocess.Popen[str]
    told: dict[str, Any]
    log: Path
    key: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def workers(self) -> list[int]:
        """The processes that serve, by id."""
        with suppress(psutil.NoSuchProcess):
            found = psutil.Process(self.process.pid).children()
            return sorted(
                one.pid for one in found if "mnemic.cli.worker" in " ".join(one.cmdline())
            )
        return []

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(urlsplit(self.told["url"]).netloc, timeout=30)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        on: http.client.HTTPConnection | None = None,
        **headers: str,
    ) -> Reply:
        """Send one request, on a connection of its own unless one is given."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        bearer = self.key if key is None else key
        if bearer:
            sent["Authorization"] = f"Bearer {bearer}"
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        connection = on or self.connection()
        try:
            connection.request(method, path, content, sent)
            answer = connection.getresponse()
            text = answer.read().decode()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, text)
        finally:
            if on is None:
                connection.close()

    def add(self, content: str, **more: Any) -> Reply:
        return self.ask("POST", "/api/memory", {"content": content}, **more)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal to the supervisor and return its exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@dataclass(frozen=True)
class Place:
    """A data directory to serve, with its key and environment."""

    home: Path
    env: dict[str, str]

    @classmethod
    def at(cls, home: Path, **more: str) -> Place:
        return cls(
            home,
            {
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "MNEMIC_DATA_DIR": str(home / "data"),
                "MNEMIC_KEY_FILE": str(home / "keys" / "serve.key"),
                "MNEMIC_USER": "kim",
                "OPENBLAS_NUM_THREADS": "1",
                **UTF8,
                **more,
            },
        )

    def run(self, *args: str, code: int = 0) -> Any:
        """Run another command with --json on the same data; return what it printed."""
        done = run([*args, "--json"], self.env, self.home)
        assert done.returncode == code, (done.stdout, done.stderr)
        return json.loads(done.stdout)

    @contextmanager
    def served(self, *args: str, **more: str) -> Iterator[Served]:
        """Serve on a free port until the end of the block."""
        log = self.home / "serve.log"
        with log.open("a") as stderr:
            process = subprocess.Popen(
                [MNEMIC, "serve", "--port", "0", "--json", *args],
                env=self.env | more,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        children: list[int] = []
        try:
            told = _announced(process, log)
            found = Served(process, told, log, str(told.get("key", "")))
            wait_for(lambda: len(found.workers) >= 1)
            children = found.workers
            yield found
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            assert process.stdout is not None
            process.stdout.close()
            wait_for(lambda: not any(map(psutil.pid_exists, children)))


@contextmanager
def place_at(home: Path) -> Iterator[Place]:
    """A data directory whose database server stays up, so that services start quickly."""
    joined = join(home / "data")
    make_quick(joined)
    found = Place.at(home)
    found.run("db", "init")
    yield found
    joined.leave()


def key_of(place: Place, *args: str) -> str:
    """Make an API key with the command line and return its text."""
    return str(place.run("apikey", "create", *args)["key"])


def _announced(process: subprocess.Popen[str], log: Path) -> dict[str, Any]:
    lines: queue.Queue[str] = queue.Queue()
    assert process.stdout is not None
    stdout = process.stdout
    threading.Thread(target=lambda: lines.put(stdout.readline()), daemon=True).start()
    line = lines.get(timeout=PATIENCE)
    assert line, log.read_text()
    told: dict[str, Any] = json.loads(line)
    assert "url" in told, told
    return told


def wait_for(what: Any, seconds: float = 30.0) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "this never happened"
        time.sleep(0.05)
