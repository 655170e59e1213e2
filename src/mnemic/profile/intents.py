"""What did users want lately? The vectors of what they said, noted in memory and written beside the turns."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import structlog

from mnemic.errors import reason_of
from mnemic.model import Actor, Vector
from mnemic.profile.behaviour import Behaviour, note
from mnemic.storage.halfvec import HalfVector
from mnemic.storage.later import Later
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements

_SQL = statements("profiles")
_LOG = structlog.get_logger("mnemic.intents")
DELAY = 10.0
"""Seconds between a turn and its mark on the user's behaviour vector."""
_MOST = 2_000
_OF_ONE = 50
"""Users, and vectors of one of them, that wait at most: what is too much is left out."""


@dataclass(slots=True)
class _Said:
    actor: Actor
    since: float
    vectors: list[Vector] = field(default_factory=list)


class Intents(Later):
    """Collects the vectors of users' turns; a crash loses the last seconds of them, no more."""

    def __init__(self, database: Database, delay: float = DELAY) -> None:
        super().__init__(delay, "mnemic-intents")
        self._database = database
        self._waiting: dict[str, _Said] = {}

    def note(self, actor: Actor, vectors: Sequence[Vector]) -> None:
        """Remember what the actor's user said, as vectors of the model in use for them."""
        if not vectors or (len(self._waiting) >= _MOST and actor.user_scope not in self._waiting):
            return
        of_job = replace(actor, purpose="job", project=None, session=None)
        said = self._waiting.setdefault(actor.user_scope, _Said(of_job, time.time()))
        said.vectors += vectors[: _OF_ONE - len(said.vectors)]
        self.soon()

    @property
    def pending(self) -> bool:
        return bool(self._waiting)

    async def flush(self) -> None:
        """Write what was noted, a user in one transaction; a failure costs that user's alone."""
        waiting, self._waiting = self._waiting, {}
        for said in waiting.values():
            try:
                async with self._database.transaction(said.actor) as tx:
                    await _write(tx, said)
            except Exception as error:  # noqa: BLE001 - one user holds up no other
                _LOG.warning("intents not noted", count=len(said.vectors), **reason_of(error))


async def _write(tx: Transaction, said: _Said) -> None:
    """Let the vectors count; not in the profile of who came anew under that id since, nor in one asleep."""
    named = {"scope_key": said.actor.user_scope, "since": said.since}
    row = await tx.one(_SQL["behavior_since"], named)
    if row is None or tx.model_id is None:
        return
    mean = None
    if row["vector"] is not None:
        mean = Behaviour(tuple(row["vector"]), row["weight"], row["at"], row["model_id"])
    for vector in said.vectors:
        mean = note(mean, vector, tx.model_id, row["now"])
    assert mean is not None
    put = {"model_id": mean.model_id, "weight": mean.weight, "at": mean.at}
    await tx.run(_SQL["put_behavior"], named | put | {"vector": HalfVector(mean.mean)})
