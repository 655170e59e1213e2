"""Does the service let everybody do what the matrix says, and nothing else? Every cell, over real HTTP.

One user writes, another stands in each role, with requests as any client sends them. What the service answers
is compared with ``mnemic.permissions.may``.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from typing import Any
from urllib.parse import quote

import pytest

from e2e.serving import Place, Reply, Served, key_of, place_at
from mnemic.ids import new_id
from mnemic.model import PROJECT_ROLES, VISIBILITIES
from mnemic.permissions import may

ROLES = (*PROJECT_ROLES, None)
CELLS = list(product(ROLES, VISIBILITIES, (True, False)))
THINGS = (
    "ladder", "kettle", "anvil", "compass", "lantern", "bucket", "saddle", "mirror", "trowel", "bellows",
    "whistle", "funnel", "barrel", "candle", "shovel", "basket", "hammer", "violin", "carpet", "goblet",
    "helmet", "pillow", "rudder", "tripod", "wagon", "zither", "quill", "parasol", "thimble", "sextant",
)  # fmt: skip
HOUSE = {"MNEMIC_RATE_LIMIT": "off", "MNEMIC_CONSENT": "implied"}


@dataclass(frozen=True)
class Team:
    """A project of Anna's on a running service, whose second owner Zoe gives the roles."""

    served: Served
    keys: dict[str, str]

    def ask(self, user: str, method: str, path: str, body: Any = None, **more: Any) -> Reply:
        """Ask as a user: with a key of their own, or with the service's key for them."""
        own = self.keys.get(user)
        if own is None:
            more["Mnemic_User"] = user
        more.setdefault("Mnemic_Project", "apollo")
        return self.served.ask(method, path, body, key=own or self.keys["service"], **more)

    def let_in(self, user: str, role: str | None) -> None:
        """Give a user a role in the project, None for none."""
        path = f"/api/projects/apollo/members/{user}"
        if role is None:
            assert self.ask("zoe", "DELETE", path).status in (200, 404)
        else:
            assert self.ask("zoe", "PUT", path, {"role": role}).status == 200

    def remember(self, user: str, text: str, visibility: str) -> Reply:
        body = {"content": text, "scope": "project", "visibility": visibility}
        return self.ask(user, "POST", "/api/memory", body)

    def shelve(self, user: str, text: str, visibility: str, uri: str) -> Reply:
        """Add a document as its bytes."""
        own = self.keys.get(user)
        headers = {
            "Authorization": f"Bearer {own or self.keys['service']}",
            "Content-Type": "text/plain",
            "Mnemic-Project": "apollo",
        } | ({} if own else {"Mnemic-User": user})
        path = f"/api/resources?scope=project&visibility={visibility}&uri={quote(uri)}"
        with closing(self.served.connection()) as connection:
            connection.request("POST", path, text.encode(), headers)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read().decode())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with place_at(tmp_path_factory.mktemp("matrix")) as made:
        yield made


@pytest.fixture(scope="module")
def team(place: Place) -> Iterator[Team]:
    """Anna and Ben have keys of their own; for the others a service asks."""
    keys = {user: key_of(place, "--user", user) for user in ("anna", "ben")}
    keys["service"] = key_of(place, "--kind", "service")
    with place.served("--workers", "2", **HOUSE) as served:
        made = Team(served, keys)
        body = {"id": "apollo", "name": "Apollo"}
        assert made.ask("anna", "POST", "/api/projects", body).status == 201
        role = {"role": "owner"}
        assert made.ask("anna", "PUT", "/api/projects/apollo/members/zoe", role).status == 200
        yield made


@pytest.mark.parametrize(("role", "visibility", "own"), CELLS)
def test_every_cell_for_memories(role: str | None, visibility: str, own: bool, team: Team) -> None:
    thing = THINGS[CELLS.index((role, visibility, own))]
    text = f"The {thing} hangs behind the door of the workshop"
    team.let_in("ben", "editor")
    made = team.remember("ben" if own else "anna", text, visibility)
    assert (made.status, made.json["verdict"]) == (201, "stored"), made.text
    team.let_in("ben", role)
    path, cell = f"/api/memory/{made.json['id']}", {"visibility": visibility, "own": own}
    reads = may(role, "read", **cell)  # type: ignore[arg-type]
    expect(team.ask("ben", "GET", path), reads, "item_not_found")
    expect(team.ask("ben", "GET", path + "/history"), reads, "item_not_found")
    assert (text in seen(team, "ben", thing)) is reads
    refused = "role_too_low" if reads else "item_not_found"
    edits = may(role, "edit", **cell)  # type: ignore[arg-type]
    change = {"content": f"The {thing} lies on the bench of the workshop"}
    changed = team.ask("ben", "PATCH", path, change, If_Match='"1"')
    expect(changed, edits, refused)
    deletes = may(role, "delete", **cell)  # type: ignore[arg-type]
    listed = f"/api/memory/{changed.json['id']}" if edits else path
    expect(team.ask("ben", "DELETE", listed), deletes, refused)
    author = "ben" if own else "anna"
    team.let_in(author, "owner" if author == "anna" else "editor")
    left = team.ask(author, "GET", listed)
    assert left.status == (404 if deletes else 200)
    if not deletes and not edits:
        assert left.json["content"] == text


