"""Do keys open what they should in a real database, and nothing once they are gone?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from conftest import Connect, Server
from mnemic.access.apikeys import (
    FRESH,
    ApiKeys,
    Holder,
    KeyCheck,
    LocalKey,
    deployment_of,
    new_key,
    parsed,
    secret_mac,
)
from mnemic.audit import Audit
from mnemic.audit.verify import newest, verify
from mnemic.deployment import Deployment, as_owner
from mnemic.errors import InvalidInput, MnemicError, NotFound, StorageError, Unauthenticated
from mnemic.model import Actor
from mnemic.settings import Settings

ID = "0192f1c0-0000-7000-8000-000000000001"
OPERATOR = Actor("ops", purpose="cli")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def no_wait(seconds: float) -> None:
    assert seconds >= FRESH


async def keys_of(opened: Deployment) -> ApiKeys:
    """The operator's side of a deployment that is open with the owner's login."""
    database = opened.database
    audit = await Audit.open(database, opened.keys.provider)
    return ApiKeys(database, await deployment_of(database), audit, OPERATOR, wait=no_wait)


@pytest.fixture
async def keys(deployment: Deployment, settings: Settings) -> AsyncIterator[ApiKeys]:
    """The operator's side."""
    async with as_owner(settings) as (opened, _):
        yield await keys_of(opened)


@pytest.fixture
async def check(deployment: Deployment) -> KeyCheck:
    """The service's side."""
    return KeyCheck(deployment.database, await deployment_of(deployment.database), clock=Clock())


async def code(check: KeyCheck, text: str) -> str:
    with pytest.raises(Unauthenticated) as caught:
        await check.holder(text)
    assert text not in str(caught.value)
    return caught.value.code


async def test_keys_of_each_kind_tell_their_holder(keys: ApiKeys, check: KeyCheck) -> None:
    kim, text = await keys.create("user", user=" kim ", scopes=["write", "read"])
    assert (kim.kind, kim.user, kim.scopes) == ("user", "kim", ("read", "write"))
    assert await check.holder(text) == Holder(
        kim.prefix, "user", "kim", frozenset({"read", "write"})
    )
    service, text = await keys.create("service", scopes=["read"])
    assert await check.holder(text) == Holder(service.prefix, "service", None, frozenset({"read"}))
    operator, text = await keys.create("operator")
    assert await check.holder(text) == Holder(operator.prefix, "operator", None, frozenset())
    assert [key.prefix for key in await keys.list()] == [
        kim.prefix, service.prefix, operator.prefix
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("admin", {}, "unknown_kind"),
        ("user", {}, "key_user_required"),
        ("user", {"user": ""}, "invalid_id"),
        ("user", {"user": "ki\u206am"}, "invalid_id"),
        ("service", {"user": "kim"}, "key_user_unwanted"),
        ("operator", {"user": "kim"}, "key_user_unwanted"),
        ("user", {"user": "kim", "scopes": ["everything"]}, "unknown_right"),
        ("user", {"user": "kim", "expires_at": datetime(2030, 1, 1)}, "naive_datetime"),
    ],
)
async def test_a_key_that_cannot_be_meant_is_not_made(
    kind: str, given: dict[str, object], expected: str, keys: ApiKeys
) -> None:
    with pytest.raises(InvalidInput) as caught:
        await keys.create(kind, **given)  # type: ignore[arg-type]
    assert caught.value.code == expected
    assert await keys.list() == []


async def test_the_database_holds_no_secret(keys: ApiKeys, connect: Connect) -> None:
    made = [await keys.create("user", user="kim"), await keys.create("service")]
    owner = await connect("owner")
    rows = await (await owner.execute("select k::text as row from api_key k")).fetchall()
    whole = "".join(row["row"] for row in rows)
    for record, text in made:
        found = parsed(text)
        assert found is not None
        assert record.prefix in whole  # the reader of this test sees the rows
        for part in (found[1], found[1].encode().hex(), text):
            assert part not in whole


