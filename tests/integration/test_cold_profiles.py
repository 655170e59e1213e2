"""Does an archive leave the database and come back whole, and is nothing lost where the store fails?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from sleep_world import (
    KIM,
    away,
    count,
    full_profile,
    put_away,
    put_to_sleep,
    row_of,
    status_of,
)

from conftest import Connect, Prepare, Server
from mnemic.access.problems import problem_of
from mnemic.cold import ColdStore, unreachable
from mnemic.cold.opening import open_cold_store
from mnemic.errors import ConfigurationError, MnemicError, StorageError, StorageUnavailable
from mnemic.jobs.runs import Jobs
from mnemic.model import Actor
from mnemic.service import MemoryService
from mnemic.settings import Settings
from moto_server import S3, s3_server
from stub_embedder import StubEmbedder, curve

if TYPE_CHECKING:
    from mnemic.profile.values import Profile


MARK = 64
"""The length of the mark that tells whose objects these are."""


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    with s3_server() as running:
        yield running


@dataclass(slots=True)
class Flaky:
    """A store that can be away, and slow enough for something to happen meanwhile."""

    inner: ColdStore
    away: bool = False
    calls: int = 0
    meanwhile: Any = None
    closed: bool = False

    async def put(self, name: str, data: bytes) -> None:
        await self._reached()
        await self.inner.put(name, data)
        if self.meanwhile is not None:
            await self.meanwhile(name)

    async def get(self, name: str) -> bytes:
        await self._reached()
        return await self.inner.get(name)

    async def delete(self, name: str) -> None:
        await self._reached()
        await self.inner.delete(name)

    async def aclose(self) -> None:
        self.closed = True
        await self.inner.aclose()

    async def _reached(self) -> None:
        self.calls += 1
        await asyncio.sleep(0)
        if self.away:
            raise unreachable()


@dataclass(slots=True)
class Cold:
    """A memory with a cold store that is looked into, and the owner's connection."""

    memory: MemoryService
    owner: Any
    root: Path
    store: Flaky

    def objects(self) -> list[Path]:
        found = (path for path in self.root.rglob("*") if path.is_file())
        archives = (path for path in found if not path.name.startswith("."))
        return sorted(path for path in archives if path.stat().st_size != MARK)

    def forget_failure(self) -> None:
        """Let time pass until the store is asked again."""
        self.memory.parts.sleep.hibernation._failed.clear()


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[tuple[MemoryService, Flaky]]:
    inner = open_cold_store(settings)
    assert inner is not None
    flaky = Flaky(inner)
    async with MemoryService.open(
        settings=settings, embedder=StubEmbedder(), cold_store=flaky
    ) as memory:
        yield memory, flaky
    assert not flaky.closed, "who gave a store closes it"
    await inner.aclose()


@pytest.fixture
async def cold(
    server: Server, schema: str, connect: Connect, prepare: Prepare, tmp_path: Path
) -> AsyncIterator[Cold]:
    root = tmp_path / "cold"
    settings = server.settings(schema, cold_store=f"file://{root}")
    await prepare(settings, StubEmbedder(), curve())
    async with opened(settings) as (memory, store):
        yield Cold(memory, await connect("owner"), root, store)


async def test_after_half_a_year_the_archive_lies_outside_the_database(cold: Cold) -> None:
    await full_profile(cold.memory, KIM)
    await put_away(cold.memory, cold.owner)
    row = await row_of(cold.owner, "profile_archive")
    assert row["archive_enc"] is None
    told = await row_of(cold.owner, "cold_object")
    (path,) = cold.objects()
    assert path.relative_to(cold.root).as_posix() == told["name"]
    assert path.stat().st_size == told["n_bytes"]
    assert await count(cold.owner, "cold_removal") == 0


