"""Does an erasure take everything of one user, everywhere, and nothing of anybody else?"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import psycopg
import pytest
from erase_world import (
    Services,
    contents,
    everything,
    of_kim,
    one,
    personal_tables,
    services,
)

from conftest import Connect, Connection, Server
from mnemic.errors import ConsentRequired, NotFound
from mnemic.model import Actor, Turn

if TYPE_CHECKING:
    from mnemic.service import MemoryService

KIM = Actor("kim", session="s1")
OF_PROJECTS = {"project", "project_member", "project_profile", "key_decision"}
"""Tables of which test_erase_projects speaks."""


@pytest.fixture
async def parts(stub_memory: MemoryService, server: Server) -> Services:
    return await services(stub_memory, server)


@pytest.fixture
async def owner(connect: Connect, parts: Services) -> Connection:
    return await connect("owner")


# ---- everything


async def test_pf_075_every_table_that_may_hold_a_users_row_is_known_to_the_erasure(
    parts: Services, owner: Connection, schema: str
) -> None:
    counts = (await parts.erase.forget_user(KIM, dry_run=True)).counts
    assert set(counts) == await personal_tables(owner, schema)


async def test_pf_074_pf_079_nothing_of_an_erased_user_is_left_in_any_table(
    parts: Services, owner: Connection, schema: str
) -> None:
    await everything(parts, owner)
    before = await of_kim(owner, schema)
    tables = await personal_tables(owner, schema) - OF_PROJECTS
    assert tables <= before.keys(), "a table is empty: this would prove nothing"
    keys = await owner.execute("select key_id from data_key where scope_key = 'user:kim'")
    (key,) = [UUID(str(row["key_id"])).hex for row in await keys.fetchall()]
    assert any(key in row for rows in before.values() for row in rows), "no value is sealed by it"
    strangers = await contents(owner, schema)
    report = await parts.erase.forget_user(KIM)
    assert report.total == sum(report.counts.values())
    assert all(report.counts[table] > 0 for table in tables), report.counts
    assert await of_kim(owner, schema) == {}
    after = await contents(owner, schema)
    assert not any(key in row for rows in after.values() for row in rows)
    (removal,) = after.pop("cold_removal")
    assert "ab/cd" in removal, "nobody would remove the object"
    for table, rows in after.items():
        if not table.startswith(("audit", "embedding_model")):
            kept = [row for row in strangers[table] if "kim" not in row]
            assert rows == kept, f"{table} lost or gained rows of others"
    models = await one(owner, "select count(*) as n from embedding_model where own")
    assert models["n"] == 0


async def test_pf_129_no_aggregate_outlives_its_users(
    parts: Services, owner: Connection, schema: str
) -> None:
    """What the erasure empties are tables: nothing that was derived from them is kept beside them."""
    kinds = await owner.execute(
        "select c.relkind::text as kind, count(*) as n from pg_class c"
        " join pg_namespace s on s.oid = c.relnamespace"
        " where s.nspname like %s and c.relkind in ('r', 'p', 'm', 'v', 'f') group by 1",
        [f"{schema}%"],
    )
    found = {row["kind"]: row["n"] for row in await kinds.fetchall()}
    assert found["r"] > 30
    assert found.keys() <= {"r", "p"}, "a view or an aggregate needs an erasure of its own"


async def test_pf_079_nobody_finds_the_exact_text_again(parts: Services, owner: Connection) -> None:
    memory = parts.memory
    kept = await memory.add_explicit_memory(KIM, "My bicycle is parked at the station")
    await memory.sessions.append(KIM, [Turn("user", "I live beside the lighthouse")])
    await memory.resources.add(KIM, "The bicycle has a bell", title="Bell")
    await parts.erase.forget_user(KIM)
    assert (await memory.list(KIM)).total == 0
    found = await memory.search_memories(KIM, "bicycle", include=("memory", "resource"))
    assert list(found) == []
    assert await memory.build_context(KIM, "bicycle") == ""
    with pytest.raises(NotFound):
        await memory.get(KIM, kept.id)
    with pytest.raises(NotFound):
        await memory.sessions.read(KIM)


async def test_a_dry_run_counts_what_would_go_and_changes_nothing(
    parts: Services, owner: Connection, schema: str
) -> None:
    await everything(parts, owner)
    before = await contents(owner, schema)
    counted = await parts.erase.forget_user(KIM, dry_run=True)
    assert counted.dry_run
    assert await contents(owner, schema) == before
    assert (await parts.erase.forget_user(KIM)).counts == counted.counts


async def test_erasing_twice_and_erasing_nobody_takes_nothing_and_is_no_entry(
    parts: Services, owner: Connection
) -> None:
    await parts.memory.add_explicit_memory(KIM, "My bicycle is parked at the station")
    assert (await parts.erase.forget_user(KIM)).total > 0
    assert (await parts.erase.forget_user(KIM)).total == 0
    assert (await parts.erase.forget_user(Actor("nobody"))).total == 0
    entries = await one(owner, "select count(*) as n from audit_log where action = 'erase_user'")
    assert entries["n"] == 1


async def test_who_refused_can_be_erased(parts: Services, owner: Connection) -> None:
    await parts.memory.add_explicit_memory(KIM, "My bicycle is parked at the station")
    await parts.consents.refuse(KIM)
    with pytest.raises(ConsentRequired):
        await parts.memory.list(KIM)
    assert (await parts.erase.forget_user(KIM)).counts["memory_item"] == 1
    assert (await parts.memory.list(KIM)).total == 0, "a new user, who was not asked yet"


LOOK_ALIKES = [
    "kim",
    "kim_1",
    "kimA1",
    "KIM",
    "%",
    "_",
    "kim%",
    "ki_",
    "'",
    "kim/s1",
    "kim,lee",
    "user:kim",
]


@pytest.mark.parametrize("user", ["kim", "%", "_", "kim_1", "kim/s1", "'"])
async def test_ids_are_looked_at_exactly(user: str, parts: Services, owner: Connection) -> None:
    for one_of_them in LOOK_ALIKES:
        actor = Actor(one_of_them, session="s1")
        await parts.memory.add_explicit_memory(actor, "I keep three goats", scope="session")
        await parts.memory.sessions.append(actor, [Turn("user", "three goats")])
    await parts.erase.forget_user(Actor(user))
    for one_of_them in LOOK_ALIKES:
        page = await parts.memory.list(Actor(one_of_them, session="s1"))
        assert page.total == (one_of_them != user), one_of_them
    left = await one(owner, "select count(*) as n from message")
    assert left["n"] == len(LOOK_ALIKES) - 1


async def test_the_service_erases_only_whom_it_acts_for(parts: Services, connect: Connect) -> None:
    await parts.memory.add_explicit_memory(KIM, "My bicycle is parked at the station")
    service = await connect("service")
    settings = (
        ("", "", ""),
        ("lee", "user:lee", "session:kim/"),
        ("kim", "user:lee", "session:kim/"),
    )
    for actor, scopes, sessions in settings:
        for name, value in (("actor", actor), ("scopes", scopes), ("sessions", sessions)):
            await service.execute("select set_config(%s, %s, false)", [f"mnemic.{name}", value])
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await service.execute("select * from erase_user(true)")
    assert (await parts.memory.list(KIM)).total == 1


async def test_functions_of_the_owner_look_at_temporary_tables_last(
    parts: Services, owner: Connection
) -> None:
    found = await owner.execute(
        "select p.proname, array_to_string(p.proconfig, ' ') as config from pg_proc p"
        " where p.prosecdef and p.pronamespace = current_schema()::regnamespace"
        " and p.proname = any(%s)",
        [["erase_user", "scope_to_erase", "projects_to_leave", "hold_for_erasure", "keys_to_leave",
          "values_to_leave", "leave_value", "begin_audit", "entries_of", "last_erasure"]],
    )  # fmt: skip
    rows = await found.fetchall()
    assert len(rows) == 10
    assert all(row["config"].endswith("pg_temp") for row in rows)


# ---- what stays


async def test_pf_077_the_audit_keeps_that_it_happened_and_not_who(
    parts: Services, owner: Connection, schema: str
) -> None:
    await everything(parts, owner)
    await parts.erase.forget_user(Actor("kim", purpose="cli", credential="key:mk_1"))
    rows = (await contents(owner, schema))["audit_log"]
    assert len(rows) > 2
    assert not any("kim" in row or "mk_1" in row for row in rows)
    entry = await one(owner, "select * from audit_log where action = 'erase_user'")
    assert bytes(entry["user_mac"]) == parts.audit.key.user(Actor("kim"))
    assert entry["before_mac"] is not None
    assert entry["after_mac"] is None


async def test_a_new_user_of_the_same_id_sees_nothing_of_the_one_before(
    parts: Services, owner: Connection
) -> None:
    await parts.consents.grant(KIM)
    await parts.consents.refuse(KIM)
    await parts.erase.forget_user(KIM)
    await parts.consents.grant(KIM)
    actions = [entry.action for entry in (await parts.audit.mine(KIM)).entries]
    assert actions == ["grant_consent", "erase_user"]
    assert len((await parts.consents.show(KIM)).records) == 1


async def test_pf_069_tables_of_others_and_the_audit_stay(
    parts: Services, owner: Connection, schema: str
) -> None:
    await owner.execute("create table guests (scope_key text, user_id text, note text)")
    await owner.execute("insert into guests values ('user:kim', 'kim', 'not ours')")
    await parts.consents.grant(KIM)
    before = await contents(owner, schema)
    await parts.erase.forget_user(KIM)
    after = await contents(owner, schema)
    assert after["guests"] == before["guests"]
    assert set(before["audit_log"]) < set(after["audit_log"])
    assert after.keys() == before.keys()
