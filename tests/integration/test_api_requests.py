"""What does the service say to requests that cannot be meant, and how does it hold out?"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx2
import pytest
import structlog

from api_world import Served, app_on, asking, told
from conftest import Server
from mnemic.api.doors import Limits
from mnemic.errors import RateLimited
from mnemic.model import Actor, Verdict

if TYPE_CHECKING:
    from mnemic.service import MemoryService

JSON = {"content-type": "application/json"}
NUL, HALF, OVERRIDE = "\0", "\ud83d", "\u202e"


@pytest.fixture(scope="module")
def served(server: Server) -> Iterator[Served]:
    """A running service, behind a port."""
    with Served(server.settings(f"t_{uuid4().hex[:12]}")) as running:
        yield running


@pytest.fixture
async def kim(served: Served) -> AsyncIterator[httpx2.AsyncClient]:
    """The client of a user whom no other test has."""
    headers = {"authorization": f"Bearer mk_{uuid4().hex[:12]}"}
    async with httpx2.AsyncClient(base_url=served.url, headers=headers, timeout=60) as client:
        yield client


@pytest.fixture
async def near(stub_memory: MemoryService) -> AsyncIterator[httpx2.AsyncClient]:
    """Kim's client of a service in this very loop."""
    async with asking(app_on(stub_memory)) as client:
        yield client


async def _total(client: httpx2.AsyncClient) -> int:
    total: int = (await client.get("/api/memory", params={"status": "all"})).json()["total"]
    return total


# ---- who asks


async def test_nobody_gets_an_answer_and_no_body_is_read_for_them(
    stub_memory: MemoryService,
) -> None:
    async with asking(app_on(stub_memory)) as client:
        del client.headers["authorization"]
        for method, path in (("GET", "/api/memory"), ("POST", "/api/memory"), ("GET", "/metrics")):
            answer = await client.request(method, path, content=b"{" * 10_000_000)
            told(answer, 401, "credential_missing")
            assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_rights_decide_what_a_key_may(stub_memory: MemoryService) -> None:
    app = app_on(stub_memory)
    async with asking(app, "kim/read") as reader, asking(app, "kim/write") as writer:
        body = {"content": "I drink green tea"}
        told(await reader.post("/api/memory", json=body), 403, "scope_missing")
        assert (await writer.post("/api/memory", json=body)).status_code == 201
        told(await writer.get("/api/memory"), 403, "scope_missing")
        assert (await reader.get("/api/memory")).json()["total"] == 1
        found = await reader.post("/api/memory/search", json={"query": "green tea"})
        assert len(found.json()["hits"]) == 1
        assert (
            await reader.post("/api/memory/context", json={"query": "green tea"})
        ).status_code == 200
        told(await writer.delete("/api/user?dry_run=true"), 403, "scope_missing")


async def test_an_operator_sees_the_metrics_and_no_memory(stub_memory: MemoryService) -> None:
    app = app_on(stub_memory)
    async with asking(app, "operator") as operator, asking(app) as kim:
        await kim.post("/api/memory", json={"content": "I drink green tea"})
        told(await operator.get("/api/memory"), 403, "operator_has_no_memory")
        told(await kim.get("/metrics"), 403, "operator_required")
        shown = (await operator.get("/metrics")).text
    counted = 'mnemic_requests_total{method="POST",route="/api/memory",status="201"} 1.0'
    assert counted in shown
    assert 'mnemic_verdicts_total{verdict="stored"} 1.0' in shown
    assert "kim" not in shown


async def test_ids_make_no_series_of_metrics(stub_memory: MemoryService) -> None:
    app = app_on(stub_memory)
    async with asking(app, "operator") as operator, asking(app) as kim:
        for _ in range(3):
            await kim.get(f"/api/memory/{uuid4()}")
            await kim.get(f"/nowhere/{uuid4()}")
        shown = (await operator.get("/metrics")).text
    lines = [line for line in shown.splitlines() if line.startswith("mnemic_requests_total")]
    assert {line.partition(" ")[0] for line in lines} == {
        'mnemic_requests_total{method="GET",route="/api/memory/{item_id}",status="404"}',
        'mnemic_requests_total{method="GET",route="unknown",status="404"}',
    }


