"""Which steps does a kind of task have, and which may follow which?

A workflow is declared as an object, checked when it is made, and registered under its task type. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from mnemic.errors import InvalidInput

MAX_NAME = 64
MAX_STEPS = 200

Node = TypeVar("Node", bound=str)


def is_clear_name(value: object) -> bool:
    """Tell whether ``value`` may be stored readably: one word of 1 to 64 letters, digits, ``_ - .``."""
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME:
        return False
    return ("_" + value.replace("-", "_").replace(".", "_")).isidentifier()


@dataclass(frozen=True, slots=True)
class Step:
    """A step and those that may follow it; one that nothing follows ends the task.

    ``waits`` marks a step that waits for a person or for another system: no worker claims a task there.
    """

    name: str
    next: tuple[str, ...] = ()
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Workflow:
    """The steps of a task type; a task begins at the first.

    Raises InvalidInput (``invalid_workflow``): names are single words of at most 64 letters, digits and
    ``_ - .``, every step is named once, is reached from the first and leads to an end.
    """

    task_type: str
    steps: tuple[Step, ...]
    _by_name: Mapping[str, Step] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.steps, tuple) or not all(isinstance(s, Step) for s in self.steps):
            raise _invalid("its steps are a tuple of Step")
        by_name = {step.name: step for step in self.steps}
        object.__setattr__(self, "_by_name", by_name)
        _require_sound(self.task_type, self.steps, by_name)

    @property
    def first(self) -> str:
        """The step at which a task begins."""
        return self.steps[0].name

    def step(self, name: object) -> Step:
        """Return a step. Raises InvalidInput (``unknown_step``) that lists what there is."""
        found = self._by_name.get(name) if isinstance(name, str) else None
        if found is None:
            raise InvalidInput("unknown_step", f"A step must be one of {', '.join(self._by_name)}.")
        return found

    def is_final(self, name: str) -> bool:
        """Tell whether a task ends at this step."""
        return not self.step(name).next


def _require_sound(task_type: object, steps: tuple[Step, ...], by_name: Mapping[str, Step]) -> None:
    if not is_clear_name(task_type) or not all(is_clear_name(step.name) for step in steps):
        raise _invalid(f"a name is one word of at most {MAX_NAME} letters, digits and _ - .")
    if not 2 <= len(steps) <= MAX_STEPS or len(by_name) != len(steps):
        raise _invalid(f"it has 2 to {MAX_STEPS} steps, each named once")
    for step in steps:
        if not isinstance(step.next, tuple) or not set(step.next) <= by_name.keys():
            raise _invalid("what follows a step is a tuple of its steps' names")
    after = {step.name: step.next for step in steps}
    if _reached(steps[0].name, after) != by_name.keys():
        raise _invalid("every step can be reached from the first")
    before: dict[str, list[str]] = {name: [] for name in by_name}
    for name, following in after.items():
        for one in following:
            before[one].append(name)
    ends = [step.name for step in steps if not step.next]
    if set().union(*(_reached(end, before) for end in ends)) != by_name.keys():
        raise _invalid("every step leads to an end")


def _reached(start: Node, after: Mapping[Node, Iterable[Node]]) -> set[Node]:
    found, rest = {start}, [start]
    while rest:
        for name in after[rest.pop()]:
            if name not in found:
                found.add(name)
                rest.append(name)
    return found


def _invalid(rule: str) -> InvalidInput:
    return InvalidInput("invalid_workflow", f"This workflow cannot be: {rule}.")


DATA_APPROVAL = Workflow(
    "data_approval",
    (
        Step("data_fetch", ("validation",)),
        Step("validation", ("approval",)),
        Step("approval", ("completed",), waits=True),
        Step("completed"),
    ),
)
"""The example that comes with Mnemic: data is fetched and validated, and somebody approves it."""


class Workflows:
    """The workflows that a service knows, by task type."""

    def __init__(self, *workflows: Workflow) -> None:
        self._known: dict[str, Workflow] = {}
        for workflow in (DATA_APPROVAL, *workflows):
            self.register(workflow)

    def register(self, workflow: Workflow) -> None:
        """Add a workflow; the same one twice is fine.

        Raises InvalidInput (``not_a_workflow``; ``workflow_exists`` when another one has its task type).
        """
        if not isinstance(workflow, Workflow):
            raise InvalidInput("not_a_workflow", "What to register is a Workflow.")
        if self._known.setdefault(workflow.task_type, workflow) != workflow:
            raise InvalidInput(
                "workflow_exists", "Another workflow has this task type: choose another name."
            )

    def of(self, task_type: object) -> Workflow:
        """Return the workflow of a task type. Raises InvalidInput (``unknown_task_type``)."""
        found = self._known.get(task_type) if isinstance(task_type, str) else None
        if found is None:
            known = ", ".join(sorted(self._known))
            raise InvalidInput(
                "unknown_task_type",
                f"A task type must be one of {known}; declare the workflow of any other first"
                " (MNEMIC_WORKFLOWS, or register).",
            )
        return found

    def claimable(self, task_type: str | None = None) -> list[tuple[str, str]]:
        """Return task type and step of all steps that a worker may do, of one type or of all.

        Raises InvalidInput (``unknown_task_type``).
        """
        chosen = self._known.values() if task_type is None else (self.of(task_type),)
        return [(w.task_type, s.name) for w in chosen for s in w.steps if s.next and not s.waits]
