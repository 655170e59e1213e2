"""What when LangGraph calls without await? Other threads are served, the event loop itself is refused."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from mnemic.errors import InvalidInput


class OtherThreads(AsyncPostgresSaver):
    """The synchronous methods: they hand their work to the event loop that the checkpointer belongs to."""

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """``aget_tuple`` from another thread. Raises InvalidInput (``sync_inside_loop``)."""
        self._require_other_thread("aget_tuple")
        return super().get_tuple(config)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """``alist`` from another thread. Raises InvalidInput (``sync_inside_loop``)."""
        self._require_other_thread("alist")

        async def all_of_them() -> builtins.list[CheckpointTuple]:
            found = self.alist(config, filter=filter, before=before, limit=limit)
            return [one async for one in found]

        yield from asyncio.run_coroutine_threadsafe(all_of_them(), self.loop).result()

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """``aput`` from another thread. Raises InvalidInput (``sync_inside_loop``)."""
        self._require_other_thread("aput")
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """``aput_writes`` from another thread. Raises InvalidInput (``sync_inside_loop``)."""
        self._require_other_thread("aput_writes")
        super().put_writes(config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        """``adelete_thread`` from another thread. Raises InvalidInput (``sync_inside_loop``)."""
        self._require_other_thread("adelete_thread")
        super().delete_thread(thread_id)

    def _require_other_thread(self, method: str) -> None:
        try:
            inside = asyncio.get_running_loop() is self.loop
        except RuntimeError:
            inside = False
        if inside:
            raise InvalidInput(
                "sync_inside_loop",
                f"This would block the event loop: await {method}, or graph.ainvoke and the like.",
            )
