"""Does the service remember, find, correct and forget over HTTP as the library does?"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest

from api_world import app_on, asking, told
from mnemic.cli.views import hit_json, verdict_json
from mnemic.ids import new_id
from mnemic.model import Actor

if TYPE_CHECKING:
    import httpx2

    from mnemic.service import MemoryService

TEA = {"content": "I drink green tea in the morning", "memory_type": "preference"}
KIM = Actor("kim")


@pytest.fixture
async def kim(stub_memory: MemoryService) -> AsyncIterator[httpx2.AsyncClient]:
    """Kim's client."""
    async with asking(app_on(stub_memory)) as client:
        yield client


@pytest.fixture
async def lee(stub_memory: MemoryService) -> AsyncIterator[httpx2.AsyncClient]:
    """Another user's client of the same service."""
    async with asking(app_on(stub_memory), "lee") as client:
        yield client


async def _added(client: httpx2.AsyncClient, content: str, **more: Any) -> str:
    answer = await client.post("/api/memory", json={"content": content} | more)
    assert answer.status_code == 201, answer.text
    found: str = answer.json()["id"]
    return found


# ---- add


async def test_a_row_that_was_added_is_created_with_its_place_and_version(
    kim: httpx2.AsyncClient,
) -> None:
    answer = await kim.post("/api/memory", json=TEA)
    assert answer.status_code == 201
    assert answer.json()["verdict"] == "stored"
    assert answer.headers["location"] == f"/api/memory/{answer.json()['id']}"
    assert answer.headers["etag"] == '"1"'
    assert answer.headers["cache-control"] == "no-store"
    item = await kim.get(answer.headers["location"])
    assert item.json()["content"] == TEA["content"]
    assert item.headers["etag"] == '"1"'


async def test_a_pending_row_is_created_too(kim: httpx2.AsyncClient) -> None:
    answer = await kim.post("/api/memory", json=TEA | {"confidence": 0.75})
    assert answer.status_code == 201
    assert answer.json()["verdict"] == "pending"
    assert answer.json()["question"]


async def test_a_rejected_text_is_answered_with_its_verdict(kim: httpx2.AsyncClient) -> None:
    answer = await kim.post("/api/memory", json=TEA | {"confidence": 0.5})
    assert answer.status_code == 200
    assert answer.json()["verdict"] == "rejected"
    assert answer.json()["reason"] == "confidence_too_low"
    assert "location" not in answer.headers


async def test_verdicts_look_as_on_the_command_line(
    kim: httpx2.AsyncClient, stub_memory: MemoryService
) -> None:
    verdict = await stub_memory.add_explicit_memory(KIM, TEA["content"])
    again = await stub_memory.add_explicit_memory(KIM, TEA["content"])
    answer = await kim.post("/api/memory", json={"content": TEA["content"]})
    assert answer.json() == verdict_json(again)
    assert answer.json()["of"] == str(verdict.id)


async def test_a_batch_has_a_verdict_for_each_text(kim: httpx2.AsyncClient) -> None:
    texts = ["My bicycle is red and old", "short", "My bicycle is red and old", "My cat is grey"]
    answer = await kim.post("/api/memory/batch", json={"memories": [{"content": t} for t in texts]})
    assert answer.status_code == 200
    assert [v["verdict"] for v in answer.json()["verdicts"]][:1] == ["stored"]
    assert answer.json()["verdicts"][2]["verdict"] == "duplicate"
    assert len(answer.json()["verdicts"]) == 4


async def test_times_and_metadata_come_back_as_they_were_sent(kim: httpx2.AsyncClient) -> None:
    sent = {"valid_from": "2024-01-02T03:04:05+08:00", "metadata": {"topic": "tea", "n": [1, 2]}}
    found = await _added(kim, TEA["content"], **sent)
    item = (await kim.get(f"/api/memory/{found}")).json()
    assert item["metadata"] == sent["metadata"]
    assert item["valid_from"] == sent["valid_from"]


