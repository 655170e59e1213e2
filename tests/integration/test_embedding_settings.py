"""Can every user have a model of their own, and lose nothing on the way to it and back?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from psycopg import sql
from structlog.testing import capture_logs

from conftest import Connect, Prepare, Server
from embedding_endpoint import Endpoint, endpoint
from mnemic import Actor, MemoryService, Turn
from mnemic.audit import Audit
from mnemic.embedding.follow import Reembedded
from mnemic.embedding.models import Unusable
from mnemic.errors import (
    Conflict,
    EmbeddingError,
    HostNotAllowed,
    InvalidInput,
    MnemicError,
    StorageError,
)
from mnemic.item_rows import seal_texts
from mnemic.keyfile import KeyFile
from mnemic.longterm.draft import Draft
from mnemic.settings import Settings
from stub_embedder import StubEmbedder, curve

KIM, LEE, MIA = Actor("kim", session="s1"), Actor("lee"), Actor("mia")
FACTS = [
    "I prefer dark mode in every editor",
    "我对花生过敏",
    "My dentist works in Gohlis",
    "The violin lesson is on Thursday",
]


@pytest.fixture
def narrow() -> Iterator[Endpoint]:
    with endpoint(256) as made:
        yield made


@pytest.fixture
def wide() -> Iterator[Endpoint]:
    with endpoint(1024) as made:
        yield made


@pytest.fixture
def allowing(settings: Settings, narrow: Endpoint, wide: Endpoint) -> Settings:
    return settings.model_copy(
        update={"allowed_hosts": frozenset({narrow.server.host, wide.server.host})}
    )


@pytest.fixture
async def memory(allowing: Settings, prepare: Prepare) -> AsyncIterator[MemoryService]:
    await prepare(allowing, StubEmbedder(), curve())
    async with MemoryService.open(settings=allowing, embedder=StubEmbedder()) as service:
        yield service


async def fill(memory: MemoryService, *actors: Actor) -> None:
    for actor in actors:
        verdicts = await memory.add_many(actor, [Draft(text) for text in FACTS])
        assert [verdict.outcome for verdict in verdicts] == ["stored"] * len(FACTS)


async def models_of(
    connect: Connect, user: str, table: str = "memory_item"
) -> set[tuple[int, int]]:
    """The models and widths of a user's rows."""
    owner = await connect("owner")
    query = sql.SQL(
        "select distinct model_id, vector_dims(embedding) as dims from {}"
        " where scope_key = 'user:' || %s or starts_with(scope_key, 'session:' || %s || '/')"
    ).format(sql.Identifier(table))
    found = await owner.execute(query, [user, user])
    return {(row["model_id"], row["dims"]) for row in await found.fetchall()}


async def found(memory: MemoryService, actor: Actor, query: str) -> str:
    return (await memory.search_memories(actor, query, k=1))[0].content


async def test_two_users_on_two_models_of_different_width_beside_the_deployments(
    memory: MemoryService, narrow: Endpoint, wide: Endpoint, connect: Connect
) -> None:
    await fill(memory, KIM, LEE, MIA)
    mine = await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    hers = await memory.embeddings.set(LEE, wide.url, "wide-1", dims=1024)
    assert (mine.rows, mine.dims, mine.refused) == (len(FACTS), 256, ())
    assert (hers.rows, hers.dims) == (len(FACTS), 1024)
    rows = [await models_of(connect, user) for user in ("kim", "lee", "mia")]
    assert [{dims for _, dims in of} for of in rows] == [{256}, {1024}, {64}]
    assert len({model for of in rows for model, _ in of}) == 3
    for actor in (KIM, LEE, MIA):
        for text in FACTS:
            (hit, *_) = await memory.search_memories(actor, text)
            assert hit.content == text
            assert hit.cosine == pytest.approx(1.0, abs=0.01)
        again = await memory.add_explicit_memory(actor, FACTS[0])
        assert (again.outcome, again.reason) == ("duplicate", "exact")
        new = await memory.add_explicit_memory(actor, "I prefer light mode in every editor")
        assert new.outcome == "superseded", "the gate's neighbours are of the user's model"
    assert {dims for _, dims in await models_of(connect, "lee")} == {1024}


