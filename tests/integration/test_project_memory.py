"""Is what a project remembers shared with whom it should be, and changed by whom it may be?"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from conftest import Connect
from mnemic.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from mnemic.longterm.draft import Draft
from mnemic.model import PROJECT_ROLES, VISIBILITIES, Actor, Turn
from mnemic.permissions import may

if TYPE_CHECKING:
    from mnemic.service import MemoryService

ANNA, BEN = Actor("anna", "apollo"), Actor("ben", "apollo")
EVE, MALLORY = Actor("eve", "apollo"), Actor("mallory", "apollo")


async def found(memory: MemoryService, actor: Actor, query: str, **more: Any) -> list[str]:
    return [hit.content for hit in await memory.search_memories(actor, query, **more)]


async def shared(memory: MemoryService, actor: Actor, text: str, **more: Any) -> Any:
    verdict = await memory.add_explicit_memory(actor, text, scope="project", **more)
    assert verdict.id is not None, verdict
    return verdict.id


@pytest.fixture
async def team(memory: MemoryService) -> MemoryService:
    """Anna owns the project, Ben edits, Eve looks on; Mallory is outside."""
    await memory.projects.create(Actor("anna"), "apollo", "Apollo")
    await memory.projects.grant(ANNA, "apollo", "ben", "editor")
    await memory.projects.grant(ANNA, "apollo", "eve", "viewer")
    return memory


async def test_members_find_what_others_wrote_and_outsiders_nothing(team: MemoryService) -> None:
    await shared(team, ANNA, "We deploy to production on Thursdays")
    await shared(team, BEN, "部署之前要先跑一遍回归测试")
    await team.add_explicit_memory(ANNA, "Anna prefers short release notes")
    for member in (ANNA, BEN, EVE):
        assert "We deploy to production on Thursdays" in await found(
            team, member, "when do we deploy"
        )
        assert "部署之前要先跑一遍回归测试" in await found(team, member, "部署之前做什么")
    assert await found(team, BEN, "release notes", scope="user") == []
    assert await found(team, Actor("ben"), "when do we deploy") == []
    for outsider in (MALLORY, Actor("ben", "apollo2")):
        for scope in (None, "project"):
            with pytest.raises(PermissionDenied) as outside:
                await found(team, outsider, "deploy", scope=scope)
            assert outside.value.code == "not_a_member"
    assert await found(team, EVE, "when do we deploy", scope="project")


async def test_an_unknown_project_and_a_foreign_one_answer_alike(team: MemoryService) -> None:
    told = set()
    for user, project in product(("mallory", "newcomer"), ("apollo", "nowhere")):
        actor = Actor(user, project, session="s1")
        for ask in (
            team.add_explicit_memory(actor, "The key is under the mat", scope="project"),
            team.search_memories(actor, "key"),
            team.search_memories(actor, "key", scope="project"),
            team.search_memories(actor, "key", include=("resource",)),
            team.search_memories(actor, "key", include=("memory", "resource")),
            team.build_context(actor, "key"),
            team.list(actor),
            team.list(actor, scope="project"),
            team.questions(actor),
            team.resources.list(actor),
            team.get_profile_for_agent(actor),
        ):
            with pytest.raises(PermissionDenied) as denied:
                await ask
            told.add((denied.value.code, denied.value.message))
        assert (await team.list(actor, scope="user")).total == 0
    ((code, _),) = told
    assert code == "not_a_member"


async def test_viewers_add_nothing_and_visibility_needs_a_project(team: MemoryService) -> None:
    with pytest.raises(PermissionDenied) as denied:
        await team.add_explicit_memory(EVE, "Eve was here too", scope="project")
    assert denied.value.code == "role_too_low"
    with pytest.raises(PermissionDenied):
        await team.resources.add(EVE, "Eve was here too", scope="project")
    with pytest.raises(InvalidInput) as nowhere:
        await team.add_explicit_memory(ANNA, "My own thing here", visibility="public")
    assert nowhere.value.code == "visibility_without_project"
    with pytest.raises(InvalidInput):
        await team.add_explicit_memory(ANNA, "Our thing is here", scope="project", visibility="all")  # type: ignore[arg-type]


async def test_every_role_visibility_and_author_through_the_library(team: MemoryService) -> None:
    """The matrix once more, end to end: read, edit and delete of own and others' items."""
    await team.projects.grant(ANNA, "apollo", "zoe", "owner")
    for role, visibility, own in product(PROJECT_ROLES, VISIBILITIES, (True, False)):
        await team.projects.grant(Actor("zoe"), "apollo", "ben", "editor")
        author = BEN if own else ANNA
        item_id = await shared(
            team, author, f"Sentence {role} {visibility} {own} stands", visibility=visibility
        )
        await team.projects.grant(Actor("zoe"), "apollo", "ben", role)
        cell = {"visibility": visibility, "own": own}
        assert await seen(team, item_id) is may(role, "read", **cell)
        for action, change in (
            ("edit", lambda i: team.update(BEN, i, metadata={"seen": 1})),
            ("delete", lambda i: team.delete(BEN, i)),
        ):
            if may(role, action, **cell):  # type: ignore[arg-type]
                await change(item_id)
                continue
            with pytest.raises(
                PermissionDenied if may(role, "read", **cell) else NotFound
            ) as refused:
                await change(item_id)
            code = "role_too_low" if may(role, "read", **cell) else "item_not_found"
            assert refused.value.code == code, (role, visibility, own, action)


