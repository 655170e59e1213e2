"""How does a thread go on from an earlier checkpoint, without losing what came later?"""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base.id import uuid6

from mnemic.episodic import upkeep
from mnemic.episodic.leases import forking
from mnemic.episodic.saver import EpisodeSaver
from mnemic.episodic.sealing import Lock, SealedSerializer
from mnemic.episodic.threads import Place
from mnemic.errors import NotFound
from mnemic.storage.pool import Transaction


async def in_place(saver: EpisodeSaver, place: Place, checkpoint_id: str) -> None:
    """Let the state of an earlier checkpoint be the newest of its thread again.

    Raises NotFound (``unknown_checkpoint``) and what a save raises.
    """
    at: Any = place.config(checkpoint_ns="", checkpoint_id=checkpoint_id)
    found = await saver.aget_tuple(at)
    if found is None:
        raise unknown_checkpoint()
    step = (found.metadata.get("step") or 0) + 1
    copy: Any = found.checkpoint | {"id": str(uuid6(clock_seq=step))}
    told: Any = {"source": "fork", "step": step, "parents": {}}
    with forking():
        await saver.aput(at, copy, told, {})


async def into(
    tx: Transaction,
    lock: Lock,
    source: Place,
    target: Place,
    checkpoint_id: str,
    serializer: SealedSerializer,
) -> None:
    """Begin a new thread with all of another up to a checkpoint.

    Raises NotFound (``unknown_thread``, ``unknown_checkpoint``), Conflict (``thread_exists``).
    """
    await upkeep.restore(tx, lock, source, serializer)
    known = {one.id for one in await upkeep.placed(tx, source) if one.ns == ""}
    if known and checkpoint_id not in known:
        raise unknown_checkpoint()
    await upkeep.copy(tx, lock.key, source, target, serializer, until=checkpoint_id)


def unknown_checkpoint() -> NotFound:
    """Return the error for a checkpoint that is not there."""
    return NotFound("unknown_checkpoint", "There is no such checkpoint in this thread.")