async def test_create_embeddings_gives_the_embedder_of_that_user(
    memory: MemoryService, narrow: Endpoint
) -> None:
    await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    own, other = await memory.create_embeddings("kim"), await memory.create_embeddings("lee")
    assert (own.name, own.dims) == ("narrow-1", 256)
    assert other.name == StubEmbedder.name
    (vector,) = await own.embed(["hello there"])
    assert not isinstance(vector, EmbeddingError)
    assert len(vector) == 256


async def test_the_key_is_never_shown_and_never_in_clear(
    memory: MemoryService, narrow: Endpoint, connect: Connect
) -> None:
    narrow.key = "sesame" + "-open"
    await memory.embeddings.set(KIM, narrow.url, "narrow-1", narrow.key)
    shown = await memory.embeddings.get(KIM)
    assert shown.own is not None
    assert (shown.own.model, shown.own.dims, shown.own.key_set) == ("narrow-1", 256, True)
    assert narrow.key not in repr(shown)
    owner = await connect("owner")
    row = await (await owner.execute("select * from embedding_settings")).fetchone()
    assert row is not None
    for value in row.values():
        assert "sesame" not in str(value)
        assert "127.0.0.1" not in str(value)
    assert (await memory.embeddings.get(LEE)).own is None


async def test_another_key_of_the_same_model_embeds_nothing_anew(
    memory: MemoryService, narrow: Endpoint
) -> None:
    await fill(memory, KIM)
    await memory.embeddings.set(KIM, narrow.url, "narrow-1", "old-word")
    before = len(narrow.texts)
    narrow.key = "new-word"
    report = await memory.embeddings.set(KIM, narrow.url, "narrow-1", "new-word")
    assert report.rows == 0
    assert len(narrow.texts) == before + 1, "one word to try the key"
    assert await found(memory, KIM, FACTS[1]) == FACTS[1]
    with pytest.raises(EmbeddingError) as caught:
        await memory.embeddings.set(KIM, narrow.url, "narrow-1", "wrong-word")
    assert caught.value.code == "embedding_refused"
    assert await found(memory, KIM, FACTS[1]) == FACTS[1]


async def test_every_choice_leaves_model_and_width_in_the_audit_and_no_other_does(
    memory: MemoryService, narrow: Endpoint, wide: Endpoint, connect: Connect, server: Server
) -> None:
    embeddings, same = memory.embeddings, ["narrow-1", 256]
    await embeddings.clear(KIM)
    for url, model, word in (
        (narrow.url, "narrow-1", None),
        (narrow.url, "narrow-1", None),
        (narrow.url, "narrow-1", "a-word"),
        (wide.url, "wide-1", None),
    ):
        await embeddings.set(KIM, url, model, word)
    for _ in range(2):
        await embeddings.clear(KIM)
    narrow.key = "another-word"
    with pytest.raises(EmbeddingError):
        await embeddings.set(KIM, narrow.url, "narrow-1")
    audit = await Audit.open(memory.deployment.database, KeyFile(server.key_file))
    owner = await connect("owner")
    rows = await owner.execute(
        "select action, target_mac, before_mac, after_mac from audit_log"
        " where action ~ '_embedding$' order by at, seq"
    )
    key, target = audit.key, KIM.user_scope
    assert [tuple(row.values()) for row in await rows.fetchall()] == [
        (action, key.target(target), *(key.state(KIM, target, state) for state in states))
        for action, *states in (
            ("set_embedding", None, same),
            ("set_embedding", same, same),
            ("set_embedding", same, ["wide-1", 1024]),
            ("clear_embedding", ["wide-1", 1024], None),
        )
    ]


