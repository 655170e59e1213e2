"""What is measured, on which data, against which budget (DESIGN, budgets)?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from statistics import median
from typing import Any

from benchmarks import floor
from benchmarks.data import Corpus, Question, nearby, sentence, tuple_of
from benchmarks.measure import Call, Series, interleaved, rounds, throughput
from benchmarks.ours import World
from benchmarks.table import Line, bounded, within
from mnemic.ids import new_id
from mnemic.item_rows import seal_texts, search_columns
from mnemic.longterm.draft import Draft
from mnemic.longterm.judge import slots
from mnemic.model import Actor

CLIENTS = 8


async def search(world: World, corpus: Corpus, count: int = 300) -> list[Line]:
    """One client, both arms and the vector arm alone, beside the floor; rows and keys are at hand."""
    questions = world.prepare(list(corpus.questions(count)))
    found = await interleaved(
        {
            "floor": lambda question: floor.nearest(world.owner, question),
            "arm": world.vector_arm,
            "ours": world.search,
        },
        questions,
        warm=count,
    )
    base, arm, ours = found["floor"], found["arm"], found["ours"]
    size, floor_p99 = f"{corpus.items:,} items, {corpus.per_user:,} a user", f"{base.p99:.2f} ms"
    return [
        _p50(f"search p50, {size}", ours, base, budget=8),
        Line(f"search p99, {size}", f"{ours.p99:.2f} ms", floor_p99),
        _p50(f"vector arm alone p50, {size}", arm, base, budget=2),
        Line(f"vector arm alone p99, {size}", f"{arm.p99:.2f} ms", floor_p99),
    ]


async def strangers(world: World, corpus: Corpus, count: int = 100) -> list[Line]:
    """Users who were not here lately: their key is fetched and unwrapped first."""
    questions = world.prepare(list(corpus.questions(count, seed=5)))

    async def ours(question: Question) -> None:
        world.memory._parts.deployment.keys.forget(Actor(question.user).user_scope)
        await world.search(question)

    found = await interleaved(
        {"floor": lambda question: floor.nearest(world.owner, question), "ours": ours}, questions
    )
    return [_p50("search p50, key fetched", found["ours"], found["floor"])]


async def exactness(world: World, corpus: Corpus, count: int = 50) -> list[Line]:
    """Are the nearest the nearest, and the best of few the best of all?"""
    questions = world.prepare(list(corpus.questions(count, seed=1)))
    nearest = best = 0
    for question in questions:
        memories = corpus.memories(int(question.user.removeprefix(corpus.name)))
        wanted = [
            memories.texts[i] for i in floor.exact(memories.vectors, question.vector, floor.K)
        ]
        texts = await _texts(world, question.user)
        nearest += [texts[i] for i in await world.vector_arm(question)] == wanted
        everything = await world.search(question, k=100)
        best += await world.search(question) == everything[: floor.K]
    return [
        bounded("vector arm equal to exact search", nearest / count, "of all", 1, least=True),
        bounded("top 5 equal to the first 5 of 100", best / count, "of all", 1, least=True),
    ]


async def large_scope(world: World, corpus: Corpus, count: int = 60) -> list[Line]:
    """One user with very many items."""
    questions = world.prepare(list(corpus.questions(count, seed=2)))
    found = await interleaved(
        {"floor": lambda q: floor.nearest(world.owner, q), "ours": world.search},
        questions,
        warm=5,
        block=5,
    )
    what = f"search p50 in one scope of {corpus.per_user:,}"
    base = found["floor"]
    line = bounded(what, found["ours"].p50, "ms", 25, floor=f"{base.p50:.2f} ms")
    return [
        Line(
            line.what,
            line.figure,
            line.floor,
            round(found["ours"].ratio(base), 2),
            line.budget,
            line.met,
        )
    ]


async def growth(
    small: World, few: Corpus, large: World, many: Corpus, count: int = 300
) -> list[Line]:
    """The same scope size in a table ten times as large."""
    pairs = list(
        zip(
            small.prepare(list(few.questions(count, seed=3))),
            large.prepare(list(many.questions(count, seed=3))),
            strict=True,
        )
    )
    found = await interleaved(
        {
            "small": lambda pair: small.search(pair[0]),
            "large": lambda pair: large.search(pair[1]),
        },
        pairs,
    )
    line = within(
        f"search p50, {many.items:,} items beside {few.items:,}",
        f"{found['large'].p50:.2f} ms",
        f"{found['small'].p50:.2f} ms",
        found["large"].ratio(found["small"]),
        budget=1.3,
    )
    return [line]


async def clients(world: World, corpus: Corpus, count: int = 2_000) -> list[Line]:
    """Eight clients at once, as tasks of one process; the floor with as many connections."""
    questions = world.prepare(list(corpus.questions(count, seed=4)))
    conns = [await floor.connect(world.floor_url, world.settings.db_schema) for _ in range(CLIENTS)]

    async def ours(share: Sequence[Question]) -> float:
        return await throughput(world.search, share, CLIENTS)

    async def base(share: Sequence[Question]) -> float:
        idle = list(conns)

        async def one(question: Question) -> None:
            conn = idle.pop()
            await floor.nearest(conn, question)
            idle.append(conn)

        return await throughput(one, share, CLIENTS)

    found = await rounds({"ours": ours, "floor": base}, questions, 5)
    for conn in conns:
        await conn.close()
    line = bounded(
        f"search, {CLIENTS} clients",
        median(found["ours"]),
        "/s",
        600,
        least=True,
        floor=f"{median(found['floor']):,.0f} /s",
    )
    return [line]


async def writes(world: World, corpus: Corpus, count: int = 200) -> list[Line]:
    """The whole gate one text at a time beside a bare INSERT, then in batches; same durability."""
    outcomes: list[str] = []

    async def add(pair: tuple[str, str]) -> None:
        verdict = await world.memory.add_explicit_memory(Actor(pair[0]), pair[1])
        outcomes.append(verdict.outcome)

    async def fetched(pair: tuple[str, str]) -> None:
        world.memory._parts.deployment.keys.forget(Actor(pair[0]).user_scope)
        await add(pair)

    drafts = _new_texts(world, corpus, count)
    (question,) = world.prepare(list(corpus.questions(1, seed=6)))
    for user in {user for user, _ in drafts}:
        await world.search(replace(question, user=user))
    whole, base, every = await _beside_inserts(world, add, drafts)
    stored = sum(outcome in ("stored", "superseded") for outcome in outcomes)
    others = _new_texts(world, corpus, count // 2, seed=1)
    strange, base_strange, _ = await _beside_inserts(world, fetched, others)
    return [
        _p50(f"add p50, one by one ({stored} of {count} stored)", whole, base, budget=5),
        Line("add p99", f"{whole.p99:.2f} ms", f"{base.p99:.2f} ms"),
        _p50("add p50 beside all rows that it writes", whole, every),
        _p50("add p50, key fetched", strange, base_strange),
        await _batches(world, corpus),
    ]


async def _beside_inserts(
    world: World, add: Call[tuple[str, str]], drafts: Sequence[tuple[str, str]]
) -> tuple[Series, Series, Series]:
    """Time adds beside a bare INSERT of the row, and beside all rows that an add writes."""
    key = await _key(world)
    rows = iter([_row(world, key, user, text) for user, text in drafts for _ in range(2)])
    first = await floor.entries(world.owner)
    numbers = iter(range(first + 1, first + 1 + len(drafts)))
    calls: dict[str, Call[tuple[str, str]]] = {
        "floor": lambda _: floor.insert(world.owner, next(rows)),
        "every": lambda _: floor.insert_all(world.owner, next(rows), next(numbers)),
        "ours": add,
    }
    found = await interleaved(calls, drafts, warm=0)
    return found["ours"], found["floor"], found["every"]


def _p50(what: str, ours: Series, base: Series, budget: float | None = None) -> Line:
    """Return the line of two series that were measured beside each other."""
    figure, floor_figure, ratio = f"{ours.p50:.2f} ms", f"{base.p50:.2f} ms", ours.ratio(base)
    if budget is None:
        return Line(what, figure, floor_figure, round(ratio, 2))
    return within(what, figure, floor_figure, ratio, budget)


async def _batches(world: World, corpus: Corpus, batches: int = 5, size: int = 200) -> Line:
    import time

    rates = []
    for number in range(batches):
        drafts = [Draft(text) for _, text in _new_texts(world, corpus, size, seed=100 + number)]
        start = time.perf_counter()
        await world.memory.add_many(Actor(f"{corpus.name}{number}"), drafts)
        rates.append(size / (time.perf_counter() - start))
    return bounded("add_many", median(rates), "items/s", 1_000, least=True)


def _new_texts(world: World, corpus: Corpus, count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Return (user, text) pairs that nobody has said; one in ten lies near to what its user said."""
    rng = Random(f"add|{seed}")
    found = []
    for number in range(count):
        memories = corpus.memories(rng.randrange(corpus.users))
        text = sentence(rng, rng.randrange(16)) + f" ({seed}/{number})"
        start = memories.vectors[rng.randrange(corpus.per_user)]
        noise = 0.4 if number % 10 == 0 else 0.92
        world.embedder.learn(text, tuple_of(nearby(start, rng.randrange(2**31), noise)))
        found.append((memories.user, text))
    return found


async def _key(world: World) -> Any:
    actor = Actor("floor")
    async with world.deployment.database.transaction(actor) as tx:
        return await world.deployment.keys.obtain(tx, actor)


def _row(world: World, key: Any, user: str, text: str) -> tuple[object, ...]:
    row_id, scope_key = new_id(), Actor(user).user_scope
    sealed = seal_texts(key, scope_key, row_id, 1, content=text, reason=None, metadata={})
    vector = world.embedder.known[text]
    found_by = search_columns(key, text, vector, world.model.model_id, slots(text))
    return floor.bare_row(scope_key, user, row_id, sealed, found_by)


async def _texts(world: World, user: str) -> dict[Any, str]:
    cursor = await world.owner.execute(
        "select id, content from floor_item where user_id = %s", (user,)
    )
    return {row[0]: row[1] for row in await cursor.fetchall()}
