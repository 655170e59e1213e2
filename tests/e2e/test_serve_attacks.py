"""What does the service do with clients that are careless, and with those that mean harm?"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from e2e.serving import Place, Served, key_of, place_at
from mnemic.ids import new_id

HOUSE = {"MNEMIC_RATE_LIMIT": "off", "MNEMIC_CONSENT": "implied", "MNEMIC_REQUEST_TIMEOUT": "2"}
SECRET = "The treasure lies under the old oak"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with place_at(tmp_path_factory.mktemp("attacks")) as made:
        yield made


@pytest.fixture(scope="module")
def served(place: Place) -> Iterator[Served]:
    """One worker, so that whoever holds it up is noticed; requests may take two seconds."""
    with place.served("--workers", "1", **HOUSE) as running:
        running.key = key_of(place, "--user", "mallory")
        victim = key_of(place, "--user", "victor")
        added = running.add(SECRET, key=victim)
        assert added.status == 201
        running.headers.update(victim=victim, item=added.json["id"])
        yield running


def opened(served: Served) -> socket.socket:
    host, port = urlsplit(served.told["url"]).netloc.rsplit(":", 1)
    return socket.create_connection((host, int(port)), 20)


def sent(served: Served, data: bytes) -> bytes:
    """Send bytes that ask for the end of the connection; return all that comes until then."""
    with opened(served) as conn:
        answer = b""
        try:
            conn.sendall(data)
            while part := conn.recv(65_536):
                answer += part
        except ConnectionError:  # closed while we were still sending
            pass
        return answer


def head(served: Served, line: str, *more: str, key: str | None = None) -> bytes:
    bearer = f"Authorization: Bearer {served.key if key is None else key}"
    return "\r\n".join([line, "Host: x", bearer, *more, "", ""]).encode()


def statuses(answer: bytes) -> list[int]:
    return [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]


# ---- slow ones


def test_a_head_that_does_not_come_is_not_waited_for(served: Served) -> None:
    """Dozens of connections send a byte now and then: they are closed, and others served meanwhile."""
    idle = [opened(served) for _ in range(40)]
    began, gone = time.monotonic(), 0
    try:
        for conn in idle[:20]:
            conn.sendall(b"GET /api/memory HTTP/1.1\r\nHost: x\r\n")
        while time.monotonic() - began < 20 and gone < len(idle):
            assert served.ask("GET", "/healthz", key="").status == 200
            time.sleep(0.5)
            gone = sum(not alive(conn) for conn in idle)
    finally:
        for conn in idle:
            conn.close()
    assert gone == len(idle)
    assert time.monotonic() - began > 5


def alive(conn: socket.socket) -> bool:
    """Send one byte more of a header; tell whether the other side still listens."""
    try:
        conn.sendall(b"X")
        conn.setblocking(False)
        return conn.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        conn.setblocking(True)


def test_a_body_that_trickles_in_is_not_waited_for_and_stores_nothing(served: Served) -> None:
    data = head(
        served, "POST /api/memory HTTP/1.1", "Content-Type: application/json", "Content-Length: 60"
    )
    with opened(served) as conn:
        conn.sendall(data)
        began = time.monotonic()
        answer = b""
        conn.settimeout(0.3)
        while not answer and time.monotonic() - began < 15:
            conn.sendall(b" ")
            try:
                answer = conn.recv(65_536)
            except TimeoutError:
                continue
    assert statuses(answer) == [408] or statuses(answer) == [504]
    assert 1.5 < time.monotonic() - began < 10
    assert served.ask("GET", "/api/memory").json["total"] == 0


def test_who_does_not_read_the_answer_holds_nobody_up(served: Served) -> None:
    with opened(served) as conn:
        conn.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        conn.sendall(head(served, "GET /openapi.json HTTP/1.1") * 100)
        for _ in range(5):
            began = time.monotonic()
            assert served.ask("GET", "/api/memory").status == 200
            assert time.monotonic() - began < 3


# ---- bodies


def test_a_body_of_20_mb_is_refused_before_it_is_read(served: Served) -> None:
    declared = f"Content-Length: {20 * 2**20}"
    began = time.monotonic()
    answer = sent(
        served,
        head(
            served, "POST /api/memory HTTP/1.1", "Content-Type: application/json", declared,
            "Connection: close",
        ),
    )  # fmt: skip
    assert time.monotonic() - began < 3
    assert statuses(answer) == [413]
    assert b"body_too_large" in answer


def test_a_body_that_grows_without_end_is_cut_off(served: Served) -> None:
    data = head(
        served,
        "POST /api/memory HTTP/1.1",
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
    )
    piece = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    with opened(served) as conn:
        conn.sendall(data)
        answer = b""
        try:
            for _ in range(200):
                conn.sendall(piece)
            answer = conn.recv(65_536)
        except OSError:  # closed while we were sending
            pass
    assert not answer or statuses(answer)[0] in (400, 413)
    assert served.ask("GET", "/api/memory").status == 200


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "deflate", "br", "gzip, identity", "x"])
def test_a_packed_body_is_refused_as_such(encoding: str, served: Served) -> None:
    body = gzip.compress(json.dumps({"content": "I like packed things"}).encode())
    for path, media in (("/api/memory", "application/json"), ("/api/resources", "text/plain")):
        answer = sent(
            served,
            head(
                served, f"POST {path} HTTP/1.1", f"Content-Type: {media}", "Connection: close",
                f"Content-Encoding: {encoding}", f"Content-Length: {len(body)}",
            )
            + body,
        )  # fmt: skip
        assert statuses(answer) == [415]
        assert b"unsupported_media_type" in answer


@pytest.mark.parametrize(
    "body",
    [b"[" * 200_000, b'{"a":' * 100_000, b'{"content": "' + b"\\ud800" * 100_000 + b'"}', b'{"k": 1e999}',
     b'{"content": ' + b"9" * 500_000 + b"}", b"\xff\xfe{\x00}\x00", b"\x00" * 1_000, b"",
     b'{"content": "a", "content": "I have two bodies"}' * 2],
)  # fmt: skip
def test_bodies_that_are_made_to_hurt_are_refused_quickly(body: bytes, served: Served) -> None:
    data = head(
        served, "POST /api/memory HTTP/1.1", "Content-Type: application/json", "Connection: close",
        f"Content-Length: {len(body)}",
    )  # fmt: skip
    began = time.monotonic()
    answer = sent(served, data + body)
    assert time.monotonic() - began < 3
    assert statuses(answer)[0] in (200, 400, 422)
    assert b'"verdict":"stored"' not in answer


# ---- requests in each other's clothes


def test_pipelined_requests_are_answered_each_by_its_own_credential(served: Served) -> None:
    """Two in one packet: the second one has another key, or none."""
    victim = served.headers["victim"]
    line = "GET /api/memory HTTP/1.1"
    for first, second, told in (
        (victim, "mk_" + "a" * 8 + "_" + "A" * 43, [200, 401]),
        (served.key, victim, [200, 200]),
    ):
        data = head(served, line, key=first)
        data += head(served, line, "Connection: close", key=second)
        answer = sent(served, data)
        assert statuses(answer) == told
        parts = answer.split(b"HTTP/1.1 ")[1:]
        assert (b"treasure" in parts[0]) is (first == victim)
        assert (b"treasure" in parts[1]) is (second == victim)
    bare = b"GET /api/memory HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    answer = sent(served, head(served, line, key=victim) + bare)
    assert statuses(answer) == [200, 401]
    assert b"treasure" not in answer.split(b"HTTP/1.1 401")[1]


def test_no_spelling_of_a_path_or_method_is_a_way_around_the_door(served: Served) -> None:
    item = served.headers["item"]
    paths = (
        "//api/memory", "/api//memory", "/api/memory/", "/api/memory/.", "/./api/memory", "/x/../api/memory",
        "/api/%6Demory", "/API/MEMORY", "/api/memory;v=1", "/api/memory%00", "/api/memory%2F" + item,
        "/api/memory/%2e%2e/memory", "http://x/api/memory", "http://evil.example/api/memory", "*",
        "/api/memory/" + item.upper(), "/api/memory/{" + item + "}", "/api/memory/urn:uuid:" + item,
        "/api/memory/" + item.replace("-", ""), "/healthz/../api/memory", "/healthz%2f..%2fapi%2fmemory",
        "/api/memory?token=" + served.headers["victim"], "/api/memory#" + item, "/%C0%AE/api/memory",
    )  # fmt: skip
    for path in paths:
        for method in ("GET", "HEAD", "POST", "DELETE", "TRACE", "CONNECT", "get", "PROPFIND"):
            line = f"{method} {path} HTTP/1.1"
            nobody = sent(served, f"{line}\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            mallory = sent(served, head(served, line, "Connection: close"))
            for answer in (nobody, mallory):
                assert b"treasure" not in answer, line
                assert all(status < 500 for status in statuses(answer)), (line, answer)
            assert not any(status < 400 for status in statuses(nobody)), (line, nobody)
    assert served.ask("GET", f"/api/memory/{item}", key=served.headers["victim"]).status == 200


@pytest.mark.parametrize(
    "extra",
    [["Mnemic-User: victor", "Mnemic-User: mallory"], ["Mnemic-User: mallory", "mnemic-user: victor"],
     ["Mnemic-Project: a", "MNEMIC-PROJECT: b"], ["Mnemic-Session: a", "Mnemic-Session: a"],
     ["X-HTTP-Method-Override: DELETE", "X-Original-URL: /api/user", "Mnemic-User: victor"]],
)  # fmt: skip
def test_headers_that_come_twice_or_mean_something_elsewhere(
    extra: list[str], served: Served, place: Place
) -> None:
    service = served.headers.setdefault("service", key_of(place, "--kind", "service"))
    for key in (served.key, service):
        answer = sent(
            served, head(served, "GET /api/memory HTTP/1.1", *extra, "Connection: close", key=key)
        )
        (status,) = statuses(answer)
        if key == service and "X-Original-URL: /api/user" in extra:
            assert status == 200  # a service may ask for victor; nothing was deleted
            assert b"treasure" in answer
        else:
            assert status in (403, 422)
            assert b"treasure" not in answer


# ---- cursors and ids


def marked(user: str, inner: str) -> str:
    """Make a cursor as the service would for a user's list: the mark is no secret."""
    filters = [("memory_type", None), ("scope", None), ("status", "active")]
    about = json.dumps([user, None, None, "memory", filters], ensure_ascii=True, default=str)
    mark = hashlib.sha256(about.encode()).hexdigest()[:12]
    return base64.urlsafe_b64encode(f"{mark}{inner}".encode()).decode()