async def test_unknown_and_nearly_right_keys_answer_alike(keys: ApiKeys, check: KeyCheck) -> None:
    _, text = await keys.create("user", user="kim")
    found = parsed(text)
    assert found is not None
    stranger, _ = new_key()
    other_secret = f"mk_{found[0]}_{parsed(stranger)[1]}"  # type: ignore[index]
    answers = set()
    for wrong in (stranger, other_secret, text + "x", text[:-1], "mk_", "", "mk_%_" + "a" * 43):
        with pytest.raises(Unauthenticated) as caught:
            await check.holder(wrong)
        answers.add((caught.value.code, caught.value.message))
    assert len(answers) == 1


async def test_a_key_of_another_deployment_opens_nothing(
    keys: ApiKeys, check: KeyCheck, server: Server, schema: str, connect: Connect
) -> None:
    there = server.settings(schema + "_b")
    elsewhere = await Deployment.start(there)
    await elsewhere.close()
    async with as_owner(there) as (opened, _):
        others = await keys_of(opened)
        made, text = await others.create("user", user="kim")
        assert await code(check, text) == "credential_invalid"
        # not even when its row is copied over
        owner = await connect("owner")
        await owner.execute(f'insert into api_key select * from "{schema}_b".api_key')
        assert [key.prefix for key in await keys.list()] == [made.prefix]
        assert await code(check, text) == "credential_invalid"


async def test_a_revoked_key_is_refused_by_every_process_once_revoking_returns(
    keys: ApiKeys, deployment: Deployment
) -> None:
    clock, home = Clock(), await deployment_of(deployment.database)
    workers = [KeyCheck(deployment.database, home, clock=clock) for _ in range(3)]
    record, text = await keys.create("user", user="kim")
    _, other = await keys.create("user", user="lee")
    for worker in workers:
        assert (await worker.holder(text)).user == "kim"
    waited = []

    async def pass_time(seconds: float) -> None:
        waited.append(seconds)
        clock.now += seconds

    revoking = ApiKeys(keys._database, home, keys._audit, OPERATOR, wait=pass_time)
    gone = await revoking.revoke(record.prefix)
    assert waited == [FRESH]
    assert gone.revoked_at is not None
    for worker in workers:
        assert await code(worker, text) == "credential_revoked"
        assert (await worker.holder(other)).user == "lee"
    again = await revoking.revoke(f"mk_{record.prefix}")
    assert again.revoked_at == gone.revoked_at


@pytest.mark.parametrize("prefix", ["", "zzzzzzzz", "%", "mk_zzzzzzzz", "' or true --", "ZZZZZZZZ"])
async def test_revoking_what_is_not_there_says_so(prefix: str, keys: ApiKeys) -> None:
    await keys.create("user", user="kim")
    with pytest.raises(NotFound) as caught:
        await keys.revoke(prefix)
    assert caught.value.code == "api_key_not_found"
    assert [key.revoked_at for key in await keys.list()] == [None]


async def test_an_expired_key_is_refused(keys: ApiKeys, check: KeyCheck, connect: Connect) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    record, text = await keys.create("user", user="kim", expires_at=soon)
    assert record.expires_at == soon
    assert (await check.holder(text)).user == "kim"
    check._clock.now += 2  # type: ignore[attr-defined]
    owner = await connect("owner")
    await owner.execute("update api_key set expires_at = now() - interval '1 second'")
    assert await code(check, text) == "credential_expired"