async def test_too_many_requests_are_told_when_to_come_back(stub_memory: MemoryService) -> None:
    class Strict:
        async def admit(self, rate_key: str, /) -> None:
            assert rate_key == "key:mk_kim"
            raise RateLimited("rate_limited", "Too many requests.", retry_after=6.2)

    async with asking(app_on(stub_memory, rates=Strict())) as client:
        answer = await client.get("/api/memory")
        told(answer, 429, "rate_limited")
        assert answer.headers["retry-after"] == "7"
        assert (await client.get("/healthz")).status_code == 200


# ---- what they send


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b"{'content': 1}",
        b"\xff\xfe",
        b'{"content": NaN}',
        b"[" * 100_000,
        b"9" * 5_000,
        b'{"content": "x",}',
        b'{"a":' * 3_000 + b"1" + b"}" * 3_000,
    ],
    ids=range(9),
)
async def test_a_body_that_is_no_json_is_refused(kim: httpx2.AsyncClient, body: bytes) -> None:
    answer = await kim.post("/api/memory", content=body, headers=JSON)
    if body:
        told(answer, 400, "malformed_json")
    else:
        told(answer, 422, "field_missing")


@pytest.mark.parametrize("body", [[], "text", 7, None, True, [{"content": "I drink tea"}]])
async def test_a_body_that_is_no_object_is_refused(kim: httpx2.AsyncClient, body: Any) -> None:
    answer = await kim.post("/api/memory", content=json.dumps(body), headers=JSON)
    assert answer.status_code == 422
    assert answer.json()["code"] in ("field_invalid", "field_missing")


@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"]
)
async def test_another_media_type_is_refused(kim: httpx2.AsyncClient, media: str) -> None:
    body = json.dumps({"content": "I drink green tea"})
    answer = await kim.post("/api/memory", content=body, headers={"content-type": media})
    told(answer, 415, "unsupported_media_type")
    assert await _total(kim) == 0


async def test_a_charset_beside_the_media_type_is_fine(kim: httpx2.AsyncClient) -> None:
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    body = json.dumps({"content": "I drink green tea"})
    assert (await kim.post("/api/memory", content=body, headers=headers)).status_code == 201


async def test_unknown_fields_are_refused_by_name_and_nothing_is_stored(
    kim: httpx2.AsyncClient,
) -> None:
    body = {"content": "I drink green tea", "colour": "secret", "owner_id": "lee"}
    problem = told(await kim.post("/api/memory", json=body), 422, "unknown_field")
    assert "colour" in problem["detail"]
    assert {one["field"] for one in problem["details"]["fields"]} == {"colour", "owner_id"}
    assert "secret" not in json.dumps(problem)
    assert await _total(kim) == 0


@pytest.mark.parametrize(
    "body",
    [
        '{"content": "I drink green tea", "content": "I own a boat"}',
        '{"content": "I drink green tea", "metadata": {"a": 1, "a": 2}}',
        '{"content": "I drink green tea", "metadata": {"a": [{"b": 1, "\\u0062": 2}]}}',
    ],
)
async def test_a_field_that_comes_twice_is_refused_and_nothing_is_stored(
    kim: httpx2.AsyncClient, body: str
) -> None:
    answer = await kim.post("/api/memory", content=body, headers=JSON)
    assert "tea" not in json.dumps(told(answer, 422, "field_repeated"))
    assert await _total(kim) == 0


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/memory?limit=1&limit=2"),
        ("GET", "/api/memory?limit=1&limit=1"),
        ("DELETE", "/api/memory?confirm=false&confirm=true"),
        ("DELETE", "/api/user?confirm=true&dry_run=true&dry_run=false"),
        ("GET", "/api/consent?a=1&a=2"),
    ],
)
async def test_a_parameter_that_comes_twice_is_refused(
    kim: httpx2.AsyncClient, method: str, path: str
) -> None:
    await kim.post("/api/memory", json={"content": "I drink green tea"})
    told(await kim.request(method, path), 422, "field_repeated")
    assert await _total(kim) == 1


async def test_what_looks_like_content_is_not_repeated_as_a_name(kim: httpx2.AsyncClient) -> None:
    body = json.dumps({"content": "x", "my card is 12": 1, "a\n": 2})
    answer = await kim.post("/api/memory", content=body, headers=JSON)
    assert "card" not in json.dumps(told(answer, 422, "unknown_field"))


