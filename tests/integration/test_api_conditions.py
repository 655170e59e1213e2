"""Does a deletion keep to the version that its caller has seen, and is said who may see a memory?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from api_world import Served, told
from conftest import Server

TEA = "I drink green tea in the morning"


@pytest.fixture(scope="module")
def served(server: Server) -> Iterator[Served]:
    """A running service, behind a port."""
    with Served(server.settings(f"t_{uuid4().hex[:12]}")) as running:
        yield running


@pytest.fixture
def user() -> str:
    """A user whom no other test has."""
    return f"kim-{uuid4().hex[:8]}"


@pytest.fixture
async def kim(served: Served, user: str) -> AsyncIterator[httpx2.AsyncClient]:
    """That user's client."""
    async with _client(served, user) as client:
        yield client


def _client(served: Served, user: str, **headers: str) -> httpx2.AsyncClient:
    given = {"authorization": f"Bearer mk_{user}"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return httpx2.AsyncClient(base_url=served.url, headers=given, timeout=60)


async def _added(client: httpx2.AsyncClient, content: str = TEA, **more: Any) -> str:
    answer = await client.post("/api/memory", json={"content": content} | more)
    assert answer.status_code == 201, answer.text
    found: str = answer.json()["id"]
    return found


async def _change(client: httpx2.AsyncClient, at: str, match: str = "*", **body: Any) -> Any:
    return await client.patch(at, json=body, headers={"if-match": match})


# ---- deletions


async def test_a_deletion_takes_only_the_version_that_it_names(kim: httpx2.AsyncClient) -> None:
    at = f"/api/memory/{await _added(kim)}"
    await _change(kim, at, content="I drink black tea in the morning")
    for match in ('"1"', '"1", "3"', 'W/"2"', '"abc"', '"0"'):
        problem = told(await kim.delete(at, headers={"if-match": match}), 412, "version_conflict")
        assert problem["details"] == {"version": 2}
    told(await kim.delete(at, headers={"if-match": "2"}), 400, "invalid_if_match")
    assert (await kim.get(at)).json()["version"] == 2
    rehearsed = await kim.delete(f"{at}?dry_run=true", headers={"if-match": '"2"'})
    assert rehearsed.json()["count"] == 2
    told(
        await kim.delete(f"{at}?dry_run=true", headers={"if-match": '"1"'}), 412, "version_conflict"
    )
    assert (await kim.delete(at, headers={"if-match": '"1", "2"'})).json()["count"] == 2
    told(await kim.delete(at, headers={"if-match": '"2"'}), 404, "item_not_found")


async def test_a_deletion_without_a_version_or_with_a_star_takes_whichever_is_there(
    kim: httpx2.AsyncClient,
) -> None:
    for headers in ({}, {"if-match": "*"}):
        at = f"/api/memory/{await _added(kim)}"
        await _change(kim, at, confidence=0.95)
        assert (await kim.delete(at, headers=headers)).status_code == 200


async def test_of_a_change_and_a_deletion_of_one_version_one_wins(kim: httpx2.AsyncClient) -> None:
    for _ in range(5):
        at = f"/api/memory/{await _added(kim)}"
        changed, deleted = await asyncio.gather(
            _change(kim, at, '"1"', content="I drink black tea in the morning"),
            kim.delete(at, headers={"if-match": '"1"'}),
        )
        outcome = (changed.status_code, deleted.status_code)
        assert outcome in ((200, 412), (404, 200)), (changed.text, deleted.text)
        there = (await kim.get(at)).status_code
        assert there == (200 if deleted.status_code == 412 else 404)
        await kim.delete("/api/memory?confirm=true")


async def test_a_deletion_sent_again_gets_its_first_answer(kim: httpx2.AsyncClient) -> None:
    at = f"/api/memory/{await _added(kim)}"
    headers = {"if-match": '"1", "2"', "idempotency-key": "d-1"}
    first = await kim.delete(at, headers=headers)
    again = await kim.delete(at, headers=headers)
    assert (first.status_code, first.text) == (again.status_code, again.text) == (200, first.text)
    headers["if-match"] = '"1"'
    told(await kim.delete(at, headers=headers), 422, "idempotency_mismatch")


async def test_a_change_sent_again_gets_its_first_answer_whatever_tags_it_names(
    kim: httpx2.AsyncClient,
) -> None:
    at = f"/api/memory/{await _added(kim)}"
    headers = {"if-match": '"1", "7"', "idempotency-key": "c-1"}
    body = {"content": "I drink black tea in the morning"}
    first = await kim.patch(at, json=body, headers=headers)
    again = await kim.patch(at, json=body, headers=headers)
    assert (first.status_code, first.text) == (200, again.text)
    assert first.headers["etag"] == again.headers["etag"] == '"2"'
    name = f"apollo-{uuid4().hex[:8]}"
    await kim.post("/api/projects", json={"id": name, "name": "Apollo"})
    headers["idempotency-key"] = "c-2"
    named = [
        await kim.patch(f"/api/projects/{name}", json={"name": "Apollo 2"}, headers=headers)
        for _ in range(2)
    ]
    assert [answer.json().get("version") for answer in named] == [2, 2]


async def test_an_edit_of_a_profile_sent_again_gets_its_first_answer(
    kim: httpx2.AsyncClient,
) -> None:
    there = (await kim.get("/api/memory/profile")).json()["version"]
    headers = {"if-match": f'"{there}", "{there + 7}"', "idempotency-key": "p-1"}
    answers = [
        await kim.patch("/api/memory/profile", json={"username": "Kim"}, headers=headers)
        for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].text == answers[1].text
    told(
        await kim.patch(
            "/api/memory/profile",
            json={"username": "Li"},
            headers={"if-match": headers["if-match"]},
        ),
        412,
        "version_conflict",
    )


async def test_the_cursor_of_another_user_or_list_is_refused_everywhere(
    served: Served, kim: httpx2.AsyncClient, user: str
) -> None:
    for number in range(3):
        await _added(kim, f"Shelf {number} holds {number * 13 + 2} boxes")
        await kim.post("/api/tasks", json={"task_type": "data_approval"})
        await kim.post(
            "/api/resources",
            content=f"Page {number} of the manual.",
            headers={"content-type": "text/plain"},
        )
    lists = ("/api/memory", "/api/tasks", "/api/resources")
    cursors = [(await kim.get(f"{path}?limit=1")).json()["cursor"] for path in lists]
    async with _client(served, f"lee-{user}") as lee:
        for path, own in zip(lists, cursors, strict=True):
            assert (await kim.get(path, params={"limit": "1", "cursor": own})).status_code == 200
            for cursor in cursors:
                asked = {"limit": "1", "cursor": cursor}
                told(await lee.get(path, params=asked), 422, "invalid_cursor")
                if cursor != own:
                    told(await kim.get(path, params=asked), 422, "invalid_cursor")


async def test_anothers_memory_tells_no_version(
    served: Served, kim: httpx2.AsyncClient, user: str
) -> None:
    at = f"/api/memory/{await _added(kim)}"
    async with _client(served, f"lee-{user}") as lee:
        for match in ('"1"', '"2"', '"1", "2"', "*"):
            foreign = told(await lee.delete(at, headers={"if-match": match}), 404, "item_not_found")
            unknown = told(
                await lee.delete(f"/api/memory/{uuid4()}", headers={"if-match": match}),
                404,
                "item_not_found",
            )
            assert {**foreign, "request_id": ""} == {**unknown, "request_id": ""}
    assert (await kim.get(at)).status_code == 200


async def test_a_project_is_deleted_at_the_version_that_is_named(
    served: Served, kim: httpx2.AsyncClient, user: str
) -> None:
    name = f"apollo/{user}"
    at = f"/api/projects/{name.replace('/', '%2F')}"
    await kim.post("/api/projects", json={"id": name, "name": "Apollo"})
    await _change(kim, at, name="Apollo 2")
    for match in ('"1"', '"1", "3"'):
        problem = told(
            await kim.delete(f"{at}?confirm=true", headers={"if-match": match}),
            412,
            "version_conflict",
        )
        assert problem["details"] == {"version": 2}
    async with _client(served, f"lee-{user}") as lee:
        for match in ('"1"', '"2"', '"1", "2"'):
            told(
                await lee.delete(f"{at}?confirm=true", headers={"if-match": match}),
                404,
                "project_not_found",
            )
    gone = await kim.delete(f"{at}?confirm=true", headers={"if-match": '"2"'})
    assert gone.status_code == 200


# ---- who sees it


async def test_visibility_is_changed_by_its_author_and_holds_at_once(
    served: Served, kim: httpx2.AsyncClient, user: str
) -> None:
    name, guest = f"apollo-{user}", f"lee-{user}"
    await kim.post("/api/projects", json={"id": name, "name": "Apollo"})
    await kim.put(f"/api/projects/{name}/members/{guest}", json={"role": "editor"})
    kim.headers["mnemic-project"] = name
    at = f"/api/memory/{await _added(kim, 'The valve is opened by hand', scope='project')}"
    async with _client(served, guest, mnemic_project=name) as lee:
        for visibility, seen in (("owner_only", 404), ("public", 200), ("members", 200)):
            changed = await _change(kim, at, visibility=visibility)
            assert (changed.status_code, changed.json()["reason"]) == (200, "edited")
            assert (await lee.get(at)).status_code == seen
            found = await lee.post("/api/memory/search", json={"query": "valve opened"})
            assert len(found.json()["hits"]) == (seen == 200)
        told(await _change(lee, at, visibility="public"), 403, "role_too_low")
    item = (await kim.get(at)).json()
    assert (item["visibility"], item["version"], item["content"]) == (
        "members", 4, "The valve is opened by hand",
    )  # fmt: skip
    versions = (await kim.get(f"{at}/history")).json()["versions"]
    assert [one["visibility"] for one in versions] == ["members", "public", "owner_only", "members"]


@pytest.mark.parametrize(
    ("value", "code"),
    [("friends", "unknown_visibility"), (7, "unknown_visibility"), (None, "field_null"),
     ("public", "visibility_without_project")],
)  # fmt: skip
async def test_what_is_no_visibility_changes_nothing(
    kim: httpx2.AsyncClient, value: object, code: str
) -> None:
    at = f"/api/memory/{await _added(kim)}"
    told(await _change(kim, at, visibility=value), 422, code)
    assert (await kim.get(at)).json()["version"] == 1


# ---- how much of a query was read


@pytest.mark.parametrize(
    ("query", "cut"),
    [("tea " * 2_500, True), ("花" * 2_001, True), ("花" * 2_000, False), (" " * 5_000 + "tea", False),
     ("\u0958" * 1_500, True), ("tea\u202e" * 600, False)],
)  # fmt: skip
async def test_whoever_searches_is_told_when_only_the_beginning_was_read(
    kim: httpx2.AsyncClient, query: str, cut: bool
) -> None:
    found = await kim.post("/api/memory/search", json={"query": query})
    assert (found.status_code, found.json()["query_cut"]) == (200, cut)
    text = await kim.post("/api/memory/context", json={"query": query})
    assert (text.status_code, text.json()["query_cut"]) == (200, cut)
    if len(query) < 3_000:
        asked = await kim.get("/api/memory/search", params={"query": query})
        assert asked.json()["query_cut"] is cut
