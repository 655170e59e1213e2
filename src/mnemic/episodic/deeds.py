"""What does the audit keep of threads? One deed whoever asks, none where nothing went."""

from __future__ import annotations

from mnemic.episodic.threads import Place
from mnemic.model import Actor
from mnemic.storage.pool import Deed


def thread_deleted(place: Place, had: list[int] | None) -> list[Deed]:
    """Return the deed of a delete; ``had`` is how many checkpoints there were, None for no thread."""
    return [] if had is None else [Deed("delete_thread", place.stored, had)]


def thread_pruned(place: Place, count: int) -> list[Deed]:
    """Return the deed of a pruning that took ``count`` checkpoints."""
    return [Deed("prune_thread", place.stored, count)] if count else []


def runs_deleted(actor: Actor, count: int) -> list[Deed]:
    """Return the deed of a delete of runs, which took ``count`` checkpoints from the actor's threads."""
    return [Deed("delete_runs", actor.user_scope, count)] if count else []


def thread_copied(source: Place, target: Place) -> Deed:
    """Return the deed of a copy of all of a thread to another."""
    return Deed("copy_thread", source.stored, None, target.stored)


def thread_forked(place: Place, checkpoint_id: object, to: str) -> Deed:
    """Return the deed of going on from a checkpoint; ``to`` is the new thread, or the new checkpoint."""
    return Deed("fork_thread", place.stored, checkpoint_id, to)
