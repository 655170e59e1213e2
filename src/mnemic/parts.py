"""Of what is a running service made? Every object is put together here, once, from the settings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from mnemic.audit import Audit
from mnemic.chat import ChatModel, OpenAIChat
from mnemic.cold import ColdStore
from mnemic.cold.opening import open_cold_store
from mnemic.cold.removals import Removals
from mnemic.consent import Consents
from mnemic.contact import ContactIndex
from mnemic.deployment import Deployment
from mnemic.embedding.local import LocalEncoder
from mnemic.embedding.models import Models
from mnemic.embedding.own import Choice
from mnemic.embedding.protocol import Embedder
from mnemic.embedding.registry import register
from mnemic.embedding.settings import Embeddings
from mnemic.episodic.episodes import Episodes
from mnemic.episodic.pool import Pool
from mnemic.errors import EmbeddingError
from mnemic.hosts import require_hosts
from mnemic.keys import KeyProvider, deployment_secret
from mnemic.longterm.changes import Changes
from mnemic.longterm.closing import Closing
from mnemic.longterm.gate import Limits
from mnemic.longterm.items import Items
from mnemic.longterm.judge import slots
from mnemic.longterm.passes import Passes
from mnemic.longterm.sensitive import DEFAULT_CATEGORIES, find_sensitive
from mnemic.longterm.write import Writer
from mnemic.model import Actor, Vector
from mnemic.privacy.erase import Erase
from mnemic.profile.cooling import Cooling
from mnemic.profile.hibernation import Hibernation
from mnemic.profile.history_fold import Folding
from mnemic.profile.intents import Intents
from mnemic.profile.prose import Prose
from mnemic.profile.refresh import Refresh
from mnemic.profile.sleepers import Sleepers
from mnemic.profile.store import Profiles
from mnemic.projects import Projects
from mnemic.resources.chunk_texts import chunk_texts
from mnemic.resources.shelf import Resources
from mnemic.retrieval.rerank import Reranker
from mnemic.retrieval.search import Search
from mnemic.retrieval.usage import UsageMarks
from mnemic.session.messages import MessageLog
from mnemic.session.sessions import Sessions
from mnemic.session.state import SessionState
from mnemic.session.summaries import Summaries
from mnemic.session.turn_vectors import TurnVectors
from mnemic.session.window import Encode, Window
from mnemic.session.window_opening import Windows, open_windows
from mnemic.settings import Settings, age
from mnemic.storage.activity import Activity
from mnemic.tasks.declared import declared
from mnemic.tasks.store import Tasks

Keep = Callable[[Any], None]
_USERS_TIMEOUT, _USERS_RETRIES = 10.0, 2
"""Seconds and repeats for users' own endpoints: a search waits for them before words alone answer."""


@dataclass(frozen=True, slots=True)
class _Sleep:
    """What lets users sleep and wakes them."""

    sleepers: Sleepers
    hibernation: Hibernation
    activity: Activity

    @property
    def removals(self) -> Removals:
        """What removes the objects of the cold store that nobody refers to."""
        return self.hibernation.cooling.removals

    async def close(self) -> None:
        """Wait for who is being woken, and write who was here."""
        await self.hibernation.close()
        await self.activity.close()


@dataclass(frozen=True, slots=True)
class Parts:
    """What a running service consists of; ``endpoints`` are those that it made itself."""

    deployment: Deployment
    writer: Writer
    items: Items
    changes: Changes
    passes: Passes
    search: Search
    usage: UsageMarks
    intents: Intents
    log: MessageLog
    windows: Windows
    sessions: Sessions
    episodes: Episodes
    tasks: Tasks
    projects: Projects
    profiles: Profiles
    consent: Consents
    audit: Audit
    erase: Erase
    sleep: _Sleep
    resources: Resources
    models: Models
    embeddings: Embeddings
    endpoints: tuple[Any, ...]
    loop: asyncio.AbstractEventLoop

    async def close(self) -> None:
        """Write what is still buffered, close connections and endpoints, leave the embedded server."""
        async with AsyncExitStack() as stack:  # what fails to close keeps nothing else open
            stack.push_async_callback(_close, self.endpoints)
            stack.push_async_callback(self.deployment.close)
            stack.push_async_callback(self.episodes.aclose)
            stack.push_async_callback(self.windows.close)
            stack.push_async_callback(self.sleep.close)
            stack.push_async_callback(self.intents.close)
            stack.push_async_callback(self.usage.close)
            stack.push_async_callback(self.profiles.consumer.close)


