"""How does a test have Redis alone, as a cluster of three, and behind Sentinels? Debian's own, on free ports.

Each can be flushed, killed in the middle and had back, the way it comes back in life.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from redis import Redis as Blocking
from redis import RedisError
from redis.asyncio import Redis, RedisCluster
from redis.cluster import key_slot

SERVER = shutil.which("redis-server") or "/usr/bin/redis-server"
CLI = shutil.which("redis-cli") or "/usr/bin/redis-cli"
_PATIENCE = 30.0
_SLOTS = 16_384


class Process:
    """One redis-server, started with the same settings again after a kill."""

    def __init__(self, home: Path, port: int, *settings: str) -> None:
        self.port = port
        self._home = home
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._home.mkdir(exist_ok=True)
        with (self._home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [SERVER, *self._settings, "--port", str(self.port), "--dir", str(self._home)],
                stdout=log,
                stderr=log,
            )
        wait(lambda: ask(self.port, "PING") is True)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class Single:
    """One Redis that keeps nothing on disk."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.url = f"redis://127.0.0.1:{process.port}/0"
        self._bare: list[Any] = []

    @property
    def bare(self) -> Any:
        """A client on the event loop of the test."""
        if not self._bare:
            self._bare.append(Redis(port=self._process.port))
        return self._bare[0]

    async def close(self) -> None:
        while self._bare:
            await self._bare.pop().aclose()

    async def keys(self) -> list[bytes]:
        return list(await self.bare.keys("*"))

    async def flush(self) -> None:
        told = await asyncio.create_subprocess_exec(
            *(CLI, "-p", str(self._process.port), "FLUSHALL"), stdout=asyncio.subprocess.PIPE
        )
        assert await told.communicate() == (b"OK\n", None)

    async def kill(self) -> None:
        self._process.kill()

    async def restore(self) -> None:
        await asyncio.to_thread(self._process.start)


class Cluster:
    """Three masters; the one with the windows is killed and started again."""

    def __init__(self, processes: Sequence[Process]) -> None:
        self._processes = processes
        self._killed: list[Process] = []
        hosts = ",".join(f"127.0.0.1:{process.port}" for process in processes)
        self.url = f"redis+cluster://{hosts}"
        self._bare: list[Any] = []

    @property
    def bare(self) -> Any:
        """A client on the event loop of the test."""
        if not self._bare:
            self._bare.append(RedisCluster(host="127.0.0.1", port=self._processes[0].port))
        return self._bare[0]

    async def close(self) -> None:
        while self._bare:
            await self._bare.pop().aclose()

    async def keys(self) -> list[bytes]:
        return list(await self.bare.keys("*", target_nodes="primaries"))

    async def flush(self) -> None:
        for process in self._processes:
            ask(process.port, "FLUSHALL")

    async def kill(self) -> None:
        (name, *_) = await self.keys()
        slot = key_slot(name)
        for number, process in enumerate(self._processes):
            first, last = share(number, len(self._processes))
            if first <= slot <= last:
                process.kill()
                self._killed.append(process)

    async def restore(self) -> None:
        while self._killed:
            await asyncio.to_thread(self._killed.pop().start)
        await asyncio.to_thread(wait_for_cluster, self._processes)


class Watched:
    """A master and a replica under three Sentinels; when the master is killed the replica takes over."""

    service = "windows"

    def __init__(self, servers: Sequence[Process], sentinels: Sequence[Process]) -> None:
        self._servers = servers
        self._sentinels = sentinels
        self._killed = 0
        self._bare: list[Any] = []
        hosts = ",".join(f"127.0.0.1:{process.port}" for process in sentinels)
        self.url = f"redis+sentinel://{hosts}/{self.service}"

    @property
    def master(self) -> int:
        told = ask(self._sentinels[0].port, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.service)
        return int(told[1])

    @property
    def bare(self) -> Any:
        """A client of the present master on the event loop of the test."""
        self._bare.append(Redis(port=self.master))
        return self._bare[-1]

    async def close(self) -> None:
        while self._bare:
            await self._bare.pop().aclose()

    async def keys(self) -> list[bytes]:
        return list(ask(self.master, "KEYS", "*"))

    async def flush(self) -> None:
        ask(self.master, "FLUSHALL")

    async def kill(self) -> None:
        self._killed = self.master
        for process in self._servers:
            if process.port == self._killed:
                process.kill()

    async def restore(self) -> None:
        """Wait for the failover; the old master comes back as a replica."""
        await asyncio.to_thread(wait, lambda: self.master != self._killed)
        await asyncio.to_thread(wait, lambda: "role:master" in self._role(self.master))
        for process in self._servers:
            if process.port == self._killed:
                await asyncio.to_thread(process.start)
        await asyncio.to_thread(wait, lambda: "role:slave" in self._role(self._killed))

    @staticmethod
    def _role(port: int) -> str:
        with Blocking(port=port, socket_timeout=2) as client:
            return f"role:{client.info('replication')['role']}"


