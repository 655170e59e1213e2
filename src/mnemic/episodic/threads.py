"""Whose is a thread, and what is it called in the database? Pure functions.

LangGraph's tables know a thread by one id. Ours holds the user, ``<user>/<thread>`` with both parts
percent-encoded, so that two users may each have a thread of the same name and neither sees the other's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote
from uuid import UUID

from mnemic.errors import InvalidInput, PermissionDenied
from mnemic.model import Actor, clean_id

IDENTITY = ("user_id", "project_id", "session_id", "lease_token")
"""What a config says of who is asking, in ``configurable``; none of it is kept in metadata."""

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Place:
    """A thread of an actor; ``stored`` is its id in the tables, ``session`` is what it is shown under."""

    actor: Actor
    thread: str
    token: UUID | None = None

    @property
    def stored(self) -> str:
        return self.actor.user_scope.removeprefix("user:") + "/" + quote(self.thread, safe="")

    @property
    def session(self) -> str:
        """The session that the actor names, else the thread is its own."""
        return self.actor.session or self.thread

    @property
    def ids(self) -> dict[str, Any]:
        """The parameters that name the thread in a statement."""
        within = Actor(self.actor.user, session=self.session)
        return {
            "scope_key": self.actor.user_scope,
            "thread_id": self.stored,
            "session_id": self.session,
            "named": self.actor.session is not None,
            "session_scope": within.session_scope,
            "project_id": self.actor.project,
        }

    def config(self, **more: object) -> dict[str, Any]:
        """Return a LangGraph config that goes on with this thread, as this actor."""
        named = {
            "thread_id": self.thread,
            "user_id": self.actor.user,
            "project_id": self.actor.project,
            "session_id": self.actor.session,
            "lease_token": None if self.token is None else str(self.token),
        }
        kept = {name: value for name, value in named.items() if value is not None}
        return {"configurable": kept | more}


def place_of(config: Mapping[str, Any], bound: Actor | None) -> Place:
    """Return the thread that a config names, and who asks for it.

    Raises InvalidInput (``thread_required``, ``invalid_id``, ``invalid_lease``), and as ``actor_of``.
    """
    named = configurable(config)
    checkpoint_at(config)
    thread = named.get("thread_id")
    if thread is None:
        raise InvalidInput("thread_required", "Name a thread_id in the config's configurable.")
    return Place(
        actor_of(config, bound), thread_named(thread), token_named(named.get("lease_token"))
    )


def actor_of(config: Mapping[str, Any] | None, bound: Actor | None) -> Actor:
    """Return who asks: the user of the config, else the actor that the checkpointer was made for.

    Raises InvalidInput (``user_required``) when there is neither, PermissionDenied (``other_user``) when a
    checkpointer that was made for one user is asked as another.
    """
    named = configurable(config)
    user = named.get("user_id")
    if user is None:
        if bound is None:
            raise InvalidInput(
                "user_required",
                "Name a user_id in the config's configurable, or make the checkpointer for one user:"
                " checkpointer(actor).",
            )
        user = bound.user
    elif bound is not None and clean_id(user, "user") != bound.user:
        raise PermissionDenied("other_user", "This checkpointer serves one user, who is another.")
    project = named.get("project_id", bound and bound.project)
    session = named.get("session_id", bound and bound.session)
    return Actor(user, project, session)


def configurable(config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the ``configurable`` part of a config, empty for none."""
    named = (config or {}).get("configurable") or {}
    return named if isinstance(named, Mapping) else {}


def thread_named(value: object) -> str:
    """Return the cleaned name of a thread. Raises InvalidInput (``invalid_id``)."""
    return clean_id(str(value) if isinstance(value, UUID | int) else value, "thread")


def asked_by(named: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the ``configurable`` of a config says of who is asking."""
    return {name: named[name] for name in IDENTITY if named.get(name) is not None}


def config_at(given: Mapping[str, Any], thread: str, at: Mapping[str, Any]) -> Any:
    """Return the config of a checkpoint of a thread, for whoever ``given`` says."""
    ns = at.get("checkpoint_ns", "")
    named = {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": at["checkpoint_id"]}
    return {"configurable": {**given, **named}}


def checkpoint_at(config: Mapping[str, Any] | None) -> tuple[str, str | None]:
    """Return the namespace ("": the root graph's) and the checkpoint (None: the newest) that a config names.

    Raises InvalidInput (``invalid_id``) for what is no text, or none that a database holds.
    """
    named = configurable(config)
    ns, checkpoint = named.get("checkpoint_ns"), named.get("checkpoint_id")
    return (
        "" if ns is None else storable(ns, "namespace"),
        None if checkpoint is None else storable(checkpoint, "checkpoint"),
    )


def storable(value: object, what: str) -> str:
    """Return an id that LangGraph made, as it is. Raises InvalidInput (``invalid_id``)."""
    if not isinstance(value, str) or _UNSTORABLE.search(value):
        raise InvalidInput("invalid_id", f"The {what} id must be well-formed text.", what=what)
    return value


def shown(stored: str) -> str:
    """Return the name of a thread from its id in the database."""
    return unquote(stored.split("/", 1)[1])


def token_named(value: object) -> UUID | None:
    """Return the token of a lease. Raises InvalidInput (``invalid_lease``)."""
    if value is None or isinstance(value, UUID):
        return value
    try:
        return UUID(str(value))
    except ValueError:
        raise InvalidInput(
            "invalid_lease", "A lease_token is the token that lease() gave."
        ) from None
