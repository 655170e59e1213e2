"""Can work that takes days be followed from a terminal?"""

from __future__ import annotations

import json
from pathlib import Path

from e2e.program import NOBODY, Cli
from mnemic.ids import new_id

TASK = {
    "task_id",
    "task_type",
    "current_step",
    "status",
    "state_data",
    "version",
    "created_at",
    "updated_at",
    "failure",
}


def test_a_task_from_beginning_to_end(cli: Cli) -> None:
    data = json.dumps({"source": "a.csv", "备注": "三月"}, ensure_ascii=False)
    made = cli.json("task", "create", "data_approval", "--data", data, user="tess")
    assert made.keys() == TASK
    assert (made["current_step"], made["status"], made["version"]) == ("data_fetch", "running", 1)
    task_id = made["task_id"]
    moved = cli.json(
        "task", "advance", task_id, "--data", '{"rows": 12}', "--drop", "source", user="tess"
    )
    assert moved["state_data"] == {"备注": "三月", "rows": 12}
    failed = cli.json("task", "fail", task_id, "第三列缺失", "--step", "validation", user="tess")
    assert (failed["status"], failed["failure"]) == ("failed", "第三列缺失")
    refused = cli.json("task", "advance", task_id, user="tess", code=1)
    assert (refused["reason"], refused["step"]) == ("task_failed", "validation")
    cli.json("task", "advance", task_id, "--to", "validation", user="tess")
    cli.json("task", "advance", task_id, "--to", "approval", user="tess")
    done = cli.json("task", "complete", task_id, "--version", "5", user="tess")
    assert (done["status"], done["version"]) == ("completed", 6)
    assert cli.json("task", "show", task_id, user="tess") == done
    assert cli.json("task", "replay", task_id, user="tess") == {"task": done, "matches": True}
    assert cli.json("task", "replay", task_id, "--version", "1", user="tess")["task"] == made
    listed = cli.json("task", "list", "--status", "completed", user="tess")
    assert listed == {"tasks": [done], "total": 1, "cursor": None}
    events = cli.json("task", "history", task_id, user="tess")["events"]
    assert [one["event_type"] for one in events].count("step_fail") == 1
    told = cli("task", "history", task_id, user="tess").out
    assert "第三列缺失" in told


def test_a_call_sent_again_does_nothing_more(cli: Cli) -> None:
    event = str(new_id())
    once = [
        cli.json("task", "create", "data_approval", "--event-id", event, user="tim") for _ in "ab"
    ]
    assert once[0] == once[1]
    task_id = once[0]["task_id"]
    event = str(new_id())
    moved = [
        cli.json("task", "advance", task_id, "--event-id", event, "--version", "1", user="tim")
        for _ in "ab"
    ]
    assert moved[0] == moved[1]
    stale = cli.json("task", "advance", task_id, "--version", "1", user="tim", code=1)
    assert (stale["reason"], stale["expected"], stale["current"]) == ("version_conflict", 1, 2)
    assert cli.json("task", "list", user="tim")["total"] == 1


def test_a_worker_takes_what_waits(cli: Cli) -> None:
    made = cli.json("task", "create", "data_approval", user="wim")
    claim = cli.json("task", "claim", "--lease", "60", user="wim")["claim"]
    assert claim["task"] == made
    assert cli.json("task", "claim", user="wim") == {"claim": None}
    task_id, token = made["task_id"], claim["token"]
    held = cli.json("task", "renew", task_id, token, "--lease", "600", user="wim")["claim"]
    assert held["until"] > claim["until"]
    assert cli.json("task", "advance", task_id, "--claim", token, user="wim")["version"] == 2
    assert cli.json("task", "release", task_id, token, user="wim") == {"released": task_id}
    lost = cli.json("task", "release", task_id, token, user="wim", code=1)
    assert lost["reason"] == "claim_lost"


def test_what_cannot_be_meant_is_refused_with_its_reason(cli: Cli) -> None:
    made = cli.json("task", "create", "data_approval", user="theo")["task_id"]
    for args, code, reason in (
        (("create", "novel"), 2, "unknown_task_type"),
        (("create", "data_approval", "--data", "[1]"), 2, "data_not_json"),
        (("show", NOBODY), 1, "task_not_found"),
        (("advance", made, "--to", "completed"), 1, "illegal_move"),
        (("list", "--status", "gone"), 2, "unknown_status"),
        (("claim", "--lease", "0"), 2, "lease_out_of_range"),
        (("replay", made, "--repair", "--version", "1"), 2, "repair_at_version"),
    ):
        assert cli.json("task", *args, user="theo", code=code)["reason"] == reason
    assert cli.json("task", "show", made, user="kim", code=1)["reason"] == "task_not_found"
    assert cli.json("task", "show", made, user="theo")["version"] == 1


def test_workflows_of_a_file_are_known_and_one_that_cannot_be_is_told(cli: Cli) -> None:
    path = Path(cli.home) / "workflows.json"
    told = {"bake": [{"name": "knead", "next": ["rise"]}, {"name": "rise"}]}
    path.write_text(json.dumps(told), encoding="utf-8")
    given = {"MNEMIC_WORKFLOWS": str(path)}
    assert cli.json("task", "create", "bake", code=2)["reason"] == "unknown_task_type"
    task = cli.json("task", "create", "bake", **given)
    assert task["current_step"] == "knead"
    assert cli.json("task", "claim", "--type", "bake", **given)["claim"] is not None
    done = cli.json("task", "complete", task["task_id"], **given)
    assert (done["current_step"], done["status"]) == ("rise", "completed")
    assert cli.json("task", "show", task["task_id"]) == done  # reading needs no workflow
    path.write_text('{"bake": []}', encoding="utf-8")
    for command in (("task", "list"), ("serve", "--port", "0")):
        assert cli.json(*command, code=1, **given)["reason"] == "workflows_invalid", command
