"""Is a project's profile what all its members may see, and its owners' and admins' to edit?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from conftest import Connect
from mnemic.errors import NotFound, PermissionDenied
from mnemic.model import Actor

if TYPE_CHECKING:
    from mnemic.service import MemoryService

OLGA = Actor("olga", project="apollo")
EDDA, VERA, ADAM = (Actor(user, project="apollo") for user in ("edda", "vera", "adam"))
LEE = Actor("lee", project="apollo")


@pytest.fixture
async def shared(stub_memory: MemoryService) -> MemoryService:
    await stub_memory.projects.create(OLGA, "apollo", "Apollo")
    for user, role in (("edda", "editor"), ("vera", "viewer"), ("adam", "admin")):
        await stub_memory.projects.grant(OLGA, "apollo", user, role)  # type: ignore[arg-type]
    return stub_memory


async def say(memory: MemoryService, of: Actor, text: str, memory_type: Any, **more: Any) -> Any:
    verdict = await memory.add_explicit_memory(
        of, text, memory_type=memory_type, scope="project", **more
    )
    assert verdict.id is not None
    return verdict.id


async def test_members_of_every_role_read_what_was_said_before(shared: MemoryService) -> None:
    item = await say(shared, EDDA, "We chose Redis because it is fast", "decision")
    await say(shared, OLGA, "Our goal is to ship by May", "context")
    for member in (VERA, EDDA, ADAM, OLGA):
        profile = await shared.profiles.get_project(member, "apollo")
        assert profile.values["project_goal"] == "ship by May"
        assert profile.values["tech_stack"] == ("Redis",)
        (decision,) = profile.key_decisions
        assert (decision.decision, decision.reason) == ("We chose Redis", "it is fast")
        assert decision.item == item
        told = await shared.get_profile_for_agent(member)
        assert told.project == profile


async def test_what_only_its_author_sees_is_in_no_profile(shared: MemoryService) -> None:
    await say(shared, OLGA, "We use Kafka", "fact", visibility="owner_only")
    assert (await shared.profiles.get_project(OLGA, "apollo")).is_empty
    await say(shared, OLGA, "We use RabbitMQ", "fact", visibility="public")
    assert (await shared.profiles.get_project(VERA, "apollo")).values["tech_stack"] == ("RabbitMQ",)


async def test_a_users_own_items_are_not_the_projects_nor_the_other_way(
    shared: MemoryService,
) -> None:
    await say(shared, OLGA, "We use Kafka", "fact")
    await shared.add_explicit_memory(OLGA, "My name is Olga")
    told = await shared.get_profile_for_agent(OLGA)
    assert told.user.values["username"] == "Olga"
    assert told.project is not None
    assert told.project.values["tech_stack"] == ("Kafka",)
    assert told.user.values["frequently_used_tools"] == ()


async def test_deleting_a_decision_withdraws_it(shared: MemoryService) -> None:
    item = await say(shared, OLGA, "We chose Redis because it is fast", "decision")
    assert (await shared.profiles.get_project(OLGA, "apollo")).key_decisions
    await shared.delete(OLGA, item)
    assert (await shared.profiles.get_project(OLGA, "apollo")).is_empty


async def test_owners_and_admins_edit_and_nobody_else(shared: MemoryService) -> None:
    edited = await shared.profiles.patch_project(ADAM, "apollo", {"current_phase": "beta"})
    assert edited.values["current_phase"] == "beta"
    for member in (EDDA, VERA):
        with pytest.raises(PermissionDenied) as raised:
            await shared.profiles.patch_project(member, "apollo", {"current_phase": "alpha"})
        assert raised.value.code == "role_too_low"
    for call in (
        shared.profiles.patch_project(LEE, "apollo", {"current_phase": "alpha"}),
        shared.profiles.get_project(LEE, "apollo"),
        shared.profiles.get_project(LEE, "no-such-project"),
    ):
        with pytest.raises(NotFound):
            await call
    with pytest.raises(PermissionDenied, match="not_a_member"):
        await shared.get_profile_for_agent(LEE)
    put = await shared.profiles.put_project(OLGA, "apollo", {"project_goal": "ship"})
    assert (put.values["current_phase"], put.values["project_goal"]) == (None, "ship")


async def test_what_an_erased_author_said_is_withdrawn(shared: MemoryService) -> None:
    await say(shared, EDDA, "We use Kafka", "fact")
    await say(shared, OLGA, "We use Redis", "fact")
    await shared.profiles.patch_project(ADAM, "apollo", {"current_phase": "beta"})
    await shared.forget_user(EDDA)
    await shared.forget_user(ADAM)
    await shared.profiles.catch_up()
    profile = await shared.profiles.get_project(VERA, "apollo")
    assert profile.values["tech_stack"] == ("Redis",)
    assert profile.values["current_phase"] == "beta", "the project's own key sealed it"


async def test_a_deleted_project_leaves_nothing_waiting(
    shared: MemoryService, connect: Connect
) -> None:
    await say(shared, OLGA, "We use Kafka", "fact")
    await shared.projects.delete(OLGA, "apollo")
    owner = await connect("owner")
    for table in ("outbox", "project_profile", "key_decision"):
        rows = await owner.execute(f"select from {table} where scope_key = 'project:apollo'")
        assert rows.rowcount == 0, table


async def test_the_background_task_makes_it_for_members_who_may_not(
    shared: MemoryService, connect: Connect
) -> None:
    await say(shared, EDDA, "We use Kafka", "fact")
    await shared.profiles.catch_up()
    owner = await connect("owner")
    row = await (await owner.execute("select tech_stack_enc from project_profile")).fetchone()
    assert row is not None
    assert row["tech_stack_enc"] is not None
