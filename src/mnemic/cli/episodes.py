"""checkpoint, approval: where agents stopped, and what they wait for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.cli.options import DONE, Command, Common, command
from mnemic.cli.output import counted, plain
from mnemic.errors import InvalidInput

if TYPE_CHECKING:
    from datetime import datetime

    from mnemic.episodic.episode import Approval, Episode, ThreadInfo

_WIDTH = 9
_SHOWN = 400
"""Characters of a message that a line shows."""
Thread = Annotated[
    str | None, typer.Option("--thread", help="A thread, where a session has several.")
]


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    checkpoints = typer.Typer(
        no_args_is_help=True, help="Where agents stopped, and how they go on."
    )
    app.add_typer(checkpoints, name="checkpoint")
    for name, function in _CHECKPOINT.items():
        command(checkpoints, name)(function)
    approvals = typer.Typer(no_args_is_help=True, help="What agents wait for, and decide it.")
    app.add_typer(approvals, name="approval")
    for name, function in _APPROVAL.items():
        command(approvals, name)(function)


async def list_threads(
    common: Common,
    thread: Annotated[
        str | None, typer.Argument(metavar="THREAD", help="List its checkpoints instead.")
    ] = None,
    limit: Annotated[int, typer.Option(help="How many, 1 to 1,000.")] = 50,
) -> int:
    """List your agents' threads, or the checkpoints of one, the newest first."""
    async with common.open() as memory:
        if thread is None:
            session = common.session
            threads = await memory.episodes.threads(common.actor, session_id=session, limit=limit)
            common.out.result({"threads": plain(threads)}, *map(_thread_line, threads))
            return DONE
        steps = await memory.episodes.history(common.actor, thread, limit=limit)
    lines = (
        f"{step.checkpoint_id}  {_time(step.at)}  step {step.step}  {', '.join(step.next) or 'end'}"
        for step in steps
    )
    common.out.result({"checkpoints": plain(steps)}, *lines)
    return DONE


async def resume(common: Common, thread: Thread = None) -> int:
    """Show where the agent of your --session (or of a --thread) stopped."""
    async with common.open() as memory:
        if thread is None:
            episode = await memory.episodes.resume(common.actor)
        else:
            episode = await memory.episodes.thread(common.actor, thread)
    common.out.result(plain(_shown(episode)), *_lines(episode))
    return DONE


async def archive(
    common: Common,
    thread: Annotated[
        str | None, typer.Argument(metavar="THREAD", help="One of yours; without it: of all users.")
    ] = None,
    keep: Annotated[
        int | None, typer.Option(help="How many of the newest stay; with a THREAD.")
    ] = None,
    restore: Annotated[
        bool, typer.Option("--restore", help="Bring the checkpoints of a THREAD back.")
    ] = False,
) -> int:
    """Move old checkpoints into the archive, or bring them back."""
    if thread is None and (restore or keep is not None):
        raise InvalidInput("thread_required", "--keep and --restore need a THREAD.")
    async with common.open() as memory:
        episodes = memory.episodes
        if thread is None:
            moved = dict(await episodes.archive_expired())
        elif restore:
            moved = {"threads": 1, "checkpoints": await episodes.restore(common.actor, thread)}
        else:
            count = await episodes.archive(common.actor, thread, keep=keep)
            moved = {"threads": 1, "checkpoints": count}
    word = "restored" if restore else "archived"
    common.out.result({word: moved}, f"{word}  {counted(moved['checkpoints'], 'checkpoint')}")
    return DONE


async def list_approvals(common: Common) -> int:
    """List what agents wait for: in your --session, or in all."""
    async with common.open() as memory:
        waiting = await memory.episodes.pending_approvals(common.actor, common.session)
    lines = [line for one in waiting for line in _approval_lines(one)]
    common.out.result({"approvals": plain(waiting)}, *(lines or ["Nothing waits."]))
    return DONE