async def test_a_choice_is_not_kept_where_the_audit_cannot_be_written(
    memory: MemoryService, narrow: Endpoint, connect: Connect
) -> None:
    await memory.embeddings.set(KIM, narrow.url, "narrow-1", "a-word")
    before = await memory.embeddings.get(KIM)
    owner = await connect("owner")
    await owner.execute("delete from audit_chain")
    for choice in (
        memory.embeddings.set(KIM, narrow.url, "narrow-1"),
        memory.embeddings.clear(KIM),
    ):
        with pytest.raises(StorageError, match="audit_chain_missing"):
            await choice
    assert await memory.embeddings.get(KIM) == before


async def test_clear_leads_back_to_the_deployments_model(
    memory: MemoryService, narrow: Endpoint, connect: Connect
) -> None:
    await fill(memory, KIM)
    (before,) = await models_of(connect, "kim")
    await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    report = await memory.embeddings.clear(KIM)
    assert (report.rows, report.model) == (len(FACTS), StubEmbedder.name)
    assert await models_of(connect, "kim") == {before}
    assert (await memory.embeddings.get(KIM)).own is None
    assert await found(memory, KIM, FACTS[2]) == FACTS[2]
    assert (await memory.embeddings.clear(KIM)).rows == 0


async def test_a_failure_midway_leaves_the_old_model_in_use_and_is_resumed(
    memory: MemoryService, narrow: Endpoint, connect: Connect
) -> None:
    texts = [f"Shelf number {n} holds the {n * 7} blue folders" for n in range(300)]
    await memory.add_many(KIM, [Draft(text) for text in texts])
    before = await models_of(connect, "kim")
    narrow.before = lambda sent: stop(narrow) if texts[200] in sent else None
    with pytest.raises(EmbeddingError) as caught:
        await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    assert caught.value.code == "embedding_refused"
    assert await models_of(connect, "kim") == before
    shown = await memory.embeddings.get(KIM)
    assert shown.own is None
    assert shown.changing
    assert shown.next is not None
    assert (await memory.search_memories(KIM, texts[7]))[0].cosine == pytest.approx(1.0, abs=0.01)
    narrow.down, narrow.before = False, lambda _: None
    sent = len(narrow.texts)
    steps: list[tuple[int, int]] = []
    report = await memory.embeddings.reembed(KIM, progress=lambda *step: steps.append(step))
    assert report.rows == len(await every(memory, KIM))
    assert len(narrow.texts) - sent < 200, "what was ready is not embedded again"
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1]
    assert {dims for _, dims in await models_of(connect, "kim")} == {256}


def stop(made: Endpoint) -> None:
    made.down = True


async def every(memory: MemoryService, actor: Actor) -> list[str]:
    page = await memory.list(actor, limit=1000, status="all")
    return [item.content for item in page.items]


async def test_a_change_takes_along_superseded_archived_and_session_items_and_turns(
    memory: MemoryService, narrow: Endpoint, connect: Connect
) -> None:
    await fill(memory, KIM)
    await memory.add_explicit_memory(KIM, "I prefer light mode in every editor")
    await memory.add_explicit_memory(KIM, "The meeting room is number 12", scope="session")
    said = [Turn("user", "We talked about the lighthouse"), Turn("assistant", "It is 40 m high.")]
    await memory.sessions.append(KIM, [*said, Turn("user", "A long evening. " * 60)])
    assert await memory.resources.index(KIM) == 3
    document = await memory.resources.add(
        KIM, "Ferns grow in the shade of the old oak.", title="Ferns"
    )
    report = await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    assert report.rows == len(FACTS) + 2 + 3 + document.chunks
    assert {dims for _, dims in await models_of(connect, "kim")} == {256}
    assert {dims for _, dims in await models_of(connect, "kim", "chunk")} == {256}
    owner = await connect("owner")
    rows = await (
        await owner.execute("select vector_dims(p) as dims from chunk, unnest(passages) as p")
    ).fetchall()
    assert {row["dims"] for row in rows} == {256}
    (hit, *_) = await memory.search_memories(KIM, "lighthouse", include=("resource",))
    assert hit.content == said[0].content
    assert hit.cosine is not None
    left = await (await owner.execute("select count(*) as n from reembedding")).fetchone()
    assert left == {"n": 0}