async def test_a_body_over_the_limit_is_refused_before_it_is_read(near: httpx2.AsyncClient) -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(20 * 16):
            read += 1
            yield b"x" * 65_536

    declared = await near.post("/api/memory", content=b"x" * 20_000_000, headers=JSON)
    problem = told(declared, 413, "body_too_large")
    assert problem["details"] == {"limit": 2_000_000}
    told(await near.post("/api/memory", content=endless(), headers=JSON), 413, "body_too_large")
    assert await _total(near) == 0


async def test_pf_056_a_megabyte_is_refused_on_length_at_once(kim: httpx2.AsyncClient) -> None:
    for text in ("ab", "a@a.", "4-", "token_"):
        for size in (2_000, 1_000_000):
            began = time.process_time()
            answer = await kim.post(
                "/api/memory", json={"content": (text * size)[:size], "confidence": 0.9}
            )
            assert time.process_time() - began < 15
            assert answer.status_code in (200, 201)
            if size > 2_000:
                assert answer.json()["reason"] == "text_too_long"


async def test_a_body_that_does_not_come_is_not_waited_for(stub_memory: MemoryService) -> None:
    async def slow() -> AsyncIterator[bytes]:
        yield b'{"content"'
        await asyncio.sleep(30)

    async with asking(app_on(stub_memory, limits=Limits(seconds=0.3))) as client:
        answer = await client.post("/api/memory", content=slow(), headers=JSON)
    assert answer.status_code in (408, 504)


async def test_unknown_routes_and_methods_are_problems_too(kim: httpx2.AsyncClient) -> None:
    told(await kim.get("/api/nothing"), 404, "route_not_found")
    told(await kim.get("/api/memory/"), 404, "route_not_found")
    answer = await kim.put("/api/memory", json={})
    told(answer, 405, "method_not_allowed")
    assert "allow" in answer.headers


# ---- numbers, times, texts


@pytest.mark.parametrize("spelt", ["5", 5, " 5 ", "05"])
async def test_pf_134_a_number_may_be_spelt(kim: httpx2.AsyncClient, spelt: object) -> None:
    await kim.post("/api/memory", json={"content": "I drink green tea", "confidence": "0.8"})
    asked = {"query": "green tea", "k": spelt, "include_pending": "true", "min_score": "0.1"}
    hits = (await kim.post("/api/memory/search", json=asked)).json()["hits"]
    assert [hit["parts"]["confidence"] for hit in hits] == [0.8]
    by_address = await kim.get("/api/memory/search", params={"query": "green tea", "k": str(spelt)})
    assert len(by_address.json()["hits"]) == 1


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("confidence", "0.8x", "confidence_out_of_range"),
        ("confidence", "NaN", "confidence_out_of_range"),
        ("confidence", None, "confidence_out_of_range"),
        ("confidence", True, "confidence_out_of_range"),
        ("confidence", "１", "confidence_out_of_range"),
        ("confidence", "0x1", "confidence_out_of_range"),
        ("memory_type", "wish", "unknown_memory_type"),
        ("memory_type", None, "unknown_memory_type"),
        ("scope", "*", "unknown_scope"),
        ("source", "me", "unknown_source"),
        ("metadata", [], "metadata_not_json"),
        ("source_id", 7, "invalid_source_id"),
        ("valid_from", "2025-01-02T03:04:05", "naive_datetime"),
        ("valid_from", "2025-01-02", "naive_datetime"),
        ("valid_from", "yesterday", "invalid_datetime"),
        ("valid_to", 1_700_000_000, "invalid_datetime"),
    ],
)
async def test_pf_134_what_is_no_number_is_told_what_it_should_be(
    kim: httpx2.AsyncClient, field: str, value: object, code: str
) -> None:
    body = {"content": "I drink green tea", field: value}
    problem = told(await kim.post("/api/memory", json=body), 422, code)
    assert field in problem["detail"] or "metadata" in problem["detail"].lower()
    assert await _total(kim) == 0


