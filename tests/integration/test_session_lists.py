"""Which sessions has a user, and what does one that nobody has begun answer?"""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from api_world import app_on, asking, told
from conftest import Connect
from mnemic import Actor, InvalidInput, MemoryService, NotFound, Turn

KIM, LEE = Actor("kim"), Actor("lee")


def within(session: str, user: str = "kim", project: str | None = None) -> Actor:
    return Actor(user, project, session)


async def say(memory: MemoryService, session: str, *words: str, user: str = "kim") -> None:
    await memory.sessions.append(within(session, user), [Turn("user", word) for word in words])


async def test_a_user_finds_their_own_sessions_the_last_begun_first(
    stub_memory: MemoryService,
) -> None:
    for session, words in (("s1", 1), ("s2", 2), ("你好|s/3", 3)):
        await say(stub_memory, session, *("hello there",) * words)
    await say(stub_memory, "s1", "hello again")  # use does not move it
    await say(stub_memory, "s1", "somebody else's", user="lee")
    await say(stub_memory, "s1", "a name alike", user="kim2")
    await stub_memory.sessions.close(within("s2"))
    page = await stub_memory.sessions.list(within("elsewhere"))
    assert [(one.session_id, one.turns) for one in page.sessions] == [
        ("你好|s/3", 3),
        ("s2", 2),
        ("s1", 2),
    ]
    assert [one.closed_at is not None for one in page.sessions] == [False, True, False]
    assert page.sessions[2].last_active_at > page.sessions[0].last_active_at
    assert (page.total, page.cursor) == (3, None)
    assert page.sessions[1] == await stub_memory.sessions.info(within("s2"))
    assert (await stub_memory.sessions.list(Actor("nobody"))).total == 0


async def test_a_session_in_a_project_says_so_and_stays_its_users(
    stub_memory: MemoryService,
) -> None:
    kim, lee = within("s1", project="apollo"), within("s2", "lee", "apollo")
    await stub_memory.projects.create(kim, "apollo", "Apollo")
    await stub_memory.projects.grant(kim, "apollo", "lee", "admin")
    for actor in (kim, lee):
        await stub_memory.sessions.append(actor, [Turn("user", "hello there")])
    for actor in (kim, KIM):
        (one,) = (await stub_memory.sessions.list(actor)).sessions
        assert (one.session_id, one.project_id) == ("s1", "apollo")


