"""Does `mnemic keys` say and do what its page promises, with each provider?"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from uuid import uuid4

import pytest

from e2e.program import Cli
from mnemic.crypto import new_secret
from vault_server import TOKEN, fake_vault


@pytest.fixture
def alone(cli: Cli, tmp_path: Path) -> Cli:
    """The program on a schema and a key file of its own, with one memory in it."""
    own = {
        "MNEMIC_SCHEMA": f"keys_{uuid4().hex[:12]}",
        "MNEMIC_KEY_FILE": str(tmp_path / "keys" / "k"),
    }
    return Cli(cli.home, cli.env | own)


def key_file(cli: Cli) -> Path:
    return Path(cli.env["MNEMIC_KEY_FILE"])


def test_keys_are_shown_rotated_and_destroyed(alone: Cli) -> None:
    alone.json("add", "My dentist is in Gohlis")
    first = alone.json("keys", "status")
    (kek,) = first["keks"]
    assert (kek["current"], kek["held"], kek["data_keys"]) == (True, True, 1)
    assert first["key_file"] == str(key_file(alone))
    before = key_file(alone).read_bytes()
    assert alone.json("keys", "rotate", "--dry-run") == {
        "kek_id": kek["kek_id"], "before": kek["kek_id"], "keys": 1, "resumed": False, "dry_run": True,
    }  # fmt: skip
    assert key_file(alone).read_bytes() == before
    prepared = alone.json("keys", "rotate", "--prepare")["prepared"]
    waits = alone.json("keys", "status")
    assert (waits["kek_id"], waits["prepared"]) == (kek["kek_id"], prepared)
    assert f"prepared  {prepared}: mnemic keys rotate" in alone("keys", "status").out.splitlines()
    rotated = alone("keys", "rotate")
    assert rotated.out.splitlines() == [
        "1 data key wrapped anew.",
        f"The key in use is {prepared}.",
    ]
    assert "Back it up" in rotated.err
    assert [item["content"] for item in alone.json("list")["items"]] == ["My dentist is in Gohlis"]
    assert key_file(alone).stat().st_mode & 0o777 == 0o600

    assert alone.json("keys", "status")["prepared"] is None
    idle = alone("keys", "close-epoch", "--if-due", "--yes")
    assert idle.out == "Nothing is due: no erasure waits to be final.\n"
    assert alone.json("keys", "close-epoch", "--if-due", "--yes")["closed"] is False
    asked = alone("keys", "close-epoch")
    assert asked.code == 1
    assert "add --yes to close. [confirmation_required]" in asked.err
    assert asked.out == alone("keys", "close-epoch", "--dry-run").out
    assert alone.json("keys", "close-epoch", code=1)["reason"] == "confirmation_required"
    assert len(json.loads(key_file(alone).read_text())["keys"]) == 2
    alone.json("erase", "--yes")
    not_due = alone.json("keys", "close-epoch", "--if-due", "--yes")
    assert (not_due["closed"], not_due["erasures"], not_due["earlier"]) == (False, 1, 1)
    wait = alone("keys", "close-epoch", "--if-due", "--yes").out
    assert wait.startswith("Nothing is due before ")
    due = alone.json("keys", "close-epoch", "--if-due", "--yes", MNEMIC_KEY_EPOCH_DAYS="0")
    assert (due["closed"], due["erasures"], due["destroyed"]) == (True, 1, 2)
    status = alone("keys", "status").out.splitlines()
    assert [line.split()[0] for line in status] == [
        "key", "destroyed", "destroyed", "in", "erasures", "closed",
    ]  # fmt: skip
    deeds = [entry["action"] for entry in alone.json("audit", "show")["entries"]]
    assert deeds[:1] == ["close_key_epoch"]
    assert deeds.count("rotate_keys") == 2
    assert alone.json("audit", "verify")["sound"] is True
    assert alone.json("keys", "close-epoch", "--yes") == {"closed": False}
    assert alone("keys", "close-epoch").out == "There is nothing to make final.\n"


def test_a_lost_key_is_one_sentence(alone: Cli) -> None:
    alone.json("add", "My dentist is in Gohlis")
    before = key_file(alone).read_bytes()
    new = alone.json("keys", "rotate")["kek_id"]
    key_file(alone).write_bytes(before)
    for command in (("list",), ("keys", "status"), ("keys", "rotate")):
        told = alone.json(*command, code=1)
        assert told["reason"] == "unknown_kek"
        assert new in told["message"]
    key_file(alone).unlink()
    assert alone.json("keys", "rotate", code=1)["reason"] == "key_file_missing"
    assert not key_file(alone).exists(), "no key is made over existing data"


def test_what_cannot_be_meant_is_wrong_usage(alone: Cli) -> None:
    told = alone.json("keys", "rotate", "--dry-run", "--prepare", code=2)
    assert told["reason"] == "wrong_usage"


def test_keys_of_the_environment_are_rotated_by_the_variables(alone: Cli) -> None:
    a, b = (base64.b64encode(new_secret()).decode() for _ in range(2))
    first = Cli(alone.home, alone.env | {"MNEMIC_KEY_PROVIDER": "environment", "MNEMIC_KEK": a})
    first.json("add", "My dentist is in Gohlis")
    assert first.json("keys", "rotate", code=1)["reason"] == "no_newer_kek"
    both = Cli(first.home, first.env | {"MNEMIC_KEK": b, "MNEMIC_KEK_OTHERS": a})
    assert both.json("list")["total"] == 1
    assert both.json("keys", "rotate")["keys"] == 1
    last = Cli(first.home, first.env | {"MNEMIC_KEK": b})
    assert last.json("list")["total"] == 1
    assert first.json("list", code=1)["reason"] == "unknown_kek"
    status = last("keys", "status")
    assert a not in status.out + status.err
    assert b not in status.out + status.err
    assert "its provider does not hold it" in status.out
    assert not key_file(alone).exists()


def test_keys_in_a_vault_are_rotated_and_a_sealed_one_is_named(alone: Cli, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    with fake_vault() as vault:
        given = {
            "MNEMIC_KEY_PROVIDER": "vault",
            "MNEMIC_VAULT_ADDR": vault.url,
            "MNEMIC_VAULT_TOKEN_FILE": str(token),
        }
        cli = Cli(alone.home, alone.env | given)
        cli.json("add", "My dentist is in Gohlis")
        (name,) = vault.keys
        done = cli.json("keys", "rotate")
        assert (done["before"], done["keys"]) == (name, 1)
        assert done["kek_id"] == name.removesuffix("-1") + "-2"
        assert cli.json("list")["total"] == 1
        closed = cli.json("keys", "close-epoch", "--yes")
        assert (closed["closed"], closed["destroyed"]) == (True, 1)
        assert set(vault.keys) == {done["kek_id"]}
        vault.sealed = True
        told = cli.json("list", code=1)
        assert told["reason"] == "vault_sealed"
        assert TOKEN not in json.dumps(told)
