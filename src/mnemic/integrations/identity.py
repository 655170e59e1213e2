"""Who is asking, when a graph, an agent or a tool calls? What its caller configured, never what a model says.

    server    the user whom a LangGraph server has authenticated
    context   the runtime context of the run (``user_id``, ``project_id``, ``session_id``)
    config    ``configurable`` of the RunnableConfig (the same names; ``thread_id`` stands for a session)

Where two of them name a user they must name the same one. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mnemic.errors import InvalidInput, PermissionDenied, Unauthenticated
from mnemic.model import Actor, clean_id

USER, PROJECT, SESSION, THREAD = "user_id", "project_id", "session_id", "thread_id"
SWITCH = "enable_memory"
_SERVER_USER = "langgraph_auth_user_id"
_OFF, _ON = ("false", "0", "no", "off"), ("true", "1", "yes", "on")


@dataclass(frozen=True, slots=True)
class Run:
    """What a run was started with: the authenticated user, its context and its configuration."""

    server: object = None
    context: object = None
    config: Mapping[str, Any] | None = None

    @property
    def configured(self) -> Mapping[str, Any]:
        given = (self.config or {}).get("configurable")
        return given if isinstance(given, Mapping) else {}

    def named(self, name: str) -> list[object]:
        """Return what the run says under a name, wherever it says something."""
        told = [_of(self.context, name), self.configured.get(name)]
        return [value for value in told if value is not None]


def actor_of(run: Run, default: Actor | None = None) -> Actor:
    """Return who asks; ``default`` is who asks where the run names nobody.

    Raises Unauthenticated (``user_required``) when nobody is named, PermissionDenied
    (``identity_unclear``) when two are, InvalidInput (``invalid_id``) for ids that cannot be.
    """
    user = _agreed([*_authenticated(run), *run.named(USER)], "user")
    if default is not None and user not in (None, default.user):
        raise _unclear("user")
    if user is None and default is None:
        raise Unauthenticated(
            "user_required",
            "Say whose memory it is: user_id in the run's configurable, or in its context;"
            " outside of a run give the store an actor.",
        )
    project = _agreed(run.named(PROJECT), "project")
    session = _agreed(run.named(SESSION), "session")
    if session is None:
        session = _agreed(map(_thread, run.named(THREAD)), "session")
    base = default or Actor(str(user))
    return Actor(
        base.user,
        project or base.project,
        session or base.session,
        base.agent,
        base.purpose,
        base.credential,
    )


def enabled(run: Run, default: bool = True) -> bool:
    """Tell whether this run uses the memory. Raises InvalidInput (``invalid_switch``)."""
    for value in run.named(SWITCH):
        if isinstance(value, bool):
            return value
        word = str(value).strip().lower()
        if word not in _ON + _OFF:
            raise InvalidInput("invalid_switch", "enable_memory is true or false.")
        return word in _ON
    return default


def _authenticated(run: Run) -> list[object]:
    told = [_of(run.server, "identity"), run.configured.get(_SERVER_USER)]
    return [value for value in told if value is not None]


def _thread(value: object) -> object:
    """Return the id of a thread as text: LangGraph takes UUIDs and numbers too."""
    number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if number or isinstance(value, UUID) else value


def _agreed(values: Iterable[object], what: str) -> str | None:
    """Return the id that all of the values are."""
    ids = {clean_id(value, what) for value in values}
    if len(ids) > 1:
        raise _unclear(what)
    return ids.pop() if ids else None


def _unclear(what: str) -> PermissionDenied:
    return PermissionDenied(
        "identity_unclear", f"This run names more than one {what}: name the same one everywhere."
    )


def _of(source: object, name: str) -> object:
    """Return what a mapping, or an object with attributes, says under a name."""
    if source is None:
        return None
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
