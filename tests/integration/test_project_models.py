"""Do members with models of their own find a project by meaning, and their own things beside it?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from conftest import Connect, Prepare
from embedding_endpoint import Endpoint, WideEmbedder, endpoint
from mnemic import Actor, MemoryService
from mnemic.errors import PermissionDenied
from mnemic.settings import Settings
from mnemic.storage.pool import Database
from stub_embedder import StubEmbedder, curve

KIM, LEE, MIA = (Actor(name, project="apollo") for name in ("kim", "lee", "mia"))
EVE = Actor("eve", project="apollo")
QUERY = "deploying releases fridays"
SHARED = {
    "kim": "Deployments of a release never happen on a friday",
    "lee": "The violin lessons in the town hall are loud",
}
OWN = {
    "kim": "I myself like to deploy on Friday evening",
    "lee": "My release party was on a Friday",
}


@pytest.fixture
def narrow() -> Iterator[Endpoint]:
    with endpoint(256) as made:
        yield made


@pytest.fixture
def wide() -> Iterator[Endpoint]:
    with endpoint(1024) as made:
        yield made


@pytest.fixture
def allowing(settings: Settings, narrow: Endpoint, wide: Endpoint) -> Settings:
    hosts = frozenset({narrow.server.host, wide.server.host})
    return settings.model_copy(update={"allowed_hosts": hosts})


@pytest.fixture
async def memory(
    allowing: Settings, prepare: Prepare, narrow: Endpoint, wide: Endpoint
) -> AsyncIterator[MemoryService]:
    """kim's vectors have 256 dimensions, lee's 1,024, mia's and the project's 64."""
    await prepare(allowing, StubEmbedder(), curve())
    async with MemoryService.open(settings=allowing, embedder=StubEmbedder()) as service:
        await service.projects.create(KIM, "apollo", "Apollo")
        for user in ("lee", "mia"):
            await service.projects.grant(KIM, "apollo", user, "editor")
        for actor in (KIM, LEE):
            await service.add_explicit_memory(actor, OWN[actor.user])
        await service.embeddings.set(KIM, narrow.url, "narrow-1")
        await service.embeddings.set(LEE, wide.url, "wide-1", dims=1024)
        for actor in (KIM, LEE):
            await service.add_explicit_memory(actor, SHARED[actor.user], scope="project")
        yield service


async def widths(connect: Connect) -> dict[str, set[int]]:
    owner = await connect("owner")
    query = "select scope_key, vector_dims(embedding) as dims from memory_item"
    found: dict[str, set[int]] = {}
    for row in await (await owner.execute(query)).fetchall():
        found.setdefault(row["scope_key"], set()).add(row["dims"])
    return found


async def test_each_member_finds_the_projects_by_meaning_whatever_their_model(
    memory: MemoryService, connect: Connect
) -> None:
    assert await widths(connect) == {"user:kim": {256}, "user:lee": {1024}, "project:apollo": {64}}
    told = {}
    for actor in (KIM, LEE, MIA):
        hits = await memory.search_memories(actor, QUERY, k=5, scope="project")
        assert hits[0].content == SHARED["kim"]
        assert hits[0].cosine is not None, f"{actor.user} compared no vector"
        told[actor.user] = [(hit.id, hit.score, hit.cosine, hit.parts) for hit in hits]
    assert told["kim"] == told["lee"] == told["mia"], "what a project answers depends on who asks"


async def test_own_and_shared_come_in_one_order_by_what_their_cosines_mean(
    memory: MemoryService,
) -> None:
    for actor in (KIM, LEE):
        hits = await memory.search_memories(actor, QUERY, k=5)
        assert all(hit.cosine is not None for hit in hits)
        assert {hit.content for hit in hits} == {OWN[actor.user], *SHARED.values()}
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        alone = await memory.search_memories(replace(actor, project=None), QUERY, k=1)
        own = next(hit for hit in hits if hit.item.scope == "user")
        assert (own.score, own.cosine) == (alone[0].score, alone[0].cosine)
        best = await memory.search_memories(actor, QUERY, k=1)
        assert [hit.id for hit in best] == [hits[0].id]


async def test_what_both_hold_is_told_once(memory: MemoryService) -> None:
    await memory.add_explicit_memory(KIM, SHARED["kim"])
    hits = await memory.search_memories(KIM, QUERY, k=5)
    assert [hit.content for hit in hits].count(SHARED["kim"]) == 1
    assert hits[0].item.scope == "project", "what is the project's counts for more"


async def test_a_model_that_is_away_leaves_the_projects_vectors(
    memory: MemoryService, narrow: Endpoint
) -> None:
    narrow.down = True
    hits = {
        hit.item.scope: hit for hit in await memory.search_memories(KIM, QUERY + " deploy", k=5)
    }
    assert hits["project"].cosine is not None
    assert hits["user"].cosine is None


async def test_who_is_no_member_finds_their_own_only(memory: MemoryService, wide: Endpoint) -> None:
    await memory.add_explicit_memory(replace(EVE, project=None), OWN["kim"])
    await memory.embeddings.set(EVE, wide.url, "wide-1", dims=1024)
    for actor in (EVE, replace(EVE, project=None)):
        found = await memory.search_memories(actor, QUERY, scope="user")
        assert [hit.item.scope for hit in found] == ["user"]
    for scope in (None, "project"):
        with pytest.raises(PermissionDenied) as caught:
            await memory.search_memories(EVE, QUERY, scope=scope)
        assert caught.value.code == "not_a_member"


async def test_prompts_hold_both(memory: MemoryService) -> None:
    for actor in (KIM, LEE):
        text = await memory.build_context(actor, "deploy a release on friday", 800)
        assert SHARED["kim"] in text
        assert OWN[actor.user] in text


async def test_a_member_on_the_deployments_model_is_answered_in_one_trip(
    memory: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.add_explicit_memory(MIA, "I deploy with a green button")
    await memory.search_memories(MIA, QUERY)
    trips = []
    answer, begin = Database._answer, Database._begin

    async def answered(this: Database, *given: object) -> object:
        trips.append("ask")
        return await answer(this, *given)  # type: ignore[arg-type]

    async def began(this: Database, *given: object) -> object:
        trips.append("begin")
        return await begin(this, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Database, "_answer", answered)
    monkeypatch.setattr(Database, "_begin", began)
    hits = await memory.search_memories(MIA, QUERY)
    assert {hit.item.scope for hit in hits} == {"user", "project"}
    assert trips == ["ask"]


async def test_after_the_deployments_model_was_changed_the_project_is_found_by_words(
    memory: MemoryService, allowing: Settings, connect: Connect
) -> None:
    """By a process that still runs with the model from before, until it is started again."""
    owner = await connect("owner")
    other = WideEmbedder(128)
    await owner.execute(
        "with made as (insert into embedding_model (name, dims, calibration)"
        " select %s, %s, calibration from embedding_model limit 1 returning model_id),"
        " moved as (update memory_item set model_id = (select model_id from made)"
        " where scope_key = 'project:apollo')"
        " update deployment set model_id = (select model_id from made)",
        [other.name, other.dims],
    )
    hits = {
        hit.item.scope: hit for hit in await memory.search_memories(KIM, QUERY + " release", k=5)
    }
    assert hits["project"].cosine is None
    assert hits["user"].cosine is not None
