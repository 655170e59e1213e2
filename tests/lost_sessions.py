"""How does a test end the database sessions of its own pool, and of nobody else's?"""

from __future__ import annotations

from conftest import Connect
from mnemic.storage.pool import Database, Transaction


def sessions_of(opened: Database, *busy: Transaction) -> list[int]:
    """Return the server's process ids of a pool's connections."""
    connections = [*opened._pool._pool, *(tx.conn for tx in busy)]
    return [connection.info.backend_pid for connection in connections]


async def end_sessions(connect: Connect, pids: list[int]) -> None:
    """Terminate sessions in the server, as a restart or a pooler's limit would, and see them gone."""
    assert pids, "there is no session to lose"
    admin = await connect("superuser")
    await admin.execute(
        "select pg_terminate_backend(pid, 5000) from unnest(%s::int[]) as p (pid)", [pids]
    )
