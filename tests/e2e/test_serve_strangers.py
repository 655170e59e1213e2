"""What do those get who have no credential, a wrong one, or headers that try to be somebody else?"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import psycopg
import pytest

from e2e.serving import Place, Served, key_of, place_at
from jwt_issuer import AUDIENCE, ISSUER, Issuer, claims, encoded, issuer, jwk, private_key, token
from mnemic.access.apikeys import FRESH
from mnemic.storage.embedded import join

PERSONAL = ("memory_item", "app_user", "data_key", "idempotency_key", "consent_log", "api_key")


@pytest.fixture(scope="module")
def issuing() -> Iterator[Issuer]:
    with issuer() as told:
        told.publishes(jwk(kid="k1"))
        yield told


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with place_at(tmp_path_factory.mktemp("strangers")) as made:
        yield made


@pytest.fixture(scope="module")
def served(place: Place, issuing: Issuer) -> Iterator[Served]:
    """A service of two processes that takes keys and tokens."""
    given = {
        "MNEMIC_JWT_JWKS_URL": issuing.url,
        "MNEMIC_ALLOWED_HOSTS": "127.0.0.1",
        "MNEMIC_JWT_ISSUER": ISSUER,
        "MNEMIC_JWT_AUDIENCE": AUDIENCE,
    }
    with place.served("--workers", "2", **given) as running:
        yield running


def rows_of(place: Place, user: str) -> dict[str, int]:
    """How many rows of a user each table holds."""
    joined = join(place.home / "data")
    try:
        with psycopg.connect(joined.url("owner"), options="-c search_path=mnemic,public") as conn:
            return {
                table: conn.execute(
                    f"select count(*) from {table} where scope_key = %s".encode(), [f"user:{user}"]
                ).fetchone()[0]  # type: ignore[index]
                for table in PERSONAL
            }
    finally:
        joined.leave()


def agree(served: Served, key: str) -> None:
    given = {"purpose": "remember", "state": "granted"}
    assert served.ask("PUT", "/api/consent", given, key=key).status == 200


# ---- tokens


def test_a_token_of_the_issuer_lets_its_user_in(served: Served) -> None:
    signed = token(sub="tova", headers={"kid": "k1"})
    assert served.add("I paint boats", key=signed).code == "consent_required"
    agree(served, signed)
    assert served.add("I paint boats", key=signed).status == 201
    assert "I paint boats" in served.ask("GET", "/api/memory", key=token(sub="tova")).text
    assert "boats" not in served.ask("GET", "/api/memory", key=token(sub="other")).text
    assert (
        served.ask("GET", "/api/memory", key=signed, Mnemic_User="other").code
        == "acting_not_allowed"
    )
    limited = token(sub="tova", scope="mnemic:read")
    assert served.add("I paint ships", key=limited).code == "scope_missing"


def test_no_other_token_does(served: Served, issuing: Issuer, place: Place) -> None:
    unsigned = f"{encoded({'alg': 'none', 'typ': 'JWT'})}.{encoded(claims(sub='victim'))}."
    wrong = {
        "alg none": unsigned,
        "alg none, signed": unsigned + encoded(b"x" * 64),
        "another key": token(sub="victim", key=private_key("other"), headers={"kid": "k1"}),
        "another audience": token(sub="victim", aud="elsewhere"),
        "another issuer": token(sub="victim", iss="https://evil.example"),
        "no expiry": token(sub="victim", exp=None),
        "an algorithm that is not listed": token(sub="victim", algorithm="PS256"),
        "an unknown key": token(sub="victim", headers={"kid": "k9"}),
        "nobody": token(sub=""),
    }
    for what, text in wrong.items():
        refused = served.add("I am not who I say", key=text)
        assert (refused.status, refused.code) == (401, "credential_invalid"), what
        assert refused.headers["www-authenticate"].startswith("Bearer"), what
        assert "victim" not in refused.text
    expired = served.add("I am late", key=token(sub="victim", exp=int(time.time()) - 3600))
    assert (expired.status, expired.code) == (401, "credential_expired")
    assert issuing.asked <= 4  # two workers, who may each ask again for the unknown key id
    assert set(rows_of(place, "victim").values()) == {0}


def test_pf_080_the_credentials_of_an_erased_user_store_nothing(
    served: Served, place: Place
) -> None:
    key = key_of(place, "--user", "gone", "--scopes", "read,write,admin")
    signed = token(sub="gone")
    agree(served, key)
    assert served.add("I collect stamps", key=key, Idempotency_Key="k-1").status == 201
    assert sum(rows_of(place, "gone").values()) >= 5
    assert served.ask("DELETE", "/api/user?confirm=true", key=key).status == 200
    time.sleep(FRESH + 0.2)
    for _ in range(6):  # both workers
        assert served.ask("GET", "/api/memory", key=key).code == "credential_invalid"
        assert served.add("I collect coins", key=key, Idempotency_Key="k-1").status == 401
        for text in (signed, token(sub="gone", iat=None)):
            refused = served.add("I collect coins", key=text)
            assert (refused.status, refused.code) == (401, "credential_erased")
            assert served.ask("GET", "/api/memory", key=text).code == "credential_erased"
            agreed = {"purpose": "remember", "state": "granted"}
            assert served.ask("PUT", "/api/consent", agreed, key=text).status == 401
    assert set(rows_of(place, "gone").values()) == {0}
    anew = token(sub="gone", iat=int(time.time()))
    assert served.add("I collect coins", key=anew).code == "consent_required"
    agree(served, anew)
    assert served.add("I collect coins", key=anew).status == 201
    assert served.ask("GET", "/api/memory", key=anew).json["total"] == 1
    assert served.add("I collect coins", key=signed).code == "credential_erased"
    assert served.add("I paint boats", key=token(sub="other", iat=None)).code == "consent_required"


# ---- headers, byte by byte


def raw(served: Served, *lines: bytes, body: bytes = b"") -> tuple[int, bytes]:
    """Send a request as bytes; return status and answer, 0 when the connection is closed without one."""
    host, port = urlsplit(served.told["url"]).netloc.rsplit(":", 1)
    with socket.create_connection((host, int(port)), 10) as conn:
        conn.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        conn.shutdown(socket.SHUT_WR)
        answer = b""
        while part := conn.recv(65_536):
            answer += part
    if not answer:
        return 0, b""
    return int(answer.split(b" ", 2)[1]), answer


def test_no_bytes_in_headers_are_a_way_to_anothers_memory(served: Served, place: Place) -> None:
    victim, mallory = key_of(place, "--user", "victor"), key_of(place, "--user", "mallory")
    service = key_of(place, "--kind", "service")
    for key in (victim, mallory):
        agree(served, key)
    assert served.add("The treasure lies under the oak", key=victim).status == 201
    get = b"GET /api/memory HTTP/1.1"
    own = b"Authorization: Bearer " + mallory.encode()
    his = b"Authorization: Bearer " + victim.encode()
    svc = b"Authorization: Bearer " + service.encode()
    tries = [
        [own, b"Mnemic-User: victor"],
        [own, b"mnemic-user: victor", b"mnemic-user: mallory"],
        [own, b"Mnemic-User: mallory", b"Mnemic-User: victor"],
        [own, b"Mnemic_User: victor"],
        [own, b"X-Mnemic-User: victor", b"X-Forwarded-User: victor", b"X-Remote-User: victor"],
        [own, b"Mnemic-User : victor"],
        [own, b"Mnemic-User: mallory\x00victor"],
        [own, b"Mnemic-User: mallory,victor"],
        [own, b"Mnemic-User: mallory", b" victor"],
        [own, b"Mnemic-Project: ../victor"],
        [own, b"Mnemic-Session: s1,user:victor"],
        [own, b"Mnemic-Project: x' or true --"],
        [b"Authorization: Bearer", b" " + victim.encode()],
        [b"Authorization : Bearer " + victim.encode()],
        [b"Proxy-" + his],
        [b"Cookie: Authorization=Bearer " + victim.encode()],
        [b"Authorization: " + victim.encode()],
        [b"Authorization: Bearer " + victim.encode() + b"," + mallory.encode()],
        [his, own],
        [own, his],
        [svc],
        [svc, b"Mnemic-User:"],
        [svc, b"Mnemic-User: mallory", b"Mnemic-User: victor"],
        [svc, b"Mnemic-User: victor\xe2\x80\x8b"],
        [svc, b"Mnemic-User: \xff\xfe"],
        [b"Authorization: Bearer " + b"A" * 100_000],
        [b"Authorization: Bearer \xff\xfe\x00"],
        [],
    ]
    for headers in tries:
        status, answer = raw(served, get, b"Host: x", b"Connection: close", *headers)
        assert b"treasure" not in answer, headers
        assert status < 500, (status, headers)
        if status == 200:
            assert headers[0] == own, headers  # read as what it is: mallory's own empty memory
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["total"] == 0


def test_a_body_or_a_query_names_nobody(served: Served, place: Place) -> None:
    victim, mallory = key_of(place, "--user", "viola"), key_of(place, "--user", "marvin")
    for key in (victim, mallory):
        agree(served, key)
    assert served.add("My boat is moored at pier nine", key=victim).status == 201
    for path in (
        "/api/memory?user=viola",
        "/api/memory?user_id=viola",
        "/api/memory?access_token=" + victim,
    ):
        assert "pier nine" not in served.ask("GET", path, key=mallory).text
        assert served.ask("GET", path, key="").status == 401
    for extra in (
        {"user": "viola"},
        {"user_id": "viola"},
        {"actor": {"user": "viola"}},
        {"scope_id": "viola"},
    ):
        found = served.ask("POST", "/api/memory/search", {"query": "boat", **extra}, key=mallory)
        assert found.status == 422
        assert (
            served.ask(
                "POST", "/api/memory", {"content": "I own this", **extra}, key=mallory
            ).status
            == 422
        )
    assert rows_of(place, "marvin")["memory_item"] == 0


def test_two_requests_in_one_are_not_taken_apart_differently(served: Served, place: Place) -> None:
    """Content-Length against Transfer-Encoding: the second request must not ride on the first one's key."""
    key = key_of(place, "--user", "smuggler")
    hidden = b"GET /api/memory HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    for more in (
        [b"Content-Length: 5", b"Transfer-Encoding: chunked"],
        [b"Content-Length: 0", b"Content-Length: 5"],
        [b"Content-Length: +5"],
        [b"Transfer-Encoding: chunked, identity"],
        [b"Transfer-Encoding: xchunked"],
    ):
        status, answer = raw(
            served, b"POST /api/memory/search HTTP/1.1", b"Host: x", b"Content-Type: application/json",
            b"Authorization: Bearer " + key.encode(), *more, body=b"0\r\n\r\n" + hidden,
        )  # fmt: skip
        assert status in (0, *range(400, 500)), more
        second = answer.partition(b"HTTP/1.1")[2].partition(b"HTTP/1.1")[2]
        assert not second or b" 401 " in second[:8] or b" 400 " in second[:8], more


def test_no_credential_stands_in_the_log(served: Served) -> None:
    log = served.log.read_text()
    assert "Bearer" not in log
    for line in log.splitlines():
        assert "eyJ" not in line
        if line.startswith("{"):
            credential = json.loads(line).get("credential")
            assert credential is None or len(credential) < 64
