"""Is a repeated request done once, whatever dies or comes at once?"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from conftest import Connect
from mnemic.access.idempotency import Answer, Idempotency, Reservation, fingerprint
from mnemic.deployment import Deployment
from mnemic.errors import Conflict, InvalidInput, NotFound
from mnemic.model import Actor
from mnemic.storage.pool import ON_WRITE

if TYPE_CHECKING:
    from mnemic.service import MemoryService

KIM = Actor("kim", purpose="api", credential="key:mk_aaaaaaaa")
REQUEST = fingerprint("POST", "/api/memory", "", b'{"content": "I keep bees"}')
OTHER = fingerprint("POST", "/api/memory", "", b'{"content": "I keep goats"}')
COUNT = "select count(*) as n from memory_item"


def shown(result: Any) -> Answer:
    return Answer(201, json.dumps({"made": str(result)}), {"Location": f"/x/{result}"})


class Writer:
    """A writing method as the library's are: one transaction, in which it tells its answer."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.before: Callable[[], Awaitable[None]] | None = None
        self.after_commit: Callable[[], Awaitable[None]] | None = None
        self.times = 0

    async def __call__(self, actor: Actor = KIM) -> str:
        self.times += 1
        result = f"row-{self.times}"
        if self.before is not None:
            await self.before()
        async with self.deployment.database.transaction(actor) as tx:
            await self.deployment.keys.obtain(tx, actor)
            # a row that counts the writes: any table of the user's does
            await tx.run(
                "insert into session (scope_key, session_id, user_id) values (%(key)s, %(id)s, %(user)s)",
                {"key": actor.user_scope, "id": f"{id(self)}-{self.times}", "user": actor.user},
            )
            await tx.answer(result)
        if self.after_commit is not None:
            await self.after_commit()
        return result


@pytest.fixture
def write(deployment: Deployment) -> Writer:
    return Writer(deployment)


@pytest.fixture
def repeats(deployment: Deployment) -> Idempotency:
    return Idempotency(deployment.database, deployment.keys)


def a_worker(deployment: Deployment, **more: Any) -> Idempotency:
    return Idempotency(deployment.database, deployment.keys, **more)


async def rows(connect: Connect, table: str = "session") -> int:
    owner = await connect("owner")
    row = await (await owner.execute(f"select count(*) as n from {table}".encode())).fetchone()
    assert row is not None
    return int(row["n"])


async def test_pf_106_the_same_request_is_done_once_and_answered_twice(
    repeats: Idempotency, write: Writer, connect: Connect
) -> None:
    first = await repeats.run(KIM, "k-1", REQUEST, write, shown)
    again = await repeats.run(KIM, "k-1", REQUEST, write, shown)
    assert first == again == shown("row-1")
    assert (write.times, await rows(connect)) == (1, 1)
    await repeats.run(KIM, "k-2", REQUEST, write, shown)
    assert await rows(connect) == 2


async def test_the_same_key_with_another_request_is_refused(
    repeats: Idempotency, write: Writer, connect: Connect
) -> None:
    await repeats.run(KIM, "k-1", REQUEST, write, shown)
    elsewhere = (
        (KIM, OTHER),
        (KIM, fingerprint("PATCH", "/api/memory", "", b'{"content": "I keep bees"}')),
        (KIM, fingerprint("POST", "/api/memory/x", "", b'{"content": "I keep bees"}')),
        (KIM, fingerprint("POST", "/api/memory", "dry_run=1", b'{"content": "I keep bees"}')),
        (replace(KIM, project="apollo"), REQUEST),
        (replace(KIM, session="s1"), REQUEST),
    )
    for actor, request in elsewhere:
        with pytest.raises(InvalidInput) as caught:
            await repeats.run(actor, "k-1", request, write, shown)
        assert caught.value.code == "idempotency_mismatch"
    assert await rows(connect) == 1


async def test_keys_belong_to_a_credential_and_a_user(
    repeats: Idempotency, write: Writer, connect: Connect
) -> None:
    for actor in (
        KIM,
        replace(KIM, credential="key:mk_bbbbbbbb"),
        Actor("lee", credential=KIM.credential),
    ):
        answer = await repeats.run(actor, "k-1", REQUEST, lambda who=actor: write(who), shown)  # type: ignore[misc]
        assert answer == shown(f"row-{write.times}")
    assert await rows(connect) == 3


@pytest.mark.parametrize("key", ["", " ", "a b", "k\n", "é", "键", "k" * 256, "\x00", "\x7f"])
async def test_a_key_that_cannot_be_one_is_refused(
    key: str, repeats: Idempotency, write: Writer
) -> None:
    with pytest.raises(InvalidInput) as caught:
        await repeats.run(KIM, key, REQUEST, write, shown)
    assert caught.value.code == "idempotency_key_invalid"
    assert write.times == 0


