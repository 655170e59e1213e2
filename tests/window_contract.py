"""What must hold of a conversation's window, on whatever Redis it lies?

``tests/contract/test_window.py`` runs these tests on the embedded Valkey, ``tests/services`` on Redis, on a
cluster and behind Sentinel: each gives a fixture ``ground``.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest
from redis.exceptions import RedisError
from structlog.testing import capture_logs

from mnemic.deployment import Deployment
from mnemic.errors import EmbeddingError, InvalidInput, NotFound, PermissionDenied
from mnemic.model import Actor, ToolCall, Turn
from mnemic.session.messages import MessageLog
from mnemic.session.window import Bounds, Window
from mnemic.session.window_blocks import blocks_of
from mnemic.session.window_keys import WindowKey
from mnemic.session.window_store import WindowStore, open_store
from mnemic.settings import Settings

PATIENCE = 3.0
"""Seconds for a batch: on a machine full of other tests nothing here may fail for being slow."""
SEVERAL = """
import asyncio, sys
from mnemic.deployment import Deployment
from mnemic.model import Actor, ToolCall, Turn
from mnemic.session.messages import MessageLog
from mnemic.session.window import Window
from mnemic.session.window_store import open_store
from mnemic.settings import Settings

async def main(url, writer, *settings):
    names = ("database_url", "migration_url", "key_file", "db_schema")
    deployment = await Deployment.start(Settings.read(**dict(zip(names, settings))))
    log = MessageLog(deployment.database, deployment.keys)
    window = Window(deployment.database, deployment.keys, open_store(url, timeout=3.0), log)
    actor = Actor("kim", session="s1")
    for number in range(25):
        (seq,) = await window.append(actor, [Turn("user", f"{writer} says {number}")])
        turns = await window.read(actor, 20)
        assert turns[-1].seq >= seq
        assert [turn.seq for turn in turns] == list(range(turns[0].seq, turns[-1].seq + 1))
    assert window.counts.hits > 0
    await window.close()
    await deployment.close()

