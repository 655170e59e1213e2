"""Is every failure one sentence with a code: full disks, damaged files, settings that cannot be meant?"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from e2e.program import MNEMIC, Cli

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@needs_full
@pytest.mark.parametrize("command", [("list",), ("list", "--json"), ("--help",), ("--version",)])
def test_a_full_disk_under_the_output_is_one_sentence(
    cli: Cli, ids: dict[str, str], command: tuple[str, ...]
) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [MNEMIC, *command],
            env=cli.env | {"MNEMIC_USER": "kim"},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "The output cannot be written: No space left on device. [output_unwritable]"
    ]


@needs_full
def test_remarks_that_cannot_be_written_end_without_a_traceback(cli: Cli) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [MNEMIC, "search", " "],
            env=cli.env,
            stdout=subprocess.PIPE,
            stderr=full,
            check=False,
        )
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize("option", ["--user", "--project", "--session"])
def test_an_empty_name_is_refused_and_means_nobody_else(cli: Cli, option: str) -> None:
    assert cli.json("list", option, "", code=2)["reason"] == "invalid_id"


def test_an_empty_variable_is_one_that_is_not_set(cli: Cli) -> None:
    assert cli.json("list", user="")["items"] == []


def test_eval_names_the_line_of_a_bad_row(cli: Cli) -> None:
    path = cli.home / "bad-rows.jsonl"
    path.write_text('{"text": "I like tea", "label": "clean"}\nnull\n', encoding="utf-8")
    told = cli.json("eval", path, code=2)
    assert (told["reason"], told["line"]) == ("invalid_row", 2)
    path.write_bytes(os.urandom(200) + b"\xff")
    assert cli.json("eval", path, code=2)["reason"] == "line_not_json"
    path.write_bytes(b"\x1f\x8b" + b"\0" * 40)
    assert cli.json("eval", path, code=2)["reason"] == "file_unreadable"
    assert cli.json("eval", "/dev/null", code=2)["reason"] == "unknown_eval_kind"


@pytest.mark.parametrize(
    ("floors", "reason"),
    [
        (b"[]", "floors_invalid"),
        (b"\x00\xff", "floors_invalid"),
        (b'{"bad-floors": {"by/all/accuracy": 0.5}}', "floors_invalid"),
        (b'{"bad-floors": {"by/all/no_such_figure": ["least", 0.5]}}', "floors_invalid"),
        (None, "file_not_found"),
    ],
)
def test_floors_that_cannot_be_meant_are_refused(
    cli: Cli, floors: bytes | None, reason: str
) -> None:
    folder = cli.home / "bad-floors"
    folder.mkdir(exist_ok=True)
    rows, wanted = folder / "rows.jsonl", folder / "floors.json"
    rows.write_text(json.dumps({"text": "I like tea", "label": "clean"}), encoding="utf-8")
    wanted.unlink(missing_ok=True)
    if floors is not None:
        wanted.write_bytes(floors)
    assert cli.json("eval", rows, "--floors", wanted, code=2)["reason"] == reason
    assert cli.json("eval", rows, "--plot", folder, code=2)["reason"] == "file_unwritable"


def test_a_plot_that_would_show_nothing_is_refused_before_the_work(cli: Cli) -> None:
    folder = cli.home / "no-plot"
    folder.mkdir()
    rows, plot = folder / "rows.jsonl", folder / "recall.svg"
    rows.write_text(json.dumps({"text": "I like tea", "label": "clean"}), encoding="utf-8")
    assert cli.json("eval", rows, "--plot", plot, code=2)["reason"] == "nothing_to_plot"
    injecting = cli.json("eval", rows, "--injection", "--plot", plot, code=2)
    assert injecting["reason"] == "wrong_usage"
    assert not plot.exists()


def test_settings_that_cannot_be_meant_stop_the_start_by_name(cli: Cli) -> None:
    hosts = cli.json("list", code=1, MNEMIC_ALLOWED_HOSTS="http://x/ y")
    assert hosts["reason"] == "allowed_hosts_invalid"
    assert "MNEMIC_ALLOWED_HOSTS" in hosts["message"]
    schema = cli.json("list", code=1, MNEMIC_SCHEMA="pg_catalog")
    assert (schema["reason"], schema["variable"]) == ("bad_setting", "MNEMIC_SCHEMA")
    place = cli.json("list", code=1, MNEMIC_DATA_DIR="/proc/mnemic-of-nobody")
    assert place["reason"] == "data_dir_read_only"
    assert "No directory can be made" in place["message"]


def test_texts_without_a_word_are_blank(cli: Cli) -> None:
    for text in ("\u200b\u200b\u200b\u200b\u200b\u200b", "!!!!! ?????"):
        assert cli.json("add", text, user="blank", code=1)["reason"] == "text_blank"
