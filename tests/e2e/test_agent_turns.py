"""Does an agent know tomorrow, in another process, what its user said today? The model is scripted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from e2e.program import Cli

EXAMPLES = Path(__file__).parents[2] / "examples"
AGENT = """
import asyncio, json, sys
from langchain.agents import create_agent
from scripted_model import ScriptedModel, says
from mnemic import MemoryService
from mnemic.integrations.langchain import MemoryMiddleware

async def main(text, session, enabled):
    model = ScriptedModel(answers=[says("Sure.")])
    async with MemoryService.open() as memory:
        middleware = [MemoryMiddleware(memory)]
        agent = create_agent(model, [], system_prompt="You are a guide.", middleware=middleware)
        named = {"user_id": "ivy", "session_id": session, "enable_memory": enabled}
        await agent.ainvoke({"messages": [("user", text)]}, {"configurable": named})
    print(json.dumps({"system": model.system, "offered": model.offered}))

asyncio.run(main(*json.loads(sys.argv[1])))
"""
STATED, ASKED = "Please remember that I prefer trains to planes", "Should I take trains or planes?"
PLAIN = {"system": "You are a guide.", "offered": []}


def turn(cli: Cli, text: str, session: str, *, enabled: bool = True) -> Any:
    """Run one turn in a process of its own; return the model's system message and tools."""
    done = subprocess.run(
        [sys.executable, "-c", AGENT, json.dumps([text, session, enabled])],
        env=cli.env | {"PYTHONPATH": str(EXAMPLES)},
        cwd=cli.home,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def kept(cli: Cli) -> Any:
    """What Ivy's memory holds, of any status."""
    return cli.json("list", "--status", "all", user="ivy")


def test_a_preference_of_one_turn_stands_in_the_system_message_of_the_next_process(
    cli: Cli,
) -> None:
    # switched off, nothing is written ...
    assert turn(cli, STATED, "off", enabled=False) == PLAIN
    assert kept(cli)["total"] == 0
    first = turn(cli, STATED, "monday")
    assert first == {"system": PLAIN["system"], "offered": ["memory_add", "memory_search"]}
    second = turn(cli, ASKED, "tuesday")
    assert second["system"].startswith("You are a guide.\n\n<")
    assert "I prefer trains to planes" in second["system"]
    # ... and nothing is read
    before = kept(cli)
    assert turn(cli, ASKED, "off", enabled=False) == PLAIN
    assert kept(cli) == before
    shown = cli.json("session", "show", "--session", "off", user="ivy", code=1)
    assert shown["reason"] == "session_not_found"
