"""What do tests of the REST service share? A real service on the embedded database, asked in-process."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import uvicorn

from mnemic.access.apikeys import Holder, KeyCheck, invalid
from mnemic.access.credentials import Authenticator
from mnemic.access.idempotency import Idempotency

if TYPE_CHECKING:
    from fastapi import FastAPI

    from mnemic.service import MemoryService
    from mnemic.settings import Settings

RIGHTS = frozenset({"read", "write", "admin"})


class NamedKeys(KeyCheck):
    """Keys of tests: ``mk_kim`` is kim's, ``mk_kim/read`` may only read, ``mk_operator`` is an operator's.

    ``only`` is what a key must begin with to count.
    """

    def __init__(self, only: str = "mk_") -> None:
        self._only = only

    async def holder(self, text: str) -> Holder:
        """Return whom the key names."""
        if not text.startswith(self._only):
            raise invalid()
        name, _, right = text.removeprefix("mk_").partition("/")
        if name == "operator":
            return Holder(name, "operator", None, frozenset())
        if name == "service":
            return Holder(name, "service", None, RIGHTS)
        return Holder(name, "user", name, frozenset({right}) if right else RIGHTS)


def app_on(memory: MemoryService, **more: Any) -> FastAPI:
    """Return the app on a memory, with Idempotency-Key and the keys of tests."""
    from mnemic.api.app import create_app

    parts = memory._parts.deployment
    repeats = Idempotency(parts.database, parts.keys)
    given = {"auth": Authenticator(NamedKeys()), "repeats": repeats} | more
    return create_app(memory, **given)


@asynccontextmanager
async def asking(
    app: FastAPI, user: str = "kim", **headers: str
) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the app, as one user."""
    given = {"authorization": f"Bearer mk_{user}"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://test", headers=given, timeout=60
    ) as client:
        yield client


def told(response: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """Return the problem of a response, after checking its form."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert problem["code"] == code, problem
    assert problem["status"] == status
    assert problem["type"] == f"urn:mnemic:reason:{code}"
    assert problem["request_id"] == response.headers["x-request-id"]
    return problem


class _Announcing(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, config: uvicorn.Config, ready: threading.Event) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready.set()


class Served:
    """A service in a thread of its own, with its database pool and its event loop, behind a real port."""

    def __init__(self, settings: Settings, auth: object = None, **more: object) -> None:
        self._settings, self._auth, self._more = settings, auth, more
        self._ready = threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._server: uvicorn.Server | None = None
        self.url = ""

    def __enter__(self) -> Served:
        self._thread.start()
        self._ready.wait(60)
        if self._failed is not None:
            raise self._failed
        assert self.url, "the service did not start"
        return self

    def __exit__(self, *exc: object) -> None:
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - whoever waits in the other thread raises it
            self._failed = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        from conftest import adopt
        from mnemic.service import MemoryService
        from stub_embedder import StubEmbedder, curve

        await adopt(self._settings, StubEmbedder(), curve())
        async with MemoryService.open(settings=self._settings, embedder=StubEmbedder()) as memory:
            app = app_on(memory, **({"auth": self._auth} if self._auth else {}), **self._more)
            config = uvicorn.Config(
                app, port=0, log_config=None, access_log=False, ws="none", lifespan="on"
            )
            self._server = _Announcing(config, self._ready)
            with socket.create_server(("127.0.0.1", 0)) as listening:
                self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
                await self._server.serve(sockets=[listening])
