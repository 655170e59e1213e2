"""Do the examples run, with a model that says what it was told to say?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contract.scripted_server import Answer, Request, serving
from e2e.program import MNEMIC, Cli

EXAMPLES = Path(__file__).parents[2] / "examples"
EXPECTED = {
    "langgraph_agent.py": [
        "waits: I prefer trains to planes",
        "approved: True",
        "knows:",
        "I prefer trains to planes",
        "I need a seat at the window",
        "stands: waiting",
    ],
    "langchain_agent.py": [
        "monday:  Noted: short answers.",
        "tuesday: You like short answers.",
        "its prompt knew: True",
    ],
    "mcp_client.py": ["added: stored", "found: I take the night train to Vienna every spring"],
}


def run(cli: Cli, name: str, sent: str = "", **env: str) -> str:
    """Run an example as a reader would, and return what it printed."""
    path = f"{MNEMIC.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning", EXAMPLES / name],
        env=cli.env | {"PATH": path, "MNEMIC_USER": "rowan"} | env,
        cwd=cli.home,
        input=sent,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_example_prints_what_it_promises(cli: Cli, name: str) -> None:
    printed = run(cli, name)
    for part in EXPECTED[name]:
        assert part in printed, printed


def test_the_chat_loop_remembers_with_any_compatible_model(cli: Cli) -> None:
    prompts: list[str] = []

    def model(request: Request) -> Answer:
        prompts.append(request.body["messages"][0]["content"])
        message = {"role": "assistant", "content": f"answer {len(prompts)}"}
        return Answer(body={"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    with serving(model) as server:
        env = {
            "CHAT_URL": f"{server.url}/v1",
            "CHAT_MODEL": "any",
            "MNEMIC_ALLOWED_HOSTS": server.host,
            "MNEMIC_USER": "ash",
        }
        first = run(cli, "chat_loop.py", "记住：我最喜欢喝乌龙茶\n你好\n\n", **env)
        second = run(cli, "chat_loop.py", "我最喜欢喝什么？\n\n", **env)
        assert run(cli, "chat_loop.py", "", **env) == ""
    assert (first.split("\n")[:2], second.split("\n")[0]) == (["answer 1", "answer 2"], "answer 3")
    assert prompts[0] == "You are a friendly assistant."
    assert "我最喜欢喝乌龙茶" in prompts[2]
    assert len((EXAMPLES / "chat_loop.py").read_text(encoding="utf-8").splitlines()) <= 30


def test_every_example_is_run() -> None:
    there = {path.name for path in EXAMPLES.glob("*.py")}
    assert there == EXPECTED.keys() | {"chat_loop.py", "scripted_model.py"}
