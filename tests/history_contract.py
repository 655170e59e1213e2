"""What is asked of the history of profiles, in partitions of ours or in TimescaleDB's chunks?

A test module takes these tests and gives ``ground``. Some servers have one session, so nobody looks as the
owner while a service is open.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.rows import dict_row

from mnemic.errors import NotFound
from mnemic.model import Actor
from mnemic.settings import Settings
from mnemic.storage.migrate import private_schema
from stub_embedder import StubEmbedder

if TYPE_CHECKING:
    from mnemic.profile.values import Profile, ProjectProfile
    from mnemic.service import MemoryService

KIM, LEE = Actor("kim", session="s1"), Actor("lee", session="s1")
OF_KIM = Actor("kim", project="apollo")
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Ground:
    """A prepared schema with both logins; ``chunked`` where TimescaleDB keeps the history."""

    settings: Settings
    chunked: bool

    @asynccontextmanager
    async def open(self, **more: Any) -> AsyncIterator[MemoryService]:
        """Open a service whose profiles are made anew when they are read."""
        from mnemic.service import MemoryService

        changed = self.settings.model_copy(update={"migration_url": None, **more})
        async with MemoryService.open(settings=changed, embedder=StubEmbedder()) as memory:
            await memory.profiles.consumer.close()
            yield memory

    def ask(self, query: str, **params: Any) -> list[dict[str, Any]]:
        """Return rows as the owner, who sees ``profile_history`` and ``profile_history_fold``."""
        assert self.settings.migration_url is not None
        schema = self.settings.db_schema
        url = self.settings.migration_url.get_secret_value()
        with psycopg.connect(url, autocommit=True, row_factory=dict_row) as conn:
            conn.execute(f"set search_path = {schema}, {private_schema(schema)}, public".encode())
            cursor = conn.execute(query.encode(), params)
            return cursor.fetchall() if cursor.description else []

    def rows(self, scope_key: str = "user:kim") -> list[dict[str, Any]]:
        """Return the changes that lie as rows."""
        return self.ask(
            "select * from profile_history where scope_key = %(scope_key)s order by version",
            scope_key=scope_key,
        )

    def parts(self) -> list[tuple[datetime, datetime]]:
        """Return from when until when the chunks or partitions of the history reach."""
        private = private_schema(self.settings.db_schema)
        if self.chunked:
            found = self.ask(
                "select range_start as since, range_end as until from timescaledb_information.chunks"
                " where hypertable_schema = %(private)s order by 1",
                private=private,
            )
            return [(row["since"], row["until"]) for row in found]
        found = self.ask(
            "select pg_get_expr(c.relpartbound, c.oid) as bounds from pg_inherits i"
            " join pg_class c on c.oid = i.inhrelid"
            " where i.inhparent = 'profile_history'::regclass"
        )
        every = []
        for row in found:
            _, since, _, until, _ = row["bounds"].split("'")
            every.append((datetime.fromisoformat(since), datetime.fromisoformat(until)))
        return sorted(every)


def now() -> datetime:
    return datetime.now(UTC)


async def lived(memory: MemoryService, actor: Actor = KIM) -> list[tuple[datetime, Profile]]:
    """Let a user's profile change in every way; return what it was at moments in between."""
    copies = []

    async def look() -> None:
        profile = await memory.profiles.get(actor, contact=True)
        copies.append((now(), profile))

    await look()
    name = await memory.add_explicit_memory(actor, "My name is Rowan")
    await look()
    await memory.add_explicit_memory(actor, "I like steak", memory_type="preference")
    await memory.add_explicit_memory(actor, "我喜欢爵士乐", memory_type="preference")
    await look()
    await memory.profiles.patch(actor, {"profession": "pilot", "email": "rowan@example.org"})
    await look()
    await memory.delete(actor, name.id)
    await look()
    await memory.profiles.delete(actor)
    await look()
    await memory.profiles.edit(actor, "username", "Ro")
    await look()
    await memory.profiles.edit(actor, "username", None)
    await look()
    return copies


async def projected(memory: MemoryService) -> list[tuple[datetime, ProjectProfile]]:
    """The same of a project, with decisions that come and go."""
    copies = []

    async def look() -> None:
        profile = await memory.profiles.get_project(KIM, "apollo")
        copies.append((now(), profile))

    async def say(text: str, memory_type: Any) -> Any:
        verdict = await memory.add_explicit_memory(
            OF_KIM, text, memory_type=memory_type, scope="project"
        )
        return verdict.id

    await memory.projects.create(KIM, "apollo", "Apollo")
    await look()
    redis = await say("We chose Redis because it is fast", "decision")
    await look()
    await say("We chose to ship in May", "decision")
    await say("Our goal is to ship by May", "context")
    await look()
    await memory.profiles.patch_project(KIM, "apollo", {"current_phase": "beta"})
    await look()
    await memory.delete(OF_KIM, redis)
    await look()
    return copies


