"""Do MCP clients start ``mnemic mcp`` and talk to it, whatever happens around it?"""

from __future__ import annotations

import json
import os
import subprocess
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from e2e.program import MNEMIC, Cli
from mnemic.cli.mcp import HOST, PORT

ROOT = Path(__file__).parents[2]


def started(cli: Cli, *arguments: str, user: str = "mia") -> StdioServerParameters:
    """How a client starts the server."""
    env = cli.env | {"MNEMIC_USER": user}
    return StdioServerParameters(command=str(MNEMIC), args=["mcp", *arguments], env=env)


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def test_a_client_starts_the_server_and_two_of_them_share_the_memory(cli: Cli) -> None:
    async with Client(started(cli)) as client:
        added = await answer(client, "memory_add", content="米娅养了两只猫", quote="我养了两只猫")
        assert added["verdict"] == "stored"
        async with Client(started(cli, "--user", "mia"), mode="legacy") as second:
            found = await answer(second, "memory_search", query="猫")
            assert [hit["memory"]["id"] for hit in found["hits"]] == [added["id"]]
    async with Client(started(cli, user="noah")) as other:
        assert (await answer(other, "memory_list"))["total"] == 0
    assert cli.json("list", user="mia")["total"] == 1


def test_pf_131_nothing_but_protocol_comes_out_even_when_everything_fails(cli: Cli) -> None:
    sent = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {
            "jsonrpc": "2.0",
            "id": 3,
            "method": "tools/call",
            "params": {"name": "memory_list", "arguments": {}},
        },
    ]
    url = "postgresql://nobody@127.0.0.1:1/none"
    process = subprocess.Popen(
        [MNEMIC, "--verbose", "mcp", "--database-url", url],
        env=cli.env | {"MNEMIC_USER": "mia"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers = {}
    began = time.monotonic()
    for message in sent:
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        if "id" in message:
            told = json.loads(process.stdout.readline())
            answers[told["id"]] = told
            assert time.monotonic() - began < 60
    rest, errors = process.communicate(timeout=60)
    for line in rest.splitlines():
        json.loads(line)
    assert len(answers[2]["result"]["tools"]) >= 12  # answered, though there is no memory to open
    refused = answers[3]["result"]
    assert refused["isError"] is True
    assert "[database_unreachable]" in refused["content"][0]["text"]
    assert "Traceback" not in errors


def test_a_user_who_cannot_be_is_told_before_anything_starts(cli: Cli) -> None:
    ran = cli("mcp", "--user", "  ")
    assert (ran.code, ran.out) == (2, "")
    assert "[invalid_id]" in ran.err
    assert cli("mcp", "--http", "--port", "70000", "--json").json["reason"] == "port_out_of_range"
    loopback = cli("mcp", "--http", "--host", "0.0.0.0", "--json")
    assert loopback.json["reason"] == "local_is_loopback_only"


def servers_of(snippet: Path) -> Any:
    """Return what a configuration file tells a client of the one server in it."""
    text = snippet.read_text(encoding="utf-8")
    reads = {".json": json.loads, ".toml": tomllib.loads, ".yaml": yaml.safe_load}
    told = reads[snippet.suffix](text)
    names = ("mcpServers", "servers", "context_servers", "mcp_servers")
    (servers,) = (told[name] for name in names if name in told)
    (server,) = servers if isinstance(servers, list) else servers.values()
    return server


SNIPPETS = sorted((ROOT / "examples" / "mcp").iterdir())


@pytest.mark.parametrize(
    "snippet", [one for one in SNIPPETS if one.name != "http.json"], ids=lambda p: p.name
)
async def test_the_configuration_snippets_start_a_server(cli: Cli, snippet: Path) -> None:
    server = servers_of(snippet)
    assert server["command"] == "mnemic"
    env = cli.env | server.get("env", {}) | {"MNEMIC_DATA_DIR": cli.env["MNEMIC_DATA_DIR"]}
    given = StdioServerParameters(command=str(MNEMIC), args=server["args"], env=env)
    async with Client(given) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"memory_add", "memory_search"} <= names


async def test_over_http_the_key_that_is_shown_lets_its_user_in(cli: Cli) -> None:
    import httpx2

    process = subprocess.Popen(  # noqa: ASYNC220 - it starts at once
        [MNEMIC, "mcp", "--http", "--port", "0", "--json"],
        env=cli.env | {"MNEMIC_USER": "mia"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    snippet = servers_of(ROOT / "examples" / "mcp" / "http.json")
    assert (snippet["type"], snippet["url"]) == ("http", f"http://{HOST}:{PORT}/mcp")
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert told["user"] == "mia"
        headers = {
            name: value.replace("${MNEMIC_KEY}", told["key"])
            for name, value in snippet["headers"].items()
        }
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(told["url"], http_client=http)) as client,
        ):
            assert (await answer(client, "memory_profile"))["project"] is None
            sent = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            async with httpx2.AsyncClient() as nobody:
                assert (await nobody.post(told["url"], json=sent)).status_code == 401
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors


def test_without_the_package_the_command_says_what_to_install(cli: Cli, tmp_path: Path) -> None:
    hidden = tmp_path / "sitecustomize.py"
    hidden.write_text(
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'mcp' or name.startswith('mcp.'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
    )
    ran = subprocess.run(
        [MNEMIC, "mcp", "--json"],
        env=cli.env | {"PYTHONPATH": os.fspath(tmp_path), "MNEMIC_USER": "mia"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert json.loads(ran.stdout)["reason"] == "integration_not_installed"
    assert "'.[mcp]'" in ran.stdout
