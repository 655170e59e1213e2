"""Is there one key of keys, one data key a user, and does a moved or foreign value stay shut?"""

from __future__ import annotations

import asyncio
import json
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from conftest import Connect, Server
from mnemic.crypto import DataKey, place
from mnemic.deployment import Deployment
from mnemic.errors import ConfigurationError, KeyUnavailable, PermissionDenied
from mnemic.keyfile import KeyFile
from mnemic.keys import KeyRing
from mnemic.model import Actor, Turn
from mnemic.settings import Settings

if TYPE_CHECKING:
    from mnemic.service import MemoryService

KIM = Actor("kim", session="s1")


def with_key(settings: Settings, path: Path, *, owner: bool = True) -> Settings:
    changes: dict[str, Any] = {"key_file": path}
    return settings.model_copy(update=changes if owner else changes | {"migration_url": None})


def contents(path: Path) -> Any:
    return json.loads(path.read_text()) if path.exists() else None


async def refusal(settings: Settings) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        await Deployment.start(settings)
    return caught.value


async def obtain(
    deployment: Deployment, actor: Actor = KIM, ring: KeyRing | None = None
) -> DataKey:
    async with deployment.database.transaction(actor) as tx:
        return await (ring or deployment.keys).obtain(tx, actor)


class Counting:
    """A KeyProvider over a key file that counts what it unwraps."""

    def __init__(self, path: Path) -> None:
        self._file = KeyFile(path)
        self.unwrapped = 0

    async def create(self) -> str:
        return await self._file.create()

    async def wrap(self, kek_id: str, secret: bytes, context: bytes) -> bytes:
        return await self._file.wrap(kek_id, secret, context)

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        self.unwrapped += 1
        return await self._file.unwrap(kek_id, wrapped, context)


@pytest.fixture
async def counting(deployment: Deployment, server: Server) -> Counting:
    return Counting(server.key_file)


def ring(provider: Counting, **more: Any) -> KeyRing:
    return KeyRing(provider, **more)


# ---- the key of keys


async def test_first_use_makes_a_key_file_outside_the_data_directory(
    settings: Settings, server: Server, tmp_path: Path
) -> None:
    path = tmp_path / "keys" / "k"
    deployment = await Deployment.start(with_key(settings, path))
    await deployment.close()
    assert deployment.key_file == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert server.data_dir not in path.parents


async def test_a_key_file_inside_the_data_directory_is_refused_before_anything_is_made(
    tmp_path: Path,
) -> None:
    for path in (
        tmp_path / "data" / "k",
        tmp_path / "data" / "deep" / "k",
        tmp_path / "x/../data/k",
    ):
        error = await refusal(Settings.read(data_dir=tmp_path / "data", key_file=path))
        assert error.code == "key_file_inside_data"
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240


async def test_starters_at_once_bind_one_key(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "keys" / "k"
    started = await asyncio.gather(*(Deployment.start(with_key(settings, path)) for _ in range(6)))
    found = {(await obtain(deployment)).key_id for deployment in started}
    for deployment in started:
        await deployment.close()
    assert len(found) == 1
    assert len(contents(path)["keys"]) == 1


@pytest.mark.parametrize("owner", [True, False])
async def test_existing_data_without_its_key_file_is_refused_and_no_key_is_made(
    owner: bool, deployment: Deployment, settings: Settings, tmp_path: Path
) -> None:
    path = tmp_path / "elsewhere" / "k"
    error = await refusal(with_key(settings, path, owner=owner))
    assert (type(error), error.code) == (KeyUnavailable, "key_file_missing")
    assert str(path) in error.message
    assert contents(path) is None


@pytest.mark.parametrize("owner", [True, False])
async def test_another_key_file_is_refused(
    owner: bool, deployment: Deployment, settings: Settings, tmp_path: Path
) -> None:
    await KeyFile(tmp_path / "k").create()
    assert (await refusal(with_key(settings, tmp_path / "k", owner=owner))).code == "unknown_kek"


async def test_another_key_under_the_same_name_is_refused(
    deployment: Deployment, settings: Settings, server: Server, tmp_path: Path
) -> None:
    right = contents(server.key_file)
    await KeyFile(tmp_path / "k").create()
    (other,) = contents(tmp_path / "k")["keys"].values()
    forged = {"current": right["current"], "keys": {right["current"]: other}}
    (tmp_path / "k").write_text(json.dumps(forged))
    error = await refusal(with_key(settings, tmp_path / "k"))
    assert error.code == "wrong_key"


async def test_an_exposed_or_damaged_key_file_stops_the_start(
    deployment: Deployment, settings: Settings, server: Server, tmp_path: Path
) -> None:
    path = tmp_path / "k"
    path.write_bytes(server.key_file.read_bytes())
    path.chmod(0o644)
    assert (await refusal(with_key(settings, path))).code == "key_file_exposed"
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-9])
    assert (await refusal(with_key(settings, path))).code == "key_file_damaged"


