"""Does an agent go on after its process was killed, and do four processes start at once?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from episode_world import KIM, opened

from conftest import Server
from mnemic.settings import Settings
from mnemic.tasks.store import Tasks

Run = Callable[[str], subprocess.Popen[str]]
START = """
import asyncio, json, sys
from mnemic.deployment import Deployment
from mnemic.settings import Settings

async def main():
    told = json.load(open(sys.argv[1]))
    deployment = await Deployment.start(Settings.read(**told["settings"]))
    await deployment.close()
    print("ready")

asyncio.run(main())
"""


@pytest.fixture
def run(server: Server, schema: str, tmp_path: Path, stub_path: str) -> Run:
    """Start the agent in a process of its own."""
    told = {
        "settings": {
            "database_url": server.service,
            "migration_url": server.owner,
            "key_file": str(server.key_file),
            "db_schema": schema,
        },
        "log": str(tmp_path / "done.log"),
    }
    file = tmp_path / "agent.json"
    file.write_text(json.dumps(told))
    here = Path(__file__).parent
    program = str(here / "episode_agent.py")
    path = os.pathsep.join((stub_path, str(here)))

    def start(mode: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *(["-c", START] if mode == "start" else [program]), str(file), mode],
            env=os.environ | {"PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def killed_when_stalled(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if line != "stalled":
        raise AssertionError(process.communicate()[1])
    process.send_signal(signal.SIGKILL)
    process.communicate()


def ended(process: subprocess.Popen[str]) -> None:
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out.strip()) == (0, "ended"), err


async def test_killed_before_during_and_after_a_question_it_goes_on_and_does_nothing_twice(
    run: Run, settings: Settings, tmp_path: Path
) -> None:
    async with opened(settings) as (episodes, deployment):
        killed_when_stalled(run("before"))
        episode = await episodes.resume(KIM)
        assert (episode.status, episode.next, episode.state["mood"]) == (
            "running",
            ("ask",),
            "glad",
        )
        killed_when_stalled(run("during"))
        assert (await episodes.resume(KIM)).status == "waiting"
        killed_when_stalled(run("decided"))
        assert (await episodes.resume(KIM)).status == "ready"
        assert await episodes.pending_approvals(KIM) == ()
        killed_when_stalled(run("after"))
        assert (await episodes.resume(KIM)).status == "ready"
        killed_when_stalled(run("late"))
        assert (await episodes.resume(KIM)).next == ("last",)
        ended(run("none"))
        episode = await episodes.resume(KIM)
        assert (episode.status, episode.state["notes"]) == ("done", ["yes, go on"])
        assert episode.state["mood"] == "charged"
        # what was saved is not done again; the node that was killed is, from its top, but for what it said is
        # done once
        done = (tmp_path / "done.log").read_text().split()
        assert done == ["first", "charge", "last", "last"]
        tasks = Tasks(deployment.database, deployment.keys)
        (made,) = (await tasks.list(KIM)).tasks
        assert (made.current_step, made.version) == ("validation", 2)


async def test_pf_121_four_processes_that_start_at_once_make_the_tables_once(
    run: Run, settings: Settings
) -> None:
    began = time.monotonic()
    starters = [run("start") for _ in range(4)]
    for process in starters:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out.strip()) == (0, "ready"), err
    assert time.monotonic() - began < 60
    async with opened(settings) as (episodes, _):
        await episodes.checkpointer().setup()
