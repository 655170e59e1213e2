"""When does a memory begin and end, and what hangs on it meanwhile?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Self

from mnemic.audit import Audit
from mnemic.chat import ChatModel
from mnemic.cold import ColdStore
from mnemic.consent import Consents
from mnemic.deployment import Deployment
from mnemic.embedding.protocol import Embedder
from mnemic.embedding.settings import Embeddings
from mnemic.episodic.episodes import Episodes
from mnemic.errors import InvalidInput
from mnemic.keys import KeyProvider
from mnemic.parts import Parts, assemble
from mnemic.profile.sleepers import Sleepers
from mnemic.profile.store import Profiles
from mnemic.projects import Projects
from mnemic.resources.shelf import Resources
from mnemic.retrieval.rerank import Reranker
from mnemic.session.sessions import Sessions
from mnemic.settings import Settings
from mnemic.tasks.store import Tasks


class Lifetime:
    """A memory from ``async with`` on, with its parts by name; ``MemoryService`` adds what can be asked."""

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        chat_model: ChatModel | None = None,
        key_provider: KeyProvider | None = None,
        reranker: Reranker | None = None,
        cold_store: ColdStore | None = None,
    ) -> None:
        self.settings = settings
        self._given_embedder = embedder
        self._given_chat = chat_model
        self._key_provider = key_provider
        self._reranker = reranker
        self._cold_store = cold_store
        self._running: Parts | None = None

    @classmethod
    def open(
        cls,
        data_dir: str | Path | None = None,
        *,
        database_url: str | None = None,
        migration_url: str | None = None,
        key_file: str | Path | None = None,
        embedder: Embedder | None = None,
        chat_model: ChatModel | None = None,
        key_provider: KeyProvider | None = None,
        reranker: Reranker | None = None,
        cold_store: ColdStore | None = None,
        settings: Settings | None = None,
    ) -> Self:
        """Return a service to be entered with ``async with``; nothing starts before that.

        Without arguments: the embedded database under the platform's data directory, the local encoder,
        no chat model. ``settings`` replaces the environment; the other arguments win over both.
        """
        given = {
            "data_dir": data_dir,
            "database_url": database_url,
            "migration_url": migration_url,
            "key_file": key_file,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        if settings is None:
            settings = Settings.read(**changes)
        elif changes:
            settings = Settings.read(**(settings.model_dump(exclude_unset=True) | changes))
        return cls(
            settings,
            embedder=embedder,
            chat_model=chat_model,
            key_provider=key_provider,
            reranker=reranker,
            cold_store=cold_store,
        )

    async def __aenter__(self) -> Self:
        if self._running is not None:
            raise InvalidInput("service_already_open", "This service is open: make another one.")
        self._running = await assemble(
            self.settings,
            self._given_embedder,
            self._given_chat,
            self._key_provider,
            self._reranker,
            self._cold_store,
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Write what is still buffered, close connections, leave the embedded server; idempotent."""
        if self._running is not None:
            _require_same_loop(self._running.loop)
        parts, self._running = self._running, None
        if parts is not None:
            await parts.close()

    @property
    def _parts(self) -> Parts:
        if self._running is None:
            raise InvalidInput(
                "service_not_open",
                "Enter the service first: async with MemoryService.open() as memory.",
            )
        _require_same_loop(self._running.loop)
        return self._running

    @property
    def parts(self) -> Parts:
        """What it is made of: for integrations that keep rows of their own beside ours.

        It may change with any version; applications use the methods, and the parts by their names below.
        """
        return self._parts

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop that it is open in, None while it is not open."""
        return None if self._running is None else self._running.loop

    @property
    def has_chat_model(self) -> bool:
        """Whether a chat model reads conversations, where otherwise rules do."""
        configured = (
            self.settings.chat_base_url is not None and self.settings.chat_model is not None
        )
        return configured or self._given_chat is not None

    @property
    def sessions(self) -> Sessions:
        """What was said, what of it goes into a prompt, and how a session ends."""
        return self._parts.sessions

    @property
    def resources(self) -> Resources:
        """Conversations and documents, searchable beside the memories."""
        return self._parts.resources

    @property
    def episodes(self) -> Episodes:
        """Where agents stopped, and how they go on: LangGraph's checkpoints."""
        return self._parts.episodes

    @property
    def tasks(self) -> Tasks:
        """Work that takes hours or days, step by step."""
        return self._parts.tasks

    @property
    def consent(self) -> Consents:
        """Whether a user agrees to be remembered."""
        return self._parts.consent

    @property
    def audit(self) -> Audit:
        """Who did what, as keyed hashes that nobody changes unnoticed."""
        return self._parts.audit

    @property
    def projects(self) -> Projects:
        """What is shared, and with whom."""
        return self._parts.projects

    @property
    def profiles(self) -> Profiles:
        """What every prompt should hold of a user, and of a project."""
        return self._parts.profiles

    @property
    def sleepers(self) -> Sleepers:
        """Who was away for long: their profiles are archived, and woken by whatever they do."""
        return self._parts.sleep.sleepers

    @property
    def embeddings(self) -> Embeddings:
        """Which model embeds for a user, and the change to another one."""
        return self._parts.embeddings

    @property
    def key_file(self) -> Path | None:
        """Where the key-encryption key lies; back it up, away from the data."""
        return self._parts.deployment.key_file

    @property
    def deployment(self) -> Deployment:
        """The database and the keys that it runs on: for those who serve it."""
        return self._parts.deployment

    async def ping(self) -> None:
        """Ask the database for a sign of life. Raises StorageUnavailable."""
        async with self._parts.deployment.database.system():
            pass


def _require_same_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Connections belong to the event loop that opened them; elsewhere they would hang."""
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        return  # a property, read from plain code
    if running is not loop:
        raise InvalidInput(
            "service_of_another_loop",
            "This service was opened in another event loop: open one here, or use SyncMemoryService.",
        )
