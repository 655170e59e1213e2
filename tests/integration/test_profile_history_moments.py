"""Is a profile at any moment what it was, however it came about, and is what cannot be meant refused?"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Coroutine, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as trial
from hypothesis import strategies as st

from api_world import app_on, asking, told
from conftest import Prepare
from history_contract import DAY, KIM, OF_KIM, Ground, lived, now, same_as_recorded
from mnemic import SyncMemoryService
from mnemic.errors import InvalidInput, NotFound
from mnemic.model import Actor
from mnemic.profile.prose import Prose
from mnemic.settings import Settings
from stub_embedder import StubEmbedder, curve

if TYPE_CHECKING:
    from mnemic.service import MemoryService

URL = "/api/memory/profile"
_users = itertools.count()


@pytest.fixture
async def ground(settings: Settings, prepare: Prepare) -> Ground:
    await prepare(settings, StubEmbedder(), curve())
    return Ground(settings, chunked=False)


@pytest.fixture
async def memory(ground: Ground) -> AsyncIterator[MemoryService]:  # type: ignore[override]
    async with ground.open() as opened:
        yield opened


# ---- any history, any moment

DEEDS = st.lists(
    st.one_of(
        st.tuples(
            st.just("say"),
            st.sampled_from(
                [f"My name is {name}" for name in ("Rowan", "Robin", "王伟")]
                + [f"I live in {place}" for place in ("Oslo", "Accra", "Gohlis")]
                + ["I like steak", "I don't like steak any more", "I use Vim", "我喜欢爵士乐"]
            ),
        ),
        st.tuples(st.just("forget"), st.integers(0, 20)),
        st.tuples(
            st.just("edit"),
            st.dictionaries(
                st.sampled_from(["username", "profession"]),
                st.sampled_from(["Ro", "pilot", "", None]),
                min_size=1,
            ),
        ),
        st.tuples(st.just("take away"), st.none()),
        st.tuples(st.just("fold"), st.none()),
    ),
    min_size=1,
    max_size=12,
)


class Shared:
    """One loop and one service for all runs; every run is a user of its own."""

    loop: asyncio.AbstractEventLoop
    memory: MemoryService

    @classmethod
    def run(cls, work: Coroutine[Any, Any, Any]) -> Any:
        return cls.loop.run_until_complete(work)


@pytest.fixture
def shared(settings: Settings, prepare: Prepare) -> Iterator[None]:
    from mnemic.service import MemoryService

    Shared.loop = asyncio.new_event_loop()
    Shared.run(prepare(settings, StubEmbedder(), curve()))
    Shared.memory = MemoryService.open(settings=settings, embedder=StubEmbedder())
    Shared.run(Shared.memory.__aenter__())
    Shared.run(Shared.memory.profiles.consumer.close())
    yield
    Shared.run(Shared.memory.close())
    Shared.loop.close()


async def _done(memory: MemoryService, actor: Actor, deed: str, what: Any, said: list[Any]) -> None:
    if deed == "say":
        verdict = await memory.add_explicit_memory(actor, what)
        if verdict.outcome in ("stored", "superseded"):
            said.append(verdict.id)
    elif deed == "forget" and said:
        await memory.delete(actor, said.pop(what % len(said)))
    elif deed == "edit":
        await memory.profiles.patch(actor, what)
    elif deed == "take away":
        await memory.profiles.delete(actor)
    elif deed == "fold":
        await memory.profiles.fold_history(now() + 31 * DAY)


async def _lived(deeds: list[tuple[str, Any]], data: st.DataObject) -> None:
    memory, actor = Shared.memory, Actor(f"user{next(_users)}")
    said: list[Any] = []
    copies = []
    for deed, what in [("nothing", None), *deeds]:
        await _done(memory, actor, deed, what, said)
        profile = await memory.profiles.get(actor)
        copies.append((now(), profile))
    for moment, profile in copies:
        assert await memory.profiles.get(actor, as_of=moment) == profile
    # between two copies it was the one or the other, by the time of the later one
    share = data.draw(st.floats(0, 1))
    for (before, one), (after, other) in itertools.pairwise(copies):
        moment = before + share * (after - before)
        assert other.updated_at is not None
        expected = other if moment >= other.updated_at else one
        assert await memory.profiles.get(actor, as_of=moment) == expected
    versions = [one.version for one in (await memory.profiles.history(actor, limit=1_000)).changes]
    assert versions == list(range(copies[-1][1].version, 0, -1))


@pytest.mark.usefixtures("shared")
def test_at_a_random_moment_of_a_random_history_the_profile_is_what_it_was() -> None:
    @trial(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(DEEDS, st.data())
    def run(deeds: list[tuple[str, Any]], data: st.DataObject) -> None:
        Shared.run(_lived(deeds, data))

    run()


# ---- what cannot be meant


async def test_moments_that_cannot_be_meant_are_refused(memory: MemoryService) -> None:
    await lived(memory)
    await memory.projects.create(KIM, "apollo", "Apollo")
    wrong: list[tuple[Any, str]] = [
        (datetime(2026, 1, 1), "naive_datetime"),
        ("2026-01-01T00:00:00Z", "invalid_datetime"),
        (now() + timedelta(hours=1), "as_of_in_future"),
        (datetime(1, 1, 1, tzinfo=UTC), "datetime_out_of_range"),
    ]
    for moment, code in wrong:
        for asks in (
            memory.profiles.get(KIM, as_of=moment),
            memory.profiles.get_project(KIM, "apollo", as_of=moment),
        ):
            with pytest.raises(InvalidInput) as raised:
                await asks
            assert raised.value.code == code
    for moment in (datetime(2, 1, 1, tzinfo=UTC), now() - timedelta(days=1)):
        with pytest.raises(NotFound) as missing:
            await memory.profiles.get(KIM, as_of=moment)
        assert missing.value.code == "profile_not_recorded"
    elsewhere = now().astimezone(timezone(timedelta(hours=8)))
    assert await memory.profiles.get(KIM, as_of=elsewhere)


async def test_pages_that_cannot_be_meant_are_refused(memory: MemoryService) -> None:
    await lived(memory)
    for limit in (0, -1, 1_001, True, "5"):
        with pytest.raises(InvalidInput) as raised:
            await memory.profiles.history(KIM, limit=limit)  # type: ignore[arg-type]
        assert raised.value.code == "limit_out_of_range"
    for cursor in ("", "x", "MjAyNi0wMS0wMVQwMDowMDowMHxub3BlCg=="):
        with pytest.raises(InvalidInput) as raised:
            await memory.profiles.history(KIM, cursor=cursor)
        assert raised.value.code == "invalid_cursor"


async def test_of_somebody_unknown_nothing_is_recorded_and_nobody_is_made(
    ground: Ground,
) -> None:
    async with ground.open() as memory:
        assert (await memory.profiles.history(Actor("nobody"))).changes == ()
        with pytest.raises(NotFound) as raised:
            await memory.profiles.get(Actor("nobody"), as_of=now())
        assert raised.value.code == "profile_not_recorded"
    assert ground.ask("select from app_user where user_id = 'nobody'") == []


# ---- where it begins


async def test_a_profile_older_than_its_history_begins_as_it_was(ground: Ground) -> None:
    async with ground.open() as memory:
        await memory.projects.create(KIM, "apollo", "Apollo")
        await memory.add_explicit_memory(KIM, "My name is Rowan")
        await memory.add_explicit_memory(
            OF_KIM, "We chose Redis because it is fast", memory_type="decision", scope="project"
        )
        old, project = (
            await memory.profiles.get(KIM),
            await memory.profiles.get_project(KIM, "apollo"),
        )
        then = now()
    ground.ask("delete from profile_history")  # as after the upgrade
    async with ground.open() as memory:
        assert (await memory.profiles.history(KIM)).changes == ()
        assert await memory.profiles.get(KIM, as_of=then) == old
        assert await memory.profiles.get_project(KIM, "apollo", as_of=then) == project
        assert old.updated_at is not None
        with pytest.raises(NotFound):
            await memory.profiles.get(KIM, as_of=old.updated_at - timedelta(microseconds=1))
        await memory.profiles.edit(KIM, "profession", "pilot")
        await memory.profiles.patch_project(KIM, "apollo", {"current_phase": "beta"})
        for changes in (
            (await memory.profiles.history(KIM)).changes,
            (await memory.profiles.project_history(KIM, "apollo")).changes,
        ):
            assert [(one.cause, one.version) for one in changes] == [("edit", 3), ("known", 2)]
        assert await memory.profiles.get(KIM, as_of=then) == old
        assert await memory.profiles.get_project(KIM, "apollo", as_of=then) == project
        await memory.profiles.fold_history(now() + 31 * DAY)
        assert await memory.profiles.get_project(KIM, "apollo", as_of=then) == project


async def test_a_background_that_a_chat_model_wrote_is_a_change_of_its_own(
    memory: MemoryService,
) -> None:
    class Scripted:
        name = "scripted"

        async def complete(self, messages: Any, *, json_schema: object = None) -> str:
            return "Rowan keeps bees in Oslo and grew up in Ghana."

    for text in ("I live in Oslo", "I grew up in Ghana", "I work as a beekeeper"):
        await memory.add_explicit_memory(KIM, text)
    said = await memory.profiles.get(KIM)
    then = now()
    prose = Prose(memory.profiles._refresh, Scripted())  # type: ignore[arg-type]
    assert await prose.write(KIM)
    (change, *_) = (await memory.profiles.history(KIM)).changes
    assert (change.cause, set(change.values)) == ("model", {"background"})
    assert change.values["background"] == "Rowan keeps bees in Oslo and grew up in Ghana."
    assert await memory.profiles.get(KIM, as_of=then) == said
    assert (await memory.profiles.get(KIM, as_of=now())).values == (
        await memory.profiles.get(KIM)
    ).values


async def test_what_is_not_kept_is_not_recorded(ground: Ground) -> None:
    async with ground.open() as memory:
        await lived(memory)
        before = ground.rows()
        with pytest.raises(InvalidInput):
            await memory.profiles.patch(KIM, {"profession": "sailor", "email": "no address"})
        await memory.profiles.get(KIM)  # and reading changes nothing
        await memory.profiles.catch_up()
    assert ground.rows() == before


# ---- room


async def test_room_is_made_ahead_and_nothing_falls_beside_it(ground: Ground) -> None:
    parts = ground.parts()
    assert parts[0][0] <= now() < parts[0][1]
    assert all(one[1] == other[0] for one, other in itertools.pairwise(parts)), "without a gap"
    assert all(until - since == 30 * DAY for since, until in parts)
    assert parts[-1][1] >= now() + 100 * DAY
    async with ground.open() as memory:
        assert await memory.profiles.prepare_history() == 0
        later = parts[-1][1]
        assert await memory.profiles.prepare_history(later) == 5
        assert await memory.profiles.prepare_history(later) == 0
        with pytest.raises(InvalidInput):
            await memory.profiles.prepare_history(datetime(2026, 1, 1))
    assert ground.parts()[-1][1] >= later + 100 * DAY
    default = (
        "select partdefid from pg_partitioned_table where partrelid = 'profile_history'::regclass"
    )
    assert ground.ask(default) == [{"partdefid": 0}]


async def test_where_nobody_made_room_who_writes_first_does(ground: Ground) -> None:
    for row in ground.ask(
        "select inhrelid::regclass::text as name from pg_inherits"
        " where inhparent = 'profile_history'::regclass"
    ):
        ground.ask(f"drop table {row['name']}")
    assert ground.parts() == []
    users = [Actor(f"user{number}") for number in range(8)]
    async with ground.open() as memory, ground.open() as other:
        await asyncio.gather(
            *(
                (memory if number % 2 else other).profiles.edit(user, "username", user.user)
                for number, user in enumerate(users)
            )
        )
        for user in users:
            assert len((await memory.profiles.history(user)).changes) == 2
    assert len(ground.parts()) == 1


async def test_setting_of_days(ground: Ground) -> None:
    async with ground.open(profile_history_days=3) as memory:
        copies = await lived(memory)
        assert (await memory.profiles.fold_history(now() + 2 * DAY)).changes == 0
        assert (await memory.profiles.fold_history(now() + 4 * DAY)).changes > 0
        await same_as_recorded(memory, copies)


# ---- the other doors


async def test_over_http_as_in_the_library(memory: MemoryService) -> None:
    copies = await lived(memory)
    moment, profile = copies[4]
    async with asking(app_on(memory)) as kim:
        at = {"as_of": moment.isoformat()}
        then = await kim.get(URL, params=at | {"contact": "true"})
        assert then.status_code == 200
        assert then.headers["etag"] == f'"{profile.version}"'
        assert then.json()["values"]["email"] == profile.values["email"] == "rowan@example.org"
        masked = (await kim.get(URL, params=at)).json()["values"]["email"]
        assert masked == "r***@e***.org"
        first = (await kim.get(f"{URL}/history", params={"limit": 3})).json()
        rest = (await kim.get(f"{URL}/history", params={"cursor": first["cursor"]})).json()
        found = [*first["changes"], *rest["changes"]]
        library = (await memory.profiles.history(Actor("kim"))).changes
        assert [one["version"] for one in found] == [one.version for one in library]
        assert rest["cursor"] is None
        for query, status, code in (
            ({"as_of": "2026-01-01T00:00:00"}, 422, "naive_datetime"),
            ({"as_of": (now() + DAY).isoformat()}, 422, "as_of_in_future"),
            ({"as_of": "yesterday"}, 422, "invalid_datetime"),
            ({"as_of": "2026-01-01T00:00:00Z"}, 404, "profile_not_recorded"),
        ):
            told(await kim.get(URL, params=query), status, code)
        told(await kim.get(f"{URL}/history", params={"limit": 0}), 422, "limit_out_of_range")
        told(await kim.get(f"{URL}/history", params={"cursor": "x"}), 422, "invalid_cursor")
        told(await kim.get("/api/projects/nowhere/profile/history"), 404, "project_not_found")
    await memory.projects.create(KIM, "apollo", "Apollo")
    await memory.profiles.patch_project(KIM, "apollo", {"current_phase": "beta"})
    async with asking(app_on(memory)) as kim:
        told_of = (await kim.get("/api/projects/apollo/profile/history")).json()["changes"]
        assert [(one["cause"], one["by"]) for one in told_of] == [("edit", "kim"), ("begin", None)]
        at = {"as_of": told_of[1]["recorded_at"]}
        then = await kim.get("/api/projects/apollo/profile", params=at)
        assert then.json()["values"]["current_phase"] is None


def test_blocking_as_in_the_library(settings: Settings, prepare: Prepare) -> None:
    asyncio.run(prepare(settings, StubEmbedder(), curve()))
    with SyncMemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        memory.profiles.edit(KIM, "username", "Ro")
        then = now()
        memory.profiles.edit(KIM, "username", "Rowan")
        assert memory.profiles.get(KIM, as_of=then).values["username"] == "Ro"
        assert len(memory.profiles.history(KIM).changes) == 3
        assert memory.profiles.fold_history(now() + 31 * DAY).changes == 3
