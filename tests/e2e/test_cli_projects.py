"""Can a project be made, shared and given up from a terminal?"""

from __future__ import annotations

import pytest

from e2e.program import NOBODY, Cli

PROJECT = {"project_id", "name", "role", "created_by", "created_at", "version"}
MEMBER = {"user", "role", "since"}


def shared(cli: Cli, project: str, **members: str) -> None:
    cli.json("project", "create", project, user="anna")
    for user, role in members.items():
        cli.json("project", "grant", project, user, role, user="anna")


def test_a_project_from_beginning_to_end(cli: Cli) -> None:
    made = cli.json("project", "create", "apollo", "--name", "Apollo 登月", user="anna")
    assert made.keys() == PROJECT
    assert (made["project_id"], made["name"], made["role"]) == ("apollo", "Apollo 登月", "owner")
    assert cli.json("project", "create", "apollo", user="ben", code=1)["reason"] == "project_exists"

    granted = cli.json("project", "grant", "apollo", "ben", "editor", user="anna")
    assert granted.keys() == MEMBER
    assert (granted["user"], granted["role"]) == ("ben", "editor")
    renamed = cli.json("project", "rename", "apollo", "Artemis", "--version", "1", user="anna")
    assert (renamed["name"], renamed["version"]) == ("Artemis", 2)
    stale = cli.json("project", "rename", "apollo", "Gemini", "--version", "1", user="anna", code=1)
    assert stale["reason"] == "version_conflict"
    seen = cli.json("project", "show", "apollo", user="ben")
    assert seen == renamed | {"role": "editor"}
    assert cli.json("project", "list", user="ben") == {"projects": [seen]}
    found = cli.json("project", "members", "apollo", user="ben")["members"]
    assert [(one["user"], one["role"]) for one in found] == [("anna", "owner"), ("ben", "editor")]

    moved = cli.json("project", "transfer", "apollo", "ben", user="anna")
    assert (moved["user"], moved["role"]) == ("ben", "owner")
    last = cli.json("project", "leave", "apollo", user="ben", code=1)
    assert last["reason"] == "last_owner"
    assert cli.json("project", "leave", "apollo", user="anna")["role"] == "admin"
    assert cli.json("project", "list", user="anna") == {"projects": []}
    gone = cli.json("project", "delete", "apollo", "--yes", user="ben")
    assert gone == {
        "deleted": 1,
        "project_id": "apollo",
        "items": 0,
        "resources": 0,
        "members": 1,
        "dry_run": False,
    }
    again = cli.json("project", "show", "apollo", user="ben", code=1)
    assert again["reason"] == "project_not_found"


def test_a_project_without_its_scope_is_told_from_sharing(cli: Cli) -> None:
    shared(cli, "mercury")
    named = cli("add", "The hatch opens inwards", "--project", "mercury", user="anna")
    assert "--scope project" in named.err
    for scope in ("project", "user"):
        said = ("add", f"The {scope} hatch is round", "--project", "mercury", "--scope", scope)
        assert "--scope project" not in cli(*said, user="anna").err
    found = cli.json("list", "--project", "mercury", "--scope", "project", user="anna")
    assert [one["content"] for one in found["items"]] == ["The project hatch is round"]


def test_deleting_asks_for_a_word_and_says_what_would_go(cli: Cli) -> None:
    shared(cli, "gemini", ben="viewer")
    refused = cli.json("project", "delete", "gemini", user="anna", code=1)
    assert refused["reason"] == "confirmation_required"
    assert "0 items, 0 documents and 2 members would go: add --yes" in refused["message"]
    assert (refused["items"], refused["resources"], refused["members"]) == (0, 0, 2)
    for args in (("--dry-run",), ("--dry-run", "--yes")):
        planned = cli.json("project", "delete", "gemini", *args, user="anna")
        assert (planned["deleted"], planned["members"], planned["dry_run"]) == (0, 2, True)
    assert cli.json("project", "show", "gemini", user="ben")["role"] == "viewer"
    low = cli.json("project", "delete", "gemini", "--yes", user="ben", code=1)
    assert low["reason"] == "role_too_low"
    assert cli("project", "delete", "gemini", "--yes", user="anna").out == (
        "1 project with 0 items, 0 documents and 2 members deleted.\n"
    )


