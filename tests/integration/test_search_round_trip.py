"""Is a search one round trip to the database, and is it as safe and as right as in a transaction?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from conftest import Connect, Prepare, Server
from lost_sessions import end_sessions, sessions_of
from mnemic.errors import ConsentRequired, PermissionDenied
from mnemic.model import Actor
from mnemic.settings import Settings
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements
from stub_embedder import StubEmbedder, curve

if TYPE_CHECKING:
    from mnemic.service import MemoryService

INLINED = "searched_items"
FUNCTIONS = ["find_items", "greet", "likely_bound", "search_large", INLINED, "sift_items"]
KIM = Actor("kim", session="s1")
LEE = Actor("lee")
FACTS = [
    "There is a pond in my garden",
    "Two cherry trees shade the garden in summer",
    "Hedgehogs sleep under the garden shed",
    "The ferry to the island leaves at noon",
]


@pytest.fixture
async def known(stub_memory: MemoryService) -> MemoryService:
    for number, fact in enumerate(FACTS):
        scope: Any = "session" if number % 2 else "user"
        await stub_memory.add_explicit_memory(KIM, fact, scope=scope)
    return stub_memory


class Trips:
    """Counts what goes to the database."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = self.begun = 0
        answer, begin = Database._answer, Database._begin

        async def answered(this: Database, *args: Any) -> Any:
            self.asked += 1
            return await answer(this, *args)

        async def began(this: Database, *args: Any) -> Any:
            self.begun += 1
            return await begin(this, *args)

        monkeypatch.setattr(Database, "_answer", answered)
        monkeypatch.setattr(Database, "_begin", began)


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> Trips:
    return Trips(monkeypatch)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[MemoryService]:
    from mnemic.service import MemoryService

    async with MemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        yield memory


async def test_a_user_whose_key_is_at_hand_is_answered_in_one_trip_another_one_in_two(
    known: MemoryService, settings: Settings, trips: Trips
) -> None:
    await known.search_memories(KIM, "garden", k=2)
    assert (trips.asked, trips.begun) == (1, 0)
    async with opened(settings) as another:
        trips.asked = trips.begun = 0
        assert await another.search_memories(KIM, "garden", k=2)
        assert (trips.asked, trips.begun) == (2, 0)
        trips.asked = 0
        assert not await another.search_memories(LEE, "garden")
        assert (trips.asked, trips.begun) == (1, 0), "who never wrote has no key to search with"


async def test_both_ways_give_the_same_answers(
    known: MemoryService, server: Server, schema: str, trips: Trips
) -> None:
    async with opened(server.settings(schema, search_function="off")) as another:
        for query in ("garden", "a pond under cherry trees", "ferry", "nothing of the kind"):
            for more in ({}, {"k": 1}, {"scope": "session"}, {"memory_type": "habit"}):
                trips.asked = 0
                slow = await another.search_memories(KIM, query, **more)
                assert trips.asked == 0
                fast = await known.search_memories(KIM, query, **more)
                assert [(hit.id, hit.score, hit.parts) for hit in fast] == [
                    (hit.id, hit.score, hit.parts) for hit in slow
                ]


async def test_an_erased_user_is_refused_with_a_key_at_hand_or_without(
    known: MemoryService, settings: Settings, connect: Connect, trips: Trips
) -> None:
    await known.search_memories(KIM, "garden")
    await (await connect("owner")).execute("update app_user set status = 'erased'")
    async with opened(settings) as another:
        trips.begun = 0
        for memory in (known, another):
            with pytest.raises(PermissionDenied) as refused:
                await memory.search_memories(KIM, "garden")
            assert refused.value.code == "user_erased"
        assert trips.begun == 0


async def test_who_refused_to_be_remembered_is_not_searched(
    known: MemoryService, connect: Connect
) -> None:
    await (await connect("owner")).execute("update app_user set remember = 'refused'")
    with pytest.raises(ConsentRequired):
        await known.search_memories(KIM, "garden")


async def test_a_key_of_another_epoch_is_not_used(
    known: MemoryService, connect: Connect, trips: Trips
) -> None:
    await (await connect("owner")).execute("update app_user set key_epoch = key_epoch + 1")
    hits = await known.search_memories(KIM, "garden", k=2)
    assert len(hits) == 2
    assert trips.begun > 0, "the call did not settle it"
    trips.begun = 0
    await known.search_memories(KIM, "garden", k=2)
    assert trips.begun == 0


def aimed_at(victim: Actor, words: str) -> dict[str, Any]:
    return {
        "read_scopes": ",".join(victim.scope_keys),
        "allowed": "active,pending,superseded,archived",
        **dict.fromkeys(("memory_type", "as_of", "known_at", "slots", "near", "embedding")),
        "lexemes": words,
        "words": 1,
        "model_id": 0,
        "candidates": 100,
        "expected": 10_000,
    }