async def test_a_sleeping_user_leaves_at_most_17_percent_of_their_bytes_in_the_database(
    cold: Cold,
) -> None:
    await full_profile(cold.memory, KIM)
    await cold.memory.profiles.note_intent(KIM, tuple(0.1 + n % 13 for n in range(512)))
    for n in range(12):
        await cold.memory.profiles.edit(
            KIM, "content", f"As of state {n}: short answers, with sources."
        )
    await away(cold.owner, days=181)
    before = (await cold.memory.sleepers.hibernate(dry_run=True)).bytes_before
    await cold.memory.sleepers.hibernate()
    saved = await cold.memory.sleepers.cool()
    assert saved.bytes_after <= 0.17 * before


async def test_names_and_contents_of_objects_tell_nothing_of_the_user(cold: Cold) -> None:
    await full_profile(cold.memory, KIM)
    await put_away(cold.memory, cold.owner)
    (path,) = cold.objects()
    assert "kim" not in path.relative_to(cold.root).as_posix()
    assert b"kim" not in path.read_bytes().lower()
    assert b"surveyor" not in path.read_bytes()


async def test_reading_the_profile_brings_the_archive_back_within_the_call(cold: Cold) -> None:
    before = await full_profile(cold.memory, KIM)
    behaviour = await cold.memory.profiles.behaviour(KIM)
    history = await cold.memory.profiles.history(KIM)
    await put_away(cold.memory, cold.owner)
    assert await cold.memory.profiles.get(KIM, contact=True) == before
    assert await cold.memory.profiles.behaviour(KIM) == behaviour
    assert await cold.memory.profiles.history(KIM) == history
    assert await count(cold.owner, "cold_object") == 0
    assert await cold.memory.sleepers.sweep() == 1
    assert cold.objects() == []


async def test_two_contacts_at_once_fetch_and_wake_once(cold: Cold, server: Server) -> None:
    before = await full_profile(cold.memory, KIM)
    await put_away(cold.memory, cold.owner)
    cold.store.calls = 0
    settings = cold.memory.settings
    async with opened(settings) as (other, _):
        services = (cold.memory, other) * 4
        found = await asyncio.gather(*(one.profiles.get(KIM, contact=True) for one in services))
    assert found == [before] * 8
    assert cold.store.calls == 1
    woken = "select count(*) as n from audit_log where action = 'wake_profile'"
    assert (await (await cold.owner.execute(woken)).fetchone())["n"] == 1


async def test_who_comes_back_in_between_goes_through_it_all_again(cold: Cold) -> None:
    before: Profile = await full_profile(cold.memory, KIM)
    for _ in range(2):
        await put_away(cold.memory, cold.owner)
        assert await cold.memory.profiles.get(KIM, contact=True) == before
        edited = await cold.memory.profiles.edit(KIM, "profession", "diver")
        assert edited.values["profession"] == "diver"
        await cold.memory.profiles.edit(KIM, "profession", "surveyor")
        before = await cold.memory.profiles.get(KIM, contact=True)


async def test_a_lost_object_is_an_error_and_leaves_the_core_in_use(cold: Cold) -> None:
    await full_profile(cold.memory, KIM)
    await put_away(cold.memory, cold.owner)
    (path,) = cold.objects()
    kept = path.read_bytes()
    path.unlink()
    with pytest.raises(StorageError) as lost:
        await cold.memory.profiles.get(KIM)
    assert lost.value.code == "cold_object_lost"
    known = await cold.memory.get_profile_for_agent(KIM)
    assert known.user.asleep == "cold_object_lost"
    assert known.user.values["username"] == "Kim"
    assert known.user.values["profession"] is None
    assert "Kim" in await cold.memory.build_context(KIM, "Who am I?")
    assert (await cold.memory.add_explicit_memory(KIM, "I keep bees")).outcome == "stored"
    with pytest.raises(StorageError) as shorter:
        await cold.memory.profiles.history(KIM)  # never one that is shorter than it is
    assert shorter.value.code == "cold_object_lost"
    path.write_bytes(kept)
    cold.forget_failure()
    assert (await cold.memory.profiles.get(KIM)).values["profession"] == "surveyor"


