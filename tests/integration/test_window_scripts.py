"""Can any order of events make a window look whole when it lacks a turn?

Writers log turns and push them later, in any order; readers begin windows, read the log and fill later; some
drop the window in between. What is read as whole has no gap, and once every push has arrived it reaches to
the end of the log.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mnemic.model import Turn
from mnemic.session.window_blocks import blocks_of, turns_in
from mnemic.session.window_store import Bounds, WindowStore, open_store
from mnemic.storage.valkey import JoinedValkey, join_valkey

CIPHER, NAME = AESGCM(os.urandom(32)), b"mnemic:ctx:{u}:s"
TOKENS = [b"reader %d" % number for number in range(3)]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("log"), st.integers(1, 25)),
        st.tuples(st.just("push"), st.integers(0, 5)),
        st.tuples(st.just("push again"), st.integers(0, 5)),
        st.tuples(st.just("read"), st.integers(0, 2)),
        st.tuples(st.just("fill"), st.integers(0, 2)),
        st.tuples(st.just("drop"), st.just(0)),
    ),
    min_size=10,
    max_size=80,
)
CAME_WHILE_FILLING = [
    *(("log", 5), ("push", 0), ("read", 0), ("log", 2), ("push", 0), ("fill", 0)),
]
A_LATE_READER = [
    *(("log", 5), ("push", 0), ("read", 0), ("drop", 0), ("log", 2), ("push", 0)),
    *(("read", 1), ("fill", 0), ("read", 2)),
]
OUT_OF_ORDER = [
    *(("log", 5), ("read", 0), ("fill", 0), ("log", 1), ("log", 1), ("log", 1)),
    *(("push", 2), ("push", 1), ("push", 0), ("push", 0)),
]


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JoinedValkey]:
    server = join_valkey(tmp_path_factory.mktemp("scripts") / "data")
    yield server
    server.leave()


@dataclass
class World:
    """The log as its length, what is on its way to the window, and what readers saw of the log."""

    store: WindowStore
    logged: int = 0
    under_way: list[range] = field(default_factory=list)
    pushed: list[range] = field(default_factory=list)
    seen: dict[int, int] = field(default_factory=dict)

    def sealed(self, seqs: range) -> list[bytes]:
        return blocks_of(CIPHER, NAME, [Turn("user", f"turn {seq}", seq=seq) for seq in seqs])

    async def take(self, what: str, number: int) -> None:
        if what == "log":
            self.under_way.append(range(self.logged + 1, self.logged + number + 1))
            self.logged += number
        elif what == "push" and self.under_way:
            self.pushed.append(self.under_way.pop(number % len(self.under_way)))
            await self.store.push(NAME, self.sealed(self.pushed[-1]))
        elif what == "push again" and self.pushed:
            await self.store.push(NAME, self.sealed(self.pushed[number % len(self.pushed)]))
        elif what == "read":
            await self.read(number)
        elif what == "fill" and self.seen.get(number):
            last = self.seen.pop(number)
            first = max(1, last - self.store.bounds.turns + 1)
            await self.store.fill(NAME, TOKENS[number], self.sealed(range(first, last + 1)))
        elif what == "drop":
            await self.store.drop(NAME)

    async def read(self, number: int) -> None:
        """Look into the window as a reader does, who then sees the log as it is."""
        found = await self.store.read(NAME, 10_000, TOKENS[number])
        if found.state in ("mine", "broken"):
            self.seen[number] = self.logged
        if found.state != "whole":
            return
        turns = turns_in(CIPHER, NAME, found.blocks)
        assert all(b.seq == (a.seq or 0) + 1 for a, b in pairwise(turns))
        assert [turn.content for turn in turns] == [f"turn {turn.seq}" for turn in turns]
        assert len(turns) <= self.store.bounds.turns
        assert found.last <= self.logged
        missing = [seqs for seqs in self.under_way if seqs.start <= self.logged]
        if not missing:
            assert found.last == self.logged, "whole, and the newest turn is not there"


@example(CAME_WHILE_FILLING)
@example(A_LATE_READER)
@example(OUT_OF_ORDER)
@given(STEPS)
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_what_is_whole_lacks_nothing_whatever_the_order(
    joined: JoinedValkey, steps: list[tuple[str, int]]
) -> None:
    async def live() -> None:
        store = open_store(joined.url, Bounds(turns=60), timeout=5.0)
        world = World(store)
        await store.drop(NAME)
        for what, number in steps:
            await world.take(what, number)
        while world.under_way:
            await world.take("push", 0)
        await world.read(0)
        await store.calls.close()

    asyncio.run(live())
