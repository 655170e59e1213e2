"""Does the service answer MCP clients at /mcp, by the same keys as its routes?"""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from e2e.serving import Place, key_of, place_at


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with place_at(tmp_path_factory.mktemp("mcp")) as made:
        yield made


async def test_two_workers_answer_an_mcp_client_and_nobody_without_a_key(place: Place) -> None:
    key = key_of(place, "--user", "mia")
    with place.served("--workers", "2", MNEMIC_CONSENT="implied") as service:
        url = f"{service.told['url']}/mcp"
        headers = {"authorization": f"Bearer {key}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"memory_add", "memory_search"} <= names
            added = await client.call_tool("memory_add", {"content": "Mia rows on Sundays"})
            assert not added.is_error
        async with httpx2.AsyncClient() as nobody:
            sent = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            assert (await nobody.post(url, json=sent)).status_code == 401