async def test_pages_show_every_session_once_also_of_one_moment(
    stub_memory: MemoryService, connect: Connect
) -> None:
    names = [f"session {n}" for n in range(7)]
    for name in names:
        await say(stub_memory, name, "hello there")
    owner = await connect("owner")
    await owner.execute("update session set started_at = '2026-03-02T09:14:00Z'")
    seen: list[str] = []
    cursor = None
    while True:
        page = await stub_memory.sessions.list(KIM, limit=3, cursor=cursor)
        assert page.total == 7
        seen += [one.session_id for one in page.sessions]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == sorted(names, reverse=True)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"limit": 0}, "limit_out_of_range"),
        ({"limit": 1_001}, "limit_out_of_range"),
        ({"limit": True}, "limit_out_of_range"),
        ({"cursor": "nonsense"}, "invalid_cursor"),
        ({"cursor": ""}, "invalid_cursor"),
        ({"cursor": "MjAyNi0wMy0wMlQwOToxNDowMHxzMQ=="}, "invalid_cursor"),  # a time without zone
        ({"cursor": "MjAyNi0wMy0wMlQwOToxNDowMCswMDowMHw="}, "invalid_cursor"),  # no name
    ],
)
async def test_what_cannot_be_meant_is_refused(
    stub_memory: MemoryService, asked: Any, code: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await stub_memory.sessions.list(KIM, **asked)
    assert refused.value.code == code


async def test_the_memories_of_a_session_that_nobody_began_are_not_an_empty_list(
    stub_memory: MemoryService,
) -> None:
    await say(stub_memory, "s1", "hello there")
    await stub_memory.sessions.set(within("s2"), "draft", 1)
    await stub_memory.add_explicit_memory(within("s3"), "The draft is blue", scope="session")
    for session, total in (("s1", 0), ("s2", 0), ("s3", 1)):
        actor = within(session)
        await stub_memory.sessions.require(actor)
        assert (await stub_memory.list(actor, scope="session")).total == total
    for actor in (within("S1"), within("s1", "lee"), within("s3", "lee"), within("s1", "newcomer")):
        for ask in (
            stub_memory.list(actor, scope="session"),
            stub_memory.sessions.require(actor),
            stub_memory.sessions.close(actor),
        ):
            with pytest.raises(NotFound) as missing:
                await ask
            assert missing.value.code == "session_not_found"


async def test_an_agent_may_ask_before_the_first_word_of_a_session(
    stub_memory: MemoryService,
) -> None:
    await stub_memory.add_explicit_memory(KIM, "I drink green tea in the morning")
    fresh = within("just begun")
    assert len(await stub_memory.search_memories(fresh, "green tea")) == 1
    assert await stub_memory.search_memories(fresh, "green tea", scope="session") == []
    assert "green tea" in await stub_memory.build_context(fresh, "green tea in the morning")
    assert (await stub_memory.list(fresh)).total == 1
    assert await stub_memory.sessions.get(fresh, "draft", "nothing") == "nothing"


async def test_a_session_of_memories_alone_is_closed_as_any_other(
    stub_memory: MemoryService,
) -> None:
    actor = within("s1")
    await stub_memory.add_explicit_memory(actor, "The draft is blue", scope="session")
    closure = await stub_memory.sessions.close(actor)
    assert (closure.archived, closure.extracted) == (1, 0)
    again = await stub_memory.sessions.close(actor)
    assert (again.archived, again.closed_at) == (0, closure.closed_at)
    assert (await stub_memory.sessions.info(actor)).closed_at == closure.closed_at
    assert (await stub_memory.list(actor, scope="session", status="archived")).total == 1


async def test_rest_lists_a_page_at_a_time_to_each_user_their_own(
    stub_memory: MemoryService,
) -> None:
    long = "好" * 128  # the longest cursor that there is
    for session in ("s1", "s2", long):
        await say(stub_memory, session, "hello there")
    await say(stub_memory, "theirs", "hello there", user="lee")
    app = app_on(stub_memory)
    async with asking(app, "kim") as kim, asking(app, "lee") as lee:
        first = (await kim.get("/api/sessions?limit=1")).json()
        assert ([one["session_id"] for one in first["sessions"]], first["total"]) == ([long], 3)
        rest = await kim.get("/api/sessions", params={"cursor": first["cursor"]})
        assert [one["session_id"] for one in rest.json()["sessions"]] == ["s2", "s1"]
        assert rest.json()["cursor"] is None
        assert rest.json()["sessions"][1] == (await kim.get("/api/sessions/s1")).json()
        assert len(first["cursor"]) <= 1_200
        told(
            await lee.get("/api/sessions", params={"cursor": first["cursor"]}),
            422,
            "invalid_cursor",
        )
        told(await kim.get("/api/sessions?limit=0"), 422, "limit_out_of_range")
        told(await kim.get("/api/sessions?project=apollo"), 422, "unknown_field")
        (one,) = (await lee.get("/api/sessions")).json()["sessions"]
        assert one["session_id"] == "theirs"


async def test_rest_says_which_session_or_project_there_is_not(stub_memory: MemoryService) -> None:
    await stub_memory.projects.create(LEE, "apollo", "Apollo")
    app = app_on(stub_memory)
    async with asking(app, "kim") as kim:
        there = {"Mnemic-Session": "nosuch"}
        told(
            await kim.get("/api/memory?scope=session", headers=there),
            404,
            "session_not_found",
        )
        assert (await kim.get("/api/memory", headers=there)).json()["total"] == 0
        assert (await kim.get("/api/memory/search?query=tea", headers=there)).status_code == 200
        told(await kim.get("/api/sessions/nosuch/state/a"), 404, "session_not_found")
        for project in ("apollo", "nowhere"):
            at = {"Mnemic-Project": project}
            asks: tuple[tuple[str, str, Any], ...] = (
                ("GET", "/api/memory", None),
                ("GET", "/api/memory/search?query=tea", None),
                ("POST", "/api/memory/search", {"query": "tea", "include": ["resource"]}),
                ("POST", "/api/memory/context", {"query": "tea"}),
                ("GET", "/api/resources", None),
                ("GET", "/api/verifications", None),
                ("POST", "/api/memory", {"content": "The shed is red", "scope": "project"}),
            )
            for method, path, body in asks:
                answer = await kim.request(method, path, json=body, headers=at)
                problem = told(answer, 403, "not_a_member")
                assert problem["detail"] == "You are not a member of this project."


@pytest.mark.parametrize("body", [None, b"", b"{}", b"null"])
async def test_a_body_of_defaults_may_be_left_out(
    stub_memory: MemoryService, body: bytes | None
) -> None:
    await say(stub_memory, "s1", "hello there")
    task = await stub_memory.tasks.create(KIM, "data_approval")
    headers = {"content-type": "application/json"} if body else {}

    async def post(kim: httpx2.AsyncClient, path: str) -> dict[str, Any]:
        answer = await kim.post(path, content=body, headers=headers)
        assert answer.status_code == 200, (path, answer.text)
        found: dict[str, Any] = answer.json()
        return found

    async with asking(app_on(stub_memory), "kim") as kim:
        assert (await post(kim, "/api/tasks/claim"))["claim"]["task"]["version"] == 1
        at = f"/api/tasks/{task.task_id}"
        for step in ("validation", "approval"):
            assert (await post(kim, f"{at}/advance"))["current_step"] == step
        assert (await post(kim, f"{at}/complete"))["status"] == "completed"
        assert (await post(kim, f"{at}/repair"))["version"] == 4
        assert (await post(kim, "/api/sessions/s1/close"))["session_id"] == "s1"
        told(await kim.post("/api/tasks"), 422, "field_missing")  # this one needs its type
        told(await kim.post(f"{at}/fail"), 422, "field_missing")
