"""Does the command line show where agents stopped, and decide what they wait for?"""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from e2e.program import Cli
from mnemic import Actor, MemoryService

DANA = Actor("dana", session="mail")
QUESTION = {
    "action_requests": [{"name": "send_mail", "args": {"to": "ann"}}],
    "review_configs": [{"action_name": "send_mail", "allowed_decisions": ["approve", "edit"]}],
}


class State(TypedDict, total=False):
    """One letter."""

    letter: str
    said: Any


def graph(checkpointer: Any) -> Any:
    def write(state: State) -> State:
        return {"letter": "亲爱的安"}

    def ask(state: State) -> State:
        return {"said": interrupt(QUESTION)}

    made = StateGraph(State)
    made.add_node("write", write)
    made.add_node("ask", ask)
    made.add_edge(START, "write")
    made.add_edge("write", "ask")
    return made.compile(checkpointer=checkpointer)


def config(thread: str) -> dict[str, Any]:
    return {"configurable": {"user_id": "dana", "session_id": "mail", "thread_id": thread}}


async def run(cli: Cli, thread: str, state: State | None) -> Any:
    place = {"data_dir": cli.env["MNEMIC_DATA_DIR"], "key_file": cli.env["MNEMIC_KEY_FILE"]}
    async with MemoryService.open(**place) as memory:
        return await graph(memory.episodes.checkpointer()).ainvoke(state, config(thread))


@pytest.fixture(scope="module")
def stopped(cli: Cli) -> str:
    """A thread that waits for a decision."""
    asyncio.run(run(cli, "letter", {}))
    return "letter"


def test_what_an_agent_waits_for_is_shown_decided_and_gone_on_with(cli: Cli, stopped: str) -> None:
    shown = cli.json("checkpoint", "resume", "--session", "mail", user="dana")
    assert (shown["status"], shown["thread_id"], shown["next"]) == ("waiting", stopped, ["ask"])
    assert shown["state"] == ["letter"]
    (waiting,) = shown["approvals"]
    assert waiting["actions"][0]["name"] == "send_mail"
    listed = cli("approval", "list", user="dana").out
    assert waiting["id"] in listed
    assert 'send_mail {"to": "ann"}' in listed
    both = ("--approve", "--reject")
    told = cli.json("approval", "decide", waiting["id"], *both, user="dana", code=2)
    assert told["reason"] == "decision_unclear"
    told = cli.json("approval", "decide", waiting["id"], "--approve", user="erin", code=1)
    assert told["reason"] == "unknown_approval"
    edit = ("--edit", '{"to": "bob"}')
    decided = cli.json("approval", "decide", waiting["id"], *edit, user="dana")
    assert (decided["status"], decided["approvals"]) == ("ready", [])
    state = asyncio.run(run(cli, stopped, None))
    assert state["said"]["decisions"][0]["edited_action"]["args"] == {"to": "bob"}
    threads = cli.json("checkpoint", "list", user="dana")["threads"]
    assert [(one["thread_id"], one["status"]) for one in threads] == [("letter", "done")]
    moved = cli.json("checkpoint", "archive", stopped, "--keep", "1", user="dana")
    assert moved == {"archived": {"threads": 1, "checkpoints": 0}}, "they are young"
