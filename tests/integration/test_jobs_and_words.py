"""Do the jobs of the hour and the night keep every word that stands, and touch nothing of who said no?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from erase_world import Services, contents, of_kim, services
from sleep_world import away, full_profile

from conftest import Connect, Prepare, Server
from mnemic.jobs.runs import JobReport, Jobs
from mnemic.model import Actor, Turn
from mnemic.service import MemoryService
from stub_embedder import StubEmbedder, curve

KIM, LEE = Actor("kim", session="s1"), Actor("lee", session="s1")
TEXT = "The spare key hangs behind the blue door"
SAID = "I prefer dark mode in every editor"


@asynccontextmanager
async def opened(server: Server, schema: str, prepare: Prepare) -> AsyncIterator[Services]:
    """A service whose jobs end idle sessions and drop finished tasks too."""
    settings = server.settings(schema, session_idle="12h", task_retention="90d")
    await prepare(settings, StubEmbedder(), curve())
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        yield await services(memory, server)


async def run_all(memory: MemoryService, owner: Any) -> dict[str, JobReport]:
    """Let half a year pass without anybody, and run every job."""
    await memory.parts.sleep.activity.flush()
    await owner.execute("update session set last_active_at = now() - interval '200 days'")
    for user in ("kim", "lee"):
        await away(owner, user, days=200)
    reports = {report.job: report for report in await Jobs(memory).run(anyway=True)}
    assert {report.outcome for report in reports.values()} == {"done"}
    return reports


async def test_pf_007_equal_texts_past_the_gate_are_not_tidied_away(
    server: Server, schema: str, prepare: Prepare, connect: Connect
) -> None:
    """Equal texts may stand beside each other in two scopes, and for two readers of a project."""
    anna, ben = Actor("anna", "apollo"), Actor("ben", "apollo")
    async with opened(server, schema, prepare) as parts:
        memory, owner = parts.memory, await connect("owner")
        await memory.projects.create(Actor("anna"), "apollo", "Apollo")
        await memory.projects.grant(anna, "apollo", "ben", "editor")
        for actor, given in (
            (KIM, {"scope": "user"}),
            (KIM, {"scope": "session"}),
            (anna, {"scope": "project", "visibility": "owner_only"}),
            (ben, {"scope": "project"}),
        ):
            verdict = await memory.add_explicit_memory(actor, TEXT, **given)  # type: ignore[arg-type]
            assert verdict.outcome == "stored"
        await memory.sessions.append(KIM, [Turn("user", "Hello there")])
        for _ in range(2):
            await run_all(memory, owner)
        for actor in (Actor("kim"), anna, ben):
            hits = await memory.search_memories(actor, "where is the spare key")
            assert [hit.content for hit in hits] == [TEXT]
        standing = await memory.list(Actor("kim"))
        assert [item.content for item in standing.items] == [TEXT]


async def test_pf_069_no_job_and_no_change_of_model_touches_what_is_not_ours(
    server: Server, schema: str, prepare: Prepare, connect: Connect
) -> None:
    async with opened(server, schema, prepare) as parts:
        memory, owner = parts.memory, await connect("owner")
        await owner.execute("create table guests (scope_key text, user_id text, note text)")
        await owner.execute("insert into guests values ('user:kim', 'kim', 'not ours')")
        await full_profile(memory, KIM)
        before = await contents(owner, schema)
        await run_all(memory, owner)
        await memory.embeddings.reembed(KIM)
        await memory.delete_all(KIM)
        await memory.profiles.delete(KIM)
        after = await contents(owner, schema)
    assert after["guests"] == before["guests"]
    assert set(before["audit_log"]) < set(after["audit_log"])


async def test_pf_084_no_job_learns_from_who_refused_and_their_session_stays_open(
    server: Server, schema: str, prepare: Prepare, connect: Connect
) -> None:
    async with opened(server, schema, prepare) as parts:
        memory, owner = parts.memory, await connect("owner")
        for actor in (KIM, LEE):
            await memory.sessions.append(actor, [Turn("user", SAID)])
        await parts.consents.refuse(KIM)
        before = await of_kim(owner, schema)
        reports = await run_all(memory, owner)
        after = await of_kim(owner, schema)
        learnt = await owner.execute("select distinct owner_id from memory_item")
        assert [row["owner_id"] for row in await learnt.fetchall()] == ["lee"], (
            "or it proves nothing"
        )
        assert reports["idle_sessions"].counts == {"sessions": 1, "failed": {}}
        moved = {"session", "app_user"}  # half a year went by for them
        assert {name: after[name] for name in after.keys() - moved} == {
            name: before[name] for name in before.keys() - moved
        }
        await parts.consents.grant(KIM)
        assert (await memory.sessions.info(KIM)).closed_at is None
