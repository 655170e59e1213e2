"""Can a session be read, kept and ended over REST, and by nobody but its user?"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx2
import pytest

from api_world import app_on, asking, told
from mnemic import Actor, AgentMemory
from session_world import sessions_on, wired

if TYPE_CHECKING:
    from mnemic.service import MemoryService

CALL = {"id": "c1", "name": "weather", "arguments": {"city": "Oslo"}}
HALF = "\ud800"


@pytest.fixture
async def app(stub_memory: MemoryService) -> Any:
    return app_on(wired(stub_memory, sessions_on(stub_memory)))


@pytest.fixture
async def kim(app: Any) -> AsyncIterator[httpx2.AsyncClient]:
    async with asking(app, "kim") as client:
        yield client


async def say(client: httpx2.AsyncClient, *messages: dict[str, Any], session: str = "s1") -> Any:
    return await client.post(
        f"/api/sessions/{session}/messages",
        content=json.dumps({"messages": messages}),  # in ASCII, which half a surrogate pair needs
        headers={"Content-Type": "application/json"},
    )


async def test_turns_with_tools_are_kept_and_read(kim: httpx2.AsyncClient) -> None:
    said = await say(
        kim,
        {"role": "user", "content": "Oslo?", "intent": "weather", "pinned": True},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": "sunny", "tool_call_id": "c1"},
    )
    assert (said.status_code, said.json()["seqs"]) == (201, [1, 2, 3])
    read = (await kim.get("/api/sessions/s1/messages")).json()["messages"]
    assert [one["role"] for one in read] == ["user", "assistant", "tool"]
    assert (read[0]["intent"], read[0]["pinned"]) == ("weather", True)
    assert read[1]["tool_calls"] == [CALL]
    assert read[2]["tool_call_id"] == "c1"
    assert "client_id" not in read[0]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"role": "narrator", "content": "x"}, "unknown_role"),
        ({"role": "user", "content": None}, "content_not_text"),
        ({"role": "tool", "content": "x"}, "tool_call_id_required"),
        ({"role": "tool", "content": "x", "tool_call_id": "nobody"}, "tool_call_not_found"),
        ({"role": "user", "content": "x", "tool_calls": [CALL]}, "tool_calls_misplaced"),
        ({"role": "assistant", "content": "x", "tool_calls": {}}, "invalid_tool_call"),
        ({"role": "assistant", "content": "x", "tool_calls": [{"id": "a"}]}, "invalid_tool_call"),
        (
            {"role": "assistant", "content": "", "tool_calls": [CALL | {"id": HALF}]},
            "invalid_tool_call",
        ),
        (
            {"role": "assistant", "content": "", "tool_calls": [CALL | {"name": HALF}]},
            "invalid_tool_call",
        ),
        ({"role": "user", "content": "x", "client_id": HALF}, "invalid_client_id"),
    ],
)
async def test_a_turn_that_cannot_be_meant_changes_nothing(
    kim: httpx2.AsyncClient, message: dict[str, Any], code: str
) -> None:
    await say(kim, {"role": "user", "content": "first"})
    told(await say(kim, {"role": "user", "content": "good"}, message), 422, code)
    assert len((await kim.get("/api/sessions/s1/messages")).json()["messages"]) == 1


async def test_a_client_id_makes_a_repeated_message_one(kim: httpx2.AsyncClient) -> None:
    message = {"role": "user", "content": "first", "client_id": "m-1"}
    answers = [(await say(kim, message)).json()["seqs"] for _ in range(3)]
    assert answers == [[1], [1], [1]]
    told(await say(kim, message | {"content": "other"}), 422, "client_id_reused")


async def test_a_window_is_what_a_prompt_has_room_for(kim: httpx2.AsyncClient) -> None:
    said = [
        {"role": "user", "content": f"The wooden boat has a mast of {n} metres"} for n in range(40)
    ]
    await say(kim, *said)
    whole = (await kim.get("/api/sessions/s1/window")).json()
    assert [one["seq"] for one in whole["messages"]] == list(range(21, 41))
    assert (await kim.get("/api/sessions/s1/window?last=0")).json()["messages"] == []
    assert (await kim.put("/api/sessions/s1/pins", json={"seqs": [2]})).json() == {"count": 1}
    small = (await kim.get("/api/sessions/s1/window?budget_tokens=300")).json()
    assert small["tokens"] <= 300
    assert small["fits"] is True
    assert small["messages"][0]["seq"] == 2
    assert small["summary"]["by"] == "extract"
    shown = {one["seq"] for one in small["messages"]} | set(small["left_out"])
    assert sorted([*small["summary"]["seqs"], *shown]) == list(range(1, 41))
    told(
        await kim.get("/api/sessions/s1/window?budget_tokens=5"), 422, "budget_tokens_out_of_range"
    )
    told(await kim.put("/api/sessions/s1/pins", json={"seqs": []}), 422, "seqs_out_of_range")


async def test_pf_090_zero_is_none_on_every_surface(
    kim: httpx2.AsyncClient, stub_memory: MemoryService
) -> None:
    await say(kim, {"role": "user", "content": "hello"})
    actor = Actor("kim", session="s1")
    agent = AgentMemory(stub_memory, actor, k=0)  # type: ignore[arg-type] # wired for this test
    assert (await kim.get("/api/sessions/s1/window?last=0")).json()["messages"] == []
    assert await agent.load_memory_variables({}) == {"history": []}
    assert await sessions_on(stub_memory).tail(actor, 0) == []
    assert (await sessions_on(stub_memory).window(actor, 0)).turns == ()


async def test_values_are_kept_read_listed_and_forgotten(kim: httpx2.AsyncClient) -> None:
    made = await kim.put("/api/sessions/s1/state/my%2Fdraft", json={"value": {"to": "李"}})
    assert made.status_code == 200
    assert (made.json()["name"], made.json()["version"]) == ("my/draft", 1)
    again = await kim.put("/api/sessions/s1/state/my%2Fdraft", json={"value": [1], "ttl": "600"})
    assert again.json()["version"] == 2
    assert (await kim.get("/api/sessions/s1/state/my%2Fdraft")).json() == again.json()
    assert (await kim.get("/api/sessions/s1/state")).json() == {"values": [again.json()]}
    for there in (True, False):
        gone = await kim.delete("/api/sessions/s1/state/my%2Fdraft")
        assert gone.json() == {"deleted": there}
    told(await kim.get("/api/sessions/s1/state/my%2Fdraft"), 404, "value_not_found")
    told(
        await kim.put("/api/sessions/s1/state/a", json={"value": 1, "ttl": 0}),
        422,
        "ttl_out_of_range",
    )
    told(await kim.put("/api/sessions/s1/state/a", json={}), 422, "field_missing")


async def test_a_session_ends_once(kim: httpx2.AsyncClient) -> None:
    await say(kim, {"role": "user", "content": "Please remember that I live in Leipzig."})
    first = (await kim.post("/api/sessions/s1/close", json={})).json()
    assert (first["extracted"], first["memories"], first["problem"]) == (1, 1, None)
    again = (await kim.post("/api/sessions/s1/close", json={})).json()
    assert (again["closed_at"], again["extracted"]) == (first["closed_at"], 0)
    info = (await kim.get("/api/sessions/s1")).json()
    assert (info["closed_at"], info["turns"]) == (first["closed_at"], 1)
    told(await say(kim, {"role": "user", "content": "more"}), 409, "session_closed")
    told(await kim.put("/api/sessions/s1/state/a", json={"value": 1}), 409, "session_closed")


async def test_the_same_request_with_one_key_is_done_once(kim: httpx2.AsyncClient) -> None:
    key = {"Idempotency-Key": str(uuid4())}
    sets = [
        (await kim.put("/api/sessions/s1/state/a", json={"value": 1}, headers=key)).json()
        for _ in range(2)
    ]
    assert sets[0] == sets[1]
    assert sets[0]["version"] == 1
    key = {"Idempotency-Key": str(uuid4())}
    await say(kim, {"role": "user", "content": "Please remember that I live in Leipzig."})
    ends = [
        (await kim.post("/api/sessions/s1/close", json={}, headers=key)).json() for _ in range(2)
    ]
    assert ends[0] == ends[1]
    assert ends[0]["memories"] == 1


async def test_another_user_finds_no_such_session(app: Any, kim: httpx2.AsyncClient) -> None:
    await say(kim, {"role": "user", "content": "kim's words"})
    await kim.put("/api/sessions/s1/state/a", json={"value": "kim's"})
    async with asking(app, "lee") as lee:
        for path in ("", "/messages", "/window", "/window?budget_tokens=500", "/state"):
            told(await lee.get(f"/api/sessions/s1{path}"), 404, "session_not_found")
        told(await lee.get("/api/sessions/s1/state/a"), 404, "session_not_found")
        told(await lee.post("/api/sessions/s1/close", json={}), 404, "session_not_found")
        told(await lee.put("/api/sessions/s1/pins", json={"seqs": [1]}), 404, "session_not_found")
        assert (await lee.delete("/api/sessions/s1/state/a")).json() == {"deleted": False}
    assert (await kim.get("/api/sessions/s1/state/a")).json()["value"] == "kim's"


async def test_whoever_may_only_read_changes_nothing(app: Any, kim: httpx2.AsyncClient) -> None:
    await say(kim, {"role": "user", "content": "hello"})
    async with asking(app, "kim/read") as reader:
        assert (await reader.get("/api/sessions/s1/window")).status_code == 200
        for answer in (
            await reader.post("/api/sessions/s1/close", json={}),
            await reader.put("/api/sessions/s1/state/a", json={"value": 1}),
            await reader.put("/api/sessions/s1/pins", json={"seqs": [1]}),
        ):
            assert answer.status_code == 403
