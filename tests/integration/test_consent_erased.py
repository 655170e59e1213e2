"""What does a user's word count after their erasure, and while it runs?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from conftest import Connect, Server
from mnemic.audit import Audit
from mnemic.consent import Consents
from mnemic.deployment import Deployment
from mnemic.errors import ConsentRequired, PermissionDenied
from mnemic.keyfile import KeyFile
from mnemic.model import Actor
from mnemic.privacy.erase import Erase

if TYPE_CHECKING:
    pass

KIM = Actor("kim", session="s1")


async def audit_of(deployment: Deployment, server: Server) -> Audit:
    return await Audit.open(deployment.database, KeyFile(server.key_file))


@pytest.fixture
async def consents(deployment: Deployment, server: Server) -> Consents:
    return Consents(deployment.database, await audit_of(deployment, server))


@pytest.fixture
async def asked(server: Server, schema: str) -> AsyncIterator[tuple[Deployment, Consents]]:
    """A deployment in which users must be asked first."""
    opened = await Deployment.start(server.settings(schema, consent="required"))
    yield opened, Consents(opened.database, await audit_of(opened, server))
    await opened.close()


async def admitted(deployment: Deployment, actor: Actor = KIM) -> bool:
    try:
        async with deployment.database.transaction(actor):
            return True
    except ConsentRequired as refusal:
        return refusal.code != "consent_required"


@pytest.fixture
async def erase(deployment: Deployment, consents: Consents) -> Erase:
    return Erase(deployment.database, deployment.keys, consents._audit)


async def test_pf_082_an_erasure_leaves_no_word_and_a_later_contact_is_asked_anew(
    asked: tuple[Deployment, Consents],
) -> None:
    deployment, consents = asked
    await consents.grant(KIM)
    erase = Erase(deployment.database, deployment.keys, consents._audit)
    await erase.forget_user(KIM)
    state = await consents.show(KIM)
    assert state.purposes["remember"] == "unasked"
    assert state.records == ()
    assert not await admitted(deployment)
    assert (await consents.refuse(KIM)).purposes["remember"] == "refused"
    assert not await admitted(deployment)


async def test_pf_082_a_grant_that_was_under_way_while_its_user_was_erased_is_refused(
    consents: Consents, erase: Erase, deployment: Deployment, connect: Connect
) -> None:
    actor, owner = Actor(f"kim {uuid4()}"), await connect("owner")
    await consents.refuse(actor)
    async with deployment.database.transaction(actor, consent=False):
        erasing = asyncio.create_task(erase.forget_user(actor))
        await waiting(owner, actor, 1)
        granting = asyncio.create_task(consents.grant(actor))
        await waiting(owner, actor, 2)
        refusing = asyncio.create_task(consents.refuse(actor))
        await waiting(owner, actor, 3)
    assert (await erasing).counts["app_user"] == 1
    with pytest.raises(PermissionDenied) as caught:
        await granting
    assert caught.value.code == "user_erased"
    assert (await refusing).purposes["remember"] == "refused"


async def waiting(owner: Any, actor: Actor, number: int) -> None:
    """Wait until so many transactions wait for this user's lock."""
    query = (
        "select count(*) as n from pg_locks where locktype = 'advisory' and not granted"
        " and (classid::bigint << 32) | objid::bigint = hashtextextended(%s, 7)"
    )
    for _ in range(200):
        row = await (await owner.execute(query, [actor.user_scope])).fetchone()
        if row["n"] >= number:
            return
        await asyncio.sleep(0.02)
    pytest.fail("nobody waits")
