"""What went wrong with checkpoints elsewhere, does it go wrong here?"""

from __future__ import annotations

import asyncio
import dataclasses
import sys
import time
from collections.abc import AsyncIterator, Sequence
from importlib.metadata import version
from types import ModuleType
from typing import Annotated, Any, TypedDict

import pytest
from episode_world import (
    KIM,
    LEE,
    State,
    config,
    counter,
    emptied,
    mailer,
    opened,
    shared_schema,
)
from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt
from pydantic import BaseModel

from conftest import Connect, Server
from lost_sessions import end_sessions, sessions_of
from mnemic.episodic.episodes import Episodes
from mnemic.errors import (
    Conflict,
    InvalidInput,
    MnemicError,
    NotFound,
    StorageError,
    StorageUnavailable,
)
from mnemic.model import Actor
from mnemic.settings import Settings


@pytest.fixture(scope="module")
def shared(server: Server) -> Settings:
    return shared_schema(server)


@pytest.fixture
def settings(shared: Settings) -> Settings:
    return emptied(shared)


@pytest.fixture
def schema(settings: Settings) -> str:
    return settings.db_schema


@pytest.fixture
async def episodes(settings: Settings) -> AsyncIterator[Episodes]:
    async with opened(settings) as (made, _):
        yield made


class Trip(BaseModel):
    """A model of an application, with keys that are no text."""

    stops: dict[int, str]


async def test_pf_031_a_nul_in_state_metadata_and_result_is_kept(episodes: Episodes) -> None:
    graph = counter(episodes.checkpointer())
    text = "Acme moved\0 to Shenzhen"
    state = {"mood": text, "notes": [text], "todos": [{"a": {"b": [text]}}]}
    named = config(KIM) | {"metadata": {"note": text, "deep": text * 2}}
    await graph.ainvoke(state, named)
    episode = await episodes.resume(KIM)
    assert episode.status == "done"
    assert (episode.state["mood"], episode.state["todos"]) == (text, state["todos"])
    assert episode.state["notes"][0] == text
    kept = await episodes.checkpointer().aget_tuple(config(KIM))
    assert kept is not None
    plain = text.replace("\0", "")  # LangGraph takes it out of metadata
    assert (kept.metadata.get("note"), kept.metadata.get("deep")) == (plain, plain * 2)


async def test_pf_036_chinese_emoji_and_accents_come_back_as_they_were(episodes: Episodes) -> None:
    text = "你好，世界 👨‍👩‍👧 naïve Zürich المؤسسة"
    graph = counter(episodes.checkpointer())
    await graph.ainvoke({"mood": text, "notes": [text]}, config(KIM, "谈话/一"))
    thread = await episodes.thread(KIM, "谈话/一")
    assert (thread.state["mood"], thread.state["notes"][0]) == (text, text)
    assert thread.thread_id == "谈话/一"


async def test_pf_111_a_thread_that_lost_some_of_its_rows_says_that_it_cannot(
    episodes: Episodes, connect: Connect
) -> None:
    graph = counter(episodes.checkpointer())
    await graph.ainvoke({"mood": "glad"}, config(KIM))
    await graph.ainvoke({"age": 4}, config(KIM))
    owner = await connect("owner")
    newest = await owner.execute(
        "select max(version) as v from checkpoint_blobs where channel = 'notes'"
    )
    await owner.execute(
        "delete from checkpoint_blobs where channel = 'notes' and version = %s",
        [(await newest.fetchone())["v"]],
    )
    with pytest.raises(StorageError) as told:
        await graph.ainvoke({"age": 5}, config(KIM))
    assert told.value.code == "checkpoint_incomplete"
    # an earlier one is whole, is found, and can be gone on from
    steps = await episodes.history(KIM, "t1")
    assert [one.step for one in steps if one.failure] == [4]
    whole = next(one for one in steps if one.step == 1)
    forked = await episodes.fork(KIM, "t1", whole.checkpoint_id)
    assert (await graph.ainvoke({"age": 5}, forked))["notes"] == ["note 0", "note 1"]