async def test_the_windows_made_anew_are_those_that_indexing_makes(
    memory: MemoryService, narrow: Endpoint, connect: Connect
) -> None:
    turns = [
        Turn("user", f"Turn {n} is about harbour number {n * 3}. " * (n + 1)) for n in range(12)
    ]
    await memory.sessions.append(KIM, turns)
    await memory.resources.index(KIM)
    await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    await memory.embeddings.set(LEE, narrow.url, "narrow-1")
    same = Actor("lee", session="s1")
    await memory.sessions.append(same, turns)
    await memory.resources.index(same)
    owner = await connect("owner")
    rows = await (
        await owner.execute(
            "select ordinal, count(distinct embedding::text) as windows,"
            " count(distinct passages::text) as passages from chunk group by ordinal"
        )
    ).fetchall()
    assert len(rows) == 12
    assert all((row["windows"], row["passages"]) == (1, 1) for row in rows)


async def test_writes_during_a_change_are_taken_along(
    memory: MemoryService, narrow: Endpoint, connect: Connect
) -> None:
    texts = [f"Shelf number {n} holds the {n * 7} blue folders" for n in range(150)]
    await memory.add_many(KIM, [Draft(text) for text in texts])
    change = asyncio.create_task(memory.embeddings.set(KIM, narrow.url, "narrow-1"))
    written = 0
    while not change.done():
        verdict = await memory.add_explicit_memory(
            KIM, f"Locker {written} belongs to team {written * 13}"
        )
        assert verdict.outcome in ("stored", "superseded", "duplicate")
        hits = await memory.search_memories(KIM, texts[written % 150], k=1)
        assert hits[0].cosine is not None, "the vector arm is never blind"
        written += 1
    await change
    assert written > 0
    assert {dims for _, dims in await models_of(connect, "kim")} == {256}


async def test_an_edit_during_a_change_is_not_overwritten_by_the_old_text(
    memory: MemoryService, narrow: Endpoint
) -> None:
    verdict = await memory.add_explicit_memory(KIM, FACTS[0])
    loop = asyncio.get_running_loop()
    edits: list[object] = []

    def edit(sent: list[str]) -> None:
        if FACTS[0] in sent and not edits:
            new = memory.update(KIM, verdict.id, content="The canoe lies under the bridge")
            edits.append(asyncio.run_coroutine_threadsafe(new, loop).result(20))

    narrow.before = edit
    await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    assert edits
    (hit, *_) = await memory.search_memories(KIM, "The canoe lies under the bridge")
    assert hit.cosine == pytest.approx(1.0, abs=0.01)


async def test_an_endpoint_that_is_down_refuses_writes_and_leaves_search_to_the_words(
    memory: MemoryService, narrow: Endpoint
) -> None:
    await fill(memory, KIM)
    await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    narrow.down = True
    with pytest.raises(EmbeddingError) as caught:
        await memory.add_explicit_memory(KIM, "The piano was tuned in March")
    assert caught.value.code == "embedding_refused"
    with capture_logs() as logs:
        (hit, *_) = await memory.search_memories(KIM, "dentist")
    assert (hit.content, hit.cosine) == (FACTS[2], None)
    assert [(log["event"], log["reason"]) for log in logs] == [
        ("search_by_words_alone", "embedding_refused")
    ]
    assert "dentist" not in str(logs)
    assert (
        await memory.add_explicit_memory(LEE, "The piano was tuned in March")
    ).outcome == "stored"
    narrow.down = False
    assert (await memory.search_memories(KIM, "dentist"))[0].cosine is not None
    ids = [item.id for item in (await memory.list(KIM)).items]
    narrow.down = True
    assert (await memory.delete(KIM, ids[0])).count == 1, "nothing but embedding needs the model"


