"""What if somebody writes for the first time while others read, write and fail beside them?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest

from mnemic.consent import alone
from mnemic.errors import Conflict, ConsentRequired, NotFound
from mnemic.model import Actor, Turn, Vector
from mnemic.service import MemoryService
from mnemic.settings import Settings
from stub_embedder import StubEmbedder

BOB = Actor("bob", project="p")
ALICE = Actor("alice", project="p")


async def _with_project(memory: MemoryService) -> str:
    await memory.projects.create(BOB, "p", "P")
    verdict = await memory.add_explicit_memory(
        BOB, "The project deploys on Fridays with Kubernetes.", "fact", "project"
    )
    return str(verdict.id)


async def test_a_key_that_was_rolled_back_seals_nothing_later(
    stub_memory: MemoryService, settings: Settings
) -> None:
    item = await _with_project(stub_memory)
    await stub_memory.consent.grant(ALICE)
    await stub_memory.projects.grant(BOB, "p", "alice", "admin")
    with pytest.raises(Conflict) as refused:  # by then her keys were made, and are taken back
        await stub_memory.delete(ALICE, item, expected_version=7)
    assert refused.value.code == "version_conflict"
    said = await stub_memory.add_explicit_memory(ALICE, "Alice prefers dark mode everywhere.")
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as other:
        assert (await other.get(ALICE, said.id)).content == "Alice prefers dark mode everywhere."


async def test_who_edits_and_adds_for_the_first_time_at_once_waits_for_nobody(
    stub_memory: MemoryService,
) -> None:
    item = await _with_project(stub_memory)
    for n in range(8):
        actor = Actor(f"admin{n}", project="p")
        await stub_memory.projects.grant(BOB, "p", actor.user, "admin")
        texts = [f"Note {n}{k}: release {n * 7 + k} shipped on time." for k in range(3)]
        await asyncio.gather(
            stub_memory.update(actor, item, confidence=0.91 + n / 1000),
            *(stub_memory.add_explicit_memory(actor, text, "fact", "project") for text in texts),
        )


async def test_lists_stay_whole_while_new_authors_write(stub_memory: MemoryService) -> None:
    await _with_project(stub_memory)
    authors = [Actor(f"author{n}", project="p") for n in range(20)]
    for author in authors:
        await stub_memory.projects.grant(BOB, "p", author.user, "editor")
    writing = True

    async def read() -> None:
        while writing:
            await stub_memory.list(BOB, scope="project", limit=100)

    readers = [asyncio.ensure_future(read()) for _ in range(3)]
    for n, author in enumerate(authors):
        text = f"Author {n} wrote the release notes of module {chr(97 + n) * 3}."
        await stub_memory.add_explicit_memory(author, text, "fact", "project")
    writing = False
    await asyncio.gather(*readers)


async def test_a_list_of_somebody_new_is_empty_or_whole(stub_memory: MemoryService) -> None:
    for n in range(40):
        actor = Actor(f"new{n}")
        adding = stub_memory.add_explicit_memory(actor, "The user keeps bees in the garden.")
        reading = (stub_memory.list(actor), stub_memory.resources.list(actor))
        await asyncio.gather(adding, *reading, stub_memory.questions(actor))


async def test_questions_that_are_answered_meanwhile_are_left_out(
    stub_memory: MemoryService,
) -> None:
    kim = Actor("kim")
    unsure = [
        await stub_memory.add_explicit_memory(
            kim, f"Number {n} is called {chr(97 + n) * 5}.", confidence=0.75
        )
        for n in range(20)
    ]
    asking = True

    async def asked() -> None:
        while asking:
            await stub_memory.questions(kim)

    readers = [asyncio.ensure_future(asked()) for _ in range(3)]
    for verdict in unsure:
        await stub_memory.deny(kim, verdict.id)
    asking = False
    await asyncio.gather(*readers)
    assert await stub_memory.questions(kim) == []


async def test_no_session_that_begins_beside_a_refusal_is_read_after_it(
    stub_memory: MemoryService,
) -> None:
    read = 0
    for n in range(25):
        user = Actor(f"kim{n}")
        sessions = [Actor(user.user, session=f"s{k}") for k in range(6)]
        await stub_memory.add_explicit_memory(user, "The user prefers dark mode.")
        await asyncio.gather(
            _later(stub_memory, user, n), *(_talked(stub_memory, one) for one in sessions)
        )
        for session in sessions:
            with suppress(ConsentRequired, NotFound):
                await stub_memory.sessions.tail(session, 5)
                read += 1
    assert read == 0


async def _later(memory: MemoryService, user: Actor, turns: int) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)
    await memory.consent.refuse(user)


async def _talked(memory: MemoryService, session: Actor) -> None:
    with suppress(ConsentRequired, NotFound):
        await memory.sessions.append(session, [Turn("user", "my secret plan")])
        await memory.sessions.tail(session, 5)


async def test_who_is_cancelled_twice_takes_no_connection_along(
    stub_memory: MemoryService,
) -> None:
    kim, database = Actor("kim"), stub_memory.deployment.database
    await stub_memory.add_explicit_memory(kim, "The user prefers dark mode.")

    async def use() -> None:
        async with database.transaction(kim):
            pass

    for n in range(40):
        async with alone(database, kim):
            waiting = asyncio.ensure_future(use())
            await _until(lambda: database._busy == 2)
            await asyncio.sleep(0.002)
            waiting.cancel()
            for _ in range(n):
                await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
    await _until(lambda: database._busy == 0)


async def _until(met: Callable[[], bool]) -> None:
    for _ in range(30_000):
        if met():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came to that")


class Dying(StubEmbedder):
    """An embedder that fails in a way that nobody foresaw, when it is told to."""

    dies = False

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.dies:
            raise RuntimeError("the model is gone")
        return list(await super().embed(texts))


async def test_a_turn_whose_vector_cannot_be_made_is_logged_and_seen(settings: Settings) -> None:
    embedder, kim = Dying(), Actor("kim", session="s1")
    async with MemoryService.open(settings=settings, embedder=embedder) as memory:
        await memory.sessions.append(kim, [Turn("user", "one")])
        await memory.sessions.tail(kim, 5)
        embedder.dies = True
        assert await memory.sessions.append(kim, [Turn("user", "two")]) == [2]
        assert [turn.content for turn in await memory.sessions.tail(kim, 5)] == ["one", "two"]