@pytest.mark.parametrize(("role", "visibility"), list(product(ROLES, VISIBILITIES)))
def test_every_cell_of_creating(role: str | None, visibility: str, team: Team) -> None:
    team.let_in("ben", role)
    thing = THINGS[-1 - list(product(ROLES, VISIBILITIES)).index((role, visibility))]
    creates = may(role, "create", visibility, own=True)  # type: ignore[arg-type]
    refused = "not_a_member" if role is None else "role_too_low"
    text = f"Ben painted the {thing} of this project green"
    expect(team.remember("ben", text, visibility), creates, refused)
    expect(team.shelve("ben", text, visibility, f"new:{thing}"), creates, refused)
    assert (text in seen(team, "ben", f"green {thing}")) is creates
    body = {"content": text, "scope": "project"}
    for name in ("owner_id", "user", "owner", "author"):  # nobody writes in another's name
        other = team.ask("ben", "POST", "/api/memory", body | {name: "anna"})
        assert (other.status, other.code) == (422, "unknown_field")


@pytest.mark.parametrize(("role", "visibility", "own"), CELLS)
def test_every_cell_for_documents(role: str | None, visibility: str, own: bool, team: Team) -> None:
    thing, author = THINGS[CELLS.index((role, visibility, own))], "ben" if own else "anna"
    uri, text = f"page:{role}-{visibility}-{own}", f"The manual of the {thing} has nine chapters."
    team.let_in("ben", "editor")
    made = team.shelve(author, text, visibility, uri)
    assert made.status == 201, made.text
    team.let_in("ben", role)
    path, cell = f"/api/resources/{made.json['id']}", {"visibility": visibility, "own": own}
    reads = may(role, "read", **cell)  # type: ignore[arg-type]
    expect(team.ask("ben", "GET", path), reads, "resource_not_found")
    expect(team.ask("ben", "GET", path + "/chunks"), reads, "resource_not_found")
    assert (text in seen(team, "ben", f"manual {thing}", "resource")) is reads
    edited = team.shelve("ben", f"The {thing} has a new manual.", visibility, uri)
    edits = may(role, "edit", **cell)  # type: ignore[arg-type]
    if edits:
        assert (edited.status, edited.json["outcome"]) == (200, "replaced")
        path = f"/api/resources/{edited.json['id']}"
    elif role in (None, "viewer"):
        assert edited.status == 403, edited.text
    elif reads:
        assert (edited.status, edited.code) == (403, "role_too_low")
    else:  # beside what is not there for them
        assert (edited.status, edited.json["outcome"]) == (201, "stored")
    refused = "role_too_low" if reads else "resource_not_found"
    deletes = may(role, "delete", **cell)  # type: ignore[arg-type]
    expect(team.ask("ben", "DELETE", path), deletes, refused)
    team.let_in("ben", "editor")
    left = team.ask(author, "GET", path + "/chunks")
    assert left.status == (404 if deletes else 200)
    if not deletes and not edits:
        assert left.json["chunks"][0]["text"] == text


def expect(reply: Reply, allowed: bool, code: str) -> None:
    """Require what the matrix says: done, or refused with this reason."""
    if allowed:
        assert reply.status in (200, 201), reply.text
    else:
        assert reply.code == code, reply.text
        assert reply.status == (404 if code.endswith("_not_found") else 403)


