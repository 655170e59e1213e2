"""Does the memory answer MCP clients over HTTP, each as who their credential says, from any worker?"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import mcp.server._streamable_http_modern as modern
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from sse_starlette.sse import EventSourceResponse
from starlette.routing import Route

from api_world import NamedKeys, app_on
from mnemic.access.credentials import Authenticator
from mnemic.errors import PermissionDenied, RateLimited
from mnemic.integrations.langchain import memory_tools
from mnemic.integrations.langgraph import MnemicStore
from mnemic.integrations.mcp import Endpoint
from mnemic.model import Actor

if TYPE_CHECKING:
    from mnemic.service import MemoryService

INIT = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
ACCEPT = {"accept": "application/json, text/event-stream"}


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[str]:
    """Serve an application on a real port, in this loop, where the memory lives."""
    config = uvicorn.Config(app, log_config=None, access_log=False, ws="none", lifespan="on")
    config.timeout_graceful_shutdown = 1
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started and not serving.done():  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            await serving


def endpoint(memory: MemoryService, **more: Any) -> Endpoint:
    return Endpoint(memory, Authenticator(NamedKeys()), **more)


@asynccontextmanager
async def client_of(
    url: str, key: str = "mk_kim", mode: str = "auto", **headers: str
) -> AsyncIterator[Client]:
    given = {"authorization": f"Bearer {key}"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    async with (
        httpx2.AsyncClient(headers=httpx2.Headers(given, encoding="utf-8"), timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def test_each_client_is_who_their_key_says(stub_memory: MemoryService) -> None:
    async with served(endpoint(stub_memory)) as url:
        for mode in ("auto", "legacy"):
            async with client_of(url, mode=mode) as kim, client_of(url, "mk_lee", mode) as lee:
                await answer(kim, "memory_add", content=f"Kim keeps {mode} bees", quote="so so")
                mine = (await answer(kim, "memory_search", query="bees"))["hits"]
                assert any(mode in hit["memory"]["content"] for hit in mine)
                assert (await answer(lee, "memory_search", query="bees"))["hits"] == []
        async with client_of(url, "mk_service", mnemic_user="金", mnemic_session="s1") as acting:
            await answer(
                acting, "memory_add", content="我养了三只蜜蜂", scope="session", quote="蜜蜂"
            )
    assert (await stub_memory.list(Actor("金", session="s1"), scope="session")).total == 1
    assert (await stub_memory.list(Actor("kim"))).total == 2


async def test_who_may_only_read_reads_and_an_operator_gets_nothing(
    stub_memory: MemoryService,
) -> None:
    async with served(endpoint(stub_memory)) as url:
        async with client_of(url, "mk_kim/read") as reader:
            assert (await answer(reader, "memory_list"))["total"] == 0
            for tool, arguments in (
                ("memory_add", {"content": "I like tea"}),
                ("memory_delete", {"id": "x"}),
                ("task_create", {"task_type": "t"}),
            ):
                result = await reader.call_tool(tool, arguments)
                assert "[scope_missing]" in result.content[0].text  # type: ignore[union-attr]
        async with client_of(url, "mk_operator") as operator:
            result = await operator.call_tool("memory_list", {})
            assert "[operator_has_no_memory]" in result.content[0].text  # type: ignore[union-attr]


async def test_who_has_no_credential_learns_nothing_but_that(stub_memory: MemoryService) -> None:
    transport = httpx2.ASGITransport(app=endpoint(stub_memory))
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
        for headers, status, code in (
            ({}, 401, "credential_missing"),
            ({"authorization": "Bearer wrong"}, 401, "credential_invalid"),
            ({"authorization": "Basic a2lt"}, 401, "credential_invalid"),
            ({"authorization": "Bearer mk_service"}, 422, "user_required"),
            ({"authorization": "Bearer mk_kim", "mnemic-user": "lee"}, 403, "acting_not_allowed"),
        ):
            for method in ("POST", "GET", "DELETE"):
                response = await client.request(method, "/mcp", json=INIT, headers=ACCEPT | headers)
                told = response.json()
                assert (response.status_code, told["code"]) == (status, code)
                assert response.headers["content-type"] == "application/problem+json"
                assert ("www-authenticate" in response.headers) is (status == 401)


async def test_a_path_that_leads_nowhere_is_told_as_by_the_rest_service(
    stub_memory: MemoryService,
) -> None:
    headers = {"authorization": "Bearer mk_kim"}
    told = []
    for app in (endpoint(stub_memory), app_on(stub_memory)):
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            for method in ("GET", "POST"):
                response = await client.request(method, "/mpc", headers=headers)
                assert response.headers["content-type"] == "application/problem+json"
                told.append({**response.json(), "request_id": None})
    assert {one["code"] for one in told} == {"route_not_found"}
    assert all(one == told[0] and one["status"] == 404 for one in told)


async def test_who_may_not_come_in_is_told_as_by_the_rest_service(
    stub_memory: MemoryService,
) -> None:
    app = app_on(stub_memory)
    app.router.routes.append(Route("/mcp", endpoint(stub_memory)))
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
        for headers in (
            {},
            {"authorization": "Bearer wrong"},
            {"authorization": "Bearer mk_service"},
            {"authorization": "Bearer mk_kim", "mnemic-user": "lee"},
            {"authorization": "Bearer mk_kim", "mnemic-project": "\x01"},
        ):
            named = headers | {"x-request-id": "r-1"}
            rest = await client.get("/api/memory", headers=named)
            mcp = await client.post("/mcp", json=INIT, headers=ACCEPT | named)
            assert mcp.json() == rest.json()
            assert {"type", "title", "detail", "error", "request_id"} <= mcp.json().keys()
            assert mcp.status_code == rest.status_code == mcp.json()["status"]
            for name in ("content-type", "www-authenticate", "cache-control"):
                assert mcp.headers.get(name) == rest.headers.get(name)


async def test_on_this_machine_a_page_whose_name_was_rebound_gets_nothing(
    stub_memory: MemoryService,
) -> None:
    here = endpoint(stub_memory, hosts=("127.0.0.1", "localhost", "[::1]"))
    async with served(here) as url, httpx2.AsyncClient() as client:
        headers = ACCEPT | {"authorization": "Bearer mk_kim"}
        for names, status in (
            ({}, 200),
            ({"host": "localhost:80", "origin": "http://localhost:3000"}, 200),
            ({"host": "[::1]:80"}, 200),
            ({"host": "evil.example"}, 421),
            ({"host": "localhost.evil.example"}, 421),
            ({"origin": "http://evil.example"}, 403),
        ):
            told = await client.post(url, json=INIT, headers=headers | names)
            assert told.status_code == status, names


class OneOnly:
    """A limit of one request."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    async def admit(self, rate_key: str) -> None:
        self.keys.append(rate_key)
        if len(self.keys) > 1:
            raise RateLimited("rate_limited", "Too many requests.", retry_after=2.4)