async def test_a_place_that_cannot_be_written_stops_the_first_start_and_binds_nothing(
    settings: Settings, connect: Connect, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    error = await refusal(with_key(settings, tmp_path / "file" / "k"))
    assert error.code in ("key_file_unwritable", "key_file_unreadable")
    owner = await connect("owner")
    row = await (await owner.execute("select kek_id, kek_check from deployment")).fetchone()
    assert row == {"kek_id": None, "kek_check": None}
    await (await Deployment.start(with_key(settings, tmp_path / "k"))).close()


async def test_later_starts_wait_for_nobody_who_holds_the_deployment_row(
    deployment: Deployment, settings: Settings, server: Server
) -> None:
    async with await psycopg.AsyncConnection.connect(server.owner) as idle:
        await idle.execute(f"select * from {settings.db_schema}.deployment for update".encode())
        again = await asyncio.wait_for(Deployment.start(settings), 5)
        await again.close()


# ---- data keys


async def test_a_user_has_one_key_and_the_database_has_it_wrapped_only(
    deployment: Deployment, connect: Connect, counting: Counting
) -> None:
    first = await obtain(deployment)
    assert (await obtain(deployment)).key_id == first.key_id
    assert (await obtain(deployment, Actor("kim", session="other"))).key_id == first.key_id
    assert (await obtain(deployment, Actor("lee"))).key_id != first.key_id
    owner = await connect("owner")
    rows = await (
        await owner.execute("select * from data_key where scope_key = 'user:kim'")
    ).fetchall()
    (row,) = rows
    context = f"data_key|user:kim|{row['key_id']}".encode()
    secret = await counting.unwrap(row["kek_id"], row["wrapped"], context)
    at = place("t", "user:kim", 1, "c")
    assert DataKey(row["key_id"], secret).open(first.seal("hello", at), at) == "hello"
    assert secret not in row["wrapped"]


async def test_two_first_contacts_at_once_share_one_key(
    deployment: Deployment, connect: Connect
) -> None:
    actors = [Actor("kim", session=f"s{n}") for n in range(6)]
    found = await asyncio.gather(*(obtain(deployment, actor) for actor in actors))
    at = place("t", "user:kim", 1, "c")
    sealed = found[0].seal("hello", at)
    assert [key.open(sealed, at) for key in found] == ["hello"] * 6
    owner = await connect("owner")
    counted = await owner.execute("select count(*) as n from data_key")
    assert await counted.fetchone() == {"n": 1}


async def test_a_first_contact_that_rolls_back_leaves_no_key_in_the_cache(
    deployment: Deployment,
) -> None:
    async def lost() -> None:
        async with deployment.database.transaction(KIM) as tx:
            await deployment.keys.obtain(tx, KIM)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await lost()
    kept = await obtain(deployment)
    at = place("t", "user:kim", 1, "c")
    fresh = await Deployment.start(
        Settings.read(
            database_url=_url(deployment),
            key_file=deployment.key_file,
            db_schema=deployment.database.schema,
        )
    )
    opened = (await obtain(fresh)).open(kept.seal("hello", at), at)
    await fresh.close()
    assert opened == "hello"


def _url(deployment: Deployment) -> str:
    return str(deployment.database._pool.conninfo)


async def test_reading_makes_no_user_and_no_key(deployment: Deployment, connect: Connect) -> None:
    async with deployment.database.transaction(KIM) as tx:
        assert await deployment.keys.find(tx, KIM) is None
    owner = await connect("owner")
    for table in ("app_user", "data_key"):
        counted = await owner.execute(f"select count(*) as n from {table}".encode())
        assert await counted.fetchone() == {"n": 0}


async def test_the_cache_is_used_bounded_and_forgets(
    deployment: Deployment, counting: Counting
) -> None:
    users = [Actor(f"user{n}") for n in range(5)]
    for user in users:
        await obtain(deployment, user)
    keys = ring(counting, capacity=3)
    for _ in range(3):
        await obtain(deployment, users[0], keys)
    assert counting.unwrapped == 1
    for user in users:
        await obtain(deployment, user, keys)
    assert len(keys._users) == 3
    assert counting.unwrapped == 5
    await obtain(deployment, users[4], keys)  # still there
    assert counting.unwrapped == 5
    await obtain(deployment, users[0], keys)  # the least recent one had to go
    assert counting.unwrapped == 6
    keys.forget("user:user4")
    await obtain(deployment, users[4], keys)
    assert counting.unwrapped == 7


async def test_a_cached_key_lives_a_minute(
    deployment: Deployment, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    await obtain(deployment)
    keys, now = ring(counting), time.monotonic()
    monkeypatch.setattr("mnemic.keys.time.monotonic", lambda: now)
    await obtain(deployment, KIM, keys)
    for later, unwrapped in ((59.0, 1), (61.0, 2), (62.0, 2), (200.0, 3)):
        monkeypatch.setattr("mnemic.keys.time.monotonic", lambda later=later: now + later)
        await obtain(deployment, KIM, keys)
        assert counting.unwrapped == unwrapped


async def test_a_cached_key_dies_with_its_epoch(
    deployment: Deployment, counting: Counting, connect: Connect
) -> None:
    await obtain(deployment)
    keys = ring(counting)
    await obtain(deployment, KIM, keys)
    await (await connect("owner")).execute("update app_user set key_epoch = key_epoch + 1")
    await obtain(deployment, KIM, keys)
    await obtain(deployment, KIM, keys)
    assert counting.unwrapped == 2


async def test_a_wrapped_key_of_another_user_or_key_does_not_open(
    deployment: Deployment, connect: Connect, counting: Counting
) -> None:
    await obtain(deployment)
    await obtain(deployment, Actor("lee"))
    owner = await connect("owner")
    await owner.execute(
        "update data_key set wrapped = (select wrapped from data_key where scope_key = 'user:lee')"
        " where scope_key = 'user:kim'"
    )
    with pytest.raises(KeyUnavailable) as caught:
        await obtain(deployment, KIM, ring(counting))
    assert caught.value.code == "wrong_key"
    await owner.execute(
        "update data_key set wrapped = substr(wrapped, 1, 5) where scope_key = 'user:kim'"
    )
    with pytest.raises(KeyUnavailable):
        await obtain(deployment, KIM, ring(counting))


async def test_an_erased_user_is_refused_everywhere(
    stub_memory: MemoryService, connect: Connect
) -> None:
    verdict = await stub_memory.add_explicit_memory(KIM, "I have a blue canoe")
    await stub_memory.sessions.append(KIM, [Turn("user", "hello")])
    await (await connect("owner")).execute("update app_user set status = 'erased'")
    attempts = [
        stub_memory.add_explicit_memory(KIM, "I have a red canoe"),
        stub_memory.search_memories(KIM, "canoe"),
        stub_memory.build_context(KIM, "canoe"),
        stub_memory.list(KIM),
        stub_memory.get(KIM, verdict.id),
        stub_memory.update(KIM, verdict.id, content="I have a green canoe"),
        stub_memory.delete(KIM, verdict.id),
        stub_memory.delete_all(KIM),
        stub_memory.sessions.append(KIM, [Turn("user", "again")]),
        stub_memory.sessions.read(KIM),
        stub_memory.extract(KIM),
    ]
    for attempt in attempts:
        with pytest.raises(PermissionDenied) as caught:
            await attempt
        assert caught.value.code == "user_erased"


# ---- a value belongs to its place


SWAPS = {
    "to another row": "update memory_item a set content_enc = b.content_enc from memory_item b"
    " where a.id = %(one)s and b.id = %(two)s and b.version = 1",
    "to another column": "update memory_item set metadata_enc = content_enc where id = %(one)s",
    "to another version": "update memory_item set version = version + 1 where id = %(one)s",
    "to another scope": "update memory_item set scope_key = 'session:kim/s1' where id = %(one)s",
    "to another id": "update memory_item set id = gen_random_uuid() where id = %(one)s",
    "to another table": "update memory_item set content_enc = (select content_enc from message limit 1)"
    " where id = %(one)s",
    "one byte": "update memory_item set content_enc ="
    " set_byte(content_enc, 30, get_byte(content_enc, 30) # 1) where id = %(one)s",
    "cut": "update memory_item set content_enc = substr(content_enc, 1, 40) where id = %(one)s",
}


@pytest.mark.parametrize("how", SWAPS)
async def test_a_value_that_was_moved_or_changed_in_sql_does_not_open(
    how: str, stub_memory: MemoryService, connect: Connect
) -> None:
    one = await stub_memory.add_explicit_memory(KIM, "I have a blue canoe")
    two = await stub_memory.add_explicit_memory(KIM, "我的办公室在四楼靠窗", metadata={"floor": 4})
    await stub_memory.sessions.append(KIM, [Turn("user", "hello")])
    assert (await stub_memory.list(KIM)).total == 2
    owner = await connect("owner")
    changed = await owner.execute(SWAPS[how].encode(), {"one": one.id, "two": two.id})
    assert changed.rowcount == 1
    with pytest.raises(KeyUnavailable) as caught:
        await stub_memory.list(KIM)
    assert caught.value.code == "sealed_value_damaged"
    assert "canoe" not in str(caught.value)


async def test_a_message_that_was_moved_in_the_log_does_not_open(
    stub_memory: MemoryService, connect: Connect
) -> None:
    await stub_memory.sessions.append(KIM, [Turn("user", "one"), Turn("user", "two")])
    await (await connect("owner")).execute("update message set seq = 10 - seq")
    with pytest.raises(KeyUnavailable) as caught:
        await stub_memory.sessions.read(KIM)
    assert caught.value.code == "sealed_value_damaged"


async def test_a_value_of_another_users_key_is_told_apart(
    stub_memory: MemoryService, connect: Connect
) -> None:
    one = await stub_memory.add_explicit_memory(KIM, "I have a blue canoe")
    await stub_memory.add_explicit_memory(Actor("lee"), "I have a blue canoe")
    await (await connect("owner")).execute(
        "update memory_item set content_enc ="
        " (select content_enc from memory_item where scope_key = 'user:lee') where id = %s",
        [one.id],
    )
    with pytest.raises(KeyUnavailable) as caught:
        await stub_memory.get(KIM, one.id)
    assert caught.value.code == "unknown_key_id"


async def test_equal_texts_of_two_users_look_unlike_in_the_database(
    stub_memory: MemoryService, connect: Connect
) -> None:
    for user in ("kim", "lee"):
        await stub_memory.add_explicit_memory(Actor(user), "I have a blue canoe")
    owner = await connect("owner")
    rows = await (
        await owner.execute(
            "select content_mac, tsvector_to_array(lexemes) as words from memory_item"
        )
    ).fetchall()
    one, two = rows
    assert one["content_mac"] != two["content_mac"]
    assert not set(one["words"]) & set(two["words"])
    assert all(len(bytes.fromhex(word)) == 8 for word in one["words"] + two["words"])
