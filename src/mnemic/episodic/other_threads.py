"""What when LangGraph calls without await? Other threads are served, the event loop itself is refused."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
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

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """``aprune`` from another thread. Raises InvalidInput (``sync_inside_loop``)."""
        self._require_other_thread("aprune")
        super().prune(thread_ids, strategy=strategy)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """``adelete_for_runs`` from another thread. Raises InvalidInput (``sync_inside_loop``)."""
        self._require_other_thread("adelete_for_runs")
        asyncio.run_coroutine_threadsafe(self.adelete_for_runs(run_ids), self.loop).result()

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """``acopy_thread`` from another thread. Raises InvalidInput (``sync_inside_loop``)."""
        self._require_other_thread("acopy_thread")
        work = self.acopy_thread(source_thread_id, target_thread_id)
        asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """``aget_delta_channel_history`` from another thread. Raises InvalidInput (``sync_inside_loop``)."""
        self._require_other_thread("aget_delta_channel_history")
        return super().get_delta_channel_history(config=config, channels=channels)

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
