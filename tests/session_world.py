"""What do tests of sessions share? A whole ``Sessions`` on the parts of a service that is open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mnemic.longterm.closing import Closing
from mnemic.longterm.passes import Passes
from mnemic.session.messages import MessageLog
from mnemic.session.sessions import Sessions
from mnemic.session.state import TTL, SessionState
from mnemic.session.summaries import Summaries
from mnemic.session.turn_vectors import TurnVectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mnemic.chat import ChatMessage, ChatModel
    from mnemic.model import Actor
    from mnemic.service import MemoryService


def sessions_on(
    memory: MemoryService,
    *,
    chat: ChatModel | None = None,
    clock: Callable[[], datetime] | None = None,
    ttl: float = TTL,
    limit: int = 3,
    vectors: bool = True,
    dropped: list[Actor] | None = None,
) -> Sessions:
    """Return sessions on an open service; ``dropped`` collects the actors whose window was dropped."""
    parts = memory._parts
    database, keys = parts.deployment.database, parts.deployment.keys

    async def drop(actor: Actor) -> None:
        if dropped is not None:
            dropped.append(actor)

    closing = Closing(
        parts.writer,
        Passes(parts.writer, limit, chat),
        index=parts.resources.index,
        drop_window=drop,
    )
    return Sessions(
        database,
        MessageLog(database, keys),
        SessionState(database, keys, ttl=ttl, clock=clock),
        Summaries(database, keys, chat),
        vectors=TurnVectors(parts.models) if vectors else None,
        close=closing.run,
    )


def wired(memory: MemoryService, sessions: Sessions) -> MemoryService:
    """Return the service with these sessions."""
    parts: Any = memory._parts
    memory._running = replace(parts, sessions=sessions)
    return memory


@dataclass
class Scripted:
    """A ChatModel that gives prepared answers, and keeps what it was asked."""

    answers: list[str | Exception]
    name: str = "scripted"

    def __post_init__(self) -> None:
        self.asked: list[Sequence[ChatMessage]] = []

    async def complete(
        self, messages: Sequence[ChatMessage], *, json_schema: Mapping[str, object] | None = None
    ) -> str:
        """Return the next answer, the last one again and again."""
        self.asked.append(messages)
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer
