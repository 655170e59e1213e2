"""How does an agent go on after a refresh, a crash or a question? ``memory.episodes``.

It hands out the checkpointer that LangGraph saves with, shows where each thread stands, takes people's
decisions, and keeps the tables small.
"""

from __future__ import annotations

from mnemic.episodic.deciding import Deciding
from mnemic.episodic.keeping import Keeping


class Episodes(Deciding, Keeping):
    """Where agents stopped, and how they go on. Every method takes the Actor who asks."""

    async def aclose(self) -> None:
        """Close the checkpoints' connections; idempotent."""
        await self._pool.aclose()