async def test_the_last_use_is_written_rarely(
    keys: ApiKeys, check: KeyCheck, connect: Connect
) -> None:
    record, text = await keys.create("user", user="kim")
    assert record.last_used_at is None
    owner = await connect("owner")
    seen = set()
    for _ in range(5):
        check._clock.now += 2  # type: ignore[attr-defined]
        await check.holder(text)
        row = await (await owner.execute("select last_used_at, xmin::text from api_key")).fetchone()
        seen.add((row["last_used_at"], row["xmin"]))  # type: ignore[index]
    assert len(seen) == 1
    assert None not in next(iter(seen))
    await owner.execute("update api_key set last_used_at = now() - interval '11 minutes'")
    check._clock.now += 2  # type: ignore[attr-defined]
    await check.holder(text)
    (used,) = [key.last_used_at for key in await keys.list()]
    assert used is not None
    assert datetime.now(UTC) - used < timedelta(minutes=1)


async def test_within_a_second_a_key_is_looked_up_once(
    keys: ApiKeys, deployment: Deployment
) -> None:
    clock, looked = Clock(), 0

    class Counting(KeyCheck):
        async def _looked_up(self, prefix: str, mac: bytes, look: Any) -> Holder:
            nonlocal looked
            looked += 1
            return await super()._looked_up(prefix, mac, look)

    check = Counting(deployment.database, await deployment_of(deployment.database), clock=clock)
    _, text = await keys.create("user", user="kim")
    for _ in range(50):
        await check.holder(text)
    assert looked == 1
    clock.now += FRESH
    await check.holder(text)
    assert looked == 2
    for _ in range(3):  # a wrong one is never remembered
        await code(check, new_key()[0])
    assert looked == 5


async def test_the_local_key_needs_no_row_and_opens_one_user(deployment: Deployment) -> None:
    home = await deployment_of(deployment.database)
    text, prefix = new_key()
    local = LocalKey(prefix, secret_mac(home, *parsed(text)), "kim")  # type: ignore[misc]
    check = KeyCheck(deployment.database, home, local=local)
    assert (await check.holder(text)).user == "kim"
    wrong = f"mk_{prefix}_{parsed(new_key()[0])[1]}"  # type: ignore[index]
    assert await code(check, wrong) == "credential_invalid"
    assert await code(KeyCheck(deployment.database, home), text) == "credential_invalid"


@pytest.mark.parametrize(
    "statement",
    [
        "select * from api_key",
        "select count(*) from api_key",
        "insert into api_key (scope_key, prefix, secret_mac, kind, scopes)"
        " values ('service:', 'aaaaaaaa', decode(repeat('00', 32), 'hex'), 'service', '{admin}')",
        "update api_key set revoked_at = null",
        "update api_key set scopes = '{admin}'",
        "delete from api_key",
        "truncate api_key",
        "alter function find_api_key(text) owner to current_user",
        "update idempotency_key set scope_key = 'user:lee'",
    ],
)
async def test_the_service_login_cannot_see_or_change_a_key(
    statement: str, keys: ApiKeys, connect: Connect
) -> None:
    await keys.create("user", user="kim")
    service = await connect("service")
    await service.execute("select set_config('mnemic.scopes', 'user:kim,service:', false)")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await service.execute(statement.encode())


@pytest.fixture
async def temporary_tables(connect: Connect) -> AsyncIterator[None]:
    """Let the service make temporary tables, as PostgreSQL does where nobody forbade it."""
    superuser = await connect("superuser")
    await superuser.execute("grant temporary on database mnemic to mnemic_service")
    yield
    await superuser.execute("revoke temporary on database mnemic from mnemic_service")


@pytest.mark.usefixtures("temporary_tables")
async def test_a_temporary_table_of_the_service_deceives_nobody(
    keys: ApiKeys, connect: Connect
) -> None:
    """A definer function that looked into pg_temp first would read what the service put there."""
    record, _ = await keys.create("user", user="kim")
    service = await connect("service")
    await service.execute(
        "create temp table api_key (secret_mac bytea, kind text, user_id text, scopes text[],"
        " expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz, prefix text)"
    )
    await service.execute("grant all on pg_temp.api_key to public")
    await service.execute(
        "insert into pg_temp.api_key values (decode('00', 'hex'), 'operator', 'lee', '{admin}', null, null,"
        " null, %s)",
        [record.prefix],
    )
    row = await (
        await service.execute("select kind, user_id from find_api_key(%s)", [record.prefix])
    ).fetchone()
    assert row == {"kind": "user", "user_id": "kim"}