async def test_pf_112_pruning_bounds_a_long_thread_and_deletion_leaves_nothing(
    episodes: Episodes, connect: Connect
) -> None:
    graph = counter(episodes.checkpointer())
    for turn in range(20):
        await graph.ainvoke({"age": turn}, config(KIM))
    assert await episodes.prune(KIM, "t1", keep=3) == 57
    owner = await connect("owner")
    rows = await owner.execute(
        "select (select count(*) from checkpoints) as checkpoints,"
        " (select count(*) from checkpoint_blobs) as blobs,"
        " (select count(*) from checkpoint_writes) as writes"
    )
    left = await rows.fetchone()
    assert left["checkpoints"] == 3
    assert 0 < left["blobs"] <= 30
    assert left["writes"] <= 12
    assert (await episodes.history(KIM, "t1"))[-1].parent_id is None
    state = await graph.ainvoke({"age": 99}, config(KIM))
    assert state["notes"][-1] == "note 20"
    await episodes.delete_thread(KIM, "t1")
    for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "thread"):
        row = await (await owner.execute(f"select count(*) as n from {table}")).fetchone()
        assert row["n"] == 0, table


def applications_module(*classes: type) -> ModuleType:
    """Return a module of an application, with these classes in it, that can be imported."""
    module = ModuleType("an_application")
    for one in classes:
        one.__module__ = module.__name__
        setattr(module, one.__name__, one)
    return module


