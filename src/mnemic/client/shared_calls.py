"""Which request asks for what, about projects, documents, consent and the user as a whole? Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from mnemic.client.calls import Call, asked, matching, segment
from mnemic.client.reading import many, one
from mnemic.client.values import (
    Chunk,
    Consent,
    Erasure,
    Member,
    Project,
    ProjectDeletion,
    Removal,
    Resource,
    ResourcePage,
    Uploaded,
)
from mnemic.model import ProjectRole, Visibility

Format = Literal["text", "markdown", "html", "pdf"]
Shelf = Literal["user", "project"]
_MEDIA: Mapping[str, str] = {
    "text": "text/plain; charset=utf-8",
    "markdown": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "pdf": "application/pdf",
}
_SECONDS, _BYTES_A_SECOND = 300.0, 10_000
"""What the service gives a document: so long, and a second more for so many bytes."""


# ---- projects


def create_project(project_id: str, name: str) -> Call[Project]:
    """Make a project; whoever asks is its owner. Raises Conflict (``project_exists``)."""
    body = {"id": project_id, "name": name}
    return Call("POST", "/api/projects", one(Project), writes=True, json=body)


def projects() -> Call[tuple[Project, ...]]:
    """Return the projects that the user is a member of."""
    return Call("GET", "/api/projects", many(Project, "projects"))


def project(project_id: str) -> Call[Project]:
    """Return one project. Raises NotFound (``project_not_found``) to whoever is no member."""
    return Call("GET", f"/api/projects/{segment(project_id)}", one(Project))


def rename_project(
    project_id: str, name: str, *, expected_version: int | None = None
) -> Call[Project]:
    """Give a project another name. Raises Conflict (``version_conflict``)."""
    return Call(
        "PATCH",
        f"/api/projects/{segment(project_id)}",
        one(Project),
        writes=True,
        json={"name": name},
        headers=matching(expected_version, always=True),
    )


def delete_project(
    project_id: str,
    *,
    confirm: bool = False,
    dry_run: bool = False,
    expected_version: int | None = None,
) -> Call[ProjectDeletion]:
    """Remove a project with everything in it, an owner's alone.

    Raises PermissionDenied (``confirmation_required``, ``role_too_low``), Conflict (``version_conflict``).
    """
    return Call(
        "DELETE",
        f"/api/projects/{segment(project_id)}",
        one(ProjectDeletion),
        writes=True,
        query=asked({"confirm": confirm, "dry_run": dry_run}),
        headers=matching(expected_version),
    )


def members(project_id: str) -> Call[tuple[Member, ...]]:
    """Return who belongs to a project, the longest-standing first."""
    return Call("GET", f"/api/projects/{segment(project_id)}/members", many(Member, "members"))


def grant_role(project_id: str, user: str, role: ProjectRole) -> Call[Member]:
    """Make somebody a member, or give a member another role. Raises Conflict (``last_owner``)."""
    body = {"role": role}
    return Call("PUT", _member(project_id, user), one(Member), writes=True, json=body)


def revoke_role(project_id: str, user: str) -> Call[Member]:
    """Let a member go, at once; with one's own id: leave. Raises Conflict (``last_owner``)."""
    return Call("DELETE", _member(project_id, user), one(Member), writes=True)


def transfer_project(project_id: str, to_user: str) -> Call[Member]:
    """Make another member the owner in one's own place."""
    path = f"/api/projects/{segment(project_id)}/transfer"
    return Call("POST", path, one(Member), writes=True, json={"to_user": to_user})


def _member(project_id: str, user: str) -> str:
    return f"/api/projects/{segment(project_id)}/members/{segment(user)}"


# ---- documents


def add_resource(
    document: str | bytes,
    format: Format = "text",
    *,
    title: str | None = None,
    uri: str | None = None,
    kind: str = "document",
    collection: str = "knowledge_base",
    occurred_at: datetime | None = None,
    scope: Shelf = "user",
    visibility: Visibility = "members",
) -> Call[Uploaded]:
    """Store a document of at most 50 MB; another one of the same ``uri`` is replaced.

    In scope "project" it belongs to the client's project, for those whom ``visibility`` names.
    The same bytes again change nothing, so it is sent again without an Idempotency-Key. The answer comes
    when all of it is embedded, and is waited for as long as the service may work on it.
    """
    content = document.encode() if isinstance(document, str) else document
    query = {
        "title": title,
        "uri": uri,
        "kind": kind,
        "collection": collection,
        "occurred_at": occurred_at,
        "scope": scope,
        "visibility": visibility,
    }
    return Call(
        "POST",
        "/api/resources",
        one(Uploaded),
        query=asked(query),
        content=content,
        headers={"Content-Type": _MEDIA.get(format, format)},
        longer=_SECONDS + len(content) / _BYTES_A_SECOND,
    )


def resources(
    *,
    limit: int = 50,
    cursor: str | None = None,
    kind: str | None = None,
    collection: str | None = None,
) -> Call[ResourcePage]:
    """Return a page of resources, newest first, with the total."""
    query = {"limit": limit, "cursor": cursor, "kind": kind, "collection": collection}
    return Call("GET", "/api/resources", one(ResourcePage), query=asked(query))


def resource(resource_id: object) -> Call[Resource]:
    """Return what is known of a resource. Raises NotFound (``resource_not_found``)."""
    return Call("GET", f"/api/resources/{segment(resource_id)}", one(Resource))


def read_resource(
    resource_id: object, *, after: int = 0, limit: int = 100
) -> Call[tuple[Chunk, ...]]:
    """Return the text of the pieces behind ``after``."""
    return Call(
        "GET",
        f"/api/resources/{segment(resource_id)}/chunks",
        many(Chunk, "chunks"),
        query=asked({"after": after, "limit": limit}),
    )


def delete_resource(resource_id: object, *, dry_run: bool = False) -> Call[Removal]:
    """Remove a resource; the turns of a conversation stay in its session's log."""
    return Call(
        "DELETE",
        f"/api/resources/{segment(resource_id)}",
        one(Removal),
        writes=True,
        query=asked({"dry_run": dry_run}),
    )


# ---- the user


def consent() -> Call[Consent]:
    """Return what the user agreed to."""
    return Call("GET", "/api/consent", one(Consent))


def grant_consent(purpose: str = "remember") -> Call[Consent]:
    """Record that the user agrees; the same again records nothing."""
    body = {"purpose": purpose, "state": "granted"}
    return Call("PUT", "/api/consent", one(Consent), json=body)


def refuse_consent(purpose: str = "remember") -> Call[Consent]:
    """Record that the user does not agree; nothing is read or stored from then on."""
    body = {"purpose": purpose, "state": "refused"}
    return Call("PUT", "/api/consent", one(Consent), json=body)


def forget_user(*, confirm: bool = False, dry_run: bool = False) -> Call[Erasure]:
    """Erase the user with everything about them. Raises PermissionDenied (``confirmation_required``)."""
    query = asked({"confirm": confirm, "dry_run": dry_run})
    return Call("DELETE", "/api/user", one(Erasure), query=query)
