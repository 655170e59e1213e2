"""Do projects, documents, consent, erasure and repeated requests work over HTTP?"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from api_world import app_on, asking, told
from mnemic.api.doors import Limits
from mnemic.errors import StorageUnavailable
from mnemic.ids import new_id
from mnemic.longterm.write import Writer
from mnemic.model import Actor

if TYPE_CHECKING:
    import httpx2
    from fastapi import FastAPI

    from mnemic.service import MemoryService

TEA = {"content": "I drink green tea in the morning"}
PLAIN = {"content-type": "text/plain"}
NOTE = b"The harbour ferry leaves at noon from the second pier."


@pytest.fixture
def app(stub_memory: MemoryService) -> FastAPI:
    """The service on a memory."""
    return app_on(stub_memory)


@pytest.fixture
async def kim(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    """Kim's client."""
    async with asking(app) as client:
        yield client


@pytest.fixture
async def lee(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    """Another user's client of the same service."""
    async with asking(app, "lee") as client:
        yield client


# ---- Idempotency-Key


async def test_the_same_request_with_the_same_key_gets_the_first_answer(
    kim: httpx2.AsyncClient,
) -> None:
    key = {"idempotency-key": uuid4().hex}
    first = await kim.post("/api/memory", json=TEA, headers=key)
    again = await kim.post("/api/memory", json=TEA, headers=key)
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json()
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["etag"] == first.headers["etag"]
    assert (await kim.get("/api/memory")).json()["total"] == 1


async def test_another_request_with_the_same_key_is_refused(kim: httpx2.AsyncClient) -> None:
    key = {"idempotency-key": uuid4().hex}
    await kim.post("/api/memory", json=TEA, headers=key)
    other = {"content": "My bicycle is red and old"}
    told(await kim.post("/api/memory", json=other, headers=key), 422, "idempotency_mismatch")
    told(await kim.delete("/api/memory?confirm=true", headers=key), 422, "idempotency_mismatch")
    assert (await kim.get("/api/memory")).json()["total"] == 1


async def test_a_batch_that_broke_off_between_two_scopes_is_asked_again_whole(
    kim: httpx2.AsyncClient, stub_memory: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = await kim.post("/api/projects", json={"id": "p", "name": "P"})
    assert created.status_code == 201, created.text
    settled, asked = Writer._settled, 0

    async def away_once(*given: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise StorageUnavailable("database_unreachable", "The database is away.")
        return await settled(*given)

    monkeypatch.setattr(Writer, "_settled", away_once)
    deploys = {"content": "The project deploys with Kubernetes", "scope": "project"}
    headers = {"idempotency-key": uuid4().hex, "mnemic-project": "p"}
    ask = {"url": "/api/memory/batch", "json": {"memories": [TEA, deploys]}, "headers": headers}
    told(await kim.post(**ask), 503, "database_unreachable")
    again = await kim.post(**ask)
    outcomes = [verdict["verdict"] for verdict in again.json()["verdicts"]]
    assert outcomes == ["duplicate", "stored"]


async def test_a_key_is_its_users_own(kim: httpx2.AsyncClient, lee: httpx2.AsyncClient) -> None:
    key = {"idempotency-key": "same"}
    hers = await kim.post("/api/memory", json=TEA, headers=key)
    his = await lee.post("/api/memory", json=TEA, headers=key)
    assert his.status_code == 201
    assert his.json()["id"] != hers.json()["id"]


async def test_many_at_once_with_one_key_are_one(kim: httpx2.AsyncClient) -> None:
    key = {"idempotency-key": uuid4().hex}
    answers = await asyncio.gather(
        *(kim.post("/api/memory", json=TEA, headers=key) for _ in range(8))
    )
    statuses = {answer.status_code for answer in answers}
    assert statuses <= {201, 409}
    assert 201 in statuses
    for answer in answers:
        if answer.status_code == 409:
            told(answer, 409, "idempotency_in_flight")
            assert answer.headers["retry-after"] == "1"
    assert (await kim.get("/api/memory")).json()["total"] == 1
    assert (await kim.post("/api/memory", json=TEA, headers=key)).status_code == 201


async def test_what_was_refused_may_be_tried_again_with_the_same_key(
    kim: httpx2.AsyncClient,
) -> None:
    key = {"idempotency-key": uuid4().hex}
    told(
        await kim.post("/api/memory", json=TEA | {"scope": "x"}, headers=key), 422, "unknown_scope"
    )
    assert (await kim.post("/api/memory", json=TEA, headers=key)).status_code == 201


@pytest.mark.parametrize("key", ["", "two words", "x" * 256])
async def test_what_is_no_key_is_refused(kim: httpx2.AsyncClient, key: str) -> None:
    answer = await kim.post("/api/memory", json=TEA, headers={"idempotency-key": key})
    told(answer, 422, "idempotency_key_invalid")
    assert (await kim.get("/api/memory")).json()["total"] == 0


async def test_pf_106_every_kind_of_change_is_done_once(kim: httpx2.AsyncClient) -> None:
    found = (await kim.post("/api/memory", json=TEA)).json()["id"]
    said = {"messages": [{"role": "user", "content": "Please remember: I take the stairs."}]}
    session = {"mnemic-session": "s1"}
    changes: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/api/memory/batch", {"json": {"memories": [{"content": "My cat is grey"}]}}),
        (
            "POST",
            "/api/memory/batch",
            {"json": {"memories": [{"content": "I own a boat"}, {"content": "tiny"}]}},
        ),
        (
            "PATCH",
            f"/api/memory/{found}",
            {"json": {"confidence": 0.95}, "headers": {"if-match": '"1"'}},
        ),
        ("POST", "/api/sessions/s1/messages", {"json": said}),
        ("POST", "/api/memory/extract", {"headers": session}),
        ("POST", "/api/projects", {"json": {"id": "apollo", "name": "Apollo"}}),
        ("PUT", "/api/projects/apollo/members/lee", {"json": {"role": "editor"}}),
        ("DELETE", "/api/projects/apollo/members/lee", {}),
        ("POST", "/api/resources", {"content": NOTE, "headers": PLAIN}),
        ("DELETE", f"/api/memory/{found}", {}),
        ("DELETE", "/api/projects/apollo?confirm=true", {}),
        ("DELETE", "/api/memory?confirm=true", {}),
    ]
    for method, path, more in changes:
        headers = more.pop("headers", {}) | {"idempotency-key": uuid4().hex}
        first = await kim.request(method, path, headers=headers, **more)
        again = await kim.request(method, path, headers=headers, **more)
        assert first.status_code < 300, (path, first.text)
        assert (again.status_code, again.text) == (first.status_code, first.text), path
    assert len((await kim.get("/api/sessions/s1/messages")).json()["messages"]) == 1


async def test_a_large_document_with_a_key_is_refused_before_it_is_kept(
    stub_memory: MemoryService,
) -> None:
    limits = Limits(body=1_000, document=5_000)
    async with asking(app_on(stub_memory, limits=limits)) as client:
        headers = PLAIN | {"idempotency-key": "k"}
        large = b"word " * 500
        told(
            await client.post("/api/resources", content=large, headers=headers),
            413,
            "body_too_large",
        )
        assert (
            await client.post("/api/resources", content=large, headers=PLAIN)
        ).status_code == 201
        told(
            await client.post("/api/resources", content=large * 3, headers=PLAIN),
            413,
            "body_too_large",
        )


# ---- documents


async def test_a_document_is_streamed_and_found(kim: httpx2.AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for line in (b"# Ferry\n", b"\n", b"The harbour ferry leaves at noon.\n"):
            yield line

    about = {"title": "Ferry times", "uri": "notes/ferry.md"}
    headers = {"content-type": "text/markdown; charset=utf-8"}
    stored = await kim.post("/api/resources", params=about, content=pieces(), headers=headers)
    assert stored.status_code == 201
    assert stored.json()["outcome"] == "stored"
    where = stored.headers["location"]
    shown = (await kim.get(where)).json()
    assert (shown["title"], shown["uri"], shown["kind"]) == (
        "Ferry times",
        about["uri"],
        "document",
    )
    chunks = (await kim.get(f"{where}/chunks")).json()["chunks"]
    assert "noon" in chunks[-1]["text"]
    asked = {"query": "harbour ferry", "include": ["resource"]}
    (hit,) = (await kim.post("/api/memory/search", json=asked)).json()["hits"]
    assert (hit["resource_id"], hit["title"]) == (stored.json()["id"], "Ferry times")
    replaced = await kim.post("/api/resources", params=about, content=NOTE, headers=headers)
    assert (replaced.status_code, replaced.json()["outcome"]) == (200, "replaced")
    page = (await kim.get("/api/resources", params={"kind": "document"})).json()
    assert (page["total"], page["cursor"]) == (1, None)
    removed = await kim.delete(replaced.headers["location"])
    assert removed.json()["chunks"] == replaced.json()["chunks"]
    told(await kim.get(replaced.headers["location"]), 404, "resource_not_found")


@pytest.mark.parametrize(
    ("media", "content", "status", "code"),
    [
        ("application/json", b"{}", 415, "unsupported_media_type"),
        ("image/png", b"\x89PNG", 415, "unsupported_media_type"),
        ("text/plain", b"", 422, "document_empty"),
        ("text/plain", b"\x00\x01\x02" * 50, 422, "document_not_text"),
        ("application/pdf", b"no pdf at all", 422, "document_unreadable"),
    ],
)
async def test_what_is_no_document_is_refused(
    kim: httpx2.AsyncClient, media: str, content: bytes, status: int, code: str
) -> None:
    answer = await kim.post("/api/resources", content=content, headers={"content-type": media})
    told(answer, status, code)
    assert (await kim.get("/api/resources")).json()["total"] == 0


@pytest.mark.parametrize("uri", ["../../etc/passwd", "file:///etc/passwd", "/etc/passwd"])
async def test_pf_067_an_address_is_a_label_and_no_path_that_is_read(
    kim: httpx2.AsyncClient, uri: str
) -> None:
    stored = await kim.post(
        "/api/resources", params={"uri": uri, "title": uri}, content=NOTE, headers=PLAIN
    )
    chunks = (await kim.get(f"{stored.headers['location']}/chunks")).json()["chunks"]
    assert [chunk["text"] for chunk in chunks] == [NOTE.decode()]


async def test_pf_060_documents_and_sessions_of_others_are_not_there(
    kim: httpx2.AsyncClient, lee: httpx2.AsyncClient
) -> None:
    hers = (await kim.post("/api/resources", content=NOTE, headers=PLAIN)).json()["id"]
    for found in (hers, str(new_id())):
        bodies = [
            told(await lee.get(f"/api/resources/{found}"), 404, "resource_not_found"),
            told(await lee.get(f"/api/resources/{found}/chunks"), 404, "resource_not_found"),
            told(await lee.delete(f"/api/resources/{found}"), 404, "resource_not_found"),
        ]
        assert len({json.dumps(body | {"request_id": ""}) for body in bodies}) == 1
    assert (await lee.get("/api/resources")).json()["total"] == 0
    assert (await kim.get(f"/api/resources/{hers}")).status_code == 200


# ---- projects


async def test_a_project_is_seen_by_its_members_only(
    kim: httpx2.AsyncClient, lee: httpx2.AsyncClient
) -> None:
    made = await kim.post("/api/projects", json={"id": "apollo", "name": "Apollo"})
    assert made.status_code == 201
    assert (made.headers["location"], made.headers["etag"]) == ("/api/projects/apollo", '"1"')
    assert made.json()["role"] == "owner"
    for name in ("apollo", "nothing"):
        bodies = [
            told(await lee.get(f"/api/projects/{name}"), 404, "project_not_found"),
            told(await lee.get(f"/api/projects/{name}/members"), 404, "project_not_found"),
            told(await lee.delete(f"/api/projects/{name}?confirm=true"), 404, "project_not_found"),
            told(
                await lee.put(f"/api/projects/{name}/members/lee", json={"role": "owner"}),
                404,
                "project_not_found",
            ),
        ]
        assert len({json.dumps(body | {"request_id": ""}) for body in bodies}) == 1
    assert (await lee.get("/api/projects")).json() == {"projects": []}
    granted = await kim.put("/api/projects/apollo/members/lee", json={"role": "viewer"})
    assert granted.json()["role"] == "viewer"
    assert (await lee.get("/api/projects")).json()["projects"][0]["role"] == "viewer"
    assert (await kim.delete("/api/projects/apollo/members/lee")).status_code == 200
    told(await lee.get("/api/projects/apollo"), 404, "project_not_found")


async def test_a_project_is_renamed_by_version(kim: httpx2.AsyncClient) -> None:
    await kim.post("/api/projects", json={"id": "apollo", "name": "Apollo"})
    where, name = "/api/projects/apollo", {"name": "Apollo 2"}
    told(await kim.patch(where, json=name), 428, "precondition_required")
    told(await kim.patch(where, json=name, headers={"if-match": '"7"'}), 412, "version_conflict")
    told(
        await kim.patch(where, json=name, headers={"if-match": '"7", "8"'}),
        412,
        "version_conflict",
    )
    renamed = await kim.patch(where, json=name, headers={"if-match": '"1"'})
    assert (renamed.json()["name"], renamed.headers["etag"]) == ("Apollo 2", '"2"')
    assert (await kim.get(where)).headers["etag"] == '"2"'


async def test_refusals_of_projects_are_conflicts_and_denials(
    kim: httpx2.AsyncClient, lee: httpx2.AsyncClient
) -> None:
    await kim.post("/api/projects", json={"id": "apollo", "name": "Apollo"})
    again = await kim.post("/api/projects", json={"id": "apollo", "name": "Mine"})
    told(again, 409, "project_exists")
    told(await kim.delete("/api/projects/apollo/members/kim"), 409, "last_owner")
    await kim.put("/api/projects/apollo/members/lee", json={"role": "editor"})
    told(
        await lee.put("/api/projects/apollo/members/max", json={"role": "viewer"}),
        403,
        "role_too_low",
    )
    told(
        await kim.put("/api/projects/apollo/members/lee", json={"role": "king"}),
        422,
        "unknown_role",
    )
    moved = await kim.post("/api/projects/apollo/transfer", json={"to_user": "lee"})
    assert (moved.json()["user"], moved.json()["role"]) == ("lee", "owner")
    assert (await kim.delete("/api/projects/apollo?dry_run=true")).status_code == 403
    gone = await lee.delete("/api/projects/apollo", params={"dry_run": "true"})
    assert (gone.json()["members"], gone.json()["dry_run"]) == (2, True)
    told(await lee.delete("/api/projects/apollo"), 403, "confirmation_required")


async def test_pf_065_a_project_that_is_not_there_is_an_error_and_not_everything(
    kim: httpx2.AsyncClient,
) -> None:
    await kim.post("/api/memory", json=TEA)
    headers = {"mnemic-project": "nothing"}
    asked = {"query": "green tea", "scope": "project"}
    answer = await kim.post("/api/memory/search", json=asked, headers=headers)
    assert answer.status_code in (403, 404), answer.text
    told(await kim.post("/api/memory/search", json=asked), 422, "project_required")


async def test_what_only_its_owner_sees_is_seen_by_nobody_else(
    kim: httpx2.AsyncClient, lee: httpx2.AsyncClient
) -> None:
    here = {"mnemic-project": "apollo"}
    await kim.post("/api/projects", json={"id": "apollo", "name": "Apollo"})
    await kim.put("/api/projects/apollo/members/lee", json={"role": "admin"})
    for text, visibility in (
        ("The launch window opens in May", "members"),
        ("The budget has room for one more", "owner_only"),
    ):
        body = {"content": text, "scope": "project", "visibility": visibility}
        added = await kim.post("/api/memory", json=body, headers=here)
        assert added.status_code == 201, added.text
        item = await kim.get(added.headers["location"], headers=here)
        assert item.json()["visibility"] == visibility
    seen = (await lee.get("/api/memory", params={"scope": "project"}, headers=here)).json()
    assert [item["content"] for item in seen["items"]] == ["The launch window opens in May"]
    assert seen["total"] == 1
    hers = (await kim.get("/api/memory", params={"scope": "project"}, headers=here)).json()
    assert hers["total"] == 2
    wrong = {"content": "I drink green tea", "visibility": "everybody"}
    told(await kim.post("/api/memory", json=wrong), 422, "unknown_visibility")


async def test_a_projects_document_is_its_members(
    kim: httpx2.AsyncClient, lee: httpx2.AsyncClient
) -> None:
    here = {"mnemic-project": "apollo"}
    await kim.post("/api/projects", json={"id": "apollo", "name": "Apollo"})
    about = {"scope": "project", "kind": "project_resource", "visibility": "members"}
    stored = await kim.post("/api/resources", params=about, content=NOTE, headers=PLAIN | here)
    assert stored.status_code == 201, stored.text
    where = stored.headers["location"]
    told(await lee.get(where, headers=here), 404, "resource_not_found")
    await kim.put("/api/projects/apollo/members/lee", json={"role": "viewer"})
    shown = (await lee.get(where, headers=here)).json()
    assert (shown["scope"], shown["owner"], shown["visibility"]) == ("project", "kim", "members")
    told(await lee.delete(where, headers=here), 403, "role_too_low")
    told(
        await kim.post("/api/resources", params=about, content=NOTE, headers=PLAIN),
        422,
        "project_required",
    )


# ---- consent and the end of a user


async def test_who_refuses_is_not_remembered(kim: httpx2.AsyncClient) -> None:
    await kim.post("/api/memory", json=TEA)
    refused = await kim.put("/api/consent", json={"purpose": "remember", "state": "refused"})
    assert refused.json()["purposes"]["remember"] == "refused"
    for answer in (
        await kim.post("/api/memory", json={"content": "My bicycle is red and old"}),
        await kim.get("/api/memory"),
        await kim.post("/api/memory/search", json={"query": "tea"}),
        await kim.post("/api/memory/context", json={"query": "tea"}),
        await kim.get("/api/verifications"),
        await kim.post("/api/resources", content=NOTE, headers=PLAIN),
        await kim.post(
            "/api/sessions/s/messages", json={"messages": [{"role": "user", "content": "x"}]}
        ),
    ):
        problem = told(answer, 403, "consent_required")
        assert problem["error"] == "ConsentRequired"
    granted = await kim.put("/api/consent", json={"state": "granted"})
    assert [record["state"] for record in granted.json()["records"]] == ["refused", "granted"]
    assert (await kim.get("/api/memory")).json()["total"] == 1


async def test_pf_085_the_same_word_ten_times_at_once_is_one_record(
    kim: httpx2.AsyncClient,
) -> None:
    word = {"purpose": "insight", "state": "granted"}
    answers = await asyncio.gather(*(kim.put("/api/consent", json=word) for _ in range(10)))
    assert {answer.status_code for answer in answers} == {200}
    state = (await kim.get("/api/consent")).json()
    assert [record["purpose"] for record in state["records"]] == ["insight"]
    told(await kim.put("/api/consent", json=word | {"purpose": "x"}), 422, "unknown_purpose")
    problem = told(await kim.put("/api/consent", json={"state": "maybe"}), 422, "field_invalid")
    assert problem["detail"] == "state must be one of granted, refused."
    problem = told(await kim.put("/api/consent", json=["refused"]), 422, "field_invalid")
    assert problem["detail"] == "The body must be a JSON object."


async def test_a_user_is_forgotten_as_a_whole(
    kim: httpx2.AsyncClient, lee: httpx2.AsyncClient, stub_memory: MemoryService
) -> None:
    key = {"idempotency-key": "k"}
    await kim.post("/api/memory", json=TEA, headers=key)
    await lee.post("/api/memory", json=TEA)
    await kim.post("/api/resources", content=NOTE, headers=PLAIN)
    told(await kim.delete("/api/user"), 403, "confirmation_required")
    rehearsed = (await kim.delete("/api/user", params={"dry_run": "true"})).json()
    assert rehearsed["counts"]["memory_item"] == 1
    assert (await kim.get("/api/memory")).json()["total"] == 1
    erased = (await kim.delete("/api/user", params={"confirm": "true"})).json()
    assert erased["counts"]["memory_item"] == 1
    assert not erased["dry_run"]
    assert (await kim.get("/api/memory")).json()["total"] == 0
    assert (await kim.get("/api/resources")).json()["total"] == 0
    assert (await kim.post("/api/memory", json=TEA, headers=key)).json()["verdict"] == "stored"
    assert (await lee.get("/api/memory")).json()["total"] == 1
    assert (await stub_memory.list(Actor("lee"))).total == 1
