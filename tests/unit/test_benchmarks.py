"""Do the benchmarks measure what they say, on a corpus small enough for every run of the tests?"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest
from benchmarks import floor, run, scenarios, table
from benchmarks.data import Corpus, Matrix
from benchmarks.measure import Series, interleaved, rounds, throughput
from benchmarks.ours import World, world
from benchmarks.page import page
from benchmarks.table import Line, bounded, within

from mnemic.model import Actor
from mnemic.settings import Settings

FEW = Corpus("user", 3, 30)


@pytest.fixture
async def small(settings: Settings) -> AsyncIterator[World]:
    """A schema with three users' memories in our table and the floor's."""
    async with world(settings) as opened:
        await opened.load(FEW)
        yield opened


def test_a_corpus_is_the_same_every_time_and_its_texts_differ() -> None:
    first, again, other = FEW.memories(0), Corpus("user", 3, 30).memories(0), FEW.memories(1)
    assert first.texts == again.texts
    assert np.array_equal(first.vectors, again.vectors)
    assert len(set(first.texts)) == 30
    assert first.texts != other.texts
    assert {text.isascii() for text in first.texts} == {True, False}


def test_a_question_lies_nearest_to_the_memory_that_it_is_about() -> None:
    for question in FEW.questions(20):
        memories = FEW.memories(int(question.user.removeprefix("user")))
        (nearest,) = floor.exact(memories.vectors, question.vector, 1)
        assert float(memories.vectors[nearest] @ np.array(question.vector)) > 0.7


def test_the_ratio_compares_neighbouring_blocks() -> None:
    slow, fast = Series([[4.0, 4.0], [40.0, 40.0]]), Series([[2.0, 2.0], [20.0, 20.0]])
    assert slow.ratio(fast) == 2.0
    assert (slow.p50, slow.p99) == (22.0, 40.0)


async def test_calls_alternate_and_every_input_is_timed() -> None:
    said: list[str] = []

    async def call(name: str) -> None:
        said.append(name)

    found = await interleaved(
        {"a": lambda n: call(f"a{n}"), "b": lambda n: call(f"b{n}")}, [1, 2, 3], warm=0, block=1
    )
    assert said == ["a1", "b1", "b2", "a2", "a3", "b3"]
    assert [len(block) for block in found["a"].blocks] == [1, 1, 1]


async def test_throughput_counts_what_several_clients_do_at_once() -> None:
    async def call(seconds: float) -> None:
        await asyncio.sleep(seconds)

    alone = await throughput(call, [0.01] * 4, 1)
    together = await throughput(call, [0.01] * 4, 4)
    assert together > alone * 1.5
    found = await rounds({"x": lambda share: throughput(call, share, 2)}, [0.0] * 9, 3)
    assert len(found["x"]) == 3


async def test_loaded_items_are_read_like_those_of_the_gate(small: World) -> None:
    memories = FEW.memories(0)
    page_of = await small.memory.list(Actor("user0"), limit=100)
    assert {item.content for item in page_of.items} == set(memories.texts)
    (verdict,) = [
        await small.memory.check_duplicate(Actor("user0"), text)
        for text in _known(small, memories.texts[:1], memories.vectors)
    ]
    assert verdict.why == "exact"


async def test_search_is_measured_beside_the_floor_and_is_exact(small: World) -> None:
    lines = await scenarios.search(small, FEW, count=20)
    assert [line.ratio is not None for line in lines] == [True, False, True, False]
    assert all(line.met for line in await scenarios.exactness(small, FEW, count=10))


async def test_writes_are_stored_and_measured_beside_a_bare_insert(small: World) -> None:
    lines = await scenarios.writes(small, FEW, count=20)
    assert "of 20 stored" in lines[0].what
    assert [line.ratio is not None for line in lines] == [True, False, True, True, False]
    cursor = await small.owner.execute("select count(*) from floor_row")
    assert await cursor.fetchone() == (60,), "of each text one alone and one with all"


def test_a_budget_is_met_or_not_and_the_page_says_so() -> None:
    lines = [
        within("search", "2 ms", "1 ms", 2.0, 8),
        bounded("clients", 500, "/s", 600, least=True),
        Line("p99", "3 ms"),
    ]
    assert [line.met for line in lines] == [True, False, None]
    assert "| clients | 500 /s |  |  | >= 600 /s | NOT MET |" in table.markdown(lines)
    text = page(lines, run.command(run.parsed(["--full", "--peers"])))
    assert text.startswith("# Benchmarks")
    assert "`python -m benchmarks.run --full --peers --write`" in text
    assert json.loads(json.dumps(table.as_json(lines)))[0]["ratio"] == 2.0


def test_the_command_line_knows_its_sizes() -> None:
    asked = run.parsed(["--items", "500", "--json"])
    assert (asked.items, asked.json, asked.full, asked.peers) == (500, True, False, False)
    assert run.command(asked) == "python -m benchmarks.run --items 500 --write"


def _known(small: World, texts: Sequence[str], vectors: Matrix) -> Sequence[str]:
    """Tell the embedder the vectors of these texts."""
    for text, vector in zip(texts, vectors, strict=False):
        small.embedder.learn(text, tuple(vector.tolist()))
    return texts
