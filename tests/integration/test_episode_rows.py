"""Whose are the rows of checkpoints, and what can be read in them without the key?"""

from __future__ import annotations

import asyncio
import base64
import re
import sys
from contextlib import suppress
from importlib.resources import files
from typing import Any

import psycopg
import pytest
from episode_world import KIM, LEE, config, counter, emptied, mailer, opened, shared_schema
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from plaintext import Finder, fragments
from psycopg import sql

from conftest import Connect, Server
from mnemic.crypto import DataKey, new_secret, place
from mnemic.deployment import Deployment
from mnemic.episodic.sealing import Lock, SealedSerializer, locked_with
from mnemic.errors import ConfigurationError, KeyUnavailable, StorageError
from mnemic.ids import new_id
from mnemic.model import Actor
from mnemic.settings import Settings
from mnemic.storage.statements import statements

OF_LANGGRAPH = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
OURS = ("thread", "session_state_snapshot", "checkpoint_archive")


@pytest.fixture(scope="module")
def shared(server: Server) -> Settings:
    return shared_schema(server)


@pytest.fixture
def settings(shared: Settings) -> Settings:
    return emptied(shared)


@pytest.fixture
def schema(settings: Settings) -> str:
    return settings.db_schema


async def filled(settings: Settings) -> None:
    """Give kim and lee rows in every table: a question, a run that ended, an archive."""
    async with opened(settings, keep=1) as (episodes, _):
        for actor in (KIM, LEE):
            graph = mailer(episodes.checkpointer())
            await graph.ainvoke({"mood": "glad"}, config(actor))
            notes = counter(episodes.checkpointer())
            for _ in range(2):
                await notes.ainvoke({"mood": "glad"}, config(actor, "t2"))
            assert await episodes.archive(actor, "t2") > 0


async def counts(conn: Any) -> dict[str, int]:
    found = {}
    for table in (*OF_LANGGRAPH, *OURS):
        query = sql.SQL("select count(*) as n from {}").format(sql.Identifier(table))
        found[table] = (await (await conn.execute(query)).fetchone())["n"]
    return found


async def act_as(conn: Any, actor: Actor | None) -> None:
    scopes, sessions = (
        ("", "") if actor is None else (",".join(actor.scope_keys), actor.session_prefix)
    )
    for name, value in (("scopes", scopes), ("sessions", sessions)):
        await conn.execute("select set_config(%s, %s, false)", [f"mnemic.{name}", value])


# ---- the tables


async def test_langgraphs_tables_are_what_its_own_setup_makes(
    settings: Settings, server: Server, connect: Connect
) -> None:
    async with opened(settings) as (episodes, _):
        await episodes.checkpointer().setup()
    owner = await connect("owner")
    theirs = f"{settings.db_schema}_lg"
    await owner.execute(sql.SQL("create schema {}").format(sql.Identifier(theirs)))
    conn: Any = await connect("owner", prepare_threshold=None)
    await conn.execute(sql.SQL("set search_path = {}").format(sql.Identifier(theirs)))
    await AsyncPostgresSaver(conn).setup()
    tables = [*OF_LANGGRAPH, "checkpoint_migrations"]
    for query in (
        "select table_name, column_name, data_type, is_nullable, column_default"
        " from information_schema.columns where table_schema = %s and table_name = any(%s) order by 1, 2",
        "select tablename, indexname, replace(indexdef, schemaname || '.', '') as definition"
        " from pg_indexes where schemaname = %s and tablename = any(%s) order by 1, 2",
    ):
        ours = await (await owner.execute(query, [settings.db_schema, tables])).fetchall()
        expected = await (await owner.execute(query, [theirs, tables])).fetchall()
        assert ours == expected
        assert len(ours) >= 7
    versions = "select array_agg(v order by v) as v from {}.checkpoint_migrations"
    found = [
        await (await owner.execute(sql.SQL(versions).format(sql.Identifier(one)))).fetchone()
        for one in (settings.db_schema, theirs)
    ]
    assert found[0] == found[1]
    await owner.execute(sql.SQL("drop schema {} cascade").format(sql.Identifier(theirs)))


