"""Is an erasure final after its epoch was closed, and never told to be before?"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from rotation_world import KIM, LEE, OPERATOR, Operator, Place, contents, fresh_key, place

from conftest import Connect, Prepare, Server
from mnemic import Actor, MemoryService
from mnemic.audit.verify import verify
from mnemic.deployment import Deployment
from mnemic.errors import ConfigurationError, Conflict, KeyUnavailable
from mnemic.keyfile import KeyFile
from mnemic.privacy import rotate
from mnemic.privacy.epochs import Closing, close_if_due

DAYS = 30


@pytest.fixture
async def here(server: Server, schema: str, prepare: Prepare, tmp_path: Path) -> Place:
    return await place(server, schema, prepare, tmp_path, key_epoch_days=DAYS)


@pytest.fixture
async def memory(here: Place) -> AsyncIterator[MemoryService]:
    async with here.service() as service:
        await service.add_explicit_memory(KIM, "The boat is blue")
        await service.add_explicit_memory(LEE, "The bell is green")
        yield service


def key_file(here: Place) -> Path:
    return Path(str(here.settings.key_file))


def kept(here: Place) -> Any:
    return json.loads(key_file(here).read_text())


async def close(operator: Operator) -> Closing:
    closing = await operator.epochs().close(OPERATOR, grace=0)
    assert closing is not None
    return closing


async def test_closing_makes_an_erasure_final_and_leaves_the_others_readable(
    here: Place, memory: MemoryService
) -> None:
    async with here.operator() as operator:
        old = await operator.current()
        await memory.forget_user(KIM)
        state = await operator.epochs().state()
        assert (state.open_erasures, state.closings) == (1, ())
        assert state.open_since is not None
        assert state.due_at == state.open_since + timedelta(days=DAYS)
        closing = await close(operator)
        assert (closing.erasures, closing.destroyed) == (1, 1)
        assert closing.first_erasure_at == closing.last_erasure_at == state.open_since
        assert closing.final_until > state.open_since
        after = await operator.epochs().state()
        assert (after.open_erasures, after.due_at, after.closings) == (0, None, (closing,))
        assert [(kek.current, kek.held) for kek in after.keks] == [(False, False), (True, True)]
        assert after.keks[0].kek_id == old
        assert after.keks[0].destroyed_at is not None
        assert set(await operator.keks()) == {after.kek_id}
        assert (await verify(operator.database, operator.audit.key)).sound
    assert old not in kept(here)["keys"]
    assert list(kept(here)["destroyed"]) == [old]
    memory._parts.deployment.keys._users._entries.clear()
    assert await contents(memory, [LEE]) == {"lee": ["The bell is green"]}
    async with here.service() as fresh:
        assert await contents(fresh, [KIM, LEE]) == {"kim": [], "lee": ["The bell is green"]}


async def test_the_record_of_a_closing_names_nobody(
    here: Place, memory: MemoryService, connect: Connect
) -> None:
    await memory.forget_user(KIM)
    async with here.operator() as operator:
        await close(operator)
    owner = await connect("owner")
    for table in ("key_closing", "kek"):
        rows = await (
            await owner.execute(f"select t::text as row from {table} t".encode())
        ).fetchall()
        assert rows
        assert "kim" not in str(rows)


async def test_without_anything_erased_there_is_nothing_to_close(
    here: Place, memory: MemoryService
) -> None:
    async with here.operator() as operator:
        before = await operator.current()
        assert await operator.epochs().close(OPERATOR, grace=0) is None
        assert await operator.current() == before
        assert not await operator.epochs().due()
    assert kept(here)["destroyed"] == {}


async def test_after_a_rotation_closing_destroys_the_earlier_key_and_makes_no_third(
    here: Place, memory: MemoryService
) -> None:
    await memory.forget_user(KIM)
    async with here.operator() as operator:
        new = (await operator.rotation().run(OPERATOR)).kek_id
        assert (await operator.epochs().state()).open_erasures == 1
        closing = await close(operator)
        assert (closing.erasures, closing.destroyed) == (1, 1)
        assert await operator.current() == new


async def test_an_erasure_after_the_switch_belongs_to_the_next_epoch(
    here: Place, memory: MemoryService
) -> None:
    await memory.forget_user(KIM)
    async with here.operator() as operator:
        await operator.rotation().run(OPERATOR)  # lee's key is wrapped with the new key now
        await memory.forget_user(LEE)
        second = await close(operator)
        assert (second.erasures, second.destroyed) == (2, 2)
        assert second.first_erasure_at != second.last_erasure_at
        await memory.add_explicit_memory(KIM, "The boat is red")
        await memory.forget_user(KIM)
        assert (await close(operator)).erasures == 1
        assert [c.erasures for c in (await operator.epochs().state()).closings] == [2, 1]


async def test_the_end_of_a_project_makes_a_closing_due_and_a_new_key(
    here: Place, memory: MemoryService
) -> None:
    owner = Actor("kim", project="apollo")
    await memory.projects.create(owner, "apollo", "Lighthouse")
    await memory.projects.delete(owner, "apollo")
    async with here.operator() as operator:
        before = await operator.current()
        state = await operator.epochs().state()
        assert (state.open_erasures, state.due_at is None) == (0, False)
        assert (await close(operator)).erasures == 0
        assert await operator.current() != before
        assert (await operator.epochs().state()).due_at is None


async def test_it_is_due_after_the_days_that_are_set(here: Place, memory: MemoryService) -> None:
    await memory.forget_user(KIM)
    now = datetime.now(UTC)
    async with here.operator() as operator:
        assert not await operator.epochs().due(now + timedelta(days=DAYS - 1))
        assert await operator.epochs().due(now + timedelta(days=DAYS + 1))
    async with here.like(key_epoch_days=0).operator() as operator:
        assert await operator.epochs().due()


async def test_a_job_closes_what_is_due_and_nothing_else(
    here: Place, memory: MemoryService
) -> None:
    await memory.forget_user(KIM)
    job = Actor("nobody", purpose="job")
    assert await close_if_due(here.settings, job) is None
    at_once = here.like(key_epoch_days=0).settings
    closing = await close_if_due(at_once, job, grace=0)
    assert closing is not None
    assert closing.erasures == 1
    assert await close_if_due(at_once, job, grace=0) is None


async def test_a_closing_that_fails_half_way_counts_nothing_and_is_ended_by_the_next(
    here: Place, memory: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.forget_user(KIM)
    async with here.operator() as operator:
        old = await operator.current()

        async def refuse(kek_id: str) -> None:
            raise KeyUnavailable("vault_unreachable", "The provider went away.")

        with monkeypatch.context() as patched:
            patched.setattr(operator.provider, "destroy", refuse)
            with pytest.raises(KeyUnavailable):
                await close(operator)
        state = await operator.epochs().state()
        assert (state.open_erasures, state.closings) == (1, ())
        assert old in kept(here)["keys"]
        new = await operator.current()
        closing = await close(operator)
        assert (closing.erasures, closing.destroyed) == (1, 1)
        assert await operator.current() == new, "the first run's key serves"
    assert list(kept(here)["keys"]) == [new]


async def test_no_key_is_destroyed_while_something_hangs_on_it(
    here: Place, memory: MemoryService, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.forget_user(KIM)
    owner = await connect("owner")
    async with here.operator() as operator:
        old = await operator.current()
        await owner.execute(
            "update data_key set wrapped = set_byte(wrapped, 20, get_byte(wrapped, 20) # 1)"
        )
        with pytest.raises(KeyUnavailable) as caught:
            await close(operator)
        assert caught.value.code == "data_keys_unreadable"
        assert old in kept(here)["keys"]

        async def nothing(*_: Any, **__: Any) -> int:
            return 0

        monkeypatch.setattr(rotate.Rotation, "finish", nothing)
        with pytest.raises(Conflict) as again:
            await close(operator)
        assert again.value.code == "kek_in_use"
        assert old in kept(here)["keys"]


async def test_a_key_that_another_deployment_uses_is_not_destroyed(
    here: Place, memory: MemoryService, prepare: Prepare
) -> None:
    other = here.like(db_schema=here.settings.db_schema + "_too")
    async with other.service() as neighbour:
        await neighbour.add_explicit_memory(KIM, "The neighbour's boat is red")
        await memory.forget_user(KIM)
        async with here.operator() as operator:
            with pytest.raises(Conflict) as caught:
                await close(operator)
            assert caught.value.code == "kek_shared"
            assert (await operator.epochs().state()).open_erasures == 1
        async with other.service() as again:
            assert (await contents(again, [KIM]))["kim"] == ["The neighbour's boat is red"]
        async with other.operator() as operator:
            await operator.rotation().run(OPERATOR)
            assert (await close(operator)).destroyed == 1
            assert await contents(neighbour, [KIM]) == {"kim": ["The neighbour's boat is red"]}
        async with here.operator() as operator:
            assert (await close(operator)).erasures == 1
            assert set(await operator.keks()) == {await operator.current()}
        assert await contents(memory, [LEE]) == {"lee": ["The bell is green"]}


async def test_keys_of_the_environment_are_final_once_the_operator_took_them_away(
    server: Server, schema: str, prepare: Prepare, tmp_path: Path
) -> None:
    a, b = fresh_key(), fresh_key()
    under_a = await place(server, schema, prepare, tmp_path, key_provider="environment", kek=a)
    async with under_a.service() as memory:
        await memory.add_explicit_memory(LEE, "The bell is green")
        await memory.add_explicit_memory(KIM, "The boat is blue")
        await memory.forget_user(KIM)
    async with under_a.operator() as operator:
        with pytest.raises(ConfigurationError) as caught:
            await close(operator)
        assert caught.value.code == "no_newer_kek"
    both = under_a.like(kek=SecretStr(b), kek_others=SecretStr(a))
    async with both.operator() as operator:
        with pytest.raises(ConfigurationError) as caught:
            await close(operator)
        assert caught.value.code == "kek_still_configured"
        assert (await operator.epochs().state()).open_erasures == 1
    async with under_a.like(kek=SecretStr(b)).operator() as operator:
        assert (await close(operator)).erasures == 1
    async with under_a.like(kek=SecretStr(b)).service() as memory:
        assert await contents(memory, [LEE]) == {"lee": ["The bell is green"]}


async def test_who_read_a_row_before_has_the_grace_to_open_it(
    here: Place, memory: MemoryService
) -> None:
    await memory.forget_user(KIM)
    deployment = memory._parts.deployment
    async with here.operator() as operator:
        (row,) = await operator.rows("select * from data_key where scope_key = 'user:lee'")
        closing = asyncio.ensure_future(operator.epochs().close(OPERATOR, grace=1.5))
        for _ in range(100):
            if row["kek_id"] not in await operator.keks():
                break
            await asyncio.sleep(0.01)
        assert (await deployment.keys.unwrapped("user:lee", row)).key_id == row["key_id"]
        assert await closing is not None
        with pytest.raises(KeyUnavailable):
            await deployment.keys.unwrapped("user:lee", row)


async def test_data_of_before_the_closing_tells_why_it_cannot_be_read(
    here: Place, memory: MemoryService, connect: Connect
) -> None:
    owner = await connect("owner")
    await owner.execute("create table before as select kek_id, kek_check from deployment")
    await memory.forget_user(KIM)
    async with here.operator() as operator:
        await close(operator)
    await owner.execute("update deployment set (kek_id, kek_check) = (select * from before)")
    with pytest.raises(KeyUnavailable) as caught:
        await Deployment.start(here.settings)
    assert caught.value.code == "kek_destroyed"
    assert "older" in caught.value.message
    assert len(await KeyFile(key_file(here)).ids()) == 1