async def test_a_request_that_is_under_way_is_said_to_be(
    repeats: Idempotency, write: Writer, deployment: Deployment
) -> None:
    go_on, begun = asyncio.Event(), asyncio.Event()

    async def pause() -> None:
        begun.set()
        await go_on.wait()

    write.before = pause
    first = asyncio.ensure_future(repeats.run(KIM, "k-1", REQUEST, write, shown))
    await begun.wait()
    with pytest.raises(Conflict) as caught:
        await a_worker(deployment).run(KIM, "k-1", REQUEST, write, shown)
    assert (caught.value.code, caught.value.details) == (
        "idempotency_in_flight",
        {"retry_after": 1},
    )
    with pytest.raises(InvalidInput):  # that it is another request is said at once
        await a_worker(deployment).run(KIM, "k-1", OTHER, write, shown)
    go_on.set()
    assert await first == shown("row-1")
    assert await a_worker(deployment).run(KIM, "k-1", REQUEST, write, shown) == shown("row-1")


async def test_of_many_workers_at_once_one_writes(
    deployment: Deployment, write: Writer, connect: Connect
) -> None:
    async def one() -> Answer | str:
        try:
            return await a_worker(deployment).run(KIM, "k-1", REQUEST, write, shown)
        except Conflict as error:
            return error.code

    for _ in range(3):
        answers = await asyncio.gather(*(one() for _ in range(12)))
        assert set(map(str, answers)) <= {str(shown("row-1")), "idempotency_in_flight"}
    assert shown("row-1") in answers
    assert await rows(connect) == 1


async def test_killed_between_reservation_and_write_it_is_taken_over_after_a_while(
    deployment: Deployment, write: Writer, connect: Connect
) -> None:
    dead = await a_worker(deployment).reserve(KIM, "k-1", REQUEST)
    assert isinstance(dead, Reservation)
    hasty = a_worker(deployment, stale_after=0.3)
    with pytest.raises(Conflict):
        await hasty.run(KIM, "k-1", REQUEST, write, shown)
    await asyncio.sleep(0.4)
    assert await hasty.run(KIM, "k-1", REQUEST, write, shown) == shown("row-1")
    assert await rows(connect) == 1


async def test_who_was_only_slow_and_lost_the_request_writes_nothing(
    deployment: Deployment, write: Writer, connect: Connect
) -> None:
    """Taken for dead, it comes back: its write is undone, since another was answered."""
    slow = await a_worker(deployment).reserve(KIM, "k-1", REQUEST)
    assert isinstance(slow, Reservation)
    owner = await connect("owner")
    await owner.execute("update idempotency_key set reserved_at = now() - interval '1 minute'")
    assert await a_worker(deployment).run(KIM, "k-1", REQUEST, write, shown) == shown("row-1")
    repeats = a_worker(deployment)
    hook = ON_WRITE.set(repeats._hook(slow, shown, []))
    try:
        with pytest.raises(Conflict) as caught:
            await write()
    finally:
        ON_WRITE.reset(hook)
    assert caught.value.code == "idempotency_taken_over"
    assert await rows(connect) == 1
    await repeats.release(slow)  # changes nothing any more
    assert await repeats.run(KIM, "k-1", REQUEST, write, shown) == shown("row-1")


async def test_long_work_is_not_taken_over_while_its_process_lives(
    deployment: Deployment, write: Writer
) -> None:
    begun = asyncio.Event()

    async def long() -> None:
        begun.set()
        await asyncio.sleep(1.2)

    write.before = long
    first = asyncio.ensure_future(
        a_worker(deployment, stale_after=0.4).run(KIM, "k-1", REQUEST, write, shown)
    )
    await begun.wait()
    for _ in range(8):
        await asyncio.sleep(0.1)
        with pytest.raises(Conflict) as caught:
            await a_worker(deployment, stale_after=0.4).run(KIM, "k-1", REQUEST, write, shown)
        assert caught.value.code == "idempotency_in_flight"
    assert await first == shown("row-1")


async def test_killed_after_the_commit_the_retry_gets_the_answer(
    repeats: Idempotency, write: Writer, connect: Connect
) -> None:
    """The process dies when the row is committed and nothing was sent."""

    class Killed(BaseException):
        pass

    async def die() -> None:
        raise Killed

    write.after_commit = die
    with pytest.raises(Killed):
        await repeats.run(KIM, "k-1", REQUEST, write, shown)
    write.after_commit = None
    assert await repeats.run(KIM, "k-1", REQUEST, write, shown) == shown("row-1")
    assert (write.times, await rows(connect)) == (1, 1)


async def test_cancelled_before_its_write_it_may_be_tried_again_at_once(
    repeats: Idempotency, write: Writer, connect: Connect
) -> None:
    begun = asyncio.Event()

    async def wait() -> None:
        begun.set()
        await asyncio.sleep(60)

    write.before = wait
    first = asyncio.ensure_future(repeats.run(KIM, "k-1", REQUEST, write, shown))
    await begun.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    write.before = None
    assert await repeats.run(KIM, "k-1", REQUEST, write, shown) == shown("row-2")
    assert await rows(connect) == 1


