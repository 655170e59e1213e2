"""How does code without an event loop use the memory? Through the same methods, blocking.

One background thread runs one event loop; every call is sent there and waited for. There is no second
implementation: what is a coroutine function in MemoryService is a blocking method here.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import Coroutine
from typing import Any, Self

from mnemic.errors import InvalidInput
from mnemic.service import MemoryService


class _Loop:
    """An event loop in a daemon thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="mnemic-sync", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        if threading.current_thread() is self._thread:
            work.close()
            raise InvalidInput(
                "sync_call_inside_loop", "Inside the event loop use MemoryService and await."
            )
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _Blocking:
    """Any part of the service with its coroutine functions turned into blocking ones."""

    def __init__(self, part: Any, loop: _Loop) -> None:
        self._part = part
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._part, name)
        if inspect.iscoroutinefunction(value):

            @functools.wraps(value)
            def call(*args: Any, **kwargs: Any) -> Any:
                return self._loop.wait(value(*args, **kwargs))

            return call
        return value


class SyncMemoryService(_Blocking):
    """MemoryService with the same methods, blocking: ``with SyncMemoryService.open() as memory``."""

    def __init__(self, service: MemoryService) -> None:
        super().__init__(service, _Loop())

    @classmethod
    def open(cls, *args: Any, **kwargs: Any) -> Self:
        """Return a service to be entered with ``with``; the arguments are those of MemoryService.open."""
        return cls(MemoryService.open(*args, **kwargs))

    @property
    def sessions(self) -> Any:
        """The message log, blocking."""
        return _Blocking(self._part.sessions, self._loop)

    def __enter__(self) -> Self:
        try:
            self._loop.wait(self._part.__aenter__())
        except BaseException:
            self._loop.stop()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the service and end its thread."""
        self._loop.wait(self._part.close())
        self._loop.stop()