@pytest.mark.parametrize("k", [0, -1, 101, "0", 1.5, "all", None, [5], 10**30])
async def test_pf_090_k_out_of_range_is_one_error_everywhere(
    kim: httpx2.AsyncClient, k: object
) -> None:
    answer = await kim.post("/api/memory/search", json={"query": "tea", "k": k})
    told(answer, 422, "k_out_of_range")
    if isinstance(k, int | str | float):
        by_address = await kim.get("/api/memory/search", params={"query": "tea", "k": str(k)})
        told(by_address, 422, "k_out_of_range")


async def test_pf_091_no_turns_are_no_turns(kim: httpx2.AsyncClient) -> None:
    said = {"messages": [{"role": "user", "content": f"turn {n}"} for n in range(3)]}
    await kim.post("/api/sessions/s1/messages", json=said)
    where = "/api/sessions/s1/messages"
    told(await kim.get(where, params={"limit": 0}), 422, "limit_out_of_range")
    assert len((await kim.get(where, params={"limit": 900})).json()["messages"]) == 3
    assert (await kim.get(where, params={"after": 3})).json()["messages"] == []


@pytest.mark.parametrize("query", ["", "   ", "\t", "\u3000"])
async def test_pf_045_a_blank_query_finds_nothing_on_any_route(
    kim: httpx2.AsyncClient, query: str
) -> None:
    await kim.post("/api/memory", json={"content": "I drink green tea"})
    told(await kim.post("/api/memory/search", json={"query": query}), 422, "blank_query")
    told(await kim.get("/api/memory/search", params={"query": query}), 422, "blank_query")
    told(await kim.post("/api/memory/context", json={"query": query}), 422, "blank_query")


@pytest.mark.parametrize("path", ["/api/memory", "/api/memory/search", "/api/memory/context"])
@pytest.mark.parametrize("sent", [None, [], {}])
async def test_pf_133_missing_and_null_fields_are_named(
    kim: httpx2.AsyncClient, path: str, sent: object
) -> None:
    name = "content" if path == "/api/memory" else "query"
    missing = told(await kim.post(path, json={}), 422, "field_missing")
    assert name in missing["detail"]
    wrong = await kim.post(path, json={name: sent})
    told(wrong, 422, f"{name}_not_text")
    assert await _total(kim) == 0


@pytest.mark.parametrize("zone", ["Z", "+08:00", "-05:30", "z"])
@pytest.mark.parametrize("field", ["as_of", "known_at"])
async def test_pf_098_a_time_names_its_zone(kim: httpx2.AsyncClient, field: str, zone: str) -> None:
    asked = {"query": "tea", field: f"2025-01-02T03:04:05{zone}"}
    assert (await kim.post("/api/memory/search", json=asked)).status_code == 200
    assert (await kim.get("/api/memory/search", params=asked)).status_code == 200
    naive = {"query": "tea", field: "2025-01-02T03:04:05"}
    told(await kim.post("/api/memory/search", json=naive), 422, "naive_datetime")
    told(await kim.get("/api/memory/search", params=naive), 422, "naive_datetime")


async def test_pf_098_every_field_that_takes_a_time_wants_its_zone(
    kim: httpx2.AsyncClient,
) -> None:
    kept = (await kim.post("/api/memory", json={"content": "I drink green tea"})).json()["id"]
    naive, zoned = "2025-01-02T03:04:05", "2025-01-02T03:04:05+08:00"

    async def asked(at: str) -> list[httpx2.Response]:
        fact = {"content": f"The pier is {len(at)} metres long", "valid_from": at}
        turn = {"role": "user", "content": "hello", "created_at": at}
        return [
            await kim.get("/api/memory/profile", params={"as_of": at}),
            await kim.post("/api/memory/batch", json={"memories": [fact]}),
            await kim.post("/api/sessions/s1/messages", json={"messages": [turn]}),
            await kim.patch(
                f"/api/memory/{kept}", json={"valid_to": at}, headers={"if-match": "*"}
            ),
        ]

    for answer in await asked(naive):
        told(answer, 422, "naive_datetime")
    assert await _total(kim) == 1
    answers = await asked(zoned)
    assert all(answer.is_success for answer in answers[1:3]), [one.text for one in answers]
    told(answers[0], 404, "profile_not_recorded")  # it had not begun
    told(answers[3], 422, "validity_reversed")  # it would end before it began
    assert not any("naive" in answer.text for answer in answers)


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (NUL, "control_characters"),
        ("\x1b", "control_characters"),
        (HALF, "lone_surrogates"),
        (OVERRIDE, "direction_overrides"),
    ],
    ids=["nul", "escape", "half a pair", "override"],
)
async def test_pf_030_032_035_what_cannot_be_stored_is_taken_out_and_told(
    kim: httpx2.AsyncClient, bad: str, kind: str
) -> None:
    body = json.dumps({"content": f"Acme moved{bad} to Shenzhen"})
    answer = await kim.post("/api/memory", content=body, headers=JSON)
    assert answer.status_code == 201
    assert answer.json()["removed"] == [kind]
    item = await kim.get(answer.headers["location"])
    assert item.json()["content"] == "Acme moved to Shenzhen"
    search = json.dumps({"query": f"Acme{bad}"})
    assert (await kim.post("/api/memory/search", content=search, headers=JSON)).status_code == 200


