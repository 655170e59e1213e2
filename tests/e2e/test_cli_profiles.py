"""What does `mnemic profile` answer, to its user, to an operator, and where something is wrong?"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from e2e.program import Cli
from mnemic.crypto import new_secret
from mnemic.ids import new_id
from mnemic.storage.embedded import join
from vault_server import TOKEN, fake_vault

NUMBER = "138" + "0013" + "8000"


@pytest.fixture
def alone(cli: Cli, tmp_path: Path) -> Cli:
    """The program on a schema and a key file of its own."""
    own = {
        "MNEMIC_SCHEMA": f"profiles_{uuid4().hex[:12]}",
        "MNEMIC_KEY_FILE": str(tmp_path / "keys" / "k"),
    }
    return Cli(cli.home, cli.env | own)


@contextmanager
def owner(cli: Cli) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    joined = join(Path(cli.env["MNEMIC_DATA_DIR"]))
    try:
        with psycopg.connect(joined.url("owner"), autocommit=True) as conn:
            conn.execute(f"set search_path = {cli.env['MNEMIC_SCHEMA']}".encode())
            yield conn
    finally:
        joined.leave()


def test_an_operator_finds_who_gave_an_address(alone: Cli) -> None:
    alone.json("profile", "edit", "email", "Kim@Example.org")
    alone.json("profile", "edit", "phone", f"+86 {NUMBER}", user="lee")
    (found,) = alone.json("profile", "find", "--email", " kim@EXAMPLE.org")["users"]
    assert (found["user"], set(found)) == ("kim", {"user", "updated_at"})
    shown = alone("profile", "find", "--phone", NUMBER)
    assert shown.out.split()[0] == "lee"
    assert NUMBER not in shown.out + shown.err
    nobody = alone("profile", "find", "--email", "max@example.org")
    assert (nobody.code, nobody.out) == (0, "Nobody.\n")
    deeds = [entry["action"] for entry in alone.json("audit", "show")["entries"]]
    assert deeds[:3] == ["find_by_email", "find_by_phone", "find_by_email"]
    one = alone.json("audit", "show", "--target", "kim@example.org")["entries"]
    assert [entry["action"] for entry in one] == ["find_by_email"]
    for wrong in ((), ("--email", "a@example.org", "--phone", NUMBER)):
        assert alone.json("profile", "find", *wrong, code=2)["reason"] == "one_contact"


def test_without_the_owners_login_the_program_finds_nobody(alone: Cli) -> None:
    alone.json("profile", "edit", "email", "kim@example.org")
    joined = join(Path(alone.env["MNEMIC_DATA_DIR"]))
    try:
        env = {"MNEMIC_DATABASE_URL": joined.url("service")}
        for address in ("kim@example.org", "nobody@example.org"):
            told = alone.json("profile", "find", "--email", address, code=1, **env)
            assert told["reason"] == "migration_url_missing"
            assert "MNEMIC_MIGRATION_URL" in told["message"]
    finally:
        joined.leave()


@pytest.mark.parametrize(
    ("edit", "reason", "remedy"),
    [
        (("shoe_size", "43"), "unknown_profile_field", "username"),
        (("username", "a", "b"), "profile_value_invalid", "quote it"),
        (("communication_style", "loud"), "profile_value_invalid", "concise"),
        (("content", "x" * 100_000), "profile_value_too_long", "8,000"),
        (("phone", "+1 555"), "invalid_phone", "+49"),
        (("phone", "030 1234567"), "phone_without_country", "country code"),
        (("email", "kim"), "invalid_email", "name@example.com"),
    ],
)
def test_a_bad_edit_is_refused_in_one_sentence(
    cli: Cli, edit: tuple[str, ...], reason: str, remedy: str
) -> None:
    told = cli.json("profile", "edit", *edit, user="bad", code=2)
    assert told["reason"] == reason
    assert remedy in told["message"]
    assert len(told["message"]) < 300


def test_bad_edits_left_an_empty_profile(cli: Cli) -> None:
    profile = cli.json("profile", "show", user="bad")
    assert profile["version"] == 1
    assert not any(profile["values"].values())


def test_a_profile_whose_key_is_not_there_is_refused_and_not_empty(alone: Cli) -> None:
    alone.json("profile", "edit", "username", "Ro")
    path = Path(alone.env["MNEMIC_KEY_FILE"])
    kept = path.read_bytes()
    for damage, reason, remedy in (
        (foreign_key, "wrong_key", "key file"),
        (Path.unlink, "key_file_missing", "backup"),
    ):
        damage(path)
        for command in (("edit", "username", "Kim"), ("find", "--email", "a@b.org")):
            told = alone.json("profile", *command, code=1)
            assert told["reason"] == reason
            assert remedy in told["message"]
        path.write_bytes(kept)
        path.chmod(0o600)
    for statement, reason in (
        ("update data_key set kek_id = 'gone'", "unknown_kek"),
        ("update data_key set kek_id = (select kek_id from deployment), key_id = %s", "wrong_key"),
    ):
        with owner(alone) as conn:
            conn.execute(statement.encode(), [new_id()] if "%s" in statement else None)
        assert alone.json("profile", "show", code=1)["reason"] == reason


def foreign_key(path: Path) -> None:
    value = json.loads(path.read_text())
    value["keys"] = {kek: base64.b64encode(new_secret()).decode() for kek in value["keys"]}
    path.write_text(json.dumps(value))


def test_a_sealed_or_slow_vault_is_one_sentence(alone: Cli) -> None:
    with fake_vault() as vault:
        env = {
            "MNEMIC_KEY_PROVIDER": "vault",
            "MNEMIC_VAULT_ADDR": vault.url,
            "MNEMIC_VAULT_TOKEN": TOKEN,
            "MNEMIC_VAULT_TIMEOUT": "0.3",
        }
        alone.json("profile", "edit", "username", "Ro", **env)
        troubles: tuple[tuple[Callable[[], None], str, str], ...] = (
            (lambda: setattr(vault, "sealed", True), "vault_sealed", "unseal"),
            (lambda: vault.__dict__.update(sealed=False, delay=0.6), "vault_timeout", "raise"),
        )
        for trouble, reason, remedy in troubles:
            trouble()
            for command in (("show",), ("edit", "username", "Kim")):
                told = alone.json("profile", *command, code=1, **env)
                assert told["reason"] == reason
                assert remedy in told["message"]
        vault.delay = 0
        assert alone.json("profile", "show", **env)["values"]["username"] == "Ro"