@pytest.mark.parametrize(
    "place_in_list",
    ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999-14:00", "2026-01-01T00:00:00+23:59:59.999999",
     "2026-W01-1T00:00:00+00:00", "20260101T000000Z", "-1-01-01", "", "infinity", "now"],
)  # fmt: skip
def test_forged_cursors_show_nothing_and_break_nothing(place_in_list: str, served: Served) -> None:
    inner = base64.urlsafe_b64encode(f"{place_in_list}|{new_id()}".encode()).decode()
    for user in ("mallory", "victor"):
        reply = served.ask("GET", f"/api/memory?cursor={marked(user, inner)}")
        assert reply.status in (200, 422), reply.text
        assert "treasure" not in reply.text
        if user == "victor":
            assert reply.code == "invalid_cursor"


@pytest.mark.parametrize("size", [1_000, 30_000, 200_000])
def test_huge_cursors_are_refused(size: int, served: Served) -> None:
    answer = sent(
        served, head(served, f"GET /api/memory?cursor={'A' * size} HTTP/1.1", "Connection: close")
    )
    assert statuses(answer) in ([422], [400], [])  # [] where it was closed while we sent
    assert statuses(answer) != [] or size > 60_000


def test_the_cursor_of_another_user_is_refused(served: Served) -> None:
    victim = served.headers["victim"]
    for number in range(3):
        assert served.add(f"Chest {number} holds {number + 4} coins", key=victim).status == 201
    cursor = served.ask("GET", "/api/memory?limit=1", key=victim).json["cursor"]
    assert served.ask("GET", f"/api/memory?limit=1&cursor={cursor}", key=victim).status == 200
    refused = served.ask("GET", f"/api/memory?limit=1&cursor={cursor}")
    assert (refused.status, refused.code) == (422, "invalid_cursor")


