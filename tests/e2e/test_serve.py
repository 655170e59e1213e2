"""Whom does `mnemic serve` answer, and with what?"""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.program import MNEMIC
from e2e.serving import Place, Served, key_of, place_at, wait_for


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with place_at(tmp_path_factory.mktemp("serve")) as made:
        yield made


@pytest.fixture(scope="module")
def local(place: Place) -> Iterator[Served]:
    with place.served("--local") as served:
        yield served


@pytest.fixture(scope="module")
def shared(place: Place) -> Iterator[Served]:
    """A service for many, of two processes."""
    with place.served("--workers", "2") as served:
        yield served


# ---- for one machine


def test_local_serves_its_user_with_the_key_that_was_shown(local: Served) -> None:
    assert local.told["user"] == "kim"
    made = local.add("I keep three goats behind the house")
    assert (made.status, made.json["verdict"]) == (201, "stored")
    found = local.ask("POST", "/api/memory/search", {"query": "goats"})
    assert "three goats" in found.text
    assert local.ask("GET", "/api/memory", Mnemic_User="kim").status == 200
    assert local.ask("GET", "/api/memory", Mnemic_User="lee").code == "acting_not_allowed"


def test_pf_067_without_a_key_there_is_no_answer(local: Served) -> None:
    for method, path in (
        ("GET", "/api/memory"), ("POST", "/api/memory"), ("POST", "/api/memory/search"), ("GET", "/metrics"),
        ("DELETE", "/api/user"), ("GET", "/api/memory/01a22d22-0000-7000-8000-000000000000"),
    ):  # fmt: skip
        refused = local.ask(method, path, key="")
        assert (refused.status, refused.code) == (401, "credential_missing"), path
        assert refused.headers["www-authenticate"].startswith("Bearer")
        assert (
            local.ask(method, path, key="mk_" + "a" * 8 + "_" + "A" * 43).code
            == "credential_invalid"
        )
    assert local.ask("GET", "/healthz", key="").status == 200


def test_the_key_is_shown_once_and_lies_nowhere(local: Served, place: Place) -> None:
    secret = local.key.split("_", 2)[2]
    processes = [local.process.pid, *local.workers]
    assert len(processes) == 2
    for pid in processes:
        for name in ("environ", "cmdline"):
            text = Path(f"/proc/{pid}/{name}").read_bytes()
            assert len(text) > 20
            assert secret.encode() not in text
    assert secret not in local.log.read_text()
    prefix = local.key.split("_")[1]
    assert prefix not in {key["prefix"] for key in place.run("apikey", "list")["keys"]}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_local_is_not_for_others(host: str, place: Place) -> None:
    refused = place.run("serve", "--local", "--host", host, "--port", "0", code=2)
    assert refused["reason"] == "local_is_loopback_only"


def test_local_listens_on_loopback_only(local: Served) -> None:
    port = int(local.told["url"].rpartition(":")[2])
    listening = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    places = [line.split()[1] for line in listening.splitlines() if " 0A " in line]  # LISTEN
    addresses = {one.partition(":")[0] for one in places if one.endswith(f":{port:04X}")}
    assert addresses == {"0100007F"}


def test_a_port_that_is_taken_stops_the_start(place: Place) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert place.run("serve", "--port", port, code=1)["reason"] == "address_unusable"


@pytest.mark.parametrize(
    ("args", "reason"),
    [(("--workers", "0"), "workers_out_of_range"), (("--port", "70000"), "port_out_of_range")],
)
def test_options_that_cannot_be_meant_are_refused(
    args: tuple[str, ...], reason: str, place: Place
) -> None:
    assert place.run("serve", *args, code=2)["reason"] == reason


def test_what_cannot_work_is_said_before_anything_is_served(place: Place) -> None:
    env = place.env | {
        "MNEMIC_JWT_PUBLIC_KEY_FILE": str(place.home / "none.pem"),
        "MNEMIC_JWT_AUDIENCE": "a",
        "MNEMIC_JWT_ISSUER": "b",
    }
    refused = Place(place.home, env).run("serve", "--port", "0", code=1)
    assert refused["reason"] == "jwt_key_unreadable"


def test_a_worker_that_cannot_start_says_why_and_ends_the_service(place: Place) -> None:
    env = place.env | {"MNEMIC_EMBEDDING_BASE_URL": "https://embeddings.example/v1"}
    refused = Place(place.home, env).run("serve", "--port", "0", "--workers", "2", code=1)
    assert refused["reason"] == "host_not_allowed"


# ---- for many


def test_consent_is_required_of_a_service(shared: Served, place: Place) -> None:
    key = key_of(place, "--user", "asked", "--scopes", "read,write,admin")
    refused = shared.add("I live in a lighthouse", key=key)
    assert (refused.status, refused.code) == (403, "consent_required")
    given = {"purpose": "remember", "state": "granted"}
    assert shared.ask("PUT", "/api/consent", given, key=key).status == 200
    assert shared.add("I live in a lighthouse", key=key).status == 201