async def test_pf_080_keys_of_a_user_lie_in_the_users_scope_and_go_with_it(
    keys: ApiKeys, check: KeyCheck, connect: Connect
) -> None:
    _, kims = await keys.create("user", user="kim")
    _, lees = await keys.create("user", user="lee")
    owner = await connect("owner")
    gone = await owner.execute("delete from api_key where scope_key = 'user:kim'")
    assert gone.rowcount == 1
    assert await code(check, kims) == "credential_invalid"
    assert (await check.holder(lees)).user == "lee"


async def test_two_hundred_at_once_find_their_own_holder(
    keys: ApiKeys, deployment: Deployment
) -> None:
    import asyncio

    check = KeyCheck(deployment.database, await deployment_of(deployment.database))
    made = [
        (f"user-{number}", (await keys.create("user", user=f"user-{number}"))[1])
        for number in range(20)
    ]
    async with AsyncExitStack():
        found = await asyncio.gather(*(check.holder(text) for _, text in made * 10))
    assert [holder.user for holder in found] == [user for user, _ in made * 10]


async def test_errors_hold_neither_secret_nor_digest(keys: ApiKeys, check: KeyCheck) -> None:
    record, text = await keys.create("user", user="kim")
    secret = parsed(text)[1]  # type: ignore[index]
    await keys.revoke(record.prefix)
    with pytest.raises(MnemicError) as caught:
        await check.holder(text)
    told = f"{caught.value!r} {caught.value} {caught.value.details}"
    assert secret not in told
    assert secret_mac(ID, record.prefix, secret).hex() not in told


# ---- the audit


async def test_a_key_that_is_made_and_revoked_is_in_the_audit(
    keys: ApiKeys, connect: Connect
) -> None:
    made, text = await keys.create("user", user="kim", scopes=["read"])
    other, _ = await keys.create("service")
    await keys.revoke(made.prefix)
    await keys.revoke(f"mk_{made.prefix}")  # again: it is revoked already
    with pytest.raises(NotFound):
        await keys.revoke("aaaaaaaa")
    with pytest.raises(InvalidInput):
        await keys.create("admin")
    key, database = keys._audit.key, keys._database
    entries = (await newest(database, key, user=OPERATOR)).entries
    assert [(entry.action, entry.why) for entry in entries] == [
        ("revoke_api_key", "cli"), ("create_api_key", "cli"), ("create_api_key", "cli")
    ]  # fmt: skip
    revoked, second, first = entries
    assert (first.before, revoked.before, revoked.after) == (None, first.after, None)
    assert first.after != second.after
    about = await newest(database, key, target=f"mk_{made.prefix}")
    assert about.entries == (revoked, first)
    assert (await newest(database, key, user=Actor("kim"))).entries == ()
    assert (await newest(database, key, target=f"mk_{other.prefix}")).entries == (second,)
    owner = await connect("owner")
    rows = await (await owner.execute("select a::text as row from audit_log a")).fetchall()
    whole = "".join(row["row"] for row in rows)
    for secret in (made.prefix, made.prefix.encode().hex(), text, "kim"):
        assert secret not in whole
    assert (await verify(database, key)).sound


async def test_no_key_without_its_entry(keys: ApiKeys, connect: Connect) -> None:
    made, _ = await keys.create("service")
    owner = await connect("owner")
    await owner.execute("delete from audit_chain")
    for change in (keys.create("user", user="kim"), keys.revoke(made.prefix)):
        with pytest.raises(StorageError) as caught:
            await change
        assert caught.value.code == "audit_chain_missing"
    (kept,) = await keys.list()
    assert (kept.prefix, kept.revoked_at) == (made.prefix, None)
