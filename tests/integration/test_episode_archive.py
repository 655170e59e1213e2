"""Do old checkpoints leave the tables, and come back as they were?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from episode_world import KIM, LEE, config, counter, emptied, mailer, opened, shared_schema
from langchain_core.messages import HumanMessage

from conftest import Connect, Server
from mnemic.deployment import Deployment
from mnemic.episodic.episodes import Episodes
from mnemic.model import Actor
from mnemic.settings import Settings

RUNS, KEPT = 10, 2
LIVE = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


@pytest.fixture(scope="module")
def shared(server: Server) -> Settings:
    return shared_schema(server)


@pytest.fixture
def settings(shared: Settings) -> Settings:
    return emptied(shared)


@pytest.fixture
def schema(settings: Settings) -> str:
    return settings.db_schema


@pytest.fixture
async def world(settings: Settings) -> AsyncIterator[tuple[Episodes, Deployment]]:
    async with opened(settings, keep=KEPT) as made:
        yield made


async def talked(episodes: Episodes, actor: Actor, thread: str, runs: int = RUNS) -> None:
    """Let a conversation grow."""
    graph = counter(episodes.checkpointer())
    for turn in range(runs):
        said = HumanMessage(f"turn {turn} of a long talk about walnuts", id=f"m{turn}")
        await graph.ainvoke({"messages": [said], "age": turn}, config(actor, thread))


async def live(owner: Any) -> tuple[int, int]:
    """Return how many rows there are in LangGraph's tables, and their bytes."""
    rows = size = 0
    for table in LIVE:
        query = (
            f"select count(*) as n, coalesce(sum(pg_column_size(t.*)), 0) as size from {table} t"
        )
        row = await (await owner.execute(query)).fetchone()
        rows, size = rows + row["n"], size + row["size"]
    return rows, size


async def all_states(episodes: Episodes, actor: Actor, thread: str) -> dict[str, Any]:
    saver = episodes.checkpointer(actor)
    return {
        one.checkpoint["id"]: (one.checkpoint, one.metadata, one.pending_writes, one.parent_config)
        async for one in saver.alist(config(actor, thread))
    }


async def test_archiving_leaves_the_newest_and_bringing_back_gives_all_as_it_was(
    world: tuple[Episodes, Deployment], connect: Connect
) -> None:
    episodes, _ = world
    threads = [(KIM, "a"), (KIM, "b"), (LEE, "a")]
    for actor, thread in threads:
        await talked(episodes, actor, thread)
    owner = await connect("owner")
    rows, size = await live(owner)
    states = {one: await all_states(episodes, *one) for one in threads}
    moments = [await episodes.thread(*one) for one in threads]
    moved = await episodes.archive_expired()
    assert moved == {"threads": 3, "checkpoints": 3 * (RUNS * 3 - 2)}
    fewer, smaller = await live(owner)
    assert rows >= 5 * fewer
    assert size >= 5 * smaller
    kept = await (
        await owner.execute("select sum(pg_column_size(archive_enc)) as n from checkpoint_archive")
    ).fetchone()
    assert kept["n"] < size / 3
    assert await episodes.archive_expired() == {"threads": 0, "checkpoints": 0}
    for one, moment in zip(threads, moments, strict=True):
        newest = await all_states(episodes, *one)
        assert newest == dict(list(states[one].items())[:2])
        assert await episodes.thread(*one) == moment
        assert await episodes.restore(*one) == RUNS * 3 - 2
        assert await all_states(episodes, *one) == states[one]
    assert await live(owner) >= (rows, 0)
    assert [one.archived for one in await episodes.threads(KIM)] == [0, 0]


async def in_clear(owner: Any) -> list[Any]:
    """Return every live checkpoint, and which values and writes there are, as far as they are not sealed."""
    query = """
        select c.thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint,
               metadata - 'sealed' as clear, v.names as values, w.names as writes
        from checkpoints c
        left join (select thread_id, array_agg(channel || version order by channel, version) as names
                   from checkpoint_blobs group by 1) v using (thread_id)
        left join (select thread_id, checkpoint_id,
                          array_agg(task_id || idx || channel order by task_id, idx) as names
                   from checkpoint_writes group by 1, 2) w using (thread_id, checkpoint_id)
        order by 1, 2, 3
    """
    return [tuple(row.values()) for row in await (await owner.execute(query)).fetchall()]


THREADS, STEPS = 100, 100


