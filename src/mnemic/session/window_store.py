"""What can be done with a window in Redis? Read it, push to it, fill it from the log, drop it: one call each.

The scripts run on the server, so each is one round trip and nobody comes in between; all may be repeated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from mnemic.session.window_blocks import Block, DamagedBlock, split
from mnemic.storage.redis_calls import Calls, Script
from mnemic.storage.redis_url import target_of

BUILD_MS = 5_000
"""Milliseconds for which a window may stay unfinished; then somebody else builds it."""
State = Literal["whole", "mine", "others", "broken"]
_STATES: dict[bytes, State] = {b"W": "whole", b"B": "mine", b"O": "others", b"G": "broken"}


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much a window holds: turns, bytes (as stored), and its life in seconds since the last touch."""

    turns: int = 200
    size: int = 256 * 1024
    ttl: float = 1_800.0

    @property
    def arguments(self) -> tuple[int, int, int]:
        return self.turns, self.size, int(self.ttl * 1000)


@dataclass(frozen=True, slots=True)
class Found:
    """What a read found: ``whole`` with blocks; none, to be built by us (``mine``) or by somebody else
    (``others``); or ``broken``."""

    state: State
    blocks: Sequence[Block] = ()

    @property
    def first(self) -> int:
        return self.blocks[0].first if self.blocks else 0

    @property
    def last(self) -> int:
        return self.blocks[-1].last if self.blocks else 0


class WindowStore:
    """The windows in one Redis. Every method raises RedisAway when Redis does not do it."""

    def __init__(self, calls: Calls, bounds: Bounds) -> None:
        self.calls = calls
        self.bounds = bounds

    async def read(self, name: bytes, turns: int, token: bytes, *, vectors: bool = False) -> Found:
        """Return the newest blocks with at least so many turns, or all there are; the window lives on.

        Where there is no window one is begun: ``fill`` with the same token (8 bytes) finishes it.
        """
        life = self.bounds.arguments[2]
        answer = await self.calls.run(
            _script("read"), name, turns, int(vectors), life, token, BUILD_MS
        )
        state = _STATES.get(answer[:1], "broken")
        try:
            return Found(state, split(answer[1:], with_vectors=vectors))
        except DamagedBlock:
            return Found("broken")

    async def push(self, name: bytes, blocks: Sequence[bytes]) -> bool:
        """Put new blocks to their place, where there is a window; return whether there was one."""
        answer = await self.calls.run(_script("push"), name, *self.bounds.arguments, *blocks)
        return bool(answer)

    async def fill(self, name: bytes, token: bytes, blocks: Sequence[bytes]) -> bool:
        """Replace a window that is begun under the token, or broken; return whether it was."""
        answer = await self.calls.run(_script("fill"), name, *self.bounds.arguments, token, *blocks)
        return bool(answer)

    async def drop(self, name: bytes) -> None:
        """Remove a window."""
        await self.calls.run(_script("drop"), name)


def open_store(
    url: str,
    bounds: Bounds | None = None,
    *,
    connections: int = 4,
    timeout: float = 0.25,
    revive: Callable[[], None] | None = None,
) -> WindowStore:
    """Return the windows in the Redis of a URL; nothing is connected yet.

    A call waits at most twice ``timeout`` (seconds). ``revive`` starts a server that is ours to start. Raises
    ConfigurationError (``redis_url_invalid``).
    """
    calls = Calls(target_of(url), connections=connections, timeout=timeout, revive=revive)
    return WindowStore(calls, bounds or Bounds())


@cache
def _script(name: str) -> Script:
    folder = files("mnemic.session") / "scripts"
    text = "\n".join(
        (folder / f"{part}.lua").read_text(encoding="utf-8") for part in ("elements", name)
    )
    return Script(hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), text)