async def test_an_error_gives_the_key_back(repeats: Idempotency, write: Writer) -> None:
    async def fails() -> str:
        raise NotFound("item_not_found", "There is no such memory item.")

    for _ in range(2):
        with pytest.raises(NotFound):
            await repeats.run(KIM, "k-1", REQUEST, fails, shown)
    assert await repeats.run(KIM, "k-1", REQUEST, write, shown) == shown("row-1")


async def test_work_that_wrote_nothing_is_answered_alike_too(repeats: Idempotency) -> None:
    times = 0

    async def nothing() -> str:
        nonlocal times
        times += 1
        return f"rejected-{times}"

    assert await repeats.run(KIM, "k-1", REQUEST, nothing, shown) == shown("rejected-1")
    assert await repeats.run(KIM, "k-1", REQUEST, nothing, shown) == shown("rejected-1")
    assert times == 1


async def test_of_several_writes_the_last_word_is_repeated(
    repeats: Idempotency, write: Writer
) -> None:
    async def both() -> str:
        await write()
        return "both " + await write()

    assert await repeats.run(KIM, "k-1", REQUEST, both, shown) == shown("both row-2")
    assert await repeats.run(KIM, "k-1", REQUEST, both, shown) == shown("both row-2")
    assert write.times == 2


async def test_after_its_time_a_key_is_free_again_and_its_row_is_gone(
    deployment: Deployment, write: Writer, connect: Connect
) -> None:
    brief = a_worker(deployment, keep=timedelta(milliseconds=200))
    lee = Actor("lee", credential="key:mk_bbbbbbbb")
    await brief.run(lee, "k-9", REQUEST, lambda: write(lee), shown)
    await brief.run(KIM, "k-1", REQUEST, write, shown)
    await asyncio.sleep(0.3)
    assert await rows(connect, "idempotency_key") == 2
    assert await brief.run(KIM, "k-1", OTHER, write, shown) == shown("row-3")
    await asyncio.sleep(0.3)
    await a_worker(deployment).run(KIM, "k-2", REQUEST, write, shown)  # sweeps what others left
    assert await rows(connect, "idempotency_key") == 1


async def test_answers_are_sealed_and_bound_to_their_place(
    repeats: Idempotency, write: Writer, connect: Connect
) -> None:
    secret = "the lighthouse keeper is called Ada"
    answer = await repeats.run(KIM, "kim-key-plain", REQUEST, write, lambda _: Answer(201, secret))
    await repeats.run(KIM, "k-2", REQUEST, write, shown)
    owner = await connect("owner")
    found = await (await owner.execute("select i::text as row from idempotency_key i")).fetchall()
    whole = "".join(row["row"] for row in found)
    for text in (secret, "kim-key-plain", "I keep bees"):
        assert text not in whole
        assert text.encode().hex() not in whole
    assert await repeats.run(KIM, "kim-key-plain", REQUEST, write, shown) == answer
    # an answer that was moved to another request does not open
    await owner.execute(
        "update idempotency_key a set response_enc = b.response_enc from idempotency_key b"
        " where a.key_mac <> b.key_mac"
    )
    with pytest.raises(Exception, match="sealed_value_damaged"):
        await repeats.run(KIM, "k-2", REQUEST, write, shown)


async def test_half_a_character_in_an_answer_is_stored_as_it_is_sent(
    repeats: Idempotency, write: Writer
) -> None:
    await repeats.run(KIM, "k-1", REQUEST, write, lambda _: Answer(201, "a\ud83d"))
    again = await repeats.run(KIM, "k-1", REQUEST, write, shown)
    assert again == Answer(201, "a?")


async def test_a_memory_is_added_once(stub_memory: MemoryService, connect: Connect) -> None:
    """The library's own writing method, through the same door."""
    parts = stub_memory._parts.deployment
    repeats = Idempotency(parts.database, parts.keys)

    async def add() -> Any:
        return await stub_memory.add_explicit_memory(KIM, "I keep bees behind the house")

    def rendered(verdict: Any) -> Answer:
        return Answer(201, json.dumps({"verdict": verdict.outcome, "id": str(verdict.id)}))

    first = await repeats.run(KIM, "k-1", REQUEST, add, rendered)
    assert json.loads(first.body)["verdict"] == "stored"
    assert await repeats.run(KIM, "k-1", REQUEST, add, rendered) == first
    assert await rows(connect, "memory_item") == 1
    # without the key the gate itself answers
    assert (await add()).outcome == "duplicate"


async def test_a_user_who_is_erased_leaves_no_answer_behind(
    stub_memory: MemoryService, connect: Connect
) -> None:
    parts = stub_memory._parts.deployment
    repeats = Idempotency(parts.database, parts.keys)
    await stub_memory.add_explicit_memory(KIM, "I keep bees behind the house")

    async def forget() -> Any:
        return await stub_memory.forget_user(KIM)

    answer = await repeats.run(
        KIM, "k-1", REQUEST, forget, lambda report: Answer(200, str(report.total)), consent=False
    )
    assert int(answer.body) > 0
    for table in ("memory_item", "idempotency_key", "app_user", "data_key"):
        assert await rows(connect, table) == 0