async def test_requests_are_counted_by_credential(stub_memory: MemoryService) -> None:
    rates = OneOnly()
    async with served(endpoint(stub_memory, rates=rates)) as url, httpx2.AsyncClient() as client:
        headers = ACCEPT | {"authorization": "Bearer mk_kim"}
        first = await client.post(url, json=INIT, headers=headers)
        second = await client.post(url, json=INIT, headers=headers)
    assert first.status_code == 200
    assert (second.status_code, second.headers["retry-after"]) == (429, "3")
    assert (second.json()["code"], second.json()["title"]) == ("rate_limited", "Too many requests")
    assert rates.keys == ["key:mk_kim"] * 2


async def test_any_worker_answers_any_request(stub_memory: MemoryService) -> None:
    """No request needs what an earlier one left behind: each goes to another server here."""
    async with served(endpoint(stub_memory)) as one, served(endpoint(stub_memory)) as other:
        headers = ACCEPT | {"authorization": "Bearer mk_kim", "mcp-protocol-version": "2025-06-18"}
        async with httpx2.AsyncClient(headers=headers) as client:
            begun = await client.post(one, json=INIT)
            assert begun.status_code == 200
            assert "mcp-session-id" not in begun.headers
            call = {
                "jsonrpc": "2.0",
                "id": 2,
                "method": "tools/call",
                "params": {"name": "memory_list", "arguments": {}},
            }
            told = await client.post(other, json=call)
            data = next(line[6:] for line in told.text.splitlines() if line.startswith("data: "))
            assert json.loads(data)["result"]["structuredContent"]["total"] == 0


