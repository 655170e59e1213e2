"""Is every data key under the new key of keys after a rotation, with everything readable all along?"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from rotation_world import KIM, LEE, OPERATOR, Place, contents, fresh_key, place

from conftest import Connect, Prepare, Server
from mnemic import Actor, MemoryService
from mnemic.audit.verify import verify
from mnemic.contact import ContactIndex, normalise_email
from mnemic.deployment import Deployment
from mnemic.errors import ConfigurationError, Conflict, KeyUnavailable
from mnemic.keyfile import KeyFile
from mnemic.keys import KeyProvider, deployment_secret
from mnemic.privacy import rotate

USERS = [Actor(f"user{n}") for n in range(12)]


@pytest.fixture
async def here(server: Server, schema: str, prepare: Prepare, tmp_path: Path) -> Place:
    return await place(server, schema, prepare, tmp_path)


@pytest.fixture
async def memory(here: Place) -> AsyncIterator[MemoryService]:
    async with here.service() as service:
        for user in USERS:
            await service.add_explicit_memory(user, f"The boat of {user.user} is blue")
        yield service


async def share(memory: MemoryService) -> Actor:
    owner = Actor("user0", project="apollo")
    await memory.projects.create(owner, "apollo", "Lighthouse")
    await memory.projects.grant(owner, "apollo", "user1", "editor")
    for user in ("user0", "user1"):
        await memory.add_explicit_memory(
            Actor(user, project="apollo"), f"{user} wrote the plan", scope="project"
        )
    return owner


async def test_every_key_of_users_and_projects_is_wrapped_anew_and_opens(
    here: Place, memory: MemoryService
) -> None:
    owner = await share(memory)
    before = await contents(memory, USERS)
    async with here.operator() as operator:
        old, keys = await operator.current(), await operator.keks()
        told: list[tuple[int, int]] = []
        done = await operator.rotation().run(OPERATOR, progress=lambda *n: told.append(n))
        assert list(keys) == [old]
        assert await operator.keks() == {done.kek_id: keys[old]}
        assert (done.before, done.keys, done.resumed) == (old, keys[old], False)
        assert keys[old] == len(USERS) + 3
        assert told[-1] == (done.keys, done.keys)
        assert await operator.current() == done.kek_id != old
    async with here.service() as fresh:
        assert await contents(fresh, USERS) == before
        hits = await fresh.search_memories(owner, "plan", k=5)
        assert {"user0 wrote the plan", "user1 wrote the plan"} <= {hit.content for hit in hits}


async def test_a_running_service_reads_old_and_new_and_writes_under_the_new(
    here: Place, memory: MemoryService
) -> None:
    before = await contents(memory, USERS)
    async with here.operator() as operator:
        done = await operator.rotation().run(OPERATOR)
        memory._parts.deployment.keys._users._entries.clear()  # a minute later
        assert await contents(memory, USERS) == before
        await memory.add_explicit_memory(LEE, "The bell is green")
        await memory.add_explicit_memory(USERS[0], "The harbour closes at nine")
        async with here.service() as fresh:
            found = await contents(fresh, [LEE, USERS[0]])
        assert set(await operator.keks()) == {done.kek_id}
    assert found["lee"] == ["The bell is green"]
    assert len(found["user0"]) == 2


async def test_a_dry_run_counts_and_changes_nothing(here: Place, memory: MemoryService) -> None:
    async with here.operator() as operator:
        before = (await operator.current(), await operator.keks(), here.settings.key_file)
        file = KeyFile(Path(str(here.settings.key_file)))
        held = await file.ids()
        done = await operator.rotation().run(OPERATOR, dry_run=True)
        assert (done.keys, done.dry_run) == (len(USERS), True)
        assert (await operator.current(), await operator.keks(), here.settings.key_file) == before
        assert await file.ids() == held


async def test_the_audit_goes_on_under_the_same_key(here: Place, memory: MemoryService) -> None:
    async with here.operator() as operator:
        for _ in range(2):
            await operator.rotation().run(OPERATOR)
        found = await verify(operator.database, operator.audit.key)
        assert found.sound
        actions = {row["action"] for row in await operator.rows("select action from audit_log")}
        assert {"rotate_keys", "finish_rotation"} <= actions
    async with here.operator() as operator:
        assert (await verify(operator.database, operator.audit.key)).sound


class Stopping:
    """A provider over another one that fails after some keys were wrapped."""

    def __init__(self, provider: Any, wraps: int) -> None:
        self._provider, self.left = provider, wraps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._provider, name)

    async def ids(self) -> tuple[str, ...]:
        return tuple(await self._provider.ids())

    async def renew(self, kek_id: str) -> str:
        return str(await self._provider.renew(kek_id))

    async def destroy(self, kek_id: str) -> None:
        await self._provider.destroy(kek_id)

    async def create(self) -> str:
        return str(await self._provider.create())

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        return bytes(await self._provider.unwrap(kek_id, wrapped, context))

    async def wrap(self, kek_id: str, secret: bytes, context: bytes) -> bytes:
        self.left -= 1
        if self.left < 0:
            raise KeyUnavailable("vault_unreachable", "The provider went away.")
        return bytes(await self._provider.wrap(kek_id, secret, context))


@pytest.mark.parametrize("wraps", [0, 1, 5, 9])
async def test_a_rotation_that_fails_half_way_is_ended_by_the_next(
    wraps: int, here: Place, memory: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotate, "_BATCH", 4)
    before = await contents(memory, USERS)
    async with here.operator() as operator:
        stopping: KeyProvider = Stopping(operator.provider, wraps)
        with pytest.raises(KeyUnavailable):
            await operator.rotation(stopping).run(OPERATOR)
        async with here.service() as fresh:
            assert await contents(fresh, USERS) == before
        done = await operator.rotation().run(OPERATOR)
        assert done.resumed is (wraps > 0)
        assert await operator.keks() == {done.kek_id: len(USERS)}
        assert len(await KeyFile(Path(str(here.settings.key_file))).ids()) == 2
        again = await operator.rotation().run(OPERATOR)
        assert not again.resumed
    async with here.service() as fresh:
        assert await contents(fresh, USERS) == before


async def test_a_prepared_key_is_used_by_the_rotation_and_by_nobody_before(
    here: Place, memory: MemoryService
) -> None:
    async with here.operator() as operator:
        old, made = await operator.current(), await operator.rotation().prepare()
        await memory.add_explicit_memory(LEE, "The bell is green")
        assert set(await operator.keks()) == {old}
        assert await operator.rotation().prepare() == made
        assert (await operator.rotation().run(OPERATOR)).kek_id == made


async def test_a_first_contact_under_way_is_waited_for_and_wrapped_anew(
    here: Place, memory: MemoryService
) -> None:
    deployment = memory._parts.deployment
    async with here.operator() as operator:
        old = await operator.current()
        async with deployment.database.transaction(KIM) as tx:
            key = await deployment.keys.obtain(tx, KIM)
            running = asyncio.ensure_future(operator.rotation().run(OPERATOR))
            await asyncio.sleep(0.4)
            assert not running.done()
            assert await operator.current() == old
        done = await asyncio.wait_for(running, 20)
        assert set(await operator.keks()) == {done.kek_id}
        deployment.keys.forget(KIM.user_scope)
        async with deployment.database.transaction(KIM) as tx:
            again = await deployment.keys.obtain(tx, KIM)
        assert again.key_id == key.key_id


async def test_first_contacts_all_along_end_under_the_new_key(
    here: Place, memory: MemoryService
) -> None:
    stop = asyncio.Event()
    met: list[Actor] = []

    async def meet(of: int) -> None:
        while not stop.is_set():
            met.append(Actor(f"newcomer{of}_{len(met)}"))
            await memory.add_explicit_memory(met[-1], f"The bell of {met[-1].user} is green")

    async with here.operator() as operator:
        meeting = [asyncio.ensure_future(meet(n)) for n in range(3)]
        await asyncio.sleep(0.2)
        for _ in range(3):
            done = await operator.rotation().run(OPERATOR)
        count = len(met)
        await asyncio.sleep(0.2)
        stop.set()
        await asyncio.gather(*meeting)
        assert len(met) > count > 3
        assert set(await operator.keks()) == {done.kek_id}
    async with here.service() as fresh:
        found = await contents(fresh, met)
    assert all(len(items) == 1 for items in found.values())


async def test_a_key_that_an_erasure_holds_is_left_until_it_is_gone(
    here: Place, memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    await owner.execute("begin")
    await owner.execute("delete from data_key where scope_key = 'user:user3'")
    async with here.operator() as operator:
        running = asyncio.ensure_future(operator.rotation().run(OPERATOR))
        await asyncio.sleep(0.5)
        assert not running.done()
        await owner.execute("commit")
        done = await asyncio.wait_for(running, 20)
        assert await operator.keks() == {done.kek_id: len(USERS) - 1}


async def test_two_rotations_at_once(here: Place, memory: MemoryService) -> None:
    async with here.operator() as operator:
        rotation = operator.rotation()
        async with rotation.alone():
            with pytest.raises(Conflict) as caught:
                await operator.rotation().run(OPERATOR)
        assert caught.value.code == "rotation_under_way"
        found = await asyncio.gather(
            *(operator.rotation().run(OPERATOR) for _ in range(2)), return_exceptions=True
        )
        assert any(not isinstance(result, BaseException) for result in found)
        assert set(await operator.keks()) == {await operator.current()}


async def test_a_damaged_data_key_is_reported_and_stops_none_of_the_others(
    here: Place, memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    damage = (
        "update data_key set wrapped = set_byte(wrapped, 20, get_byte(wrapped, 20) # 1)"
        " where scope_key = %s"
    )
    await owner.execute(damage.encode(), ["user:user5"])
    async with here.operator() as operator:
        old = await operator.current()
        with pytest.raises(KeyUnavailable) as caught:
            await operator.rotation().run(OPERATOR)
        assert (caught.value.code, caught.value.details) == ("data_keys_unreadable", {"keys": 1})
        assert await operator.keks() == {old: 1, await operator.current(): len(USERS) - 1}
        await owner.execute(damage.encode(), ["user:user5"])  # the same bit again: as it was
        assert (await operator.rotation().run(OPERATOR)).resumed
        assert len(await operator.keks()) == 1


async def test_a_provider_without_rotation_is_named(here: Place, memory: MemoryService) -> None:
    class Fixed:
        async def create(self) -> str:
            return "x"

        async def wrap(self, kek_id: str, secret: bytes, context: bytes) -> bytes:
            return secret

        async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
            return wrapped

    async with here.operator() as operator:
        with pytest.raises(ConfigurationError) as caught:
            operator.rotation(Fixed())
        assert caught.value.code == "provider_cannot_rotate"


async def test_a_lost_new_key_is_told_by_a_service_that_starts(
    here: Place, memory: MemoryService, tmp_path: Path
) -> None:
    file = Path(str(here.settings.key_file))
    backup = contents_of(file)
    async with here.operator() as operator:
        new = (await operator.rotation().run(OPERATOR)).kek_id
    put_back(file, backup)
    memory._parts.deployment.keys._users._entries.clear()
    with pytest.raises(KeyUnavailable) as running:
        await memory.list(USERS[0])
    with pytest.raises(KeyUnavailable) as starting:
        await Deployment.start(here.settings)
    for caught in (running, starting):
        assert caught.value.code == "unknown_kek"
        assert new in caught.value.message
        assert str(file) in caught.value.message
    assert json.loads(backup)["current"] != new


def contents_of(file: Path) -> bytes:
    return file.read_bytes()


def put_back(file: Path, content: bytes) -> None:
    """Restore the key file of before the rotation."""
    file.write_bytes(content)


# ---- keys from the environment


def environment(here: Place, current: str, *others: str) -> Place:
    return here.like(
        key_provider="environment", kek=SecretStr(current), kek_others=SecretStr(",".join(others))
    )


async def test_pf_087_reads_work_while_the_earlier_key_is_kept_and_its_loss_is_told_first(
    server: Server, schema: str, prepare: Prepare, tmp_path: Path
) -> None:
    a, b = fresh_key(), fresh_key()
    given = {"key_provider": "environment", "kek": a}
    under_a = await place(server, schema, prepare, tmp_path, **given)
    async with under_a.service() as memory:
        await memory.add_explicit_memory(KIM, "The boat is blue")
    both = environment(under_a, b, a)
    async with both.service() as memory:
        assert await contents(memory, [KIM]) == {"kim": ["The boat is blue"]}
        await memory.add_explicit_memory(LEE, "The bell is green")
    with pytest.raises(KeyUnavailable) as caught:  # taken away while it is in use
        await Deployment.start(environment(under_a, b).settings)
    assert caught.value.code == "unknown_kek"
    assert "MNEMIC_KEK_OTHERS" in caught.value.message
    async with both.service() as memory, both.operator() as operator:
        done = await operator.rotation().run(OPERATOR)
        assert await operator.keks() == {done.kek_id: 2}
        assert set(await contents(memory, [KIM, LEE])) == {"kim", "lee"}
    async with environment(under_a, b).service() as memory:
        found = await contents(memory, [KIM, LEE])
    assert found == {"kim": ["The boat is blue"], "lee": ["The bell is green"]}
    with pytest.raises(KeyUnavailable):
        await Deployment.start(environment(under_a, a).settings)


async def test_pf_088_an_address_is_found_before_and_after_a_rotation(
    here: Place, memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    await owner.execute("create table contact (user_id text, email_mac bytea)")

    async def index() -> ContactIndex:
        async with here.operator() as operator, operator.database.system() as tx:
            return ContactIndex(await deployment_secret(tx, operator.provider))

    stored = (await index()).of("email", normalise_email("test.user@example.com"))
    await owner.execute("insert into contact values ('kim', %s)", [stored])
    for _ in range(2):
        asked = (await index()).of("email", normalise_email("Test.User@Example.com"))
        found = await owner.execute("select user_id from contact where email_mac = %s", [asked])
        assert await found.fetchall() == [{"user_id": "kim"}]
        async with here.operator() as operator:
            await operator.rotation().run(OPERATOR)
    row = await (await owner.execute("select contact::text as row from contact")).fetchone()
    assert row is not None
    assert "example" not in row["row"]


async def test_the_operator_is_who_rotates(here: Place, memory: MemoryService) -> None:
    service = here.like(migration_url=None)
    with pytest.raises(ConfigurationError) as caught:
        async with service.operator():
            raise AssertionError("unreachable")
    assert caught.value.code == "migration_url_missing"