async def assemble(
    settings: Settings,
    embedder: Embedder | None = None,
    chat_model: ChatModel | None = None,
    key_provider: KeyProvider | None = None,
    reranker: Reranker | None = None,
    cold_store: ColdStore | None = None,
) -> Parts:
    """Start the deployment and make everything on it; what is not given comes from the settings."""
    require_hosts(settings.allowed_hosts)
    deployment = await Deployment.start(settings, key_provider)
    own: list[Any] = []
    try:
        chat = chat_model or _configured_chat(settings, own.append)
        embedder = embedder or _configured_embedder(settings, own.append)
        windows = await open_windows(settings, deployment.data_dir)
        try:
            cold = cold_store or _configured_cold(settings, own.append)
            ground = await _lay(deployment, settings, embedder, chat, windows, cold)
            parts = await _compose(ground, own, reranker)
        except BaseException:
            await windows.close()
            raise
        parts.profiles.consumer.start()
        return parts
    except BaseException:
        await deployment.close()
        await _close(own)
        raise


@dataclass(frozen=True, slots=True)
class _Ground:
    """What everything else is made on."""

    settings: Settings
    deployment: Deployment
    chat: ChatModel | None
    audit: Audit
    models: Models
    windows: Windows
    cold: ColdStore | None


async def _lay(
    deployment: Deployment,
    settings: Settings,
    embedder: Embedder,
    chat: ChatModel | None,
    windows: Windows,
    cold: ColdStore | None,
) -> _Ground:
    database, keys = deployment.database, deployment.keys
    audit = await Audit.open(database, keys.provider)
    database.recorder = audit
    model = await register(database, embedder)
    # the local encoder sends nothing anywhere: consent is seen to where its vectors are used
    remote = settings.embedding_base_url is not None or settings.consent == "required"
    ask_first = remote and not isinstance(embedder, LocalEncoder)
    models = Models(
        database,
        keys,
        model,
        lambda choice: connect(choice, settings),
        ask_first=ask_first,
        one_trip=settings.search_function == "on",
    )
    return _Ground(settings, deployment, chat, audit, models, windows, cold)


async def _compose(ground: _Ground, own: list[Any], reranker: Reranker | None) -> Parts:
    deployment, models, audit = ground.deployment, ground.models, ground.audit
    database, keys, chat = deployment.database, deployment.keys, ground.chat
    one_trip = ground.settings.search_function == "on"
    writer = Writer(database, keys, models, _limits(ground.settings), chat, one_trip=one_trip)
    usage, items = UsageMarks(database), Items(writer)
    profiles, sleep = await _profiles(ground)
    passes = Passes(writer, ground.settings.max_extractions, chat)
    resources = Resources(database, keys, models)
    intents = Intents(database)
    log, window = _log(ground, intents)
    closing = Closing(writer, passes, index=resources.index, drop_window=window.drop)
    return Parts(
        deployment=deployment,
        writer=writer,
        items=items,
        changes=Changes(writer, items),
        passes=passes,
        search=Search(
            database, keys, models, usage, slots, reranker, one_trip=one_trip, profiles=profiles
        ),
        usage=usage,
        intents=intents,
        log=log,
        windows=ground.windows,
        sessions=_sessions(ground, log, window, closing),
        episodes=_episodes(ground),
        tasks=Tasks(database, keys, declared(ground.settings.workflows)),
        projects=Projects(database, keys),
        profiles=profiles,
        consent=Consents(database, audit, window),
        audit=audit,
        erase=Erase(database, keys, audit, models.forget, window, sleep.removals),
        sleep=sleep,
        resources=resources,
        models=models,
        embeddings=Embeddings(database, keys, models, chunk_texts),
        endpoints=(models, *own),
        loop=asyncio.get_running_loop(),
    )


def _log(ground: _Ground, intents: Intents) -> tuple[MessageLog, Window]:
    database, keys = ground.deployment.database, ground.deployment.keys
    log = MessageLog(database, keys, one_trip=ground.settings.search_function == "on")
    # an encoder far away would make every turn wait
    encode = None if ground.settings.embedding_base_url else _encoder(ground.models)
    store, told = ground.windows.store, intents.note
    return log, Window(database, keys, store, log, encode=encode, told=told)


def _sessions(ground: _Ground, log: MessageLog, window: Window, closing: Closing) -> Sessions:
    database, keys = ground.deployment.database, ground.deployment.keys
    return Sessions(
        database,
        log,
        SessionState(database, keys, ttl=ground.settings.state_ttl),
        Summaries(database, keys, ground.chat),
        hot=window,
        vectors=TurnVectors(ground.models),
        close=closing.run,
    )


