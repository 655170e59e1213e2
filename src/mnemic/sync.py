"""How does code without an event loop use the memory? Through the same methods, blocking.

One background thread runs one event loop; every call is sent there and waited for. There is no second
implementation: what is a coroutine function in MemoryService is a blocking method here.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import threading
from collections.abc import Coroutine
from typing import Any, Self

from mnemic.errors import InvalidInput
from mnemic.service import MemoryService

PARTS = frozenset(
    {
        "audit",
        "consent",
        "embeddings",
        "episodes",
        "profiles",
        "projects",
        "resources",
        "sessions",
        "tasks",
    }
)
"""What hangs on the service by name; each is blocking here too."""


class _Loop:
    """An event loop in a daemon thread, which a forgotten close does not keep alive."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._running: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._process = os.getpid()

    def start(self) -> None:
        with self._guard:
            if self._running is not None:
                raise InvalidInput(
                    "service_already_open", "This service is open: make another one."
                )
            self._process = os.getpid()
            self._running = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=_run, args=(self._running,), name="mnemic-sync", daemon=True
            )
            self._thread.start()

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine in the loop and return its result; safe from many threads."""
        if self.forked:
            work.close()
            raise InvalidInput(
                "service_of_another_process", "A forked process opens a service of its own."
            )
        try:
            with self._guard:
                future = asyncio.run_coroutine_threadsafe(work, self._usable())
        except InvalidInput:
            work.close()
            raise
        return future.result()

    def stop(self) -> None:
        """End the thread; idempotent."""
        if self.forked:
            return  # the loop and its thread are the parent's
        with self._guard:
            loop, self._running = self._running, None
        if loop is not None and self._thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()

    @property
    def running(self) -> bool:
        return self._running is not None

    @property
    def forked(self) -> bool:
        """Whether this is a child of the process that opened the service: its thread stayed behind."""
        return self._process != os.getpid()

    def _usable(self) -> asyncio.AbstractEventLoop:
        if self._running is None:
            raise InvalidInput(
                "service_not_open",
                "Enter the service first: with SyncMemoryService.open() as memory.",
            )
        if threading.current_thread() is self._thread:
            raise InvalidInput(
                "sync_call_inside_loop", "Inside the event loop use MemoryService and await."
            )
        return self._running


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(_rest())
    finally:
        loop.close()


async def _rest() -> None:
    """Let what still waits end before the loop closes: a caller in another thread hears of it."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_default_executor()


class _Blocking:
    """Any part of the service with its coroutine functions turned into blocking ones."""

    def __init__(self, part: Any, loop: _Loop) -> None:
        self._part = part
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._part, name)
        if inspect.iscoroutinefunction(value):

            @functools.wraps(value)
            def call(*args: Any, **kwargs: Any) -> Any:
                return self._loop.wait(value(*args, **kwargs))

            return call
        return value


class SyncMemoryService(_Blocking):
    """MemoryService with the same methods, blocking: ``with SyncMemoryService.open() as memory``.

    Safe to use from many threads, and from code that runs in an event loop of its own (which it blocks).
    """

    def __init__(self, service: MemoryService) -> None:
        super().__init__(service, _Loop())

    @classmethod
    def open(cls, *args: Any, **kwargs: Any) -> Self:
        """Return a service to be entered with ``with``; the arguments are those of MemoryService.open."""
        return cls(MemoryService.open(*args, **kwargs))

    @property
    def service(self) -> MemoryService:
        """The service that does the work, in a loop of its own; call nothing on it from elsewhere."""
        service: MemoryService = self._part
        return service

    def __getattr__(self, name: str) -> Any:
        if name in PARTS:
            return _Blocking(self._loop.wait(_read(self._part, name)), self._loop)
        return super().__getattr__(name)

    @property
    def key_file(self) -> Any:
        """Where the key-encryption key lies; see MemoryService.key_file."""
        return self._loop.wait(_read(self._part, "key_file"))

    def __enter__(self) -> Self:
        self._loop.start()
        try:
            self._loop.wait(self._part.__aenter__())
        except BaseException:
            self._loop.stop()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the service and end its thread; idempotent."""
        if not self._loop.running or self._loop.forked:
            return
        try:
            self._loop.wait(self._part.close())
        finally:
            self._loop.stop()


async def _read(part: Any, name: str) -> Any:
    return getattr(part, name)