asyncio.run(main(*sys.argv[1:]))
"""


class Ground(Protocol):
    """A Redis that a test may harm. ``bare`` is a redis-py client of it."""

    url: str
    bare: Any

    async def keys(self) -> list[bytes]:
        """Return the names of all keys."""

    async def flush(self) -> None:
        """Remove every key, as an operator would."""

    async def kill(self) -> None:
        """End with SIGKILL the server that has the windows."""

    async def restore(self) -> None:
        """Have it back, whichever way it comes back here."""

    async def close(self) -> None:
        """Close the clients of a test."""


Open = Callable[..., Awaitable[Window]]


def said(count: int, text: str = "turn", start: int = 1) -> list[Turn]:
    return [
        Turn("assistant" if n % 2 == 0 else "user", f"{text} {n}")
        for n in range(start, start + count)
    ]


async def keys_of(ground: Ground) -> list[bytes]:
    return sorted(await ground.keys())


async def name_of(deployment: Deployment, actor: Actor) -> tuple[WindowKey, bytes]:
    async with deployment.database.transaction(actor) as tx:
        key = WindowKey.of(await deployment.keys.obtain(tx, actor))
    return key, key.name(actor)


async def logged(window: Window, actor: Actor) -> list[Turn]:
    return await window._log.read(actor)


def store_of(window: Window) -> WindowStore:
    assert window._store is not None
    return window._store


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not await condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.05)


@asynccontextmanager
async def client_of(settings: Settings, url: str, **more: Any) -> AsyncIterator[Window]:
    """A client of its own: pool, keys, connections to Redis."""
    bounds = more.pop("bounds", None)
    revive = more.pop("revive", None)
    deployment = await Deployment.start(settings)
    log = MessageLog(deployment.database, deployment.keys)
    store = open_store(url, bounds, timeout=PATIENCE, revive=revive)
    window = Window(deployment.database, deployment.keys, store, log, **more)
    try:
        yield window
    finally:
        await window.close()
        await deployment.close()


@pytest.fixture
async def opened(settings: Settings, ground: Ground) -> AsyncIterator[Open]:
    """Open clients, each as if it were a process of its own."""
    async with AsyncExitStack() as stack:

        async def opens(**more: Any) -> Window:
            more.setdefault("revive", getattr(ground, "revive", None))
            return await stack.enter_async_context(client_of(settings, ground.url, **more))

        yield opens


@pytest.fixture
async def window(opened: Open) -> Window:
    return await opened()


async def test_reads_are_the_tail_of_the_log_and_come_from_the_window(
    window: Window, actor: Actor
) -> None:
    for n in range(1, 46, 3):
        await window.append(actor, said(3, start=n))
    everything = await logged(window, actor)
    assert [turn.content for turn in everything] == [f"turn {n}" for n in range(1, 46)]
    await window.read(actor)
    before = window.counts.hits
    for last in (1, 2, 20, 44, 45, 46, 1000):
        assert await window.read(actor, last) == everything[-last:]
    assert window.counts.hits - before == 7
    assert window.counts.rebuilt == 1


async def test_what_is_odd_in_a_turn_comes_back_as_the_log_has_it(
    window: Window, actor: Actor
) -> None:
    await window.append(actor, [Turn("system", "be kind")])
    await window.read(actor)
    odd = [
        Turn("user", "e\u0301 \x00 und \ud800 emoji 👩‍👩‍👧 中文", speaker=" Kim\u0007 "),
        Turn(
            "assistant",
            "I look it up",
            tool_calls=(ToolCall("c1", "look", {"a": [1, None, '"]']}),),
        ),
        Turn(
            "tool", '{"a": [1, null, "\\"]", {}]}', speaker="", tool_call_id="c1", intent="查天气"
        ),
        Turn("user", "keep this", pinned=True, client_id="mine"),
        Turn("assistant", "", speaker=None),
        Turn("user", ']],[["x"],'),
    ]
    await window.append(actor, odd)
    turns = await window.read(actor)
    assert turns == await logged(window, actor)
    assert window.counts.hits == 1


async def test_pf_091_no_turns_asked_are_no_turns_and_more_than_there_are_are_all(
    window: Window, actor: Actor
) -> None:
    await window.append(actor, said(5))
    assert await window.read(actor, 0) == []
    assert len(await window.read(actor, 10_000)) == 5
    for bad in (-1, 10_001, True, 2.0, "3"):
        with pytest.raises(InvalidInput) as refused:
            await window.read(actor, bad)  # type: ignore[arg-type]
        assert refused.value.code == "last_out_of_range"


async def test_a_session_that_nobody_logged_is_not_found_and_leaves_no_key_for_long(
    window: Window, ground: Ground
) -> None:
    with pytest.raises(NotFound) as refused:
        await window.read(Actor("kim", session="unheard"))
    assert refused.value.code == "session_not_found"
    with pytest.raises(InvalidInput, match="session_required"):
        await window.read(Actor("kim"))
    with pytest.raises(InvalidInput, match="session_required"):
        await window.append(Actor("kim"), said(1))
    assert await keys_of(ground) == []


async def test_a_session_is_continued_from_a_second_client(opened: Open, actor: Actor) -> None:
    phone, desk = await opened(), await opened()
    await phone.append(actor, said(4, "from the phone"))
    assert len(await desk.read(actor)) == 4
    await desk.append(actor, said(2, "from the desk"))
    turns = await phone.read(Actor("kim", session="s1", agent="another"))
    assert [turn.content for turn in turns[-2:]] == ["from the desk 1", "from the desk 2"]
    assert turns == await desk.read(actor)
    assert desk.counts.rebuilt + phone.counts.rebuilt == 1


async def test_pf_062_sessions_and_users_do_not_see_each_other(window: Window) -> None:
    for user, session in (("kim", "s1"), ("kim", "s2"), ("lee", "s1")):
        await window.append(Actor(user, session=session), [Turn("user", f"{user} in {session}")])
    for _ in range(2):
        for user, session in (("kim", "s1"), ("kim", "s2"), ("lee", "s1")):
            (turn,) = await window.read(Actor(user, session=session))
            assert turn.content == f"{user} in {session}"


async def test_redis_has_one_key_a_session_and_nothing_that_can_be_read(
    window: Window, ground: Ground
) -> None:
    actor = Actor("kim-of-hanoi", session="holiday plans")
    await window.append(actor, said(2, "a quiet room"))
    await window.read(actor)
    await window.append(actor, [Turn("user", "with a balcony", intent="book a room")])
    (name,) = await keys_of(ground)
    assert name.startswith(b"mnemic:ctx:{")
    assert name.decode().isascii()
    held = b"".join(await ground.bare.lrange(name, 0, -1)) + name
    for word in (b"kim", b"hanoi", b"holiday", b"room", b"balcony", b"assistant", b"user"):
        assert word not in held.lower()
    assert 0 < await ground.bare.pttl(name) <= 1_800_000


async def test_a_flush_in_the_middle_loses_nothing(
    window: Window, opened: Open, ground: Ground, actor: Actor
) -> None:
    other = await opened()
    await window.append(actor, said(30))
    await window.read(actor)
    await ground.flush()
    await window.append(actor, said(1, "after the flush"))
    assert await keys_of(ground) == []  # a part of the conversation must not look like all of it
    for client in (other, window, other):
        turns = await client.read(actor, 40)
        assert turns == await logged(client, actor)
        assert len(turns) == 31
    assert other.counts.rebuilt == 1
    assert window.counts.rebuilt == 1


async def test_a_gap_and_a_damaged_value_are_noticed_and_mended(
    window: Window, ground: Ground, actor: Actor, deployment: Deployment
) -> None:
    for n in range(12):
        await window.append(actor, said(1, start=n))
        await window.read(actor)
    _, name = await name_of(deployment, actor)
    elements = await ground.bare.lrange(name, 0, -1)
    assert len(elements) == 12
    await ground.bare.lrem(name, 1, elements[6])
    assert len(await window.read(actor)) == 12
    assert window.counts.broken == 1
    (whole,) = await ground.bare.lrange(name, 0, -1)
    await ground.bare.lset(name, 0, whole[:-1] + bytes([whole[-1] ^ 1]))
    assert len(await window.read(actor)) == 12
    assert window.counts.broken == 2
    assert await keys_of(ground) == []
    await window.read(actor)
    before = window.counts.hits
    assert len(await window.read(actor)) == 12
    assert window.counts.hits == before + 1


async def test_values_moved_from_another_session_do_not_open(
    window: Window, ground: Ground, deployment: Deployment
) -> None:
    mine, other = Actor("kim", session="mine"), Actor("kim", session="other")
    for actor in (mine, other):
        await window.append(actor, [Turn("user", f"this is {actor.session}")])
        await window.read(actor)
    (_, here), (_, there) = [await name_of(deployment, actor) for actor in (mine, other)]
    await ground.bare.lset(here, 0, await ground.bare.lindex(there, 0))
    (turn,) = await window.read(mine)
    assert turn.content == "this is mine"
    assert window.counts.broken == 1


async def test_pushes_out_of_order_and_twice_find_their_place(
    window: Window, actor: Actor, deployment: Deployment
) -> None:
    await window.append(actor, said(3))
    await window.read(actor)
    turns = [
        Turn("user", f"late {seq}", created_at=(await logged(window, actor))[0].created_at, seq=seq)
        for seq in range(4, 12)
    ]
    key, name = await name_of(deployment, actor)
    store = store_of(window)
    for seq in (6, 5, 5, 9, 8, 4, 6, 11, 7, 10, 4, 11):
        (block,) = blocks_of(key.cipher, name, [turns[seq - 4]])
        assert await store.push(name, [block])
    found = await store.read(name, 100, b"8 bytes!")
    assert found.state == "whole"
    assert [block.first for block in found.blocks] == [1, *range(4, 12)]


async def test_a_push_that_is_still_missing_shows_as_a_gap_until_it_comes(
    window: Window, actor: Actor, deployment: Deployment
) -> None:
    await window.append(actor, said(3))
    await window.read(actor)
    key, name = await name_of(deployment, actor)
    store = store_of(window)
    for seq, state in ((6, "broken"), (5, "broken"), (4, "whole")):
        await store.push(name, blocks_of(key.cipher, name, [Turn("user", "x", seq=seq)]))
        assert (await store.read(name, 100, b"8 bytes!")).state == state


async def test_only_who_began_a_window_finishes_it_and_turns_that_came_meanwhile_stay(
    window: Window, actor: Actor, deployment: Deployment
) -> None:
    key, name = await name_of(deployment, actor)
    store = store_of(window)

    def sealed(*seqs: int) -> Sequence[bytes]:
        turns = [Turn("user", f"turn {seq}", seq=seq) for seq in seqs]
        return blocks_of(key.cipher, name, turns)

    assert not await store.push(name, sealed(1))
    assert not await store.fill(name, b"first by", sealed(1))
    assert (await store.read(name, 9, b"first by")).state == "mine"
    assert (await store.read(name, 9, b"second 1")).state == "others"
    assert await store.push(name, sealed(4))
    assert (await store.read(name, 9, b"second 1")).state == "others"
    assert not await store.fill(name, b"second 1", sealed(1, 2, 3))
    assert await store.fill(name, b"first by", sealed(1, 2, 3))
    found = await store.read(name, 9, b"second 1")
    assert (found.state, found.first, found.last) == ("whole", 1, 4)
    assert not await store.fill(name, b"second 1", sealed(1, 2))  # an older log changes nothing
    assert (await store.read(name, 9, b"second 1")).last == 4
    await store.drop(name)
    assert not await store.fill(name, b"first by", sealed(1, 2, 3))


async def test_a_window_that_nobody_finishes_goes_and_the_next_reader_builds_it(
    window: Window, ground: Ground, actor: Actor, deployment: Deployment
) -> None:
    await window.append(actor, said(2))
    _, name = await name_of(deployment, actor)
    assert (await store_of(window).read(name, 9, b"a killed")).state == "mine"
    assert len(await window.read(actor)) == 2
    assert window.counts.rebuilt == 0
    await window.append(actor, said(1))
    assert 0 < await ground.bare.pttl(name) <= 5_000
    await ground.bare.pexpire(name, 1)
    await asyncio.sleep(0.05)
    assert len(await window.read(actor)) == 3
    assert window.counts.rebuilt == 1


async def test_pf_110_touches_keep_all_of_a_session_alive_and_a_late_one_finds_all_of_it(
    opened: Open, ground: Ground, actor: Actor
) -> None:
    window = await opened(bounds=Bounds(ttl=1.2))
    await window.append(actor, said(30))
    await window.read(actor)
    for n in range(4):
        await asyncio.sleep(0.6)
        if n % 2:
            await window.append(actor, said(1, start=31 + n))
        else:
            await window.read(actor)
    assert window.counts.rebuilt == 1
    assert len(await keys_of(ground)) == 1  # nothing of a session can expire by itself
    await asyncio.sleep(1.5)
    assert await keys_of(ground) == []
    turns = await window.read(actor, 100)
    assert len(turns) == 32
    assert window.counts.absent == 2


async def test_a_window_is_bounded_in_turns_and_bytes(
    opened: Open, ground: Ground, actor: Actor, deployment: Deployment
) -> None:
    window = await opened(bounds=Bounds(turns=40, size=20_000))
    await window.append(actor, said(1))
    await window.read(actor)
    _, name = await name_of(deployment, actor)
    for n in range(2, 90):
        await window.append(actor, said(1, start=n))
    assert await ground.bare.llen(name) == 40
    everything = await logged(window, actor)
    assert await window.read(actor, 40) == everything[-40:]
    assert (window.counts.short, window.counts.hits) == (0, 1)
    assert await window.read(actor, 41) == everything[-41:]
    assert window.counts.short == 1
    for n in range(8):
        await window.append(actor, [Turn("user", f"{n}" * 3_000)])
        held = await ground.bare.lrange(name, 0, -1)
        assert sum(map(len, held)) <= 20_000
    assert await window.read(actor, 5) == (await logged(window, actor))[-5:]
    assert window.counts.hits == 2


async def test_a_turn_larger_than_the_window_is_read_from_the_log(
    opened: Open, actor: Actor
) -> None:
    window = await opened(bounds=Bounds(size=20_000))
    await window.append(actor, said(3))
    await window.read(actor)
    await window.append(actor, [Turn("user", "x" * 50_000)])
    for _ in range(2):
        turns = await window.read(actor)
        assert [len(turn.content) for turn in turns] == [6, 6, 6, 50_000]
    await window.append(actor, said(40))
    for _ in range(2):
        assert await window.read(actor) == (await logged(window, actor))[-20:]
    assert window.counts.hits == 1


async def test_what_a_killed_writer_logged_and_did_not_push_is_seen(
    opened: Open, actor: Actor
) -> None:
    reader, careful = await opened(), await opened(verify_every=0)
    for client in (reader, careful):
        await client.append(actor, said(2))
        await client.read(actor)
    await reader._log.append(actor, said(1, "the last words"))
    turns = await careful.read(actor)
    assert turns[-1].content == "the last words 1"
    assert careful.counts.stale == 1
    assert await reader.read(actor) == turns  # the window is mended for all
    assert await (await opened()).read(actor) == turns


async def test_pf_108_32_writers_at_once_leave_one_gapless_session(
    opened: Open, actor: Actor
) -> None:
    clients = [await opened() for _ in range(2)]
    await clients[0].append(actor, said(1, "start"))
    await clients[0].read(actor)
    answers = await asyncio.gather(
        *(
            clients[n % 2].append(actor, [Turn("user", f"writer {n} turn {m}")])
            for n in range(32)
            for m in range(3)
        )
    )
    assert sorted(seq for (seq,) in answers) == list(range(2, 98))
    everything = await logged(clients[0], actor)
    for client in clients:
        before = client.counts.hits
        assert await client.read(actor, 60) == everything[-60:]
        assert client.counts.hits == before + 1, "the window is the log's tail"


async def test_several_processes_write_and_read_one_session(
    window: Window, ground: Ground, settings: Settings, actor: Actor
) -> None:
    await window.append(actor, said(1, "start"))
    given = (
        settings.database_url.get_secret_value(),  # type: ignore[union-attr]
        settings.migration_url.get_secret_value(),  # type: ignore[union-attr]
        str(settings.key_file),
        settings.db_schema,
    )
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", SEVERAL, ground.url, f"writer {n}", *given),
            stderr=asyncio.subprocess.PIPE,
        )
        for n in range(3)
    ]
    told = await asyncio.gather(*(process.communicate() for process in processes))
    for process, (_, complaint) in zip(processes, told, strict=True):
        assert process.returncode == 0, complaint.decode()
    everything = await logged(window, actor)
    assert [turn.seq for turn in everything] == list(range(1, 77))
    assert await window.read(actor, 76) == everything


async def test_a_dropped_window_is_gone_and_the_log_is_not(
    window: Window, ground: Ground, actor: Actor
) -> None:
    await window.append(actor, said(2))
    await window.read(actor)
    await window.drop(actor)
    assert await keys_of(ground) == []
    assert len(await window.read(actor)) == 2
    await window.drop(Actor("nobody", session="s1"))


async def test_pf_079_the_windows_of_an_erased_user_are_removed_and_nobody_finds_them_again(
    window: Window, opened: Open, ground: Ground, deployment: Deployment
) -> None:
    from mnemic.audit import Audit
    from mnemic.consent import alone
    from mnemic.privacy.erase import Erase

    kept = Actor("lee", session="a")
    sessions = [Actor("kim", session=name) for name in ("a", "b", "c/d")]
    other = await opened()
    for actor in (*sessions, kept):
        await window.append(actor, said(2))
        await window.read(actor)
        await other.read(actor)
    async with alone(deployment.database, sessions[0]) as tx:
        names = await window.names(tx, sessions[0])
    assert len(names) == 3
    copies = {name: await ground.bare.lrange(name, 0, -1) for name in names}
    audit = await Audit.open(deployment.database, deployment.keys.provider)
    await Erase(deployment.database, deployment.keys, audit).forget_user(Actor("kim"))
    await window.remove(names)
    assert len(await keys_of(ground)) == 1
    for client in (window, other):
        with pytest.raises((NotFound, PermissionDenied)):
            await client.read(sessions[0])
    await window.append(sessions[0], said(1, "somebody new"))
    for name, elements in copies.items():  # a copy of Redis that somebody kept
        await ground.bare.delete(name)
        await ground.bare.rpush(name, *elements)
    (turn,) = await window.read(sessions[0])
    assert turn.content == "somebody new 1"
    assert len(await window.read(kept)) == 2


async def test_vectors_travel_with_the_turns_when_they_are_asked_for(
    window: Window, actor: Actor
) -> None:
    await window.append(actor, said(1))
    await window.read(actor)
    given = [(0.5, -0.25, 0.125), None, (0.5,)]
    await window.append(actor, said(3, "with vectors"), given)
    found = await window.with_vectors(actor)
    assert [vector for _, vector in found] == [None, *given]
    assert [turn for turn, _ in found] == await window.read(actor)
    await window.drop(actor)
    assert [vector for _, vector in await window.with_vectors(actor)] == [None] * 4
    assert await window.with_vectors(actor, 0) == []
    with pytest.raises(InvalidInput, match="vectors_not_matching"):
        await window.append(actor, said(2), [None])


async def test_one_encoder_gives_every_turn_its_vector_and_its_failure_costs_no_turn(
    opened: Open, actor: Actor
) -> None:
    asked: list[str] = []

    async def encode(_: Actor, texts: Sequence[str]) -> list[tuple[float, ...] | None]:
        asked.extend(texts)
        if "unlucky 1" in texts:
            raise EmbeddingError("embedding_timeout", "It took too long.")
        return [None if text.endswith("2") else (float(len(text)), 1.0) for text in texts]

    window = await opened(encode=encode)
    await window.append(actor, said(1, "start"))
    await window.read(actor)
    await window.append(actor, said(3, "lucky"), [None, None, (2.0,)])
    await window.append(actor, said(1, "unlucky"))
    vectors = [vector for _, vector in await window.with_vectors(actor)]
    assert vectors == [None, (7.0, 1.0), None, (2.0,), None]
    assert asked == ["start 1", "lucky 1", "lucky 2", "unlucky 1"]
    assert window.counts.unencoded == 2


async def test_what_nobody_foresaw_in_an_encoder_is_logged_by_its_place_and_not_by_its_words(
    opened: Open, actor: Actor
) -> None:
    async def encode(_: Actor, texts: Sequence[str]) -> list[tuple[float, ...] | None]:
        raise KeyError(*texts)

    window = await opened(encode=encode)
    await window.append(actor, said(1, "start"))
    await window.read(actor)
    with capture_logs() as logs:
        await window.append(actor, said(1, "unlucky"))
    (told,) = [entry for entry in logs if entry["event"] == "turns not encoded"]
    assert (told["code"], told["error"]) == ("internal_error", "KeyError")
    assert told["place"].startswith(__name__ + ":")
    assert "unlucky" not in str(logs)
    assert [turn.content for turn in await window.read(actor)] == ["start 1", "unlucky 1"]


async def test_a_turn_sent_again_is_in_the_window_once(opened: Open, actor: Actor) -> None:
    window, again = await opened(), await opened()
    await window.append(actor, said(1))
    await window.read(actor)
    turns = [Turn("user", "did you get this?", client_id="m1"), Turn("user", "and this?")]
    assert await window.append(actor, turns, [(1.0,), (2.0,)]) == [2, 3]
    assert await again.append(actor, turns[:1]) == [2]
    assert await again.append(actor, turns, [(5.0,), (6.0,)]) == [2, 4]
    found = await window.with_vectors(actor)
    assert [turn.content for turn, _ in found] == [
        "turn 1",
        *[turn.content for turn in turns],
        "and this?",
    ]
    assert [vector for _, vector in found] == [None, (1.0,), (2.0,), (6.0,)]


async def test_a_pin_shows_in_the_window(window: Window, actor: Actor) -> None:
    await window.append(actor, said(3))
    await window.read(actor)
    assert await window.pin(actor, [2]) == 1
    for _ in range(2):
        assert [turn.pinned for turn in await window.read(actor)] == [False, True, False]
    assert window.counts.hits == 1


async def test_pf_109_a_killed_redis_costs_no_message_and_little_time_and_is_found_again(
    window: Window, opened: Open, ground: Ground, actor: Actor
) -> None:
    other = await opened()
    await window.append(actor, said(5))
    for client in (window, other):
        await client.read(actor)
        await client.read(actor)
    await ground.kill()
    slowest = 0.0
    for n in range(6, 16):
        for client in (window, other):
            started = time.perf_counter()
            if client is window:
                await client.append(actor, said(1, start=n))
            assert len(await client.read(actor, 100)) == n
            slowest = max(slowest, time.perf_counter() - started)
    assert slowest < 2 * PATIENCE + 1
    await ground.restore()

    async def back() -> bool:
        await window.append(actor, said(1, "again"))
        return not window.away and not other.away

    await until(back, 60)

    async def hit() -> bool:
        before = (window.counts.hits, other.counts.hits)
        turns = await window.read(actor, 100), await other.read(actor, 100)
        assert turns[0] == turns[1] == (await logged(window, actor))[-100:]
        return window.counts.hits > before[0] and other.counts.hits > before[1]

    await until(hit, 60)


async def test_a_redis_that_comes_back_with_an_older_state_is_not_believed(
    window: Window, opened: Open, ground: Ground, actor: Actor, deployment: Deployment
) -> None:
    idle = await opened()
    await window.append(actor, said(5))
    await window.read(actor)
    _, name = await name_of(deployment, actor)
    older = await ground.bare.lrange(name, 0, -1)
    await window.append(actor, said(2, start=6))
    for client in (window, idle):
        assert len(await client.read(actor)) == 7
    await ground.kill()
    await ground.restore()
    await ground.close()

    async def written() -> bool:
        try:
            await ground.bare.delete(name)
            return bool(await ground.bare.rpush(name, *older) == len(older))
        except (RedisError, OSError):
            return False

    await until(written)
    for client in (idle, window):
        assert [turn.content for turn in await client.read(actor)] == [
            f"turn {n}" for n in range(1, 8)
        ]


async def test_cancelled_writers_leave_no_window_that_lacks_a_turn(
    window: Window, opened: Open, actor: Actor
) -> None:
    other, rng = await opened(), random.Random(5)
    await window.append(actor, said(1))
    for client in (window, other):
        await client.read(actor)
    for n in range(40):
        writing = asyncio.ensure_future(window.append(actor, said(1, start=n)))
        await asyncio.sleep(rng.uniform(0, 0.006))
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        if n % 4 == 0:
            assert await window.read(actor, 100) == await logged(window, actor)

    async def same() -> bool:
        return await other.read(actor, 100) == await logged(window, actor)

    await until(same, 10)


async def test_pf_115_what_looks_like_a_serialised_object_comes_back_as_plain_data(
    window: Window, actor: Actor
) -> None:
    envelope = {
        "lc": 2,
        "type": "constructor",
        "id": ["os", "system"],
        "kwargs": {"command": "true"},
    }
    turns = [
        Turn("user", json.dumps(envelope)),
        Turn("assistant", "", tool_calls=(ToolCall("c1", "restore", envelope),)),
    ]
    await window.append(actor, said(1))
    await window.read(actor)
    await window.append(actor, turns)
    _, text, call = await window.read(actor)
    assert window.counts.hits == 1
    assert text.content == json.dumps(envelope)
    assert type(call.tool_calls[0].arguments) is dict
    assert call.tool_calls[0].arguments == envelope


async def test_outside_a_conversation_nothing_is_scanned(ground: Ground, window: Window) -> None:
    folder = Path(sys.modules["mnemic.session.window_store"].__file__ or "").parent
    scripts = "".join(path.read_text("utf-8") for path in (folder / "scripts").glob("*.lua"))
    assert "'LINDEX'" in scripts
    for command in ("SCAN", "KEYS'", "HSCAN", "SSCAN"):
        assert command not in scripts
