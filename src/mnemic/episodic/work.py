"""What does every call on episodes run in? A transaction of the actor, with key and serializer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mnemic.episodic.pool import Pool
from mnemic.episodic.threads import Place, thread_named
from mnemic.errors import ConfigurationError, InvalidInput
from mnemic.keys import KeyRing
from mnemic.model import Actor, known_actor
from mnemic.storage.pool import Database, Transaction

if TYPE_CHECKING:
    from mnemic.episodic.saver import EpisodeSaver
    from mnemic.episodic.sealing import Lock, SealedSerializer


class Work:
    """What the parts of ``Episodes`` share. LangGraph is loaded at the first call, not before."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        pool: Pool,
        *,
        keep: int = 20,
        archive_after: timedelta = timedelta(days=7),
    ) -> None:
        """``keep`` (from 1) newest checkpoints of a thread, and all that are younger than ``archive_after``,
        stay out of the archive."""
        self._database = database
        self._keys = keys
        self._pool = pool
        self._keep = keep
        self._after = archive_after
        self._allowed: tuple[type, ...] = ()

    def checkpointer(
        self, actor: Actor | None = None, *, allow: Sequence[type] = ()
    ) -> EpisodeSaver:
        """Return a checkpointer for ``graph.compile``, to be used in this event loop.

        Each call acts for the ``user_id`` in the config's ``configurable`` (``project_id`` and
        ``session_id`` where given), or for ``actor``, whose user nobody else may name then. ``allow`` lists
        classes of the application's own that states hold; no others are made again from a checkpoint.
        Raises ConfigurationError (``langgraph_missing``), InvalidInput (``no_event_loop``).
        """
        saver = langgraph("saver")
        self._allowed = tuple(dict.fromkeys((*self._allowed, *allow)))
        try:
            made: EpisodeSaver = saver.EpisodeSaver(
                self._pool, self._keys, None if actor is None else known_actor(actor), allow
            )
        except RuntimeError:
            raise InvalidInput(
                "no_event_loop",
                "Ask for a checkpointer inside the event loop that will use it: in a coroutine, of a"
                " MemoryService. A SyncMemoryService has none to give.",
            ) from None
        return made

    def _serializer(self) -> SealedSerializer:
        made: SealedSerializer = langgraph("sealing").SealedSerializer(self._allowed)
        return made

    @asynccontextmanager
    async def _opened(
        self, actor: Actor, place: Place | None = None, *, make: bool = False
    ) -> AsyncIterator[tuple[Transaction, Lock | None, SealedSerializer]]:
        """Open a transaction; the lock is None where the user has no key, and so nothing to open."""
        serializer = self._serializer()
        async with self._database.transaction(actor) as tx:
            key = await (self._keys.obtain if make else self._keys.find)(tx, actor)
            stored = "" if place is None else place.stored
            lock: Lock | None = None
            if key is not None:
                lock = langgraph("sealing").Lock(key, actor.user_scope, stored)
            yield tx, lock, serializer


def langgraph(name: str) -> Any:
    """Return a module of ours that needs LangGraph. Raises ConfigurationError (``langgraph_missing``)."""
    try:
        return import_module(f"mnemic.episodic.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("mnemic"):
            raise
        raise ConfigurationError(
            "langgraph_missing", "Install LangGraph: pip install '.[langgraph]' in the clone."
        ) from None


def place_named(actor: Actor, thread_id: str) -> Place:
    """Return a thread of the actor's. Raises InvalidInput (``invalid_id``, ``not_an_actor``)."""
    return Place(known_actor(actor), thread_named(thread_id))
