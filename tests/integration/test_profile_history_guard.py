"""Does nobody but its user reach a history, and is nothing lost where a process dies?"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from erase_world import contents

from conftest import Connect, Prepare, Server
from history_contract import DAY, KIM, LEE, OF_KIM, Ground, lived, now, projected, same_as_recorded
from mnemic.errors import ConsentRequired, NotFound, PermissionDenied
from mnemic.model import Actor
from mnemic.settings import Settings
from stub_embedder import StubEmbedder, curve

if TYPE_CHECKING:
    from conftest import Connection
    from mnemic.service import MemoryService

EDDA = Actor("edda", project="apollo")
CHILD = """
import asyncio, os, signal, sys
from datetime import UTC, datetime, timedelta
from mnemic import MemoryService
from mnemic.profile.history_fold import Folding
from stub_embedder import StubEmbedder

def die():
    os.kill(os.getpid(), signal.SIGKILL)

class Dying(Folding):
    folded = 0

    async def fold(self, tx, actor, before):
        count = await super().fold(tx, actor, before)
        Dying.folded += 1
        if sys.argv[1] == "inside" and Dying.folded == 2:
            die()  # written, not committed
        return count

    async def _waiting(self, before, passed):
        waiting = await super()._waiting(before, passed)
        if sys.argv[1] == "between" and not waiting:
            die()  # all is folded, nothing is dropped
        return waiting

async def work():
    async with MemoryService.open(embedder=StubEmbedder()) as memory:
        memory.profiles._folding.__class__ = Dying
        await memory.profiles.fold_history(datetime.now(UTC) + timedelta(days=100))

asyncio.run(work())
"""


@pytest.fixture
async def ground(settings: Settings, prepare: Prepare) -> Ground:
    await prepare(settings, StubEmbedder(), curve())
    return Ground(settings, chunked=False)


async def asking(connect: Connect, actor: Actor) -> Connection:
    """A connection of the service's login on which somebody asks."""
    service = await connect("service")
    told = {
        "scopes": ",".join(actor.scope_keys),
        "sessions": actor.session_prefix,
        "actor": actor.user,
        "project": actor.project_scope or "",
    }
    for name, value in told.items():
        await service.execute("select set_config(%s, %s, false)", [f"mnemic.{name}", value])
    return service


# ---- the database's own word


READING = ("profile_changes(%(scope)s, now(), null, null, true)", "profile_fold(%(scope)s)")
WRITING = (
    "record_profile_change(%(scope)s, 99, now(), 'items', '')",
    "fold_profile_history(%(scope)s, now(), 1, 2, now(), 1, '')",
)


async def test_no_function_reaches_the_history_of_another(
    ground: Ground, connect: Connect, schema: str
) -> None:
    async with ground.open() as memory:
        await lived(memory)
        await projected(memory)
        await memory.projects.grant(OF_KIM, "apollo", "vera", "viewer")
        await memory.profiles.fold_history(now() + 31 * DAY)
        await memory.profiles.edit(KIM, "username", "Kim")
        await memory.profiles.patch_project(KIM, "apollo", {"current_phase": "done"})
    owner = await connect("owner")
    before = await contents(owner, schema)
    vera = Actor("vera", project="apollo")
    strangers = (LEE, Actor("lee", project="apollo"), Actor("%"), Actor("ki"), vera)
    for actor in strangers:
        service = await asking(connect, actor)
        for scope in ("user:kim", "project:apollo"):
            for function in READING:
                found = await service.execute(f"select from {function}", {"scope": scope})
                readable = actor is vera and scope == "project:apollo"
                assert (found.rowcount > 0) == readable, (actor, function)
            for function in WRITING:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    await service.execute(f"select {function}", {"scope": scope})
    own = await asking(connect, OF_KIM)
    for scope in ("user:kim", "project:apollo"):
        for function in READING:
            assert (await own.execute(f"select from {function}", {"scope": scope})).rowcount > 0
    assert await contents(owner, schema) == before


@pytest.mark.parametrize(
    "statement",
    [
        "select from tested_private.profile_history",
        "insert into tested_private.profile_history values ('user:kim', now(), 1, 'begin', null)",
        "update tested_private.profile_history set version = 7",
        "delete from tested_private.profile_history",
        "select from tested_private.profile_history_fold",
        "create table tested_private.stray (id int)",
        "select history_room(now())",
        "select begin_profile_history()",
        "select drop_project_history()",
        "select from history_to_leave()",
        "select leave_history('user:kim', now(), '')",
    ],
)
async def test_the_service_may_do_only_what_it_needs(
    statement: str, ground: Ground, connect: Connect
) -> None:
    service = await connect("service")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await service.execute(statement.encode())


