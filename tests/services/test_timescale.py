"""Does the history of profiles hold what is asked of it where TimescaleDB keeps it? A real one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from mnemic.storage.migrate import private_schema
from services.test_pglite import prepared, settings, url
from stub_embedder import StubEmbedder, curve

pytest.register_assert_rewrite("history_contract")

from history_contract import *  # noqa: E402, F403
from history_contract import DAY, KIM, Ground, lived, now  # noqa: E402

if TYPE_CHECKING:
    from conftest import Prepare

__all__ = ["prepared"]


@pytest.fixture(scope="module")
def timescale(prepared: str) -> str:
    """The server after an administrator's work, with the extension."""
    with psycopg.connect(url(prepared, "postgres"), autocommit=True) as admin:
        admin.execute("create extension timescaledb")
        row = admin.execute(
            "select extversion from pg_extension where extname = 'timescaledb'"
        ).fetchone()
    assert row is not None
    assert row[0].startswith("2.")
    return prepared


@pytest.fixture
async def ground(
    timescale: str,
    schema: str,
    tmp_path_factory: pytest.TempPathFactory,
    prepare: Prepare,
) -> Ground:
    key_file = Path(tmp_path_factory.mktemp("keys")) / "timescale.key"
    given = settings(timescale, key_file, schema)
    await prepare(given, StubEmbedder(), curve())
    return Ground(given, chunked=True)


async def test_it_is_a_hypertable_of_thirty_days(ground: Ground) -> None:
    async with ground.open() as memory:
        await lived(memory)
        assert await memory.profiles.prepare_history() == 0, "chunks come by themselves"
    (row,) = ground.ask(
        "select d.time_interval, h.num_chunks from timescaledb_information.hypertables h"
        " join timescaledb_information.dimensions d using (hypertable_schema, hypertable_name)"
        " where h.hypertable_schema = %(private)s and h.hypertable_name = 'profile_history'",
        private=private_schema(ground.settings.db_schema),
    )
    assert (row["time_interval"], row["num_chunks"]) == (30 * DAY, 1)


async def test_a_chunk_that_holds_one_row_is_not_dropped(ground: Ground) -> None:
    async with ground.open() as memory:
        await lived(memory)
    assert ground.ask("select drop_profile_history(now() + interval '100 days') as n") == [{"n": 0}]
    ground.ask("delete from profile_history where version > 1")
    assert ground.ask("select drop_profile_history(now() + interval '100 days') as n") == [{"n": 0}]
    assert len(ground.rows()) == 1
    ground.ask("delete from profile_history")
    assert ground.ask("select drop_profile_history(now()) as n") == [{"n": 0}], "it has not ended"
    assert ground.ask("select drop_profile_history(now() + interval '100 days') as n") == [{"n": 1}]
    assert ground.parts() == []


async def test_pf_128_a_user_of_many_rows_is_erased_whole(ground: Ground) -> None:
    async with ground.open() as memory:
        await lived(memory)
    ground.ask(
        "insert into profile_history (scope_key, recorded_at, version, cause)"
        " select 'user:kim', now() - n * interval '1 minute', n, 'begin' from generate_series(1, 150000) n"
    )
    assert len(ground.parts()) > 3
    async with ground.open() as memory:
        erased = await memory.forget_user(KIM)
        assert erased.counts["profile_history"] > 150_000
    assert ground.rows() == []


async def test_pf_127_a_user_has_one_current_profile_beside_the_hypertable(ground: Ground) -> None:
    async with ground.open() as memory:
        for name in ("Ro", "Rowan"):
            await memory.profiles.edit(KIM, "username", name)
        moment = now()
        assert (await memory.profiles.get(KIM, as_of=moment)).values["username"] == "Rowan"
    assert ground.ask("select version from user_profile") == [{"version": 3}]
    assert [row["version"] for row in ground.rows()] == [1, 2, 3]
