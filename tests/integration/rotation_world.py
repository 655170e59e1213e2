"""Which deployment, with a key of its own, is rotated in tests, and by whom?"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conftest import Prepare, Server
from mnemic import Actor, MemoryService
from mnemic.audit import Audit
from mnemic.crypto import new_secret
from mnemic.deployment import as_owner
from mnemic.keys import KeyProvider
from mnemic.privacy.epochs import Epochs
from mnemic.privacy.rotate import Rotation
from mnemic.settings import Settings
from mnemic.storage.pool import Database
from stub_embedder import StubEmbedder, curve

OPERATOR = Actor("operator", purpose="cli")
KIM, LEE = Actor("kim", session="s1"), Actor("lee", session="s1")


@dataclass(frozen=True, slots=True)
class Operator:
    """What an operator works with."""

    database: Database
    provider: KeyProvider
    audit: Audit
    days: int

    def rotation(self, provider: KeyProvider | None = None) -> Rotation:
        return Rotation(self.database, provider or self.provider, self.audit)

    def epochs(self) -> Epochs:
        return Epochs(self.database, self.provider, self.audit, days=self.days)

    async def rows(self, query: str, *params: Any) -> list[dict[str, Any]]:
        async with self.database.system() as tx:
            return await (await tx.conn.execute(query.encode(), params)).fetchall()

    async def keks(self) -> dict[str, int]:
        """Return how many data keys each key of keys wraps."""
        query = "select kek_id, count(*) as n from data_key group by kek_id"
        return {row["kek_id"]: row["n"] for row in await self.rows(query)}

    async def current(self) -> str:
        return str((await self.rows("select kek_id from deployment"))[0]["kek_id"])


@dataclass(frozen=True, slots=True)
class Place:
    """A schema with a key of its own."""

    settings: Settings

    def like(self, **changes: Any) -> Place:
        return Place(self.settings.model_copy(update=changes))

    @asynccontextmanager
    async def service(self) -> AsyncIterator[MemoryService]:
        async with MemoryService.open(settings=self.settings, embedder=StubEmbedder()) as memory:
            yield memory

    @asynccontextmanager
    async def operator(self) -> AsyncIterator[Operator]:
        async with as_owner(self.settings) as (deployment, _):
            provider = deployment.keys.provider
            audit = await Audit.open(deployment.database, provider)
            yield Operator(deployment.database, provider, audit, self.settings.key_epoch_days)


async def place(
    server: Server, schema: str, prepare: Prepare, tmp_path: Path, **more: Any
) -> Place:
    """Prepare a schema whose key lies in a file of its own."""
    found = Place(server.settings(schema, key_file=tmp_path / "keys" / "k", **more))
    await prepare(found.settings, StubEmbedder(), curve())
    return found


async def contents(memory: MemoryService, actors: Sequence[Actor]) -> dict[str, list[str]]:
    """Return what is remembered of each."""
    found = {}
    for actor in actors:
        found[actor.user] = sorted(item.content for item in (await memory.list(actor)).items)
    return found


def fresh_key() -> str:
    """Return a key as an operator makes one."""
    return base64.b64encode(new_secret()).decode()