@pytest.mark.parametrize("include", [("resource",), ("memory", "resource")])
async def test_while_an_endpoint_is_down_turns_and_documents_are_found_by_their_words(
    memory: MemoryService, narrow: Endpoint, include: tuple[str, ...]
) -> None:
    await fill(memory, KIM)
    await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    await memory.sessions.append(
        KIM, [Turn("user", "We talked about the lighthouse"), Turn("assistant", "It is 40 m high.")]
    )
    await memory.resources.index(KIM)
    fern = "Ferns grow in the shade of the old oak."
    await memory.resources.add(KIM, fern, title="Ferns")
    narrow.down = True
    for query, said in (("lighthouse", "We talked about the lighthouse"), ("old oak", fern)):
        (hit, *_) = await memory.search_memories(KIM, query, include=include)
        assert (hit.content, hit.cosine) == (said, None)
    assert isinstance(await memory.build_context(KIM, "Where does the old oak stand?"), str)
    narrow.down = False
    (hit, *_) = await memory.search_memories(KIM, "old oak", include=include)
    assert (hit.content, hit.cosine is None) == (fern, False)


async def test_what_was_deleted_midway_leaves_no_vector_behind(
    memory: MemoryService, narrow: Endpoint, connect: Connect
) -> None:
    texts = [f"Shelf number {n} holds the {n * 7} blue folders" for n in range(150)]
    await memory.add_many(KIM, [Draft(text) for text in texts])
    narrow.before = lambda sent: stop(narrow) if texts[100] in sent else None
    with pytest.raises(EmbeddingError):
        await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    owner = await connect("owner")
    count = "select count(*) as n from reembedding"
    before = await (await owner.execute(count)).fetchone()
    assert before is not None
    assert before["n"] > 0
    await memory.delete_all(KIM)
    assert await (await owner.execute(count)).fetchone() == {"n": 0}


async def test_a_text_that_the_model_refuses_is_reported_and_found_by_its_words(
    memory: MemoryService, narrow: Endpoint, connect: Connect
) -> None:
    await fill(memory, KIM)
    narrow.refused = lambda text: text == FACTS[3]
    report = await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    (refused,) = report.refused
    assert (report.rows, refused.table, refused.reason) == (3, "memory_item", "embedding_refused")
    assert await found(memory, KIM, "violin lesson") == FACTS[3]
    narrow.refused = lambda _: False
    again = await memory.embeddings.reembed(KIM)
    assert (again.rows, again.refused) == (1, ())
    assert {dims for _, dims in await models_of(connect, "kim")} == {256}


async def test_pf_046_a_damaged_row_does_not_stop_the_others(
    memory: MemoryService, narrow: Endpoint, connect: Connect
) -> None:
    await fill(memory, KIM)
    owner = await connect("owner")
    await owner.execute(
        "update memory_item set content_enc = content_enc || '\\x00' where id = (select min(id::text)::uuid"
        " from memory_item)"
    )
    report = await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    assert report.rows == len(FACTS) - 1
    damaged = await (
        await owner.execute("select min(id::text)::uuid as id from memory_item")
    ).fetchone()
    assert damaged is not None
    assert [(one.reason, one.id) for one in report.refused] == [
        ("sealed_value_damaged", damaged["id"])
    ]


async def test_pf_046_a_row_with_an_empty_text_does_not_stop_the_others(
    memory: MemoryService, narrow: Endpoint, connect: Connect
) -> None:
    await fill(memory, KIM)
    empty = (await memory.list(KIM)).items[0]
    async with memory.deployment.database.transaction(KIM) as tx:
        key = await memory.deployment.keys.obtain(tx, KIM)
    sealed = seal_texts(
        key, KIM.user_scope, empty.id, empty.version, content="", reason=None, metadata=None
    )
    owner = await connect("owner")
    await owner.execute(
        "update memory_item set content_enc = %s, lexemes = '', n_tokens = 0 where id = %s",
        [sealed["content_enc"], empty.id],
    )
    report = await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    assert report.rows == len(FACTS) - 1
    assert [one.id for one in report.refused] == [empty.id]
    for fact in FACTS:
        if fact != empty.content:
            assert await found(memory, KIM, fact) == fact


