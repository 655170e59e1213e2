"""May this actor do this to that? Pure.

User and session scopes belong to their user alone. In a project the role decides, together with who wrote
the thing and for whom: the matrix of docs/reference/permissions.md. The database's policies say the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from mnemic.checks import one_of
from mnemic.errors import InvalidInput, PermissionDenied
from mnemic.model import SCOPES, VISIBILITIES, Actor, ProjectRole, Scope, Visibility, known_actor

Action = Literal["read", "create", "edit", "delete"]
ACTIONS: tuple[Action, ...] = get_args(Action)

_EVERYBODYS: dict[ProjectRole, frozenset[Action]] = {
    "owner": frozenset({"read", "edit", "delete"}),
    "admin": frozenset({"read", "edit", "delete"}),
    "editor": frozenset({"read"}),
    "viewer": frozenset({"read"}),
}
"""What a role may do to what another member wrote; nobody writes in another's name."""
_OWN: dict[ProjectRole, frozenset[Action]] = {
    "owner": frozenset({"read", "create", "edit", "delete"}),
    "admin": frozenset({"read", "create", "edit", "delete"}),
    "editor": frozenset({"read", "create", "edit", "delete"}),
    "viewer": frozenset({"read"}),
}
"""What a role may do to what its user wrote."""
RUN_BY: frozenset[ProjectRole] = frozenset({"owner", "admin"})
"""Roles that rename a project and let members in and out; an owner's place only an owner gives and takes."""


def may(role: ProjectRole | None, action: Action, visibility: Visibility, *, own: bool) -> bool:
    """Tell whether a role allows an action on project content; None is no member, who may nothing.

    What is ``owner_only`` exists for nobody but its author, whatever the role.
    """
    if role is None or (visibility == "owner_only" and not own):
        return False
    return action in (_OWN if own else _EVERYBODYS)[role]


def require(
    role: ProjectRole | None,
    action: Action,
    visibility: Visibility = "members",
    *,
    own: bool = True,
) -> None:
    """Raise PermissionDenied (``not_a_member``, ``role_too_low``) where ``may`` says no."""
    if role is None:
        raise PermissionDenied("not_a_member", "You are not a member of this project.")
    if not may(role, action, visibility, own=own):
        raise PermissionDenied(
            "role_too_low", f"A project's {role} may not {action} this.", role=role, action=action
        )


def require_member(role: ProjectRole | None, scope: Scope | None) -> None:
    """Raise PermissionDenied (``not_a_member``) to whoever asks for a project's content and is none."""
    if scope == "project":
        require(role, "read")


def require_within(actor: Actor, scopes: Iterable[str], role: ProjectRole | None) -> None:
    """Raise PermissionDenied (``not_a_member``) to whoever asks in a project, among other scopes or alone,
    and does not belong to it: a project that is misspelt answers as a foreign one does."""
    if actor.project_scope is not None and actor.project_scope in scopes:
        require(role, "read")


def checked_visibility(visibility: object, scope: str) -> Visibility:
    """Return for whom something is meant. Raises InvalidInput (``unknown_visibility``,
    ``visibility_without_project``): what is not a project's is its user's alone anyway."""
    meant = one_of(visibility, VISIBILITIES, "visibility")
    if scope != "project" and meant != "members":
        raise InvalidInput(
            "visibility_without_project", "Visibility is for project scope: others see no other."
        )
    return meant


def home(actor: Actor, scope: Scope) -> tuple[str, str]:
    """Return scope key and scope id of the place where this actor's item of that scope lives.

    Raises InvalidInput (``session_required``, ``project_required``) when the actor names none.
    """
    known_actor(actor)
    if scope == "user":
        return actor.user_scope, actor.user
    if scope == "session":
        if actor.session_scope is None or actor.session is None:
            raise InvalidInput("session_required", "Session scope needs an actor with a session.")
        return actor.session_scope, actor.session
    if actor.project_scope is None or actor.project is None:
        raise InvalidInput(
            "project_required",
            "Project scope needs a project: name one (Actor's project, --project, Mnemic-Project).",
        )
    return actor.project_scope, actor.project


def readable(actor: Actor, scope: Scope | None = None) -> list[str]:
    """Return the scope keys that this actor asks in, or the one of ``scope``.

    A project that the actor names is among them; whether they are a member (``require_within``), and what
    they see there, is for the transaction to find out.
    """
    if scope is None:
        return list(known_actor(actor).readable_scopes)
    one_of(scope, SCOPES, "scope")
    return [home(actor, scope)[0]]