@pytest.mark.parametrize("way", ["delete", "supersede", "end"])
async def test_what_was_withdrawn_leaves_the_core_of_a_profile_that_cannot_wake(
    cold: Cold, way: str
) -> None:
    named = await cold.memory.add_explicit_memory(KIM, "My name is Rowan Ahlberg")
    await cold.memory.profiles.patch(KIM, {"profession": "surveyor", "response_format": "plain"})
    assert (await cold.memory.profiles.get(KIM)).values["username"] == "Rowan Ahlberg"
    await put_away(cold.memory, cold.owner)
    cold.store.away = True
    awake = await cold.memory.get_profile_for_agent(KIM)
    assert (awake.user.asleep, awake.user.values["username"]) == (
        "cold_store_unreachable",
        "Rowan Ahlberg",
    )
    if way == "delete":
        await cold.memory.delete(KIM, named.id)
    elif way == "supersede":
        await cold.memory.update(KIM, named.id, content="My name is Mika Lind")
    else:
        end = "update memory_item set valid_to = now() - interval '1 second' where id = %s"
        await cold.owner.execute(end, [named.id])
        await cold.owner.execute("update user_profile set stale_at = now()")
    known = (await cold.memory.get_profile_for_agent(KIM)).user
    assert known.asleep == "cold_store_unreachable"
    assert known.values["response_format"] == "plain", "what the user wrote stays"
    left = "Mika Lind" if way == "supersede" else None
    assert known.values["username"] == left
    cold.store.away = False
    cold.forget_failure()
    whole = await cold.memory.profiles.get(KIM)
    assert (whole.values["profession"], whole.values["username"]) == ("surveyor", left)


async def test_an_object_that_was_changed_is_an_error(cold: Cold) -> None:
    await full_profile(cold.memory, KIM)
    await put_away(cold.memory, cold.owner)
    (path,) = cold.objects()
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(StorageError) as damaged:
        await cold.memory.profiles.get(KIM)
    assert damaged.value.code == "cold_object_damaged"
    assert await status_of(cold.owner) == "dormant"


async def test_an_archive_that_is_given_up_leaves_what_memories_say(cold: Cold) -> None:
    await full_profile(cold.memory, KIM)
    await put_away(cold.memory, cold.owner)
    cold.objects()[0].unlink()
    assert await cold.memory.sleepers.abandon(KIM)
    profile = await cold.memory.profiles.get(KIM)
    assert profile.values["username"] == "Kim"  # the core was never away
    assert profile.values["profession"] is None
    assert profile.values["frequently_used_tools"] == ("Vim",)
    assert profile.asleep is None
    assert await cold.memory.sleepers.sweep() == 1


async def test_nothing_is_given_up_that_may_come_back(cold: Cold) -> None:
    before = await full_profile(cold.memory, KIM)
    await put_away(cold.memory, cold.owner)
    cold.store.away = True
    with pytest.raises(StorageUnavailable) as refused:
        await cold.memory.sleepers.abandon(KIM)
    assert refused.value.code == "cold_store_unreachable"
    cold.store.away = False
    cold.forget_failure()
    assert not await cold.memory.sleepers.abandon(KIM)
    assert (await cold.memory.profiles.get(KIM, contact=True)).values == before.values


async def test_a_store_that_is_away_is_503_and_asked_again_after_a_while(cold: Cold) -> None:
    before = await full_profile(cold.memory, KIM)
    await put_away(cold.memory, cold.owner)
    cold.store.away, cold.store.calls = True, 0
    with pytest.raises(StorageUnavailable) as away_:
        await cold.memory.profiles.get(KIM)
    assert away_.value.code == "cold_store_unreachable"
    assert problem_of(away_.value).status == 503
    for _ in range(5):
        await cold.memory.search_memories(KIM, "tea")
    assert (await cold.memory.get_profile_for_agent(KIM)).user.values["username"] == "Kim"
    assert cold.store.calls == 1  # nobody waits for it at every request
    cold.store.away = False
    cold.forget_failure()
    assert await cold.memory.profiles.get(KIM, contact=True) == before


