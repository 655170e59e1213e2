"""What does the audit keep of a user's choice of a model? Its name and width; nothing of address and key."""

from __future__ import annotations

from mnemic.embedding.own import Choice
from mnemic.model import Actor
from mnemic.storage.pool import Deed


def chosen(actor: Actor, before: Choice | None, choice: Choice) -> list[Deed]:
    """Return the deed of a choice; ``before`` is what it replaces, None for the deployment's model."""
    if choice == before:
        return []
    return [Deed("set_embedding", actor.user_scope, _state(before), _state(choice))]


def cleared(actor: Actor, before: Choice | None) -> Deed:
    """Return the deed of going back to the deployment's model."""
    return Deed("clear_embedding", actor.user_scope, _state(before))


def _state(choice: Choice | None) -> list[object] | None:
    return None if choice is None else [choice.model, choice.dims]
