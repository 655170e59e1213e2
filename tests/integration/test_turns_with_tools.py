"""Does the log take calls of tools with their results, and a turn that is sent twice only once?"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mnemic import Actor, InvalidInput, MemoryService, NotFound, ToolCall, Turn
from mnemic.errors import Conflict

KIM, LEE = Actor("kim", session="s1"), Actor("lee", session="s1")
CALL = ToolCall("call-1", "weather", {"city": "Łódź", "days": [1, 2]})


async def count(memory: MemoryService, actor: Actor) -> int:
    return len(await memory.sessions.read(actor))


async def test_calls_results_intents_and_pins_are_read_as_they_were_kept(
    stub_memory: MemoryService,
) -> None:
    turns = [
        Turn("user", "how is it in Łódź?", intent="天气", pinned=True),
        Turn("assistant", "", tool_calls=(CALL, ToolCall("call-2", "clock"))),
        Turn("tool", "sunny", tool_call_id="call-1"),
        Turn("tool", "", tool_call_id="call-2"),
    ]
    assert await stub_memory.sessions.append(KIM, turns) == [1, 2, 3, 4]
    found = await stub_memory.sessions.read(KIM)
    assert [
        (t.role, t.content, t.tool_calls, t.tool_call_id, t.intent, t.pinned) for t in found
    ] == [(t.role, t.content, t.tool_calls, t.tool_call_id, t.intent, t.pinned) for t in turns]


async def test_calls_may_come_as_chat_models_write_them(stub_memory: MemoryService) -> None:
    text = json.dumps({"city": "Oslo"})
    given: Any = [
        {"id": "a", "type": "function", "function": {"name": "weather", "arguments": text}},
        {"id": "b", "name": "weather", "args": {"city": "Oslo"}, "type": "tool_call"},
        {"id": "c", "name": "weather", "arguments": {"city": "Oslo"}},
    ]
    await stub_memory.sessions.append(KIM, [Turn("assistant", "", tool_calls=given)])
    (found,) = await stub_memory.sessions.read(KIM)
    assert found.tool_calls == tuple(ToolCall(i, "weather", {"city": "Oslo"}) for i in "abc")


@pytest.mark.parametrize(
    "calls",
    [
        "call", 5, [5], [{"id": "a"}], [{"id": 1, "name": "n"}],
        [{"id": "a", "name": "n", "arguments": "{"}], [{"id": "a", "name": "n", "arguments": "[1]"}],
        [{"id": "a", "function": "n"}],
    ],
)  # fmt: skip
def test_what_is_no_call_is_no_turn(calls: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        Turn("assistant", "", tool_calls=calls)
    assert refused.value.code == "invalid_tool_call"


ODD: tuple[tuple[Turn, str], ...] = (
    (Turn("tool", "42"), "tool_call_id_required"),
    (Turn("tool", "42", tool_call_id=""), "tool_call_id_required"),
    (Turn("tool", "42", tool_call_id="nobody-asked"), "tool_call_not_found"),
    (Turn("user", "42", tool_call_id="call-1"), "tool_call_id_misplaced"),
    (Turn("user", "42", tool_calls=(CALL,)), "tool_calls_misplaced"),
    (Turn("assistant", "", tool_calls=(CALL, CALL)), "invalid_tool_call"),
    (Turn("assistant", "", tool_calls=(ToolCall("", "n"),)), "invalid_tool_call"),
    (Turn("assistant", "", tool_calls=(ToolCall("i", "n" * 201),)), "invalid_tool_call"),
    (Turn("assistant", "", tool_calls=(ToolCall("\ud800", "n"),)), "invalid_tool_call"),
    (Turn("assistant", "", tool_calls=(ToolCall("i", "\udfff"),)), "invalid_tool_call"),
    (Turn("assistant", "", tool_calls=(ToolCall("i", "n", {"\ud800": 1}),)), "invalid_tool_call"),
    (Turn("assistant", "", tool_calls=(ToolCall(["i"], "n"),)), "invalid_tool_call"),  # type: ignore[arg-type]
    (Turn("tool", "42", tool_call_id="\ud800"), "tool_call_not_found"),
    (Turn("assistant", "", tool_calls=(ToolCall("i", "n", {"x": {1}}),)), "invalid_tool_call"),
    (
        Turn("assistant", "", tool_calls=(ToolCall("i", "n", {"x": float("nan")}),)),
        "invalid_tool_call",
    ),
    (
        Turn("assistant", "", tool_calls=(ToolCall("i", "n", {"x": "y" * 1_000_001}),)),
        "message_too_long",
    ),
    (Turn("user", "x", speaker="y" * 1_000_000), "message_too_long"),
    (Turn("user", "x", intent=""), "intent_not_text"),
    (Turn("user", "x", intent=7), "intent_not_text"),  # type: ignore[arg-type]
    (Turn("user", "x", pinned=1), "invalid_pinned"),  # type: ignore[arg-type]
    (Turn("user", "x", client_id=""), "invalid_client_id"),
    (Turn("user", "x", client_id="\ud800"), "invalid_client_id"),
    (Turn("user", None), "content_not_text"),  # type: ignore[arg-type]
)


async def test_a_turn_that_cannot_be_meant_changes_nothing(stub_memory: MemoryService) -> None:
    await stub_memory.sessions.append(KIM, [Turn("user", "first")])
    for turn, code in ODD:
        with pytest.raises(InvalidInput) as refused:
            await stub_memory.sessions.append(KIM, [Turn("user", "good"), turn])
        assert refused.value.code == code
        assert await count(stub_memory, KIM) == 1
    assert await stub_memory.sessions.append(KIM, [Turn("user", "next")]) == [2]


async def test_a_result_finds_its_call_however_far_back(stub_memory: MemoryService) -> None:
    await stub_memory.sessions.append(KIM, [Turn("assistant", "", tool_calls=(CALL,))])
    others = [
        Turn("assistant", "", tool_calls=(ToolCall(f"other-{n}", "clock"),)) for n in range(130)
    ]
    await stub_memory.sessions.append(KIM, others)
    late = [Turn("tool", "late", tool_call_id="call-1")]
    assert await stub_memory.sessions.append(KIM, late) == [132]


async def test_a_call_of_another_session_or_user_answers_nothing(
    stub_memory: MemoryService,
) -> None:
    await stub_memory.sessions.append(KIM, [Turn("assistant", "", tool_calls=(CALL,))])
    for other in (LEE, Actor("kim", session="s2")):
        with pytest.raises(InvalidInput) as refused:
            await stub_memory.sessions.append(other, [Turn("tool", "x", tool_call_id="call-1")])
        assert refused.value.code == "tool_call_not_found"


# ---- sent twice


async def test_a_turn_that_is_sent_again_has_its_old_number(stub_memory: MemoryService) -> None:
    first = [Turn("user", "one", client_id="m1"), Turn("assistant", "two", client_id="m2")]
    assert await stub_memory.sessions.append(KIM, first) == [1, 2]
    assert await stub_memory.sessions.append(KIM, first) == [1, 2]
    mixed = [Turn("user", "three"), first[1], Turn("user", "four", client_id="m4")]
    assert await stub_memory.sessions.append(KIM, mixed) == [3, 2, 4]
    twice = [Turn("user", "five", client_id="m5")] * 2
    assert await stub_memory.sessions.append(KIM, twice) == [5, 5]
    assert [t.content for t in await stub_memory.sessions.read(KIM)] == [
        "one", "two", "three", "four", "five",
    ]  # fmt: skip
    assert {t.client_id for t in await stub_memory.sessions.read(KIM)} == {None}


async def test_a_client_id_is_no_other_turns(stub_memory: MemoryService) -> None:
    await stub_memory.sessions.append(KIM, [Turn("user", "one", client_id="m1")])
    for other in (
        [Turn("user", "two", client_id="m1")],
        [Turn("assistant", "one", client_id="m1")],
        [Turn("user", "a", client_id="m9"), Turn("user", "b", client_id="m9")],
    ):
        with pytest.raises(InvalidInput) as refused:
            await stub_memory.sessions.append(KIM, other)
        assert refused.value.code == "client_id_reused"
    assert await count(stub_memory, KIM) == 1
    for elsewhere in (LEE, Actor("kim", session="s2")):
        said = [Turn("user", "mine", client_id="m1")]
        assert await stub_memory.sessions.append(elsewhere, said) == [1]


async def test_pf_108_the_same_turns_from_many_clients_at_once_come_once(
    stub_memory: MemoryService,
) -> None:
    said = [[Turn("user", f"message {n}", client_id=f"m{n}")] for n in range(10)]
    answers = await asyncio.gather(*(stub_memory.sessions.append(KIM, turns) for turns in said * 5))
    turns = await stub_memory.sessions.read(KIM)
    assert [turn.seq for turn in turns] == list(range(1, 11))
    number = {turn.content: turn.seq for turn in turns}
    assert [seq for (seq,) in answers] == [number[t[0].content] for t in said * 5]


async def test_32_writers_leave_no_gap_and_no_duplicate(stub_memory: MemoryService) -> None:
    async def write(writer: int) -> list[int]:
        seqs = []
        for n in range(5):
            turns = [Turn("user", f"{writer} {n}"), Turn("assistant", f"{writer} {n} too")]
            seqs += await stub_memory.sessions.append(KIM, turns)
        return seqs

    answers = await asyncio.gather(*(write(writer) for writer in range(32)))
    assert sorted(seq for seqs in answers for seq in seqs) == list(range(1, 321))
    turns = await stub_memory.sessions.read(KIM)
    assert [turn.seq for turn in turns] == list(range(1, 321))
    for user, answer in zip(turns[::2], turns[1::2], strict=True):
        assert answer.content == f"{user.content} too", "what was sent together stands together"


async def test_what_was_said_is_never_overwritten_by_who_saw_only_the_tail(
    stub_memory: MemoryService, connect: Any
) -> None:
    await stub_memory.sessions.append(KIM, [Turn("user", f"line {n}") for n in range(30)])
    tail = await stub_memory.sessions.read(KIM, after=25)
    assert await stub_memory.sessions.append(KIM, tail) == [31, 32, 33, 34, 35]
    assert await count(stub_memory, KIM) == 35
    owner = await connect("owner")
    granted = await owner.execute(
        "select privilege_type, column_name from information_schema.column_privileges"
        " where table_name = 'message' and table_schema = current_schema()"
        " and grantee <> current_user and privilege_type = 'UPDATE'"
    )
    assert [row["column_name"] for row in await granted.fetchall()] == ["pinned"]


async def test_after_the_close_what_was_sent_before_is_answered_and_nothing_added(
    stub_memory: MemoryService, connect: Any
) -> None:
    said = [Turn("user", "one", client_id="m1")]
    await stub_memory.sessions.append(KIM, said)
    await (await connect("owner")).execute("update session set closed_at = now()")
    assert await stub_memory.sessions.append(KIM, said) == [1]
    with pytest.raises(Conflict) as refused:
        await stub_memory.sessions.append(KIM, [Turn("user", "two", client_id="m2")])
    assert refused.value.code == "session_closed"


async def test_two_users_have_the_same_session_id_and_nothing_in_common(
    stub_memory: MemoryService,
) -> None:
    await stub_memory.sessions.append(KIM, [Turn("user", "kim's words")])
    with pytest.raises(NotFound) as refused:
        await stub_memory.sessions.read(LEE)
    assert refused.value.code == "session_not_found"
    await stub_memory.sessions.append(LEE, [Turn("user", "lee's words")])
    assert [t.content for t in await stub_memory.sessions.read(KIM)] == ["kim's words"]
    assert [t.content for t in await stub_memory.sessions.read(LEE)] == ["lee's words"]