async def test_a_process_without_the_setting_says_what_is_missing(
    cold: Cold, server: Server, schema: str
) -> None:
    await full_profile(cold.memory, KIM)
    await put_away(cold.memory, cold.owner)
    settings = server.settings(schema)
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as other:
        with pytest.raises(StorageUnavailable) as missing:
            await other.profiles.get(KIM)
    assert missing.value.code == "cold_store_missing"


async def test_a_store_that_is_away_leaves_the_archive_where_it_is(cold: Cold) -> None:
    before = await full_profile(cold.memory, KIM)
    await put_to_sleep(cold.memory, cold.owner, days=181)
    cold.store.away = True
    with pytest.raises(StorageUnavailable):
        await cold.memory.sleepers.cool()
    assert (await row_of(cold.owner, "profile_archive"))["archive_enc"] is not None
    assert await cold.memory.profiles.get(KIM, contact=True) == before


async def test_who_wakes_while_the_object_is_written_keeps_the_profile(cold: Cold) -> None:
    before = await full_profile(cold.memory, KIM)
    await put_to_sleep(cold.memory, cold.owner, days=181)

    async def wakes(name: str) -> None:
        cold.store.meanwhile = None
        await cold.memory.sleepers.wake(KIM)

    cold.store.meanwhile = wakes
    assert (await cold.memory.sleepers.cool()).users == 0
    assert await cold.memory.profiles.get(KIM, contact=True) == before
    assert await count(cold.owner, "cold_object") == 0
    await an_hour_later(cold)
    assert await cold.memory.sleepers.sweep() == 1
    assert cold.objects() == []


async def test_an_object_that_was_swept_before_its_row_came_is_not_relied_on(cold: Cold) -> None:
    before = await full_profile(cold.memory, KIM)
    await put_to_sleep(cold.memory, cold.owner, days=181)

    async def sweeps(name: str) -> None:
        cold.store.meanwhile = None
        await an_hour_later(cold)
        await cold.memory.sleepers.sweep()
        await cold.store.inner.put(name, b"the store was slow to forget")

    cold.store.meanwhile = sweeps
    with pytest.raises(StorageUnavailable):
        await cold.memory.sleepers.cool()
    assert await cold.memory.profiles.get(KIM, contact=True) == before


async def test_a_dry_run_measures_what_the_cold_store_would_take(cold: Cold) -> None:
    await full_profile(cold.memory, KIM)
    await put_to_sleep(cold.memory, cold.owner, days=181)
    would = await cold.memory.sleepers.cool(dry_run=True)
    assert cold.objects() == []
    assert await count(cold.owner, "cold_removal") == 0
    did = await cold.memory.sleepers.cool()
    assert (would.users, would.bytes_before) == (did.users, did.bytes_before)
    assert abs(would.bytes_after - did.bytes_after) <= 16


async def test_erasing_a_user_removes_the_object_too_and_the_receipt_counts_it(cold: Cold) -> None:
    await full_profile(cold.memory, KIM)
    await put_away(cold.memory, cold.owner)
    would = await cold.memory.forget_user(KIM, dry_run=True)
    assert (would.counts["cold_object"], would.counts["profile_archive"]) == (1, 1)
    assert len(cold.objects()) == 1
    assert await count(cold.owner, "cold_removal") == 0
    report = await cold.memory.forget_user(KIM)
    assert (report.counts["cold_object"], report.counts["profile_archive"]) == (1, 1)
    assert cold.objects() == []
    for table in ("cold_object", "profile_archive", "cold_removal", "user_profile"):
        assert await count(cold.owner, table) == 0


async def test_a_store_that_is_away_delays_the_removal_of_the_erased_and_loses_none(
    cold: Cold,
) -> None:
    await full_profile(cold.memory, KIM)
    await put_away(cold.memory, cold.owner)
    cold.store.away = True
    assert (await cold.memory.forget_user(KIM)).counts["cold_object"] == 1
    assert len(cold.objects()) == 1
    assert await cold.memory.sleepers.removals_due() == 1
    with pytest.raises(StorageUnavailable):
        await cold.memory.sleepers.sweep()
    cold.store.away = False
    assert await cold.memory.sleepers.sweep() == 1
    assert cold.objects() == []


