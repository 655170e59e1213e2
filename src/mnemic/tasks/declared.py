"""Which workflows has the operator declared? ``MNEMIC_WORKFLOWS`` names a JSON file of task types and steps:

    {"report": [{"name": "write", "next": ["review"]},
                {"name": "review", "next": ["write", "done"], "waits": true},
                {"name": "done"}]}

So the command line, the service and MCP servers know them without a line of Python.
"""

from __future__ import annotations

import json
from pathlib import Path

from mnemic.errors import ConfigurationError, InvalidInput
from mnemic.tasks.workflows import Step, Workflow, Workflows

_FIELDS = {"name", "next", "waits"}


def declared(path: Path | None) -> Workflows:
    """Return the workflows of a file beside the one that comes with Mnemic; without a file that one alone.

    Raises ConfigurationError: ``workflows_unreadable``, and ``workflows_invalid`` with what is wrong.
    """
    if path is None:
        return Workflows()
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(
            "workflows_unreadable", f"MNEMIC_WORKFLOWS: {path} cannot be read: {error.strerror}."
        ) from None
    except (ValueError, RecursionError):
        raise _invalid("it must be JSON in UTF-8") from None
    if not isinstance(told, dict):
        raise _invalid("it must be a JSON object of task types")
    try:
        return Workflows(*(_workflow(name, steps) for name, steps in told.items()))
    except InvalidInput as error:
        raise _invalid(error.message.rstrip(".")) from None


def _workflow(task_type: str, steps: object) -> Workflow:
    if not isinstance(steps, list):
        raise _invalid(f"{task_type} must be a list of steps")
    try:
        return Workflow(task_type, tuple(_step(task_type, step) for step in steps))
    except InvalidInput as error:
        raise _invalid(f"{task_type}: {error.message.rstrip('.')}") from None


def _step(task_type: str, told: object) -> Step:
    if not isinstance(told, dict) or "name" not in told or not set(told) <= _FIELDS:
        raise _invalid(f"a step of {task_type} is an object of name, next and waits")
    following, waits = told.get("next", []), told.get("waits", False)
    names = [told["name"], *following] if isinstance(following, list) else [None]
    if not isinstance(waits, bool) or not all(isinstance(name, str) for name in names):
        raise _invalid(f"in {task_type} a name is text, next a list of names, waits true or false")
    return Step(told["name"], tuple(following), waits)


def _invalid(rule: str) -> ConfigurationError:
    return ConfigurationError("workflows_invalid", f"MNEMIC_WORKFLOWS: {rule}.")
