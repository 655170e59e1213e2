"""Which graphs do episodes have to carry, and how are they opened in a test?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import psycopg
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

from conftest import Server
from mnemic.deployment import Deployment
from mnemic.episodic.episodes import Episodes
from mnemic.episodic.pool import Pool
from mnemic.model import Actor
from mnemic.settings import Settings

KIM, LEE = Actor("kim", session="s1"), Actor("lee", session="s1")


class State(TypedDict, total=False):
    """What the graphs here keep: text, numbers, lists, messages."""

    mood: str
    age: int
    notes: list[str]
    todos: list[dict[str, Any]]
    messages: Annotated[list[Any], add_messages]
    sent: bool


@asynccontextmanager
async def opened(
    settings: Settings, *, keep: int = 5, after: timedelta = timedelta(0)
) -> AsyncIterator[tuple[Episodes, Deployment]]:
    """A deployment with its episodes, which keep little and archive at once."""
    deployment = await Deployment.start(settings)
    episodes = Episodes(
        deployment.database,
        deployment.keys,
        Pool.of(deployment, settings),
        keep=keep,
        archive_after=after,
    )
    try:
        yield episodes, deployment
    finally:
        await episodes.aclose()
        await deployment.close()


def shared_schema(server: Server) -> Settings:
    """Return settings for a schema that the tests of a file share, one after another; ``emptied`` between."""
    return server.settings(f"t_{uuid4().hex[:12]}")


def emptied(settings: Settings) -> Settings:
    """Take every row of every user out of a schema that may be there already."""
    assert settings.migration_url is not None
    with psycopg.connect(settings.migration_url.get_secret_value(), autocommit=True) as conn:
        there = conn.execute("select to_regclass(%s)", [f"{settings.db_schema}.thread"]).fetchone()
        if there and there[0] is not None:
            conn.execute(
                "select set_config('search_path', %s, false)", [f"{settings.db_schema},public"]
            )
            conn.execute(
                "truncate thread, checkpoints, checkpoint_blobs, checkpoint_writes, consent_log, session,"
                " app_user, data_key cascade"
            )
    return settings


def config(actor: Actor, thread: str = "t1", **more: object) -> dict[str, Any]:
    """Return the config of an application that names its user."""
    named = {"user_id": actor.user, "session_id": actor.session, "thread_id": thread}
    return {"configurable": {k: v for k, v in named.items() if v is not None} | more}


def counter(checkpointer: Any) -> Any:
    """A graph of one node, which adds a note a run."""

    def note(state: State) -> dict[str, Any]:
        return {"notes": [*state.get("notes", []), f"note {len(state.get('notes', []))}"]}

    graph = StateGraph(State)
    graph.add_node("note", note)
    graph.add_edge(START, "note")
    graph.add_edge("note", END)
    return graph.compile(checkpointer=checkpointer)


def mailer(checkpointer: Any) -> Any:
    """A graph that plans a call of a tool, asks a person, and then does it."""

    def plan(state: State) -> dict[str, Any]:
        call = {"name": "send_mail", "args": {"to": "ann"}, "id": "call1"}
        todos = [{"content": "send the letter", "status": "in_progress"}]
        return {"messages": [AIMessage("", tool_calls=[call])], "todos": todos}

    def ask(state: State) -> dict[str, Any]:
        action = {"name": "send_mail", "args": {"to": "ann"}, "description": "A letter to Ann"}
        review = {"action_name": "send_mail", "allowed_decisions": ["approve", "edit", "reject"]}
        said = interrupt({"action_requests": [action], "review_configs": [review]})
        (decision,) = said["decisions"]
        words = decision["type"]
        if words == "edit":
            words += " " + decision["edited_action"]["args"]["to"]
        if words == "reject":
            words += " " + decision.get("message", "")
        answer = ToolMessage(words, tool_call_id="call1")
        return {"messages": [answer], "sent": decision["type"] != "reject"}

    graph = StateGraph(State)
    graph.add_node("plan", plan)
    graph.add_node("ask", ask)
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=checkpointer)
