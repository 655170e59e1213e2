"""Does a change reach the profile once and surely, whoever writes, makes or dies meanwhile?"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from conftest import Connect, Connection, Prepare, Server
from mnemic.chat import ChatMessage
from mnemic.errors import Conflict
from mnemic.model import Actor
from mnemic.profile.aggregate import merged, of_user
from mnemic.profile.rows import blind_names, open_known
from mnemic.storage.statements import statements
from stub_embedder import StubEmbedder, curve

if TYPE_CHECKING:
    from mnemic.service import MemoryService
    from mnemic.settings import Settings

KIM, LEE = Actor("kim"), Actor("lee")
SAYINGS = (
    ("fact", "My name is Rowan"),
    ("fact", "我叫王伟"),
    ("fact", "I work as a beekeeper"),
    ("preference", "I like steak"),
    ("preference", "我喜欢爵士乐了"),
    ("preference", "我不喜欢爵士乐"),
    ("skill", "I'm good at negotiation"),
    ("habit", "I use Vim every day"),
    ("fact", "I live in Oslo"),
    ("fact", "I moved to Lisbon"),
)


async def waiting(owner: Connection) -> int:
    return (await owner.execute("select from outbox")).rowcount


async def from_scratch(memory: MemoryService, actor: Actor) -> Any:
    """Return the fields that the stored items make, without any profile."""
    deployment = memory._parts.deployment
    async with deployment.database.transaction(actor) as tx:
        key = await deployment.keys.obtain(tx, actor)
        names = blind_names(key)
        params = {"scope_key": actor.user_scope, "most": 200, "slots": list(names)}
        rows = await tx.all(statements("profiles")["items"], params)
    return of_user([open_known(key, row, names) for row in rows])


async def stored(memory: MemoryService, actor: Actor) -> Any:
    refresh = memory.profiles._refresh
    async with memory._parts.deployment.database.transaction(actor) as tx:
        return (await refresh.user(tx, actor)).fields


@pytest.mark.parametrize("seed", range(4))
async def test_add_supersede_edit_and_delete_in_any_order_come_to_what_items_say(
    stub_memory: MemoryService, seed: int
) -> None:
    random, ids, edited = Random(seed), list[Any](), dict[str, Any]()
    for _ in range(25):
        step = random.choice(("add", "add", "delete", "change", "edit", "clear", "read"))
        with suppress(LookupError, Conflict):
            if step == "add":
                memory_type, text = random.choice(SAYINGS)
                verdict = await stub_memory.add_explicit_memory(KIM, text, memory_type=memory_type)  # type: ignore[arg-type]
                ids += [verdict.id] if verdict.id else []
            elif step == "delete" and ids:
                await stub_memory.delete(KIM, ids.pop(random.randrange(len(ids))))
            elif step == "change" and ids:
                await stub_memory.update(KIM, random.choice(ids), content=random.choice(SAYINGS)[1])
            elif step == "edit":
                profile = await stub_memory.profiles.edit(KIM, "username", f"Kim {random.random()}")
                edited["username"] = profile.values["username"]
            elif step == "clear":
                await stub_memory.profiles.edit(KIM, "username", None)
                edited.clear()
            elif step == "read":
                await stub_memory.profiles.get(KIM)
    profile = await stub_memory.profiles.get(KIM)
    fields = await stored(stub_memory, KIM)
    assert fields == merged(await from_scratch(stub_memory, KIM), fields)
    if edited:
        assert profile.values["username"] == edited["username"]
    await stub_memory.delete_all(KIM)
    left = await stub_memory.profiles.get(KIM)
    assert {name for name, value in left.values.items() if value} == set(edited)


async def test_a_write_that_fails_asks_for_nothing(
    stub_memory: MemoryService, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stub_memory.profiles.consumer.close()
    await stub_memory.add_explicit_memory(KIM, "My name is Rowan")
    owner = await connect("owner")
    assert await waiting(owner) == 1

    async def broken(*given: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(stub_memory._parts.audit, "record_all", broken)
    with pytest.raises(RuntimeError):
        await stub_memory.add_explicit_memory(KIM, "I like steak")
    assert await waiting(owner) == 1


async def test_a_batch_asks_once_and_a_read_takes_only_its_own(
    stub_memory: MemoryService, connect: Connect
) -> None:
    from mnemic.longterm.draft import Draft

    await stub_memory.profiles.consumer.close()
    await stub_memory.add_many(KIM, [Draft(text, kind) for kind, text in SAYINGS])  # type: ignore[arg-type]
    await stub_memory.add_explicit_memory(LEE, "My name is Lee")
    owner = await connect("owner")
    rows = await (await owner.execute("select scope_key from outbox order by 1")).fetchall()
    assert [row["scope_key"] for row in rows] == ["user:kim", "user:lee"]
    await stub_memory.get_profile_for_agent(KIM)
    rows = await (await owner.execute("select scope_key from outbox")).fetchall()
    assert [row["scope_key"] for row in rows] == ["user:lee"]


async def test_many_makers_at_once_make_one_profile(stub_memory: MemoryService) -> None:
    for memory_type, text in SAYINGS:
        await stub_memory.add_explicit_memory(KIM, text, memory_type=memory_type)  # type: ignore[arg-type]
    profiles = stub_memory.profiles
    found = await asyncio.gather(
        *(profiles.get(KIM) for _ in range(6)), *(profiles.consumer.turn() for _ in range(3))
    )
    assert {profile.version for profile in found[:6]} == {found[0].version}  # type: ignore[union-attr]
    assert await stored(stub_memory, KIM) == await from_scratch(stub_memory, KIM)


async def test_one_profile_that_cannot_be_made_holds_up_no_other(
    stub_memory: MemoryService, connect: Connect
) -> None:
    await stub_memory.profiles.consumer.close()
    for actor in (KIM, LEE):
        await stub_memory.add_explicit_memory(actor, "My name is Rowan")
    owner = await connect("owner")
    await owner.execute(
        "update memory_item set content_enc = content_enc || '\\x00' where scope_key = 'user:kim'"
    )
    consumer = type(stub_memory.profiles.consumer)(stub_memory.profiles._refresh)
    assert await consumer.turn() == 1
    assert await consumer.turn() == 0, "kim's waits a minute"
    assert (await stub_memory.profiles.get(LEE)).values["username"] == "Rowan"
    rows = await (await owner.execute("select scope_key from outbox")).fetchall()
    assert {row["scope_key"] for row in rows} == {"user:kim"}


CHILD = """
import asyncio, os, signal, sys
from mnemic.model import Actor
from mnemic.service import MemoryService
from mnemic.settings import Settings
from mnemic.storage.pool import Transaction
from stub_embedder import StubEmbedder

