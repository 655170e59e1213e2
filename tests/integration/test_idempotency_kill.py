"""Does a request that is sent again survive the death of the process that was doing it?"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from conftest import Connect, Server
from mnemic.access.idempotency import Answer, Idempotency, fingerprint
from mnemic.deployment import Deployment
from mnemic.errors import Conflict
from mnemic.model import Actor

KIM = Actor("kim", credential="key:mk_aaaaaaaa")
REQUEST = fingerprint("POST", "/api/memory", "", b"{}")
CHILD = """
import asyncio, os, signal, sys
from mnemic.access.idempotency import Answer, Idempotency, fingerprint
from mnemic.deployment import Deployment
from mnemic.model import Actor
from mnemic.settings import Settings

KIM = Actor("kim", credential="key:mk_aaaaaaaa")

def die():
    os.kill(os.getpid(), signal.SIGKILL)

async def main(moment):
    deployment = await Deployment.start(Settings.read())
    async def work():
        if moment == "before":
            die()
        async with deployment.database.transaction(KIM) as tx:
            await tx.run("insert into session (scope_key, session_id, user_id)"
                         " values ('user:kim', %(id)s, 'kim')", {"id": "made-by-the-dead"})
            if moment == "within":
                die()
            await tx.answer("made by the dead")
            if moment == "uncommitted":
                die()
        die()  # committed, and nothing was sent
    repeats = Idempotency(deployment.database, deployment.keys)
    request = fingerprint("POST", "/api/memory", "", b"{}")
    await repeats.run(KIM, "k-1", request, work, lambda result: Answer(201, str(result)))

asyncio.run(main(sys.argv[1]))
"""


def die_at(moment: str, server: Server, schema: str) -> None:
    """Let another process reserve the request and kill itself at that moment."""
    env = os.environ | {
        "MNEMIC_DATABASE_URL": server.service,
        "MNEMIC_MIGRATION_URL": server.owner,
        "MNEMIC_KEY_FILE": str(server.key_file),
        "MNEMIC_SCHEMA": schema,
    }
    done = subprocess.run([sys.executable, "-c", CHILD, moment], env=env, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL


async def sessions(connect: Connect) -> set[str]:
    owner = await connect("owner")
    rows = await (await owner.execute("select session_id from session")).fetchall()
    return {row["session_id"] for row in rows}


async def redo(deployment: Deployment, stale_after: float) -> Answer:
    repeats = Idempotency(deployment.database, deployment.keys, stale_after=stale_after)

    async def work() -> str:
        async with deployment.database.transaction(KIM) as tx:
            await tx.run(
                "insert into session (scope_key, session_id, user_id) values ('user:kim', %(id)s, 'kim')",
                {"id": "made-by-the-retry"},
            )
            await tx.answer("made by the retry")
        return "made by the retry"

    return await repeats.run(KIM, "k-1", REQUEST, work, lambda r: Answer(201, str(r)))


@pytest.mark.parametrize("moment", ["before", "within", "uncommitted"])
async def test_killed_before_the_commit_the_retry_does_the_work(
    moment: str, deployment: Deployment, server: Server, schema: str, connect: Connect
) -> None:
    die_at(moment, server, schema)
    with pytest.raises(Conflict) as caught:
        await redo(deployment, stale_after=60)
    assert caught.value.code == "idempotency_in_flight"
    await asyncio.sleep(0.3)
    answer = await redo(deployment, stale_after=0.2)
    assert answer == Answer(201, "made by the retry")
    assert await sessions(connect) == {"made-by-the-retry"}


async def test_killed_after_the_commit_the_retry_repeats_the_answer(
    deployment: Deployment, server: Server, schema: str, connect: Connect
) -> None:
    die_at("after", server, schema)
    assert await redo(deployment, stale_after=60) == Answer(201, "made by the dead")
    assert await sessions(connect) == {"made-by-the-dead"}
