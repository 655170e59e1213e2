"""Does the suite pass where the service reaches its database through a transaction pooler?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from services.conftest import require
from services.poolers import PROGRAM

TESTS = Path(__file__).parents[1]
FILES = (
    "items",
    "search",
    "batches",
    "message_log",
    "session_state",
    "tasks",
    "task_claims",
    "episodes",
    "episode_cases",
    "episode_conformance",
    "store",
    "store_memories",
    "consent",
    "erase",
    "profiles",
    "keys",
    "mcp_tools",
)


def test_pf_119_the_suite_passes_through_pgbouncer_in_transaction_mode() -> None:
    require(PROGRAM.exists(), "PgBouncer")
    files = [str(TESTS / "integration" / f"test_{name}.py") for name in FILES]
    mine = ("PYTEST_", "MNEMIC_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(mine)}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "services.pooled",
            "-n",
            "2",
            "--dist",
            "loadfile",
            *files,
        ],
        env=env | {"PYTHONPATH": str(TESTS)},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5_000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= 200
