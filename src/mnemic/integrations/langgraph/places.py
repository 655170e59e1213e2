"""In which scope does a namespace lie, and is it a memory or a plain value that stands there?

    ("users", USER, ...)        the user's own       ("projects", PROJECT, ...)   the project's
    ("sessions", SESSION, ...)  the session's        anything else                the user's own

The first two labels may name nobody but who asks: an id in a namespace is never an identity. Pure.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mnemic.errors import InvalidInput, PermissionDenied
from mnemic.model import Actor, Scope
from mnemic.permissions import home

Namespace = tuple[str, ...]
IsMemory = Callable[[Namespace], bool]

MEMORIES = "memories"
MAX_DEPTH, MAX_LABEL, MAX_KEY = 32, 256, 1_024
_ROOTS: dict[str, Scope] = {
    "user": "user",
    "users": "user",
    "project": "project",
    "projects": "project",
    "session": "session",
    "sessions": "session",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace of one actor. ``known_as`` is what its keys are told apart by: memories of one scope are
    the same under each of their names."""

    namespace: Namespace
    scope: Scope
    scope_key: str
    memory: bool

    @property
    def known_as(self) -> Namespace:
        return ("*", MEMORIES) if self.memory else self.namespace


def last_label_is_memories(namespace: Namespace) -> bool:
    """Tell whether a namespace is one of memories, by the rule that counts unless told otherwise."""
    return bool(namespace) and namespace[-1] == MEMORIES


def place_of(namespace: object, actor: Actor, is_memory: IsMemory) -> Place:
    """Return the place of a namespace.

    Raises InvalidInput (``invalid_namespace``, ``project_required``, ``session_required``) and
    PermissionDenied (``namespace_not_yours``) for one that names somebody or something else.
    """
    labels = checked(namespace)
    if not labels or labels[0] == "langgraph":
        raise _invalid("A namespace has a first label, other than langgraph.")
    memory = is_memory(labels)
    scope = _scope(labels, actor)
    if memory:
        _require_whole(labels[:-1] if labels[-1] == MEMORIES else labels, actor)
    return Place(labels, scope, home(actor, scope)[0], memory)


def scopes_under(prefix: Sequence[str], actor: Actor) -> list[str]:
    """Return the scope keys in which something under a prefix may lie; raises as ``place_of``."""
    labels = tuple(prefix)
    if len(labels) > 1 and labels[0] in _ROOTS and labels[1] != "*":
        return [home(actor, _scope(labels, actor))[0]]
    return list(actor.readable_scopes)


def checked(namespace: object) -> Namespace:
    """Return a namespace, or a prefix of one. Raises InvalidInput (``invalid_namespace``)."""
    if isinstance(namespace, str) or not isinstance(namespace, tuple | list):
        raise _invalid("A namespace is a tuple of labels.")
    if len(namespace) > MAX_DEPTH:
        raise _invalid(f"A namespace has at most {MAX_DEPTH} labels.")
    for label in namespace:
        if not isinstance(label, str) or not 1 <= len(label) <= MAX_LABEL or "." in label:
            raise _invalid(
                f"A label of a namespace is text of 1 to {MAX_LABEL} characters without a dot."
            )
        if label != label.strip() or any(unicodedata.category(char) in _UNSEEN for char in label):
            raise _invalid("A label of a namespace has no spaces around it and nothing invisible.")
    return tuple(unicodedata.normalize("NFC", label) for label in namespace)


_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def checked_key(key: object) -> str:
    """Return the key of a value. Raises InvalidInput (``invalid_key``)."""
    if not isinstance(key, str) or len(key) > MAX_KEY:
        raise InvalidInput("invalid_key", f"A key is text of at most {MAX_KEY:,} characters.")
    return key


def _scope(labels: Namespace, actor: Actor) -> Scope:
    """Return the scope of a namespace whose root, if it names an owner, names the actor's own."""
    if len(labels) < 2 or labels[0] not in _ROOTS:
        return "user"
    scope = _ROOTS[labels[0]]
    if not is_named(labels[1], home(actor, scope)[1]):
        raise not_yours()
    return scope


def _require_whole(labels: Namespace, actor: Actor) -> None:
    """See to it that a namespace of memories names its scope and nothing more: memories have no other."""
    rest = labels[2:] if len(labels) > 1 and labels[0] in _ROOTS else labels
    if rest and not (rest == labels and len(rest) == 1 and is_named(rest[0], actor.user)):
        raise not_yours()


def is_named(label: str, owner: str) -> bool:
    """Tell whether a label is an id; a dot, which no label holds, is written %2E."""
    return label.replace("%2E", ".") == owner


def not_yours() -> PermissionDenied:
    """Return the refusal of a namespace that is not the actor's."""
    return PermissionDenied(
        "namespace_not_yours",
        "This namespace names somebody or something else: memories stand under (USER, 'memories'),"
        " ('projects', PROJECT, 'memories') and ('sessions', SESSION, 'memories').",
    )


def _invalid(message: str) -> InvalidInput:
    return InvalidInput("invalid_namespace", message)