async def test_pf_030_one_bad_text_of_a_batch_leaves_the_others_alone(
    kim: httpx2.AsyncClient,
) -> None:
    texts = ["My bicycle is red and old", f"Acme moved{NUL} to Shenzhen", "The cat sleeps a lot"]
    body = {"memories": [{"content": text} for text in texts]}
    verdicts = (await kim.post("/api/memory/batch", json=body)).json()["verdicts"]
    assert [verdict["verdict"] for verdict in verdicts] == ["stored"] * 3
    assert [verdict["removed"] for verdict in verdicts] == [[], ["control_characters"], []]


@pytest.mark.parametrize("bad", [NUL, HALF, OVERRIDE, "\u2028"])
async def test_odd_characters_anywhere_are_no_server_error(
    kim: httpx2.AsyncClient, bad: str
) -> None:
    bodies = [
        {"content": "I drink green tea", "metadata": {f"a{bad}": f"b{bad}"}},
        {"content": "I drink green tea", "source_id": f"a{bad}"},
        {"content": "I drink green tea", "memory_type": f"fact{bad}"},
        {"content": "I drink green tea", f"x{bad}": 1},
    ]
    for body in bodies:
        answer = await kim.post("/api/memory", content=json.dumps(body), headers=JSON)
        assert answer.status_code < 500, answer.text
    for path in (f"/api/sessions/{bad!r}/messages", "/api/sessions/%00/messages"):
        assert (await kim.get(path)).status_code in (404, 422)
    said = {"messages": [{"role": "user", "content": f"a{bad}b", "speaker": bad}]}
    answer = await kim.post("/api/sessions/s1/messages", content=json.dumps(said), headers=JSON)
    assert answer.status_code == 201


@pytest.mark.parametrize(
    "key",
    ["topic' = 'x' OR '1'='1' --", 'a"b', "a.b", "a[0]", "$x", "'; drop table memory_item; --"],
)
async def test_pf_066_quotes_in_names_and_values_are_only_text(
    near: httpx2.AsyncClient, stub_memory: MemoryService, key: str
) -> None:
    await stub_memory.add_explicit_memory(Actor("lee"), "Lee drinks black coffee")
    told(await near.get("/api/memory", params={key: "1"}), 422, "unknown_field")
    for name in ("scope", "memory_type", "status"):
        assert (await near.get("/api/memory", params={name: key})).status_code == 422
    body = {"content": "I drink green tea", "metadata": {key: key}}
    added = await near.post("/api/memory", json=body)
    assert added.status_code == 201, added.text
    hits = (await near.post("/api/memory/search", json={"query": key})).json()["hits"]
    assert all("coffee" not in hit["content"] for hit in hits)


@pytest.mark.parametrize("length", [2_000, 2_001, 2_100])
async def test_pf_037_nothing_is_ever_cut(kim: httpx2.AsyncClient, length: int) -> None:
    text = ("The harbour is calm. " * 200)[: length - 1] + "x"
    answer = (await kim.post("/api/memory", json={"content": text})).json()
    if length == 2_000:
        where = f"/api/memory/{answer['id']}"
        assert (await kim.get(where)).json()["content"] == text
        for longer in (text + "y", text + "y" * 100):
            change = {"content": longer}
            kept = await kim.patch(where, json=change, headers={"if-match": "*"})
            assert (kept.json()["verdict"], kept.json()["reason"]) == ("rejected", "text_too_long")
            assert "2000" in kept.json()["message"]
        assert (await kim.get(where)).json()["content"] == text
    else:
        assert (answer["verdict"], answer["reason"]) == ("rejected", "text_too_long")
        assert "2000" in answer["message"]