def test_ids_in_other_digits_lead_nowhere_new(served: Served) -> None:
    item = served.headers["item"]
    wide = "".join(chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in item)
    for spelt in (
        wide,
        item + "\u200b",
        "\u202e" + item,
        item.replace("-", "\u2010"),
        "é" * 36,
        "1" * 5_000,
    ):
        path = "/api/memory/" + "".join(f"%{byte:02X}" for byte in spelt.encode())
        foreign = served.ask("GET", path)
        assert foreign.status in (404, 422)
        assert "treasure" not in foreign.text


# ---- keys that end, and keys that come again


def test_a_key_that_is_revoked_while_requests_are_in_flight(served: Served, place: Place) -> None:
    """Clients ask without a pause; once `revoke` has returned, none is let in any more."""
    made = place.run("apikey", "create", "--user", "racer")
    replies: list[tuple[float, int]] = []
    stop = threading.Event()

    def ask() -> None:
        with closing(served.connection()) as connection:
            while not stop.is_set():
                began = time.monotonic()
                reply = served.ask("GET", "/api/memory", key=made["key"], on=connection)
                replies.append((began, reply.status))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    place.run("apikey", "revoke", made["prefix"])
    returned = time.monotonic()
    time.sleep(0.5)
    stop.set()
    for thread in threads:
        thread.join(30)
    assert {status for _, status in replies} == {200, 401}
    late = [status for began, status in replies if began > returned]
    assert len(late) > 20
    assert set(late) == {401}


def test_an_idempotency_key_is_no_way_to_anothers_answer(served: Served, place: Place) -> None:
    service = served.headers.setdefault("service", key_of(place, "--kind", "service"))
    body: dict[str, Any] = {"content": "I own a boat with a green sail"}
    answers = {}
    for user, key in (("ira", service), ("joe", service), ("ira", ""), ("victor", "")):
        own = key or key_of(place, "--user", user)
        named = {"Mnemic_User": user} if key else {}
        reply = served.ask("POST", "/api/memory", body, key=own, Idempotency_Key="k-1", **named)
        answers[user, bool(key)] = reply.json
    assert answers["ira", True]["verdict"] == answers["joe", True]["verdict"] == "stored"
    assert answers["ira", True]["id"] != answers["joe", True]["id"]
    assert answers["ira", False]["verdict"] == "duplicate"  # another credential: done again
    assert answers["victor", False]["verdict"] == "stored"


def test_nothing_of_all_that_was_an_error_of_the_service(served: Served) -> None:
    """Comes last: the log of this module knows no error that nobody foresaw."""
    log = Path(served.log).read_text()
    assert '"event": "request"' in log
    assert '"unforeseen"' not in log
    assert "Traceback" not in log
