"""What becomes of projects, and of what was written in them, when a member is erased?"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import psycopg
import pytest
from erase_world import (
    Services,
    contents,
    document_in_project,
    everything,
    made,
    of_kim,
    one,
    read_in_project,
    roles,
    services,
    write_in_project,
)

from conftest import Connect, Connection, Server
from mnemic.model import Actor

if TYPE_CHECKING:
    from mnemic.service import MemoryService

KIM = Actor("kim", session="s1")


@pytest.fixture
async def parts(stub_memory: MemoryService, server: Server) -> Services:
    return await services(stub_memory, server)


@pytest.fixture
async def owner(connect: Connect, parts: Services) -> Connection:
    return await connect("owner")


@pytest.mark.parametrize(
    ("members", "heir"),
    [
        ((("vi", "viewer"), ("ed", "editor"), ("ad", "admin"), ("late", "admin")), "ad"),
        ((("vi", "viewer"), ("ed", "editor"), ("late", "editor")), "ed"),
        ((("vi", "viewer"), ("late", "viewer")), "vi"),
    ],
)
async def test_an_only_owner_is_followed_by_the_longest_standing_of_the_highest_role(
    members: tuple[tuple[str, str], ...], heir: str, parts: Services, owner: Connection, schema: str
) -> None:
    await made(parts, "apollo", *members)
    report = await parts.erase.forget_user(Actor("kim"))
    assert (report.inherited, report.ended) == (1, 0)
    assert await roles(owner, "apollo") == {**dict(members), heir: "owner"}
    assert await of_kim(owner, schema) == {}
    project = await parts.memory.projects.get(Actor(heir), "apollo")
    assert (project.name, project.role) == ("Project apollo", "owner")
    await parts.memory.projects.grant(Actor(heir), "apollo", "new", "admin")


async def test_a_project_with_another_owner_only_loses_a_member(
    parts: Services, owner: Connection, schema: str
) -> None:
    await made(parts, "apollo", ("lee", "owner"), ("ad", "admin"))
    report = await parts.erase.forget_user(Actor("kim"))
    assert (report.inherited, report.ended) == (0, 0)
    assert await roles(owner, "apollo") == {"lee": "owner", "ad": "admin"}
    assert await of_kim(owner, schema) == {}


async def test_a_project_without_other_members_goes_with_everything_in_it(
    parts: Services, owner: Connection, schema: str
) -> None:
    await everything(parts, owner)
    await made(parts, "apollo", ("lee", "editor"))
    await made(parts, "zeus", by="lee")
    await write_in_project(parts, owner, Actor("lee", project="apollo"), "Written by lee, who left")
    await write_in_project(parts, owner, Actor("lee", project="zeus"), "Of another project")
    await document_in_project(owner, Actor("lee", project="apollo"))
    await parts.memory.projects.leave(Actor("lee"), "apollo")
    report = await parts.erase.forget_user(Actor("kim"))
    assert (report.inherited, report.ended) == (0, 1)
    assert report.counts["project"] == 1
    every = await contents(owner, schema)
    assert not any("apollo" in row for rows in every.values() for row in rows)
    assert any("Of another" in row or "zeus" in row for row in every["memory_item"])
    assert len(every["project"]) == 1


async def test_what_an_erased_member_wrote_in_a_project_goes_and_what_others_wrote_stays(
    parts: Services, owner: Connection, schema: str
) -> None:
    await everything(parts, owner)
    await made(parts, "apollo", ("kim", "editor"), ("mo", "editor"), by="lee")
    kim, lee = Actor("kim", project="apollo"), Actor("lee", project="apollo")
    of_kims = await write_in_project(parts, owner, kim, "Written by kim")
    of_lees = await write_in_project(parts, owner, lee, "Written by lee")
    paper, other = await document_in_project(owner, kim), await document_in_project(owner, lee)
    report = await parts.erase.forget_user(Actor("kim"))
    assert report.counts["project_member"] == 1
    every = await contents(owner, schema)
    for table in ("memory_item", "item_usage", "verification", "reembedding"):
        assert not any(str(of_kims) in row for row in every[table]), table
        assert any(str(of_lees) in row for row in every[table]), table
    for table in ("resource", "chunk"):
        assert not any(str(paper) in row for row in every[table]), table
        assert any(str(other) in row for row in every[table]), table
    assert len(every["chunk_draft"]) == 1
    assert await of_kim(owner, schema) == {}
    assert await read_in_project(parts, owner, Actor("mo", project="apollo"), of_lees) == (
        "Written by lee",
        "Is it so?",
    )


async def test_what_an_erased_admin_edited_of_others_stays_readable(
    parts: Services, owner: Connection, schema: str
) -> None:
    """Whoever edits seals with the own key, which goes: the project's own seals it anew before."""
    await everything(parts, owner)
    await made(parts, "apollo", ("kim", "admin"), by="lee")
    kim, lee = Actor("kim", project="apollo"), Actor("lee", project="apollo")
    items = [
        await write_in_project(parts, owner, kim, f"Edited by kim {n}", item_of="lee")
        for n in range(3)
    ]
    await parts.memory.projects.rename(Actor("kim"), "apollo", "Named by kim")
    keys = await owner.execute("select key_id from data_key where author_id = 'kim'")
    gone = [UUID(str(row["key_id"])).hex for row in await keys.fetchall()]
    assert gone
    await parts.erase.forget_user(Actor("kim"))
    for number, item in enumerate(items):
        text, asked = await read_in_project(parts, owner, lee, item)
        assert (text, asked) == (f"Edited by kim {number}", "Is it so?")
    assert (await parts.memory.projects.get(Actor("lee"), "apollo")).name == "Named by kim"
    every = await contents(owner, schema)
    assert not any(key in row for rows in every.values() for row in rows for key in gone)


async def test_what_somebody_else_sealed_cannot_be_put_away_by_a_leaver(
    parts: Services, owner: Connection, connect: Connect
) -> None:
    await everything(parts, owner)
    await made(parts, "apollo", ("kim", "editor"), by="lee")
    item = await write_in_project(parts, owner, Actor("lee", project="apollo"), "Written by lee")
    await write_in_project(parts, owner, Actor("kim", project="apollo"), "Written by kim")
    before = await one(owner, "select content_enc from memory_item where id = %s", item)
    own = await one(
        owner,
        "select uuid_send(key_id) as id from data_key where scope_key = 'project:apollo' and author_id = ''",
    )
    service = await connect("service")
    for name, value in (("actor", "kim"), ("scopes", "user:kim"), ("sessions", "session:kim/")):
        await service.execute("select set_config(%s, %s, false)", [f"mnemic.{name}", value])
    call = "select leave_value('memory_item', 'project:apollo', %s, 'content', %s)"
    await service.execute(call, [item, bytes(own["id"]) + b"x" * 40])
    assert await one(owner, "select content_enc from memory_item where id = %s", item) == before
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await service.execute(call, [item, b"y" * 60])