# ---- search and context


async def test_search_by_address_and_by_body_find_the_same(
    kim: httpx2.AsyncClient, stub_memory: MemoryService
) -> None:
    await _added(kim, TEA["content"])
    by_address = await kim.get("/api/memory/search", params={"query": "green tea", "k": 3})
    by_body = await kim.post("/api/memory/search", json={"query": "green tea", "k": 3})
    assert by_address.json() == by_body.json()
    (hit,) = by_body.json()["hits"]
    (known,) = await stub_memory.search_memories(KIM, "green tea", 3)
    assert {name: hit[name] for name in hit_json(known) if name in hit} == hit_json(known)


async def test_search_includes_what_was_said(kim: httpx2.AsyncClient) -> None:
    said = {"messages": [{"role": "user", "content": "The harbour ferry leaves at noon"}]}
    assert (await kim.post("/api/sessions/s1/messages", json=said)).status_code == 201
    assert (
        await kim.post("/api/memory/extract", headers={"mnemic-session": "s1"})
    ).status_code == 200
    asked = {"query": "harbour ferry", "include": ["memory", "resource"]}
    hits = (await kim.post("/api/memory/search", json=asked)).json()["hits"]
    assert [hit["session"] for hit in hits if hit.get("kind") == "chat"] == ["s1"]
    query = {"query": "harbour ferry", "include": "memory,resource"}
    assert (await kim.get("/api/memory/search", params=query)).json()["hits"] == hits


async def test_context_is_text_for_a_prompt(
    kim: httpx2.AsyncClient, stub_memory: MemoryService
) -> None:
    await _added(kim, TEA["content"])
    answer = await kim.post("/api/memory/context", json={"query": "green tea in the morning"})
    assert TEA["content"] in answer.json()["context"]
    text = await stub_memory.build_context(KIM, "green tea in the morning")
    assert answer.json() == {"context": text, "query_cut": False}


async def test_extraction_turns_what_was_said_into_memories(kim: httpx2.AsyncClient) -> None:
    said = {"messages": [{"role": "user", "content": "Please remember: I always take the stairs."}]}
    await kim.post("/api/sessions/s1/messages", json=said)
    headers = {"mnemic-session": "s1"}
    report = (await kim.post("/api/memory/extract", headers=headers, json={})).json()
    assert report["turns"] == 1
    assert "stairs" in report["findings"][0]["candidate"]["content"]
    assert report["findings"][0]["verdict"]["verdict"] == "stored"
    assert (await kim.post("/api/memory/extract", headers=headers)).json()["turns"] == 0


async def test_extraction_without_a_session_says_what_is_missing(kim: httpx2.AsyncClient) -> None:
    told(await kim.post("/api/memory/extract"), 422, "session_required")


# ---- one item


async def test_a_change_names_the_version_that_it_means(kim: httpx2.AsyncClient) -> None:
    found = await _added(kim, TEA["content"])
    where, text = f"/api/memory/{found}", {"content": "I drink black tea in the evening"}
    told(await kim.patch(where, json=text), 428, "precondition_required")
    stale = await kim.patch(where, json=text, headers={"if-match": '"7"'})
    problem = told(stale, 412, "version_conflict")
    assert problem["error"] == "Conflict"
    assert problem["details"] == {"version": 1}
    changed = await kim.patch(where, json=text, headers={"if-match": '"1"'})
    assert changed.status_code == 200
    assert changed.headers["etag"] == '"2"'
    item = await kim.get(where)
    assert (item.json()["content"], item.headers["etag"]) == (text["content"], '"2"')
    versions = (await kim.get(f"{where}/history")).json()["versions"]
    assert [one["content"] for one in versions] == [text["content"], TEA["content"]]


