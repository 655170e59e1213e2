"""Does a profile go to sleep and wake, whole, once, and within the request that needs it?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sleep_world import (
    CORE,
    KIM,
    away,
    count,
    full_profile,
    now,
    put_to_sleep,
    row_of,
    status_of,
)

from conftest import Connect
from mnemic.errors import KeyUnavailable, MnemicError, NotFound
from mnemic.model import Actor, Turn
from mnemic.profile.find import Contacts
from mnemic.service import MemoryService
from mnemic.settings import Settings
from stub_embedder import StubEmbedder

if TYPE_CHECKING:
    from mnemic.profile.values import Profile


async def test_who_is_away_for_a_month_keeps_the_core_of_the_profile_alone(
    stub_memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    await full_profile(stub_memory, KIM)
    await away(owner, days=31)
    saved = await stub_memory.sleepers.hibernate()
    assert saved.users == 1
    assert saved.bytes_after < saved.bytes_before
    row = await row_of(owner, "user_profile")
    held = {name[:-4] for name, value in row.items() if name.endswith("_enc") and value}
    assert held == set(CORE)
    assert row["behavior_vector"] is None
    assert await status_of(owner) == "dormant"


async def test_whoever_was_here_lately_does_not_go_to_sleep(
    stub_memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    await full_profile(stub_memory, KIM)
    await away(owner, days=29)
    assert (await stub_memory.sleepers.hibernate()).users == 0
    assert await status_of(owner) == "active"


async def test_the_clock_tells_who_has_been_away(
    stub_memory: MemoryService, connect: Connect
) -> None:
    await full_profile(stub_memory, KIM)
    hibernation = stub_memory.parts.sleep.hibernation
    hibernation.clock = lambda: now() + timedelta(days=31)
    assert (await stub_memory.sleepers.hibernate()).users == 1
    await stub_memory.profiles.get(KIM)  # wakes, by the same clock
    assert (await stub_memory.sleepers.hibernate()).users == 0


async def test_reading_the_profile_wakes_all_of_it_within_the_same_call(
    stub_memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    before = await full_profile(stub_memory, KIM)
    behaviour = await stub_memory.profiles.behaviour(KIM)
    history = await stub_memory.profiles.history(KIM)
    await put_to_sleep(stub_memory, owner)
    assert await stub_memory.profiles.get(KIM, contact=True) == before
    assert await stub_memory.profiles.behaviour(KIM) == behaviour
    assert await stub_memory.profiles.history(KIM) == history
    assert await status_of(owner) == "active"
    assert await count(owner, "profile_archive") == 0


async def remembers(memory: MemoryService) -> None:
    await memory.add_explicit_memory(KIM, "I keep bees on the roof of the house")


async def says(memory: MemoryService) -> None:
    await memory.sessions.append(KIM, [Turn("user", "Good morning")])


async def searches(memory: MemoryService) -> None:
    await memory.search_memories(KIM, "tea")


async def prompts(memory: MemoryService) -> None:
    assert "surveyor" in await memory.build_context(KIM, "Who am I?")


async def edits(memory: MemoryService) -> None:
    profile = await memory.profiles.edit(KIM, "username", "K.")
    assert profile.values["profession"] == "surveyor"


async def works(memory: MemoryService) -> None:
    await memory.tasks.list(KIM)


async def looks_back(memory: MemoryService) -> None:
    assert (await memory.profiles.history(KIM)).changes


@pytest.mark.parametrize("contact", [remembers, says, searches, prompts, edits, works, looks_back])
async def test_any_contact_wakes_the_user(
    stub_memory: MemoryService,
    connect: Connect,
    contact: Callable[[MemoryService], Awaitable[None]],
) -> None:
    owner = await connect("owner")
    await full_profile(stub_memory, KIM)
    await stub_memory.sessions.append(KIM, [Turn("user", "Hello")])
    await put_to_sleep(stub_memory, owner)
    await contact(stub_memory)
    assert await status_of(owner) == "active"
    row = await row_of(owner, "user_profile")
    assert row["asleep_at"] is None
    assert row["profession_enc"] is not None


async def test_two_contacts_at_once_wake_once(
    stub_memory: MemoryService, settings: Settings, connect: Connect
) -> None:
    owner = await connect("owner")
    before = await full_profile(stub_memory, KIM)
    await put_to_sleep(stub_memory, owner)
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as other:
        services = (stub_memory, other) * 4
        found = await asyncio.gather(
            *(memory.profiles.get(KIM, contact=True) for memory in services)
        )
    assert found == [before] * len(services)
    woken = "select count(*) as n from audit_log where action = 'wake_profile'"
    assert (await (await owner.execute(woken)).fetchone())["n"] == 1


async def test_a_job_of_a_sleeping_user_disturbs_nobody(
    stub_memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    await full_profile(stub_memory, KIM)
    await put_to_sleep(stub_memory, owner)
    job = replace(KIM, purpose="job")
    await stub_memory.list(job)
    await stub_memory.parts.sleep.activity.flush()
    assert await status_of(owner) == "dormant"
    row = await row_of(owner, "app_user")
    assert row["last_active_at"] < now() - timedelta(days=30)


async def test_what_changed_while_the_user_slept_is_in_the_profile_that_wakes(
    stub_memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    verdict = await stub_memory.add_explicit_memory(
        KIM, "I prefer blue ink", memory_type="preference"
    )
    await stub_memory.profiles.get(KIM)
    await put_to_sleep(stub_memory, owner)
    await owner.execute("update memory_item set valid_to = now() where id = %s", [verdict.id])
    assert await stub_memory.profiles.catch_up() == 0  # nobody needs it yet
    assert await status_of(owner) == "dormant"
    profile = await stub_memory.profiles.get(KIM)
    assert profile.values["preferences"] == ()


async def test_the_sleeping_are_found_by_their_address(
    stub_memory: MemoryService, connect: Connect, settings: Settings
) -> None:
    owner = await connect("owner")
    await full_profile(stub_memory, KIM)
    await put_to_sleep(stub_memory, owner)
    async with Contacts.open(settings) as contacts:
        found = await contacts.find(Actor("operator"), email="KIM@example.org")
    assert [holder.user for holder in found] == ["kim"]
    assert await status_of(owner) == "dormant"


async def test_a_dry_run_measures_and_changes_nothing(
    stub_memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    await full_profile(stub_memory, KIM)
    await away(owner, days=31)
    before = await row_of(owner, "user_profile")
    would = await stub_memory.sleepers.hibernate(dry_run=True)
    assert await row_of(owner, "user_profile") == before
    assert await status_of(owner) == "active"
    did = await stub_memory.sleepers.hibernate()
    assert replace(would, dry_run=False) == did


async def test_what_is_archived_is_sealed(stub_memory: MemoryService, connect: Connect) -> None:
    owner = await connect("owner")
    await full_profile(stub_memory, KIM)
    await put_to_sleep(stub_memory, owner)
    sealed = bytes((await row_of(owner, "profile_archive"))["archive_enc"])
    assert b"surveyor" not in sealed
    assert b"\x28\xb5\x2f\xfd" not in sealed[:64]  # how a bare zstd frame begins


async def test_an_archive_that_does_not_open_is_an_error_and_leaves_the_core(
    stub_memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    await full_profile(stub_memory, KIM)
    await put_to_sleep(stub_memory, owner)
    await owner.execute(
        "update profile_archive set archive_enc = set_byte(archive_enc, 40, get_byte(archive_enc, 40) # 1)"
    )
    with pytest.raises(KeyUnavailable) as refused:
        await stub_memory.profiles.get(KIM)
    assert refused.value.code == "sealed_value_damaged"
    known = await stub_memory.get_profile_for_agent(KIM)
    assert known.user.asleep == "sealed_value_damaged"
    assert known.user.values["username"] == "Kim"
    with pytest.raises(KeyUnavailable):
        await stub_memory.profiles.edit(KIM, "profession", "diver")
    verdict = await stub_memory.add_explicit_memory(KIM, "I keep bees on the roof")
    assert verdict.outcome == "stored"
    assert (await row_of(owner, "user_profile"))["profession_enc"] is None  # nothing half-written


async def test_a_profile_that_is_taken_away_asleep_is_gone(
    stub_memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    await full_profile(stub_memory, KIM)
    await put_to_sleep(stub_memory, owner)
    await owner.execute("update profile_archive set archive_enc = '\\x00'")
    profile = await stub_memory.profiles.delete(KIM)
    assert profile.is_empty
    assert await count(owner, "profile_archive") == 0
    assert await status_of(owner) == "active"


async def test_a_user_who_refused_stays_asleep(
    stub_memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    before: Profile = await full_profile(stub_memory, KIM)
    await put_to_sleep(stub_memory, owner)
    await owner.execute("update app_user set remember = 'refused'")
    with pytest.raises(MnemicError) as refused:
        await stub_memory.profiles.get(KIM)
    assert refused.value.code == "consent_required"
    assert await status_of(owner) == "dormant"
    await owner.execute("update app_user set remember = 'granted'")
    assert await stub_memory.profiles.get(KIM, contact=True) == before


async def test_contacts_are_noted_once_an_hour(
    stub_memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    await stub_memory.profiles.get(KIM)
    activity = stub_memory.parts.sleep.activity
    await activity.flush()
    await away(owner, days=3)
    await stub_memory.profiles.get(KIM)
    await activity.flush()
    assert (await row_of(owner, "app_user"))["last_active_at"] < now() - timedelta(days=2)
    activity._marked.clear()  # an hour later
    await stub_memory.profiles.get(KIM)
    await activity.flush()
    assert (await row_of(owner, "app_user"))["last_active_at"] > now() - timedelta(minutes=1)


async def test_waking_who_is_awake_or_unknown_is_nothing(stub_memory: MemoryService) -> None:
    await stub_memory.sleepers.wake(Actor("nobody"))
    assert await stub_memory.sleepers.abandon(KIM) is False
    with pytest.raises(NotFound):
        await stub_memory.sessions.info(KIM)


async def test_what_a_user_of_long_standing_leaves_is_a_small_part(
    stub_memory: MemoryService, connect: Connect
) -> None:
    """Measured at 30 days, all of it in the database still; what the cold store takes is measured there."""
    owner = await connect("owner")
    await full_profile(stub_memory, KIM)
    for n in range(30):
        await stub_memory.profiles.edit(
            KIM, "content", f"Answer as of state {n}: short, with sources."
        )
    await away(owner, days=31)
    saved = await stub_memory.sleepers.hibernate()
    assert saved.bytes_after <= 0.25 * saved.bytes_before
