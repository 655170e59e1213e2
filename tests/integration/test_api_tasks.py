"""Can a task be carried from its first step to its end over REST?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx2
import pytest

from api_world import app_on, asking, told

if TYPE_CHECKING:
    from mnemic.service import MemoryService


@pytest.fixture
async def app(stub_memory: MemoryService) -> Any:
    return app_on(stub_memory)


@pytest.fixture
async def kim(app: Any) -> AsyncIterator[httpx2.AsyncClient]:
    async with asking(app, "kim") as client:
        yield client


async def begun(client: httpx2.AsyncClient, **more: Any) -> Any:
    body = {"task_type": "data_approval", "state_data": {"source": "a.csv"}} | more
    made = await client.post("/api/tasks", json=body)
    assert made.status_code == 201, made.text
    assert made.headers["location"] == f"/api/tasks/{made.json()['task_id']}"
    return made.json()


async def test_a_task_from_beginning_to_end(kim: httpx2.AsyncClient) -> None:
    task = await begun(kim)
    at = f"/api/tasks/{task['task_id']}"
    moved = await kim.post(
        f"{at}/advance", json={"data": {"rows": 12}, "drop": ["source"], "expected_version": 1}
    )
    assert (moved.json()["current_step"], moved.headers["etag"]) == ("validation", '"2"')
    assert moved.json()["state_data"] == {"rows": 12}
    failed = (await kim.post(f"{at}/fail", json={"reason": "第三列缺失"})).json()
    assert (failed["status"], failed["failure"]) == ("failed", "第三列缺失")
    await kim.post(f"{at}/advance", json={"to": "validation"})
    await kim.post(f"{at}/advance", json={"to": "approval"})
    done = (await kim.post(f"{at}/complete", json={})).json()
    assert (done["status"], done["version"]) == ("completed", 6)
    assert (await kim.get(at)).json() == done
    assert (await kim.get(f"{at}/replay")).json() == done
    assert (await kim.get(f"{at}/replay?version=1")).json() == task
    for version in ("0", "Infinity", "1e308", "x"):
        refused = await kim.get(f"{at}/replay", params={"version": version})
        assert (refused.status_code, refused.json()["code"]) == (422, "version_out_of_range")
    events = (await kim.get(f"{at}/history")).json()["events"]
    assert [one["seq"] for one in events] == list(range(1, len(events) + 1))
    assert len((await kim.get(f"{at}/history?after=2&limit=3")).json()["events"]) == 3
    assert (await kim.post(f"{at}/repair", json={})).json() == done


async def test_pf_105_of_two_changes_of_one_version_one_wins(kim: httpx2.AsyncClient) -> None:
    task = await begun(kim)
    at = f"/api/tasks/{task['task_id']}"
    answers = await asyncio.gather(
        *(kim.post(f"{at}/advance", json={"expected_version": 1}) for _ in range(2))
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    (lost,) = [answer for answer in answers if answer.status_code == 409]
    problem = told(lost, 409, "version_conflict")
    assert (problem["details"]["expected"], problem["details"]["current"]) == (1, 2)
    assert (await kim.get(at)).json()["version"] == 2


async def test_pf_106_a_change_sent_again_makes_one_event(kim: httpx2.AsyncClient) -> None:
    event = str(uuid4())
    tasks = [await begun(kim, event_id=event) for _ in range(2)]
    assert tasks[0] == tasks[1]
    at = f"/api/tasks/{tasks[0]['task_id']}"
    event = str(uuid4())
    moved = [
        (await kim.post(f"{at}/advance", json={"event_id": event, "expected_version": 1})).json()
        for _ in range(2)
    ]
    assert moved[0] == moved[1]
    key = {"Idempotency-Key": str(uuid4())}
    moved = [(await kim.post(f"{at}/advance", json={}, headers=key)).json() for _ in range(2)]
    assert moved[0] == moved[1]
    assert moved[0]["version"] == 3


async def test_a_worker_takes_renews_and_gives_back(kim: httpx2.AsyncClient) -> None:
    assert (await kim.post("/api/tasks/claim", json={})).json() == {"claim": None}
    task = await begun(kim)
    at = f"/api/tasks/{task['task_id']}"
    claim = (await kim.post("/api/tasks/claim", json={"task_type": "data_approval"})).json()[
        "claim"
    ]
    assert claim["task"] == task
    assert (await kim.post("/api/tasks/claim", json={})).json() == {"claim": None}
    renewed = (await kim.post(f"{at}/renew", json={"claim": claim["token"], "lease": 600})).json()
    assert renewed["until"] > claim["until"]
    told(await kim.post(f"{at}/renew", json={"claim": str(uuid4())}), 409, "claim_lost")
    released = await kim.post(f"{at}/release", json={"claim": claim["token"]})
    assert released.json() == {"released": task["task_id"]}
    assert (await kim.post("/api/tasks/claim", json={})).json()["claim"]["task"] == task


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("advance", {"to": "nowhere"}, 422, "unknown_step"),
        ("advance", {"to": "completed"}, 409, "illegal_move"),
        ("advance", {"expected_version": 99}, 422, "version_from_future"),
        ("advance", {"data": [1]}, 422, "state_not_an_object"),
        ("advance", {"data": {"a": "x" * 3_000_000}}, 413, "body_too_large"),
        ("advance", {"event_id": "no-uuid"}, 422, "invalid_event_id"),
        ("advance", {"user": "lee"}, 422, "unknown_field"),
        ("fail", {"reason": ""}, 422, "invalid_reason"),
        ("renew", {"claim": "no-uuid"}, 422, "invalid_claim"),
    ],
)
async def test_what_cannot_be_meant_changes_nothing(
    kim: httpx2.AsyncClient, path: str, body: dict[str, Any], status: int, code: str
) -> None:
    task = await begun(kim)
    at = f"/api/tasks/{task['task_id']}"
    told(await kim.post(f"{at}/{path}", json=body), status, code)
    assert (await kim.get(at)).json() == task


async def test_another_users_task_is_not_there(app: Any, kim: httpx2.AsyncClient) -> None:
    task = await begun(kim)
    at = f"/api/tasks/{task['task_id']}"
    async with asking(app, "lee") as lee:
        for path in ("", "/history", "/replay"):
            told(await lee.get(f"{at}{path}"), 404, "task_not_found")
        for path, body in (
            ("advance", {}),
            ("complete", {}),
            ("repair", {}),
            ("fail", {"reason": "x"}),
        ):
            told(await lee.post(f"{at}/{path}", json=body), 404, "task_not_found")
        assert (await lee.get("/api/tasks")).json() == {"tasks": [], "total": 0, "cursor": None}
    told(await kim.get("/api/tasks/not-a-uuid"), 422, "invalid_task_id")


async def test_tasks_are_listed_a_page_at_a_time(kim: httpx2.AsyncClient) -> None:
    made = [await begun(kim) for _ in range(5)]
    seen: list[str] = []
    cursor = None
    while True:
        query = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = (await kim.get("/api/tasks", params=query)).json()
        seen += [task["task_id"] for task in page["tasks"]]
        assert page["total"] == 5
        cursor = page["cursor"]
        if cursor is None:
            break
    assert seen == [task["task_id"] for task in reversed(made)]
    told(await kim.get("/api/tasks?status=lost"), 422, "unknown_status")
    assert (await kim.get("/api/tasks?task_type=no_such_type")).json()["total"] == 0
    for name in ("%00", "data%00_approval", "%E2%80%AE", "%1B[31m"):
        told(await kim.get(f"/api/tasks?task_type={name}"), 422, "unknown_task_type")
