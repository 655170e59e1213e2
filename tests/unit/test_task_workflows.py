"""Can a workflow be declared that strands a task?"""

from __future__ import annotations

from typing import Any

import pytest

from mnemic.errors import InvalidInput
from mnemic.tasks.workflows import DATA_APPROVAL, Step, Workflow, Workflows, is_clear_name

END = Step("end")


def declared(*steps: Any, task_type: Any = "mine") -> Workflow:
    return Workflow(task_type, steps)


def test_the_example_goes_from_fetching_to_completion() -> None:
    path, name = [DATA_APPROVAL.first], DATA_APPROVAL.first
    while following := DATA_APPROVAL.step(name).next:
        (name,) = following
        path.append(name)
    assert path == ["data_fetch", "validation", "approval", "completed"]
    assert [name for name in path if DATA_APPROVAL.is_final(name)] == ["completed"]
    assert Workflows().of("data_approval") == DATA_APPROVAL


def test_loops_branches_and_chinese_names_are_fine() -> None:
    flow = declared(
        Step("取数", ("校验", "取数")),
        Step("校验", ("取数", "通过", "驳回")),
        Step("通过"),
        Step("驳回"),
        task_type="数据审批",
    )
    assert flow.first == "取数"
    assert flow.is_final("驳回")


@pytest.mark.parametrize(
    "steps",
    [
        (),
        (END,),
        (Step("a", ("b",)), END),
        (Step("a", ("end",)), Step("a", ("end",)), END),
        (Step("a", ("end",)), Step("b", ("end",)), END),  # nothing leads to b
        (Step("a", ("a",)), END),  # nothing leads to the end
        (Step("a", ("b", "end")), Step("b", ("b",)), END),  # b leads nowhere
        (Step("a", ("b",)), Step("b", ("a",))),  # no end at all
        (Step("a b", ("end",)), END),
        (Step("", ("end",)), END),
        (Step("x" * 65, ("end",)), END),
        (Step("a\n", ("end",)), END),
        (Step("a", ["end"]), END),  # type: ignore[arg-type]
        ("a", "end"),
        (Step("a", ("end",)), None),
    ],
)
def test_a_workflow_that_cannot_be_is_refused_when_it_is_made(steps: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        declared(*steps)
    assert caught.value.code == "invalid_workflow"


@pytest.mark.parametrize("name", [None, 7, "", "two words", "a/b", "a'b", "x" * 65, "a\x00", "é\n"])
def test_task_types_are_single_words(name: Any) -> None:
    assert not is_clear_name(name)
    with pytest.raises(InvalidInput):
        declared(Step("a", ("end",)), END, task_type=name)


@pytest.mark.parametrize("name", ["a", "step-2", "v1.2", "2fast", "数据", "_x", "x" * 64])
def test_names_of_one_word_are_fine(name: str) -> None:
    assert is_clear_name(name)


def test_a_type_has_one_workflow() -> None:
    known = Workflows()
    mine = declared(Step("a", ("end",)), END)
    known.register(mine)
    known.register(declared(Step("a", ("end",)), END))
    with pytest.raises(InvalidInput) as caught:
        known.register(declared(Step("b", ("end",)), END))
    assert caught.value.code == "workflow_exists"
    for wrong in ("data_approval", None, Workflow):
        with pytest.raises(InvalidInput) as caught:
            known.register(wrong)  # type: ignore[arg-type]
        assert caught.value.code == "not_a_workflow"
    with pytest.raises(InvalidInput) as caught:
        known.of("other")
    assert (caught.value.code, "data_approval, mine" in caught.value.message) == (
        "unknown_task_type",
        True,
    )


def test_workers_are_offered_neither_ends_nor_steps_that_wait() -> None:
    mine = declared(Step("a", ("b",)), Step("b", ("end",), waits=True), END)
    known = Workflows(mine)
    assert known.claimable("mine") == [("mine", "a")]
    assert known.claimable() == [
        ("data_approval", "data_fetch"),
        ("data_approval", "validation"),
        ("mine", "a"),
    ]