async def test_one_user_does_not_open_what_is_another_s(cold: Cold) -> None:
    """Objects that were swapped in the store and their rows with them are bound to their users."""
    lee = Actor("lee")
    await full_profile(cold.memory, KIM)
    await full_profile(cold.memory, lee)
    for user in ("kim", "lee"):
        await away(cold.owner, user, days=181)
    await cold.memory.parts.sleep.activity.flush()
    for user in ("kim", "lee"):
        await away(cold.owner, user, days=181)
    assert (await cold.memory.sleepers.hibernate()).users == 2
    assert (await cold.memory.sleepers.cool()).users == 2
    await cold.owner.execute(
        "update cold_object set scope_key = case scope_key when 'user:kim' then 'user:lee'"
        " else 'user:kim' end"
    )
    for actor in (KIM, lee):
        with pytest.raises(MnemicError) as refused:
            await cold.memory.profiles.get(actor)
        assert refused.value.code in ("unknown_key_id", "sealed_value_damaged")


async def test_profiles_sleep_in_s3_over_http(
    s3: S3, server: Server, schema: str, connect: Connect, prepare: Prepare
) -> None:
    bucket = s3.bucket()
    settings = server.settings(schema, **s3.settings(bucket))
    await prepare(settings, StubEmbedder(), curve())
    owner = await connect("owner")
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        before = await full_profile(memory, KIM)
        await put_away(memory, owner)
        name = (await row_of(owner, "cold_object"))["name"]
        assert f"<Key>mnemic/{name}</Key>".encode() in s3.ask("GET", f"/{bucket}?list-type=2")
        assert await memory.profiles.get(KIM, contact=True) == before
        assert await memory.sleepers.sweep() == 1
        assert f"/{name}<".encode() not in s3.ask("GET", f"/{bucket}?list-type=2")
        await put_away(memory, owner)
        name = (await row_of(owner, "cold_object"))["name"]
        s3.ask("DELETE", f"/{bucket}/mnemic/{name}")
        with pytest.raises(StorageError) as lost:
            await memory.profiles.get(KIM)
        assert lost.value.code == "cold_object_lost"
        assert (await memory.get_profile_for_agent(KIM)).user.values["username"] == "Kim"


async def another_system(cold: Cold) -> None:
    """Let the database be one that was restored elsewhere: its place is another, and all else as it was."""
    sweeper = cold.memory.parts.sleep.removals.owner
    name, mark = await sweeper._mark()
    assert await cold.store.get(name) == mark
    await cold.store.put(name, mark[::-1])


async def test_a_copied_database_removes_and_adds_no_object_of_its_original(cold: Cold) -> None:
    before = await full_profile(cold.memory, KIM)
    await put_away(cold.memory, cold.owner)
    objects = cold.objects()
    await another_system(cold)
    assert await cold.memory.profiles.get(KIM, contact=True) == before, "it reads what is there"
    with pytest.raises(ConfigurationError) as refused:
        await cold.memory.sleepers.sweep()
    assert refused.value.code == "cold_store_not_ours"
    assert "--take-over" in refused.value.message
    assert cold.objects() == objects
    await put_to_sleep(cold.memory, cold.owner, days=181)
    with pytest.raises(ConfigurationError):
        await cold.memory.sleepers.cool()
    assert cold.objects() == objects
    report = await cold.memory.forget_user(KIM)
    assert report.counts["profile_archive"] == 1, "who is erased is, and the object waits"
    assert cold.objects() == objects
    await cold.memory.sleepers.take_over_store()
    assert await cold.memory.sleepers.sweep() == 1
    assert cold.objects() == []


