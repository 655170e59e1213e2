"""How does LangGraph keep its checkpoints here? ``EpisodeSaver``, a subclass of its PostgreSQL saver.

Each call is one transaction of the user whom its config names, on a pool of its own: row-level security shows
and takes that user's threads only, consent is looked at, and the key is loaded before a value is sealed or
opened. What is taken out, copied or forked leaves its entry in the audit with it. No lock stands before the
pool. Whatever LangGraph writes in clear beside its blobs is sealed too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, LiteralString, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_serializable_checkpoint_metadata,
)
from psycopg import AsyncCursor
from psycopg.rows import DictRow, dict_row

from mnemic.checks import whole
from mnemic.episodic import deeds, leases, moments, upkeep
from mnemic.episodic import metadata as kept_metadata
from mnemic.episodic.other_threads import OtherThreads
from mnemic.episodic.pool import Pool
from mnemic.episodic.sealing import Lock, SealedSerializer, locked_with, wrapped
from mnemic.episodic.threads import (
    Place,
    actor_of,
    asked_by,
    checkpoint_at,
    config_at,
    configurable,
    place_of,
    shown,
)
from mnemic.errors import ConfigurationError, InvalidInput, StorageError
from mnemic.keys import KeyRing
from mnemic.model import Actor
from mnemic.storage.pool import Transaction
from mnemic.storage.statements import statements

_SQL = statements("episodes")
_CHANNELS = "channels"
"""Names of the channels that have a value, beside the metadata: whether all of them came back."""
_MOST = 1_000_000
"""Checkpoints that a list may be told to hold at most."""
INCOMPLETE = "incomplete"
"""In the metadata of a checkpoint in a list: names of channels whose value is missing."""


@dataclass(frozen=True, slots=True)
class _Call:
    """What a call runs in: its transaction, the user's key (None: nothing is kept yet), who asks."""

    tx: Transaction
    lock: Lock | None
    actor: Actor
    given: Mapping[str, Any]
    listing: bool = False


