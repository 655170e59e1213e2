"""A process is killed inside a change, between its event and its row: the two still agree."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from conftest import Server
from mnemic.deployment import Deployment
from mnemic.ids import new_id
from mnemic.model import Actor
from mnemic.settings import Settings
from mnemic.tasks.store import Tasks

KIM = Actor("kim")
CHILD = """
import asyncio, os, signal, sys
from mnemic.deployment import Deployment
from mnemic.model import Actor
from mnemic.settings import Settings
from mnemic.storage.pool import Transaction
from mnemic.tasks.store import Tasks

left = int(sys.argv[1])

def counting(method):
    async def run(self, *given):
        global left
        answer = await method(self, *given)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer
    return run

async def work():
    deployment = await Deployment.start(Settings.read())
    tasks = Tasks(deployment.database, deployment.keys)
    for name in ("one", "run", "answer"):
        setattr(Transaction, name, counting(getattr(Transaction, name)))
    await tasks.advance(Actor("kim"), sys.argv[2], data={"rows": 7}, event_id=sys.argv[3])
    print("done", flush=True)
    await deployment.close()

asyncio.run(work())
"""
STATEMENTS = 7
"""Of one change: the key, the time, the row; then its new row, two events, and the answer."""


def child(settings: Settings, statement: int, task_id: object, event_id: object) -> int:
    """Run a change in a process of its own that dies after a statement; return how it ended."""
    assert settings.database_url is not None
    assert settings.migration_url is not None
    env = os.environ | {
        "MNEMIC_DATABASE_URL": settings.database_url.get_secret_value(),
        "MNEMIC_MIGRATION_URL": settings.migration_url.get_secret_value(),
        "MNEMIC_KEY_FILE": str(settings.key_file),
        "MNEMIC_SCHEMA": settings.db_schema,
    }
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(statement), str(task_id), str(event_id)],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    assert ("done" in done.stdout) == (done.returncode == 0)
    return done.returncode


@pytest.mark.parametrize("statement", range(1, STATEMENTS + 1))
async def test_killed_after_any_statement_row_and_events_agree(
    statement: int, deployment: Deployment, settings: Settings, server: Server
) -> None:
    tasks = Tasks(deployment.database, deployment.keys)
    made = await tasks.create(KIM, "data_approval", {"source": "a.csv"})
    event = new_id()
    ended = await asyncio.to_thread(child, settings, statement, made.task_id, event)
    assert ended == -signal.SIGKILL
    task = await tasks.get(KIM, made.task_id)
    assert await tasks.replay(KIM, made.task_id) == task == made
    assert len(await tasks.history(KIM, made.task_id)) == 1
    # whoever starts again sends the same change, and it happens once
    again = await tasks.advance(KIM, made.task_id, data={"rows": 7}, event_id=event)
    assert (again.version, again.current_step) == (2, "validation")
    assert await tasks.replay(KIM, made.task_id) == again


async def test_the_killed_process_would_have_made_the_change(
    deployment: Deployment, settings: Settings, server: Server
) -> None:
    tasks = Tasks(deployment.database, deployment.keys)
    made = await tasks.create(KIM, "data_approval")
    event = new_id()
    statement = STATEMENTS + 1
    assert await asyncio.to_thread(child, settings, statement, made.task_id, event) == 0
    task = await tasks.get(KIM, made.task_id)
    assert (task.version, task.state_data) == (2, {"rows": 7})
    assert await tasks.advance(KIM, made.task_id, data={"rows": 7}, event_id=event) == task
