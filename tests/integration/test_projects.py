"""Does a project let in whom its owners let in, and nobody else, at once?"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import psycopg
import pytest

from conftest import Connect
from mnemic.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from mnemic.model import Actor

if TYPE_CHECKING:
    from mnemic.service import MemoryService

ANNA, BEN, CHEN, DORA = Actor("anna"), Actor("ben"), Actor("陈"), Actor("dora")


async def apollo(memory: MemoryService, **members: str) -> None:
    await memory.projects.create(ANNA, "apollo", "Apollo 登月")
    for user, role in members.items():
        await memory.projects.grant(ANNA, "apollo", user, role)  # type: ignore[arg-type]


async def test_the_creator_owns_it_and_its_name_is_sealed(
    stub_memory: MemoryService, connect: Connect
) -> None:
    made = await stub_memory.projects.create(ANNA, " apollo ", "Apollo 登月")
    assert (made.project_id, made.name, made.role, made.version) == (
        "apollo",
        "Apollo 登月",
        "owner",
        1,
    )
    assert await stub_memory.projects.get(ANNA, "apollo") == made
    assert await stub_memory.projects.mine(ANNA) == [made]
    owner = await connect("owner")
    row = await (await owner.execute("select * from project")).fetchone()
    assert row is not None
    assert b"Apollo" not in row["name_enc"]
    renamed = await stub_memory.projects.rename(ANNA, "apollo", "Artemis", expected_version=1)
    assert (renamed.name, renamed.version) == ("Artemis", 2)
    with pytest.raises(Conflict) as stale:
        await stub_memory.projects.rename(ANNA, "apollo", "Gemini", expected_version=1)
    assert stale.value.code == "version_conflict"


async def test_an_id_is_taken_once_also_by_two_at_once(stub_memory: MemoryService) -> None:
    tries = [stub_memory.projects.create(actor, "apollo", "A") for actor in (ANNA, BEN, CHEN)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    refused = [result for result in results if isinstance(result, Conflict)]
    assert [error.code for error in refused] == ["project_exists"] * 2
    found = [await stub_memory.projects.mine(actor) for actor in (ANNA, BEN, CHEN)]
    assert sorted(map(len, found)) == [0, 0, 1]


async def test_unknown_and_foreign_projects_answer_alike(stub_memory: MemoryService) -> None:
    await apollo(stub_memory)
    for project_id in ("apollo", "apollo2", "apoll_", "%", "apollo'", "APOLLO"):
        for ask in (
            stub_memory.projects.get(BEN, project_id),
            stub_memory.projects.members(BEN, project_id),
            stub_memory.projects.rename(BEN, project_id, "Mine"),
            stub_memory.projects.grant(BEN, project_id, "ben", "owner"),
            stub_memory.projects.revoke(BEN, project_id, "anna"),
            stub_memory.projects.leave(BEN, project_id),
            stub_memory.projects.transfer(BEN, project_id, "ben"),
            stub_memory.projects.delete(BEN, project_id),
        ):
            with pytest.raises(NotFound) as unknown:
                await ask
            assert unknown.value.code == "project_not_found"
    assert await stub_memory.projects.mine(BEN) == []


async def test_who_runs_a_project(stub_memory: MemoryService) -> None:
    await apollo(stub_memory, ben="admin", dora="editor")
    await stub_memory.projects.grant(ANNA, "apollo", "陈", "viewer")
    projects = stub_memory.projects
    shown = {member.user: member.role for member in await projects.members(CHEN, "apollo")}
    assert shown == {"anna": "owner", "ben": "admin", "dora": "editor", "陈": "viewer"}
    for low in (DORA, CHEN):
        for ask in (
            projects.rename(low, "apollo", "Mine"),
            projects.grant(low, "apollo", "eve", "viewer"),
            projects.grant(low, "apollo", low.user, "owner"),
            projects.revoke(low, "apollo", "ben"),
            projects.transfer(low, "apollo", low.user),
            projects.delete(low, "apollo", dry_run=True),
        ):
            with pytest.raises(PermissionDenied) as denied:
                await ask
            assert denied.value.code == "role_too_low"
    # an admin runs it, but owners are beyond them
    assert (await projects.grant(BEN, "apollo", "dora", "viewer")).role == "viewer"
    for ask in (
        projects.grant(BEN, "apollo", "ben", "owner"),
        projects.grant(BEN, "apollo", "anna", "viewer"),
        projects.revoke(BEN, "apollo", "anna"),
        projects.transfer(BEN, "apollo", "dora"),
        projects.delete(BEN, "apollo"),
    ):
        with pytest.raises(PermissionDenied) as denied:
            await ask
        assert denied.value.code == "role_too_low"
    await projects.revoke(BEN, "apollo", "dora")
    await projects.leave(CHEN, "apollo")
    assert [member.user for member in await projects.members(ANNA, "apollo")] == ["anna", "ben"]
    with pytest.raises(NotFound) as nobody:
        await projects.revoke(ANNA, "apollo", "dora")
    assert nobody.value.code == "member_not_found"


async def test_the_last_owner_stays_also_when_two_leave_at_once(
    stub_memory: MemoryService,
) -> None:
    await apollo(stub_memory, ben="owner")
    results = await asyncio.gather(
        stub_memory.projects.leave(ANNA, "apollo"),
        stub_memory.projects.leave(BEN, "apollo"),
        return_exceptions=True,
    )
    refused = [result for result in results if isinstance(result, Exception)]
    assert [getattr(error, "code", error) for error in refused] == ["last_owner"]
    left = BEN if isinstance(results[1], Exception) else ANNA
    for ask in (
        stub_memory.projects.leave(left, "apollo"),
        stub_memory.projects.grant(left, "apollo", left.user, "admin"),
    ):
        with pytest.raises(Conflict) as last:
            await ask
        assert last.value.code == "last_owner"


async def test_ownership_is_handed_over(stub_memory: MemoryService) -> None:
    await apollo(stub_memory, ben="editor")
    with pytest.raises(NotFound):
        await stub_memory.projects.transfer(ANNA, "apollo", "eve")
    assert (await stub_memory.projects.transfer(ANNA, "apollo", "ben")).role == "owner"
    roles = {
        member.user: member.role for member in await stub_memory.projects.members(BEN, "apollo")
    }
    assert roles == {"anna": "admin", "ben": "owner"}


async def test_a_deleted_project_takes_everything_with_it(
    stub_memory: MemoryService, connect: Connect
) -> None:
    await apollo(stub_memory, ben="viewer")
    planned = await stub_memory.projects.delete(ANNA, "apollo", dry_run=True)
    assert (planned.members, planned.dry_run) == (2, True)
    assert await stub_memory.projects.mine(BEN)
    await stub_memory.projects.delete(ANNA, "apollo")
    assert await stub_memory.projects.mine(BEN) == []
    owner = await connect("owner")
    for table in ("project", "project_member"):
        assert await (await owner.execute(f"select from {table}")).fetchall() == []
    row = await (
        await owner.execute("select count(*) as n from data_key where scope_key = 'project:apollo'")
    ).fetchone()
    assert row is not None
    assert row["n"] == 0
    again = await stub_memory.projects.create(BEN, "apollo", "Another Apollo")
    assert await stub_memory.projects.get(BEN, "apollo") == again


async def test_bad_names_and_roles_are_refused(stub_memory: MemoryService) -> None:
    for name in ("", "  ", "x" * 201, "two\nlines", None, 7):
        with pytest.raises(InvalidInput) as bad:
            await stub_memory.projects.create(ANNA, "apollo", name)  # type: ignore[arg-type]
        assert bad.value.code == "invalid_name"
    await apollo(stub_memory)
    with pytest.raises(InvalidInput) as role:
        await stub_memory.projects.grant(ANNA, "apollo", "ben", "king")  # type: ignore[arg-type]
    assert role.value.code == "unknown_role"


async def test_raw_statements_of_the_service_cannot_take_a_role(
    stub_memory: MemoryService, connect: Connect
) -> None:
    await apollo(stub_memory, ben="editor")
    service = await connect("service")
    for user in ("ben", "eve", ""):
        await service.execute("select set_config('mnemic.actor', %s, false)", [user])
        await service.execute("select set_config('mnemic.project', 'project:apollo', false)")
        for statement in (
            "insert into project_member (scope_key, user_id, role)"
            f" values ('project:apollo', '{user}x', 'owner')",
            "insert into project (scope_key, project_id, created_by) values ('project:apollo', 'x', 'anna')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await service.execute(statement)  # type: ignore[arg-type]
        for statement in (
            "update project_member set role = 'owner' where user_id = 'ben'",
            "delete from project_member where user_id = 'anna'",
            "update project set version = 9",
        ):
            assert (await service.execute(statement)).rowcount == 0  # type: ignore[arg-type]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await service.execute("select * from drop_project(true)")