@pytest.mark.parametrize("arguments", [["content"], "content", 7, [], True])
async def test_pf_133_arguments_that_are_no_object_are_refused_and_nothing_is_written(
    stub_memory: MemoryService, arguments: object
) -> None:
    params = {"name": "memory_add", "arguments": arguments}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    async with served(endpoint(stub_memory)) as url:
        headers = ACCEPT | {"authorization": "Bearer mk_kim", "mcp-protocol-version": "2025-06-18"}
        async with httpx2.AsyncClient(headers=headers) as client:
            answered = await client.post(url, json=call)
    assert answered.status_code < 500
    lines = [one[6:] for one in answered.text.splitlines() if one.startswith("data: ")]
    told = json.loads(lines[0] if lines else answered.text)
    assert (told["id"], told["error"]["code"]) == (2, -32602), "invalid params"
    assert (await stub_memory.list(Actor("kim"), status="all")).total == 0


async def test_pf_132_streams_have_a_heartbeat_and_an_idle_client_goes_on(
    stub_memory: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert EventSourceResponse.DEFAULT_PING_INTERVAL <= 25  # proxies cut after 30 s
    assert modern._SSE_PING_INTERVAL <= 25
    monkeypatch.setattr(EventSourceResponse, "DEFAULT_PING_INTERVAL", 0.1)
    monkeypatch.setattr(modern, "_SSE_PING_INTERVAL", 0.1)
    slow = stub_memory.search_memories

    async def slowly(*args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(0.5)
        return await slow(*args, **kwargs)

    monkeypatch.setattr(stub_memory, "search_memories", slowly)
    call = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "memory_search", "arguments": {"query": "bees"}},
    }
    async with served(endpoint(stub_memory)) as url:
        headers = ACCEPT | {"authorization": "Bearer mk_kim", "mcp-protocol-version": "2025-06-18"}
        async with httpx2.AsyncClient(headers=headers) as client:
            pings = 0
            async with client.stream("POST", url, json=call) as response:
                async for line in response.aiter_lines():
                    pings += line.startswith(": ping")
            assert pings >= 2
        async with client_of(url) as idle:
            await answer(idle, "memory_list")
            await asyncio.sleep(0.5)
            assert (await answer(idle, "memory_list"))["total"] == 0


async def test_the_rest_service_takes_the_endpoint_as_a_route(stub_memory: MemoryService) -> None:
    point = endpoint(stub_memory)
    app = app_on(stub_memory)
    app.router.routes.append(Route("/mcp", point))
    async with point.running(), served(app) as url:
        async with client_of(url) as client:
            await answer(client, "memory_add", content="Kim keeps bees", quote="I keep bees")
        async with httpx2.AsyncClient(headers={"authorization": "Bearer mk_kim"}) as rest:
            base = url.removesuffix("/mcp")
            listed = await rest.get(f"{base}/api/memory")
            assert [one["content"] for one in listed.json()["items"]] == ["Kim keeps bees"]
            refused = await rest.post(url, json=INIT, headers={"authorization": "Bearer no"})
            assert refused.status_code == 401
            assert refused.headers["x-request-id"]


