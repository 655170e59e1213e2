"""What does Mnemic do for the same questions, with everything that it promises?

The service is used as anybody would use it; only the embedder is one that knows its vectors.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
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

K = floor.K
_VECTOR_ARM = """
select scope_key, id, version, content_enc, 1 - (embedding <=> %(embedding)s) as cosine
from memory_item
where scope_key = any(%(scopes)s) and status = 'active' and model_id = %(model_id)s
order by embedding <=> %(embedding)s
limit %(k)s
"""


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
        actor = Actor(question.user)
        async with self.deployment.database.transaction(actor) as tx:
            key = await self.deployment.keys.find(tx, actor)
            rows = await tx.all(
                _VECTOR_ARM,
                {
                    "embedding": HalfVector(question.vector),
                    "scopes": [actor.user_scope],
                    "model_id": self.model.model_id,
                    "k": k,
                },
            )
        assert key is not None
        for row in rows:
            key.open(row["content_enc"], at(row["scope_key"], row["id"], "content", row["version"]))
        return [row["id"] for row in rows]


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
        url = _owner_url(settings, deployment)
        owner = await stack.enter_async_context(await floor.connect(url, settings.db_schema))
        await floor.create(owner)
        yield World(settings, deployment, memory, embedder, model, owner, url)


def _owner_url(settings: Settings, deployment: Deployment) -> str:
    if deployment.joined is not None:
        return deployment.joined.url("owner")
    assert settings.migration_url is not None, "MNEMIC_MIGRATION_URL names the owner's login"
    return settings.migration_url.get_secret_value()