@pytest.mark.parametrize("name", ["search", "search_large"])
async def test_the_function_reaches_no_row_of_another_user(
    known: MemoryService, connect: Connect, name: str
) -> None:
    database, statement = known._parts.deployment.database, statements("retrieval")[name]
    owner = await connect("owner")
    row = await (
        await owner.execute(
            "select lexeme from memory_item, unnest(tsvector_to_array(lexemes)) as lexeme"
            " group by lexeme order by count(*) desc limit 1"
        )
    ).fetchone()
    assert row is not None
    own = await database.ask(KIM, statement, aimed_at(KIM, row["lexeme"]))
    assert (own.head["documents"], own.head["df"], len(own.rows)) == (4, [3], 3)
    others = await database.ask(LEE, statement, aimed_at(KIM, row["lexeme"]))
    assert (others.head["documents"], others.head["df"], others.rows) == (0, [0], [])
    greeted = await database.ask(LEE, statements("retrieval")["greet"], {})
    assert greeted.head["wrapped"] is None


async def test_who_asked_is_forgotten_with_the_answer(known: MemoryService) -> None:
    await known.search_memories(KIM, "garden")
    database = known._parts.deployment.database
    conn = await database._take()
    row = await (
        await conn.execute(
            "select coalesce(current_setting('mnemic.scopes', true), '') as scopes,"
            " coalesce(current_setting('mnemic.actor', true), '') as actor, txid_current_if_assigned() as tx"
        )
    ).fetchone()
    await database._give_back(conn)
    assert row == {"scopes": "", "actor": "", "tx": None}


async def test_the_functions_act_as_their_caller_and_are_not_everybodys(
    known: MemoryService, connect: Connect, schema: str
) -> None:
    owner = await connect("owner")
    found = await owner.execute(
        "select proname, prosecdef, proacl::text as rights, array_to_string(proconfig, ' ') as settings"
        " from pg_proc where pronamespace = %s::regnamespace and proname = any(%s) order by proname",
        [schema, FUNCTIONS],
    )
    rows = await found.fetchall()
    assert [row["proname"] for row in rows] == FUNCTIONS
    for row in rows:
        assert not row["prosecdef"]
        assert not row["rights"].startswith("{="), "public has none"
        assert ",=" not in row["rights"], "public has none"
        assert "mnemic_service=X" in row["rights"]
        if row["proname"] == INLINED:
            assert row["settings"] is None, "or it is no part of the statement that names it"
        else:
            assert f"search_path={schema}, " in row["settings"].replace('"', "")


async def test_a_lost_connection_is_replaced_within_the_call(
    known: MemoryService, connect: Connect
) -> None:
    await known.search_memories(KIM, "garden")
    await end_sessions(connect, sessions_of(known._parts.deployment.database))
    assert await known.search_memories(KIM, "garden", k=1)


async def test_a_failing_statement_is_told_as_one_of_ours(known: MemoryService) -> None:
    from mnemic.errors import StorageError

    database = known._parts.deployment.database
    with pytest.raises(StorageError) as failed:
        await database.ask(KIM, "select 1 / 0 from {schema}.deployment", {})
    assert isinstance(failed.value.__cause__, psycopg.Error)
    assert await known.search_memories(KIM, "garden", k=1)


async def test_it_works_without_prepared_statements(
    known: MemoryService, server: Server, schema: str, trips: Trips, prepare: Prepare
) -> None:
    settings = server.settings(schema, prepare="off")
    await prepare(settings, StubEmbedder(), curve())
    async with opened(settings) as another:
        trips.begun = 0
        for _ in range(4):
            assert len(await another.search_memories(KIM, "garden", k=3)) == 3
        assert trips.begun == 0


@pytest.mark.parametrize("size", [1, 10_000, 10**9])
async def test_a_scope_that_is_taken_for_a_large_one_answers_the_same(
    known: MemoryService, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    nearest = known._parts.search.items._nearest
    for query in ("garden", "a pond under cherry trees", "ferry"):
        plain = await known.search_memories(KIM, query)
        with monkeypatch.context() as patched:
            patched.setattr(type(nearest), "size", lambda this, scopes: size)
            shared = await known.search_memories(KIM, query)
        assert [(hit.id, hit.parts) for hit in shared] == [(hit.id, hit.parts) for hit in plain]


async def plant(memory: MemoryService, author: Actor, text: str) -> None:
    """Let the project remember something."""
    assert (await memory.add_explicit_memory(author, text, scope="project")).outcome == "stored"


async def test_a_member_finds_what_others_wrote_in_the_project_in_one_trip_too(
    known: MemoryService, trips: Trips
) -> None:
    ann, ben = Actor("ann", project="reef"), Actor("ben", project="reef")
    await known.projects.create(ann, "reef", "Reef")
    await known.projects.grant(ann, "reef", "ben", "viewer")
    await plant(known, ann, "The divers meet at the pier at nine")
    await known.add_explicit_memory(ben, "I get sea sick on boats near the pier")
    for scope in (None, "project", None):
        trips.begun = 0
        hits = await known.search_memories(ben, "pier divers", scope=scope)
        assert "The divers meet at the pier at nine" in {hit.content for hit in hits}
        assert len(hits) == (1 if scope else 2)
    assert trips.begun == 0
    await known.projects.revoke(ann, "reef", "ben")
    for scope in (None, "project", None):
        with pytest.raises(PermissionDenied) as refused:
            await known.search_memories(ben, "pier divers", scope=scope)
        assert refused.value.code == "not_a_member"
    for at in (ben, Actor("ben")):
        hits = await known.search_memories(at, "pier divers", scope="user")
        assert {hit.item.scope for hit in hits} == {"user"}
