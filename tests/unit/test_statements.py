"""Is every statement found by name, bound and scoped, and does no module write SQL of its own?"""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from mnemic.storage import statements as reading
from mnemic.storage.migrate import migrations
from mnemic.storage.scripts import roles_script
from mnemic.storage.statements import statements

FOLDER = files("mnemic.storage").joinpath("sql")
FILES = sorted(entry.name.removesuffix(".sql") for entry in FOLDER.iterdir())
PERSONAL = (
    r"app_user|data_key|session|message|memory_item|item_usage|verification|extraction_log|resource|chunk"
    r"|chunk_draft|embedding_settings|reembedding|consent_log|idempotency_key|task_state|task_events"
)
OF_THE_OWNER = {"maintenance", "rotation"}
"""Files of statements that go across all users, as the owner only."""


@pytest.mark.parametrize("file", FILES)
def test_every_statement_of_a_file_is_named_once_and_not_empty(file: str) -> None:
    text = FOLDER.joinpath(f"{file}.sql").read_text(encoding="utf-8")
    found = statements(file)
    assert len(found) == text.count("-- name:") > 0
    assert all(body for body in found.values())
    assert text.startswith("-- "), "the first line says what the file is about"


@pytest.mark.parametrize("file", sorted(set(FILES) - OF_THE_OWNER))
def test_a_statement_on_personal_tables_names_its_scope(file: str) -> None:
    for name, body in statements(file).items():
        if re.search(rf"\b(from|join|into|update)\s+({PERSONAL})\b", body):
            assert "scope" in "".join(re.findall(r"%\((\w+)\)s", body)), name


def test_a_doubled_name_and_an_unknown_file_are_programming_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError):
        statements("no_such_file")
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "twice.sql").write_text("-- name: a\nselect 1\n-- name: a\nselect 2\n")
    monkeypatch.setattr(reading, "files", lambda _: tmp_path)
    with pytest.raises(LookupError):
        statements("twice")


def test_migrations_are_numbered_without_gaps_and_never_drop() -> None:
    found = migrations()
    assert [one.number for one in found] == list(range(1, len(found) + 1))
    assert all(one.name and one.sql for one in found)
    # what a function drops later, a month of history that was folded, is no part of the migration
    drops = re.compile(r"(?<!execute ')\bdrop\s+(table|schema|column)\b", re.I)
    assert not any(drops.search(one.sql) for one in found)


def test_the_script_for_administrators_makes_two_logins_without_power() -> None:
    script = roles_script()
    for role in ("mnemic_owner", "mnemic_service"):
        assert re.search(rf"CREATE ROLE {role} LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD", script)
    assert "CREATE EXTENSION IF NOT EXISTS vector" in script
    assert (
        script.index("OWNER mnemic_owner")
        < script.index("\\connect")
        < script.index("CREATE EXTENSION")
    )
