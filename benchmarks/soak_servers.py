"""Where do the two services of the soak run? On one embedded server, as an operator would start them."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import psycopg

from benchmarks.soak_bare import TABLES
from benchmarks.soak_texts import user_of
from mnemic.storage.embedded import join

_MNEMIC = Path(sys.executable).with_name("mnemic")
_PATIENCE = 60.0
_STARTED = 4.0
"""Seconds after which every process is up, and has loaded what it needs."""


@dataclass(frozen=True, slots=True)
class Ours:
    """A running `mnemic serve`, the key of a service for it, and the owner's URL of its database."""

    address: tuple[str, int]
    key: str
    owner_url: str
    pid: int

    def cpu(self) -> float:
        """Return the processor time (s) that the workers have used."""
        total = 0.0
        for one in psutil.Process(self.pid).children():
            if "mnemic.cli.worker" in " ".join(one.cmdline()):
                times = one.cpu_times()
                total += times.user + times.system
        return total


@asynccontextmanager
async def ours(home: Path, workers: int) -> AsyncIterator[Ours]:
    """Serve a new data directory with as many workers, consent implied and everything else as it comes."""
    env = os.environ | {
        "MNEMIC_DATA_DIR": str(home / "data"),
        "MNEMIC_KEY_FILE": str(home / "keys" / "soak.key"),
        "MNEMIC_CONSENT": "implied",
    }
    _ran(env, "db", "init")
    key = str(json.loads(_ran(env, "apikey", "create", "--kind", "service", "--json"))["key"])
    joined = join(home / "data")
    command = [str(_MNEMIC), "serve", "--port", "0", "--json", "--workers", str(workers)]
    process = _serving(command, env, home / "serve.log")
    try:
        assert process.stdout is not None
        line = await asyncio.to_thread(process.stdout.readline)
        told = json.loads(line)
        assert "url" in told, told
        at = urlsplit(told["url"])
        assert at.hostname is not None
        assert at.port is not None
        await _settled(process.pid, workers)
        yield Ours((at.hostname, at.port), key, joined.url("owner"), process.pid)
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, _PATIENCE)
        joined.leave()


@asynccontextmanager
async def bare(owner_url: str, processes: int, kind: str) -> AsyncIterator[tuple[str, int]]:
    """Serve a bare route ("plain", "embeds") with as many processes on one socket; yield its address."""
    with psycopg.connect(owner_url, autocommit=True) as conn:
        conn.execute(TABLES)
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
        number = listening.fileno()
        command = [sys.executable, "-m", "benchmarks.soak_bare", owner_url, str(number), kind]
        running = _floors(command, number, processes)
        try:
            for process in running:
                assert process.stdout is not None
                assert await asyncio.to_thread(process.stdout.readline) == b"ready\n"
            yield "127.0.0.1", int(listening.getsockname()[1])
        finally:
            for process in running:
                process.terminate()
            for process in running:
                await asyncio.to_thread(process.wait, _PATIENCE)


def stored_ids(served: Ours, client: int) -> set[str]:
    """Return the ids of every version that a client's user has, by the lists of the service."""
    found: set[str] = set()
    connection = http.client.HTTPConnection(*served.address, timeout=30)
    headers = {"Authorization": f"Bearer {served.key}", "Mnemic-User": user_of(client)}
    for status in ("active", "pending", "superseded", "archived"):
        connection.request("GET", f"/api/memory?limit=1000&status={status}", headers=headers)
        answer = connection.getresponse()
        page = json.loads(answer.read())
        assert answer.status == 200, (answer.status, page.get("code"))
        assert page["cursor"] is None
        found |= {item["id"] for item in page["items"]}
    connection.close()
    return found


async def _settled(pid: int, workers: int) -> None:
    """Wait until every worker is there, and has had the time to load its encoder."""
    for _ in range(int(_PATIENCE)):
        if len(psutil.Process(pid).children()) >= workers:
            break
        await asyncio.sleep(1.0)
    await asyncio.sleep(_STARTED)


def _serving(command: list[str], env: dict[str, str], log: Path) -> subprocess.Popen[str]:
    with log.open("w") as stderr:
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=stderr, text=True)


def _floors(command: list[str], fd: int, count: int) -> list[subprocess.Popen[bytes]]:
    return [subprocess.Popen(command, pass_fds=(fd,), stdout=subprocess.PIPE) for _ in range(count)]


def _ran(env: dict[str, str], *args: str) -> str:
    done = subprocess.run([_MNEMIC, *args], env=env, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout
