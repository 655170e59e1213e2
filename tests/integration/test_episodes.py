"""Does an agent go on where it stopped: after a refresh, a question, an error, from an earlier point?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import psycopg
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
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from conftest import Server
from mnemic.episodic.episodes import Episodes
from mnemic.errors import (
    Conflict,
    ConsentRequired,
    InvalidInput,
    NotFound,
    PermissionDenied,
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
async def episodes(settings: Settings) -> AsyncIterator[Episodes]:
    async with opened(settings) as (made, _):
        yield made


async def stopped(episodes: Episodes, actor: Actor = KIM, thread: str = "t1") -> Any:
    """Let the mailer come to its question, and return it."""
    graph = mailer(episodes.checkpointer())
    await graph.ainvoke({"messages": [("user", "Write to Ann 写信")]}, config(actor, thread))
    return graph


# ---- who asks


async def test_a_config_without_a_user_is_refused_and_nothing_is_written(
    episodes: Episodes,
) -> None:
    graph = counter(episodes.checkpointer())
    with pytest.raises(InvalidInput) as refused:
        await graph.ainvoke({"notes": []}, {"configurable": {"thread_id": "t1"}})
    assert refused.value.code == "user_required"
    assert await episodes.threads(KIM) == ()


@pytest.mark.parametrize(
    ("named", "code"),
    [
        ({"user_id": "ki\u206am", "thread_id": "t"}, "invalid_id"),
        ({"user_id": "kim", "thread_id": "t\0"}, "invalid_id"),
        ({"user_id": "kim", "thread_id": ""}, "invalid_id"),
        ({"user_id": 7, "thread_id": "t"}, "invalid_id"),
        ({"user_id": "kim"}, "thread_required"),
        ({"user_id": "kim", "thread_id": "t", "lease_token": "mine"}, "invalid_lease"),
        ({"user_id": "kim", "thread_id": "t", "checkpoint_id": "c\0"}, "invalid_id"),
        ({"user_id": "kim", "thread_id": "t", "checkpoint_id": 7}, "invalid_id"),
        ({"user_id": "kim", "thread_id": "t", "checkpoint_ns": "\ud800"}, "invalid_id"),
    ],
)
async def test_a_config_that_names_nobody_or_nothing_is_refused(
    named: dict[str, Any], code: str, episodes: Episodes
) -> None:
    saver = episodes.checkpointer()
    with pytest.raises(InvalidInput) as refused:
        await saver.aget_tuple({"configurable": named})
    assert refused.value.code == code


@pytest.mark.parametrize("bad", ["x\0", "\ud800", 7.5, b"x", {"a": 1}, ["a"]])
async def test_what_cannot_be_meant_is_refused_by_its_name_and_nothing_is_changed(
    bad: Any, episodes: Episodes
) -> None:
    await counter(episodes.checkpointer()).ainvoke({"notes": []}, config(KIM))
    at = (await episodes.resume(KIM)).checkpoint_id
    saver = episodes.checkpointer()

    async def listed(**more: Any) -> None:
        _ = [one async for one in saver.alist(config(KIM), **more)]

    for call, code in (
        (lambda: episodes.state(KIM, "t1", bad), "invalid_id"),
        (lambda: episodes.history(KIM, "t1", before=bad), "invalid_id"),
        (lambda: episodes.fork(KIM, "t1", bad), "invalid_id"),
        (lambda: episodes.fork(KIM, "t1", bad, into="t2"), "invalid_id"),
        (lambda: episodes.threads(KIM, session_id=bad), "invalid_id"),
        (lambda: episodes.pending_approvals(KIM, bad), "invalid_id"),
        (lambda: episodes.approve(KIM, bad), "unknown_approval"),
        (lambda: episodes.lease(KIM, "t1", token=bad), "invalid_lease"),
        (lambda: episodes.renew(KIM, bad), "invalid_lease"),
        (lambda: episodes.release(KIM, bad), "invalid_lease"),
        (lambda: episodes.archive(KIM, "t1", older_than=bad), "older_than_out_of_range"),
        (lambda: listed(limit=bad), "limit_out_of_range"),
        (lambda: listed(before={"configurable": {"checkpoint_id": bad}}), "invalid_id"),
    ):
        with pytest.raises((InvalidInput, NotFound)) as refused:
            await call()
        assert refused.value.code == code
    assert (await episodes.resume(KIM)).checkpoint_id == at
    assert [one.thread_id for one in await episodes.threads(KIM)] == ["t1"]


async def test_numbers_out_of_range_and_text_for_a_list_are_refused(episodes: Episodes) -> None:
    await counter(episodes.checkpointer()).ainvoke({"notes": []}, config(KIM))
    saver = episodes.checkpointer()
    for age in (timedelta.max, timedelta(-1)):
        with pytest.raises(InvalidInput, match="older_than_out_of_range"):
            await episodes.archive(KIM, "t1", older_than=age)
    with pytest.raises(InvalidInput, match="limit_out_of_range"):
        _ = [one async for one in saver.alist(config(KIM), limit=-1)]
    for runs in ("run", 7):
        given: Any = runs
        with pytest.raises(InvalidInput, match="run_ids_text"):
            await episodes.delete_runs(KIM, given)


async def test_metadata_that_no_encoding_has_is_kept_and_found_and_no_filter_breaks_a_list(
    episodes: Episodes,
) -> None:
    saver = episodes.checkpointer()
    odd = config(KIM) | {"metadata": {"said": "half \ud800", "more": "nul \0"}}
    await counter(saver).ainvoke({"notes": []}, odd)

    async def found(searched: Any) -> int:
        return len([one async for one in saver.alist(config(KIM), filter=searched)])

    assert await found({"said": "half \ud800"}) == 3
    assert await found({"said": "half"}) == 0
    deep: list[Any] = []
    for _ in range(3_000):
        deep = [deep]
    for searched in (
        {"step": float("nan")}, {"step": object()}, {"run_id": "\0"}, {"run_id": "\ud800"},
        {"said": deep}, {"said": {(1, 2): 3}}, {3: 4}, "said",
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match="invalid_filter"):
            await found(searched)
    with pytest.raises(InvalidInput, match="invalid_metadata"):
        await counter(saver).ainvoke({"notes": []}, config(KIM, run_id="\ud800"))


async def test_a_checkpointer_for_one_user_serves_no_other(episodes: Episodes) -> None:
    graph = counter(episodes.checkpointer(KIM))
    await graph.ainvoke({"notes": []}, {"configurable": {"thread_id": "t1"}})
    with pytest.raises(PermissionDenied) as refused:
        await graph.ainvoke({"notes": []}, config(LEE))
    assert refused.value.code == "other_user"
    assert [one.thread_id for one in await episodes.threads(KIM)] == ["t1"]


async def test_two_users_have_a_thread_of_the_same_name_each(episodes: Episodes) -> None:
    graph = counter(episodes.checkpointer())
    for actor, mood in ((KIM, "glad"), (LEE, "sad")):
        await graph.ainvoke({"notes": [], "mood": mood}, config(actor))
    assert (await episodes.resume(KIM)).state["mood"] == "glad"
    assert (await episodes.resume(LEE)).state["mood"] == "sad"
    await episodes.delete_thread(LEE, "t1")
    assert (await episodes.resume(KIM)).state["mood"] == "glad"
    with pytest.raises(NotFound):
        await episodes.resume(LEE)


async def test_who_refused_to_be_remembered_leaves_no_checkpoint(settings: Settings) -> None:
    async with opened(settings) as (episodes, deployment):
        graph = counter(episodes.checkpointer())
        await graph.ainvoke({"notes": []}, config(KIM))
        async with deployment.database.system() as tx:
            await tx.one("select set_config('mnemic.scopes', 'user:kim', true)")
            await tx.run(
                "insert into consent_log (scope_key, id, purpose, state, via)"
                " values ('user:kim', gen_random_uuid(), 'remember', 'refused', 'app')"
            )
            assert await tx.run("update app_user set remember = 'refused'") == 1
        before = await _rows(deployment)
        for call in (
            graph.ainvoke({"notes": []}, config(KIM, "t2")),
            graph.aget_state(config(KIM)),
            episodes.resume(KIM),
            episodes.pending_approvals(KIM),
            episodes.history(KIM, "t1"),
        ):
            with pytest.raises(ConsentRequired):
                await call
        assert await _rows(deployment) == before


async def _rows(deployment: Any) -> Any:
    async with deployment.database.system() as tx:
        await tx.one("select set_config('mnemic.scopes', 'user:kim', true)")
        return await tx.one("select count(*) as n from checkpoints")


# ---- a refresh


async def test_a_page_that_is_loaded_again_shows_all_from_one_row(episodes: Episodes) -> None:
    await stopped(episodes)
    episode = await episodes.resume(KIM)
    assert (episode.status, episode.next, episode.thread_id) == ("waiting", ("ask",), "t1")
    assert [one["role"] for one in episode.messages] == ["user", "assistant"]
    assert episode.messages[0]["content"] == "Write to Ann 写信"
    assert episode.todo_list[0]["content"] == "send the letter"
    (call,) = episode.pending_calls
    assert (call.name, call.arguments) == ("send_mail", {"to": "ann"})
    (approval,) = episode.approvals
    assert approval.actions[0]["name"] == "send_mail"
    assert approval.session_id == "s1"


async def test_a_session_without_a_thread_and_one_of_another_are_not_there(
    episodes: Episodes,
) -> None:
    await stopped(episodes)
    for actor in (Actor("kim", session="s2"), LEE, Actor("nobody", session="s1")):
        with pytest.raises(NotFound) as unknown:
            await episodes.resume(actor)
        assert unknown.value.code == "unknown_thread"
    with pytest.raises(InvalidInput) as refused:
        await episodes.resume(Actor("kim"))
    assert refused.value.code == "session_required"


async def test_a_thread_without_a_session_is_its_own(episodes: Episodes) -> None:
    graph = counter(episodes.checkpointer())
    await graph.ainvoke({"notes": []}, {"configurable": {"user_id": "kim", "thread_id": "alone"}})
    assert (await episodes.resume(Actor("kim"), "alone")).status == "done"


async def test_a_session_that_ended_takes_nothing_more(settings: Settings) -> None:
    async with opened(settings) as (episodes, deployment):
        graph = await stopped(episodes)
        (approval,) = await episodes.pending_approvals(KIM)
        async with deployment.database.transaction(KIM) as tx:
            await tx.run(
                "insert into session (scope_key, session_id, user_id) values"
                " ('session:kim/s1', 's1', 'kim')"
            )
            await tx.run("update session set closed_at = now()")
        before = await episodes.history(KIM, "t1")
        for call in (
            graph.ainvoke(None, config(KIM)),
            episodes.resume(KIM),
            episodes.approve(KIM, approval.id),
        ):
            with pytest.raises(Conflict) as refused:
                await call
            assert refused.value.code == "session_closed"
        assert await episodes.history(KIM, "t1") == before


# ---- a person decides


@pytest.mark.parametrize(
    ("decide", "said", "sent"),
    [
        (lambda e, i: e.approve(KIM, i), "approve", True),
        (lambda e, i: e.edit(KIM, i, {"to": "bob"}), "edit bob", True),
        (lambda e, i: e.reject(KIM, i, "not today"), "reject not today", False),
    ],
)
async def test_a_decision_is_what_the_run_goes_on_with(
    decide: Any, said: str, sent: bool, episodes: Episodes
) -> None:
    await stopped(episodes)
    (approval,) = await episodes.pending_approvals(KIM)
    decided = await decide(episodes, approval.id)
    assert (decided.status, decided.approvals) == ("ready", ())
    assert await episodes.pending_approvals(KIM) == ()
    # in another graph, as after a restart
    state = await mailer(episodes.checkpointer()).ainvoke(None, decided.config)
    assert (state["messages"][-1].content, state["sent"]) == (said, sent)
    episode = await episodes.resume(KIM)
    assert (episode.status, episode.pending_calls) == ("done", ())


async def test_langgraphs_own_command_settles_a_question_too(episodes: Episodes) -> None:
    graph = await stopped(episodes)
    answer = {"decisions": [{"type": "approve"}]}
    await graph.ainvoke(Command(resume=answer), config(KIM))
    assert await episodes.pending_approvals(KIM) == ()
    assert (await episodes.resume(KIM)).status == "done"


async def test_a_question_is_decided_once_and_by_its_own_user(episodes: Episodes) -> None:
    await stopped(episodes)
    (approval,) = await episodes.pending_approvals(KIM)
    for stranger in (LEE, Actor("nobody")):
        with pytest.raises(NotFound) as unknown:
            await episodes.approve(stranger, approval.id)
        assert unknown.value.code == "unknown_approval"
    results = await asyncio.gather(
        *(episodes.approve(KIM, approval.id) for _ in range(4)), return_exceptions=True
    )
    codes = sorted(getattr(one, "code", "done") for one in results)
    assert codes == ["approval_decided"] * 3 + ["done"]
    with pytest.raises(InvalidInput):
        await episodes.edit(KIM, (await _again(episodes)).id, "no mapping")


async def _again(episodes: Episodes) -> Any:
    await stopped(episodes, KIM, "t2")
    (approval,) = await episodes.pending_approvals(KIM)
    return approval


def asker(checkpointer: Any, *names: str, deeper: bool = False) -> Any:
    """A graph whose one node asks a question after another; ``deeper`` puts it into a subgraph."""

    def ask(state: State) -> dict[str, Any]:
        return {"notes": [interrupt({"question": name}) for name in names]}

    inner = StateGraph(State)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    inner.add_edge("ask", END)
    if not deeper:
        return inner.compile(checkpointer=checkpointer)
    outer = StateGraph(State)
    outer.add_node("inner", inner.compile())
    outer.add_edge(START, "inner")
    outer.add_edge("inner", END)
    return outer.compile(checkpointer=checkpointer)


@pytest.mark.parametrize("deeper", [False, True])
async def test_questions_one_after_another_get_their_own_answers(
    deeper: bool, episodes: Episodes
) -> None:
    graph = asker(episodes.checkpointer(), "first", "second", deeper=deeper)
    await graph.ainvoke({"mood": "glad"}, config(KIM))
    for name in ("first", "second"):
        (approval,) = await episodes.pending_approvals(KIM)
        assert approval.question == {"question": name}
        decided = await episodes.answer(KIM, approval.id, f"answer to {name}")
        state = await graph.ainvoke(None, decided.config)
    assert state["notes"] == ["answer to first", "answer to second"]
    assert (await episodes.resume(KIM)).status == "done"


@pytest.mark.parametrize(
    ("decide", "answer"),
    [
        (lambda e, i: e.approve(KIM, i), True),
        (lambda e, i: e.approve(KIM, i, {"room": 4}), {"room": 4}),
        (lambda e, i: e.edit(KIM, i, "later"), "later"),
        (lambda e, i: e.reject(KIM, i), False),
        (lambda e, i: e.reject(KIM, i, "no"), {"type": "reject", "message": "no"}),
    ],
)
async def test_a_question_that_is_not_about_tools_gets_a_plain_answer(
    decide: Any, answer: object, episodes: Episodes
) -> None:
    graph = asker(episodes.checkpointer(), "which room?")
    await graph.ainvoke({"mood": "glad"}, config(KIM))
    (approval,) = await episodes.pending_approvals(KIM)
    decided = await decide(episodes, approval.id)
    assert (await graph.ainvoke(None, decided.config))["notes"] == [answer]


async def test_of_two_questions_at_once_each_is_decided_alone(episodes: Episodes) -> None:
    def asking(name: str) -> Any:
        return lambda state: {name: interrupt(name)}

    graph = StateGraph(State)
    for name in ("mood", "age"):
        graph.add_node(f"ask_{name}", asking(name))
        graph.add_edge(START, f"ask_{name}")
    compiled = graph.compile(checkpointer=episodes.checkpointer())
    await compiled.ainvoke({"notes": []}, config(KIM))
    first, second = await episodes.pending_approvals(KIM)
    decided = await episodes.answer(KIM, first.id, "one")
    assert [one.id for one in decided.approvals] == [second.id]
    await compiled.ainvoke(None, decided.config)
    (left,) = await episodes.pending_approvals(KIM)
    assert left.question == second.question
    decided = await episodes.answer(KIM, left.id, "two")
    state = await compiled.ainvoke(None, decided.config)
    assert {state[str(first.question)], state[str(second.question)]} == {"one", "two"}


# ---- an error, and an earlier point


async def test_what_failed_is_run_again_and_what_was_done_is_not(episodes: Episodes) -> None:
    runs: list[str] = []

    def once(state: State) -> dict[str, Any]:
        runs.append("once")
        return {"mood": "glad"}

    def flaky(state: State) -> dict[str, Any]:
        runs.append("flaky")
        if runs.count("flaky") == 1:
            raise TimeoutError("the mail server did not answer")
        return {"sent": True}

    graph = StateGraph(State)
    graph.add_node("once", once)
    graph.add_node("flaky", flaky)
    graph.add_edge(START, "once")
    graph.add_edge("once", "flaky")
    compiled = graph.compile(checkpointer=episodes.checkpointer())
    with pytest.raises(TimeoutError):
        await compiled.ainvoke({"notes": []}, config(KIM))
    episode = await episodes.resume(KIM)
    assert (episode.status, episode.next) == ("failed", ("flaky",))
    assert "did not answer" in str(episode.failure)
    again = await episodes.retry(KIM, "t1")
    state = await compiled.ainvoke(None, again)
    assert (state["sent"], runs) == (True, ["once", "flaky", "flaky"])
    with pytest.raises(Conflict) as refused:
        await episodes.retry(KIM, "t1")
    assert refused.value.code == "nothing_failed"


async def runs_of(episodes: Episodes, n: int, thread: str = "t1") -> Any:
    graph = counter(episodes.checkpointer())
    for _ in range(n):
        await graph.ainvoke({"mood": "glad"}, config(KIM, thread))
    return graph


async def test_history_tells_each_checkpoint_and_its_state(episodes: Episodes) -> None:
    await runs_of(episodes, 2)
    steps = await episodes.history(KIM, "t1")
    assert [one.step for one in steps] == [4, 3, 2, 1, 0, -1]
    assert [one.parent_id for one in steps[:-1]] == [one.checkpoint_id for one in steps[1:]]
    assert [one.source for one in steps].count("input") == 2
    state = await episodes.state(KIM, "t1", steps[3].checkpoint_id)
    assert state["notes"] == ["note 0"]
    page = await episodes.history(KIM, "t1", limit=2, before=steps[1].checkpoint_id)
    assert page == steps[2:4]
    with pytest.raises(NotFound):
        await episodes.history(LEE, "t1")


async def test_going_on_from_an_earlier_point_is_said_aloud(episodes: Episodes) -> None:
    graph = await runs_of(episodes, 2)
    steps = await episodes.history(KIM, "t1")
    early = next(one for one in steps if one.step == 1)
    with pytest.raises(Conflict) as refused:
        await graph.ainvoke({"mood": "sad"}, early.config)
    assert refused.value.code == "checkpoint_behind"
    assert len(await episodes.history(KIM, "t1")) == len(steps)
    forked = await episodes.fork(KIM, "t1", early.checkpoint_id)
    assert (await episodes.resume(KIM)).state["notes"] == ["note 0"]
    state = await graph.ainvoke({"mood": "sad"}, forked)
    assert (state["notes"], state["mood"]) == (["note 0", "note 1"], "sad")
    assert {one.checkpoint_id for one in steps} < {
        one.checkpoint_id for one in await episodes.history(KIM, "t1")
    }


async def test_a_fork_into_a_new_thread_takes_open_questions_along(episodes: Episodes) -> None:
    graph = await stopped(episodes)
    at = (await episodes.resume(KIM)).checkpoint_id
    forked = await episodes.fork(KIM, "t1", at, into="t2")
    waiting = await episodes.pending_approvals(KIM)
    assert {one.thread_id for one in waiting} == {"t1", "t2"}
    answer = {"decisions": [{"type": "approve"}]}
    assert (await graph.ainvoke(Command(resume=answer), forked))["sent"]
    assert (await episodes.thread(KIM, "t1")).status == "waiting"
    for place, code in (("t2", "thread_exists"), ("t9", "unknown_checkpoint")):
        wrong = at if place == "t2" else "1f000000-0000-6000-8000-000000000000"
        with pytest.raises((Conflict, NotFound)) as refused:
            await episodes.fork(KIM, "t1", wrong, into=place)
        assert refused.value.code == code
    assert {one.thread_id for one in await episodes.threads(KIM)} == {"t1", "t2"}


async def test_a_question_and_its_copy_in_a_fork_are_decided_each_for_itself(
    episodes: Episodes,
) -> None:
    await stopped(episodes)
    at = (await episodes.resume(KIM)).checkpoint_id
    forked = await episodes.fork(KIM, "t1", at, into="t2")
    again = await episodes.fork(KIM, "t2", at, into="t3")
    waiting = {one.thread_id: one.id for one in await episodes.pending_approvals(KIM)}
    assert len(set(waiting.values())) == 3
    assert (await episodes.reject(KIM, waiting["t2"], "no")).thread_id == "t2"
    left = {one.thread_id for one in await episodes.pending_approvals(KIM)}
    assert left == {"t1", "t3"}
    with pytest.raises(Conflict, match="approval_decided"):
        await episodes.approve(KIM, waiting["t2"])
    assert (await episodes.approve(KIM, waiting["t3"])).thread_id == "t3"
    assert (await episodes.approve(KIM, waiting["t1"])).thread_id == "t1"
    graph = mailer(episodes.checkpointer())
    assert [(await graph.ainvoke(None, at))["sent"] for at in (config(KIM), forked, again)] == [
        True,
        False,
        True,
    ]


async def test_forks_into_one_empty_thread_at_once_are_one_fork(episodes: Episodes) -> None:
    graph = counter(episodes.checkpointer())
    for thread in ("t1", "t2"):
        await graph.ainvoke({"notes": [thread]}, config(KIM, thread))
    newest = {thread: (await episodes.thread(KIM, thread)).checkpoint_id for thread in ("t1", "t2")}
    for n in range(5):
        lease = await episodes.lease(KIM, f"into {n}")
        with pytest.raises(Conflict, match="thread_leased"):
            await episodes.fork(KIM, "t1", newest["t1"], into=f"into {n}")
        await episodes.release(KIM, lease)
        done = await asyncio.gather(
            *(episodes.fork(KIM, thread, newest[thread], into=f"into {n}") for thread in newest),
            return_exceptions=True,
        )
        assert sorted(getattr(one, "code", "forked") for one in done) == ["forked", "thread_exists"]
        steps = await episodes.history(KIM, f"into {n}")
        assert len(steps) == 3


# ---- two runs at once


async def test_runs_and_deletions_at_once_leave_nothing_behind_and_never_lock_each_other(
    episodes: Episodes, settings: Settings
) -> None:
    graph = counter(episodes.checkpointer())
    heard: set[str] = set()
    for _ in range(12):
        works: list[Any] = []
        for n in range(3):
            thread = f"t{n}"
            works += [graph.ainvoke({"notes": []}, config(KIM, thread)) for _ in range(3)]
            works += [episodes.delete_thread(KIM, thread) for _ in range(3)]
        done = await asyncio.gather(*works, return_exceptions=True)
        heard |= {getattr(one, "code", str(one)) for one in done if isinstance(one, Exception)}
    assert heard <= {"unknown_thread", "thread_gone", "checkpoint_behind"}
    await episodes.delete_all(KIM)
    assert _left(settings) == 0


async def test_writes_that_come_while_their_thread_is_deleted_go_with_it(
    episodes: Episodes, settings: Settings
) -> None:
    saver = episodes.checkpointer()
    at = config(KIM, checkpoint_ns="", checkpoint_id=f"{1:032x}")
    for _ in range(40):
        await saver.aput_writes(at, [("notes", "a")], "first")
        await asyncio.gather(
            *(saver.aput_writes(at, [("notes", "b")], f"task {n}") for n in range(4)),
            episodes.delete_thread(KIM, "t1"),
        )
        await episodes.delete_all(KIM)
        assert _left(settings) == 0


def _left(settings: Settings) -> int:
    """Return how many rows of checkpoints there are, whoever's."""
    assert settings.migration_url is not None
    with psycopg.connect(settings.migration_url.get_secret_value()) as conn:
        conn.execute("select set_config('search_path', %s, false)", [settings.db_schema])
        row = conn.execute(
            "select (select count(*) from checkpoints) + (select count(*) from checkpoint_blobs)"
            " + (select count(*) from checkpoint_writes)"
        ).fetchone()
    return 0 if row is None else int(row[0])


