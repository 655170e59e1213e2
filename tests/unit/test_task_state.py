"""Do decisions and events fit together, without any database?"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import Conflict, InvalidInput, MnemicError, StorageError
from mnemic.ids import new_id
from mnemic.tasks.state import (
    Advance,
    Complete,
    Create,
    Fail,
    Happened,
    Task,
    TaskEvent,
    begin,
    checked_change,
    decide,
    evolve,
    fingerprint,
    fold,
)
from mnemic.tasks.workflows import DATA_APPROVAL, Step, Workflow

START = datetime(2026, 3, 2, tzinfo=UTC)
TASK_ID = new_id()


class History:
    """Events as a store would number them, and what they make."""

    def __init__(self, workflow: Workflow = DATA_APPROVAL, **data: Any) -> None:
        self.workflow = workflow
        self.events: list[TaskEvent] = []
        self.task: Task | None = None
        self._add(begin(workflow, Create(workflow.task_type, data)))

    def do(self, command: Any) -> Task:
        assert self.task is not None
        self._add(decide(self.workflow, self.task, checked_change(command)))
        return self.task

    def _add(self, happened: tuple[Happened, ...]) -> None:
        version = 1 if self.task is None else self.task.version + 1
        for one in happened:
            seq = len(self.events) + 1
            at = START + timedelta(minutes=version)
            event = TaskEvent(new_id(), TASK_ID, seq, version, one.event_type, one.payload, at)
            self.events.append(event)
            self.task = evolve(self.task, event)


def refusal(history: History, command: Any) -> MnemicError:
    before = history.task
    with pytest.raises(MnemicError) as caught:
        history.do(command)
    assert history.task == before
    return caught.value


def test_the_example_from_beginning_to_end() -> None:
    history = History(source="a.csv")
    assert history.do(Advance()).current_step == "validation"
    assert history.do(Advance(to="approval", data={"ok": True})).current_step == "approval"
    done = history.do(Complete(drop=("source",)))
    assert (done.status, done.current_step, done.version) == ("completed", "completed", 4)
    assert done.state_data == {"ok": True}
    assert done.created_at == START + timedelta(minutes=1)
    assert done.updated_at == START + timedelta(minutes=4)
    assert fold(None, history.events) == (done, len(history.events))


def test_a_failure_keeps_the_step_and_says_why() -> None:
    history = History()
    failed = history.do(Fail(" 网络断了 ", data={"tries": 1}))
    assert (failed.status, failed.current_step, failed.failure) == (
        "failed",
        "data_fetch",
        "网络断了",
    )
    for command in (Advance(), Advance(to="validation"), Complete(), Fail("again")):
        assert refusal(history, command).code == "task_failed"
    again = history.do(Advance(to="data_fetch"))
    assert (again.status, again.failure, again.state_data) == ("running", None, {"tries": 1})


@pytest.mark.parametrize(
    ("command", "kind", "code"),
    [
        (Advance(to="approval"), Conflict, "illegal_move"),
        (Advance(to="data_fetch"), Conflict, "illegal_move"),
        (Complete(), Conflict, "illegal_move"),
        (Complete(to="validation"), Conflict, "illegal_move"),
        (Advance(step="approval"), Conflict, "step_passed"),
        (Fail("x", step="approval"), Conflict, "step_passed"),
        (Advance(to="elsewhere"), InvalidInput, "unknown_step"),
        (Advance(step="elsewhere"), InvalidInput, "unknown_step"),
        (Fail("x", step="elsewhere"), InvalidInput, "unknown_step"),
        (Fail(""), InvalidInput, "invalid_reason"),
        (Fail("x" * 2_001), InvalidInput, "invalid_reason"),
        (Advance(drop=(1,)), InvalidInput, "invalid_state_key"),  # type: ignore[arg-type]
        (Advance(drop="ab"), InvalidInput, "invalid_state_key"),
    ],
)
def test_what_does_not_fit_is_refused(command: Any, kind: type[MnemicError], code: str) -> None:
    error = refusal(History(), command)
    assert isinstance(error, kind)
    assert error.code == code
    assert "elsewhere" not in error.message


def test_an_illegal_move_says_what_is_allowed() -> None:
    error = refusal(History(), Advance(to="completed"))
    assert error.details == {"step": "data_fetch", "allowed": ["validation"]}
    assert "only validation may follow" in error.message
    assert "advance it to validation first" in refusal(History(), Complete()).message


def test_several_ways_must_be_told_apart() -> None:
    forked = Workflow("f", (Step("a", ("b", "c")), Step("b"), Step("c")))
    assert refusal(History(forked), Advance()).code == "move_unclear"
    assert History(forked).do(Advance(to="c")).status == "completed"


def test_a_completed_task_is_left_alone() -> None:
    history = History(Workflow("f", (Step("a", ("b",)), Step("b"))))
    history.do(Complete())
    for command in (Advance(), Advance(to="b"), Complete(), Fail("x")):
        assert refusal(history, command).code == "task_completed"


def test_a_task_goes_on_under_a_workflow_declared_anew() -> None:
    history = History()
    steps = (Step("data_fetch", ("review",)), Step("review", ("end",)), Step("end"))
    history.workflow = Workflow("data_approval", steps)
    assert history.do(Advance()).current_step == "review"
    # and one whose step is gone is refused, not broken
    history.workflow = DATA_APPROVAL
    assert refusal(history, Advance()).code == "unknown_step"
    assert fold(None, history.events)[0] == history.task


@given(st.data())
def test_events_that_do_not_fit_together_are_noticed(data: st.DataObject) -> None:
    history = History()
    history.do(Advance())
    history.do(Fail("x"))
    history.do(Advance(to="validation"))
    events = history.events
    kind = data.draw(st.sampled_from(("hole", "swap", "double", "version", "step", "task")))
    at = data.draw(st.integers(1, len(events) - 2))
    changed = list(events)
    if kind == "hole":
        del changed[at]
    elif kind == "swap":
        changed[at], changed[at + 1] = changed[at + 1], changed[at]
    elif kind == "double":
        changed.insert(at, changed[at])
    elif kind == "version":
        changed[at] = replace(events[at], version=events[at].version + 2)
    elif kind == "task":
        changed[at] = replace(events[at], task_id=new_id())
    else:
        wrong = {**events[1].payload, "step": "approval"}
        changed[1] = replace(events[1], payload=wrong)
    with pytest.raises(StorageError) as caught:
        fold(None, changed)
    assert caught.value.code == "task_history_damaged"


def test_a_history_begins_with_its_first_event() -> None:
    history = History()
    history.do(Advance())
    for events in (history.events[1:], [replace(history.events[0], event_type="step_fail")]):
        with pytest.raises(StorageError):
            fold(None, events)
    assert fold(None, []) == (None, 0)


def test_two_commands_are_the_same_when_they_ask_the_same() -> None:
    asked = checked_change(Advance(to="validation", data={"a": 1, "b": [2]}, drop=["y", "x"]))
    same = checked_change(Advance(to="validation", data={"b": (2,), "a": 1}, drop={"x", "y"}))
    assert fingerprint(asked, TASK_ID) == fingerprint(same, TASK_ID)
    others = [
        (Complete(to="validation", data={"a": 1, "b": [2]}, drop=["x", "y"]), TASK_ID),
        (Advance(data={"a": 1, "b": [2]}, drop=["x", "y"]), TASK_ID),
        (Advance(to="validation", data={"a": 1, "b": [3]}, drop=["x", "y"]), TASK_ID),
        (Advance(to="validation", data={"a": 1, "b": [2]}, drop=["x"]), TASK_ID),
        (Advance(to="validation", data={"a": 1, "b": [2]}, drop=["x", "y"]), new_id()),
        (Fail("validation", data={"a": 1, "b": [2]}, drop=["x", "y"]), TASK_ID),
    ]
    found = {fingerprint(checked_change(command), task_id) for command, task_id in others}
    assert len(found | {fingerprint(asked, TASK_ID)}) == len(others) + 1
