"""An agent of its own process, for tests that kill it: ``episode_agent.py SETTINGS.json MODE``.

A mode is where it stalls, so that it can be killed there: "before" and "after" its question, "during" it (all
is saved, nobody has answered), "decided" (an answer was given), "late" (the last node has done its work).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from episode_world import KIM, State, config, opened
from langgraph.func import task
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from mnemic.settings import Settings
from mnemic.tasks.store import Tasks

TASK_TYPE = "data_approval"
BEGUN, MOVED = UUID(int=1, version=4), UUID(int=2, version=4)


def agent(checkpointer: Any, tasks: Tasks, log: Path, mode: str) -> Any:
    """A graph that does a thing, asks, and does another; it logs what it does, and stalls where told.

    Two of its deeds are declared idempotent: ``charge`` by LangGraph's ``task``, whose result is kept, and a
    long-running task's step by its ``event_id``.
    """
    note = noting(log)

    async def stall(place: str) -> None:
        if mode == place:
            await stalled()

    @task
    async def charge() -> str:
        note("charge")
        return "charged"

    async def first(state: State) -> dict[str, Any]:
        note("first")
        return {"mood": "glad"}

    async def ask(state: State) -> dict[str, Any]:
        await stall("before")
        said = interrupt("go on?")
        await stall("after")
        return {"notes": [str(said)]}

    async def last(state: State) -> dict[str, Any]:
        receipt = await charge()
        made = await tasks.create(KIM, TASK_TYPE, event_id=BEGUN)
        await tasks.advance(KIM, made.task_id, "validation", event_id=MOVED)
        note("last")
        await stall("late")
        return {"sent": True, "mood": receipt}

    graph = StateGraph(State)
    for name, node in (("first", first), ("ask", ask), ("last", last)):
        graph.add_node(name, node)
    graph.add_edge(START, "first")
    graph.add_edge("first", "ask")
    graph.add_edge("ask", "last")
    return graph.compile(checkpointer=checkpointer)


def noting(log: Path) -> Callable[[str], None]:
    """Return what writes down a deed, so that it survives whoever did it."""

    def note(what: str) -> None:
        with log.open("a") as file:
            file.write(what + "\n")
            file.flush()
            os.fsync(file.fileno())

    return note


async def stalled() -> None:
    print("stalled", flush=True)
    await asyncio.sleep(600)


async def main(told: dict[str, Any], mode: str) -> None:
    settings = Settings.read(**told["settings"])
    async with opened(settings) as (episodes, deployment):
        if mode == "decided":
            (approval,) = await episodes.pending_approvals(KIM)
            await episodes.answer(KIM, approval.id, "yes, go on")
            await stalled()
        saver = episodes.checkpointer()
        tasks = Tasks(deployment.database, deployment.keys)
        graph = agent(saver, tasks, Path(told["log"]), mode)
        known = await saver.aget_tuple(config(KIM))
        state: Any = {"age": 3} if known is None else None
        await graph.ainvoke(state, config(KIM), durability="sync")
        if mode == "during":
            await stalled()
        print("ended", flush=True)


if __name__ == "__main__":
    asyncio.run(main(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2]))
