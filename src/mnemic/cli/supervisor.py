"""How do several processes serve one address, and what becomes of one that dies?

The supervisor opens the socket and hands it to its workers, which share what comes (``arrivals``). A worker
that ends is replaced, and connections that wait meanwhile go to the others. Told to stop, it lets every
worker finish what it has begun; told twice, it does not wait.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from mnemic.cli.arrivals import Counts, shared_file
from mnemic.cli.worker import FAILED, Plan
from mnemic.errors import ConfigurationError, InvalidInput

_BACKLOG = 2048
"""Connections that wait in the kernel for a worker."""
_LONGEST_PAUSE = 10.0
_FIRST_PAUSE = 0.2
_GRACE = 5.0
"""Seconds beyond the workers' own patience after which one that does not end is killed."""
_ATTEMPTS = 3
"""Starts in a row that may fail before any worker was ever ready."""


def listen(host: str, port: int, *, loopback_only: bool) -> socket.socket:
    """Open the listening socket that the workers share.

    Raises ConfigurationError (``address_unusable``) and InvalidInput (``local_is_loopback_only``).
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        # the zone of a link-local address is no part of it
        number = ipaddress.ip_address(str(address[0]).partition("%")[0])
        if loopback_only and not number.is_loopback:
            raise InvalidInput(
                "local_is_loopback_only",
                "--local serves this machine only: leave --host out, or serve without --local.",
            )
        opened = socket.socket(family, socket.SOCK_STREAM)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind(address)
            opened.listen(_BACKLOG)
        except OSError:
            opened.close()
            raise
    except (OSError, OverflowError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "no such address"
        raise ConfigurationError(
            "address_unusable",
            f"Cannot listen on {host}:{port}: {why}. Choose another --port or --host; 0 is any free port.",
        ) from None
    opened.set_inheritable(True)
    return opened


def url_of(listening: socket.socket) -> str:
    """Return the address of a listening socket as a URL."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Supervisor:
    """Keeps ``plan.workers`` processes serving on a socket until it is told to stop."""

    def __init__(
        self,
        plan: Plan,
        listening: socket.socket,
        *,
        patience: float,
        ready: Callable[[], None],
        note: Callable[[str], None],
        environment: dict[str, str] | None = None,
    ) -> None:
        """``patience`` is how long (s) workers take to stop; ``ready`` is called once somebody serves."""
        self._file = shared_file(plan.workers)
        self._counts = Counts(self._file.fileno(), plan.workers)
        self._plan = replace(plan, fd=listening.fileno(), counts=self._file.fileno())
        self._listening = listening
        self._patience = patience
        self._ready = ready
        self._note = note
        self._environment = os.environ | (environment or {})
        self._running: set[Process] = set()
        self._stop = asyncio.Event()
        self._at_once = asyncio.Event()
        self._served = False

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT. Raises ConfigurationError when no worker can start."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._asked_to_stop)
        places = [asyncio.ensure_future(self._keep(n)) for n in range(self._plan.workers)]
        stopped = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({stopped, *places}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._stop.set()
            self._listening.close()
            await self._end_workers()
            results = await asyncio.gather(*places, return_exceptions=True)
            self._counts.close()
            self._file.close()
            await asyncio.gather(stopped, return_exceptions=True)
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    def _asked_to_stop(self) -> None:
        if self._stop.is_set():
            self._at_once.set()
        self._stop.set()

    async def _keep(self, number: int) -> None:
        """Keep one place filled."""
        failures = 0
        while not self._stop.is_set():
            process = await self._started(number)
            told = await self._first_word(process)
            if told.get("ready"):
                failures = 0
                self._serving()
            status = await process.wait()
            self._counts.away(number)
            self._running.discard(process)
            if self._stop.is_set():
                return
            if not told.get("ready"):
                failures += 1
                self._require_hope(status, told, failures)
            self._note(f"Worker {process.pid} ended ({status}): another one takes its place.")
            with suppress(TimeoutError):
                pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**failures) if failures else 0
                await asyncio.wait_for(self._stop.wait(), pause)

    async def _started(self, number: int) -> Process:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "mnemic.cli.worker"),
            stdin=PIPE,
            stdout=PIPE,
            pass_fds=(self._plan.fd, self._plan.counts),
            env=self._environment,
        )
        self._running.add(process)
        assert process.stdin is not None
        with suppress(ConnectionError):  # it died already: its end says so
            plan = replace(self._plan, number=number)
            process.stdin.write(plan.to_json().encode() + b"\n")
            await process.stdin.drain()
        if self._stop.is_set():
            process.terminate()
        return process

    async def _first_word(self, process: Process) -> dict[str, object]:
        assert process.stdout is not None
        line = await process.stdout.readline()
        if not line:
            return {}
        told: dict[str, object] = json.loads(line)
        return told

    def _serving(self) -> None:
        if not self._served:
            self._served = True
            self._ready()

    def _require_hope(self, status: int, told: dict[str, object], failures: int) -> None:
        """Raise what a worker said, when none of them has ever served."""
        if self._served:
            return
        if status == FAILED:
            raise ConfigurationError(str(told["reason"]), str(told["message"]))
        if failures >= _ATTEMPTS:
            raise ConfigurationError(
                "worker_start_failed",
                f"The workers end as soon as they start (exit status {status}): see the log above.",
            )

    async def _end_workers(self) -> None:
        for process in self._running:
            with suppress(ProcessLookupError):
                process.terminate()
        if not self._running:
            return
        ended = asyncio.gather(*(process.wait() for process in self._running))
        hurry = asyncio.ensure_future(self._at_once.wait())
        either: set[asyncio.Future[Any]] = {ended, hurry}
        await asyncio.wait(
            either, timeout=self._patience + _GRACE, return_when=asyncio.FIRST_COMPLETED
        )
        for process in self._running:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
        await ended
        hurry.cancel()
