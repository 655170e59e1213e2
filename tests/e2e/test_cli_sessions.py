"""Can a conversation be looked at, kept for and ended from a terminal?"""

from __future__ import annotations

import json
from pathlib import Path

from e2e.program import Cli


def said(cli: Cli, user: str, session: str, *contents: str) -> None:
    rows = [{"session": session, "role": "user", "content": text} for text in contents]
    path = Path(cli.home) / f"{user}.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    cli.json("ingest", path, user=user)


def test_a_session_from_its_turns_to_its_end(cli: Cli) -> None:
    said(cli, "sam", "s1", *(f"The wooden boat needs {n} planks" for n in range(1, 31)))
    shown = cli.json("session", "show", "s1", user="sam")
    assert (shown["turns"], shown["closed_at"], shown["keeps"]) == (30, None, [])
    assert cli.json("session", "show", "--session", "s1", user="sam") == shown
    read = cli.json("session", "messages", "s1", "--after", "28", user="sam")["messages"]
    assert [(one["seq"], one["content"]) for one in read] == [
        (29, "The wooden boat needs 29 planks"),
        (30, "The wooden boat needs 30 planks"),
    ]
    assert "client_id" not in read[0]
    window = cli.json("session", "window", "s1", "--last", "2", user="sam")
    assert [one["seq"] for one in window["messages"]] == [29, 30]
    small = cli.json("session", "window", "s1", "--budget", "200", user="sam")
    assert small["tokens"] <= 200
    assert small["summary"]["by"] == "extract"
    told = cli("session", "window", "s1", "--budget", "200", user="sam").out
    assert told.startswith("Summary of turns ")
    ended = cli.json("session", "close", "s1", user="sam")
    assert (ended["session_id"], ended["problem"]) == ("s1", None)
    assert cli.json("session", "close", "s1", user="sam")["closed_at"] == ended["closed_at"]
    assert cli.json("session", "show", "s1", user="sam")["closed_at"] == ended["closed_at"]


def test_a_value_is_kept_as_json_or_as_text(cli: Cli) -> None:
    for typed, value in (
        ('{"to": "李"}', {"to": "李"}),
        ("12.5", 12.5),
        ("maple room", "maple room"),
    ):
        entry = cli.json("session", "set", "draft", typed, "--session", "s1", user="sue")
        assert entry["value"] == value
        got = cli.json("session", "get", "draft", "--session", "s1", user="sue")
        assert got == entry
    assert cli("session", "get", "draft", "--session", "s1", user="sue").out == '"maple room"\n'
    assert cli.json("session", "show", "s1", user="sue")["keeps"] == ["draft"]


def test_what_begins_like_json_and_is_none_is_kept_as_text_only_on_request(cli: Cli) -> None:
    named = ("--session", "s1")
    for typed in ('{"a":', "[draft] call Li", '"Yes," she said', "  {'a': 1}"):
        refused = cli.json("session", "set", "draft", typed, *named, user="sky", code=2)
        assert refused["reason"] == "value_not_json"
        assert "--text" in refused["message"]
        entry = cli.json("session", "set", "draft", typed, "--text", *named, user="sky")
        assert entry["value"] == typed
    for typed in ("maple {room}", "12 [sic]", "it's so"):
        assert cli.json("session", "set", "draft", typed, *named, user="sky")["value"] == typed
    assert cli.json("session", "set", "draft", "12", "--text", *named, user="sky")["value"] == "12"


def test_what_cannot_be_meant_is_told(cli: Cli) -> None:
    said(cli, "sol", "s1", "hello there")
    for args, code, reason in (
        (("session", "show"), 2, "session_required"),
        (("session", "show", "s9"), 1, "session_not_found"),
        (("session", "close", "s9"), 1, "session_not_found"),
        (("session", "messages", "s1", "--limit", "0"), 2, "limit_out_of_range"),
        (("session", "window", "s1", "--last", "-1"), 2, "last_out_of_range"),
        (("session", "window", "s1", "--budget", "3"), 2, "budget_tokens_out_of_range"),
        (("session", "get", "nothing", "--session", "s1"), 1, "value_not_found"),
        (("session", "set", "a", "1", "--ttl", "0", "--session", "s1"), 2, "ttl_out_of_range"),
        (("session", "set", "", "1", "--session", "s1"), 2, "invalid_name"),
    ):
        assert cli.json(*args, user="sol", code=code)["reason"] == reason, args
    assert (
        cli.json("session", "show", "s1", user="stranger", code=1)["reason"] == "session_not_found"
    )


def test_the_sessions_of_a_user_are_listed_a_page_at_a_time(cli: Cli) -> None:
    for session, words in (("s1", 1), ("s2", 2), ("s3", 3)):
        said(cli, "sia", session, *(f"The boat needs {n} planks" for n in range(words)))
    cli.json("session", "close", "s2", user="sia")
    page = cli.json("session", "list", "--limit", "2", user="sia")
    assert [(one["session_id"], one["turns"]) for one in page["sessions"]] == [("s3", 3), ("s2", 2)]
    assert page["total"] == 3
    assert page["sessions"][1] == {
        name: value
        for name, value in cli.json("session", "show", "s2", user="sia").items()
        if name not in ("summary", "keeps")
    }
    rest = cli.json("session", "list", "--cursor", page["cursor"], user="sia")
    assert ([one["session_id"] for one in rest["sessions"]], rest["cursor"]) == (["s1"], None)
    shown = cli("session", "list", user="sia")
    assert [line.split()[0] for line in shown.out.splitlines()] == ["s3", "s2", "s1"]
    assert shown.out.count("  closed ") == 1
    assert shown.out.splitlines()[2].endswith("1 turn")
    assert "3 of 3" in shown.err
    assert cli.json("session", "list", user="stranger")["total"] == 0
    for args, reason in (
        (("--limit", "0"), "limit_out_of_range"),
        (("--cursor", "nonsense"), "invalid_cursor"),
    ):
        assert cli.json("session", "list", *args, user="sia", code=2)["reason"] == reason


def test_a_session_that_nobody_began_is_told_to_who_lists_it_and_not_to_who_searches(
    cli: Cli,
) -> None:
    said(cli, "sol", "s1", "hello there")
    cli.json("add", "The shed is painted red", user="sol")
    for args in (
        ("list", "--session", "nosuch"),
        ("list", "--session", "nosuch", "--scope", "session"),
        ("session", "get", "draft", "--session", "nosuch"),
        ("session", "messages", "nosuch"),
        ("session", "close", "--session", "nosuch"),
    ):
        assert cli.json(*args, user="sol", code=1)["reason"] == "session_not_found", args
    assert cli.json("list", "--session", "s1", user="sol")["total"] == 1
    assert cli.json("list", "--session", "nosuch", "--scope", "user", user="sol")["total"] == 1
    found = cli.json("search", "shed", "--session", "nosuch", user="sol")["hits"]
    assert [hit["content"] for hit in found] == ["The shed is painted red"]
    added = ("add", "The draft is blue", "--scope", "session", "--session", "fresh")
    assert cli.json(*added, user="sol")["verdict"] == "stored"
    assert cli.json("list", "--session", "fresh", "--scope", "session", user="sol")["total"] == 1
