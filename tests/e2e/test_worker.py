"""Does `mnemic worker` work until it is told to stop, show its counts, and say what a run did?"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
import urllib.request
from contextlib import suppress

from e2e.program import MNEMIC, Cli, run

PATIENCE = 60.0


def test_a_worker_works_shows_its_counts_and_ends_at_sigterm(cli: Cli) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [MNEMIC, "worker", "--metrics-port", str(port)],
        env=cli.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert 'mnemic_jobs_total{job="hibernate",outcome="done"} 1.0' in counts(port, process)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, said
        assert "At work: expired," in said
    finally:
        process.kill()
        process.communicate()


def test_one_run_is_told_as_json(cli: Cli) -> None:
    ran = run(["worker", "--once", "--job", "hibernate", "--json"], cli.env, cli.home)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    (job,) = told["jobs"]
    assert (job["job"], job["outcome"], told["dry_run"]) == ("hibernate", "done", False)
    assert job["counts"]["failed"] == {}


def test_options_that_do_not_go_together_are_wrong_usage(cli: Cli) -> None:
    for options in (["--dry-run"], ["--job", "expired"], ["--once", "--metrics-port", "9"]):
        ran = run(["worker", *options, "--json"], cli.env, cli.home)
        assert ran.returncode == 2, options
        assert json.loads(ran.stdout)["reason"] == "wrong_usage"


def counts(port: int, process: subprocess.Popen[str]) -> str:
    """Wait until the last job of a night was counted, and return all counts."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, process.stderr and process.stderr.read()
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as found:
            text = bytes(found.read()).decode()
            if 'job="key_epochs"' in text:
                return text
        time.sleep(0.05)
    raise AssertionError("the worker counts nothing")