def seen(team: Team, user: str, query: str, kind: str = "memory") -> str:
    """Return all that a user sees of what a query asks for: searched, listed, as a prompt.

    Who is no member sees nothing, and is told so by each of them.
    """
    asked = {"query": query, "k": 50, "include": ["memory", "resource"]}
    replies = [
        team.ask(user, "POST", "/api/memory/search", asked),
        team.ask(user, "POST", "/api/memory/context", {"query": query, "budget_tokens": 4000}),
        team.ask(user, "GET", "/api/memory?limit=1000"),
        team.ask(user, "GET", "/api/resources?limit=1000"),
    ]
    if replies[0].status == 403:
        assert [(reply.status, reply.code) for reply in replies] == [(403, "not_a_member")] * 4
        return ""
    assert [reply.status for reply in replies] == [200] * 4
    told = replies[0].json["hits"]
    if kind == "resource":
        return " ".join(hit["content"] for hit in told)
    listed = replies[2].json["items"]
    return " ".join([*(one["content"] for one in (*told, *listed)), replies[1].json["context"]])


# ---- who is outside


def test_who_is_removed_loses_access_at_once_on_every_connection(team: Team) -> None:
    team.let_in("ben", "admin")
    made = team.remember("anna", "The vault opens with two keys", "members")
    page = team.shelve("anna", "The vault has a plan.", "members", "page:vault")
    open_now = [team.served.connection() for _ in range(8)]  # on both workers
    asked = {"query": "vault", "include": ["memory", "resource"]}
    for connection in open_now:
        warm = team.ask("ben", "POST", "/api/memory/search", asked, on=connection)
        assert "two keys" in warm.text
    team.let_in("ben", None)
    for connection in open_now:
        for method, path, body in (
            ("POST", "/api/memory/search", asked),
            ("POST", "/api/memory/context", {"query": "vault"}),
            ("GET", "/api/memory", None),
            ("GET", "/api/resources", None),
            ("GET", f"/api/memory/{made.json['id']}", None),
            ("GET", f"/api/resources/{page.json['id']}/chunks", None),
            ("GET", "/api/projects/apollo/members", None),
            ("GET", "/api/memory?scope=project", None),
        ):
            reply = team.ask("ben", method, path, body, on=connection)
            assert "two keys" not in reply.text, path
            assert "vault" not in reply.text, path
            assert reply.status in (200, 403, 404), reply.text
        connection.close()
    assert team.remember("ben", "The vault is mine now", "members").code == "not_a_member"


def test_pf_034_pf_070_ids_that_look_alike_never_meet(team: Team) -> None:
    alike = [
        "kim", "kim_1", "kimA1", "KIM", "%", "_", "'", "/", ",", "kim/", "kim,lee", "k%m", "kim%2F", "..",
        "user:kim", "ｋｉｍ", "kìm", "к\u0456м", '"kim"', "\\", "{kim}", "kim;", "*", "kim kim", "null",
    ]  # fmt: skip
    for number, user in enumerate(alike):
        headers = {"Mnemic_User": user.encode(), "Mnemic_Session": "s1"}
        for scope in ("user", "session"):
            body = {"content": f"The row of {scope} number {number}", "scope": scope}
            added = team.served.ask(
                "POST", "/api/memory", body, key=team.keys["service"], **headers
            )
            assert added.status == 201, (user, added.text)
        project = {"id": user, "name": f"House {number}"}
        made = team.served.ask(
            "POST", "/api/projects", project, key=team.keys["service"], **headers
        )
        assert made.status == 201, (user, made.text)
    for number, user in enumerate(alike):
        headers = {"Mnemic_User": user.encode(), "Mnemic_Session": "s1"}
        service = team.keys["service"]
        page = team.served.ask("GET", "/api/memory", key=service, **headers).json
        assert {item["content"] for item in page["items"]} == {
            f"The row of {scope} number {number}" for scope in ("user", "session")
        }
        mine = team.served.ask("GET", "/api/projects", key=service, **headers).json["projects"]
        assert [project["id"] for project in mine] == [user]
        for other, name in enumerate(alike):
            shown = team.served.ask(
                "GET", f"/api/projects/{quote(name, safe='')}", key=service, **headers
            )
            assert shown.status == (200 if other == number else 404), (user, name)


# ---- unknown and foreign


def same(unknown: Reply, foreign: Reply) -> None:
    """Require two answers that nobody can tell apart."""
    assert unknown.status == foreign.status
    told = [
        {name: value for name, value in reply.json.items() if name != "request_id"}
        for reply in (unknown, foreign)
    ]
    assert told[0] == told[1]
    kept = [
        {
            name: value
            for name, value in reply.headers.items()
            if name not in ("x-request-id", "date")
        }
        for reply in (unknown, foreign)
    ]
    assert kept[0] == kept[1]


