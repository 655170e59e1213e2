"""/api/projects: what is shared, and what it is called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from mnemic.access.idempotency import Answer
from mnemic.api.answers import ProjectAnswer, ProjectDeletionAnswer, ProjectsAnswer
from mnemic.api.bodies import ChangeProject, NewProject
from mnemic.api.doors import Asked, Who
from mnemic.api.guard import Guarded
from mnemic.api.paths import ProjectId
from mnemic.api.preconditions import etag, expected, stale_is_told
from mnemic.api.queries import Confirmed
from mnemic.api.replies import reply
from mnemic.api.routes.memory import require_confirmation
from mnemic.api.views import plain, segment
from mnemic.projects import Project, ProjectDeletion

router = APIRouter(prefix="/api/projects", route_class=Guarded, tags=["projects"])


@router.post("", operation_id="createProject", status_code=201, response_model=ProjectAnswer)
async def create(who: Who, body: NewProject) -> Response:
    """Make a project; whoever asks is its owner."""
    return await who.write(lambda: who.memory.projects.create(who.actor, body.id, body.name), _made)


@router.get("", operation_id="listProjects", response_model=ProjectsAnswer)
async def mine(who: Who) -> Response:
    """Return the projects that the user is a member of."""
    return await who.read(
        who.memory.projects.mine(who.actor),
        lambda found: reply({"projects": [project_view(one) for one in found]}),
    )


@router.get("/{project_id}", operation_id="getProject", response_model=ProjectAnswer)
async def get(who: Who, project_id: ProjectId) -> Response:
    """Return a project, with its version as ETag."""
    return await who.read(who.memory.projects.get(who.actor, project_id), _shown)


@router.patch("/{project_id}", operation_id="renameProject", response_model=ProjectAnswer)
async def rename(who: Who, project_id: ProjectId, body: ChangeProject) -> Response:
    """Give a project another name; ``If-Match`` as with memories."""
    meant = expected(who.header("if-match"))

    async def work() -> Project:
        version = await meant.version(_current(who, project_id))
        with stale_is_told(version):
            return await who.memory.projects.rename(
                who.actor, project_id, body.name, expected_version=version
            )

    return await who.write(work, _shown)


def _current(who: Asked, project_id: str) -> Callable[[], Awaitable[int]]:
    async def version() -> int:
        return (await who.memory.projects.get(who.actor, project_id)).version

    return version


@router.delete("/{project_id}", operation_id="deleteProject", response_model=ProjectDeletionAnswer)
async def delete(who: Who, project_id: ProjectId, query: Annotated[Confirmed, Query()]) -> Response:
    """Remove a project with everything in it. An owner's alone; needs ``confirm=true``.

    With ``If-Match`` only the version that it names: 412 when another one is there.
    """
    require_confirmation(query)
    meant = expected(who.header("if-match"), required=False)

    async def work() -> ProjectDeletion:
        version = await meant.version(_current(who, project_id))
        with stale_is_told(version):
            return await who.memory.projects.delete(
                who.actor, project_id, dry_run=query.dry_run, expected_version=version
            )

    return await who.write(work, lambda gone: reply(plain(gone)))


def project_view(project: Project) -> dict[str, Any]:
    """Return a project as JSON."""
    value = plain(project)
    return {"id": value.pop("project_id"), **value}


def _made(project: Project) -> Answer:
    where = f"/api/projects/{segment(project.project_id)}"
    return reply(project_view(project), 201, Location=where, ETag=etag(project.version))


def _shown(project: Project) -> Answer:
    return reply(project_view(project), ETag=etag(project.version))