async def test_pf_113_a_renamed_class_is_an_error_that_names_it(
    episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclasses.dataclass
    class Ticket:
        number: int

    @dataclasses.dataclass
    class Envelope:
        tickets: list[Any]

    module = applications_module(Ticket, Envelope)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    allowed = [Ticket, Envelope]

    def graph(*, allow: list[type]) -> Any:
        return counter(episodes.checkpointer(allow=allow))

    held = {"notes": [], "todos": [{"ticket": Ticket(4)}, {"deep": Envelope([Ticket(5)])}]}
    await graph(allow=allowed).ainvoke(held, config(KIM))
    state = (await graph(allow=allowed).aget_state(config(KIM))).values
    assert state["todos"] == held["todos"]
    with pytest.raises(StorageError) as told:
        await graph(allow=[]).aget_state(config(KIM))
    assert told.value.code == "checkpoint_type_unknown"
    assert "an_application.Ticket" in str(told.value)
    for name in ("Ticket", "Envelope"):
        monkeypatch.delattr(module, name)
        with pytest.raises(StorageError) as told:
            await graph(allow=allowed).ainvoke({"age": 1}, config(KIM))
        assert f"an_application.{name if name == 'Ticket' else 'Ticket'}" in str(told.value)


async def test_pf_114_integer_keys_stay_integers(
    episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    saver = episodes.checkpointer(allow=[Trip])
    held = {"notes": [], "todos": [{"trip": Trip(stops={1: "a", 2: "b"}), 3: "c"}]}
    await counter(saver).ainvoke(held, config(KIM))
    state = (await counter(saver).aget_state(config(KIM))).values
    assert state["todos"] == held["todos"]
    assert list(state["todos"][0]["trip"].stops) == [1, 2]


async def test_pf_115_what_looks_like_an_object_comes_back_as_plain_data(
    episodes: Episodes,
) -> None:
    envelopes: list[dict[str, Any]] = [
        {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["true"]},
        {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "AIMessage"]},
    ]
    graph = counter(episodes.checkpointer())
    await graph.ainvoke({"notes": [], "todos": envelopes}, config(KIM))
    assert (await graph.aget_state(config(KIM))).values["todos"] == envelopes
    assert not episodes.checkpointer().serde.pickle_fallback
    fixed = tuple(map(int, version("langgraph-checkpoint").split(".")[:2]))
    assert fixed >= (4, 1), "CVE-2026-28277 and CVE-2026-27794 are fixed from there on"


class Unkept:
    """A value that no checkpoint can hold."""


async def test_a_value_that_cannot_be_kept_is_refused_by_its_type(episodes: Episodes) -> None:
    graph = counter(episodes.checkpointer())
    with pytest.raises(InvalidInput) as refused:
        await graph.ainvoke({"todos": [{"a": Unkept()}]}, config(KIM))
    assert refused.value.code == "value_not_serializable"
    assert "Unkept" in str(refused.value)


async def test_pf_116_a_connection_that_died_between_two_requests_does_not_show(
    episodes: Episodes, connect: Connect
) -> None:
    graph = counter(episodes.checkpointer())
    await graph.ainvoke({"age": 1}, config(KIM))
    checkpoints = episodes._pool._database
    assert checkpoints is not None
    for opened_pool in (checkpoints, episodes._database):
        await end_sessions(connect, sessions_of(opened_pool))
    assert (await graph.ainvoke({"age": 2}, config(KIM)))["notes"] == ["note 0", "note 1"]
    assert (await episodes.resume(KIM)).state["age"] == 2


async def test_pf_117_twenty_threads_at_once_and_a_saver_that_outlives_its_memory(
    settings: Settings,
) -> None:
    async with opened(settings) as (episodes, _):
        saver = episodes.checkpointer()
        graph = counter(saver)
        await asyncio.gather(
            *(graph.ainvoke({"age": n}, config(KIM, f"thread {n}")) for n in range(20))
        )
        threads = await episodes.threads(KIM)
        assert {one.thread_id for one in threads} == {f"thread {n}" for n in range(20)}
        assert {one.status for one in threads} == {"done"}
    with pytest.raises(StorageUnavailable) as closed:
        await saver.aget_tuple(config(KIM))
    assert closed.value.code == "service_closed"


async def test_a_thread_that_six_tasks_begin_at_once_is_one_thread(episodes: Episodes) -> None:
    saver = episodes.checkpointer()

    async def begin(n: int, task: int) -> None:
        at = config(KIM, f"t{n}", checkpoint_ns="", checkpoint_id=f"{n:032x}")
        await saver.aput_writes(at, [("notes", [f"note {task}"])], f"task {task}")

    for n in range(150):
        await asyncio.gather(*(begin(n, task) for task in range(6)))
    async with episodes._database.transaction(KIM) as tx:
        row = await tx.one(
            "select (select count(*) from thread) as threads,"
            " (select count(*) from checkpoint_writes) as writes"
        )
    assert row == {"threads": 150, "writes": 900}


async def test_pf_118_no_lock_stands_before_the_pool(server: Server, shared: Settings) -> None:
    emptied(shared)
    settings = server.settings(shared.db_schema, pool_size=10)
    async with opened(settings) as (episodes, _):
        saver = episodes.checkpointer()
        for n in range(10):
            await counter(saver).ainvoke({"age": n}, config(KIM, f"t{n}"))
        slow = type(saver).SELECT_SQL.replace(
            "from checkpoints ", "from pg_sleep(0.2), checkpoints "
        )
        assert slow != type(saver).SELECT_SQL
        saver.SELECT_SQL = slow  # type: ignore[misc]
        await asyncio.gather(*(saver.aget_tuple(config(KIM, f"t{n}")) for n in range(10)))
        began = time.monotonic()
        found = await asyncio.gather(
            *(saver.aget_tuple(config(KIM, f"t{n % 10}")) for n in range(30))
        )
        took = time.monotonic() - began
    assert all(one is not None for one in found)
    assert took < 4, "one after another it takes six seconds"


async def test_pf_120_the_tables_are_there_whole_or_not_at_all(
    episodes: Episodes, connect: Connect
) -> None:
    owner = await connect("owner")
    async with owner.transaction():
        await owner.execute("select 1")
        await episodes.checkpointer().setup()
    rows = await owner.execute(
        "select count(*) filter (where not i.indisvalid) as invalid, count(*) as n from pg_index i"
        " join pg_class c on c.oid = i.indrelid where c.relnamespace = current_schema()::regnamespace"
        " and c.relname like 'checkpoint%%'"
    )
    row = await rows.fetchone()
    assert row["invalid"] == 0 < row["n"]


def test_pf_122_two_event_loops_one_after_another_and_one_loop_from_another(
    shared: Settings,
) -> None:
    emptied(shared)
    kept: list[Any] = []

    async def talk(turn: int) -> None:
        async with opened(shared) as (episodes, _):
            graph = counter(episodes.checkpointer())
            state = await graph.ainvoke({"age": turn}, config(KIM))
            assert len(state["notes"]) == turn
            if kept:
                with pytest.raises(MnemicError):
                    await kept[0].aget_tuple(config(KIM))
            kept.append(episodes.checkpointer())

    asyncio.run(talk(1))
    asyncio.run(talk(2))
    episodes = Episodes.__new__(Episodes)
    episodes._allowed, episodes._pool, episodes._keys = (), None, None  # type: ignore[assignment]
    with pytest.raises(InvalidInput) as refused:
        episodes.checkpointer()
    assert refused.value.code == "no_event_loop"


async def test_pf_124_without_await_it_serves_other_threads_and_refuses_its_own(
    episodes: Episodes,
) -> None:
    saver = episodes.checkpointer()
    graph = counter(saver)
    seen: list[Any] = []

    def elsewhere() -> None:
        seen.append(graph.invoke({"age": 1}, config(KIM)))
        seen.append(len(list(saver.list(config(KIM)))))

    await asyncio.to_thread(elsewhere)
    assert seen[0]["notes"] == ["note 0"]
    assert seen[1] == 3
    for call in (
        lambda: saver.get_tuple(config(KIM)),
        lambda: list(saver.list(config(KIM))),
        lambda: saver.put_writes(config(KIM), [("a", 1)], "task"),
        lambda: saver.delete_thread("t1"),
        lambda: graph.invoke({"age": 1}, config(KIM)),
    ):
        with pytest.raises(InvalidInput) as refused:
            call()
        assert refused.value.code == "sync_inside_loop"
        assert "ainvoke" in str(refused.value)


async def test_pf_080_an_erased_user_resumes_nothing(settings: Settings, connect: Connect) -> None:
    async with opened(settings) as (episodes, deployment):
        graph = mailer(episodes.checkpointer())
        for actor in (KIM, LEE):
            await graph.ainvoke({"mood": "glad"}, config(actor))
        (approval,) = await episodes.pending_approvals(KIM)
        saver = episodes.checkpointer()
        begun = await saver.aget_tuple(config(KIM))
        assert begun is not None
        async with deployment.database.transaction(KIM) as tx:
            await tx.all("select * from erase_user(true)")
        deployment.keys.forget("user:kim")
        # a run that was on its way saves nothing any more
        with pytest.raises(Conflict) as refused:
            await saver.aput(begun.config, begun.checkpoint, {"source": "loop", "step": 9}, {})
        assert refused.value.code == "thread_gone"
        with pytest.raises(Conflict) as refused:
            await saver.aput_writes(begun.config, [("mood", "sad")], "task")
        assert refused.value.code == "thread_gone"
        owner = await connect("owner")
        left = await owner.execute("select from app_user where user_id = 'kim'")
        assert await left.fetchone() is None
        with pytest.raises(NotFound):
            await episodes.resume(KIM)
        with pytest.raises(NotFound):
            await episodes.approve(KIM, approval.id)
        assert (await episodes.resume(LEE)).status == "waiting"
        assert (await graph.aget_state(config(KIM))).values == {}


async def test_an_unknown_thread_and_a_checkpoint_of_a_newer_version_are_told_apart(
    episodes: Episodes, connect: Connect
) -> None:
    graph = counter(episodes.checkpointer())
    for call in (
        episodes.thread(KIM, "nowhere"),
        episodes.history(KIM, "nowhere"),
        episodes.state(KIM, "nowhere"),
        episodes.retry(KIM, "nowhere"),
        episodes.fork(KIM, "nowhere", "c", into="t2"),
        episodes.fork(KIM, "nowhere", "c"),
        episodes.delete_thread(KIM, "nowhere"),
    ):
        with pytest.raises((NotFound, Conflict)) as unknown:
            await call
        assert unknown.value.code in ("unknown_thread", "unknown_checkpoint")
    await graph.ainvoke({"age": 1}, config(KIM))
    owner = await connect("owner")
    await owner.execute("update checkpoint_blobs set type = 'flatpack' || substr(type, 8)")
    with pytest.raises(StorageError) as newer:
        await graph.ainvoke({"age": 2}, config(KIM))
    assert newer.value.code == "checkpoint_newer"
    assert len(await _ids(owner)) == 3


async def _ids(owner: Any) -> list[str]:
    rows = await owner.execute("select checkpoint_id from checkpoints")
    return [row["checkpoint_id"] for row in await rows.fetchall()]


async def test_durability_at_exit_keeps_the_question_and_its_answer(episodes: Episodes) -> None:
    graph = mailer(episodes.checkpointer())
    await graph.ainvoke({"mood": "glad"}, config(KIM), durability="exit")
    (approval,) = await episodes.pending_approvals(KIM)
    decided = await episodes.approve(KIM, approval.id)
    assert (await graph.ainvoke(None, decided.config, durability="exit"))["sent"]
    assert (await episodes.resume(Actor("kim"), "s1")).status == "done"


def joined(held: list[str] | None, new: Sequence[list[str]]) -> list[str]:
    return [*(held or []), *(one for some in new for one in some)]


class Growing(TypedDict, total=False):
    """A list of which checkpoints keep the differences."""

    lines: Annotated[list[str], DeltaChannel(joined, snapshot_frequency=3)]


@pytest.mark.filterwarnings("ignore")  # the channel says of itself that it is new
async def test_channels_that_keep_differences_are_rebuilt_and_left_whole(
    episodes: Episodes,
) -> None:
    def compiled() -> Any:
        graph = StateGraph(Growing)
        graph.add_node("line", lambda state: {"lines": ["node"]})
        graph.add_edge(START, "line")
        return graph.compile(checkpointer=episodes.checkpointer())

    for n in range(4):
        await compiled().ainvoke({"lines": [f"line {n}"]}, config(KIM))
    state = (await compiled().aget_state(config(KIM))).values
    assert state["lines"] == [text for n in range(4) for text in (f"line {n}", "node")]
    assert await episodes.archive(KIM, "t1", keep=1) == 0
    with pytest.raises(Conflict) as refused:
        await episodes.prune(KIM, "t1")
    assert refused.value.code == "delta_thread"
    forked = await episodes.fork(
        KIM, "t1", (await episodes.history(KIM, "t1"))[0].checkpoint_id, into="t2"
    )
    assert (await compiled().aget_state(forked)).values == state


async def test_sends_and_branches_that_meet_are_followed(episodes: Episodes) -> None:
    """Nodes that come next are read from the channels alone: joins and sends too."""

    def fan(state: State) -> list[Send]:
        return [Send("work", {"age": n}) for n in range(3)]

    def meet(state: State) -> dict[str, Any]:
        interrupt("all here?")
        return {"sent": True}

    graph = StateGraph(State)
    graph.add_node("left", lambda s: {"mood": "l"})
    graph.add_node("right", lambda s: {"age": 1})
    graph.add_node("work", lambda s: {})
    graph.add_node("meet", meet)
    graph.add_edge(START, "left")
    graph.add_edge(START, "right")
    graph.add_edge(["left", "right"], "meet")
    graph.add_conditional_edges("left", fan, ["work"])
    compiled = graph.compile(checkpointer=episodes.checkpointer())
    await compiled.ainvoke({"notes": []}, config(KIM))
    episode = await episodes.resume(KIM)
    assert (episode.status, set(episode.next)) == ("waiting", {"meet", "work"})
    state = await compiled.aget_state(config(KIM))
    assert set(state.next) <= set(episode.next)