async def test_ten_thousand_checkpoints_on_a_hundred_threads_leave_and_come_back(
    world: tuple[Episodes, Deployment], connect: Connect
) -> None:
    episodes, _ = world
    names = [f"t{n}" for n in range(THREADS)]
    await talked(episodes, KIM, names[0], STEPS // 3 + 1)
    await episodes.prune(KIM, names[0], keep=STEPS)
    saver = episodes.checkpointer(KIM)
    for name in names[1:]:
        await saver.acopy_thread(names[0], name)
    owner = await connect("owner")
    rows, size = await live(owner)
    before = await in_clear(owner)
    assert len(before) == THREADS * STEPS
    sample = names[:: THREADS // 2]
    states = {name: await all_states(episodes, KIM, name) for name in sample}
    moments = {name: (await episodes.thread(KIM, name)).state for name in names}

    moved = await episodes.archive_expired(limit=THREADS)
    assert moved == {"threads": THREADS, "checkpoints": THREADS * (STEPS - KEPT)}
    fewer, smaller = await live(owner)
    assert rows >= 5 * fewer
    assert size >= 5 * smaller
    for name in names:
        assert (await episodes.thread(KIM, name)).state == moments[name]
    for name in sample:
        newest = dict(list(states[name].items())[:KEPT])
        assert await all_states(episodes, KIM, name) == newest

    for name in names:
        assert await episodes.restore(KIM, name) == STEPS - KEPT
    assert await in_clear(owner) == before
    for name in sample:
        assert await all_states(episodes, KIM, name) == states[name]


async def test_an_archived_checkpoint_comes_back_when_it_is_asked_for(
    world: tuple[Episodes, Deployment],
) -> None:
    episodes, _ = world
    await talked(episodes, KIM, "a", 3)
    steps = await episodes.history(KIM, "a")
    assert await episodes.archive(KIM, "a") == 7
    assert len(await episodes.history(KIM, "a")) == 2
    (info,) = await episodes.threads(KIM)
    assert (info.live, info.archived) == (2, 7)
    state = await episodes.state(KIM, "a", steps[5].checkpoint_id)
    assert state["messages"][0].content.startswith("turn 0")
    assert state["age"] == 0
    assert await episodes.history(KIM, "a") == steps
    graph = counter(episodes.checkpointer())
    assert (await graph.ainvoke({"age": 9}, config(KIM, "a")))["notes"][-1] == "note 3"


async def test_age_and_number_decide_what_goes(settings: Settings) -> None:
    async with opened(settings, keep=2, after=timedelta(hours=1)) as (episodes, _):
        await talked(episodes, KIM, "a", 2)
        assert await episodes.archive_expired() == {"threads": 0, "checkpoints": 0}
        assert await episodes.archive(KIM, "a") == 0
        assert await episodes.archive(KIM, "a", keep=4, older_than=timedelta(0)) == 2
        assert await episodes.archive(KIM, "a", keep=1, older_than=timedelta(0)) == 3
        assert len(await episodes.history(KIM, "a")) == 1


async def test_a_question_that_waits_outlives_the_archive(
    world: tuple[Episodes, Deployment],
) -> None:
    episodes, _ = world
    graph = mailer(episodes.checkpointer())
    await graph.ainvoke({"mood": "glad"}, config(KIM))
    assert await episodes.archive(KIM, "t1", keep=1) == 2
    (approval,) = await episodes.pending_approvals(KIM)
    decided = await episodes.approve(KIM, approval.id)
    assert (await graph.ainvoke(None, decided.config))["sent"]


async def test_the_job_passes_over_who_refused(
    world: tuple[Episodes, Deployment], connect: Connect
) -> None:
    episodes, _ = world
    for actor in (KIM, LEE):
        await talked(episodes, actor, "a", 2)
    owner = await connect("owner")
    await owner.execute("update app_user set remember = 'refused' where user_id = 'lee'")
    assert await episodes.archive_expired() == {"threads": 1, "checkpoints": 4}


async def test_an_erased_user_leaves_no_checkpoint_and_no_archive(
    world: tuple[Episodes, Deployment], connect: Connect
) -> None:
    episodes, deployment = world
    for actor in (KIM, LEE):
        await talked(episodes, actor, "a", 2)
        await episodes.archive(actor, "a")
    async with deployment.database.transaction(KIM) as tx:
        rows = await tx.all("select * from erase_user(true)")
    counts = {row["table_name"]: row["n_rows"] for row in rows}
    assert all(counts[table] > 0 for table in (*LIVE, "thread", "checkpoint_archive"))
    assert counts["session_state_snapshot"] == 1
    owner = await connect("owner")
    for table in (*LIVE, "thread", "session_state_snapshot", "checkpoint_archive"):
        query = f"select count(*) filter (where thread_id like 'kim/%%') as kim, count(*) as n from {table}"
        row = await (await owner.execute(query)).fetchone()
        assert row["kim"] == 0 < row["n"]
    assert (await episodes.thread(LEE, "a")).status == "done"
