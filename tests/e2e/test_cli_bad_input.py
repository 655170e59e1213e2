"""What does the program say to a query or a file that is no good?"""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.program import ASCII, UTF8, ZH, Cli

CUT = "Only the first 2,000 characters of the query were read."


@pytest.mark.parametrize("command", ["search", "context"])
def test_a_query_of_ten_thousand_characters_is_cut_and_that_is_said(
    cli: Cli, ids: dict[str, str], command: str
) -> None:
    long = "花生过敏" * 2_500
    ran = cli(command, long, "--json")
    assert (ran.code, ran.json["query_cut"]) == (0, True)
    assert CUT in ran.err
    assert ZH in ran.out
    shown = cli(command, long)
    assert ZH in shown.out
    assert CUT in shown.err
    assert CUT not in shown.out


@pytest.mark.parametrize("command", ["search", "context"])
def test_a_query_that_is_read_whole_is_not_called_cut(
    cli: Cli, ids: dict[str, str], command: str
) -> None:
    ran = cli(command, "花" * 2_000, "--json")
    assert ran.json["query_cut"] is False
    assert "characters" not in ran.err


@pytest.mark.parametrize("query", ["😀🎉", "?!…", "。。。"])
def test_emoji_and_punctuation_find_nothing_and_are_no_error(
    cli: Cli, ids: dict[str, str], query: str
) -> None:
    for include in ("memory", "resource", "both"):
        ran = cli("search", query, "--include", include, "--json")
        assert (ran.code, ran.json["hits"]) == (0, [])
    assert "<memories>" not in cli("context", query, "--json").json["context"]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("picture.md", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40, "document_not_text"),
        ("paper.txt", b"%PDF-1.4\nplain enough to be text\n%%EOF\n", "document_not_text"),
        ("empty.md", b"", "document_empty"),
        ("blank.txt", b"\n \n", "document_empty"),
    ],
)
def test_a_file_that_is_no_document_is_refused_by_name(
    cli: Cli, tmp_path: Path, name: str, data: bytes, reason: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    ran = cli("resource", "add", str(path), "--json", user="files")
    assert (ran.code, ran.json["reason"]) == (2, reason)
    assert cli.json("resource", "list", user="files")["resources"] == []


def test_a_directory_is_refused_as_one(cli: Cli, tmp_path: Path) -> None:
    ran = cli("resource", "add", str(tmp_path), user="files")
    assert ran.code == 2
    assert ran.err == f"{tmp_path} cannot be read: Is a directory. [file_unreadable]\n"


@pytest.mark.parametrize(
    "command",
    [
        ("add", b"I like \xff tea a lot"),
        ("search", b"\xfe\xff"),
        ("profile", "edit", "username", b"\xff\xfe"),
        ("profile", "edit", "preferences", "tea", b"coffee \xe4"),
        ("audit", "show", "--target", b"\xff"),
        ("session", "set", b"\xff", "1", "--session", "s1"),
    ],
    ids=lambda command: command[0],
)
def test_bytes_that_are_no_text_are_refused_and_nothing_is_kept(
    cli: Cli, command: tuple[str | bytes, ...]
) -> None:
    for env in (UTF8, ASCII):
        told = cli.json(*command, user="unread", code=2, **env)
        assert told["reason"] == "argument_not_text"
    ran = cli(*command, user="unread")
    assert ran.code == 2
    assert ran.err == (
        "An argument is not text in UTF-8: write it in that encoding. [argument_not_text]\n"
    )
    assert cli.json("profile", "show", user="unread")["version"] == 1
    assert cli.json("list", user="unread")["total"] == 0


@pytest.mark.parametrize("option", ["--user", "--project", "--session"])
def test_an_id_that_is_no_text_is_refused_as_any_other_id(cli: Cli, option: str) -> None:
    for env in (UTF8, ASCII):
        assert cli.json("list", option, b"\xff", code=2, **env)["reason"] == "invalid_id"


def test_a_name_of_two_lines_and_an_unknown_language_are_refused(cli: Cli) -> None:
    for field, value, reason in (
        ("username", "Kim\nLee", "profile_value_not_one_line"),
        ("language_preference", "klingon", "unknown_language"),
    ):
        assert cli.json("profile", "edit", field, value, user="lines", code=2)["reason"] == reason
    edited = cli.json("profile", "edit", "language_preference", "zh_cn", user="lines")
    assert edited["values"]["language_preference"] == "zh-CN"


def test_a_field_takes_one_line_of_the_answer(cli: Cli) -> None:
    cli.json("profile", "edit", "content", "Be brief.\n\nName sources.", user="shown")
    cli.json("profile", "edit", "preferences", user="shown")
    lines = cli("profile", "show", user="shown").out.splitlines()
    assert lines == [
        "content                Be brief. ⏎ Name sources.  [you]",
        "preferences            -  [you]",
        "version                3",
    ]
