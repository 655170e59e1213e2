"""How do hundreds of clients ask one server without costing more than the server?

Each client is one kept-alive connection on asyncio's bare protocol: bytes out, status line and length in, the
next request at once. Nothing of an answer is read but what a check needs.
"""

from __future__ import annotations

import asyncio
import json
import re
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Request:
    """What goes out: ``kind`` groups the figures (add, search)."""

    kind: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for a request, after ``seconds``."""

    client: int
    kind: str
    status: int
    body: bytes
    seconds: float


@dataclass(slots=True)
class Figures:
    """What was measured: seconds by kind, statuses, connections lost, and what the clients cost."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    lost: int = 0
    elapsed: float = 0.0
    own_cpu: float = 0.0

    @property
    def requests(self) -> int:
        return self.statuses.total()

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.requests / self.elapsed

    @property
    def cpu_a_request(self) -> float:
        """Seconds of processor time that these clients spent on each request."""
        return self.own_cpu / max(1, self.requests)

    def at(self, share: float, kind: str | None = None) -> float:
        """Return a quantile in seconds, of one kind or of all."""
        kinds = self.seconds if kind is None else {kind: self.seconds[kind]}
        found = sorted(value for values in kinds.values() for value in values)
        return found[min(len(found) - 1, int(share * len(found)))]

    def note(self, answer: Answer) -> None:
        self.statuses[answer.status] += 1
        self.seconds.setdefault(answer.kind, []).append(answer.seconds)

    def merged(self, other: Figures) -> Figures:
        """Return the figures of two stretches as one."""
        kinds = self.seconds.keys() | other.seconds.keys()
        return Figures(
            {kind: self.seconds.get(kind, []) + other.seconds.get(kind, []) for kind in kinds},
            self.statuses + other.statuses,
            self.lost + other.lost,
            self.elapsed + other.elapsed,
            self.own_cpu + other.own_cpu,
        )


def request(kind: str, method: str, path: str, body: object, headers: dict[str, str]) -> Request:
    """Return a request as bytes."""
    content = json.dumps(body, ensure_ascii=False).encode()
    head = [f"{method} {path} HTTP/1.1", "Host: soak", "Content-Type: application/json"]
    head += [f"{name}: {value}" for name, value in headers.items()]
    head.append(f"Content-Length: {len(content)}")
    return Request(kind, "\r\n".join(head).encode() + _END + content)


class _Client(asyncio.Protocol):
    """One connection that asks, waits, and asks again until its time is up."""

    def __init__(
        self, number: int, ask: Iterator[Request], until: float, told: Callable[[Answer], None]
    ) -> None:
        self._number, self._ask, self._until, self._told = number, ask, until, told
        self._buffer = b""
        self._sent: tuple[str, float] | None = None
        self.done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._next()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head = self._buffer.find(_END)
        if head < 0:
            return
        length = _LENGTH.search(self._buffer, 0, head)
        size = head + 4 + (int(length[1]) if length else 0)
        if len(self._buffer) < size:
            return
        assert self._sent is not None
        kind, began = self._sent
        status, body = int(self._buffer[9:12]), self._buffer[head + 4 : size]
        self._buffer, self._sent = self._buffer[size:], None
        self._told(Answer(self._number, kind, status, body, time.perf_counter() - began))
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(self._sent is None)

    def _next(self) -> None:
        if time.perf_counter() >= self._until:
            self._transport.close()
            return
        asked = next(self._ask)
        self._sent = (asked.kind, time.perf_counter())
        self._transport.write(asked.data)


async def drive(
    address: tuple[str, int],
    asks: list[Iterator[Request]],
    seconds: float,
    seen: Callable[[Answer], None] = lambda answer: None,
) -> Figures:
    """Let one client an iterator ask for ``seconds``, all at once; return what was measured.

    A client whose connection is lost in the middle of a request is counted and connects again.
    """
    figures = Figures()

    def told(answer: Answer) -> None:
        figures.note(answer)
        seen(answer)

    async def client(number: int, ask: Iterator[Request]) -> None:
        while time.perf_counter() < until:
            try:
                _, made = await loop.create_connection(
                    lambda: _Client(number, ask, until, told), *address
                )
            except OSError:
                figures.lost += 1
                await asyncio.sleep(0.05)
                continue
            if not await made.done:
                figures.lost += 1

    loop = asyncio.get_running_loop()
    began, spent = time.perf_counter(), _own_cpu()
    until = began + seconds
    await asyncio.gather(*(client(number, ask) for number, ask in enumerate(asks)))
    figures.elapsed, figures.own_cpu = time.perf_counter() - began, _own_cpu() - spent
    return figures


def _own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
