"""Is working memory gone when its call ends, and is its outcome told?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mnemic.errors import InvalidInput
from mnemic.model import Turn
from mnemic.working import MAX_OUTCOME, MAX_TEXT, MAX_TOTAL, Todo, WorkingMemory


def refused(code: str) -> Any:
    return pytest.raises(InvalidInput, match=rf"\[{code}\]")


def test_the_outcome_of_a_call_becomes_a_message() -> None:
    said: list[Turn] = []
    with WorkingMemory(said.append) as work:
        first, second = work.todo("读取报表"), work.todo("Write the\nsummary")
        work.tool_call("search", "q=a", "3 hits")
        work.tool_call("search", "q=b", failed=True)
        work.tool_call("fetch")
        work.note("the second table looks odd")
        work.set("rows", [1, 2])
        work.done(first)
        assert work.todo_list == (Todo("读取报表", True), Todo("Write the\nsummary"))
        assert [call.failed for call in work.tool_calls] == [False, True, False]
        assert (work.notes, work.get("rows")) == (("the second table looks odd",), [1, 2])
        assert (second, said) == (2, [])
    (turn,) = said
    assert turn.role == "system"
    assert turn.content == "Done: 读取报表\nOpen: Write the summary\nTools used: search x2, fetch"


def test_everything_is_gone_afterwards() -> None:
    with WorkingMemory() as work:
        work.todo("a")
        work.set("k", "v")
    for use in (
        lambda: work.todo("b"),
        lambda: work.done(1),
        lambda: work.note("n"),
        lambda: work.tool_call("t"),
        lambda: work.set("k", 1),
        lambda: work.get("k"),
        lambda: work.drop("k"),
        lambda: work.todo_list,
        lambda: work.tool_calls,
        lambda: work.notes,
        lambda: work.outcome(),
    ):
        with refused("working_memory_closed"):
            use()
    with work:  # the next call begins with nothing
        assert (work.todo_list, work.get("k")) == ((), None)


def test_an_error_is_told_by_its_kind_and_goes_on() -> None:
    said: list[Turn] = []
    work = WorkingMemory(said.append)

    def call() -> None:
        with work:
            work.todo("a")
            raise ValueError("lighthouse")

    with pytest.raises(ValueError, match="lighthouse"):
        call()
    assert said[0].content == "Open: a\nStopped by an error: ValueError"
    with refused("working_memory_closed"):
        work.todo("b")


def test_a_call_in_which_nothing_happened_says_nothing() -> None:
    said: list[Turn] = []
    with WorkingMemory(said.append) as work:
        work.note("only a thought")
        work.set("k", 1)
    assert said == []
    with pytest.raises(RuntimeError), WorkingMemory(said.append):
        raise RuntimeError
    assert [turn.content for turn in said] == ["Stopped by an error: RuntimeError"]


def test_a_callback_that_fails_finds_nothing_left_and_is_heard() -> None:
    def fail(turn: Turn) -> None:
        raise OSError(turn.role)

    work = WorkingMemory(fail, role="assistant")
    with pytest.raises(OSError, match="assistant"), work:
        work.todo("a")
    with refused("working_memory_closed"):
        work.outcome()


async def test_a_callback_may_wait() -> None:
    said: list[Turn] = []

    async def append(turn: Turn) -> None:
        await asyncio.sleep(0)
        said.append(turn)

    async with WorkingMemory(append) as work:
        work.todo("a")
    async with WorkingMemory(lambda turn: append(turn)) as work:
        work.todo("b")
    async with WorkingMemory(said.append) as work:
        work.todo("c")
    assert [turn.content for turn in said] == ["Open: a", "Open: b", "Open: c"]
    with refused("working_memory_needs_async"), WorkingMemory(append):
        raise AssertionError("never entered")
    with refused("working_memory_needs_async"), WorkingMemory(lambda turn: append(turn)) as work:
        work.todo("d")


async def test_a_cancelled_call_tells_its_outcome_too() -> None:
    said: list[Turn] = []

    async def append(turn: Turn) -> None:
        await asyncio.sleep(0)
        said.append(turn)

    async def call() -> None:
        async with WorkingMemory(append) as work:
            work.todo("wait")
            await asyncio.sleep(60)

    running = asyncio.create_task(call())
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert said[0].content == "Open: wait\nStopped by an error: CancelledError"


def test_todos_values_and_characters_are_bounded() -> None:
    with WorkingMemory() as work:
        for n in range(200):
            work.todo(f"todo {n}")
            work.set(f"v{n}", n)
        with refused("working_memory_full"):
            work.todo("one more")
        with refused("working_memory_full"):
            work.set("one more", 1)
        work.set("v0", "x" * (MAX_TOTAL - 10_000))
        with refused("working_memory_full"):
            work.set("v1", b"x" * 10_000)
        with refused("working_memory_full"):
            work.tool_call("t", "x" * 9_000)
        work.drop("v0")
        work.set("v0", "x" * (MAX_TOTAL - 10_000))  # what was forgotten counts no more
        assert len(work.todo_list) == 200


def test_of_many_calls_and_notes_the_last_are_kept_and_all_are_counted() -> None:
    with WorkingMemory() as work:
        for n in range(1_000):
            work.tool_call("search", f"q={n}" + "x" * 9_000)
            work.note(f"thought {n}" + "y" * 900)
        assert len(work.tool_calls) == len(work.notes) == 200
        assert work.tool_calls[-1].arguments.startswith("q=999x")
        assert work.notes[0].startswith("thought 800")
        assert work.outcome().tools == {"search": 1_000}


def test_long_texts_are_cut_and_the_outcome_is_short() -> None:
    with WorkingMemory() as work:
        work.tool_call("read", "x", "y" * 20_000)
        assert len(work.tool_calls[0].result) == MAX_TEXT
        for n in range(200):
            work.todo(f"number {n}: " + "very long " * 40)
            if n % 2:
                work.done(n + 1)
            work.tool_call(f"tool-{n}-" + "z" * 200 if n < 199 else "read")
        text = work.outcome(ValueError()).text()
    assert len(text) <= MAX_OUTCOME
    assert text.startswith("Done: number 1: very")
    assert "more\nOpen: number 0: very" in text
    assert text.endswith("Stopped by an error: ValueError")


@pytest.mark.parametrize("number", [0, 2, -1, None, True, "1"])
def test_an_unknown_todo_is_refused(number: Any) -> None:
    with WorkingMemory() as work:
        work.todo("a")
        with refused("todo_not_found"):
            work.done(number)
        assert work.todo_list == (Todo("a"),)


def test_only_text_is_kept_as_text_and_one_call_at_a_time() -> None:
    with WorkingMemory() as work:
        for use in (work.todo, work.note, work.tool_call):
            with refused("working_text_not_text"):
                use(7)  # type: ignore[operator]
        with refused("working_memory_in_use"), work:
            raise AssertionError("never entered")
        work.todo("still open")
        copied = work.todo_list[0]
        copied.done = True
        assert work.outcome().open == ("still open",)


def test_what_has_no_room_pushes_nothing_out() -> None:
    with WorkingMemory() as work:
        for number in range(200):
            work.note(f"{number:03}")
            work.tool_call(f"{number:03}")
        work.set("rest", "x" * (MAX_TOTAL - 200 * 6 - 4))
        with refused("working_memory_full"):
            work.note("longer")
        with refused("working_memory_full"):
            work.tool_call("000", "longer")
        assert (work.notes[0], work.tool_calls[0].tool) == ("000", "000")
        work.note("new")
        assert (work.notes[0], work.notes[-1]) == ("001", "new")


def test_a_value_that_grew_gives_back_what_it_took() -> None:
    grows = bytearray(10)
    with WorkingMemory() as work:
        work.set("grows", grows)
        grows.extend(bytes(1_000))
        work.drop("grows")
        work.set("rest", "x" * (MAX_TOTAL - 4))
        with refused("working_memory_full"):
            work.note("x")


def test_the_name_of_a_value_is_text() -> None:
    with WorkingMemory() as work:
        for call in (work.get, work.drop, lambda name: work.set(name, 1)):
            with refused("working_text_not_text"):
                call(["a"])  # type: ignore[arg-type]