@pytest.mark.parametrize(
    ("choice", "code"),
    [
        (("", "m"), "embedding_choice_invalid"),
        (("https://api.example.com", " "), "embedding_choice_invalid"),
        (("https://api.example.com", "m", 7), "embedding_choice_invalid"),
        (("https://api.example.com", "m", None, 0), "dims_out_of_range"),
        (("https://api.example.com", "m", None, 4001), "dims_out_of_range"),
        (("https://api.example.com", "m"), "host_not_allowed"),
        (("https://169.254.169.254/latest", "m"), "host_not_allowed"),
        (("file:///etc/passwd", "m"), "host_not_allowed"),
    ],
)
async def test_what_cannot_be_meant_is_refused_before_anything(
    memory: MemoryService, choice: tuple[object, ...], code: str, connect: Connect
) -> None:
    with pytest.raises(MnemicError) as caught:
        await memory.embeddings.set(KIM, *choice)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert isinstance(caught.value, InvalidInput | HostNotAllowed)
    owner = await connect("owner")
    assert await (await owner.execute("select 1 from embedding_settings")).fetchone() is None


async def test_an_endpoint_of_another_width_or_without_sense_changes_nothing(
    memory: MemoryService, narrow: Endpoint, connect: Connect
) -> None:
    await fill(memory, KIM)
    narrow.down = True
    with pytest.raises(EmbeddingError):
        await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    shown = await memory.embeddings.get(KIM)
    assert (shown.own, shown.changing) == (None, False)
    owner = await connect("owner")
    assert await (await owner.execute("select 1 from embedding_model where own")).fetchone() is None


async def test_a_host_that_was_taken_off_the_list_embeds_no_more(
    memory: MemoryService, allowing: Settings, narrow: Endpoint
) -> None:
    await fill(memory, KIM)
    await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    sent = len(narrow.server.requests)
    strict = allowing.model_copy(update={"allowed_hosts": frozenset()})
    async with MemoryService.open(settings=strict, embedder=StubEmbedder()) as other:
        assert isinstance(await other.create_embeddings("kim"), Unusable)
        with pytest.raises(HostNotAllowed):
            await other.add_explicit_memory(KIM, "The piano was tuned in March")
        assert await found(other, KIM, "dentist") == FACTS[2]
    assert len(narrow.server.requests) == sent


async def test_another_process_sees_the_change_at_once(
    memory: MemoryService, allowing: Settings, narrow: Endpoint, connect: Connect
) -> None:
    await fill(memory, KIM)
    async with MemoryService.open(settings=allowing, embedder=StubEmbedder()) as other:
        assert (await other.search_memories(KIM, FACTS[0]))[0].cosine is not None
        await memory.embeddings.set(KIM, narrow.url, "narrow-1")
        (hit, *_) = await other.search_memories(KIM, FACTS[0])
        assert (hit.content, hit.cosine) == (FACTS[0], pytest.approx(1.0, abs=0.01))
        await memory.embeddings.clear(KIM)
        assert (
            await other.add_explicit_memory(KIM, "The piano was tuned in March")
        ).outcome == "stored"
    assert {dims for _, dims in await models_of(connect, "kim")} == {64}


