"""How does a LangGraph agent keep things in Mnemic, ask before it acts, and go on where it stopped?

    python examples/langgraph_agent.py

The store holds memories and values of the user whom a run is for, the checkpointer where each run stands:
approval may come days later, in another process. Set MNEMIC_DATA_DIR to say where they lie.
"""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import interrupt
from typing_extensions import TypedDict

from mnemic import Actor, MemoryService
from mnemic.integrations.langgraph import MnemicStore


class Trip(TypedDict, total=False):
    wish: str
    plan: str
    approved: bool


async def plan(state: Trip, *, store: BaseStore) -> Trip:
    """Keep what the user wishes, and plan with everything that is known."""
    await store.aput(("memories",), state["wish"], {"content": state["wish"]})
    known = await store.asearch(("memories",), query="how to travel", limit=3)
    return {"plan": "; ".join(str(item.value["content"]) for item in known)}


async def approve(state: Trip) -> Trip:
    """Stop here until somebody says yes or no; then it runs again from its top."""
    return {"approved": bool(interrupt({"approve": state["plan"]}))}


async def note(state: Trip, *, store: BaseStore) -> Trip:
    """Keep the outcome as a plain value: no memory, just data of this user."""
    await store.aput(("trips", "drafts"), "last", {"plan": state["plan"], "ok": state["approved"]})
    return {}


def assistant(memory: MemoryService) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph, as every process compiles it."""
    builder = StateGraph(Trip)
    builder.add_node("plan", plan)
    builder.add_node("approve", approve)
    builder.add_node("note", note)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "approve")
    builder.add_edge("approve", "note")
    builder.add_edge("note", END)
    return builder.compile(store=MnemicStore(memory), checkpointer=memory.episodes.checkpointer())


def run_of(thread: str) -> RunnableConfig:
    return {"configurable": {"user_id": "rowan", "thread_id": thread}}


async def main() -> None:
    rowan = Actor("rowan")
    async with MemoryService.open() as memory:
        # "sync": each step is saved before the next begins, so that a crash repeats nothing that was done
        wish: Trip = {"wish": "I prefer trains to planes"}
        await assistant(memory).ainvoke(wish, run_of("trip-1"), durability="sync")

    async with MemoryService.open() as memory:  # later, in another process
        (approval,) = (await memory.episodes.thread(rowan, "trip-1")).approvals
        print("waits:", approval.question["approve"])
        decided = await memory.episodes.approve(rowan, approval.id)
        graph = assistant(memory)
        done = await graph.ainvoke(None, decided.config, durability="sync")
        print("approved:", done["approved"])
        wish = {"wish": "I need a seat at the window"}
        paused = await graph.ainvoke(wish, run_of("trip-2"), durability="sync")
        print("knows:", paused["__interrupt__"][0].value["approve"])
        print("stands:", (await memory.episodes.thread(rowan, "trip-2")).status)


if __name__ == "__main__":
    asyncio.run(main())
