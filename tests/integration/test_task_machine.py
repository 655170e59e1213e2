"""Is the row of a task what its events tell, after any history? And does a model without a database agree?"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine, Iterator
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as trial
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mnemic.deployment import Deployment
from mnemic.errors import Conflict, InvalidInput
from mnemic.ids import new_id
from mnemic.model import Actor
from mnemic.settings import Settings
from mnemic.tasks.state import Task
from mnemic.tasks.store import Tasks
from mnemic.tasks.workflows import Step, Workflow, Workflows

ROUND = Workflow(
    "round",
    (
        Step("a", ("b", "c")),
        Step("b", ("a", "c", "end")),
        Step("c", ("c", "stop", "end")),
        Step("stop"),
        Step("end"),
    ),
)
NAMES = ("a", "b", "c", "stop", "end")
STEPS = st.none() | st.sampled_from(NAMES)
DATA = st.dictionaries(
    st.sampled_from(("n", "note", "deep", "名")),
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=8)
        | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
        max_leaves=5,
    ),
    max_size=3,
)  # fmt: skip
DROP = st.lists(st.sampled_from(("n", "note", "deep")), max_size=2)
REFUSALS = {
    "illegal_move", "move_unclear", "task_completed", "task_failed", "step_passed", "version_conflict",
    "version_from_future",
}  # fmt: skip
_users = itertools.count()


class Shared:
    """One loop and one database for all runs of the machine; every run is a user of its own."""

    loop: asyncio.AbstractEventLoop
    tasks: Tasks

    @classmethod
    def run(cls, work: Coroutine[Any, Any, Any]) -> Any:
        return cls.loop.run_until_complete(work)


@pytest.fixture
def shared(settings: Settings) -> Iterator[None]:
    Shared.loop = asyncio.new_event_loop()
    deployment = Shared.run(Deployment.start(settings))
    Shared.tasks = Tasks(deployment.database, deployment.keys, Workflows(ROUND))
    yield
    Shared.run(deployment.close())
    Shared.loop.close()


class Histories(RuleBasedStateMachine):
    """``known`` is what the last answer said of each task, ``sent`` the changes that may be sent again."""

    def __init__(self) -> None:
        super().__init__()
        self.actor = Actor(f"machine-{next(_users)}")
        self.known: dict[UUID, Task] = {}
        self.past: dict[UUID, list[Task]] = {}
        self.sent: list[tuple[str, UUID, dict[str, Any], Task]] = []

    @rule(data=DATA)
    def create(self, data: dict[str, Any]) -> None:
        if len(self.known) < 3:
            self._note(Shared.run(Shared.tasks.create(self.actor, "round", data)))

    @precondition(lambda self: self.known)
    @rule(
        pick=st.integers(0, 2),
        how=st.sampled_from(("advance", "advance", "complete", "fail")),
        to=STEPS,
        step=STEPS,
        data=DATA,
        drop=DROP,
        known=st.sampled_from((None, None, 0, -1, 1)),
    )
    def change(
        self, pick: int, how: str, to: Any, step: Any, data: Any, drop: Any, known: int | None
    ) -> None:
        before = self._pick(pick)
        given: dict[str, Any] = {"step": step, "data": data, "drop": drop, "event_id": new_id()}
        given |= {"reason": "it broke 坏了"} if how == "fail" else {"to": to}
        if known is not None and before.version + known > 0:
            given["expected_version"] = before.version + known
        try:
            after = Shared.run(getattr(Shared.tasks, how)(self.actor, before.task_id, **given))
        except (Conflict, InvalidInput) as error:
            self._refused(error, before)
            return
        self._require_allowed(before, after, how, data, drop)
        self._note(after)
        self.sent.append((how, before.task_id, given, after))

    @precondition(lambda self: self.sent)
    @rule(pick=st.integers(0, 20))
    def send_again(self, pick: int) -> None:
        how, task_id, given, answer = self.sent[pick % len(self.sent)]
        again = Shared.run(getattr(Shared.tasks, how)(self.actor, task_id, **given))
        assert again == answer

    @precondition(lambda self: self.known)
    @rule(pick=st.integers(0, 2))
    def repair(self, pick: int) -> None:
        before = self._pick(pick)
        assert Shared.run(Shared.tasks.repair(self.actor, before.task_id)) == before

    @invariant()
    def rows_are_what_the_events_tell(self) -> None:
        for task_id, known in self.known.items():
            row = Shared.run(Shared.tasks.get(self.actor, task_id))
            assert row == known
            assert Shared.run(Shared.tasks.replay(self.actor, task_id)) == row

    @invariant()
    def events_are_numbered_without_gaps(self) -> None:
        for task_id, known in self.known.items():
            events = Shared.run(Shared.tasks.history(self.actor, task_id))
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            assert sorted({event.version for event in events}) == list(range(1, known.version + 1))

    def teardown(self) -> None:
        for task_id, states in self.past.items():
            for state in states:
                assert (
                    Shared.run(Shared.tasks.replay(self.actor, task_id, version=state.version))
                    == state
                )

    def _refused(self, error: Conflict | InvalidInput, before: Task) -> None:
        assert error.code in REFUSALS
        assert Shared.run(Shared.tasks.get(self.actor, before.task_id)) == before

    def _require_allowed(self, before: Task, after: Task, how: str, data: Any, drop: Any) -> None:
        assert after.version == before.version + 1
        kept = {name: value for name, value in before.state_data.items() if name not in drop}
        assert after.state_data == kept | data
        if how == "fail":
            assert (before.status, after.status) == ("running", "failed")
            assert after.current_step == before.current_step
        elif before.status == "failed":
            assert (after.current_step, after.status) == (before.current_step, "running")
        else:
            assert after.current_step in ROUND.step(before.current_step).next
            ended = ROUND.is_final(after.current_step)
            assert after.status == ("completed" if ended else "running")
            assert ended or how == "advance"

    def _note(self, task: Task) -> None:
        self.known[task.task_id] = task
        self.past.setdefault(task.task_id, []).append(task)

    def _pick(self, pick: int) -> Task:
        return list(self.known.values())[pick % len(self.known)]


@pytest.mark.usefixtures("shared")
def test_random_histories_replay_to_their_rows() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        Histories,
        settings=trial(
            max_examples=20,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