def ask(port: int, *command: str) -> Any:
    """Return the answer of one server, None when there is none."""
    try:
        with Blocking(port=port, socket_timeout=2) as client:
            return client.execute_command(*command)
    except (RedisError, OSError):
        return None


def wait(condition: Any) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            if condition():
                return
        except (RedisError, OSError, TypeError):
            pass
        assert time.monotonic() < deadline, "Redis does not come up"
        time.sleep(0.05)


def share(number: int, of: int) -> tuple[int, int]:
    """Return the first and the last slot of one of several masters."""
    return number * _SLOTS // of, (number + 1) * _SLOTS // of - 1


def ports(count: int) -> list[int]:
    """Return free ports under 50,000: a cluster listens 10,000 above each too."""
    found: list[int] = []
    port = 21_000 + (time.monotonic_ns() // 1000) % 20_000
    while len(found) < count:
        port += 1
        with socket.socket() as probe, socket.socket() as above:
            try:
                probe.bind(("127.0.0.1", port))
                above.bind(("127.0.0.1", port + 10_000))
            except OSError:
                continue
        found.append(port)
    return found


_PLAIN = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no")


@contextmanager
def single(home: Path) -> Iterator[Single]:
    (port,) = ports(1)
    with _running([Process(home / "one", port, *_PLAIN)]) as (process,):
        yield Single(process)


@contextmanager
def cluster(home: Path) -> Iterator[Cluster]:
    settings = (
        *_PLAIN, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000",
        "--cluster-config-file", "nodes.conf",
    )  # fmt: skip
    nodes = [Process(home / f"node{port}", port, *settings) for port in ports(3)]
    with _running(nodes) as processes:
        for number, process in enumerate(processes):
            first, last = share(number, len(processes))
            ask(process.port, "CLUSTER", "ADDSLOTSRANGE", str(first), str(last))
            ask(process.port, "CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
            ask(process.port, "CLUSTER", "MEET", "127.0.0.1", str(processes[0].port))
        wait_for_cluster(processes)
        yield Cluster(processes)


def wait_for_cluster(processes: Sequence[Process]) -> None:
    def complete() -> bool:
        states = [ask(process.port, "CLUSTER INFO") for process in processes]
        return all(
            state["cluster_state"] == "ok" and state["cluster_known_nodes"] == str(len(processes))
            for state in states
        )

    wait(complete)


@contextmanager
def watched(home: Path) -> Iterator[Watched]:
    master, replica, *watchers = ports(5)
    with ExitStack() as stack:
        servers = stack.enter_context(
            _running(
                [
                    Process(home / "master", master, *_PLAIN),
                    Process(
                        home / "replica", replica, *_PLAIN, "--replicaof", f"127.0.0.1 {master}",
                        "--repl-diskless-sync-delay", "0",
                    ),
                ]
            )
        )  # fmt: skip
        sentinels = stack.enter_context(_running(list(_sentinels(home, watchers, master))))
        found = Watched(servers, sentinels)
        wait(lambda: found._role(replica) == "role:slave")
        wait(lambda: _others(sentinels) == {(1, 2)})
        yield found


def _sentinels(home: Path, places: Sequence[int], master: int) -> Iterator[Process]:
    name = Watched.service
    for port in places:
        place = home / f"sentinel{port}"
        place.mkdir()
        settings = place / "sentinel.conf"
        settings.write_text(
            f"bind 127.0.0.1\nsentinel monitor {name} 127.0.0.1 {master} 2\n"
            f"sentinel down-after-milliseconds {name} 1000\n"
            f"sentinel failover-timeout {name} 5000\n"
        )
        yield Process(place, port, str(settings), "--sentinel")


def _others(sentinels: Sequence[Process]) -> set[tuple[int, int]]:
    """Return how many replicas and other Sentinels each one knows."""
    found = set()
    for process in sentinels:
        with Blocking(port=process.port, socket_timeout=2) as client:
            master = client.sentinel_masters()[Watched.service]
            found.add((master["num-slaves"], master["num-other-sentinels"]))
    return found


@contextmanager
def _running(processes: Sequence[Process]) -> Iterator[Sequence[Process]]:
    try:
        for process in processes:
            process.start()
        yield processes
    finally:
        for process in processes:
            process.kill()