async def test_of_two_runs_that_began_at_one_point_one_is_told_so(episodes: Episodes) -> None:
    await runs_of(episodes, 1)
    together = asyncio.Barrier(2)

    async def slow(state: State) -> dict[str, Any]:
        await together.wait()
        return {"notes": [*state["notes"], "more"]}

    graph = StateGraph(State)
    graph.add_node("note", slow)
    graph.add_edge(START, "note")
    compiled = graph.compile(checkpointer=episodes.checkpointer())
    results = await asyncio.gather(
        *(compiled.ainvoke({"mood": "glad"}, config(KIM), durability="exit") for _ in range(2)),
        return_exceptions=True,
    )
    assert sorted(getattr(one, "code", "done") for one in results) == ["checkpoint_behind", "done"]
    assert (await episodes.resume(KIM)).state["notes"] == ["note 0", "more"]


async def test_a_lease_keeps_other_runs_out_until_it_is_over(episodes: Episodes) -> None:
    graph = counter(episodes.checkpointer())
    lease = await episodes.lease(KIM, "t1", seconds=60)
    for call in (graph.ainvoke({"notes": []}, config(KIM)), episodes.lease(KIM, "t1")):
        with pytest.raises(Conflict) as refused:
            await call
        assert refused.value.code == "thread_leased"
    await graph.ainvoke({"notes": []}, lease.config)
    later = await episodes.renew(KIM, lease, seconds=600)
    assert later.until > lease.until
    await episodes.release(KIM, later)
    await graph.ainvoke({"notes": []}, config(KIM))
    with pytest.raises(Conflict) as refused:
        await episodes.renew(KIM, lease)
    assert refused.value.code == "lease_lost"
    assert "lease_token" not in str((await graph.aget_state(config(KIM))).metadata)


async def test_deleting_takes_a_thread_a_run_or_all(episodes: Episodes) -> None:
    graph = await runs_of(episodes, 1, "a")
    await runs_of(episodes, 1, "b")
    named = config(KIM, "a") | {"metadata": {"run_id": "run-2"}}
    await graph.ainvoke({"mood": "sad"}, named)
    assert (await episodes.thread(KIM, "a")).state["mood"] == "sad"
    assert await episodes.delete_runs(KIM, ["run-2", "run-9"]) == 3
    assert (await episodes.thread(KIM, "a")).state["mood"] == "glad"
    assert (await graph.ainvoke({"mood": "calm"}, config(KIM, "a")))["notes"][-1] == "note 1"
    await episodes.delete_thread(KIM, "a")
    with pytest.raises(NotFound):
        await episodes.delete_thread(KIM, "a")
    assert await episodes.delete_all(LEE) == 0
    assert await episodes.delete_all(KIM) == 1
    assert await episodes.threads(KIM) == ()
