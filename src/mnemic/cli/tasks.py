"""task: work that takes hours or days, step by step."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.checks import one_of, whole
from mnemic.cli.options import DONE, REFUSED, Command, Common, command
from mnemic.cli.output import plain
from mnemic.errors import InvalidInput, KeyUnavailable
from mnemic.tasks.state import STATUSES

if TYPE_CHECKING:
    from datetime import datetime

    from rich.text import Text

    from mnemic.tasks.claims import Claim
    from mnemic.tasks.state import Task, TaskEvent

_WIDTH = 9
_LABEL = 10
TaskId = Annotated[str, typer.Argument(metavar="ID", help="The id of the task.")]
To = Annotated[
    str | None, typer.Option("--to", help="The step to go to, where several may follow.")
]
AtStep = Annotated[str | None, typer.Option("--step", help="Only if it is at this step.")]
Data = Annotated[
    str | None, typer.Option("--data", help="What to set in its state: a JSON object.")
]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", help="A name to take out of its state; repeatable.")
]
Version = Annotated[
    int | None, typer.Option("--version", help="Only if it still has this version (see show).")
]
EventId = Annotated[
    str | None,
    typer.Option("--event-id", help="A UUID: the same call sent again does nothing more."),
]
Token = Annotated[str | None, typer.Option("--claim", help="The token of your claim.")]
Lease = Annotated[int, typer.Option(help="For how many seconds, 1 to 86,400.")]
Type = Annotated[str | None, typer.Option("--type", help="Only tasks of this type.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    group = typer.Typer(no_args_is_help=True, help="Work that takes hours or days.")
    app.add_typer(group, name="task")
    for name, function in _COMMANDS.items():
        command(group, name)(function)


async def create(
    common: Common,
    task_type: Annotated[str, typer.Argument(metavar="TYPE", help="Such as data_approval.")],
    data: Data = None,
    event_id: EventId = None,
) -> int:
    """Begin a task at the first step of its workflow."""
    state = _object(data)
    async with common.open() as memory:
        task = await memory.tasks.create(common.actor, task_type, state, event_id=event_id)
    return _told(common, task, "begun")


async def advance(
    common: Common,
    task_id: TaskId,
    to: To = None,
    step: AtStep = None,
    data: Data = None,
    drop: Drop = None,
    version: Version = None,
    event_id: EventId = None,
    claim: Token = None,
) -> int:
    """Go on to the next step; or start a failed one again, with --to its own name."""
    given = _given(step, data, drop, version, event_id, claim)
    async with common.open() as memory:
        task = await memory.tasks.advance(common.actor, task_id, to, **given)
    return _told(common, task, task.status)


async def fail(
    common: Common,
    task_id: TaskId,
    reason: Annotated[str, typer.Argument(help="Why the step failed.")],
    step: AtStep = None,
    data: Data = None,
    drop: Drop = None,
    version: Version = None,
    event_id: EventId = None,
    claim: Token = None,
) -> int:
    """Say that its step failed, and why."""
    given = _given(step, data, drop, version, event_id, claim)
    async with common.open() as memory:
        task = await memory.tasks.fail(common.actor, task_id, reason, **given)
    return _told(common, task, task.status)


async def complete(
    common: Common,
    task_id: TaskId,
    to: To = None,
    step: AtStep = None,
    data: Data = None,
    drop: Drop = None,
    version: Version = None,
    event_id: EventId = None,
    claim: Token = None,
) -> int:
    """Go from its last step to an end."""
    given = _given(step, data, drop, version, event_id, claim)
    async with common.open() as memory:
        task = await memory.tasks.complete(common.actor, task_id, to, **given)
    return _told(common, task, task.status)


async def show(common: Common, task_id: TaskId) -> int:
    """Show a task: where it is, and its state."""
    async with common.open() as memory:
        task = await memory.tasks.get(common.actor, task_id)
    common.out.result(plain(task), *_lines(task))
    return DONE


async def list_tasks(
    common: Common,
    limit: Annotated[int, typer.Option(help="How many, 1 to 1,000.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the last page ended.")] = None,
    task_type: Type = None,
    status: Annotated[str | None, typer.Option(help="running, failed or completed.")] = None,
) -> int:
    """List your tasks, the last changed first."""
    whole(limit, 1, 1_000, "limit")
    chosen = None if status is None else one_of(status, STATUSES, "status")
    async with common.open() as memory:
        page = await memory.tasks.list(
            common.actor, limit=limit, cursor=cursor, task_type=task_type, status=chosen
        )
    if common.out.as_json:
        common.out.result(plain(page))
        return DONE
    for task in page.tasks:
        common.out.record(_head(task), f"{task.task_type} at {task.current_step}")
    common.out.note(f"{len(page.tasks)} of {page.total}")
    if page.cursor:
        common.out.note(f"More: --cursor {page.cursor}")
    return DONE


async def replay(
    common: Common,
    task_id: TaskId,
    version: Annotated[int | None, typer.Option(help="As it was at this version.")] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Write its row anew, as its events tell.")
    ] = False,
) -> int:
    """Tell from its events what a task is, and whether its row says the same."""
    if repair and version is not None:
        raise InvalidInput("repair_at_version", "A row is repaired to the latest version only.")
    async with common.open() as memory:
        tasks, actor = memory.tasks, common.actor
        task = await (
            tasks.repair(actor, task_id)
            if repair
            else tasks.replay(actor, task_id, version=version)
        )
        try:
            matches = version is not None or await tasks.get(actor, task_id) == task
        except KeyUnavailable:
            matches = False
    said = "The row says the same." if matches else "The row says something else: add --repair."
    said = said if version is None else f"So it was at version {version}."
    common.out.result({"task": task, "matches": matches}, *_lines(task), said)
    return DONE if matches else REFUSED


async def history(
    common: Common,
    task_id: TaskId,
    after: Annotated[int, typer.Option(help="Only events with a number over this.")] = 0,
    limit: Annotated[int, typer.Option(help="How many, 1 to 10,000.")] = 10_000,
) -> int:
    """List what happened to a task, oldest first."""
    async with common.open() as memory:
        events = await memory.tasks.history(common.actor, task_id, after=after, limit=limit)
    common.out.result({"events": events}, *map(_event_line, events))
    return DONE


async def claim(
    common: Common,
    task_type: Type = None,
    lease: Lease = 300,
) -> int:
    """Take the task that has waited longest for a worker."""
    async with common.open() as memory:
        found = await memory.tasks.claim_next(common.actor, task_type, lease=lease)
    if found is None:
        common.out.result({"claim": None}, "Nothing waits.")
        return DONE
    return _claimed(common, found)


async def renew(
    common: Common,
    task_id: TaskId,
    token: Annotated[str, typer.Argument(help="The token of your claim.")],
    lease: Lease = 300,
) -> int:
    """Hold a claimed task for longer, from now on."""
    async with common.open() as memory:
        held = await memory.tasks.renew(common.actor, task_id, token, lease=lease)
    return _claimed(common, held)


async def release(
    common: Common,
    task_id: TaskId,
    token: Annotated[str, typer.Argument(help="The token of your claim.")],
) -> int:
    """Give a claimed task back before its time."""
    async with common.open() as memory:
        await memory.tasks.release(common.actor, task_id, token)
    common.out.result({"released": task_id}, f"released  {task_id}")
    return DONE


_COMMANDS: dict[str, Command] = {
    "create": create,
    "advance": advance,
    "fail": fail,
    "complete": complete,
    "show": show,
    "list": list_tasks,
    "replay": replay,
    "history": history,
    "claim": claim,
    "renew": renew,
    "release": release,
}


def _object(data: str | None) -> dict[str, Any] | None:
    """Return a JSON object. Raises InvalidInput (``data_not_json``)."""
    if data is None:
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidInput("data_not_json", 'State data is a JSON object, such as {"rows": 12}.')
    return value


def _given(
    step: str | None,
    data: str | None,
    drop: list[str] | None,
    version: int | None,
    event_id: str | None,
    claim: str | None,
) -> dict[str, Any]:
    return {
        "step": step,
        "data": _object(data),
        "drop": drop or (),
        "expected_version": version,
        "event_id": event_id,
        "claim": claim,
    }


def _told(common: Common, task: Task, word: str) -> int:
    line = (
        f"{word}  {task.task_id}  {task.task_type} at {task.current_step}, version {task.version}"
    )
    common.out.result(plain(task), line)
    return DONE


def _claimed(common: Common, held: Claim) -> int:
    value = {"task": held.task, "token": held.token, "until": held.until}
    common.out.result(
        {"claim": plain(value)},
        f"claimed  {held.task.task_id}  {held.task.task_type} at {held.task.current_step}",
        f"token    {held.token}  until {_time(held.until)}",
    )
    return DONE


def _head(task: Task) -> Text:
    from rich.text import Text

    head = Text(f"{task.status:<{_WIDTH}}", style="bold")
    return head.append(f"  {_time(task.updated_at)}  {task.task_id}", style="not bold dim")


def _lines(task: Task) -> list[str]:
    lines = [
        f"{name:<{_LABEL}}{value}"
        for name, value in (
            ("id", task.task_id),
            ("type", task.task_type),
            ("step", task.current_step),
            ("status", task.status),
            ("failure", task.failure),
            ("version", task.version),
            ("begun", _time(task.created_at)),
            ("changed", _time(task.updated_at)),
        )
        if value is not None
    ]
    if task.state_data:
        lines.append("state")
    shown = (
        (name, json.dumps(value, ensure_ascii=False)) for name, value in task.state_data.items()
    )
    return lines + [f"  {name}: {value}" for name, value in sorted(shown)]


def _event_line(event: TaskEvent) -> str:
    step = str(event.payload["step"])
    reason = event.payload.get("reason")
    said = f"  {reason}" if reason else ""
    kind = event.event_type.removeprefix("step_")
    return f"{event.seq:>4}  {_time(event.at)}  version {event.version:<4} {kind:<8} {step}{said}"


def _time(time: datetime) -> str:
    return time.astimezone().strftime("%Y-%m-%d %H:%M:%S")