async def decide(
    common: Common,
    approval_id: Annotated[str, typer.Argument(metavar="ID", help="The id of what waits.")],
    approve: Annotated[bool, typer.Option("--approve", help="Let it be done.")] = False,
    edit: Annotated[
        str | None, typer.Option("--edit", help="Do it with these arguments: a JSON object.")
    ] = None,
    reject: Annotated[bool, typer.Option("--reject", help="Do not let it be done.")] = False,
    answer: Annotated[
        str | None, typer.Option("--answer", help="This answer: JSON, or plain text.")
    ] = None,
    message: Annotated[str | None, typer.Option("--message", help="Why, with --reject.")] = None,
) -> int:
    """Decide what an agent waits for: --approve, --edit, --reject or --answer."""
    chosen = [approve, edit is not None, reject, answer is not None]
    if sum(chosen) != 1 or (message is not None and not reject):
        raise InvalidInput(
            "decision_unclear",
            "Decide by one of --approve, --edit, --reject (with or without --message) and --answer.",
        )
    arguments = None if edit is None else _object(edit)
    async with common.open() as memory:
        episodes, actor = memory.episodes, common.actor
        if approve:
            episode = await episodes.approve(actor, approval_id)
        elif reject:
            episode = await episodes.reject(actor, approval_id, message)
        elif answer is not None:
            episode = await episodes.answer(actor, approval_id, _value(answer))
        else:
            episode = await episodes.edit(actor, approval_id, arguments)
    common.out.result(plain(_shown(episode)), f"decided  {approval_id}", *_lines(episode)[:3])
    return DONE


_CHECKPOINT: dict[str, Command] = {"list": list_threads, "resume": resume, "archive": archive}
_APPROVAL: dict[str, Command] = {"list": list_approvals, "decide": decide}


def _object(text: str) -> dict[str, Any]:
    value = _value(text)
    if not isinstance(value, dict):
        raise InvalidInput("data_not_json", 'Arguments are a JSON object, such as {"to": "ann"}.')
    return value


def _value(text: str) -> Any:
    """Return what JSON says, and the text itself where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _shown(episode: Episode) -> dict[str, Any]:
    """Return an episode as JSON can hold it: the state by the names of its channels only."""
    names = (
        *("session_id", "thread_id", "checkpoint_id", "status", "next", "messages", "todo_list"),
        *("tools", "approvals", "failure", "updated_at"),
    )
    return {name: getattr(episode, name) for name in names} | {"state": sorted(episode.state)}


def _lines(episode: Episode) -> list[str]:
    pairs = [
        ("thread", episode.thread_id),
        ("status", episode.status),
        ("next", ", ".join(episode.next) or None),
        ("failure", episode.failure),
        ("changed", _time(episode.updated_at)),
    ]
    lines = [f"{name:<{_WIDTH}} {value}" for name, value in pairs if value is not None]
    lines += [f"todo      {_short(todo)}" for todo in episode.todo_list]
    for tool in episode.tools:
        lines.append(f"tool      {tool.status:<8}{tool.name} {_short(tool.arguments)}")
    lines += [f"{one['role']:<9} {_short(one['content'])}" for one in episode.messages]
    return lines + [line for one in episode.approvals for line in _approval_lines(one)]


def _approval_lines(approval: Approval) -> list[str]:
    lines = [f"waiting   {approval.id}  {_time(approval.asked_at)}  session {approval.session_id}"]
    for action in approval.actions:
        lines.append(f"  {action['name']} {_short(action.get('args', {}))}")
    return lines if approval.actions else [*lines, f"  {_short(approval.question)}"]


def _thread_line(thread: ThreadInfo) -> str:
    return (
        f"{thread.status or 'new':<{_WIDTH}} {_time(thread.last_active_at)}  {thread.thread_id}"
        f"  {counted(thread.live, 'checkpoint')}, {thread.archived} archived"
    )


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[:_SHOWN] + "…"


def _time(time: datetime | None) -> str:
    return "" if time is None else time.astimezone().strftime("%Y-%m-%d %H:%M:%S")