def test_a_services_key_acts_for_the_users_whom_it_names(shared: Served, place: Place) -> None:
    key = key_of(place, "--kind", "service")
    assert shared.ask("GET", "/api/memory", key=key).code == "user_required"
    given = {"purpose": "remember", "state": "granted"}
    for user in ("lee", "ada"):
        assert shared.ask("PUT", "/api/consent", given, key=key, Mnemic_User=user).status == 200
        assert shared.add(f"{user} sails every Sunday", key=key, Mnemic_User=user).status == 201
    for user in ("lee", "ada"):
        page = shared.ask("GET", "/api/memory", key=key, Mnemic_User=user).json
        assert [item["content"] for item in page["items"]] == [f"{user} sails every Sunday"]


def test_a_key_is_worthless_once_revoking_returns(shared: Served, place: Place) -> None:
    refused = place.run("apikey", "create", "--scopes", "read,foo", code=2)
    assert (refused["reason"], refused["message"]) == (
        "unknown_right",
        "The scopes of a key are any of read, write, admin.",
    )
    made = place.run("apikey", "create", "--user", "brief")
    open_now = [shared.connection() for _ in range(8)]  # on both workers
    for connection in open_now:
        assert (
            shared.ask("GET", "/api/memory", key=made["key"], on=connection).code
            == "consent_required"
        )
    place.run("apikey", "revoke", made["prefix"])
    for connection in open_now:
        refused = shared.ask("GET", "/api/memory", key=made["key"], on=connection)
        assert (refused.status, refused.code) == (401, "credential_revoked")
        connection.close()
    listed = {key["prefix"]: key for key in place.run("apikey", "list")["keys"]}
    assert listed[made["prefix"]]["revoked_at"] is not None
    assert listed[made["prefix"]]["last_used_at"] is not None
    assert place.run("apikey", "revoke", "aaaaaaaa", code=1)["reason"] == "api_key_not_found"


def test_scopes_hold_on_every_route(shared: Served, place: Place) -> None:
    reader = key_of(place, "--user", "kim", "--scopes", "read")
    assert shared.add("I keep five goats", key=reader).code == "scope_missing"
    writer = key_of(place, "--user", "kim", "--scopes", "write")
    assert shared.ask("GET", "/api/memory", key=writer).code == "scope_missing"
    assert shared.ask("DELETE", "/api/user?confirm=true", key=writer).code == "scope_missing"


def test_an_operator_sees_the_counts_of_all_workers_and_no_memory(
    shared: Served, place: Place
) -> None:
    operator = key_of(place, "--kind", "operator")
    for _ in range(10):
        assert shared.ask("GET", "/api/memory", key=operator).code == "operator_has_no_memory"
    counts = [shared.ask("GET", "/metrics", key=operator) for _ in range(6)]
    assert {reply.status for reply in counts} == {200}
    shown = re.findall(
        r'^mnemic_requests_total{(.*route="/api/memory".*)} ([0-9.]+)$',
        counts[-1].text,
        re.MULTILINE,
    )
    refused = [float(n) for labels, n in shown if 'status="403"' in labels and '"GET"' in labels]
    assert sum(refused) >= 10
    user = key_of(place, "--user", "kim")
    assert shared.ask("GET", "/metrics", key=user).code == "operator_required"


def test_the_logs_name_credentials_and_no_secret_or_content(shared: Served, place: Place) -> None:
    key = key_of(place, "--user", "logged")
    shared.add("My parrot is called Commodore", key=key)
    wait_for(lambda: key.split("_")[1] in shared.log.read_text())
    log = shared.log.read_text()
    assert "Commodore" not in log
    assert key not in log
    assert key.split("_", 2)[2] not in log
    for line in log.splitlines():
        if line.startswith("{"):
            assert json.loads(line)["level"]


# ---- without the packages of the service


def test_without_the_server_extra_everything_else_works(place: Place, tmp_path: Path) -> None:
    """A finder hides the packages, as if they had never been installed."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "from importlib.machinery import PathFinder\n"
        "class Without:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('fastapi', 'uvicorn', 'jwt', 'limits', 'starlette'):\n"
        "            return None\n"
        "        return PathFinder.find_spec(name, path, target)\n"
        "    def invalidate_caches(self):\n"
        "        PathFinder.invalidate_caches()\n"
        "sys.meta_path[:] = [Without() if one is PathFinder else one for one in sys.meta_path]\n"
    )
    env = place.env | {"PYTHONPATH": str(tmp_path)}
    bare = Place(place.home, env)
    refused = bare.run("serve", code=1)
    assert refused["reason"] == "server_not_installed"
    assert "'.[server]'" in refused["message"]
    made = bare.run("apikey", "create", "--user", "kim")
    assert made["prefix"] in {key["prefix"] for key in bare.run("apikey", "list")["keys"]}
    helped = subprocess.run([MNEMIC, "--help"], env=env, capture_output=True, text=True, check=True)
    assert "serve" in helped.stdout