async def seen(memory: MemoryService, item_id: object) -> bool:
    try:
        await memory.get(BEN, item_id)
    except NotFound:
        return False
    return True


async def test_what_is_owner_only_is_nobody_elses_duplicate_either(team: MemoryService) -> None:
    secret = "The launch slips by two weeks"
    await shared(team, ANNA, secret, visibility="owner_only")
    assert await found(team, BEN, "launch slips") == []
    assert (await team.add_explicit_memory(BEN, secret, scope="project")).outcome == "stored"
    again = await team.add_explicit_memory(ANNA, secret, scope="project", visibility="owner_only")
    assert again.outcome == "duplicate"
    both = await found(team, ANNA, "launch slips")
    assert both == [secret]  # repeats of one type keep the best
    assert await found(team, EVE, "launch slips") == [secret]


async def test_an_editor_does_not_retire_what_another_wrote_and_its_author_is_asked(
    team: MemoryService,
) -> None:
    old = await shared(team, ANNA, "The staging server runs on port 8080")
    verdict = await team.add_explicit_memory(
        BEN, "The staging server runs on port 9090", scope="project"
    )
    assert verdict.outcome == "stored"
    assert (await team.get(BEN, old)).status == "active"
    (question,) = await team.questions(ANNA)
    assert (question.item.id, question.reason) == (old, "contested")
    assert question.asked is not None
    assert "8080" in question.asked
    assert await team.questions(BEN) == []
    with pytest.raises(PermissionDenied):
        await team.deny(BEN, old)
    await team.deny(ANNA, old)
    assert await found(team, EVE, "staging server port") == ["The staging server runs on port 9090"]


async def test_an_owner_retires_what_an_editor_wrote_and_a_repeat_changes_nothing(
    team: MemoryService,
) -> None:
    old = await shared(team, BEN, "The staging server runs on port 8080", confidence=0.85)
    verdict = await team.add_explicit_memory(
        ANNA, "The staging server runs on port 9090", scope="project"
    )
    assert (verdict.outcome, verdict.of) == ("superseded", old)
    new = verdict.id
    again = await team.add_explicit_memory(
        BEN, "The staging server runs on port 9090", scope="project", confidence=0.99
    )
    assert (again.outcome, again.of) == ("duplicate", new)
    assert (await team.get(EVE, new)).confidence == pytest.approx(0.9)
    history = await team.history(EVE, new)
    assert [item.owner_id for item in history] == ["anna", "ben"]


async def test_an_edit_of_anothers_item_stays_the_authors(
    team: MemoryService, connect: Connect
) -> None:
    item_id = await shared(team, BEN, "Reviews take a day at most")
    await team.update(ANNA, item_id, content="Reviews take two days at most")
    item = await team.get(EVE, item_id)
    assert (item.content, item.owner_id) == ("Reviews take two days at most", "ben")
    owner = await connect("owner")
    rows = await (
        await owner.execute(
            "select distinct k.author_id from memory_item m join data_key k"
            " on k.scope_key = m.scope_key and uuid_send(k.key_id) = substr(m.content_enc, 1, 16)"
        )
    ).fetchall()
    assert [row["author_id"] for row in rows] == ["ben"]