@pytest.mark.parametrize(
    ("found", "status"),
    [
        ("not-a-uuid", 422),
        ("..%2f..%2fetc", 422),
        ("%00", 422),
        ("01a22de7-0000-7000-8000-000000000000", 404),
    ],
)
async def test_pf_135_an_id_that_is_none_is_refused_everywhere(
    kim: httpx2.AsyncClient, found: str, status: int
) -> None:
    head = {"if-match": "*"}
    for path in ("tasks/{}", "tasks/{}/history", "tasks/{}/replay"):
        assert (await kim.get(f"/api/{path.format(found)}")).status_code == status, path
    for path in ("tasks/{}/advance", "tasks/{}/complete"):
        assert (await kim.post(f"/api/{path.format(found)}", json={})).status_code == status, path
    for base in ("/api/memory", "/api/resources"):
        answers = [await kim.get(f"{base}/{found}"), await kim.delete(f"{base}/{found}")]
        assert [answer.status_code for answer in answers] == [status, status]
    change = await kim.patch(f"/api/memory/{found}", json={"confidence": 0.9}, headers=head)
    history = await kim.get(f"/api/memory/{found}/history")
    answer = await kim.post(f"/api/verifications/{found}", json={"answer": "deny"})
    assert {change.status_code, history.status_code, answer.status_code} == {status}


async def test_pf_044_a_pipe_is_a_word_and_no_operator(kim: httpx2.AsyncClient) -> None:
    for text in ("alpha note about the ferry", "beta note about the train"):
        await kim.post("/api/memory", json={"content": text})

    async def found(query: str) -> list[str]:
        hits = (await kim.post("/api/memory/search", json={"query": query})).json()["hits"]
        return [hit["content"] for hit in hits]

    assert await found("alpha|zeta") == await found("alpha zeta")


@pytest.mark.parametrize("name", ["if-match", "idempotency-key", "mnemic-session"])
async def test_a_header_that_comes_twice_is_refused(kim: httpx2.AsyncClient, name: str) -> None:
    added = await kim.post("/api/memory", json={"content": "I drink green tea"})
    where = added.headers["location"]
    headers = [(name, '"1"'), (name, '"2"')] + [("if-match", "*")] * (name != "if-match")
    told(await kim.patch(where, json={"confidence": 1.0}, headers=headers), 422, "header_repeated")


async def test_slashes_in_ids_are_part_of_them(kim: httpx2.AsyncClient) -> None:
    said = {"messages": [{"role": "user", "content": "I drink green tea"}]}
    answer = await kim.post("/api/sessions/a%2Fb/messages", json=said)
    assert answer.json() == {"session": "a/b", "seqs": [1]}
    assert len((await kim.get("/api/sessions/a%2Fb/messages")).json()["messages"]) == 1
    told(await kim.get("/api/sessions/a/b/messages"), 404, "route_not_found")
    told(await kim.get("/api/sessions/a%1Fb/messages"), 422, "invalid_id")
    told(await kim.get("/api/sessions/a%252Fb/messages"), 404, "session_not_found")


# ---- request ids, log


@pytest.mark.parametrize(
    ("given", "kept"),
    [("abc-123_X.y", True), ("a" * 129, False), ("two words", False), ("", False), ('"q"', False)],
)
async def test_a_well_formed_request_id_is_kept(
    kim: httpx2.AsyncClient, given: str, kept: bool
) -> None:
    answer = await kim.get("/api/memory/x", headers={"x-request-id": given})
    shown = answer.headers["x-request-id"]
    assert (shown == given) is kept
    assert answer.json()["request_id"] == shown


async def test_the_log_holds_ids_and_codes_and_nothing_that_was_said(
    near: httpx2.AsyncClient,
) -> None:
    with structlog.testing.capture_logs() as lines:
        await near.post("/api/memory", json={"content": "The lighthouse keeper is called Ada"})
        await near.get("/api/memory/search", params={"query": "lighthouse"})
        await near.post("/api/memory", json={"content": "lighthouse", "lighthouse": 1})
        await near.get("/lighthouse")
    requests = [line for line in lines if line["event"] == "request"]
    assert [line["status"] for line in requests] == [201, 200, 422, 404]
    assert [line["code"] for line in requests] == [None, None, "unknown_field", "route_not_found"]
    assert all(line["request_id"] and line["ms"] >= 0 for line in requests)
    assert "lighthouse" not in json.dumps(lines, default=str).lower()
    assert "kim" not in {line["credential"] for line in requests}