class _Later:
    """Takes statements as a cursor does, and runs them when the transaction ends."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    async def execute(self, query: LiteralString, params: Any) -> None:
        self._tx.later(query, params)

    async def executemany(self, query: LiteralString, params: Iterable[Any]) -> None:
        for one in params:
            self._tx.later(query, one)


_CALL: ContextVar[_Call] = ContextVar("mnemic_checkpoint_call")


class EpisodeSaver(OtherThreads):
    """A checkpointer for many users. Made by ``memory.episodes.checkpointer()``, never by hand."""

    serde: SealedSerializer

    def __init__(
        self, pool: Pool, keys: KeyRing, bound: Actor | None, allow: Sequence[type]
    ) -> None:
        super().__init__(cast("Any", None), serde=SealedSerializer(allow))
        self._pool = pool
        self._keys = keys
        self._bound = bound
        self._lives = leases.Lives()

    async def setup(self) -> None:
        """Check that LangGraph's tables are the newest that it knows; Mnemic's owner login makes them.

        Raises ConfigurationError (``checkpoint_tables_old``).
        """
        async with self._pool.system() as tx:
            row = await tx.one(_SQL["tables_version"])
        if row is None or row["version"] is None or row["version"] < len(self.MIGRATIONS) - 1:
            raise ConfigurationError(
                "checkpoint_tables_old",
                "This LangGraph needs newer checkpoint tables: upgrade Mnemic and run `mnemic db init`,"
                " or install langgraph-checkpoint-postgres 3.2.",
            )

    # ---- writing

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint, and what a page shows of it, in one transaction.

        Raises Conflict: ``checkpoint_behind`` when others have gone on meanwhile, ``thread_leased``,
        ``thread_gone``, ``session_closed``; ConsentRequired, InvalidInput and the errors of the database.
        """
        place = place_of(config, self._bound)
        named = configurable(config)
        ns, parent = checkpoint_at(config)
        async with self._writing(place, config) as call:
            assert call.lock is not None
            session = await leases.enter(call.tx, place)
            told = get_serializable_checkpoint_metadata(config, metadata)
            new, empty = checkpoint["id"], not checkpoint["channel_versions"]
            at = {"checkpoint_ns": ns, "checkpoint_id": new}
            before = await call.tx.one(_SQL["newest_and_snapshot"], place.ids | at)
            assert before is not None
            newest = before["newest"]
            await leases.require_newest(call.tx, place, ns, parent, new, newest, empty=empty)
            inner: dict[str, Any] = {"thread_id": place.stored, "checkpoint_ns": ns}
            await super().aput(
                {"configurable": inner if parent is None else inner | {"checkpoint_id": parent}},
                wrapped(checkpoint),
                cast("CheckpointMetadata", self._kept(told, checkpoint, call.lock)),
                new_versions,
            )
            if ns == "":
                ids = place.ids | {"session_id": session}
                await moments.put(call.tx, call.lock, ids, checkpoint, self.serde, before)
            else:
                await moments.moved_on(call.tx, call.lock, place.ids, ns, new, self.serde)
            if leases.is_forking():
                await call.tx.answer(None, deeds.thread_forked(place, parent, new))
        return cast("RunnableConfig", config_at(asked_by(named), place.thread, at))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save what a task wrote, before its step is complete. Raises as ``aput``."""
        place = place_of(config, self._bound)
        named = configurable(config)
        async with self._writing(place, config) as call:
            assert call.lock is not None
            told = moments.Written.of(named, writes, task_id, task_path, datetime.now(UTC))
            session = await leases.enter(call.tx, place, alone=told is not None)
            await super().aput_writes(_stored(config, place), writes, task_id, task_path)
            if told is not None:
                ids = place.ids | {"session_id": session}
                await moments.wrote(call.tx, call.lock, ids, told, self.serde)

    # ---- reading

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint, the newest unless the config names one; an archived one is brought back.

        Raises StorageError (``checkpoint_incomplete``) when a part of it is missing.
        """
        place = place_of(config, self._bound)
        wanted = checkpoint_at(config)[1]
        async with self._reading(place, config) as call:
            self._lives.begin(place.stored, call.tx.key_epoch if call.tx.known_user else None)
            if call.lock is None:
                return None
            found = await super().aget_tuple(_stored(config, place))
            if (
                found is None
                and wanted
                and await upkeep.restore(call.tx, call.lock, place, self.serde, wanted)
            ):
                found = await super().aget_tuple(_stored(config, place))
            return found

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield the checkpoints of a thread (None: of all threads of the user), the newest first.

        One that is not whole any more says so in its metadata (``incomplete``). Raises InvalidInput
        (``invalid_id``, ``invalid_filter``, ``limit_out_of_range`` beyond 0 to 1,000,000).
        """
        for found in await self._listed(config, filter, before, limit):
            yield found

    async def _listed(
        self,
        config: RunnableConfig | None,
        searched: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> list[CheckpointTuple]:
        named = configurable(config)
        actor = actor_of(config, self._bound)
        until = before if checkpoint_at(before)[1] else None
        if limit is not None:
            whole(limit, 0, _MOST, "limit")
        async with self._calling(actor, config, make=False, listing=True) as call:
            if call.lock is None:
                return []
            asked = None
            if named.get("thread_id") is not None:
                asked = _stored(cast("RunnableConfig", config), place_of(config or {}, self._bound))
            hidden = kept_metadata.wanted(searched or {}, call.lock.key) or None
            found = super().alist(asked, filter=hidden, before=until, limit=limit)
            return [one async for one in found]

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return what channels that keep differences were made of."""
        place = place_of(config, self._bound)
        async with self._reading(place, config) as call:
            if call.lock is None or not channels:
                return {channel: {"writes": []} for channel in channels}
            return await super().aget_delta_channel_history(
                config=_stored(config, place), channels=channels
            )

    # ---- taking out

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread: checkpoints, writes, snapshot, archive."""
        place = self._own(thread_id)
        async with self._calling(place.actor, None, make=False) as call:
            had = await upkeep.delete(call.tx, place)
            await call.tx.answer(None, *deeds.thread_deleted(place, had))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of these runs, with their writes."""
        if not run_ids:
            return
        async with self._calling(self._owner(), None, make=False) as call:
            if call.lock is not None:
                count = await upkeep.delete_runs(
                    call.tx, call.lock, call.actor, run_ids, self.serde
                )
                await call.tx.answer(None, *deeds.runs_deleted(call.actor, count))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints of a thread to another. Raises NotFound (``unknown_thread``)."""
        source, target = self._own(source_thread_id), self._own(target_thread_id)
        async with self._writing(target, None) as call:
            assert call.lock is not None
            await upkeep.copy(call.tx, call.lock.key, source, target, self.serde)
            await call.tx.answer(None, deeds.thread_copied(source, target))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the newest checkpoint a namespace (``keep_latest``), or none (``delete``).

        Raises InvalidInput (``unknown_strategy``, ``thread_ids_text``), Conflict (``delta_thread``).
        """
        if isinstance(thread_ids, str):
            raise InvalidInput("thread_ids_text", "Name the threads in a list.")
        if strategy not in ("keep_latest", "delete"):
            raise InvalidInput("unknown_strategy", "strategy must be keep_latest or delete.")
        for thread_id in thread_ids:
            if strategy == "delete":
                await self.adelete_thread(thread_id)
                continue
            place = self._own(thread_id)
            async with self._calling(place.actor, None, make=False) as call:
                count = await upkeep.prune(call.tx, place, keep=1)
                await call.tx.answer(None, *deeds.thread_pruned(place, count))

    # ---- what every call does

    def _owner(self) -> Actor:
        return actor_of(None, self._bound)

    def _own(self, thread_id: str) -> Place:
        return place_of({"configurable": {"thread_id": thread_id}}, self._bound)

    @asynccontextmanager
    async def _writing(
        self, place: Place, config: Mapping[str, Any] | None
    ) -> AsyncIterator[_Call]:
        async with self._calling(place.actor, config, make=True, place=place) as call:
            life = await self._lives.require(call.tx, place)
            yield call
        self._lives.begin(place.stored, life)

    @asynccontextmanager
    async def _reading(self, place: Place, config: Mapping[str, Any]) -> AsyncIterator[_Call]:
        async with self._calling(place.actor, config, make=False, place=place) as call:
            yield call

    @asynccontextmanager
    async def _calling(
        self,
        actor: Actor,
        config: Mapping[str, Any] | None,
        *,
        make: bool,
        place: Place | None = None,
        listing: bool = False,
    ) -> AsyncIterator[_Call]:
        async with self._pool.transaction(actor) as tx:
            key = await (self._keys.obtain if make else self._keys.find)(tx, actor)
            stored = "" if place is None else place.stored
            lock = None if key is None else Lock(key, actor.user_scope, stored)
            call = _Call(tx, lock, actor, asked_by(configurable(config)), listing)
            token = _CALL.set(call)
            try:
                if lock is None:
                    yield call
                else:
                    with locked_with(lock):
                        yield call
            finally:
                _CALL.reset(token)

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        """Give LangGraph's statements a cursor in the transaction of the call that they belong to.

        Those of a ``pipeline`` give no rows: they go with the commit.
        """
        tx = _CALL.get().tx
        if pipeline:
            yield cast("AsyncCursor[DictRow]", _Later(tx))
            return
        await tx.flush()
        async with tx.conn.cursor(binary=True, row_factory=dict_row) as cursor:
            yield cursor

    async def _load_checkpoint_tuple(self, value: DictRow) -> CheckpointTuple:
        call = _CALL.get()
        assert call.lock is not None
        lock = Lock(call.lock.key, call.lock.scope_key, value["thread_id"])
        written = dict(value["metadata"])
        expected = written.pop(_CHANNELS, [])
        with locked_with(lock):
            found = await super()._load_checkpoint_tuple(value)
            told = kept_metadata.told(written, self.serde, lock)
        missing = [name for name in expected if name not in found.checkpoint["channel_values"]]
        if missing and call.listing:
            told[INCOMPLETE] = missing
        elif missing:
            raise StorageError(
                "checkpoint_incomplete",
                "A part of this checkpoint is missing, so nothing goes on from it: restore it from a backup,"
                " or go on from an earlier one with episodes.fork().",
                channels=missing,
            )
        thread = shown(value["thread_id"])
        parent = found.parent_config
        return CheckpointTuple(
            config_at(call.given, thread, found.config["configurable"]),
            found.checkpoint,
            cast("CheckpointMetadata", told),
            None if parent is None else config_at(call.given, thread, parent["configurable"]),
            found.pending_writes,
        )

    def _kept(self, told: Mapping[str, Any], checkpoint: Checkpoint, lock: Lock) -> dict[str, Any]:
        values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
        channels = sorted(name for name in values if name in versions)
        return kept_metadata.kept(told, self.serde, lock) | {_CHANNELS: channels}


def _stored(config: RunnableConfig, place: Place) -> RunnableConfig:
    given = {name: value for name, value in config["configurable"].items() if value is not None}
    return {**config, "configurable": {**given, "thread_id": place.stored}}