async def test_the_private_schema_is_the_owners_and_nobody_elses(
    ground: Ground, connect: Connect
) -> None:
    owner = await connect("owner")
    found = await owner.execute(
        "select pg_get_userbyid(c.relowner) as owner, c.relname, c.relacl is null as closed"
        " from pg_class c where c.relnamespace = 'tested_private'::regnamespace and c.relkind in ('r', 'p')"
    )
    rows = await found.fetchall()
    assert {row["relname"] for row in rows} > {"profile_history", "profile_history_fold"}
    assert all(row["owner"] == "mnemic_owner" and row["closed"] for row in rows)
    allowed = await owner.execute(
        "select has_schema_privilege('mnemic_service', 'tested_private', 'usage, create') as allowed"
    )
    assert await allowed.fetchone() == {"allowed": False}
    # everything that crosses the border looks only where it is told to
    loose = await owner.execute(
        "select proname from pg_proc where pronamespace = 'tested'::regnamespace and prosecdef"
        " and prosrc like '%tested_private%' and proconfig is null"
    )
    assert await loose.fetchall() == []


# ---- through the doors


async def test_two_users_never_meet(ground: Ground) -> None:
    async with ground.open() as memory:
        copies = await lived(memory)
        theirs = await lived(memory, LEE)
        await memory.profiles.fold_history(now() + 31 * DAY)
        await memory.profiles.edit(LEE, "username", "Lee")
        for actor, of in ((KIM, copies), (LEE, theirs)):
            for moment, profile in of:
                told = await memory.profiles.get(actor, contact=True, as_of=moment)
                assert told == profile
        kims = {one.recorded_at for one in (await memory.profiles.history(KIM)).changes}
        lees = {one.recorded_at for one in (await memory.profiles.history(LEE)).changes}
        assert kims.isdisjoint(lees)
        cursor = (await memory.profiles.history(KIM, limit=1)).cursor
        page = await memory.profiles.history(LEE, limit=1_000, cursor=cursor)
        assert {one.recorded_at for one in page.changes} <= lees


async def test_a_projects_history_is_for_its_members(ground: Ground) -> None:
    async with ground.open() as memory:
        await projected(memory)
        await memory.projects.grant(OF_KIM, "apollo", "vera", "viewer")
        moment = now()
        assert len((await memory.profiles.project_history(Actor("vera"), "apollo")).changes) == 5
        assert await memory.profiles.get_project(Actor("vera"), "apollo", as_of=moment)
        for asks in (
            memory.profiles.project_history(LEE, "apollo"),
            memory.profiles.get_project(LEE, "apollo", as_of=moment),
            memory.profiles.project_history(LEE, "nowhere"),
        ):
            with pytest.raises(NotFound) as raised:
                await asks
            assert raised.value.code == "project_not_found"


async def test_consent_and_agents_are_treated_as_with_the_profile(ground: Ground) -> None:
    async with ground.open() as memory:
        await lived(memory)
        helper = Actor("kim", agent="helper")
        told = (await memory.profiles.history(helper)).changes[4].values
        assert told["email"] == "r***@e***.org"
        for asks in (
            memory.profiles.history(helper, contact=True),
            memory.profiles.get(helper, contact=True, as_of=now()),
        ):
            with pytest.raises(PermissionDenied):
                await asks
        await memory.consent.refuse(KIM)
        for asks in (memory.profiles.history(KIM), memory.profiles.get(KIM, as_of=now())):
            with pytest.raises(ConsentRequired):
                await asks


# ---- erasure


async def test_pf_077_an_erased_members_words_leave_the_history_of_the_project(
    ground: Ground,
) -> None:
    async def say(memory: MemoryService, of: Actor, text: str, memory_type: Any) -> Any:
        verdict = await memory.add_explicit_memory(
            of, text, memory_type=memory_type, scope="project"
        )
        await memory.profiles.get_project(OF_KIM, "apollo")
        return verdict.id

    async with ground.open() as memory:
        await memory.projects.create(OF_KIM, "apollo", "Apollo")
        await memory.projects.grant(OF_KIM, "apollo", "edda", "admin")
        await say(memory, OF_KIM, "We use PostgreSQL", "fact")
        gone = await say(memory, EDDA, "We use Kafka", "fact")
        await say(memory, EDDA, "We chose Redis because Edda likes it", "decision")
        await memory.delete(EDDA, gone)  # nothing but the history knows it any more
        await memory.profiles.patch_project(EDDA, "apollo", {"current_phase": "beta"})
        await memory.profiles.fold_history(now() + 31 * DAY)
        await say(memory, EDDA, "We use RabbitMQ", "fact")
        told = str(await memory.profiles.project_history(OF_KIM, "apollo"))
        assert all(word in told for word in ("Kafka", "Redis", "RabbitMQ", "edda", "PostgreSQL"))
        moment = now()
        await memory.forget_user(Actor("edda"))
        history = await memory.profiles.project_history(OF_KIM, "apollo")
        told = str(history)
        assert not any(word in told for word in ("Kafka", "Redis", "Edda", "RabbitMQ", "edda"))
        assert "PostgreSQL" in told
        then = await memory.profiles.get_project(OF_KIM, "apollo", as_of=moment)
        assert then.values["tech_stack"] == ("PostgreSQL",)
        assert then.values["current_phase"] == "beta"
        assert (await memory.profiles.fold_history(now() + 31 * DAY)).failed == 0