@pytest.mark.parametrize(
    ("header", "status"),
    [('"1"', 200), ("*", 200), ('"9", "1"', 200), ('"8", "9"', 412), ('W/"1"', 412), ('""', 412)],
)
async def test_if_match_is_read_as_http_has_it(
    kim: httpx2.AsyncClient, header: str, status: int
) -> None:
    found = await _added(kim, TEA["content"])
    change = {"confidence": 0.95}
    answer = await kim.patch(f"/api/memory/{found}", json=change, headers={"if-match": header})
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize("header", ["1", '"1', "", '"1" "2"', '"1",'])
async def test_what_is_no_entity_tag_is_refused(kim: httpx2.AsyncClient, header: str) -> None:
    found = await _added(kim, TEA["content"])
    answer = await kim.patch(
        f"/api/memory/{found}", json={"confidence": 0.95}, headers={"if-match": header}
    )
    told(answer, 400, "invalid_if_match")


async def test_two_changes_of_one_version_are_one_change(kim: httpx2.AsyncClient) -> None:
    found = await _added(kim, TEA["content"])
    answers = await asyncio.gather(
        *(
            kim.patch(
                f"/api/memory/{found}",
                json={"content": f"I drink {kind} tea every day"},
                headers={"if-match": '"1"'},
            )
            for kind in ("mint", "oolong")
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200, 412]
    assert (await kim.get(f"/api/memory/{found}")).headers["etag"] == '"2"'


async def test_a_change_that_changes_nothing_keeps_the_version(kim: httpx2.AsyncClient) -> None:
    found = await _added(kim, TEA["content"])
    answer = await kim.patch(
        f"/api/memory/{found}", json={"confidence": 0.1}, headers={"if-match": '"1"'}
    )
    assert answer.json()["verdict"] == "rejected"
    assert answer.headers["etag"] == '"1"'


async def test_null_takes_an_end_away_and_nothing_else(kim: httpx2.AsyncClient) -> None:
    found = await _added(kim, TEA["content"], valid_to="2999-01-01T00:00:00Z")
    where, head = f"/api/memory/{found}", {"if-match": "*"}
    assert (await kim.patch(where, json={"valid_to": None}, headers=head)).status_code == 200
    assert (await kim.get(where)).json()["valid_to"] is None
    told(await kim.patch(where, json={"content": None}, headers=head), 422, "field_null")
    told(await kim.patch(where, json={}, headers=head), 422, "nothing_to_change")


async def test_what_was_deleted_is_gone(kim: httpx2.AsyncClient) -> None:
    found = await _added(kim, TEA["content"])
    rehearsed = await kim.delete(f"/api/memory/{found}", params={"dry_run": "true"})
    assert rehearsed.json() == {"count": 1, "ids": [found], "dry_run": True}
    assert (await kim.delete(f"/api/memory/{found}")).json()["count"] == 1
    told(await kim.get(f"/api/memory/{found}"), 404, "item_not_found")


# ---- all items


async def test_deleting_everything_needs_a_word(kim: httpx2.AsyncClient) -> None:
    await _added(kim, TEA["content"])
    told(await kim.delete("/api/memory"), 403, "confirmation_required")
    assert (await kim.delete("/api/memory", params={"dry_run": "true"})).json()["count"] == 1
    assert (await kim.get("/api/memory")).json()["total"] == 1
    assert (await kim.delete("/api/memory", params={"confirm": "true"})).json()["count"] == 1
    assert (await kim.get("/api/memory")).json()["total"] == 0


async def test_verifications_are_asked_and_answered(kim: httpx2.AsyncClient) -> None:
    first = (await kim.post("/api/memory", json=TEA | {"confidence": 0.75})).json()["id"]
    other = {"content": "My bicycle is red and old", "confidence": 0.75}
    second = (await kim.post("/api/memory", json=other)).json()["id"]
    questions = (await kim.get("/api/verifications")).json()["questions"]
    assert [one["item"]["id"] for one in questions] == [first, second]
    assert all(one["asked"] for one in questions)
    confirmed = await kim.post(f"/api/verifications/{first}", json={"answer": "confirm"})
    assert (confirmed.json()["verdict"], confirmed.json()["reason"]) == ("stored", "confirmed")
    denied = await kim.post(f"/api/verifications/{second}", json={"answer": "deny"})
    assert denied.json()["reason"] == "denied"
    again = await kim.post(f"/api/verifications/{first}", json={"answer": "confirm"})
    told(again, 409, "item_not_pending")
    told(
        await kim.post(f"/api/verifications/{first}", json={"answer": "perhaps"}),
        422,
        "field_invalid",
    )


# ---- other people's


async def test_pf_060_another_users_memory_answers_like_one_that_never_was(
    kim: httpx2.AsyncClient, lee: httpx2.AsyncClient
) -> None:
    hers = await _added(kim, TEA["content"])
    change = {"json": {"confidence": 0.95}, "headers": {"if-match": "*"}}
    for found in (hers, str(new_id())):
        answers = [
            await lee.get(f"/api/memory/{found}"),
            await lee.patch(f"/api/memory/{found}", **change),  # type: ignore[arg-type]
            await lee.delete(f"/api/memory/{found}"),
            await lee.get(f"/api/memory/{found}/history"),
            await lee.post(f"/api/verifications/{found}", json={"answer": "confirm"}),
        ]
        bodies = [told(answer, 404, "item_not_found") for answer in answers]
        for body in bodies:
            del body["request_id"]
        assert all(body == bodies[0] for body in bodies)
        assert found not in json.dumps(bodies)
    assert (await kim.get(f"/api/memory/{hers}")).json()["content"] == TEA["content"]


async def test_pf_068_a_dry_run_on_anothers_memory_tells_nothing(
    kim: httpx2.AsyncClient, lee: httpx2.AsyncClient
) -> None:
    hers = await _added(kim, TEA["content"])
    rehearsal = {"dry_run": "true"}
    problems = []
    for found in (hers, str(new_id())):
        answer = await lee.delete(f"/api/memory/{found}", params=rehearsal)
        problem = told(answer, 404, "item_not_found")
        del problem["request_id"]
        problems.append(problem)
    assert problems[0] == problems[1]


@pytest.mark.parametrize("name", ["user", "user_id", "owner_id", "tenant", "scope_key"])
@pytest.mark.parametrize("value", ["", "*", "kim", "null"])
async def test_pf_061_who_asks_cannot_be_said_in_a_request(
    kim: httpx2.AsyncClient, lee: httpx2.AsyncClient, name: str, value: str
) -> None:
    await _added(kim, TEA["content"])
    problems = [
        told(await lee.get("/api/memory", params={name: value}), 422, "unknown_field"),
        told(
            await lee.get("/api/memory/search", params={"query": "tea", name: value}),
            422,
            "unknown_field",
        ),
        told(
            await lee.post("/api/memory/search", json={"query": "tea", name: value}),
            422,
            "unknown_field",
        ),
        told(
            await lee.post("/api/memory/search", params={name: value}, json={"query": "tea"}),
            422,
            "unknown_field",
        ),
    ]
    assert all(name in problem["detail"] for problem in problems)


async def test_pf_062_another_user_in_a_session_of_the_same_name_finds_nothing(
    kim: httpx2.AsyncClient, lee: httpx2.AsyncClient
) -> None:
    session = {"mnemic-session": "s1"}
    body = TEA | {"scope": "session"}
    assert (await kim.post("/api/memory", json=body, headers=session)).status_code == 201
    found = await lee.post("/api/memory/search", json={"query": "green tea"}, headers=session)
    assert found.json() == {"hits": [], "query_cut": False}
    assert (await lee.get("/api/memory", headers=session)).json()["total"] == 0
    told(await lee.get("/api/sessions/s1/messages"), 404, "session_not_found")


async def test_pf_001_the_same_fact_twice_is_one_memory(kim: httpx2.AsyncClient) -> None:
    first = await _added(kim, "My locker number is 4417")
    again = await kim.post("/api/memory", json={"content": "My locker number is 4417"})
    assert again.status_code == 200
    assert (again.json()["verdict"], again.json()["of"]) == ("duplicate", first)
    assert (await kim.get("/api/memory")).json()["total"] == 1


async def test_pf_070_a_blank_at_the_end_of_a_name_makes_no_second_store(
    stub_memory: MemoryService,
) -> None:
    app = app_on(stub_memory)
    async with asking(app, "kim") as plain, asking(app, "kim ") as spaced:
        await _added(plain, TEA["content"])
        assert (await spaced.get("/api/memory")).json()["total"] == 1


async def test_pf_073_the_old_wording_is_not_found_after_a_change(kim: httpx2.AsyncClient) -> None:
    found = await _added(kim, "I park in bay 12 at work")
    await kim.patch(
        f"/api/memory/{found}",
        json={"content": "I park in bay 90 at work"},
        headers={"if-match": '"1"'},
    )
    hits = (await kim.post("/api/memory/search", json={"query": "park bay 12"})).json()["hits"]
    assert [hit["content"] for hit in hits] == ["I park in bay 90 at work"]


async def test_pf_071_a_new_text_keeps_metadata_and_creation_time(kim: httpx2.AsyncClient) -> None:
    metadata = {"topic": "sport", "priority": "high", "n": 3, "tags": ["a", "b"]}
    found = await _added(kim, "I play tennis on Mondays", metadata=metadata)
    where = f"/api/memory/{found}"
    before = (await kim.get(where)).json()
    await kim.patch(
        where, json={"content": "I play tennis on Tuesdays"}, headers={"if-match": '"1"'}
    )
    after = (await kim.get(where)).json()
    kept = ("metadata", "owner_id", "created_at", "memory_type", "source", "scope", "confidence")
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert after["recorded_at"] > before["recorded_at"]


async def test_pf_093_every_page_says_how_many_there_are(kim: httpx2.AsyncClient) -> None:
    for first in range(0, 137, 50):
        memories = [
            {"content": f"Parcel {n} of the order arrived on shelf {n * 7}"}
            for n in range(first, min(first + 50, 137))
        ]
        await kim.post("/api/memory/batch", json={"memories": memories})
    total = (await kim.get("/api/memory")).json()["total"]
    assert total == 137
    seen: list[str] = []
    cursor = None
    while True:
        params = {"limit": "40"} | ({"cursor": cursor} if cursor else {})
        page = (await kim.get("/api/memory", params=params)).json()
        assert page["total"] == total
        seen += [item["id"] for item in page["items"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == total
    told(await kim.get("/api/memory", params={"limit": 5000}), 422, "limit_out_of_range")


async def test_a_cursor_of_another_list_is_refused(
    kim: httpx2.AsyncClient, lee: httpx2.AsyncClient
) -> None:
    for text in ("My bicycle is red and old", "I keep three hens behind the house"):
        await _added(kim, text)
    cursor = (await kim.get("/api/memory", params={"limit": 1})).json()["cursor"]
    assert (await kim.get("/api/memory", params={"limit": 1, "cursor": cursor})).status_code == 200
    told(await lee.get("/api/memory", params={"cursor": cursor}), 422, "invalid_cursor")
    other = {"cursor": cursor, "status": "all"}
    told(await kim.get("/api/memory", params=other), 422, "invalid_cursor")
    told(await kim.get("/api/resources", params={"cursor": cursor}), 422, "invalid_cursor")
    for broken in ("", "x", cursor[:-5], cursor + "AAAA", "é", "a" * 9000):
        told(await kim.get("/api/memory", params={"cursor": broken}), 422, "invalid_cursor")
