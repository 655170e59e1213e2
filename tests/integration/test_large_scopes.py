"""Does the search of large scopes find, row by row, what the search of all others finds?

Two scopes of one user, one of them of some thousand items; sealed texts are of no account here.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from conftest import Connect
from mnemic.ids import new_id
from mnemic.model import Actor
from mnemic.storage.halfvec import HalfVector
from mnemic.storage.statements import statements
from stub_embedder import DIMS

if TYPE_CHECKING:
    from mnemic.service import MemoryService

KIM = Actor("kim", session="s1")
USER, SESSION = KIM.user_scope, KIM.session_scope
WORDS = [f"{number:016x}" for number in range(1, 7)]
SLOTS = ["a" * 16, "b" * 16]
SIZES = {USER: 3_000, SESSION: 60}
START = datetime(2026, 1, 1, tzinfo=UTC)
_INSERT = """
insert into memory_item (
    scope_key, id, scope, scope_id, owner_id, memory_type, content_enc, content_mac, source, confidence,
    status, created_at, recorded_at, valid_from, valid_to, retired_at, embedding, model_id, lexemes,
    n_tokens, slots)
select %(scope_key)s, (lpad(to_hex(1700000000000 + n * 60000), 12, '0') || substr(md5(n::text), 1, 20))::uuid,
       %(scope)s, 'kim', 'kim', case when n %% 50 = 0 then 'event' else 'fact' end, ''::bytea,
       sha256((%(scope_key)s || n)::bytea), 'user', 0.9,
       case n %% 9 when 0 then 'archived' when 1 then 'superseded' else 'active' end,
       at, at, at, case when n %% 9 = 1 then at + interval '2 days' end,
       case when n %% 9 = 1 then at + interval '9 days' end,
       (select array_agg(round((sin(n * 0.37 + d) + sin(n * d * 1.7))::numeric, 3))::real[]::halfvec
        from generate_series(1, %(dims)s) as d),
       1,
       (select string_agg(format('%%s:%%s', to_hex(w + (1::bigint << 60)), 1 + (n + w) %% 3), ' ')
        from generate_series(1, 4) as w)::tsvector
       || coalesce((select string_agg(format('%%s:%%s', lpad(to_hex(w), 16, '0'), 1 + (n / 7) %% 2), ' ')
                    from generate_series(1, 5) as w where n %% (3 * w * w) = 0), '')::tsvector,
       5 + n %% 13,
       case when n %% 40 = 0 then array[%(slot)s] else '{}' end
