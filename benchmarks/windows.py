"""How fast is a conversation's window, beside the bare commands of Redis and a bare INSERT in the same run?

The floor of a read is LRANGE of the same 20 turns in plain JSON, by redis-py from one process with 50
clients; that of a push is one pipeline of RPUSHX, LTRIM and PEXPIRE; that of an append with log is a bare
INSERT of the very row, one a transaction. Windows are measured as built from the log (blocks of turns) and as
grown turn by turn (every turn sealed by itself).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from benchmarks import floor
from benchmarks.data import sentence
from benchmarks.measure import throughput
from benchmarks.ours import World
from benchmarks.table import Line, bounded, within
from mnemic.crypto import place
from mnemic.model import Actor, Turn
from mnemic.session.messages import MessageLog
from mnemic.session.window import Window
from mnemic.session.window_blocks import blocks_of
from mnemic.session.window_keys import WindowKey
from mnemic.session.window_store import WindowStore, open_store
from mnemic.storage.valkey import join_valkey

TURNS, CLIENTS, WRITERS = 20, 50, 8
OFFERED = 2_000
_BARE = """
insert into floor_message (scope_key, session_id, seq, role, content_enc, created_at)
values (%s, 's', %s, 'user', %s, now())
"""
Call = Callable[[int], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Hall:
    """Windows on the embedded server, and the same turns in bare lists beside them."""

    window: Window
    store: WindowStore
    bare: Any
    built: Sequence[Actor]
    grown: Sequence[Actor]

    def list_of(self, number: int) -> str:
        return f"bare:{number % len(self.built)}"

    async def read_built(self, number: int) -> None:
        turns = await self.window.read(self.built[number % len(self.built)], TURNS)
        assert len(turns) == TURNS

    async def read_grown(self, number: int) -> None:
        turns = await self.window.read(self.grown[number % len(self.grown)], TURNS)
        assert len(turns) == TURNS

    async def read_bare(self, number: int) -> None:
        found = await self.bare.lrange(self.list_of(number), -TURNS, -1)
        assert len(found) == TURNS


async def measured(
    world: World, folder: Path, *, seconds: float = 5.0, sessions: int = 200
) -> list[Line]:
    """Measure reads and writes of windows; ``folder`` gets the embedded server."""
    async with _hall(world, folder, sessions) as hall:
        return [
            await _offered(hall, seconds),
            *await _saturated(hall, int(2_000 * seconds)),
            await _pushes(world, hall, int(1_000 * seconds)),
            *await _appends(world, hall, int(1_500 * seconds)),
        ]


@asynccontextmanager
async def _hall(world: World, folder: Path, sessions: int) -> AsyncIterator[Hall]:
    from redis.asyncio import BlockingConnectionPool, Redis
    from redis.asyncio.connection import UnixDomainSocketConnection

    server = join_valkey(folder)
    store = open_store(server.url, revive=server.revive)
    deployment = world.deployment
    log = MessageLog(deployment.database, deployment.keys)
    window = Window(deployment.database, deployment.keys, store, log)
    pool = BlockingConnectionPool(
        connection_class=UnixDomainSocketConnection,
        path=str(server.socket),
        max_connections=CLIENTS,
    )
    try:
        async with Redis.from_pool(pool) as bare:
            hall = Hall(window, store, bare, _users("built", sessions), _users("grown", sessions))
            await _furnish(hall)
            yield hall
    finally:
        await window.close()
        server.leave()


def _users(name: str, count: int) -> list[Actor]:
    return [Actor(f"{name}{number}", session="s") for number in range(count)]


def _turns(count: int = TURNS) -> list[Turn]:
    rng = Random("window")
    return [
        Turn("assistant" if number % 2 else "user", sentence(rng, rng.randrange(16)))
        for number in range(count)
    ]


async def _furnish(hall: Hall) -> None:
    turns = _turns()
    plain = [
        json.dumps(
            [turn.role, turn.content, "2026-03-02T09:14:00.123456+00:00"], ensure_ascii=False
        )
        for turn in turns
    ]
    for number, (built, grown) in enumerate(zip(hall.built, hall.grown, strict=True)):
        await hall.window.append(built, turns)
        await hall.window.read(built, TURNS)
        for turn in turns[:1]:
            await hall.window.append(grown, [turn])
        await hall.window.read(grown, TURNS)
        for turn in turns[1:]:
            await hall.window.append(grown, [turn])
        await hall.bare.rpush(hall.list_of(number), *plain)


async def _offered(hall: Hall, seconds: float) -> Line:
    """Start reads at a fixed rate, whether earlier ones have ended or not; timed from when it was due."""
    late: list[float] = []

    async def one(number: int, due: float) -> None:
        await hall.read_grown(number)
        late.append((time.perf_counter() - due) * 1000)

    running: set[asyncio.Task[None]] = set()
    begun, count = time.perf_counter(), int(OFFERED * seconds)
    for number in range(count):
        due = begun + number / OFFERED
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        task = asyncio.create_task(one(number, due))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)
    late.sort()
    what = f"window read of {TURNS} turns, {OFFERED:,} a second offered, p99"
    line = bounded(what, late[int(len(late) * 0.99)], "ms", 5)
    return Line(line.what, line.figure, f"p50 {median(late):.2f} ms", None, line.budget, line.met)


async def _saturated(hall: Hall, count: int) -> list[Line]:
    calls: dict[str, Call] = {
        "bare": hall.read_bare,
        "built": hall.read_built,
        "grown": hall.read_grown,
    }
    found = await _rounds(calls, count, CLIENTS)
    bare = median(found["bare"])
    return [
        within(
            f"window read of {TURNS} turns, {CLIENTS} clients, {told}",
            f"{median(found[name]):,.0f} /s",
            f"{bare:,.0f} /s",
            _ratio(found[name], found["bare"]),
            budget=0.5,
            least=True,
        )
        for name, told in (("built", "built from the log"), ("grown", "grown turn by turn"))
    ]


async def _pushes(world: World, hall: Hall, count: int) -> Line:
    """The Redis part of a write: sealing one turn and its call, beside a bare pipeline."""
    actor = hall.built[0]
    key = WindowKey.of(await _key(world, actor))
    name, seqs, text = key.name(actor), itertools.count(TURNS + 1), _turns(1)[0]
    plain = json.dumps([text.role, text.content])

    async def ours(_: int) -> None:
        turn = Turn(text.role, text.content, text.created_at, next(seqs))
        assert await hall.store.push(name, blocks_of(key.cipher, name, [turn]))

    async def bare(number: int) -> None:
        async with hall.bare.pipeline(transaction=False) as pipeline:
            pipeline.rpushx(hall.list_of(number), plain)
            pipeline.ltrim(hall.list_of(number), -200, -1)
            pipeline.pexpire(hall.list_of(number), 1_800_000)
            await pipeline.execute()

    found = await _rounds({"ours": ours, "bare": bare}, count, CLIENTS)
    told = f"{median(found['bare']):,.0f} /s"
    line = bounded(
        "Redis part of a write", median(found["ours"]), "/s", 3_800, least=True, floor=told
    )
    ratio = round(_ratio(found["ours"], found["bare"]), 2)
    return Line(line.what, line.figure, line.floor, ratio, line.budget, line.met)


async def _appends(world: World, hall: Hall, count: int) -> list[Line]:
    """A turn into the log and the window, beside a bare INSERT of its row, from many clients and from few."""
    await world.owner.execute(
        "create table if not exists floor_message"
        " (like message including defaults including constraints, primary key (scope_key, session_id, seq))"
    )
    conns = [await floor.connect(world.floor_url, world.settings.db_schema) for _ in range(CLIENTS)]
    key, (turn,) = await _key(world, hall.built[0]), _turns(1)
    seqs = itertools.count(1)

    async def ours(number: int) -> None:
        await hall.window.append(hall.grown[number % len(hall.grown)], [turn])

    async def bare(number: int) -> None:
        conn = conns.pop()
        scope, seq = hall.grown[number % len(hall.grown)].session_scope, next(seqs)
        sealed = key.seal(turn.content, place("message", str(scope), seq, "content"))
        await conn.execute(_BARE, (scope, seq, sealed))
        conns.append(conn)

    many = await _rounds({"ours": ours, "bare": bare}, count, CLIENTS)
    few = await _rounds({"ours": ours, "bare": bare}, count, WRITERS)
    for conn in conns:
        await conn.close()
    what, told = (
        "append to log and window",
        [
            (f"{median(found['ours']):,.0f} /s", f"{median(found['bare']):,.0f} /s")
            for found in (many, few)
        ],
    )
    ratio = _ratio(many["ours"], many["bare"])
    return [
        within(f"{what}, {CLIENTS} clients", *told[0], ratio, budget=0.4, least=True),
        Line(f"{what}, {WRITERS} clients", *told[1], round(_ratio(few["ours"], few["bare"]), 2)),
    ]


async def _rounds(calls: dict[str, Call], count: int, clients: int) -> dict[str, list[float]]:
    """Measure each call five times, alternating, with as many clients."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    numbers = range(max(count // 5, clients))
    for number in range(5):
        for name in list(calls) if number % 2 == 0 else list(calls)[::-1]:
            found[name].append(await throughput(calls[name], numbers, clients))
    return found


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return median(a / b for a, b in zip(ours, theirs, strict=True))


async def _key(world: World, actor: Actor) -> Any:
    async with world.deployment.database.transaction(actor) as tx:
        return await world.deployment.keys.obtain(tx, actor)
