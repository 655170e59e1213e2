"""How does a LangGraph agent keep things in Mnemic, ask before it acts, and go on where it stopped?

    python examples/langgraph_agent.py

The store holds memories and values of the user whom a run is for. Set MNEMIC_DATA_DIR to say where.
"""

from __future__ import annotations

import asyncio

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from mnemic import MemoryService
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
    """Stop here until somebody says yes or no."""
    return {"approved": bool(interrupt({"approve": state["plan"]}))}


async def note(state: Trip, *, store: BaseStore) -> Trip:
    """Keep the outcome as a plain value: no memory, just data of this user."""
    await store.aput(("trips", "drafts"), "last", {"plan": state["plan"], "ok": state["approved"]})
    return {}


async def main() -> None:
    builder = StateGraph(Trip)
    builder.add_node("plan", plan)
    builder.add_node("approve", approve)
    builder.add_node("note", note)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "approve")
    builder.add_edge("approve", "note")
    builder.add_edge("note", END)
    async with MemoryService.open() as memory:
        store = MnemicStore(memory)
        graph = builder.compile(store=store, checkpointer=InMemorySaver())
        config = {"configurable": {"user_id": "rowan", "thread_id": "trip-1"}}
        paused = await graph.ainvoke({"wish": "I prefer trains to planes"}, config)
        print("waits:", paused["__interrupt__"][0].value["approve"])
        done = await graph.ainvoke(Command(resume=True), config)
        print("approved:", done["approved"])
        again = {"configurable": {"user_id": "rowan", "thread_id": "trip-2"}}
        paused = await graph.ainvoke({"wish": "I need a seat at the window"}, again)
        print("knows:", paused["__interrupt__"][0].value["approve"])


if __name__ == "__main__":
    asyncio.run(main())
