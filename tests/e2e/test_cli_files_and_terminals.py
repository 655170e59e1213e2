"""Does the program work on any terminal, with good and bad files, and on data that it must not touch?

A NUL cannot stand in an argument (it ends there): it comes by file.
"""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import subprocess
from pathlib import Path
from typing import Any

from e2e.program import ASCII, MNEMIC, UTF8, ZH, Cli
from mnemic.session.messages import MAX_CHARS as LOG_MAX_CHARS
from mnemic.session.transcript import MAX_CHARS

# ---- terminals


def test_pf_033_chinese_data_on_an_ascii_terminal(cli: Cli, ids: dict[str, str]) -> None:
    """On a UTF-8 terminal the other tests run; here every character that cannot be shown is replaced."""
    for args in (
        ("list",),
        ("show", ids["zh"]),
        ("context", "我对什么过敏？"),
        ("verify", "list"),
    ):
        ran = cli(*args, **ASCII)
        assert ran.code == 0, (args, ran.err)
        assert ran.out.isascii()
        assert ("??????" in ran.out) == (args[0] != "verify"), args
    hits = cli.json("search", "花生", **ASCII)["hits"]
    assert hits[0]["content"] == ZH  # JSON escapes what the terminal cannot show


def test_pf_033_every_command_that_shows_something_works_on_either_terminal(cli: Cli) -> None:
    turns = cli.home / "zh.jsonl"
    row = {"role": "user", "session": "谈话", "content": "请记住，我对花生过敏🥜"}
    turns.write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
    note = cli.home / "笔记.txt"
    note.write_text("备份每晚三点开始。", encoding="utf-8")
    user = "小明"
    for given in (
        f"ingest {turns}", f"resource add {note}", "profile edit username 小明🌱",
        "project create 登月 --name 登月计划", "session set 草稿 三月 --session 谈话",
        'task create data_approval --data {"文件":"订单"}', "add 小明可能要搬去宁波 --confidence 0.75",
    ):  # fmt: skip
        assert cli(*given.split(), user=user).code == 0, given
    documents = cli.json("resource", "list", user=user)["resources"]
    (shown,) = (one["id"] for one in documents if one["kind"] == "document")
    for given in (
        "profile show", "project show 登月", "session messages 谈话", f"resource show {shown}",
        "audit show --mine",
    ):  # fmt: skip
        ran = [cli(*given.split(), user=user, **env) for env in (UTF8, ASCII)]
        assert [one.code for one in ran] == [0, 0], (given, [one.err for one in ran])
        assert (ran[1].out + ran[1].err).isascii(), given
        lines = [len(one.out.splitlines()) for one in ran]
        assert lines[0] == lines[1] > 0, (given, ran)


def test_pf_033_chinese_typed_under_a_c_locale_is_stored_whole(cli: Cli) -> None:
    assert cli.json("add", "我的自行车是绿色的🚲", user="c-locale", **ASCII)["removed"] == []
    (item,) = cli.json("list", user="c-locale")["items"]
    assert item["content"] == "我的自行车是绿色的🚲"


def test_a_reader_who_leaves_ends_nothing_but_the_printing(cli: Cli, ids: dict[str, str]) -> None:
    turns = cli.home / "pipe.jsonl"
    said = [f"Please remember that shelf {n} holds {n * 7 + 3} books" for n in range(1, 9)]
    rows = [{"role": "user", "session": f"p{n}", "content": text} for n, text in enumerate(said)]
    turns.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    for command in ("list --status all", "show " + ids["zh"], "list --json", f"ingest {turns}"):
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {MNEMIC} {command} | head -c 1 >/dev/null"],
            env=cli.env | {"MNEMIC_USER": "kim" if "ingest" not in command else "pipe"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
        assert "Error" not in done.stderr
    assert cli.json("list", user="pipe")["total"] == len(said)


def test_a_terminal_gets_wrapped_lines_and_no_markup_from_content(
    cli: Cli, made: dict[str, str]
) -> None:
    shown = re.sub(r"\x1b\[[0-9;]*m", "", _on_terminal(cli, "list", user="wide"))
    assert "[bold red]stop[/]" in shown
    lines = [line.rstrip() for line in shown.splitlines()]
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("    ") for line in lines) >= 3


def _on_terminal(cli: Cli, *args: str, user: str) -> str:
    master, slave = pty.openpty()
    env = cli.env | {"MNEMIC_USER": user, "COLUMNS": "80", "TERM": "xterm"}
    with subprocess.Popen(
        [MNEMIC, *args], env=env, stdout=slave, stderr=slave, stdin=slave
    ) as running:
        os.close(slave)
        pieces = []
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # the terminal is gone with its last user
                break
            if not piece:
                break
            pieces.append(piece)
        assert running.wait(60) == 0
    os.close(master)
    return b"".join(pieces).decode("utf-8")


# ---- ingest


