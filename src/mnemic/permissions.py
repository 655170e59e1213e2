"""May this actor do this to that? Pure.

User and session scopes belong to their user alone. A project's scope needs a membership, and there is no
membership without a project.
"""

from __future__ import annotations

from mnemic.checks import one_of
from mnemic.errors import InvalidInput, PermissionDenied
from mnemic.model import SCOPES, Actor, Scope, known_actor


def home(actor: Actor, scope: Scope) -> tuple[str, str]:
    """Return scope key and scope id of the place where this actor's item of that scope lives.

    Raises InvalidInput (``session_required``, ``project_required``) when the actor names none, and
    PermissionDenied (``not_a_member``) for a project.
    """
    known_actor(actor)
    if scope == "user":
        return actor.user_scope, actor.user
    if scope == "session":
        if actor.session_scope is None or actor.session is None:
            raise InvalidInput("session_required", "Session scope needs an actor with a session.")
        return actor.session_scope, actor.session
    if actor.project is None:
        raise InvalidInput("project_required", "Project scope needs an actor with a project.")
    raise PermissionDenied("not_a_member", "You are not a member of this project.")


def readable(actor: Actor, scope: Scope | None = None) -> list[str]:
    """Return the scope keys that this actor reads, or the one of ``scope``."""
    if scope is None:
        return list(known_actor(actor).scope_keys)
    one_of(scope, SCOPES, "scope")
    return [home(actor, scope)[0]]
