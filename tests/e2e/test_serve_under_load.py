"""Does the service keep its word under load, when it is told to stop and when a worker is killed?

Clients add and search as fast as they are answered; what was acknowledged must be there afterwards, from the
service that starts next.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from benchmarks.soak_clients import Answer, Figures, drive
from benchmarks.soak_texts import our_asks, user_of

from e2e.serving import Place, Served, key_of, place_at, wait_for

CLIENTS = 24
HOUSE = {"MNEMIC_RATE_LIMIT": "off", "MNEMIC_CONSENT": "implied"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with place_at(tmp_path_factory.mktemp("load")) as made:
        yield made


@dataclass
class Told:
    """What the clients were told: the ids of each one's memories that were acknowledged."""

    ids: dict[int, set[str]] = field(default_factory=dict)
    count: int = 0

    def see(self, answer: Answer) -> None:
        self.count += 1
        if answer.status == 201:
            self.ids.setdefault(answer.client, set()).add(json.loads(answer.body)["id"])


def address_of(served: Served) -> tuple[str, int]:
    at = urlsplit(served.told["url"])
    assert at.hostname is not None
    assert at.port is not None
    return at.hostname, at.port


def under_load(served: Served, key: str, told: Told, during: Callable[[], None]) -> Figures:
    """Do something, and drive the clients until it is done and for a second afterwards."""

    async def both() -> Figures:
        figures, asks = Figures(), our_asks(CLIENTS, 0.5, key)
        doing = asyncio.ensure_future(asyncio.to_thread(during))
        over = False
        while not over:
            over = doing.done()
            figures = figures.merged(await drive(address_of(served), asks, 1.0, told.see))
        await doing
        return figures

    return asyncio.run(both())


def lost(served: Served, key: str, told: Told) -> int:
    """Return how many acknowledged memories the service does not have."""
    gone = 0
    for client, ids in told.ids.items():
        found: set[str] = set()
        for status in ("active", "pending", "superseded", "archived"):
            page = served.ask(
                "GET",
                f"/api/memory?limit=1000&status={status}",
                key=key,
                Mnemic_User=user_of(client),
            ).json
            found |= {item["id"] for item in page["items"]}
        gone += len(ids - found)
    return gone


def test_sigterm_under_load_loses_no_acknowledged_write(place: Place) -> None:
    key, told, ended = key_of(place, "--kind", "service"), Told(), []

    def stop() -> None:
        wait_for(lambda: sum(map(len, told.ids.values())) > 60)
        began = time.monotonic()
        ended.append(served.stop())
        assert time.monotonic() - began < 20

    with place.served("--workers", "2", **HOUSE) as served:
        figures = under_load(served, key, told, stop)
    assert ended == [0]
    assert set(figures.statuses) <= {200, 201, 503}
    with place.served("--workers", "1", **HOUSE) as served:
        assert sum(map(len, told.ids.values())) > 60
        assert lost(served, key, told) == 0


def test_sigkill_of_one_of_two_workers_leaves_the_other_serving(place: Place) -> None:
    key, told = key_of(place, "--kind", "service"), Told()

    def kill() -> None:
        wait_for(lambda: sum(map(len, told.ids.values())) > 30)
        before = served.workers
        os.kill(before[0], signal.SIGKILL)
        count = told.count
        wait_for(lambda: told.count > count + 20)
        wait_for(lambda: len(served.workers) == 2 and before[0] not in served.workers)
        assert before[1] in served.workers

    with place.served("--workers", "2", **HOUSE) as served:
        wait_for(lambda: len(served.workers) == 2)
        figures = under_load(served, key, told, kill)
        assert set(figures.statuses) <= {200, 201}
        assert figures.lost <= CLIENTS  # those whose connection the dead one held
        assert lost(served, key, told) == 0
        assert served.stop() == 0


def test_whoever_waits_for_a_connection_of_a_dead_worker_is_served(place: Place) -> None:
    key = key_of(place, "--kind", "service")
    with place.served("--workers", "2", **HOUSE) as served:
        wait_for(lambda: len(served.workers) == 2)
        os.kill(served.workers[0], signal.SIGKILL)
        for _ in range(6):
            reply = served.ask("GET", "/api/memory", key=key, Mnemic_User="kim")
            assert reply.status == 200
        assert Path(served.log).read_text().count('"event": "unforeseen"') == 0