async def test_visibility_is_changed_by_an_edit_and_nobody_hides_anothers_word(
    team: MemoryService,
) -> None:
    item_id = await shared(team, BEN, "The retro is on Friday")
    await team.update(BEN, item_id, visibility="owner_only")
    assert await found(team, ANNA, "retro") == []
    again = await shared(team, ANNA, "The retro is on Friday")
    back = await team.update(BEN, item_id, visibility="members")
    assert (back.outcome, back.of) == ("duplicate", again)
    await team.update(BEN, item_id, content="The retro is in room four", visibility="public")
    assert (await team.get(EVE, item_id)).visibility == "public"
    with pytest.raises(PermissionDenied):
        await team.update(ANNA, item_id, visibility="owner_only")
    with pytest.raises(InvalidInput):
        await team.update(BEN, item_id, visibility="secret")  # type: ignore[arg-type]


async def test_a_member_who_was_removed_reads_nothing_from_then_on(team: MemoryService) -> None:
    item_id = await shared(team, ANNA, "The budget is forty thousand")
    report = await team.resources.add(
        ANNA, "The budget in detail.", scope="project", title="Budget"
    )
    assert await found(team, BEN, "budget")
    assert await team.get(BEN, item_id)
    assert await team.resources.get(BEN, report.id)
    await team.projects.revoke(ANNA, "apollo", "ben")
    for read in (
        found(team, BEN, "budget"),
        found(team, BEN, "budget", include=("memory", "resource")),
        team.list(BEN),
        team.build_context(BEN, "What is the budget?", 500),
    ):
        with pytest.raises(PermissionDenied, match="not_a_member"):
            await read
    for ask in (
        team.get(BEN, item_id),
        team.resources.get(BEN, report.id),
        team.delete(BEN, item_id),
    ):
        with pytest.raises(NotFound):
            await ask


async def test_documents_of_a_project(team: MemoryService) -> None:
    text = "The rocket burns methane and oxygen."
    made = await team.resources.add(BEN, text, scope="project", title="Fuel", uri="a:fuel")
    for member in (ANNA, BEN, EVE):
        resource = await team.resources.get(member, made.id)
        assert (resource.title, resource.owner, resource.scope) == ("Fuel", "ben", "project")
        assert (await team.resources.read(member, made.id))[0].text == text
        assert await found(
            team, member, "which fuel does the rocket burn", include=("resource",)
        ) == [text]
    assert (
        await team.resources.add(ANNA, text, scope="project", uri="a:fuel")
    ).outcome == "unchanged"
    with pytest.raises(PermissionDenied):
        await team.resources.delete(EVE, made.id)
    private = await team.resources.add(
        ANNA, "Margins are thin this year.", scope="project", visibility="owner_only"
    )
    for other in (BEN, EVE):
        with pytest.raises(NotFound):
            await team.resources.get(other, private.id)
    # Ben is an editor: Anna's document is not his to replace
    theirs = await team.resources.add(
        ANNA, "Version one of the plan.", scope="project", uri="a:plan"
    )
    with pytest.raises(PermissionDenied):
        await team.resources.add(BEN, "Version two of the plan.", scope="project", uri="a:plan")
    assert (await team.resources.read(EVE, theirs.id))[0].text == "Version one of the plan."
    await team.resources.delete(ANNA, made.id)
    assert text not in await found(team, EVE, "rocket fuel", include=("resource",))


async def test_what_is_said_about_the_project_is_extracted_into_it(team: MemoryService) -> None:
    said = [Turn("user", "We decided to use PostgreSQL for the event store.")]
    for actor in (Actor("ben", "apollo", "s1"), Actor("eve", "apollo", "s1")):
        await team.sessions.append(actor, said)
        await team.extract(actor)
    scopes = {
        member: {item.scope for item in (await team.list(member, status="all")).items}
        for member in (BEN, EVE)
    }
    assert "project" in scopes[BEN]
    # Eve only looks on: what she said stays with her
    own = (await team.list(EVE, scope="user", status="all")).items
    assert [item.owner_id for item in own] == ["eve"]


async def test_a_batch_of_every_visibility_and_scope(team: MemoryService) -> None:
    drafts = [
        Draft("Everybody may know the office address", scope="project", visibility="public"),
        Draft("Members know the door code policy", scope="project"),
        Draft("Only Ben knows the surprise party plan", scope="project", visibility="owner_only"),
        Draft("Ben likes green tea in the morning"),
    ]
    verdicts = await team.add_many(BEN, drafts)
    assert [verdict.outcome for verdict in verdicts] == ["stored"] * 4
    shown = {item.content: item.visibility for item in (await team.list(ANNA)).items}
    assert shown == {
        "Everybody may know the office address": "public",
        "Members know the door code policy": "members",
    }
    with pytest.raises(Conflict) as nothing_asked:
        await team.confirm(BEN, verdicts[0].id)
    assert nothing_asked.value.code == "item_not_pending"