left = int(sys.argv[1])

def counting(method):
    async def run(self, *given):
        global left
        answer = await method(self, *given)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer
    return run

async def work():
    async with MemoryService.open(settings=Settings.read(), embedder=StubEmbedder()) as memory:
        await memory.profiles.consumer.close()
        for name in ("one", "run", "all"):
            setattr(Transaction, name, counting(getattr(Transaction, name)))
        await memory.profiles.get(Actor("kim"))
        print("made", flush=True)

asyncio.run(work())
"""


def child(settings: Settings, stub_path: str, statement: int) -> int:
    assert settings.database_url is not None
    assert settings.migration_url is not None
    env = os.environ | {
        "PYTHONPATH": stub_path,
        "MNEMIC_DATABASE_URL": settings.database_url.get_secret_value(),
        "MNEMIC_MIGRATION_URL": settings.migration_url.get_secret_value(),
        "MNEMIC_KEY_FILE": str(settings.key_file),
        "MNEMIC_SCHEMA": settings.db_schema,
    }
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(statement)], env=env, timeout=60, check=False
    )
    return done.returncode


async def test_a_maker_that_is_killed_leaves_the_work_to_the_next(
    settings: Settings, prepare: Prepare, connect: Connect, stub_path: str
) -> None:
    from mnemic.service import MemoryService

    await prepare(settings, StubEmbedder(), curve())
    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        await memory.profiles.consumer.close()
        await memory.add_explicit_memory(KIM, "My name is Rowan")
        owner = await connect("owner")
        for statement in (2, 4, 6):
            code = await asyncio.to_thread(child, settings, stub_path, statement)
            assert code == -signal.SIGKILL
            assert await waiting(owner) == 1
        assert (await memory.profiles.get(KIM)).values["username"] == "Rowan"
        assert await waiting(owner) == 0


# ---- the database's own word


@pytest.mark.parametrize(
    "statement",
    [
        "insert into outbox (scope_key, xact) values ('user:lee', '1')",
        "update outbox set scope_key = 'user:lee'",
        "delete from user_profile",
        "update user_profile set user_id = 'lee'",
        "delete from project_profile",
        "update key_decision set item_id = gen_random_uuid()",
        "select ask_for_profile()",
        "select begin_profile()",
    ],
)
async def test_the_service_may_do_only_what_it_needs(
    statement: str, stub_memory: MemoryService, connect: Connect
) -> None:
    service = await connect("service")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await service.execute(statement.encode())


async def test_no_statement_reaches_the_profile_of_another(
    stub_memory: MemoryService, connect: Connect
) -> None:
    await stub_memory.profiles.edit(KIM, "username", "Ro")
    await stub_memory.profiles.consumer.close()
    await stub_memory.add_explicit_memory(KIM, "I like steak")
    service = await connect("service")
    for name, value in (("scopes", "user:lee"), ("sessions", "session:lee/"), ("actor", "lee")):
        await service.execute("select set_config(%s, %s, false)", [f"mnemic.{name}", value])
    for statement in (
        "select from user_profile where scope_key = 'user:kim'",
        "update user_profile set version = 9 where scope_key = 'user:kim'",
        "delete from outbox where scope_key = 'user:kim'",
        "select from outbox where scope_key = 'user:kim'",
    ):
        assert (await service.execute(statement.encode())).rowcount == 0, statement
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await service.execute(
            "insert into user_profile (scope_key, user_id) values ('user:max', 'max')"
        )


async def test_what_a_profile_holds_is_not_in_the_database_as_text(
    stub_memory: MemoryService, connect: Connect, server: Server
) -> None:
    await stub_memory.profiles.patch(
        KIM, {"username": "Rowan", "email": "rowan@example.org", "preferences": ["steak"]}
    )
    owner = await connect("owner")
    row = await (
        await owner.execute("select to_jsonb(p)::text as row from user_profile p")
    ).fetchone()
    assert row is not None
    for plain in ("Rowan", "rowan@example", "steak"):
        assert plain.encode().hex() not in row["row"]
        assert plain not in row["row"]


# ---- the background in flowing text


class Scripted:
    """A chat model that answers what it is told to."""

    name = "scripted"

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def complete(self, messages: Any, *, json_schema: object = None) -> str:
        assert all(isinstance(message, ChatMessage) for message in messages)
        self.asked.append(messages[-1].content)
        return self.answer


async def test_a_chat_model_writes_the_background_once_a_change(
    settings: Settings, prepare: Prepare
) -> None:
    from mnemic.service import MemoryService

    chat = Scripted("Rowan keeps bees in Oslo and grew up in Ghana.")
    await prepare(settings, StubEmbedder(), curve())
    async with MemoryService.open(
        settings=settings, embedder=StubEmbedder(), chat_model=chat
    ) as memory:
        await memory.profiles.consumer.close()
        consumer = type(memory.profiles.consumer)(
            memory.profiles._refresh, memory.profiles.consumer._prose
        )
        ids = []
        for text in ("I live in Oslo", "I grew up in Ghana", "I work as a beekeeper"):
            ids.append((await memory.add_explicit_memory(KIM, text)).id)
        asked = len(chat.asked)
        await consumer.turn()
        profile = await memory.profiles.get(KIM)
        assert profile.values["background"] == chat.answer
        assert set(profile.origins["background"].items) == set(ids)
        await memory.add_explicit_memory(KIM, "I like steak", memory_type="preference")
        await consumer.turn()
        assert (await memory.profiles.get(KIM)).values["background"] == chat.answer
        assert sum("<statements>" in text for text in chat.asked[asked:]) == 1
        await memory.delete(KIM, ids[0])
        assert "Oslo" not in str((await memory.profiles.get(KIM)).values["background"])
