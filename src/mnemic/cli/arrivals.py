"""Which worker takes the next connection? The one that has the fewest.

All of them listen on one socket, and the kernel wakes whoever it likes: an idle one could take every
connection of a crowd. So each tells the others how many it has, and steps back for a moment while another
has fewer. It only steps back for a moment: that other one may be busy, or dead.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import mmap
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import IO

_LOG = logging.getLogger("mnemic.serve")
_AWAY = 2**31 - 1
_WIDTH = 4
_MOMENT = 0.02
"""Seconds for which a worker leaves a connection to one that has fewer."""
_AT_ONCE = 2
"""Connections that a worker takes in one go after that."""
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PAUSE = 1.0
"""Seconds to wait when this machine can open nothing more."""


class Counts:
    """How many connections each worker has, in memory that all of them share; a dead one is away."""

    def __init__(self, file: int, workers: int) -> None:
        """``file`` is the descriptor of ``shared_file``; every process maps it for itself."""
        self._memory = mmap.mmap(file, workers * _WIDTH)
        self._counts = memoryview(self._memory).cast("i")

    def tell(self, worker: int, count: int) -> None:
        """Say how many connections a worker has."""
        self._counts[worker] = count

    def away(self, worker: int) -> None:
        """Say that a worker takes none."""
        self._counts[worker] = _AWAY

    def fewest(self) -> int:
        """Return how many the worker has that has the fewest."""
        return min(self._counts)

    def close(self) -> None:
        """Unmap the memory; idempotent."""
        self._counts.release()
        self._memory.close()


def shared_file(workers: int) -> IO[bytes]:
    """Return a nameless file for the counts of ``workers``, all of them away."""
    file = tempfile.TemporaryFile(prefix="mnemic-connections-")  # noqa: SIM115 - its caller closes it
    file.write(_AWAY.to_bytes(_WIDTH, sys.byteorder) * workers)
    file.flush()
    return file


class Arrivals:
    """Takes connections off the shared socket for one worker; ``changed`` is told how many are open."""

    def __init__(self, listening: socket.socket, counts: Counts, worker: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._listening = listening
        self._factory: Callable[[], asyncio.Protocol] = asyncio.Protocol
        self._counts = counts
        self._worker = worker
        self._open = 0
        self._coming: set[asyncio.Task[object]] = set()
        self._later: asyncio.TimerHandle | None = None
        self._closed = False

    def start(self, factory: Callable[[], asyncio.Protocol]) -> None:
        """Begin to take connections; ``factory`` makes the protocol of each."""
        self._factory = factory
        self._tell()
        self._watch()

    def changed(self, count: int) -> None:
        """Note how many connections are open."""
        self._open = count
        self._tell()

    def close(self) -> None:
        """Take no more connections; those that wait are for the other workers."""
        self._closed = True
        self._counts.away(self._worker)
        self._loop.remove_reader(self._listening)
        if self._later is not None:
            self._later.cancel()

    def _tell(self) -> None:
        if not self._closed:
            self._counts.tell(self._worker, self._mine)

    @property
    def _mine(self) -> int:
        return self._open + len(self._coming)

    def _watch(self) -> None:
        self._loop.add_reader(self._listening, self._arrived)

    def _arrived(self) -> None:
        """Take what waits while no other worker has fewer connections."""
        while self._mine <= self._counts.fewest():
            if not self._took_one():
                return
        self._step_back(_MOMENT)

    def _step_back(self, seconds: float) -> None:
        self._loop.remove_reader(self._listening)
        self._later = self._loop.call_later(seconds, self._returned)

    def _returned(self) -> None:
        """Take what nobody else took meanwhile."""
        self._watch()
        for _ in range(_AT_ONCE):
            if not self._took_one():
                return

    def _took_one(self) -> bool:
        """Take one connection; False when none waits, or none can be taken now."""
        try:
            connection, _ = self._listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as error:
            if error.errno not in _EXHAUSTED:
                raise
            _LOG.warning("no connection can be taken: %s", error.strerror)
            self._step_back(_PAUSE)
            return False
        connection.setblocking(False)
        task: asyncio.Task[object] = self._loop.create_task(self._connected(connection))
        self._coming.add(task)
        task.add_done_callback(self._came)
        self._tell()
        return True

    async def _connected(self, connection: socket.socket) -> None:
        with suppress(OSError):  # it has gone already
            await self._loop.connect_accepted_socket(self._factory, connection)

    def _came(self, task: asyncio.Task[object]) -> None:
        self._coming.discard(task)
        self._tell()
