"""mcp: the memory for MCP clients, on standard input and output or over HTTP on this machine."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.cli.options import DONE, Common, command
from mnemic.errors import InvalidInput

if TYPE_CHECKING:
    import socket

    from mnemic.service import MemoryService

HOST, PORT = "127.0.0.1", 8765
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

Http = Annotated[
    bool, typer.Option("--http", help="Over HTTP at /mcp: loopback only, with a key made now.")
]
Host = Annotated[str, typer.Option(help="With --http: the address to listen on.")]
Port = Annotated[int, typer.Option(help="With --http: the port; 0 for a free one.")]


def register(app: typer.Typer) -> None:
    """Add this command to the application."""
    command(app, "mcp")(mcp)


async def mcp(common: Common, http: Http = False, host: Host = HOST, port: Port = PORT) -> int:
    """Serve the memory to an MCP client until it hangs up, or with --http until Ctrl-C."""
    from mnemic.integrations.extras import require_extra

    require_extra("mcp")
    actor = common.actor  # a user who cannot be is told before anything is opened
    if http:
        return await _over_http(common, host, port)
    from mnemic.integrations.mcp import serve_stdio

    await serve_stdio(common.open(), actor)
    return DONE


async def _over_http(common: Common, host: str, port: int) -> int:
    from mnemic.access.credentials import require_server_extra
    from mnemic.cli.supervisor import listen, url_of

    require_server_extra()
    if not 0 <= port <= 65_535:
        raise InvalidInput("port_out_of_range", "A port is a number from 0 to 65535.")
    with listen(host, port, loopback_only=True) as listening:
        async with common.open() as memory:
            url = f"{url_of(listening)}/mcp"
            endpoint, key = await _endpoint(common, memory, host)
            common.out.result(
                {"url": url, "pid": os.getpid(), "key": key, "user": common.actor.user},
                f"Serving MCP on {url}. Stop with Ctrl-C.",
                f"The key of {common.actor.user} while this runs, shown only now:",
                key,
            )
            await _serve(endpoint, listening)
    return DONE


async def _endpoint(common: Common, memory: MemoryService, host: str) -> tuple[Any, str]:
    """Return what answers at /mcp, and the key of this run that lets its user in."""
    from mnemic.access.apikeys import (
        KeyCheck,
        LocalKey,
        deployment_of,
        new_key,
        parsed,
        secret_mac,
    )
    from mnemic.access.credentials import Authenticator
    from mnemic.integrations.mcp import Endpoint

    text, prefix = new_key()
    found = parsed(text)
    assert found is not None
    database = memory.deployment.database
    deployment = await deployment_of(database)
    local = LocalKey(prefix, secret_mac(deployment, *found), common.actor.user)
    auth = Authenticator(KeyCheck(database, deployment, local=local))
    return Endpoint(memory, auth, hosts=(*LOOPBACK, host)), text


async def _serve(endpoint: Any, listening: socket.socket) -> None:
    import uvicorn

    server = uvicorn.Server(
        uvicorn.Config(
            endpoint,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            lifespan="on",
            timeout_graceful_shutdown=5,
        )
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: setattr(server, "should_exit", True))
    await server.serve(sockets=[listening])