# ---- a process that dies


def child(settings: Settings, stub_path: str, where: str) -> int:
    assert settings.database_url is not None
    assert settings.migration_url is not None
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join([stub_path, *filter(None, [os.environ.get("PYTHONPATH")])]),
        "MNEMIC_DATABASE_URL": settings.database_url.get_secret_value(),
        "MNEMIC_MIGRATION_URL": settings.migration_url.get_secret_value(),
        "MNEMIC_KEY_FILE": str(settings.key_file),
        "MNEMIC_SCHEMA": settings.db_schema,
    }
    done = subprocess.run([sys.executable, "-c", CHILD, where], env=env, timeout=60, check=False)
    return done.returncode


@pytest.mark.parametrize("where", ["inside", "between"])
async def test_who_folds_may_be_killed_at_any_moment(
    where: str, ground: Ground, stub_path: str
) -> None:
    async with ground.open() as memory:
        copies = await lived(memory)
        for name in ("lee", "max"):
            await lived(memory, Actor(name))
        before = await memory.profiles.history(KIM)
    parts = ground.parts()
    code = await asyncio.to_thread(child, ground.settings, stub_path, where)
    assert code == -signal.SIGKILL
    assert ground.parts() == parts
    folds = ground.ask("select scope_key from profile_history_fold")
    assert len(folds) == (1 if where == "inside" else 3)
    for fold in folds:
        assert ground.rows(fold["scope_key"]) == []
    async with ground.open() as memory:
        await same_as_recorded(memory, copies)
        folded = await memory.profiles.fold_history(now() + 100 * DAY)
        assert (folded.profiles, folded.failed) == (2 if where == "inside" else 0, 0)
        assert folded.dropped >= 1
        await same_as_recorded(memory, copies)
        assert await memory.profiles.history(KIM) == before
    assert [one for one in ground.parts() if one[1] <= now() + 70 * DAY] == []


async def test_two_who_fold_at_once_fold_everything_once(ground: Ground) -> None:
    users = [Actor(f"user{number}") for number in range(6)]
    async with ground.open() as memory, ground.open() as other:
        for user in users:
            await memory.profiles.edit(user, "username", user.user)
        later = now() + 100 * DAY
        both = await asyncio.gather(
            memory.profiles.fold_history(later), other.profiles.fold_history(later)
        )
        assert sum(one.changes for one in both) == 2 * len(users)
        assert sum(one.failed for one in both) == 0
        for user in users:
            assert len((await memory.profiles.history(user)).changes) == 2
    folds = ground.ask("select fold_no, n_changes from profile_history_fold")
    assert folds == [{"fold_no": 1, "n_changes": 2}] * len(users)


async def test_one_history_that_does_not_open_holds_up_no_other(ground: Ground) -> None:
    async with ground.open() as memory:
        await lived(memory)
        await lived(memory, LEE)
    ground.ask("update profile_history set change_enc = change_enc || 'x' where scope_key = 'user:kim'"
               " and version = 3")  # fmt: skip
    async with ground.open() as memory:
        folded = await memory.profiles.fold_history(now() + 100 * DAY)
        assert (folded.profiles, folded.failed) == (1, 1)
        assert len(ground.rows("user:kim")) > 3, "nothing of it was dropped"


async def test_a_value_put_elsewhere_does_not_open(ground: Ground, server: Server) -> None:
    from mnemic.errors import KeyUnavailable

    async with ground.open() as memory:
        await lived(memory)
        moment = now()
        await memory.profiles.fold_history(now() + 31 * DAY)
        await memory.profiles.edit(KIM, "profession", "sailor")
    earlier = ground.ask("select * from profile_history_fold")[0]["fold_enc"]
    async with ground.open() as memory:
        await memory.profiles.fold_history(now() + 31 * DAY)
    ground.ask("update profile_history_fold set fold_enc = %(earlier)s", earlier=earlier)
    async with ground.open() as memory:
        with pytest.raises(KeyUnavailable) as raised:
            await memory.profiles.get(KIM, as_of=moment)
        assert raised.value.code == "sealed_value_damaged"


async def test_a_new_key_of_keys_changes_nothing(
    server: Server, schema: str, prepare: Prepare, tmp_path: Path
) -> None:
    from rotation_world import OPERATOR, place

    here = await place(server, schema, prepare, tmp_path)
    ground = Ground(here.settings, chunked=False)
    async with ground.open() as memory:
        copies = await lived(memory)
        await memory.profiles.fold_history(now() + 31 * DAY)
        await memory.profiles.edit(KIM, "profession", "sailor")
    async with here.operator() as operator:
        assert (await operator.rotation().run(OPERATOR)).keys > 0
    async with ground.open() as memory:
        await same_as_recorded(memory, copies)
        assert (await memory.profiles.history(KIM)).changes[0].values == {"profession": "sailor"}
        assert (await memory.profiles.fold_history(now() + 31 * DAY)).changes == 1
