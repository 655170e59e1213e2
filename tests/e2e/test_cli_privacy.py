"""Do consent, erase and audit do on the command line what they promise, for people and for programs?"""

from __future__ import annotations

import psycopg
import pytest

from e2e.program import Cli
from mnemic.storage.embedded import join


def test_consent_is_asked_recorded_and_withdrawn(cli: Cli) -> None:
    asked = cli.json("consent", "show", user="consents")
    assert asked == {"purposes": {"remember": "unasked", "insight": "unasked"}, "records": []}
    required = cli.json("list", user="consents", code=1, MNEMIC_CONSENT="required")
    assert (required["reason"], required["state"]) == ("consent_required", "unasked")
    granted = cli.json("consent", "grant", user="consents")
    assert granted["purposes"] == {"remember": "granted", "insight": "unasked"}
    assert cli.json("list", user="consents", MNEMIC_CONSENT="required")["total"] == 0
    again = cli.json("consent", "grant", user="consents")
    assert again == granted
    refused = cli("consent", "refuse", user="consents")
    assert refused.out.splitlines() == ["remember  refused", "insight   unasked"]
    assert "mnemic erase" in refused.err
    for command in (("list",), ("add", "I like tea"), ("search", "tea"), ("context", "tea")):
        told = cli.json(*command, user="consents", code=1)
        assert (told["reason"], told["state"]) == ("consent_required", "refused")
    records = cli.json("consent", "show", user="consents")["records"]
    assert [(one["purpose"], one["state"], one["via"]) for one in records] == [
        ("remember", "granted", "cli"),
        ("remember", "refused", "cli"),
    ]
    assert all(
        one["recorded_at"].endswith("+00:00") or "+" in one["recorded_at"] for one in records
    )


def test_what_cannot_be_meant_is_wrong_usage(cli: Cli) -> None:
    assert cli.json("consent", "grant", "--purpose", "all", code=2)["reason"] == "unknown_purpose"
    assert cli.json("audit", "show", "--limit", "0", code=2)["reason"] == "limit_out_of_range"
    assert cli.json("audit", "show", "--cursor", "x", code=2)["reason"] == "invalid_cursor"
    assert (
        cli.json("audit", "show", "--mine", "--cursor", "x", code=2)["reason"] == "invalid_cursor"
    )
    assert cli.json("audit", "verify", "--head", "x", code=2)["reason"] == "invalid_head"
    assert cli.json("erase", "--user", "\u200b", code=2)["reason"] == "invalid_id"


def test_an_erasure_counts_asks_and_goes_through(cli: Cli) -> None:
    cli.json("add", "My bicycle is red and old", user="erased")
    cli.json("add", "My bicycle is red and old", user="erase_")
    counted = cli.json("erase", "--dry-run", user="erased")
    assert counted["dry_run"] is True
    assert counted["counts"]["memory_item"] == 1
    told = cli.json("erase", user="erased", code=1)
    assert (told["reason"], told["counts"]) == ("confirmation_required", counted["counts"])
    asked = cli("erase", user="erased")
    assert asked.code == 1
    assert "add --yes to erase" in asked.err
    assert asked.out == cli("erase", "--dry-run", user="erased").out
    assert "--yes" not in cli("erase", "--dry-run", "--yes", user="erased").err
    assert cli.json("list", user="erased")["total"] == 1
    gone = cli.json("erase", "--yes", user="erased")
    assert gone["dry_run"] is False
    assert gone["counts"] == counted["counts"]
    assert gone["total"] == sum(gone["counts"].values())
    assert cli.json("list", user="erased")["total"] == 0
    assert cli("erase", "--yes", user="erased").out == "Nothing is stored of erased.\n"
    assert cli.json("list", user="erase_")["total"] == 1
    assert cli.json("list", user="%")["total"] == 0


def test_the_audit_is_shown_by_pages_and_narrowed(cli: Cli) -> None:
    for word in ("grant", "refuse", "grant"):
        cli.json("consent", word, user="audited")
    first = cli.json("audit", "show", "--user", "audited", "--limit", "2")
    rest = cli.json(
        "audit", "show", "--user", "audited", "--limit", "2", "--cursor", first["cursor"]
    )
    entries = first["entries"] + rest["entries"]
    assert [one["action"] for one in entries] == [
        "grant_consent",
        "refuse_consent",
        "grant_consent",
    ]
    assert rest["cursor"] is None
    assert {one["why"] for one in entries} == {"cli"}
    assert entries[2]["before"] is None
    assert entries[1]["before"] == entries[2]["after"]
    own = cli.json("audit", "show", "--mine", user="audited")["entries"]
    assert own == entries
    only = cli.json("audit", "show", "--user", "audited", "--action", "refuse_consent")
    assert len(only["entries"]) == 1
    at_target = cli.json("audit", "show", "--user", "audited", "--target", "remember")
    assert len(at_target["entries"]) == 3
    assert cli("audit", "show", "--user", "nobody").out == "No entries.\n"
    shown = cli("audit", "show", "--user", "audited").out.splitlines()
    assert len(shown) == 3
    assert "audited" not in "".join(shown)


def test_a_change_of_the_audit_is_told_and_is_exit_status_one(cli: Cli) -> None:
    cli.json("consent", "grant", user="tampered", MNEMIC_SCHEMA="tampered")
    sound = cli.json("audit", "verify", MNEMIC_SCHEMA="tampered")
    assert (sound["sound"], sound["entries"], sound["problems"]) == (True, 1, [])
    kept = cli.json("audit", "verify", "--head", sound["head"], MNEMIC_SCHEMA="tampered")
    assert kept["head"] == sound["head"]
    shown = cli("audit", "verify", MNEMIC_SCHEMA="tampered")
    assert shown.out.splitlines() == ["1 entry, nothing was changed.", f"head {sound['head']}"]
    with psycopg.connect(owner(cli), autocommit=True) as conn:
        conn.execute("update tampered.audit_log set why = 'web'")
    ran = cli("audit", "verify", MNEMIC_SCHEMA="tampered")
    assert ran.code == 1
    assert "was changed, moved or put in [entry_changed]" in ran.out
    told = cli.json("audit", "verify", MNEMIC_SCHEMA="tampered", code=1)
    assert (told["sound"], told["n_problems"], told["head"]) == (False, 1, None)
    assert told["problems"][0]["kind"] == "entry_changed"


@pytest.mark.parametrize("command", [("audit", "verify"), ("audit", "show")])
def test_the_operators_commands_need_the_owners_login(cli: Cli, command: tuple[str, ...]) -> None:
    joined = join_address(cli)
    told = cli.json(*command, "--database-url", joined, code=1)
    assert told["reason"] == "migration_url_missing"
    mine = cli.json("audit", "show", "--mine", "--database-url", joined, user="newcomer")
    assert mine["entries"] == []


def test_the_first_word_says_where_the_key_lies(cli: Cli) -> None:
    given = {"MNEMIC_KEY_FILE": str(cli.home / "words.key"), "MNEMIC_SCHEMA": "first_word"}
    first = cli("consent", "refuse", **given)
    assert str(cli.home / "words.key") in first.err
    assert "words.key" not in cli("consent", "show", **given).err


def owner(cli: Cli) -> str:
    return _address(cli, "owner")


def join_address(cli: Cli) -> str:
    return _address(cli, "service")


def _address(cli: Cli, role: str) -> str:
    joined = join(cli.home / "data")
    try:
        return joined.url(role)  # type: ignore[arg-type]
    finally:
        joined.leave()
