"""Do workers that listen on one socket share its connections, whoever is woken first?"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress

import pytest

from mnemic.cli import arrivals as module
from mnemic.cli.arrivals import Arrivals, Counts, shared_file

PATIENCE = 20.0


class Place:
    """One of the workers: what it took from the socket that it shares."""

    def __init__(self, listening: socket.socket, counts: Counts, number: int) -> None:
        self.taken: set[asyncio.BaseTransport] = set()
        self.arrivals = Arrivals(listening, counts, number)

    def protocol(self) -> asyncio.Protocol:
        place = self

        class Held(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                self.transport = transport
                place.taken.add(transport)
                place.arrivals.changed(len(place.taken))

            def connection_lost(self, exc: Exception | None) -> None:
                place.taken.discard(self.transport)
                place.arrivals.changed(len(place.taken))

        return Held()


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=128) as opened:
        opened.setblocking(False)
        yield opened


@pytest.fixture
async def places(listening: socket.socket) -> AsyncIterator[list[Place]]:
    """Two workers; a loop watches a socket once, so the second one has a descriptor of its own."""
    with shared_file(2) as file, listening.dup() as other:
        counts = Counts(file.fileno(), 2)
        made = [Place(listening, counts, 0), Place(other, counts, 1)]
        yield made
        for place in made:
            place.arrivals.close()
            for transport in list(place.taken):
                transport.close()
        await until(lambda: not any(place.taken for place in made))
        counts.close()


async def connected(listening: socket.socket, count: int) -> list[asyncio.StreamWriter]:
    address = listening.getsockname()
    return [(await asyncio.open_connection(*address))[1] for _ in range(count)]


async def until(what: Callable[[], bool]) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE
    while not what():
        assert loop.time() < deadline, "this never happened"
        await asyncio.sleep(0.002)


async def gone(writers: list[asyncio.StreamWriter]) -> None:
    for writer in writers:
        writer.close()
    for writer in writers:
        with suppress(OSError):
            await writer.wait_closed()


def held(places: list[Place]) -> list[int]:
    return [len(place.taken) for place in places]


async def test_a_crowd_that_waits_is_shared(listening: socket.socket, places: list[Place]) -> None:
    writers = await connected(listening, 40)
    for place in places:
        place.arrivals.start(place.protocol)
    await until(lambda: sum(held(places)) == 40)
    assert abs(held(places)[0] - held(places)[1]) <= 4
    await gone(writers)


async def test_whoever_has_fewer_takes_the_next_ones(
    listening: socket.socket, places: list[Place]
) -> None:
    first, second = places
    first.arrivals.start(first.protocol)
    early = await connected(listening, 6)
    await until(lambda: held(places) == [6, 0])
    second.arrivals.start(second.protocol)
    late = await connected(listening, 6)
    await until(lambda: sum(held(places)) == 12)
    assert held(places) == [6, 6]
    await gone(early + late)


async def test_a_worker_that_does_not_come_is_waited_for_only_a_moment(
    listening: socket.socket, places: list[Place]
) -> None:
    """The other one says that it has none, and never takes any: it is busy, or hangs."""
    first, second = places
    second.arrivals.changed(0)
    first.arrivals.start(first.protocol)
    writers = await connected(listening, 12)
    await until(lambda: held(places) == [12, 0])
    await gone(writers)


async def test_a_worker_that_died_is_not_waited_for(
    listening: socket.socket, places: list[Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOMENT", 1_000.0)
    first, second = places
    second.arrivals.changed(0)
    second.arrivals.close()
    first.arrivals.start(first.protocol)
    writers = await connected(listening, 12)
    await until(lambda: held(places) == [12, 0])
    await gone(writers)


async def test_one_that_closes_leaves_what_waits_to_the_others(
    listening: socket.socket, places: list[Place]
) -> None:
    for place in places:
        place.arrivals.start(place.protocol)
    places[0].arrivals.close()
    writers = await connected(listening, 8)
    await until(lambda: held(places) == [0, 8])
    await gone(writers)


async def test_a_machine_that_can_open_nothing_more_is_asked_again(
    listening: socket.socket, places: list[Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.01)
    first = places[0]
    accept, failures = listening.accept, iter(range(3))

    class Exhausted:
        def __getattr__(self, name: str) -> object:
            return getattr(listening, name)

        def accept(self) -> object:
            if next(failures, None) is not None:
                raise OSError(24, "Too many open files")
            return accept()

    monkeypatch.setattr(first.arrivals, "_listening", Exhausted())
    first.arrivals.start(first.protocol)
    writers = await connected(listening, 2)
    await until(lambda: len(first.taken) == 2)
    assert next(failures, None) is None
    await gone(writers)