def search_tool(memory: MemoryService, actor: Actor) -> Any:
    return memory_tools(memory, actor=actor)[1]


async def _outside(memory: MemoryService, url: str, actor: Actor, ids: dict[str, str]) -> None:
    """Require that who is no member is told so, and nothing else, on every surface."""
    with pytest.raises(PermissionDenied, match="not_a_member"):
        await memory.search_memories(actor, "lake of the launch site", 10)
    by_tool = await search_tool(memory, actor).ainvoke({"query": "lake of the launch site"})
    assert "not_a_member" in by_tool
    for prefix in ((), ("projects", "apollo", "memories")):
        with pytest.raises(PermissionDenied, match="not_a_member"):
            await MnemicStore(memory, actor=actor).asearch(prefix, query="lake")
    async with client_of(url, f"mk_{actor.user}", mnemic_project="apollo") as client:
        for tool, arguments in (
            ("memory_search", {"query": "lake"}),
            ("memory_context", {"query": "who lives by the lake"}),
            ("memory_list", {}),
            ("memory_profile", {}),
        ):
            refused = await client.call_tool(tool, arguments)
            assert refused.is_error
            assert "not_a_member" in repr(refused.content)
            assert not any(animal in repr(refused.content) for animal in ids)
        for item in ids.values():
            with pytest.raises(MCPError, match="item_not_found"):
                await client.read_resource(f"mnemic://memories/{item}")


async def test_pf_063_one_matrix_of_visibility_on_every_surface(stub_memory: MemoryService) -> None:
    kim = Actor("kim", project="apollo")
    await stub_memory.projects.create(kim, "apollo", "Apollo")
    await stub_memory.projects.grant(kim, "apollo", "vera", "viewer")
    ids = {}
    for visibility, animal in (("public", "otter"), ("members", "heron"), ("owner_only", "newt")):
        verdict = await stub_memory.add_explicit_memory(
            kim,
            f"The {animal} lives by the lake of the launch site",
            scope="project",
            visibility=visibility,  # type: ignore[arg-type]
        )
        ids[animal] = str(verdict.id)
    expected = {"kim": {"otter", "heron", "newt"}, "vera": {"otter", "heron"}}
    async with served(endpoint(stub_memory)) as url:
        await _outside(stub_memory, url, Actor("zoe", project="apollo"), ids)
        for user, animals in expected.items():
            actor = Actor(user, project="apollo")
            hits = await stub_memory.search_memories(actor, "lake of the launch site", 10)
            assert {animal for animal in ids if any(animal in h.content for h in hits)} == animals
            by_tool = await search_tool(stub_memory, actor).ainvoke(
                {"query": "lake of the launch site"}
            )
            assert {animal for animal in ids if animal in by_tool} == animals
            store = MnemicStore(stub_memory, actor=actor)
            found = repr([one.value for one in await store.asearch((), query="lake launch site")])
            assert not any(animal in found for animal in ids)  # no key was given to any of them
            found = repr(await store.asearch(("projects", "apollo", "memories"), query="lake"))
            assert {animal for animal in ids if animal in found} == animals
            async with client_of(url, f"mk_{user}", mnemic_project="apollo") as client:
                for tool, arguments in (
                    ("memory_search", {"query": "lake of the launch site", "k": 10}),
                    ("memory_context", {"query": "who lives by the lake of the launch site"}),
                    ("memory_list", {"limit": 50}),
                ):
                    told = json.dumps(await answer(client, tool, **arguments))
                    assert {animal for animal in ids if animal in told} == animals, (user, tool)
                for animal, item in ids.items():
                    uri = f"mnemic://memories/{item}"
                    if animal in animals:
                        assert animal in repr(await client.read_resource(uri))
                        continue
                    with pytest.raises(MCPError, match="item_not_found"):
                        await client.read_resource(uri)