def test_ingest_reports_bad_lines_and_goes_on(cli: Cli) -> None:
    lines: list[Any] = [
        {
            "role": "user",
            "session": "a",
            "time": "2026-03-02T09:14:00+08:00",
            "content": "I live in Leipzig.",
        },
        "not json",
        {"role": "owner", "content": "hello"},
        {"role": "user", "content": "hello", "time": "2026-03-02T09:14:00"},
        [1],
        {
            "id": "b",
            "turns": [
                {"role": "user", "content": "请记住，我在霁桥科技上班。"},
                {"role": "user"},
                7,
            ],
        },
        {
            "conv_id": "lee",
            "corpus": [{"speaker": "Lee", "text": "I play the viola.", "session": 1}],
        },
        {"role": "user", "session": "a", "content": "I moved: I live in Berlin now.\u0000"},
        {"role": "user", "content": "x" * (MAX_CHARS + 1)},
        {"turns": "all"},
    ]
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    path = cli.home / "mixed.jsonl.gz"
    path.write_bytes(gzip.compress(text.encode("utf-8")))
    told = cli.json("ingest", path, user="mix", code=1)
    assert [(p["line"], p["reason"]) for p in told["problems"]] == [
        (2, "line_not_json"),
        (3, "unknown_role"),
        (4, "naive_datetime"),
        (5, "line_not_an_object"),
        (6, "content_not_text"),
        (6, "line_not_an_object"),
        (9, "message_too_long"),
        (10, "line_not_a_turn"),
    ]
    assert (told["turns"], told["sessions"], told["late"]) == (4, 3, [])
    assert told["outcomes"] == {"stored": 3} or sum(told["outcomes"].values()) >= 3
    by_user = {v["user"] for v in told["verdicts"]}
    assert by_user == {"mix", "lee"}
    where = {item["content"] for item in cli.json("list", "--type", "fact", user="mix")["items"]}
    assert any("Berlin" in content for content in where)
    assert not any("Leipzig" in content for content in where)


def test_a_turn_may_be_as_long_as_the_log_takes() -> None:
    assert MAX_CHARS == LOG_MAX_CHARS


def test_one_long_session_gets_all_its_turns_read(cli: Cli) -> None:
    """More turns than three batches: they must not use up the passes of their session."""
    rows = [{"role": "user", "session": "long", "content": "ok"} for _ in range(900)]
    rows.append({"role": "user", "session": "long", "content": "My name is Robin."})
    path = cli.home / "long.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    ran = cli("ingest", path, user="long")
    assert ran.code == 0
    assert "My name is Robin" in ran.out
    assert ran.out.splitlines()[-1].startswith("901 turns in 1 session: 1 stored.")


def test_a_damaged_gzip_file_is_named(cli: Cli) -> None:
    path = cli.home / "cut.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"role": "user", "content": "hello"}\n' * 50)[:-20])
    assert cli.json("ingest", path, code=2)["reason"] == "file_unreadable"


# ---- eval, db, demo


def test_eval_scores_a_file_and_holds_floors(cli: Cli) -> None:
    folder = cli.home / "tiny"
    folder.mkdir()
    rows = [
        {"first": "I have 2 cats", "second": "I have 3 cats", "label": "newer", "lang": "en"},
        {"first": "我喜欢茶", "second": "我喜欢茶。", "label": "same", "lang": "zh"},
        {
            "first": "I have a cat",
            "second": "The bridge is closed",
            "label": "different",
            "lang": "en",
        },
    ]
    pairs = folder / "pairs.jsonl"
    pairs.write_text("\n".join(json.dumps(r, ensure_ascii=False) for r in rows), encoding="utf-8")
    report = cli.json("eval", pairs)
    assert (report["set"], report["kind"]) == ("tiny", "judge")
    assert report["by"]["all"]["accuracy"] == 1.0
    floors = folder / "floors.json"
    floors.write_text('{"tiny": {"by/all/accuracy": ["least", 1.01]}}', encoding="utf-8")
    held = cli("eval", pairs, "--floors", floors)
    assert held.code == 1
    assert "by/all/accuracy is 1.000, least is 1.01" in held.out


def test_db_commands(cli: Cli, ids: dict[str, str]) -> None:
    assert "CREATE ROLE mnemic_service" in cli("db", "init", "--script").out
    ready = cli.json("db", "migrate")
    assert (ready["ready"], ready["key_file"]) == (True, cli.env["MNEMIC_KEY_FILE"])
    status = cli.json("db", "status")
    assert status["pending"] == []
    assert status["embedded"] is True
    assert "pgvector" in status["server"]
    told = cli("db", "status").out
    assert cli.env["MNEMIC_KEY_FILE"] in told
    assert f"data      {cli.env['MNEMIC_DATA_DIR']}" in told
    (model,) = cli.json("db", "model", "list")["models"]
    assert model["dims"] == 512


def test_a_data_directory_of_another_version_is_left_alone(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir(mode=0o700)
    (tmp_path / "postgres" / "PG_VERSION").write_text("17\n", encoding="ascii")
    told = cli.json("list", "--data-dir", tmp_path, code=1)
    assert (told["reason"], told["found"], told["needed"]) == ("data_dir_version", "17", "18")
    assert sorted(p.name for p in (tmp_path / "postgres").iterdir()) == ["PG_VERSION"]


def test_a_missing_or_wrong_key_stops_the_start(
    cli: Cli, ids: dict[str, str], tmp_path: Path
) -> None:
    lost = cli.json("list", code=1, MNEMIC_KEY_FILE=str(tmp_path / "lost.key"))
    assert lost["reason"] == "key_file_missing"
    assert not (tmp_path / "lost.key").exists()
    assert cli.json("list", code=1, MNEMIC_POOL_SIZE="many")["reason"] == "bad_setting"


def test_demo_shows_turns_verdicts_and_answers(cli: Cli) -> None:
    env = {"MNEMIC_SCHEMA": "demo", "MNEMIC_KEY_FILE": str(cli.home / "keys" / "demo.key")}
    ran = cli("demo", user="demo", **env)
    lines = ran.out.splitlines()
    assert any(re.match(r"turn \d+ +superseded +\w+ +.+ -> .+", line) for line in lines)
    assert any(re.match(r"turn \d+ +rejected +\w+ +\(Not stored: ", line) for line in lines)
    assert lines[-1].startswith("130 turns, ")
    assert ran.code == 0, [line for line in lines if "NOT as expected" in line]