async def test_a_copy_next_to_its_original_reads_the_store_and_takes_nothing_from_it(
    server: Server, schema: str, connect: Connect, prepare: Prepare, tmp_path: Path
) -> None:
    root = tmp_path / "cold"
    settings = server.settings(schema, cold_store=f"file://{root}")
    await prepare(settings, StubEmbedder(), curve())
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as original:
        before = await full_profile(original, KIM)
        owner = await connect("owner")
        await put_away(original, owner)
        await owner.close()
    there = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    with server.duplicated():
        of_copy = server.settings(schema, cold_store=f"file://{root}")
        async with MemoryService.open(settings=of_copy, embedder=StubEmbedder()) as copy:
            assert await copy.profiles.get(KIM, contact=True) == before
            (ran,) = await Jobs(copy).run(["cold_removals"])
            assert (ran.outcome, ran.code) == ("failed", "cold_store_not_ours")
            await copy.forget_user(KIM)
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == there
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as original:
        assert await original.profiles.get(KIM, contact=True) == before
        assert await original.sleepers.sweep() == 1


async def test_objects_of_before_there_were_marks_are_this_database_s(cold: Cold) -> None:
    await full_profile(cold.memory, KIM)
    await put_away(cold.memory, cold.owner)
    name, mark = await cold.memory.parts.sleep.removals.owner._mark()
    await cold.store.delete(name)
    await cold.memory.profiles.get(KIM)
    assert await cold.memory.sleepers.sweep() == 1
    assert await cold.store.get(name) == mark


async def test_two_databases_have_two_marks(cold: Cold) -> None:
    owner = cold.memory.parts.sleep.removals.owner
    name, mark = await owner._mark()
    assert await owner._mark() == (name, mark), "it is the same tomorrow"
    await cold.owner.execute("update deployment set id = gen_random_uuid()")
    assert (await owner._mark())[0] != name


@pytest.mark.parametrize("broken", [b"not an archive", b"\x02\x00\x00\x00\x00\x00", b""])
async def test_an_archive_of_a_newer_version_is_told_and_leaves_the_core_in_use(
    cold: Cold, monkeypatch: pytest.MonkeyPatch, broken: bytes
) -> None:
    await full_profile(cold.memory, KIM)
    await put_away(cold.memory, cold.owner)
    monkeypatch.setattr("mnemic.profile.cooling.unbundled", lambda _: (broken, None))
    with pytest.raises(StorageError) as told:
        await cold.memory.profiles.get(KIM)
    assert told.value.code == "profile_archive_unreadable"
    assert (await cold.memory.get_profile_for_agent(KIM)).user.values["username"] == "Kim"
    monkeypatch.undo()
    cold.forget_failure()
    assert (await cold.memory.profiles.get(KIM)).values["profession"] == "surveyor"


@pytest.mark.parametrize("error", [OSError("No space left"), KeyError("kim"), RuntimeError("loop")])
async def test_a_store_that_fails_in_its_own_words_is_one_that_does_not_answer(
    cold: Cold, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    before = await full_profile(cold.memory, KIM)
    await put_away(cold.memory, cold.owner)

    async def fails() -> None:
        raise error

    monkeypatch.setattr(Flaky, "_reached", lambda _: fails())
    with pytest.raises(StorageUnavailable) as away:
        await cold.memory.profiles.get(KIM)
    assert away.value.code == "cold_store_unreachable"
    assert (await cold.memory.get_profile_for_agent(KIM)).user.asleep == "cold_store_unreachable"
    monkeypatch.undo()
    cold.forget_failure()
    assert await cold.memory.profiles.get(KIM, contact=True) == before


async def test_why_a_profile_does_not_wake_is_logged_once_for_each_attempt(
    cold: Cold,
) -> None:
    await full_profile(cold.memory, KIM)
    await put_away(cold.memory, cold.owner)
    cold.store.away = True
    with structlog.testing.capture_logs() as logged:
        for _ in range(3):
            assert (await cold.memory.get_profile_for_agent(KIM)).user.asleep
            await cold.memory.search_memories(KIM, "tea")
        await asyncio.gather(*(cold.memory.search_memories(KIM, "tea") for _ in range(4)))
    told = [entry for entry in logged if entry["event"] == "profile not woken"]
    assert [entry["code"] for entry in told] == ["cold_store_unreachable"]


async def an_hour_later(cold: Cold) -> None:
    await cold.owner.execute("update cold_removal set due_at = due_at - interval '61 minutes'")