async def same_as_recorded(memory: MemoryService, copies: list[tuple[datetime, Profile]]) -> None:
    for moment, profile in copies:
        assert await memory.profiles.get(KIM, contact=True, as_of=moment) == profile


# ---- the tests


async def test_every_change_is_a_row_of_its_version(ground: Ground) -> None:
    async with ground.open() as memory:
        copies = await lived(memory)
        history = await memory.profiles.history(KIM, contact=True)
    last = copies[-1][1]
    assert [one.version for one in history.changes] == list(range(last.version, 0, -1))
    assert history.changes[0].recorded_at == last.updated_at
    assert [one.cause for one in reversed(history.changes)] == [
        "begin", "items", "items", "edit", "items", "delete", "edit", "edit",
    ]  # fmt: skip
    edited = history.changes[4]
    assert edited.values == {"profession": "pilot", "email": "rowan@example.org"}
    assert edited.origins["profession"].edited_at is not None
    assert history.changes[3].values == {"username": None}
    assert [row["version"] for row in ground.rows()] == list(range(1, last.version + 1))


async def test_as_of_any_moment_the_profile_is_what_it_was(ground: Ground) -> None:
    async with ground.open() as memory:
        copies = await lived(memory)
        await same_as_recorded(memory, copies)
        for _, profile in copies:  # the time of a change is that of the profile that came of it
            assert profile.updated_at is not None
            told = await memory.profiles.get(KIM, contact=True, as_of=profile.updated_at)
            assert told == profile
        with pytest.raises(NotFound) as raised:
            await memory.profiles.get(KIM, as_of=copies[0][0] - DAY)
        assert raised.value.code == "profile_not_recorded"


async def test_what_is_folded_is_read_as_before(ground: Ground) -> None:
    async with ground.open() as memory:
        copies = await lived(memory)
        before = await memory.profiles.history(KIM)
        assert (await memory.profiles.fold_history(now() + 29 * DAY)).changes == 0
        folded = await memory.profiles.fold_history(now() + 31 * DAY)
        assert (folded.profiles, folded.changes, folded.failed) == (1, len(before.changes), 0)
        await same_as_recorded(memory, copies)
        assert await memory.profiles.history(KIM) == before
        assert (await memory.profiles.fold_history(now() + 31 * DAY)).changes == 0
    assert ground.rows() == []
    (fold,) = ground.ask("select * from profile_history_fold")
    assert (fold["fold_no"], fold["n_changes"]) == (1, len(before.changes))
    assert (fold["first_at"], fold["last_at"]) == (
        before.changes[-1].recorded_at,
        before.changes[0].recorded_at,
    )


async def test_later_changes_join_the_fold(ground: Ground) -> None:
    async with ground.open() as memory:
        copies = await lived(memory)
        await memory.profiles.fold_history(now() + 31 * DAY)
        await memory.profiles.edit(KIM, "profession", "sailor")
        copies.append((now(), await memory.profiles.get(KIM, contact=True)))
        await same_as_recorded(memory, copies)
        assert (await memory.profiles.fold_history(now() + 31 * DAY)).changes == 1
        await same_as_recorded(memory, copies)
        versions = [one.version for one in (await memory.profiles.history(KIM)).changes]
    assert versions == list(range(copies[-1][1].version, 0, -1))
    assert ground.rows() == []
    assert [row["fold_no"] for row in ground.ask("select * from profile_history_fold")] == [2]


async def test_pages_go_from_rows_into_the_fold(ground: Ground) -> None:
    async with ground.open() as memory:
        await lived(memory)
        await memory.profiles.fold_history(now() + 31 * DAY)
        for name in ("pilot", "sailor", "baker"):
            await memory.profiles.edit(KIM, "profession", name)
        whole = (await memory.profiles.history(KIM, limit=1_000)).changes
        for size in (1, 2, 5, len(whole)):
            pages, cursor = [], None
            while True:
                page = await memory.profiles.history(KIM, limit=size, cursor=cursor)
                pages += page.changes
                cursor = page.cursor
                if cursor is None:
                    break
            assert tuple(pages) == whole