def test_pf_060_unknown_and_foreign_ids_answer_alike(team: Team) -> None:
    team.let_in("ben", None)
    item = team.ask("anna", "POST", "/api/memory", {"content": "Anna hides gold in the attic"})
    unsure = {"content": "Anna might move to the coast", "confidence": 0.75}
    pending = team.ask("anna", "POST", "/api/memory", unsure)
    assert pending.json["verdict"] == "pending"
    page = team.shelve("anna", "Anna's plan of the attic.", "members", "page:attic")
    shared = team.remember("anna", "The attic belongs to the project", "members")
    nobody = str(new_id())
    for path, method, body, headers in (
        ("/api/memory/{}", "GET", None, {}),
        ("/api/memory/{}/history", "GET", None, {}),
        ("/api/memory/{}", "PATCH", {"content": "Ben has the gold"}, {"If_Match": '"1"'}),
        ("/api/memory/{}", "PATCH", {"content": "Ben has the gold"}, {"If_Match": '"1", "2"'}),
        ("/api/memory/{}", "PATCH", {"confidence": 0.9}, {"If_Match": "*"}),
        ("/api/memory/{}", "DELETE", None, {}),
        ("/api/memory/{}?dry_run=true", "DELETE", None, {}),
        ("/api/verifications/{}", "POST", {"answer": "confirm"}, {}),
        ("/api/verifications/{}", "POST", {"answer": "deny"}, {}),
        ("/api/resources/{}", "GET", None, {}),
        ("/api/resources/{}/chunks", "GET", None, {}),
        ("/api/resources/{}", "DELETE", None, {}),
    ):
        for reply in (item, pending, page, shared):
            unknown = team.ask("ben", method, path.format(nobody), body, **headers)
            foreign = team.ask("ben", method, path.format(reply.json["id"]), body, **headers)
            assert unknown.status == 404, (path, unknown.text)
            same(unknown, foreign)
    assert team.ask("anna", "GET", f"/api/memory/{item.json['id']}").json["version"] == 1
    assert team.ask("anna", "GET", f"/api/memory/{pending.json['id']}").json["status"] == "pending"


def test_pf_065_unknown_and_foreign_projects_answer_alike(team: Team) -> None:
    team.let_in("ben", None)
    for path, method, body, headers in (
        ("/api/projects/{}", "GET", None, {}),
        ("/api/projects/{}", "PATCH", {"name": "Mine"}, {"If_Match": '"1"'}),
        ("/api/projects/{}", "PATCH", {"name": "Mine"}, {"If_Match": '"1", "7"'}),
        ("/api/projects/{}?confirm=true", "DELETE", None, {}),
        ("/api/projects/{}/members", "GET", None, {}),
        ("/api/projects/{}/members/ben", "PUT", {"role": "owner"}, {}),
        ("/api/projects/{}/members/anna", "DELETE", None, {}),
        ("/api/projects/{}/transfer", "POST", {"to_user": "ben"}, {}),
    ):
        unknown, foreign = (
            team.ask("ben", method, path.format(name), body, **headers)
            for name in ("gemini", "apollo")
        )
        assert unknown.status == 404, (path, unknown.text)
        same(unknown, foreign)
    for method, path, body in (
        ("POST", "/api/memory", {"content": "Ben was in this project", "scope": "project"}),
        ("GET", "/api/memory?scope=project", None),
        ("GET", "/api/memory", None),
        ("POST", "/api/memory/search", {"query": "attic"}),
        ("POST", "/api/memory/search", {"query": "attic", "scope": "project"}),
        ("POST", "/api/memory/context", {"query": "attic"}),
    ):
        unknown, foreign = (
            team.ask("ben", method, path, body, Mnemic_Project=name)
            for name in ("gemini", "apollo")
        )
        same(unknown, foreign)


def test_the_time_that_an_answer_takes_tells_no_foreign_id_from_an_unknown_one(team: Team) -> None:
    foreign = team.ask("anna", "POST", "/api/memory", {"content": "Anna keeps bees on the roof"})
    taken: dict[str, list[float]] = {"unknown": [], "foreign": []}
    with closing(team.served.connection()) as connection:
        for _ in range(80):
            for kind in taken:
                item = str(new_id()) if kind == "unknown" else foreign.json["id"]
                began = time.perf_counter()
                reply = team.ask("ben", "GET", f"/api/memory/{item}", on=connection)
                taken[kind].append(time.perf_counter() - began)
                assert reply.status == 404
    fast, slow = sorted(statistics.median(times) for times in taken.values())
    assert slow < 1.5 * fast + 0.001, (fast, slow)
