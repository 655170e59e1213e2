"""What is the least that a service of this kind costs? FastAPI, psycopg, one INSERT or one SELECT.

``python -m benchmarks.soak_bare URL FD``: one process of the soak's floor. It runs on the same server, HTTP
stack and durability as `mnemic serve`. No credential, no policy, no gate, no vectors.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel
from starlette.requests import Request

_POOL = 8
TABLE = """
    create table if not exists soak_bare (
        id bigint generated always as identity primary key,
        user_id text not null, content text not null, created_at timestamptz not null default now());
    create index if not exists soak_bare_user on soak_bare (user_id, id desc)"""


class Add(BaseModel):
    """What is to be kept."""

    user: str
    content: str


class Search(BaseModel):
    """Whose newest five are wanted."""

    user: str
    query: str


def app_on(url: str) -> FastAPI:
    """Return the bare service on a database."""
    pool = AsyncConnectionPool(
        url,
        kwargs={"autocommit": True, "prepare_threshold": 2},
        min_size=1,
        max_size=_POOL,
        open=False,
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with pool:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/add", status_code=201)
    async def add(body: Add, request: Request) -> dict[str, Any]:
        async with pool.connection() as conn:
            cursor = await conn.execute(
                "insert into soak_bare (user_id, content) values (%s, %s) returning id",
                (body.user, body.content),
            )
            row = await cursor.fetchone()
        assert row is not None
        return {"verdict": "stored", "id": row[0]}

    @app.post("/search")
    async def search(body: Search, request: Request) -> dict[str, Any]:
        async with pool.connection() as conn:
            cursor = await conn.execute(
                "select id, content, created_at from soak_bare where user_id = %s"
                " order by id desc limit 5",
                (body.user,),
            )
            rows = await cursor.fetchall()
        return {"hits": [{"id": i, "content": c, "created_at": t} for i, c, t in rows]}

    return app


def main() -> None:
    """Serve on a socket that the caller opened, until SIGTERM."""
    url, number = sys.argv[1:]
    with socket.socket(fileno=int(number)) as listening:
        config = uvicorn.Config(app_on(url), log_config=None, access_log=False, backlog=8)
        asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))


if __name__ == "__main__":
    main()
