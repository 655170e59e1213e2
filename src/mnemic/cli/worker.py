"""What does one process of ``mnemic serve`` do? It takes requests from a socket that its supervisor opened.

The supervisor writes one line of JSON to our standard input, the plan, and keeps the pipe open: when it
closes, the supervisor is gone and we go too. We answer with one line on standard output: ready, or why not.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mnemic.cli.arrivals import Arrivals, Counts
from mnemic.errors import MnemicError

if TYPE_CHECKING:
    import uvicorn

    from mnemic.access.apikeys import LocalKey
    from mnemic.access.credentials import Authenticator
    from mnemic.access.rates import Rates
    from mnemic.service import MemoryService
    from mnemic.settings import Settings

FAILED = 3
"""Exit status of a worker that has told its supervisor why it cannot start."""
COUNTS = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names where the workers keep the counts which /metrics adds up."""
_IDLE = 75
"""Seconds that a connection may lie idle: longer than proxies keep theirs, so that they close first."""
_GARBAGE = 20_000
"""Objects after which Python looks for cycles among the newest; a request makes some hundreds."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a worker is told; ``settings`` go over the environment.

    ``fd`` is the listening socket, ``counts`` the file in which worker ``number`` tells its connections.
    """

    fd: int
    counts: int
    number: int
    workers: int
    settings: dict[str, Any]
    local: LocalKey | None = None
    verbose: bool = False

    def to_json(self) -> str:
        """Return the plan as one line."""
        local = self.local
        told = local and {
            "prefix": local.prefix,
            "secret_mac": local.secret_mac.hex(),
            "user": local.user,
        }
        return json.dumps(
            {
                "fd": self.fd,
                "counts": self.counts,
                "number": self.number,
                "workers": self.workers,
                "settings": self.settings,
                "local": told,
                "verbose": self.verbose,
            },
            default=str,
        )

    @classmethod
    def from_json(cls, line: str) -> Plan:
        """Read what ``to_json`` wrote."""
        from mnemic.access.apikeys import LocalKey

        told = json.loads(line)
        local = told["local"]
        told["local"] = local and LocalKey(
            local["prefix"], bytes.fromhex(local["secret_mac"]), local["user"]
        )
        return cls(**told)


def main() -> None:
    """Serve until told to stop; exit 0 then, FAILED when the start was refused."""
    report = _reporter()
    line = _first_line()
    if not line:
        return  # the supervisor died before it said anything
    plan = Plan.from_json(line)
    _log(plan.verbose)
    try:
        asyncio.run(_serve(plan, report))
    except MnemicError as error:
        report({"reason": error.code, "message": error.message})
        sys.exit(FAILED)


async def _serve(plan: Plan, report: Callable[[dict[str, object]], None]) -> None:
    from mnemic.service import MemoryService
    from mnemic.settings import Settings

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_reader(0, _when_orphaned, loop, stop)
    settings = Settings.read(**plan.settings)
    async with MemoryService.open(settings=settings) as memory:
        with socket.socket(fileno=plan.fd) as listening:
            listening.setblocking(False)
            app, agents, close = await application(memory, settings, plan.workers, plan.local)
            # what a worker begins with stays, and what a request makes goes with it
            gc.freeze()
            gc.set_threshold(_GARBAGE)
            counts = Counts(plan.counts, plan.workers)
            arrivals = Arrivals(listening, counts, plan.number)
            server = _server(app, settings, arrivals, lambda: report({"ready": True}))
            stopping = asyncio.ensure_future(_stop(server, stop))
            try:
                async with agents:
                    await server.serve(sockets=[listening])
            finally:
                stopping.cancel()
                await close()


async def application(
    memory: MemoryService, settings: Settings, workers: int = 1, local: LocalKey | None = None
) -> tuple[Any, AbstractAsyncContextManager[None], Callable[[], Any]]:
    """Return the ASGI application of one worker on an open service, in what MCP clients are answered, and
    what closes it afterwards."""
    from mnemic.access.apikeys import KeyCheck, deployment_of
    from mnemic.access.credentials import Authenticator, tokens_of
    from mnemic.access.idempotency import Idempotency
    from mnemic.access.rates import Rates
    from mnemic.api.app import create_app
    from mnemic.api.metrics import Metrics

    deployment = memory.deployment
    database = deployment.database
    check = KeyCheck(database, await deployment_of(database), local=local)
    counts = os.environ.get(COUNTS)
    metrics = Metrics(Path(counts) if counts else None)
    rates = Rates.of(settings, workers, fell_back=metrics.fell_back)
    auth = Authenticator(check, tokens_of(settings), memory.audit)
    app = create_app(
        memory,
        auth,
        rates=rates,
        repeats=Idempotency(database, deployment.keys),
        metrics=metrics,
    )
    return app, _mcp(app, memory, auth, rates), rates.close


def _mcp(
    app: Any, memory: MemoryService, auth: Authenticator, rates: Rates
) -> AbstractAsyncContextManager[None]:
    """Answer MCP clients at ``/mcp`` too, where its library is installed."""
    if find_spec("mcp") is None:
        return nullcontext()
    from starlette.routing import Route

    from mnemic.integrations.mcp import Endpoint

    endpoint = Endpoint(memory, auth, rates=rates)
    app.router.routes.append(Route("/mcp", endpoint))
    return endpoint.running()


def _server(
    app: Any, settings: Settings, arrivals: Arrivals, ready: Callable[[], None]
) -> uvicorn.Server:
    import uvicorn

    from mnemic.cli.connections import impatient

    return _taking(arrivals, ready)(
        uvicorn.Config(
            app,
            http=impatient(arrivals.changed),
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_IDLE,
            lifespan="on",
            # the other half is for what goes on after its caller has gone
            timeout_graceful_shutdown=max(1, round(settings.shutdown_timeout / 2)),
            ws="none",
        )
    )


def _taking(arrivals: Arrivals, ready: Callable[[], None]) -> type[uvicorn.Server]:
    import uvicorn

    class Server(uvicorn.Server):
        """Leaves signals to the worker, takes its share of connections, and says when it does."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup([])
            arrivals.start(self._protocol)
            ready()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            arrivals.close()
            await super().shutdown(sockets)

        def _protocol(self) -> asyncio.Protocol:
            protocol: Any = self.config.http_protocol_class
            made: asyncio.Protocol = protocol(self.config, self.server_state, self.lifespan.state)
            return made

    return Server


async def _stop(server: uvicorn.Server, stop: asyncio.Event) -> None:
    await stop.wait()
    server.should_exit = True


def _when_orphaned(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Our supervisor writes nothing more: what there is to read is the end of the pipe."""
    if not os.read(0, 4096):
        loop.remove_reader(0)
        stop.set()


def _first_line() -> str:
    """Read the plan byte by byte, so that nothing behind it is taken along."""
    line = b""
    while part := os.read(0, 1):
        if part == b"\n":
            return line.decode()
        line += part
    return ""


def _reporter() -> Callable[[dict[str, object]], None]:
    """Return what writes one line to the supervisor; whatever else is printed goes to stderr from now on."""
    pipe = os.dup(1)
    os.dup2(2, 1)

    def report(told: dict[str, object]) -> None:
        os.write(pipe, json.dumps(told).encode() + b"\n")

    return report


def _log(verbose: bool) -> None:
    """Log to stderr, one JSON object a line; without ``verbose`` warnings only."""
    import structlog

    level = logging.INFO if verbose else logging.WARNING
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)


if __name__ == "__main__":
    main()
