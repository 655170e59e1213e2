"""Does any statement of ours do in a project what its asker's role may not?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from shared_world import MEMBERS, PRIVATE, SHARED, share
from statement_world import (
    VICTIM,
    WITHOUT_ROWS,
    World,
    fill,
    outcome,
    parameters,
    scoped_statements,
)

from conftest import Connect
from mnemic.model import Actor

if TYPE_CHECKING:
    from mnemic.service import MemoryService

WRITES = re.compile(
    r"\b(?:insert into|update|delete from)\s+(?!set\b)(?!on\b)\w+|for (?:no key )?update"
)
IN_PROJECTS = ("items.", "nearest.", "resources", "retrieval.")
"""Files of statements that are asked of a project too."""
CONVERSATIONS = {"resources.add_conversation", "resources.add_turn"}
"""Written into no project."""
NOT_OF_PROJECTS = {
    "resources.conversation", "resources.session_watermark", "resources.lock_watermark",
    "resources.mark_indexed", "resources_search.said",
}  # fmt: skip
"""Statements that do nothing in a project for its owner either: what a project does not hold."""
IN_THEIR_NAME = {
    "items.insert",
    "resources.add_document",
    "resources.publish",
    "resources.add_draft",
}
"""Statements that write what its author has not said yet: nobody does that for another."""
MARKS = {"items.mark_used"}
"""Every member leaves a mark where they read."""


@pytest.mark.parametrize("project", [SHARED, PRIVATE])
async def test_no_statement_does_in_a_project_what_the_matrix_forbids(
    project: str, stub_memory: MemoryService, connect: Connect
) -> None:
    """In one project all is for its members, in the other all is its author's alone."""
    owner = await connect("owner")
    world = await share(stub_memory, owner, await fill(stub_memory, owner), project)
    deployment, wrong, idle = stub_memory._parts.deployment, dict[str, Any](), set()
    of = Actor(VICTIM.user, project=project)
    for name, statement in scoped_statements().items():
        if not name.startswith(IN_PROJECTS) or name in WITHOUT_ROWS | CONVERSATIONS:
            continue
        aimed = parameters(name, world, of)
        elsewhere = aimed | _scopes_of(name, world)
        nothing = await outcome(deployment, Actor("lee", project="void"), statement, elsewhere)
        if await outcome(deployment, of, statement, aimed) in ("refused", nothing):
            idle.add(name)
        writes = bool(WRITES.search(statement)) and name not in MARKS
        for user, role in (*MEMBERS.items(), ("lee", None)):
            alone = project == PRIVATE or name in IN_THEIR_NAME
            mays = role == "owner" or (role == "admin" and not alone)
            reads = role is not None and project == SHARED and not writes
            if mays or reads:
                continue
            got = await outcome(deployment, Actor(user, project=project), statement, aimed)
            if got not in ("refused", nothing, 0):
                wrong[name, role] = got
    assert wrong == {}
    assert idle == NOT_OF_PROJECTS


def _scopes_of(name: str, world: World) -> dict[str, Any]:
    void = parameters(name, world, Actor("lee", project="void"))
    return {key: value for key, value in void.items() if "scope" in key or key == "sessions"}
