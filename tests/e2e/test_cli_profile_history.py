"""What do `mnemic profile history` and `profile show --as-of` answer?"""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from e2e.program import Cli


@pytest.fixture
def alone(cli: Cli, tmp_path: Path) -> Cli:
    """The program on a schema and a key file of its own."""
    own = {
        "MNEMIC_SCHEMA": f"profiles_{uuid4().hex[:12]}",
        "MNEMIC_KEY_FILE": str(tmp_path / "keys" / "k"),
    }
    return Cli(cli.home, cli.env | own)


def test_a_profile_and_its_past(alone: Cli) -> None:
    alone.json("profile", "edit", "email", "kim@example.org")
    alone.json("profile", "edit", "profession", "pilot")
    alone.json("profile", "edit", "profession", "--clear")
    told = alone.json("profile", "history")
    assert set(told) == {"changes", "cursor"}
    assert [one["cause"] for one in told["changes"]] == ["edit", "edit", "edit", "begin"]
    assert [one["values"] for one in told["changes"]][:2] == [
        {"profession": None},
        {"profession": "pilot"},
    ]
    assert told["changes"][2]["values"] == {"email": "k***@e***.org"}
    full = alone.json("profile", "history", "--contact", "--limit", "3")
    assert full["changes"][2]["values"] == {"email": "kim@example.org"}
    rest = alone.json("profile", "history", "--cursor", full["cursor"])
    assert [one["cause"] for one in rest["changes"]] == ["begin"]
    moment = told["changes"][1]["recorded_at"]
    then = alone.json("profile", "show", "--as-of", moment)
    assert (then["values"]["profession"], then["version"]) == ("pilot", 3)
    shown = alone("profile", "history").out
    assert "edited" in shown
    assert "profession             pilot  [you]" in shown
    assert "profession             -" in shown
    assert alone("profile", "show", "--as-of", moment).out.splitlines()[-1].split() == [
        "version",
        "3",
    ]


def test_what_cannot_be_meant_is_refused(alone: Cli) -> None:
    alone.json("profile", "edit", "username", "Kim")
    for wrong, code, reason in (
        (("show", "--as-of", "2026-01-01T00:00:00"), 2, "naive_datetime"),
        (("show", "--as-of", "yesterday"), 2, "invalid_datetime"),
        (("show", "--as-of", "2999-01-01T00:00:00Z"), 2, "as_of_in_future"),
        (("show", "--as-of", "2020-01-01T00:00:00Z"), 1, "profile_not_recorded"),
        (("history", "--limit", "0"), 2, "limit_out_of_range"),
        (("history", "--cursor", "x"), 2, "invalid_cursor"),
        (("history", "--of-project"), 2, "project_required"),
        (("history", "--of-project", "--project", "nowhere"), 1, "project_not_found"),
    ):
        assert alone.json("profile", *wrong, code=code)["reason"] == reason
    assert alone("profile", "history", user="lee").out == "Nothing is recorded.\n"
