"""How is one thing compared with another on a machine that other work disturbs?

In blocks that alternate (A, B, A, B ...): what slows the machine slows both. The ratio is the
median of the ratios of neighbouring blocks, so a disturbance spoils pairs, not the figure.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from statistics import median
from typing import TypeVar

T = TypeVar("T")
Call = Callable[[T], Awaitable[object]]
BLOCK = 10


@dataclass(slots=True)
class Series:
    """Milliseconds of single calls, in blocks."""

    blocks: list[list[float]] = field(default_factory=list)

    @property
    def all(self) -> list[float]:
        return sorted(value for block in self.blocks for value in block)

    @property
    def p50(self) -> float:
        return median(self.all)

    @property
    def p99(self) -> float:
        values = self.all
        return values[min(len(values) - 1, int(len(values) * 0.99))]

    def ratio(self, other: Series) -> float:
        """Return how much slower this is than ``other``, block by block."""
        pairs = zip(self.blocks, other.blocks, strict=True)
        return median(median(mine) / median(theirs) for mine, theirs in pairs)


async def interleaved(
    calls: Mapping[str, Call[T]], inputs: Sequence[T], *, warm: int = 20, block: int = BLOCK
) -> dict[str, Series]:
    """Time every call on every input, alternating block by block; ``warm`` inputs go ahead untimed."""
    for call in calls.values():
        for value in inputs[:warm]:
            await call(value)
    found = {name: Series() for name in calls}
    for number, start in enumerate(range(0, len(inputs), block)):
        names = list(calls) if number % 2 == 0 else list(calls)[::-1]
        for name in names:
            found[name].blocks.append(
                [await _timed(calls[name], value) for value in inputs[start : start + block]]
            )
    return found


async def throughput(call: Call[T], inputs: Sequence[T], clients: int) -> float:
    """Return calls a second when ``clients`` tasks take turns at the inputs."""
    waiting = iter(inputs)

    async def client() -> None:
        for value in waiting:
            await call(value)

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return len(inputs) / (time.perf_counter() - start)


async def rounds(
    calls: Mapping[str, Callable[[Sequence[T]], Awaitable[float]]],
    inputs: Sequence[T],
    count: int,
) -> dict[str, list[float]]:
    """Run each throughput measurement ``count`` times, alternating, on its share of the inputs."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    size, source = len(inputs) // count, iter(inputs)
    for number in range(count):
        share = list(islice(source, size))
        for name in list(calls) if number % 2 == 0 else list(calls)[::-1]:
            found[name].append(await calls[name](share))
    return found


async def _timed(call: Call[T], value: T) -> float:
    start = time.perf_counter()
    await call(value)
    return (time.perf_counter() - start) * 1000
