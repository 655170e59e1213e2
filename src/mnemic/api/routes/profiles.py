"""/api/memory/profile and a project's: what every prompt should hold, and their owners' own word in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from mnemic.access.idempotency import Answer
from mnemic.api.doors import Asked, Who
from mnemic.api.guard import Guarded
from mnemic.api.paths import ProjectId
from mnemic.api.preconditions import etag, expected, stale_is_told
from mnemic.api.profile_shapes import (
    ListChanges,
    ProfileAnswer,
    ProfileHistoryAnswer,
    ProjectProfileAnswer,
    ProjectProfileFields,
    ShowProfile,
    ShowProjectProfile,
    UserProfileFields,
)
from mnemic.api.queries import Paged
from mnemic.api.replies import reply
from mnemic.api.views import plain
from mnemic.profile.values import Profile, ProjectProfile

users = APIRouter(prefix="/api/memory/profile", route_class=Guarded, tags=["profiles"])
projects = APIRouter(
    prefix="/api/projects/{project_id}/profile", route_class=Guarded, tags=["profiles"]
)
T = TypeVar("T", Profile, ProjectProfile)


@users.get("", operation_id="getProfile", response_model=ProfileAnswer)
async def get(who: Who, query: Annotated[ShowProfile, Query()]) -> Response:
    """Return the user's profile, with its version as ETag; e-mail and phone masked.

    ``contact=true`` shows them in full. ``as_of`` asks what it was at a moment.
    """
    asked = who.memory.profiles.get(who.actor, contact=query.contact, as_of=query.as_of)
    return await who.read(asked, _shown)


@users.get("/history", operation_id="profileHistory", response_model=ProfileHistoryAnswer)
async def history(who: Who, query: Annotated[ListChanges, Query()]) -> Response:
    """Return how the user's profile changed, newest first; e-mail and phone masked."""
    asked = who.memory.profiles.history(
        who.actor, limit=query.limit, cursor=query.cursor, contact=query.contact
    )
    return await who.read(asked, lambda found: reply(plain(found)))


@users.patch("", operation_id="changeProfile", response_model=ProfileAnswer)
async def change(who: Who, body: UserProfileFields) -> Response:
    """Put the named fields, by the user's own word; null gives one back to what memories say.

    ``If-Match`` as with memories.
    """
    return await _changed(who, body, who.memory.profiles.patch, _current_of_user(who))


@users.put("", operation_id="putProfile", response_model=ProfileAnswer)
async def put(who: Who, body: UserProfileFields) -> Response:
    """Put the user's word as a whole: fields that are not named go back to what memories say."""
    return await _changed(who, body, who.memory.profiles.put, _current_of_user(who))


@projects.get("", operation_id="getProjectProfile", response_model=ProjectProfileAnswer)
async def get_project(
    who: Who, project_id: ProjectId, query: Annotated[ShowProjectProfile, Query()]
) -> Response:
    """Return a project's profile, with its version as ETag, to its members; ``as_of`` a moment."""
    asked = who.memory.profiles.get_project(who.actor, project_id, as_of=query.as_of)
    return await who.read(asked, _shown)


@projects.get("/history", operation_id="projectProfileHistory", response_model=ProfileHistoryAnswer)
async def project_history(
    who: Who, project_id: ProjectId, query: Annotated[Paged, Query()]
) -> Response:
    """Return how a project's profile changed, newest first, to its members."""
    asked = who.memory.profiles.project_history(
        who.actor, project_id, limit=query.limit, cursor=query.cursor
    )
    return await who.read(asked, lambda found: reply(plain(found)))


@projects.patch("", operation_id="changeProjectProfile", response_model=ProjectProfileAnswer)
async def change_project(who: Who, project_id: ProjectId, body: ProjectProfileFields) -> Response:
    """Put the named fields of a project's profile, as its owner or admin; null gives one back."""
    return await _changed(
        who, body, _of(project_id, who.memory.profiles.patch_project), _current(who, project_id)
    )


@projects.put("", operation_id="putProjectProfile", response_model=ProjectProfileAnswer)
async def put_project(who: Who, project_id: ProjectId, body: ProjectProfileFields) -> Response:
    """Put a project's profile as a whole; fields that are not named go back to what memories say."""
    return await _changed(
        who, body, _of(project_id, who.memory.profiles.put_project), _current(who, project_id)
    )


def _of(project_id: str, edit: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    def of_project(actor: Any, changes: Mapping[str, object], **more: Any) -> Awaitable[T]:
        return edit(actor, project_id, changes, **more)

    return of_project


def _current_of_user(who: Asked) -> Callable[[], Awaitable[Profile]]:
    return lambda: who.memory.profiles.get(who.actor)


def _current(who: Asked, project_id: str) -> Callable[[], Awaitable[ProjectProfile]]:
    return lambda: who.memory.profiles.get_project(who.actor, project_id)


async def _changed(
    who: Asked,
    body: BaseModel,
    edit: Callable[..., Awaitable[T]],
    current: Callable[[], Awaitable[T]],
) -> Response:
    """Return the answer of an edit at the version that ``If-Match`` names: 428 without it, 412 at another."""
    named = {name: getattr(body, name) for name in sorted(body.model_fields_set)}
    meant = expected(who.header("if-match"))

    async def there() -> int:
        return (await current()).version

    async def work() -> T:
        version = await meant.version(there)
        with stale_is_told(version):
            return await edit(who.actor, named, expected_version=version)

    return await who.write(work, _shown)


def _shown(profile: Profile | ProjectProfile) -> Answer:
    return reply(plain(profile), ETag=etag(profile.version))