def _episodes(ground: _Ground) -> Episodes:
    deployment, settings = ground.deployment, ground.settings
    return Episodes(
        deployment.database,
        deployment.keys,
        Pool.of(deployment, settings),
        keep=settings.checkpoint_keep,
        archive_after=timedelta(days=settings.checkpoint_archive_days),
    )


def _encoder(models: Models) -> Encode:
    """Return what gives new turns their vectors, with the model of whoever spoke."""

    async def encode(actor: Actor, texts: Sequence[str]) -> Sequence[Vector | None]:
        made = await (await models.for_actor(actor)).vectors(list(texts))
        return [None if isinstance(vector, EmbeddingError) else vector for vector in made]

    return encode


async def _profiles(ground: _Ground) -> tuple[Profiles, _Sleep]:
    deployment, chat = ground.deployment, ground.chat
    async with deployment.database.system() as tx:
        contacts = ContactIndex(await deployment_secret(tx, deployment.keys.provider))

    def sensitive(text: str) -> set[str]:
        return {finding.category for finding in find_sensitive(text)}

    refresh = Refresh(
        deployment.database, deployment.keys, lambda _, kind, text: contacts.of(kind, text)
    )
    prose = Prose(refresh, chat, sensitive) if chat is not None else None
    days = ground.settings.profile_history_days
    profiles = Profiles(refresh, sensitive=sensitive, prose=prose, history_days=days)
    return profiles, _sleep(ground, refresh, Folding(refresh, timedelta(days=days)))


def _sleep(ground: _Ground, refresh: Refresh, folding: Folding) -> _Sleep:
    """Make what puts users to sleep, and let every contact wake them."""
    database, keys, settings = refresh.database, refresh.keys, ground.settings
    cooling = Cooling(database, keys, ground.cold)
    hibernation = Hibernation(refresh, cooling, folding)
    activity = Activity(database)
    refresh.sleep = hibernation
    database.noticed, database.waker = activity.note, hibernation.woken
    after, cold_after = age(settings.hibernate_after), age(settings.cold_after)
    sleepers = Sleepers(refresh, hibernation, after=after, cold_after=cold_after)
    return _Sleep(sleepers, hibernation, activity)


def _limits(settings: Settings) -> Limits:
    return Limits(
        min_confidence=settings.min_confidence,
        confirm_below=settings.confirm_below,
        min_length=settings.min_length,
        max_length=settings.max_length,
        duplicate_threshold=settings.duplicate_threshold,
        categories=DEFAULT_CATEGORIES | settings.sensitive_extra,
        on_sensitive=settings.on_sensitive,
    )


def connect(choice: Choice, settings: Settings) -> Embedder:
    """Return the embedder of a user's choice. Raises HostNotAllowed or ConfigurationError.

    A user names the address, so it is held to more than the operator's own: no private network.
    """
    from mnemic.embedding.openai import OpenAIEmbedder

    return OpenAIEmbedder(
        choice.base_url,
        choice.model,
        api_key=choice.api_key,
        dims=choice.dims or None,
        allowed_hosts=settings.allowed_hosts,
        public_only=True,
        timeout=_USERS_TIMEOUT,
        retries=_USERS_RETRIES,
    )


def _configured_cold(settings: Settings, keep: Keep) -> ColdStore | None:
    store = open_cold_store(settings)
    if store is not None:
        keep(store)
    return store


def _configured_embedder(settings: Settings, keep: Keep) -> Embedder:
    if settings.embedding_base_url is None:
        from mnemic.embedding.local import shared_encoder

        return shared_encoder()
    from mnemic.embedding.openai import OpenAIEmbedder

    embedder = OpenAIEmbedder(
        settings.embedding_base_url,
        settings.embedding_model,
        api_key=settings.embedding_api_key,
        dims=settings.embedding_dimensions,
        allowed_hosts=settings.allowed_hosts,
    )
    keep(embedder)
    return embedder


def _configured_chat(settings: Settings, keep: Keep) -> ChatModel | None:
    if settings.chat_base_url is None or settings.chat_model is None:
        return None
    chat = OpenAIChat(
        settings.chat_base_url,
        settings.chat_model,
        api_key=settings.chat_api_key,
        allowed_hosts=settings.allowed_hosts,
    )
    keep(chat)
    return chat


async def _close(endpoints: tuple[Any, ...] | list[Any]) -> None:
    for endpoint in endpoints:
        await endpoint.aclose()