async def test_chunks_that_are_folded_whole_are_dropped_and_no_others(ground: Ground) -> None:
    async with ground.open() as memory:
        await lived(memory)
        await lived(memory, LEE)
        await memory.consent.refuse(LEE)  # whose history nobody may open
        later = now() + 100 * DAY
        folded = await memory.profiles.fold_history(later)
        assert folded.profiles == 1
    parts = ground.parts()
    today = [one for one in parts if one[0] <= now() < one[1]]
    assert len(today) == 1, "it still holds what was not folded"
    kept = len(ground.rows("user:lee"))
    assert kept > 1
    async with ground.open() as memory:
        await memory.consent.grant(LEE)
        folded = await memory.profiles.fold_history(later)
        assert (folded.profiles, folded.changes) == (1, kept)
        assert folded.dropped >= 1
    assert [one for one in ground.parts() if one[1] <= later - 30 * DAY] == []
    async with ground.open() as memory:  # and there is room for what comes
        await memory.profiles.edit(KIM, "username", "Kim")
        assert (await memory.profiles.history(KIM)).changes[0].values == {"username": "Kim"}


async def test_a_project_has_a_history_of_its_own(ground: Ground) -> None:
    async with ground.open() as memory:
        copies = await projected(memory)
        for fold in (False, True):
            if fold:
                assert (await memory.profiles.fold_history(now() + 31 * DAY)).profiles == 2
            for moment, profile in copies:
                told = await memory.profiles.get_project(KIM, "apollo", as_of=moment)
                assert told == profile
            changes = (await memory.profiles.project_history(KIM, "apollo")).changes
            assert [one.cause for one in changes] == ["items", "edit", "items", "items", "begin"]
            assert changes[1].by == "kim"
            assert [one.decision for one in changes[3].decided] == ["We chose Redis"]
            assert changes[0].withdrawn == (changes[3].decided[0].item,)
        assert all(one.by is None for one in (await memory.profiles.history(KIM)).changes)
    assert ground.rows("project:apollo") == []


async def test_history_folded_is_a_fifth_of_its_bytes_at_most(ground: Ground) -> None:
    size = "select coalesce(sum(pg_column_size({0}.*)), 0)::int as n from {0}"
    async with ground.open() as memory:
        for number in range(60):
            await memory.add_explicit_memory(
                KIM, f"I like the music of band number {number}", memory_type="preference"
            )
            await memory.profiles.get(KIM)
    (hot,) = ground.ask(size.format("profile_history"))
    async with ground.open() as memory:
        folded = await memory.profiles.fold_history(now() + 100 * DAY)
        assert folded.changes == 61
    (left,) = ground.ask(size.format("profile_history"))
    (cold,) = ground.ask(size.format("profile_history_fold"))
    assert left["n"] == 0
    assert 0 < cold["n"] <= 0.2 * hot["n"], (cold, hot)


async def test_an_erased_user_and_a_deleted_project_leave_no_history(ground: Ground) -> None:
    async with ground.open() as memory:
        await lived(memory)
        await lived(memory, LEE)
        await projected(memory)
        await memory.profiles.fold_history(now() + 31 * DAY)
        await memory.profiles.edit(KIM, "username", "Kim")
        await memory.profiles.patch_project(KIM, "apollo", {"current_phase": "done"})
        await memory.projects.delete(KIM, "apollo")
        erased = await memory.forget_user(KIM)
        assert (erased.counts["profile_history"], erased.counts["profile_history_fold"]) == (1, 1)
        assert (await memory.profiles.history(KIM)).changes == ()
        with pytest.raises(NotFound):
            await memory.profiles.get(KIM, as_of=now())
        assert len((await memory.profiles.history(LEE)).changes) > 5
    for table in ("profile_history", "profile_history_fold"):
        scopes = {row["scope_key"] for row in ground.ask(f"select scope_key from {table}")}
        assert scopes <= {"user:lee"}


async def test_the_service_reaches_history_by_functions_alone(ground: Ground) -> None:
    async with ground.open() as memory:
        await lived(memory)
    url = ground.settings.database_url
    assert url is not None
    private = private_schema(ground.settings.db_schema)
    changes = "select from profile_changes('user:kim', null, null, null, false)"
    with psycopg.connect(url.get_secret_value(), autocommit=True) as conn:
        conn.execute(f"set search_path = {ground.settings.db_schema}, public".encode())
        conn.execute("set mnemic.scopes = 'user:kim'")
        assert conn.execute(changes.encode()).rowcount > 1
        for table in ("profile_history", "profile_history_fold"):
            for statement in ("select from {}", "delete from {}", "truncate {}"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    conn.execute(statement.format(f"{private}.{table}").encode())
    parts = ground.ask(
        "select has_table_privilege('mnemic_service', c.oid, 'select, insert, update, delete, truncate')"
        " as open from pg_inherits i join pg_class c on c.oid = i.inhrelid"
        " where i.inhparent = 'profile_history'::regclass"
    )
    assert parts
    assert not any(part["open"] for part in parts)