def test_what_people_are_shown(cli: Cli) -> None:
    shared(cli, "saturn", ben="admin")
    assert cli("project", "list", user="ben").out.split() == ["admin", "saturn", "saturn"]
    lines = cli("project", "members", "saturn", user="ben").out.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["owner", "anna", "since"],
        ["admin", "ben", "since"],
    ]
    shown = dict(
        line.split(maxsplit=1)
        for line in cli("project", "show", "saturn", user="ben").out.splitlines()
    )
    assert (shown["id"], shown["name"], shown["role"]) == ("saturn", "saturn", "admin")
    assert shown["made"].endswith(" by anna")
    said = cli("project", "grant", "saturn", "陈", "viewer", user="ben").out
    assert said == "陈 is viewer of saturn now.\n"
    said = cli("project", "revoke", "saturn", "陈", user="ben").out
    assert said == "陈 is no member of saturn any more.\n"


@pytest.mark.parametrize(
    "args",
    [
        ("show", "venus"),
        ("members", "venus"),
        ("rename", "venus", "Mine"),
        ("grant", "venus", "eve", "owner"),
        ("revoke", "venus", "anna"),
        ("leave", "venus"),
        ("transfer", "venus", "eve"),
        ("delete", "venus", "--yes"),
    ],
    ids=lambda args: args[0],
)
def test_a_stranger_is_told_of_no_project(cli: Cli, venus: None, args: tuple[str, ...]) -> None:
    foreign = cli.json("project", *args, user="eve", code=1)
    unknown = cli.json("project", *(a.replace("venus", "pluto") for a in args), user="eve", code=1)
    assert foreign == unknown
    assert foreign["reason"] == "project_not_found"


@pytest.fixture(scope="module")
def venus(cli: Cli) -> None:
    shared(cli, "venus")


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("create", " "), "invalid_id"),
        (("create", "x" * 129), "invalid_id"),
        (("create", "mars", "--name", " "), "invalid_name"),
        (("rename", "mars", "two\nlines"), "invalid_name"),
        (("grant", "mars", "ben", "king"), "unknown_role"),
        (("grant", "mars", "", "viewer"), "invalid_id"),
        (("revoke", "mars", "b\u200ben"), "invalid_id"),
        (("create",), "wrong_usage"),
        (("grant", "mars", "ben"), "wrong_usage"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(cli: Cli, args: tuple[str, ...], reason: str) -> None:
    assert cli.json("project", *args, user="anna", code=2)["reason"] == reason


def test_the_author_says_who_sees_a_memory(cli: Cli) -> None:
    shared(cli, "hermes", ben="editor")
    place = ("--project", "hermes")
    given = (*place, "--scope", "project", "--visibility", "owner_only")
    made = cli.json("add", "The valve is opened by hand", *given, user="anna")
    assert made["verdict"] == "stored"
    assert cli.json("list", *place, user="ben")["total"] == 0
    seen = cli.json("edit", made["id"], "--visibility", "public", *place, user="anna")
    assert (seen["verdict"], seen["reason"]) == ("stored", "edited")
    shown = cli.json("show", made["id"], *place, user="ben")
    assert (shown["visibility"], shown["version"]) == ("public", 2)
    assert shown["content"] == "The valve is opened by hand"
    stale = cli.json("delete", made["id"], "--version", "1", *place, user="anna", code=1)
    assert stale["reason"] == "version_conflict"
    gone = cli.json("delete", made["id"], "--version", "2", *place, user="anna")
    assert gone["deleted"] == 2


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("add", "The valve is open", "--visibility", "friends"), "unknown_visibility"),
        (("add", "The valve is open", "--visibility", "public"), "visibility_without_project"),
        (("edit", NOBODY, "--visibility", "friends"), "unknown_visibility"),
        (("edit", NOBODY), "nothing_to_change"),
        (("delete", "--all", "--version", "1"), "nothing_to_delete"),
    ],
)
def test_what_cannot_be_meant_is_said(cli: Cli, args: tuple[str, ...], reason: str) -> None:
    assert cli.json(*args, user="anna", code=2)["reason"] == reason


def test_a_misspelt_project_and_a_foreign_one_are_refused_alike(cli: Cli) -> None:
    cli.json("project", "create", "vineyard", user="otto")
    told = set()
    for project in ("vineyard", "vinyard"):
        for args in (
            ("search", "valve"),
            ("list",),
            ("context", "valve"),
            ("resource", "list"),
            ("verify", "list"),
            ("add", "The valve is shut", "--scope", "project"),
        ):
            answer = cli.json(*args, "--project", project, user="erin", code=1)
            told.add((answer["reason"], answer["message"]))
    assert told == {("not_a_member", "You are not a member of this project.")}
    assert cli.json("list", "--project", "vineyard", user="otto")["total"] == 0
    for name in ("a\tb", "", " ", "x" * 129):
        refused = cli.json("project", "create", name, user="otto", code=2)
        assert refused["reason"] == "invalid_id"
