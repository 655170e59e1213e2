"""/api/projects/{id}/members: who belongs to a project, and what they may do."""

from __future__ import annotations

from typing import cast

from fastapi import APIRouter
from starlette.responses import Response

from mnemic.access.idempotency import Answer
from mnemic.api.answers import MemberAnswer, MembersAnswer
from mnemic.api.bodies import GrantRole, Transfer
from mnemic.api.doors import Who
from mnemic.api.guard import Guarded
from mnemic.api.paths import ProjectId, UserId
from mnemic.api.replies import reply
from mnemic.api.views import plain
from mnemic.model import ProjectRole
from mnemic.projects import Member

router = APIRouter(prefix="/api/projects/{project_id}", route_class=Guarded, tags=["projects"])


@router.get("/members", operation_id="listMembers", response_model=MembersAnswer)
async def members(who: Who, project_id: ProjectId) -> Response:
    """Return the members of a project."""
    return await who.read(
        who.memory.projects.members(who.actor, project_id),
        lambda found: reply({"members": plain(found)}),
    )


@router.put("/members/{user}", operation_id="grantRole", response_model=MemberAnswer)
async def grant(who: Who, project_id: ProjectId, user: UserId, body: GrantRole) -> Response:
    """Make somebody a member, or give a member another role."""
    role = cast(ProjectRole, body.role)  # the library checks it
    return await who.write(
        lambda: who.memory.projects.grant(who.actor, project_id, user, role), _member
    )


@router.delete("/members/{user}", operation_id="revokeRole", response_model=MemberAnswer)
async def revoke(who: Who, project_id: ProjectId, user: UserId) -> Response:
    """Let a member go, at once; with one's own id: leave. The last owner cannot."""
    return await who.write(lambda: who.memory.projects.revoke(who.actor, project_id, user), _member)


@router.post("/transfer", operation_id="transferProject", response_model=MemberAnswer)
async def transfer(who: Who, project_id: ProjectId, body: Transfer) -> Response:
    """Make another member the owner in one's own place."""
    return await who.write(
        lambda: who.memory.projects.transfer(who.actor, project_id, body.to_user), _member
    )


def _member(member: Member) -> Answer:
    return reply(plain(member))