async def test_an_error_that_nobody_foresaw_tells_nothing(
    stub_memory: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*args: object, **more: object) -> Verdict:
        raise ValueError("the lighthouse keeper is called Ada")

    monkeypatch.setattr(stub_memory, "add_explicit_memory", broken)
    async with asking(app_on(stub_memory)) as client:
        with structlog.testing.capture_logs() as lines:
            answer = await client.post("/api/memory", json={"content": "I drink green tea"})
    told(answer, 500, "internal_error")
    assert "Ada" not in answer.text
    assert "Ada" not in json.dumps(lines, default=str)
    (line,) = [line for line in lines if line["event"] == "unforeseen"]
    assert (line["error"], line["request_id"]) == ("ValueError", answer.headers["x-request-id"])


# ---- time


async def test_a_request_that_takes_too_long_is_stopped_as_a_whole(
    stub_memory: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed = stub_memory._parts.models  # the write waits here, before its transaction
    real = embed.for_actor

    async def slow(actor: Actor) -> Any:
        await asyncio.sleep(30)
        return await real(actor)

    async with asking(app_on(stub_memory, limits=Limits(seconds=1))) as client:
        monkeypatch.setattr(type(embed), "for_actor", lambda self, actor: slow(actor))
        answer = await client.post("/api/memory", json={"content": "I drink green tea"})
        told(answer, 504, "request_timeout")
        monkeypatch.undo()
        assert await _total(client) == 0
        again = await client.post("/api/memory", json={"content": "I drink green tea"})
        assert again.status_code == 201


async def test_pf_123_health_answers_while_a_model_is_slow(
    stub_memory: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = stub_memory._parts.models
    real = models.for_actor

    held = asyncio.Event()

    async def slow(actor: Actor) -> Any:
        await held.wait()
        return await real(actor)

    async with asking(app_on(stub_memory)) as client:
        monkeypatch.setattr(type(models), "for_actor", lambda self, actor: slow(actor))
        waiting = asyncio.create_task(
            client.post("/api/memory", json={"content": "I drink green tea"})
        )
        async with asyncio.timeout(20):
            for _ in range(10):
                assert (await client.get("/healthz")).json() == {"status": "ok"}
                assert (await client.get("/readyz")).status_code == 200
                await asyncio.sleep(0.01)
        assert not waiting.done()
        held.set()
        assert (await waiting).status_code == 201


async def test_stopping_finishes_what_was_started_and_takes_nothing_new(
    stub_memory: MemoryService,
) -> None:
    app = app_on(stub_memory)
    async with asking(app) as client:
        started = [
            asyncio.create_task(
                client.post("/api/memory", json={"content": f"Shelf {n} holds {n * 13} boxes"})
            )
            for n in range(8)
        ]
        await asyncio.sleep(0.05)
        assert await app.state.service.running.drain(20) == 0
        told(await client.get("/api/memory"), 503, "service_closing")
        told(await client.get("/readyz"), 503, "service_closing")
        assert (await client.get("/healthz")).status_code == 200
        answers = await asyncio.gather(*started)
    ids = [answer.json()["id"] for answer in answers if answer.status_code == 201]
    assert ids
    for found in ids:
        assert (await stub_memory.get(Actor("kim"), found)).owner_id == "kim"
    assert {answer.status_code for answer in answers} <= {201, 503}


async def test_a_caller_who_goes_away_does_not_undo_what_was_started(
    stub_memory: MemoryService,
) -> None:
    app = app_on(stub_memory)
    async with asking(app) as client:
        request = asyncio.create_task(
            client.post("/api/memory", json={"content": "The harbour is calm at night"})
        )
        await asyncio.sleep(0.01)  # it is under way now
        assert app.state.service.running._tasks
        request.cancel()
        await asyncio.wait({request})
        await app.state.service.running.drain(20)
    assert (await stub_memory.list(Actor("kim"))).total == 1
