"""Does the benchmark of many profiles load what the service reads, and write its section and no more?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from benchmarks import page, profile_aging, profiles
from benchmarks.ours import World, world
from benchmarks.profile_rows import written
from benchmarks.table import Line, bounded

from mnemic.model import Actor
from mnemic.profile.fields import USER_FIELDS
from mnemic.profile.find import Contacts
from mnemic.settings import Settings

USERS = 12


@pytest.fixture
async def opened(settings: Settings) -> AsyncIterator[World]:
    async with world(settings) as made:
        yield made


def test_a_users_fields_are_the_same_every_time_and_are_fields() -> None:
    assert written(7) == written(7) != written(8)
    assert written(7).keys() <= USER_FIELDS.keys()


async def test_what_is_copied_is_what_the_service_reads(opened: World, settings: Settings) -> None:
    lines = await profiles.loaded(opened, USERS)
    assert [line.met for line in lines] == [True, None, None, None]
    for number in range(USERS):
        profile = await opened.memory.profiles.get(Actor(f"user{number}"), contact=True)
        told = {name: field.texts for name, field in written(number).items()}
        seen = {
            name: v if isinstance(v, tuple) else (v,) for name, v in profile.values.items() if v
        }
        assert seen == told
    (email,) = written(3)["email"].texts
    async with Contacts.open(settings) as contacts:
        found = await contacts.find(Actor("root"), email=email.upper())
    assert [one.user for one in found] == ["user3"]


async def test_reads_and_aging_are_measured_beside_their_floors(
    opened: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile_aging, "SAMPLE", 2)
    monkeypatch.setattr(profile_aging, "CHANGES", 8)
    await profiles.loaded(opened, USERS)
    lines = await profiles.at_hand(opened, [Actor("user1")], "few", 20)
    lines += await profiles.strangers(opened, USERS)
    assert [line.ratio is not None for line in lines] == [True, False, True, False]
    aged = await profile_aging.measured(opened, USERS)
    assert [line.budget for line in aged] == ["", "<= 20 %", "", "<= 17 %", "", ""]


def test_each_run_writes_its_own_part_of_the_page(tmp_path: Path) -> None:
    lines = [Line("a thing", "1 ms"), bounded("another", 2, "s", 3)]
    place = tmp_path / "benchmarks.md"
    place.write_text(page.page(lines, "python -m benchmarks.run --write"), "utf-8")
    assert page.kept(place.read_text("utf-8")) == ""
    before = place.read_text("utf-8")
    page.write_profiles([Line("many", "7 ms")], 500_000, place)
    page.write_profiles([Line("many", "8 ms")], 500_000, place)
    text = place.read_text("utf-8")
    assert text.count("## Many profiles") == 1
    assert "| many | 8 ms |" in text
    assert "| many | 7 ms |" not in text
    assert "--users 500000 --write" in text
    assert text.startswith(before.partition(page.BEGIN)[0])
    again = page.page(lines, "python -m benchmarks.run --full --write", page.kept(text))
    assert "| many | 8 ms |" in again
    assert page.kept(again) == page.kept(text)
    older = page.with_profiles("# Benchmarks\n", page.kept(text))
    assert page.kept(older) == page.kept(text)
