"""An agent of its own process, for tests that kill it: ``episode_agent.py SETTINGS.json MODE``."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from episode_world import KIM, State, config, opened
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from mnemic.settings import Settings


def agent(checkpointer: Any, log: Path, mode: str) -> Any:
    """A graph that does a thing, asks, and does another; it logs what it does, and stalls where told."""

    def note(what: str) -> None:
        with log.open("a") as file:
            file.write(what + "\n")
            file.flush()
            os.fsync(file.fileno())

    async def stall(place: str) -> None:
        if mode == place:
            print("stalled", flush=True)
            await asyncio.sleep(600)

    async def first(state: State) -> dict[str, Any]:
        note("first")
        return {"mood": "glad"}

    async def ask(state: State) -> dict[str, Any]:
        await stall("before")
        said = interrupt("go on?")
        await stall("after")
        return {"notes": [str(said)]}

    async def last(state: State) -> dict[str, Any]:
        note("last")
        await stall("late")
        return {"sent": True}

    graph = StateGraph(State)
    for name, node in (("first", first), ("ask", ask), ("last", last)):
        graph.add_node(name, node)
    graph.add_edge(START, "first")
    graph.add_edge("first", "ask")
    graph.add_edge("ask", "last")
    return graph.compile(checkpointer=checkpointer)


async def main(told: dict[str, Any], mode: str) -> None:
    settings = Settings.read(**told["settings"])
    async with opened(settings) as (episodes, _):
        saver = episodes.checkpointer()
        graph = agent(saver, Path(told["log"]), mode)
        known = await saver.aget_tuple(config(KIM))
        state: Any = {"age": 3} if known is None else None
        await graph.ainvoke(state, config(KIM), durability="sync")
        print("ended", flush=True)


if __name__ == "__main__":
    asyncio.run(main(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2]))
