"""Does an agent of LangChain remember its user, and only its user, whatever the model says?"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from examples.scripted_model import ScriptedModel, calls, says
from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    SummarizationMiddleware,
    dynamic_prompt,
)
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from conftest import Connect
from mnemic.errors import MnemicError, StorageUnavailable
from mnemic.integrations.langchain import MemoryInjection, MemoryMiddleware, memory_tools
from mnemic.model import Actor
from mnemic.sync import SyncMemoryService

if TYPE_CHECKING:
    from mnemic.service import MemoryService
    from mnemic.settings import Settings

KIM = Actor("kim", session="s1")


def of(user: str = "kim", session: str = "s1", **more: Any) -> Any:
    return {"configurable": {"user_id": user, "session_id": session, **more}}


def said(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def tool_answers(state: dict[str, Any]) -> list[ToolMessage]:
    return [one for one in state["messages"] if isinstance(one, ToolMessage)]


@tool
def book(place: str) -> str:
    """Book a table."""
    return f"booked at {place}"


# ---- tools


async def test_tools_add_and_find_for_the_user_of_the_run(stub_memory: MemoryService) -> None:
    model = ScriptedModel(
        answers=[
            calls(
                "memory_add",
                content="The user keeps bees",
                memory_type="habit",
                quote="I keep bees",
            ),
            says("Noted."),
            calls("memory_search", query="bees", k="3"),
            says("You keep bees."),
        ]
    )
    agent = create_agent(model, memory_tools(stub_memory))
    first = await agent.ainvoke(said("By the way: I keep bees!"), of())
    told = json.loads(tool_answers(first)[0].content)
    assert told["verdict"] == "stored"
    second = await agent.ainvoke(said("What do you know of me?"), of(session="s2"))
    (hit,) = json.loads(tool_answers(second)[0].content)["hits"]
    assert (hit["content"], hit["said_by"]) == ("The user keeps bees", "user")
    assert hit["valid_from"].endswith("+00:00")
    assert (await stub_memory.list(Actor("lee"))).total == 0


async def test_the_models_arguments_never_say_whose_memory_it_is(
    stub_memory: MemoryService,
) -> None:
    lee = Actor("lee", session="s1")
    await stub_memory.add_explicit_memory(lee, "Lee keeps the lighthouse")
    forged: list[dict[str, Any]] = [
        {"user_id": "lee"},
        {
            "runtime": {
                "context": {"user_id": "lee"},
                "config": {"configurable": {"user_id": "lee"}},
            }
        },
        {"config": {"configurable": {"user_id": "lee"}}},
        {"actor": {"user": "lee"}},
    ]
    add, search = memory_tools(stub_memory)
    for extra in forged:
        model = ScriptedModel(
            answers=[calls("memory_search", query="lighthouse", **extra), says("ok")]
        )
        state = await create_agent(model, [add, search]).ainvoke(said("hm"), of())
        assert json.loads(tool_answers(state)[0].content) == {"hits": []}
        direct = await search.ainvoke({"query": "lighthouse", **extra}, of())
        assert json.loads(direct) == {"hits": []}
        call = {"type": "tool_call", "id": "1", "name": "memory_search"}
        answered = await search.ainvoke({**call, "args": {"query": "lighthouse", **extra}}, of())
        assert json.loads(answered.content) == {"hits": []}
    for name in (add, search):
        assert (
            not {"runtime", "config", "user_id"}
            & name.tool_call_schema.model_json_schema()["properties"].keys()
        )  # type: ignore[union-attr]


async def test_pf_090_pf_134_refusals_are_sentences_that_a_model_can_read(
    stub_memory: MemoryService,
) -> None:
    add, search = memory_tools(stub_memory)
    for given, arguments, part in (
        (search, {"query": "tea", "k": 0}, "[k_out_of_range]"),
        (search, {"query": "tea", "k": "101"}, "[k_out_of_range]"),
        (search, {"query": " "}, "[blank_query]"),
        (search, {"query": "tea", "k": "0.8x"}, "[invalid_arguments]"),
        (search, {"query": "tea", "scope": "project"}, "[project_required]"),
        (search, {}, "[invalid_arguments]"),
        (add, {"content": None}, "[invalid_arguments]"),
    ):
        call = {"type": "tool_call", "id": "1", "name": given.name, "args": arguments}
        answer = await given.ainvoke(call, of())
        assert (answer.status, part in answer.content) == ("error", True), answer.content
    huge = json.loads(await add.ainvoke({"content": "tea " * 200_000}, of()))
    assert (huge["verdict"], huge["reason"]) == ("rejected", "text_too_long")
    answer = await add.ainvoke(
        {"type": "tool_call", "id": "1", "name": "memory_add", "args": {"content": "I like tea"}}
    )
    assert "[user_required]" in answer.content
    assert json.loads(await search.ainvoke({"query": "tea", "k": "5"}, of())) == {"hits": []}


async def test_without_the_users_words_a_memory_waits(stub_memory: MemoryService) -> None:
    answers = [
        calls("memory_add", content="Kim moves to Oslo", quote="I move to Oslo"),
        says("ok"),
        calls("memory_add", content="I like oolong tea in the morning"),
        says("ok"),
    ]
    agent = create_agent(ScriptedModel(answers=answers), memory_tools(stub_memory))
    first = await agent.ainvoke(said("How is the weather?"), of())
    assert json.loads(tool_answers(first)[0].content)["reason"] == "confidence_unsure"
    own_words = await agent.ainvoke(said("Well, I like oolong tea in the morning."), of())
    assert json.loads(tool_answers(own_words)[0].content)["verdict"] == "stored"


def test_tools_work_in_plain_code_on_a_blocking_memory(settings: Settings) -> None:
    from stub_embedder import StubEmbedder

    with SyncMemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
        add, search = memory_tools(memory, actor=KIM)
        assert json.loads(add.invoke({"content": "Kim keeps bees"}))["verdict"] == "pending"
        assert json.loads(search.invoke({"query": "bees"})) == {"hits": []}
        model = ScriptedModel(answers=[says("Hello."), says("Hello again.")])
        agent = create_agent(model, [], middleware=[MemoryMiddleware(memory)])
        agent.invoke(said("记住：我喜欢喝乌龙茶"), of())
        agent.invoke(said("我喜欢喝什么茶？"), of(session="s2"))
        assert "我喜欢喝乌龙茶" in model.system
        async_too = asyncio.run(agent.ainvoke(said("我喜欢喝什么茶？"), of(session="s3")))
        assert async_too["messages"][-1].content == "Hello again."
        assert [turn.role for turn in memory.sessions.read(KIM)] == ["user", "assistant"]


# ---- middleware


async def test_a_preference_stated_in_one_session_stands_in_the_prompt_of_the_next(
    stub_memory: MemoryService,
) -> None:
    model = ScriptedModel(answers=[says("Gladly."), says("Sure.")])
    agent = create_agent(
        model, [], system_prompt="You are a guide.", middleware=[MemoryMiddleware(stub_memory)]
    )
    await agent.ainvoke(said("请记住，我对花生过敏"), of())
    assert model.system == "You are a guide."
    await agent.ainvoke(said("我对什么过敏？"), of(session="s2"))
    assert model.system.startswith("You are a guide.\n\n<")
    assert "我对花生过敏" in model.system
    assert model.system.endswith(">")
    turns = await stub_memory.sessions.read(KIM)
    assert [(turn.role, turn.content) for turn in turns] == [
        ("user", "请记住，我对花生过敏"),
        ("assistant", "Gladly."),
    ]
    other = await agent.ainvoke(said("我对什么过敏？"), of("lee"))
    assert other
    assert "花生" not in model.system


async def test_switched_off_nothing_is_read_written_or_offered(
    stub_memory: MemoryService, connect: Connect
) -> None:
    await stub_memory.add_explicit_memory(KIM, "我对花生过敏")
    owner = await connect("owner")

    async def rows() -> Any:
        counts = "select (select count(*) from memory_item) as items, (select count(*) from message) as turns"
        return dict(await (await owner.execute(counts)).fetchone())  # type: ignore[arg-type]

    before = await rows()
    for constructor, config in (
        (False, of()),
        (True, of(enable_memory=False)),
        (True, of(enable_memory="false")),
    ):
        model = ScriptedModel(answers=[calls("memory_search", query="花生"), says("ok")])
        agent = create_agent(
            model,
            [book],
            system_prompt="S",
            middleware=[MemoryMiddleware(stub_memory, enable_memory=constructor)],
        )
        state = await agent.ainvoke(said("记住：我对花生过敏，也对虾过敏"), config)
        assert model.system == "S"
        assert model.offered == ["book"]
        assert "[memory_disabled]" in tool_answers(state)[0].content
        assert await rows() == before
    model = ScriptedModel(answers=[says("ok")])
    agent = create_agent(model, [], middleware=[MemoryMiddleware(stub_memory, enable_memory=False)])
    await agent.ainvoke(said("我对什么过敏？"), of(enable_memory=True))
    assert "我对花生过敏" in model.system
    with pytest.raises(MnemicError) as caught:
        await agent.ainvoke(said("hm"), of(enable_memory="perhaps"))
    assert caught.value.code == "invalid_switch"


async def test_turns_are_logged_before_a_summary_takes_their_place(
    stub_memory: MemoryService,
) -> None:
    model = ScriptedModel(answers=[says(f"answer {n}") for n in range(8)])
    writer = ScriptedModel(answers=[says("They talked about numbers.")])
    agent = create_agent(
        model,
        [],
        middleware=[
            MemoryMiddleware(stub_memory),
            SummarizationMiddleware(writer, trigger=("messages", 4), keep=("messages", 1)),
            HumanInTheLoopMiddleware(interrupt_on={"book": True}),
        ],
        checkpointer=InMemorySaver(),
    )
    for n in range(5):
        state = await agent.ainvoke(said(f"number {n} please"), of(thread_id="t1"))
    assert writer.prompts, "nothing was summarised: this would prove nothing"
    assert any("summary" in str(one.content) for one in state["messages"])
    turns = await stub_memory.sessions.read(KIM)
    expected = [text for n in range(5) for text in (f"number {n} please", f"answer {n}")]
    assert [turn.content for turn in turns] == expected


async def test_an_approval_pauses_the_agent_and_what_was_done_is_logged_when_it_goes_on(
    stub_memory: MemoryService,
) -> None:
    model = ScriptedModel(answers=[calls("book", place="Lotus"), says("Done.")])
    agent = create_agent(
        model,
        [book],
        middleware=[
            MemoryMiddleware(stub_memory),
            SummarizationMiddleware(model, trigger=("messages", 50)),
            HumanInTheLoopMiddleware(interrupt_on={"book": True}),
        ],
        checkpointer=InMemorySaver(),
    )
    config = of(thread_id="t1")
    paused = await agent.ainvoke(said("Book a table. My name is Kim."), config)
    assert paused["__interrupt__"]
    assert [turn.role for turn in await stub_memory.sessions.read(KIM)] == ["user"]
    assert (await stub_memory.list(KIM)).total == 0  # the turn is not over
    edited = {
        "type": "edit",
        "edited_action": {"name": "book", "args": {"place": "Harbour"}},
    }
    done = await agent.ainvoke(Command(resume={"decisions": [edited]}), config)
    assert done["messages"][-1].content == "Done."
    turns = await stub_memory.sessions.read(KIM)
    assert [turn.role for turn in turns] == ["user", "assistant", "tool", "assistant"]
    assert turns[1].tool_calls[0].arguments == {"place": "Lotus"}  # what the model had asked for
    assert turns[2].content.endswith("booked at Harbour")
    assert any("Kim" in item.content for item in (await stub_memory.list(KIM)).items)


async def test_an_approval_is_kept_with_our_checkpoints_and_decided_later_by_another_agent(
    stub_memory: MemoryService,
) -> None:
    def agent(*answers: AIMessage) -> Any:
        return create_agent(
            ScriptedModel(answers=list(answers)),
            [book],
            middleware=[
                MemoryMiddleware(stub_memory),
                HumanInTheLoopMiddleware(interrupt_on={"book": True}),
            ],
            checkpointer=stub_memory.episodes.checkpointer(),
        )

    said_once = said("Book a table. My name is Kim.")
    asking = agent(calls("book", place="Lotus"))
    await asking.ainvoke(said_once, of(thread_id="t1"), durability="sync")
    (approval,) = await stub_memory.episodes.pending_approvals(KIM)
    assert [(one["name"], one["args"]) for one in approval.actions] == [
        ("book", {"place": "Lotus"})
    ]
    decided = await stub_memory.episodes.edit(KIM, approval.id, {"place": "Harbour"})
    done = await agent(says("Done.")).ainvoke(None, decided.config, durability="sync")
    assert done["messages"][-1].content == "Done."
    assert tool_answers(done)[0].content.endswith("booked at Harbour")
    assert (await stub_memory.episodes.resume(KIM)).status == "done"
    turns = await stub_memory.sessions.read(KIM)
    assert [turn.role for turn in turns] == ["user", "assistant", "tool", "assistant"]


async def test_what_is_known_stands_last_where_others_write_to_the_system_message_too(
    stub_memory: MemoryService,
) -> None:
    await stub_memory.add_explicit_memory(KIM, "我对花生过敏")

    @dynamic_prompt
    def replaced(request: Any) -> str:
        return "Another prompt."

    model = ScriptedModel(answers=[says("ok")])
    agent = create_agent(
        model,
        [],
        middleware=[
            MemoryMiddleware(stub_memory, inject=False),
            replaced,
            MemoryInjection(stub_memory),
        ],
    )
    await agent.ainvoke(said("我对什么过敏？"), of())
    assert model.system.startswith("Another prompt.\n\n<")
    assert model.system.count("我对花生过敏") >= 1
    assert len(await stub_memory.sessions.read(KIM)) == 2


async def test_a_question_that_nothing_bears_on_adds_nothing(stub_memory: MemoryService) -> None:
    model = ScriptedModel(answers=[says("ok")])
    agent = create_agent(model, [], middleware=[MemoryMiddleware(stub_memory)])
    await agent.ainvoke(said("What is the capital of Peru?"), of())
    assert model.system == ""
    await agent.ainvoke({"messages": [HumanMessage([{"type": "text", "text": "  "}])]}, of())
    assert [turn.role for turn in await stub_memory.sessions.read(KIM)] == [
        "user",
        "assistant",
        "assistant",
    ]


async def test_an_explicit_wish_is_kept_also_when_the_session_has_had_its_passes(
    stub_memory: MemoryService,
) -> None:
    model = ScriptedModel(answers=[says("ok")])
    agent = create_agent(model, [], middleware=[MemoryMiddleware(stub_memory)])
    wishes = [
        "Remember that my bicycle is red",
        "记住：我喜欢喝乌龙茶",
        "Note that our standup is at ten",
        "我是素食者",
        "帮我记住我的车停在B2层",
        "My name is Kim",
    ]
    for wish in wishes:
        await agent.ainvoke(said(wish), of())
    assert not (await stub_memory.check_rate_limit(KIM)).allowed
    kept = " | ".join(item.content for item in (await stub_memory.list(KIM)).items)
    for part in ("bicycle is red", "乌龙茶", "standup", "素食者", "B2层", "Kim"):
        assert part in kept
    await agent.ainvoke(said("Do you remember my name?"), of())
    await agent.ainvoke(said("你还记得我叫什么吗"), of())
    assert (await stub_memory.list(KIM)).total == len(wishes)


async def test_without_a_session_explicit_wishes_are_kept_and_nothing_is_logged(
    stub_memory: MemoryService,
) -> None:
    model = ScriptedModel(answers=[says("ok")])
    agent = create_agent(model, [], middleware=[MemoryMiddleware(stub_memory)])
    await agent.ainvoke(said("记住：我喜欢喝乌龙茶"), {"configurable": {"user_id": "kim"}})
    assert (await stub_memory.list(KIM)).total == 1
    with pytest.raises(MnemicError) as caught:
        await stub_memory.sessions.read(KIM)
    assert caught.value.code == "session_not_found"
    with pytest.raises(MnemicError) as caught:
        await agent.ainvoke(said("记住：我喜欢喝乌龙茶"))
    assert caught.value.code == "user_required"


async def test_an_agent_goes_on_without_a_memory_that_is_away_or_not_wanted(
    stub_memory: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stub_memory.consent.refuse(KIM)
    model = ScriptedModel(answers=[says("ok")])
    agent = create_agent(model, [], middleware=[MemoryMiddleware(stub_memory)])
    state = await agent.ainvoke(said("记住：我喜欢喝乌龙茶"), of())
    assert state["messages"][-1].content == "ok"
    await stub_memory.consent.grant(KIM)
    assert (await stub_memory.list(KIM)).total == 0

    async def away(*args: Any, **kwargs: Any) -> str:
        raise StorageUnavailable("database_unreachable", "Away.")

    monkeypatch.setattr(stub_memory, "build_context", away)
    await agent.ainvoke(said("hello"), of(session="s3"))
    strict = create_agent(model, [], middleware=[MemoryMiddleware(stub_memory, strict=True)])
    with pytest.raises(StorageUnavailable):
        await strict.ainvoke(said("hello"), of())


async def test_a_turn_that_is_played_again_is_not_logged_twice(stub_memory: MemoryService) -> None:
    model = ScriptedModel(answers=[says("ok")])
    agent = create_agent(model, [], middleware=[MemoryMiddleware(stub_memory)])
    history = [
        HumanMessage("first", id="h1"),
        AIMessage("answer", id="a1"),
        ToolMessage("left over", tool_call_id="gone", id="t1"),
        HumanMessage("second", id="h2"),
    ]
    await agent.ainvoke({"messages": history}, of())
    await agent.ainvoke(
        {"messages": [*history[:1], AIMessage("other words", id="a1"), *history[3:]]}, of()
    )
    turns = await stub_memory.sessions.read(KIM)
    assert [turn.content for turn in turns] == ["first", "answer", "second", "ok", "ok"]


@pytest.mark.parametrize(
    "call",
    [
        {"name": "book", "args": {"place": "\ud800"}, "id": "c1"},
        {"name": "book", "args": {"place": "a", "n": float("nan")}, "id": "c1"},
        {"name": "book", "args": {"place": "x" * 1_000_001}, "id": "c1"},
        {"name": "book", "args": {"place": "a"}, "id": "c" * 500},
        {"name": "book", "args": {"place": "a"}, "id": "\ud800"},
        {"name": "", "args": {}, "id": "c1"},
    ],
    ids=["half a pair", "no number", "huge", "long id", "odd id", "no name"],
)
async def test_what_a_model_sends_and_no_log_can_hold_does_not_stop_the_agent(
    stub_memory: MemoryService, call: Any
) -> None:
    model = ScriptedModel(answers=[AIMessage("One moment.", tool_calls=[call]), says("Done.")])
    agent = create_agent(model, [book], middleware=[MemoryMiddleware(stub_memory)])
    state = await agent.ainvoke(said("Remember that I am allergic to peanuts"), of())
    assert state["messages"][-1].content == "Done."
    turns = await stub_memory.sessions.read(KIM)
    assert [turn.content for turn in turns if turn.role == "user"] == [
        "Remember that I am allergic to peanuts"
    ]
    spoken = [turn.content for turn in turns if turn.role == "assistant"]
    assert spoken == ["One moment.", "Done."]
    assert (await stub_memory.list(KIM)).total == 1


async def test_messages_of_nothing_but_invisible_characters_do_not_stop_the_agent(
    stub_memory: MemoryService,
) -> None:
    agent = create_agent(
        ScriptedModel(answers=[says("ok")]), [], middleware=[MemoryMiddleware(stub_memory)]
    )
    for text in ("\ud800", "\0", "\u200b", " "):
        state = await agent.ainvoke({"messages": [HumanMessage(text, id="\ud800")]}, of())
        assert state["messages"][-1].content == "ok"
