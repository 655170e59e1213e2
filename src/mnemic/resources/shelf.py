"""What is there to be searched beside memories, and how does it come and go?"""

from __future__ import annotations

from mnemic.embedding.registry import Model
from mnemic.keys import KeyRing
from mnemic.model import Actor
from mnemic.resources.conversations import Conversations
from mnemic.storage.pool import Database


class Resources:
    """Conversations and documents of one actor."""

    def __init__(self, database: Database, keys: KeyRing, model: Model) -> None:
        self._conversations = Conversations(database, keys, model)

    async def index(self, actor: Actor) -> int:
        """Make what was said in the actor's session searchable; see ``Conversations.index``."""
        return await self._conversations.index(actor)