async def test_a_choice_made_during_a_change_wins(
    memory: MemoryService, narrow: Endpoint, wide: Endpoint, connect: Connect
) -> None:
    await fill(memory, KIM)
    narrow.limit = 300  # enough to measure the model, not enough for the memories
    texts = [f"Shelf number {n} holds the {n * 7} blue folders" for n in range(200)]
    await memory.add_many(KIM, [Draft(text) for text in texts])
    with pytest.raises(EmbeddingError):
        await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    report = await memory.embeddings.set(KIM, wide.url, "wide-1")
    assert report.dims == 1024
    assert {dims for _, dims in await models_of(connect, "kim")} == {1024}
    shown = await memory.embeddings.get(KIM)
    assert shown.own is not None
    assert (shown.own.model, shown.changing) == ("wide-1", False)
    owner = await connect("owner")
    assert await (await owner.execute("select count(*) as n from reembedding")).fetchone() == {
        "n": 0
    }


@pytest.mark.parametrize("later", ["set", "clear"])
async def test_a_choice_that_another_one_overtook_says_so(
    memory: MemoryService, narrow: Endpoint, wide: Endpoint, later: str
) -> None:
    await fill(memory, KIM)
    await memory.embeddings.set(KIM, wide.url, "wide-0")
    loop, overtaking = asyncio.get_running_loop(), list[Reembedded]()

    def overtake(sent: list[str]) -> None:
        if FACTS[0] in sent and not overtaking:
            other = (
                memory.embeddings.set(KIM, wide.url, "wide-1")
                if later == "set"
                else memory.embeddings.clear(KIM)
            )
            overtaking.append(asyncio.run_coroutine_threadsafe(other, loop).result(20))

    narrow.before = overtake
    with pytest.raises(Conflict) as caught:
        await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    assert caught.value.code == "embedding_settings_changed"
    (report,) = overtaking
    assert report.model == ("wide-1" if later == "set" else StubEmbedder.name)
    assert (await memory.create_embeddings("kim")).name == report.model
    assert not (await memory.embeddings.get(KIM)).changing


async def test_two_choices_at_once_never_both_claim_to_stand(
    memory: MemoryService, narrow: Endpoint, wide: Endpoint
) -> None:
    await fill(memory, KIM)
    told = await asyncio.gather(
        memory.embeddings.set(KIM, narrow.url, "narrow-1"),
        memory.embeddings.set(KIM, wide.url, "wide-1"),
        return_exceptions=True,
    )
    for report, model in zip(told, ("narrow-1", "wide-1"), strict=True):
        if isinstance(report, Conflict):
            assert report.code == "embedding_settings_changed"
        else:
            assert isinstance(report, Reembedded)
            assert report.model == model
    assert any(isinstance(report, Reembedded) for report in told)


async def test_clearing_a_change_that_never_came_to_its_end_drops_it(
    memory: MemoryService, narrow: Endpoint
) -> None:
    texts = [f"Shelf number {n} holds the {n * 7} blue folders" for n in range(100)]
    await memory.add_many(KIM, [Draft(text) for text in texts])
    narrow.before = lambda sent: stop(narrow) if texts[50] in sent else None
    with pytest.raises(EmbeddingError):
        await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    report = await memory.embeddings.clear(KIM)
    assert report.rows == 0
    shown = await memory.embeddings.get(KIM)
    assert (shown.own, shown.changing) == (None, False)


async def test_an_update_whose_vector_is_of_the_model_before_is_refused(
    memory: MemoryService, narrow: Endpoint
) -> None:
    verdict = await memory.add_explicit_memory(KIM, FACTS[0])
    changes = memory._parts.changes
    prepared = await changes._next(
        KIM, await memory.get(KIM, verdict.id), Draft("The canoe lies under the bridge")
    )
    await memory.embeddings.set(KIM, narrow.url, "narrow-1")
    async with memory._parts.deployment.database.transaction(KIM) as tx:
        place, _ = await memory._parts.items.hold(tx, KIM, verdict.id, "edit")  # type: ignore[arg-type]
        with pytest.raises(Conflict) as caught:
            await changes._apply(place, prepared)  # type: ignore[arg-type]
    assert caught.value.code == "embedding_model_switched"