async def test_a_langgraph_that_needs_newer_tables_is_told_so(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(settings) as (episodes, _):
        saver = episodes.checkpointer()
        monkeypatch.setattr(type(saver), "MIGRATIONS", [*saver.MIGRATIONS, "select 1"])
        with pytest.raises(ConfigurationError) as refused:
            await saver.setup()
        assert refused.value.code == "checkpoint_tables_old"


async def test_every_table_forces_its_policies(settings: Settings, connect: Connect) -> None:
    async with opened(settings):
        pass
    owner = await connect("owner")
    found = await owner.execute(
        "select c.relname, c.relrowsecurity and c.relforcerowsecurity as forced,"
        " array_agg(p.polname || ' ' || p.polroles::regrole[]::text order by p.polname) as policies"
        " from pg_class c join pg_policy p on p.polrelid = c.oid"
        " where c.relnamespace = current_schema()::regnamespace and c.relname = any(%s)"
        " group by 1, 2",
        [list(OF_LANGGRAPH)],
    )
    rows = await found.fetchall()
    assert len(rows) == 3
    for row in rows:
        assert row["forced"]
        assert row["policies"] == ["maintenance {mnemic_owner}", "own_threads {mnemic_service}"]


async def test_rows_are_seen_and_taken_through_their_thread_alone(
    settings: Settings, connect: Connect
) -> None:
    await filled(settings)
    service, owner = await connect("service"), await connect("owner")
    every = await counts(owner)
    for actor in (None, Actor("nobody"), Actor("ki_"), Actor("%"), Actor("kim/t1")):
        await act_as(service, actor)
        assert set((await counts(service)).values()) == {0}
    await act_as(service, KIM)
    mine = await counts(service)
    assert all(0 < mine[table] < every[table] for table in every), (mine, every)
    for table in OF_LANGGRAPH:
        name = sql.Identifier(table)
        update = sql.SQL("delete from {} where thread_id like 'lee/%%'").format(name)
        assert (await service.execute(update)).rowcount == 0
        copied = sql.SQL(
            "insert into {0} select (jsonb_populate_record(null::{0}, to_jsonb(t) || %s)).*"
            " from {0} t limit 1"
        ).format(name)
        for stored in ("lee/t1", "nobody/t1", "t1"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await service.execute(copied, [f'{{"thread_id": "{stored}"}}'])
    assert await counts(owner) == every


async def test_nobody_claims_the_thread_of_another(settings: Settings, connect: Connect) -> None:
    await filled(settings)
    service = await connect("service")
    await act_as(service, KIM)
    for stored in ("lee/t1", "lee/new", "kim", "t1", "", "kimx/t1"):
        with pytest.raises(psycopg.errors.CheckViolation):
            await service.execute(
                "insert into thread (scope_key, thread_id, session_id, session_scope)"
                " values ('user:kim', %s, 's', 's')",
                [stored],
            )
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await service.execute("update thread set thread_id = 'kim/x'")


def parameters(of: Actor, seen: dict[str, Any], text: str) -> dict[str, Any]:
    """Return what a statement is given that is aimed at the rows of ``of``."""
    given: dict[str, Any] = dict.fromkeys(re.findall(r"%\((\w+)\)s", text))
    stored = f"{of.user}/t1"
    return given | {
        "scope_key": of.user_scope,
        "thread_id": stored,
        "session_id": "s1",
        "session_scope": f"session:{of.user}/s1",
        "named": True,
        "limit": 10,
        "checkpoint_ns": "",
        "checkpoint_id": seen["checkpoint_id"],
        "namespaces": [""],
        "ids": [seen["checkpoint_id"]],
        "task_id": seen["task_id"],
        "idx": 70,
        "channel": "__interrupt__",
        "version": "v",
        "type": "x",
        "blob": b"x",
        "checkpoint": "{}",
        "metadata": "{}",
        "status": "done",
        "waiting": 0,
        "early": 0,
        "snapshot_enc": b"x",
        "task_path": "",
        "run_ids": ["run"],
        "token": seen["token"],
        "lease": "1 minute",
        "id": seen["archive"],
        "checkpoints": [],
        "n_bytes": 1,
        "archive_enc": b"x",
    }


async def outcome(deployment: Deployment, actor: Actor, text: Any, given: Any) -> Any:
    class Undo(Exception):
        pass

    result: Any = "refused"
    with suppress(Undo, Exception):
        async with deployment.database.transaction(actor) as tx:
            cursor = await tx.conn.execute(text, given)
            result = await cursor.fetchall() if cursor.description else cursor.rowcount
            raise Undo
    return result


NOTHING = ([], 0, "refused")
WITHOUT_A_ROW_HERE = {"know_thread", "forget_parents", "drop_unused_blobs"}
"""What has nothing to do in this world, for anybody."""


async def test_no_statement_reaches_the_rows_of_another_user(
    settings: Settings, connect: Connect
) -> None:
    await filled(settings)
    owner = await connect("owner")
    token, run = new_id(), '{"run_id": "run"}'
    await owner.execute(
        "update thread set lease_token = %s, lease_until = now() + '1 hour'", [token]
    )
    await owner.execute("update checkpoints set metadata = metadata || %s", [run])
    row = await (
        await owner.execute(
            "select w.checkpoint_id, w.task_id from checkpoint_writes w"
            " where w.thread_id = 'kim/t1' and channel = '__interrupt__'"
        )
    ).fetchone()
    # an archive of this very thread
    kept = await owner.execute(
        "update checkpoint_archive set thread_id = 'kim/t1', checkpoints = array[%s]"
        " where scope_key = 'user:kim' returning id",
        [row["checkpoint_id"]],
    )
    seen = row | {"token": token, "archive": (await kept.fetchone())["id"]}
    wrong, tried = {}, 0
    async with opened(settings) as (_, deployment):
        for name, text in statements("episodes").items():
            if name in ("to_archive", "tables_version"):
                continue
            given = parameters(KIM, seen, text)
            if name.startswith(("put_", "add_")):
                given |= {"checkpoint_id": "new", "id": new_id()}
            own = await outcome(deployment, KIM, text, given)
            others = await outcome(deployment, LEE, text, given)
            tried += 1
            if name in WITHOUT_A_ROW_HERE:
                assert others in NOTHING, name
            elif own in NOTHING or others not in NOTHING:
                wrong[name] = (own, others)
    assert wrong == {}
    assert tried > 35


# ---- what can be read

SECRET = "My grandmother planted walnuts behind the monastery"
GEHEIM = "外婆在寺庙后面种了核桃树"
PLANTED = {
    "scalar": SECRET + " scalarwise",
    "listed": GEHEIM + "列表里的核桃",
    "nested": SECRET + " nestedly",
    "metadata": SECRET + " metadatalike",
    "question": GEHEIM + "要问一个问题",
    "answer": SECRET + " answeringly",
    "failure": SECRET + " failingly",
    "long": (SECRET + " lengthily ") * 120,
}


async def everything_said(settings: Settings) -> None:
    """Plant the texts through every door that a graph has."""
    from episode_world import State
    from langgraph.graph import START, StateGraph
    from langgraph.types import Command, interrupt

    def ask(state: Any) -> dict[str, Any]:
        interrupt({"question": PLANTED["question"]})
        raise ValueError(PLANTED["failure"])

    async with opened(settings, keep=1) as (episodes, _):
        graph = StateGraph(State)
        graph.add_node("ask", ask)
        graph.add_edge(START, "ask")
        compiled = graph.compile(checkpointer=episodes.checkpointer())
        named = config(KIM) | {"metadata": {"note": PLANTED["metadata"]}}
        state = {
            "mood": PLANTED["scalar"],
            "notes": [PLANTED["listed"], PLANTED["long"]],
            "todos": [{"content": PLANTED["nested"]}],
            "messages": [("user", SECRET)],
        }
        await compiled.ainvoke(state, named)
        with suppress(ValueError):
            await compiled.ainvoke(Command(resume=PLANTED["answer"]), named)
        episode = await episodes.resume(KIM)
        assert (episode.status, episode.state["mood"]) == ("failed", PLANTED["scalar"])
        assert await episodes.archive(KIM, "t1") > 0


async def dumped(conn: Any) -> bytes:
    """Return every row of every table of episodes as text and as raw bytes."""
    found = []
    for table in (*OF_LANGGRAPH, *OURS):
        query = sql.SQL("select to_jsonb(t)::text as row from {} t").format(sql.Identifier(table))
        rows = [row["row"] for row in await (await conn.execute(query)).fetchall()]
        assert rows, f"{table} is empty: this would prove nothing"
        found += rows
        for value in re.findall(r'"\\\\x([0-9a-f]+)"', "\n".join(rows)):
            found.append(bytes.fromhex(value).decode("latin-1"))
    return "\n".join(found).encode("latin-1", "backslashreplace") + "\n".join(found).encode()


async def test_nothing_that_was_said_stands_in_any_table(
    settings: Settings, connect: Connect
) -> None:
    await everything_said(settings)
    owner = await connect("owner")
    finder = Finder({part for text in PLANTED.values() for part in fragments(text[:200])})
    assert finder.in_bytes(await dumped(owner)) == set()
    # the same search finds each of them where it is planted in clear
    for table, column in (("checkpoints", "metadata"), ("checkpoint_blobs", "blob")):
        value = f'{{"a": "{PLANTED["listed"]}"}}'
        query = sql.SQL("update {} set {} = %s").format(
            sql.Identifier(table), sql.Identifier(column)
        )
        await owner.execute(query, [value if column == "metadata" else value.encode()])
        assert PLANTED["listed"] in finder.in_bytes(await dumped(owner))
        undo: Any = "{}" if column == "metadata" else b""
        await owner.execute(query, [undo])


async def test_metadata_in_clear_are_ids_and_numbers_alone(
    settings: Settings, connect: Connect
) -> None:
    await everything_said(settings)
    owner = await connect("owner")
    rows = await (await owner.execute("select metadata from checkpoints")).fetchall()
    names = {name for row in rows for name in row["metadata"]}
    assert names <= {"source", "step", "parents", "run_id", "channels", "sealed", "macs"}
    values = await (await owner.execute("select checkpoint from checkpoints")).fetchall()
    assert all(row["checkpoint"]["channel_values"] == {} for row in values)
    kinds = await (await owner.execute("select distinct type from checkpoint_blobs")).fetchall()
    assert kinds
    assert all(re.fullmatch(r"\w+\+aes256gcm-[0-9a-f-]{36}", row["type"]) for row in kinds)
    async with opened(settings) as (episodes, _):
        saver = episodes.checkpointer()
        found = [
            one async for one in saver.alist(config(KIM), filter={"note": PLANTED["metadata"]})
        ]
        assert found
        assert found[0].metadata["note"] == PLANTED["metadata"]
        assert [one async for one in saver.alist(config(KIM), filter={"note": "other"})] == []


async def test_a_value_that_was_moved_changed_or_put_there_in_clear_is_not_read(
    settings: Settings, connect: Connect
) -> None:
    async with opened(settings) as (episodes, _):
        graph = counter(episodes.checkpointer())
        for thread, mood in (("t1", "glad"), ("t2", "sad")):
            await graph.ainvoke({"mood": mood}, config(KIM, thread))
        owner = await connect("owner")
        swap = (
            "update checkpoint_blobs a set blob = b.blob from checkpoint_blobs b"
            " where a.thread_id = 'kim/t1' and b.thread_id = 'kim/t2' and a.channel = 'mood'"
            " and b.channel = 'mood'"
        )
        clear = "update checkpoint_blobs set type = 'msgpack', blob = '\\xa3626164' where channel = 'mood'"
        flip = (
            "update checkpoint_blobs set blob = set_byte(blob, 40, (get_byte(blob, 40) + 1) % 256)"
        )
        for change, error in (
            (swap, KeyUnavailable),
            (flip, KeyUnavailable),
            (clear, StorageError),
        ):
            await owner.execute(change)
            with pytest.raises(error):
                await graph.aget_state(config(KIM))


def test_a_sealed_value_opens_with_its_key_and_in_its_thread_alone() -> None:
    serializer, key = SealedSerializer(), DataKey(new_id(), new_secret())
    lock = Lock(key, "user:kim", "kim/t1")
    with locked_with(lock):
        sealed = serializer.dumps_typed({"a": [1, "外婆"]})
        assert serializer.loads_typed(sealed) == {"a": [1, "外婆"]}
        with pytest.raises(StorageError):
            serializer.loads_typed((sealed[0].replace("msgpack", "pickle"), sealed[1]))
    other = Lock(DataKey(new_id(), new_secret()), "user:kim", "kim/t1")
    for wrong in (lock.of("kim/t2"), Lock(key, "user:lee", "kim/t1"), other):
        with locked_with(wrong), pytest.raises(KeyUnavailable):
            serializer.loads_typed(sealed)


def test_a_value_from_before_bytes_were_sealed_as_they_are_opens_too() -> None:
    key = DataKey(new_id(), new_secret())
    lock = Lock(key, "user:kim", "kim/t1")
    kind, plain = SealedSerializer().plain({"a": "外婆"})
    then = {
        what: key.seal(
            base64.b64encode(plain).decode("ascii"),
            place("checkpoint", "user:kim", "kim/t1", what, 1),
        )
        for what in ("value", "metadata", "snapshot", "archive")
    }
    for what, sealed in then.items():
        assert lock.open(sealed, what) == plain
        assert len(lock.seal(plain, what)) < len(sealed)
    with locked_with(lock):
        written = f"{kind}+aes256gcm-{key.key_id}"
        assert SealedSerializer().loads_typed((written, then["value"])) == {"a": "外婆"}
    with pytest.raises(KeyUnavailable):
        lock.of("kim/t2").open(then["value"])


async def test_langgraph_is_not_needed_to_load_the_core() -> None:
    script = (
        "import sys, mnemic.episodic.episodes;"
        "assert not [m for m in sys.modules if m.startswith(('langgraph', 'langchain', 'ormsgpack'))]"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
    assert await process.wait() == 0
    assert files("mnemic.episodic").joinpath("saver.py").is_file()
