"""What does Mnemic do for the same questions, with everything that it promises?

The service is used as anybody would use it; only the embedder is one that knows its vectors.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from benchmarks import floor
from benchmarks.data import Corpus, Prepared, Question
from benchmarks.load import adopt, load, settle
from mnemic.deployment import Deployment
from mnemic.embedding.registry import Model
from mnemic.item_rows import at
from mnemic.model import Actor
from mnemic.service import MemoryService
from mnemic.settings import Settings
from mnemic.storage.halfvec import HalfVector
from mnemic.storage.statements import statements

K = floor.K
_GREET = statements("retrieval")["greet"]
_VECTOR_ARM: LiteralString = """
select * from {schema}.vector_arm(
    %(asker_scopes)s, %(asker_sessions)s, %(asker)s, %(asker_project)s, %(asker_user)s,
    %(model_id)s::int, %(embedding)s, %(k)s::int)
"""
_CREATE = """
create or replace function vector_arm(
    _scopes text, _sessions text, _actor text, _project text, _user_scope text,
    _model_id int, _embedding halfvec, _k int)
returns table (user_status text, remember text, key_epoch int, scope_key text, id uuid, version int,
    content_enc bytea, cosine float8)
language plpgsql set search_path from current set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    _asker record := greet(_scopes, _sessions, _actor, _project, _user_scope, false);
begin
    user_status := _asker.user_status; remember := _asker.remember; key_epoch := _asker.key_epoch;
    return next;
    return query
    select null::text, null::text, null::int, m.scope_key, m.id, m.version, m.content_enc,
           1 - (m.embedding <=> _embedding)
    from memory_item m
    where m.scope_key = _user_scope and m.status = 'active' and m.model_id = _model_id
    order by m.embedding <=> _embedding
    limit _k;
end $$
"""
"""The vector arm by itself is no part of the product; it is asked as the whole search is: in one trip."""


@dataclass(frozen=True, slots=True)
class World:
    """One schema with a service on it and the floor beside it."""

    settings: Settings
    deployment: Deployment
    memory: MemoryService
    embedder: Prepared
    model: Model
    owner: floor.Connection
    floor_url: str

    async def load(self, corpus: Corpus) -> None:
        """Put a corpus into both tables."""
        await load(self.owner, self.deployment, self.model.model_id, corpus)
        await settle(self.owner)

    def prepare(self, questions: Sequence[Question]) -> Sequence[Question]:
        """Tell the embedder the vectors of these questions."""
        for question in questions:
            self.embedder.learn(question.text, question.vector)
        return questions

    async def search(self, question: Question, k: int = K) -> list[UUID]:
        """Return what ``search_memories`` finds: both arms, policies, decryption, ranking."""
        hits = await self.memory.search_memories(Actor(question.user), question.text, k)
        return [hit.id for hit in hits]

    async def vector_arm(self, question: Question, k: int = K) -> list[UUID]:
        """Return the nearest items with their texts: policies and decryption, but one arm."""
        actor, database = Actor(question.user), self.deployment.database
        known = self.deployment.keys.recent(actor)
        if known is None:
            told = (await database.ask(actor, _GREET, {})).head
            key = await self.deployment.keys.accept(actor, told)
            assert key is not None
            known = key, str(told["key_epoch"])
        params = {"embedding": HalfVector(question.vector), "model_id": self.model.model_id, "k": k}
        answer = await database.ask(actor, _VECTOR_ARM, params)
        assert known[1] == str(answer.head["key_epoch"])
        for _, _, _, scope_key, item_id, version, sealed, _ in answer.rows:
            known[0].open(sealed, at(scope_key, item_id, "content", version))
        return [row[4] for row in answer.rows]


@asynccontextmanager
async def world(settings: Settings) -> AsyncIterator[World]:
    """Open a schema (made when it is missing) with the prepared embedder and the floor's tables."""
    embedder = Prepared()
    async with AsyncExitStack() as stack:
        deployment = await Deployment.start(settings)
        stack.push_async_callback(deployment.close)
        model = await adopt(deployment, embedder)
        memory = await stack.enter_async_context(
            MemoryService.open(settings=settings, embedder=embedder)
        )
        await memory.profiles.consumer.close()  # a corpus asks for thousands of profiles at once
        url = _owner_url(settings, deployment)
        owner = await stack.enter_async_context(await floor.connect(url, settings.db_schema))
        await floor.create(owner)
        await owner.execute(_CREATE, prepare=False)
        yield World(settings, deployment, memory, embedder, model, owner, url)


def _owner_url(settings: Settings, deployment: Deployment) -> str:
    if deployment.joined is not None:
        return deployment.joined.url("owner")
    assert settings.migration_url is not None, "MNEMIC_MIGRATION_URL names the owner's login"
    return settings.migration_url.get_secret_value()