from generate_series(1, %(count)s) as n
cross join lateral (select %(start)s + n * interval '1 minute' as at) as t
"""
_PLAIN: dict[str, Any] = {
    "read_scopes": f"{USER},{SESSION}",
    "allowed": "active",
    "lexemes": " ".join(WORDS),
    "words": len(WORDS),
    "slots": None,
    "memory_type": None,
    "as_of": None,
    "known_at": None,
    "near": None,
    "model_id": 1,
    "embedding": HalfVector(tuple(1.0 + place % 3 for place in range(DIMS))),
    "candidates": 64,
}
_WORDS_ALONE = {"model_id": 0, "embedding": None}
ASKED: dict[str, dict[str, Any]] = {
    "both arms": {},
    "one scope": {"read_scopes": USER},
    "a small scope": {"read_scopes": SESSION},
    "one word": {"lexemes": WORDS[0], "words": 1},
    "words of two keys": {"words": len(WORDS) // 2},
    "a word that nobody says": {"lexemes": "f" * 16, "words": 1},
    "words alone": _WORDS_ALONE,
    "slots": {"slots": SLOTS[0]},
    "slots without vectors": {"slots": SLOTS[0], **_WORDS_ALONE},
    "slots that nobody fills": {"slots": SLOTS[1]},
    "another model": {"model_id": 7},
    "many": {"candidates": 700},
    "more than there are": {"candidates": 9_000},
    "a rare type": {"memory_type": "event"},
    "a type that is not there": {"memory_type": "habit"},
    "all states": {"allowed": "active,archived,superseded,pending"},
    "as of": {"as_of": START + timedelta(days=1)},
    "known at": {
        "known_at": START + timedelta(days=3),
        "allowed": "active,archived,superseded",
    },
    "before all": {"as_of": START - timedelta(days=1)},
}


@pytest.fixture
async def filled(stub_memory: MemoryService, connect: Connect) -> MemoryService:
    await stub_memory.add_explicit_memory(KIM, "There is a pond in my garden")
    owner = await connect("owner")
    for scope_key, count in SIZES.items():
        scope = "user" if scope_key == USER else "session"
        of = {"scope_key": scope_key, "scope": scope, "count": count, "start": START}
        await owner.execute(_INSERT, of | {"dims": DIMS, "slot": SLOTS[0]})
    await owner.execute("analyze memory_item")
    return stub_memory


async def test_the_rows_are_the_same_whatever_size_is_expected(filled: MemoryService) -> None:
    database, search = filled._parts.deployment.database, statements("retrieval")
    found = {}
    for name, asked in ASKED.items():
        params = _PLAIN | asked
        plain = await database.ask(KIM, search["search"], params)
        for expected in (1, 4_000, 10**9):
            large = await database.ask(KIM, search["search_large"], params | {"expected": expected})
            assert large.columns == plain.columns
            assert large.head == plain.head, (name, expected)
            assert large.rows == plain.rows, (name, expected)
        found[name] = len(plain.rows)
    assert found["both arms"] > 64, "both arms found some"
    assert found["slots"] > found["both arms"], "and the third"
    assert found["before all"] == found["a type that is not there"] == 0
    assert found["more than there are"] > 2_000
    assert 40 <= found["a rare type"] <= 64


async def test_named_vectors_alone_are_compared(filled: MemoryService, connect: Connect) -> None:
    database, search = filled._parts.deployment.database, statements("retrieval")
    owner = await connect("owner")
    rows = await (
        await owner.execute(
            "select id from memory_item where scope_key = %s order by md5(id::text)", [USER]
        )
    ).fetchall()
    for ids in ([row["id"] for row in rows[:90]], [row["id"] for row in rows[:5]], [new_id()]):
        params = _PLAIN | {"near": ids}
        plain = await database.ask(KIM, search["search"], params)
        large = await database.ask(KIM, search["search_large"], params | {"expected": 4_000})
        assert (large.head, large.rows) == (plain.head, plain.rows)


async def test_rows_that_change_meanwhile_are_found_as_they_were(
    filled: MemoryService, connect: Connect
) -> None:
    """Whoever writes gives a row another place, and a search must not look for it at that of another time."""
    database, search = filled._parts.deployment.database, statements("retrieval")
    nearest = (await database.ask(KIM, search["search"], _PLAIN)).found
    ids, writes, done = [row["id"] for row in nearest], 0, False
    owner = await connect("owner")

    async def write() -> None:
        nonlocal writes
        while not done:
            await owner.execute("update memory_item set confidence = 0.8 where id = any(%s)", [ids])
            writes += 1

    writing = asyncio.create_task(write())
    try:
        for _ in range(40):
            params = _PLAIN | {"expected": 4_000}
            found = (await database.ask(KIM, search["search_large"], params)).found
            assert {row["id"] for row in found} == set(ids)
            assert len(found) == len(ids)
    finally:
        done = True
        await writing
    assert writes


async def test_what_all_rows_say_of_a_long_question_is_not_held_in_memory(
    stub_memory: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    search, asked = stub_memory._parts.search.items, []
    await stub_memory.add_explicit_memory(KIM, "There is a pond in my garden")
    ask = search._database.ask

    async def noted(actor: Actor, statement: Any, *rest: Any, **named: Any) -> Any:
        asked.append("search_large" in statement)
        return await ask(actor, statement, *rest, **named)

    monkeypatch.setattr(search._database, "ask", noted)
    monkeypatch.setattr(search._nearest, "may_pay", lambda *_: False)
    long = "pond " + " ".join(f"word{number}" for number in range(60))
    for size, question in ((3_000_000, "pond"), (20_000, long), (3_000_000, long)):
        monkeypatch.setattr(search._nearest, "size", lambda scopes, size=size: size)
        (hit,) = await stub_memory.search_memories(KIM, question)
        assert "pond" in hit.content
    assert asked[-3:] == [True, True, False]
