"""How does LangGraph's store look to its graphs? As ``BaseStore``, with the memory behind it.

    graph = builder.compile(store=MnemicStore(memory))
    await graph.ainvoke(state, {"configurable": {"user_id": "kim"}})

Namespaces whose last label is ``memories`` hold memories and go through the gate; all others hold values,
sealed. Everything lies in the scopes of the user whom the run was started for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchOp,
    TTLConfig,
)

from mnemic.checks import one_of
from mnemic.errors import InvalidInput
from mnemic.integrations.crossing import AnyMemory, Crossing
from mnemic.integrations.identity import actor_of
from mnemic.integrations.langgraph.memories import Memories
from mnemic.integrations.langgraph.places import (
    IsMemory,
    checked_key,
    last_label_is_memories,
    place_of,
)
from mnemic.integrations.langgraph.reading import Reading
from mnemic.integrations.langgraph.refusals import MemoryRefused, OnVerdict
from mnemic.integrations.langgraph.shelf import Put, Shelf
from mnemic.integrations.running import current_run
from mnemic.keys import with_keys_of_now
from mnemic.model import Actor, Source, Verdict

__all__ = ["MnemicStore"]

_LONGEST = 60 * 24 * 366 * 100
"""Minutes that a time to live may last."""
_REFUSALS = ("raise", "skip")
_TTL: TTLConfig = {"refresh_on_read": True, "omit_expired": True}


class MnemicStore(BaseStore):
    """A store of LangGraph on a memory; ``BaseStore`` says what its methods do.

    Every method raises the errors of ``mnemic.errors``: Unauthenticated (``user_required``) where the run
    names no user, PermissionDenied (``namespace_not_yours``) for a namespace of somebody else,
    ConsentRequired, MemoryRefused for what the gate or the search for secrets refuses, InvalidInput.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: AnyMemory,
        *,
        actor: Actor | None = None,
        is_memory: IsMemory = last_label_is_memories,
        fields: Sequence[str] = ("$",),
        indexed: Sequence[str] = (),
        on_refusal: str = "raise",
        on_verdict: OnVerdict | None = None,
        source: Source = "user",
        confidence: float = 0.9,
        ttl: TTLConfig | None = None,
    ) -> None:
        """``actor`` asks where a call comes from outside of a run. ``is_memory`` tells which namespaces hold
        memories. ``fields`` are the paths that are searched by meaning and word where a put names none,
        ``indexed`` those (as ``a.b``) by which equal values are found without unsealing all. ``on_refusal``
        is "raise", or "skip" to go on without a value that was refused; ``on_verdict`` hears of every memory.
        ``source`` and ``confidence`` (0 to 1) are those of the memories. ``ttl`` as in LangGraph.
        """
        self._crossing = Crossing(memory)
        self._actor = actor
        self._is_memory = is_memory
        self._fields = tuple(fields)
        self._declared = tuple(tuple(path.split(".")) for path in indexed)
        self._skips = one_of(on_refusal, _REFUSALS, "refusal") == "skip"
        self._on_verdict = on_verdict
        self._source: Source = source
        self._confidence = confidence
        self.ttl_config = TTLConfig(**{**_TTL, **(ttl or {})})

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do many things at once from a thread; see ``abatch``.

        Raises InvalidInput (``sync_call_inside_loop``) in the thread of the memory's own event loop.
        """
        return self._crossing.wait(self._done(list(ops), self._asker()))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do many things at once, from any event loop; the results come in the order of ``ops``.

        What is read is read before anything is put; of two puts under one key the last one counts. Memories
        are put first; plain values of the batch are put all or none.
        """
        return await self._crossing.run(self._done(list(ops), self._asker()))

    def _asker(self) -> Actor:
        """Return who asks. It is looked up where the call is made: in there is another context."""
        return actor_of(current_run(), self._actor)

    async def _done(self, ops: list[Op], actor: Actor) -> list[Result]:
        service = self._crossing.service
        shelf = Shelf(service.parts, self._declared)
        memories = Memories(service, self._source, self._confidence)
        puts = [self._put(op, actor) for op in ops if isinstance(op, PutOp)]
        last = {(put.place.scope_key, put.place.known_as, put.key): put for put in puts}
        reading = Reading(service, shelf, memories, self._is_memory, actor)
        results = [await self._read(reading, op) for op in ops]
        await self._write(actor, shelf, memories, list(last.values()))
        return results

    async def _read(self, reading: Reading, op: Op) -> Result:
        if isinstance(op, PutOp):
            return None
        if isinstance(op, GetOp):
            return await reading.get(op)
        if isinstance(op, SearchOp):
            return list(await reading.search(op))
        if isinstance(op, ListNamespacesOp):
            return await reading.namespaces(op)
        raise InvalidInput(
            "unknown_operation", "A store gets, searches, puts and lists namespaces."
        )

    async def _write(
        self, actor: Actor, shelf: Shelf, memories: Memories, puts: Sequence[Put]
    ) -> None:
        """Put what may be put: first everything is looked at, then memories are put, then values."""
        remembered = [put for put in puts if put.place.memory]
        kept = [put for put in puts if not put.place.memory]
        passed = [put for put in remembered if await self._passes(actor, memories, put)]
        prepared: list[dict[str, Any]] = []
        admitted: list[Put] = []
        for put in kept:
            try:
                prepared += await shelf.prepare(actor, [put])
                admitted.append(put)
            except MemoryRefused as error:
                self._tell(put, error.verdict)
                if not self._skips:
                    raise
        for put in passed:
            await self._remember(actor, memories, put)
        if admitted:
            await _keep(actor, shelf, admitted, prepared)

    async def _passes(self, actor: Actor, memories: Memories, put: Put) -> bool:
        verdict = None if put.value is None else await memories.refused(actor, put.value)
        if verdict is None:
            return True
        self._tell(put, verdict)
        if not self._skips:
            raise MemoryRefused(verdict)
        return False

    async def _remember(self, actor: Actor, memories: Memories, put: Put) -> None:
        if put.value is None:
            await memories.remove(actor, put.place, put.key)
            return
        try:
            verdict = await memories.put(actor, put.place, put.key, put.value, put.minutes)
        except MemoryRefused as error:
            self._tell(put, error.verdict)
            if not self._skips:
                raise
        else:
            self._tell(put, verdict)

    def _tell(self, put: Put, verdict: Verdict) -> None:
        if self._on_verdict is not None:
            self._on_verdict(put.place.namespace, put.key, verdict)

    def _put(self, op: PutOp, actor: Actor) -> Put:
        place = place_of(op.namespace, actor, self._is_memory)
        paths = self._fields if op.index is None else _paths(op.index)
        return Put(place, checked_key(op.key), op.value, paths, _minutes(op.ttl))


@with_keys_of_now
async def _keep(
    actor: Actor, shelf: Shelf, admitted: Sequence[Put], prepared: Sequence[dict[str, Any]]
) -> None:
    async with shelf.parts.deployment.database.transaction(actor) as tx:
        deeds = await shelf.write(tx, actor, admitted, prepared)
        await shelf.sweep(tx, list(dict.fromkeys(put.place.scope_key for put in admitted)))
        await tx.answer(None, *deeds)


def _paths(index: object) -> Sequence[str]:
    """Return what of a value is searched. Raises InvalidInput (``invalid_index``)."""
    if index is False:
        return ()
    if not isinstance(index, list | tuple) or not all(isinstance(path, str) for path in index):
        raise InvalidInput("invalid_index", "index is False, or a list of paths such as a.b.")
    return index


def _minutes(value: object) -> float | None:
    """Return a time to live. Raises InvalidInput (``ttl_out_of_range``)."""
    if value is None:
        return None
    right = isinstance(value, int | float) and not isinstance(value, bool)
    if not right or not 0 < float(str(value)) <= _LONGEST or math.isnan(float(str(value))):
        raise InvalidInput("ttl_out_of_range", f"A time to live is 0 to {_LONGEST:,} minutes.")
    return float(str(value))
