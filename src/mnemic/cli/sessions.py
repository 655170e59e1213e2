"""session: conversations, what one keeps for a while, and its end."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.checks import whole
from mnemic.cli.options import DONE, REFUSED, Command, Common, command
from mnemic.cli.output import counted, plain
from mnemic.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from datetime import datetime

    from rich.text import Text

    from mnemic.model import Actor, Turn
    from mnemic.session.condense import Conversation
    from mnemic.session.sessions import SessionInfo

_LABEL = 12
_WIDTH = 9
_JSON_BEGINS = ("{", "[", '"')
Named = Annotated[
    str | None, typer.Argument(metavar="[SESSION]", help="The session; else the one of --session.")
]
Name = Annotated[str, typer.Argument(help="The name of the value.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    group = typer.Typer(no_args_is_help=True, help="Conversations, and what one keeps for a while.")
    app.add_typer(group, name="session")
    for name, function in _COMMANDS.items():
        command(group, name)(function)


async def list_sessions(
    common: Common,
    limit: Annotated[int, typer.Option(help="How many, 1 to 1,000.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the last page ended.")] = None,
) -> int:
    """List your sessions, the last begun first."""
    whole(limit, 1, 1_000, "limit")
    async with common.open() as memory:
        page = await memory.sessions.list(common.actor, limit=limit, cursor=cursor)
    if common.out.as_json:
        common.out.result(plain(page))
        return DONE
    for info in page.sessions:
        common.out.record(*_shown(info))
    common.out.note(f"{len(page.sessions)} of {page.total}")
    if page.cursor:
        common.out.note(f"next page: --cursor {page.cursor}")
    return DONE


async def show(common: Common, named: Named = None) -> int:
    """Show a session: when it began and ended, how many turns it has, what it keeps."""
    actor = _actor(common, named)
    async with common.open() as memory:
        info = await memory.sessions.info(actor)
        kept = await memory.sessions.state(actor)
        summary = await memory.sessions.summary(actor)
    facts = (
        ("session", info.session_id),
        ("project", info.project_id),
        ("begun", _time(info.started_at)),
        ("last used", _time(info.last_active_at)),
        ("closed", info.closed_at and _time(info.closed_at)),
        ("turns", info.turns),
        ("extracted", info.extracted),
        ("summed up", summary and f"{counted(len(summary.seqs), 'turn')}, by {summary.by}"),
        ("keeps", ", ".join(kept)),
    )
    lines = [f"{name:<{_LABEL}}{value}" for name, value in facts if value not in (None, "")]
    common.out.result({**plain(info), "summary": summary, "keeps": sorted(kept)}, *lines)
    return DONE


async def messages(
    common: Common,
    named: Named = None,
    after: Annotated[int, typer.Option(help="Only turns with a number over this.")] = 0,
    limit: Annotated[int, typer.Option(help="How many, 1 to 10,000.")] = 100,
) -> int:
    """List what was said, oldest first."""
    whole(limit, 1, 10_000, "limit")
    async with common.open() as memory:
        turns = await memory.sessions.read(_actor(common, named), after=after, limit=limit)
    if common.out.as_json:
        common.out.result({"messages": [_told(turn) for turn in turns]})
        return DONE
    for turn in turns:
        common.out.record(_head(turn), _body(turn))
    return DONE


async def window(
    common: Common,
    named: Named = None,
    last: Annotated[int, typer.Option(help="How many of the newest turns, 0 to 10,000.")] = 20,
    budget: Annotated[
        int | None,
        typer.Option(
            help="Tokens, 50 to 1,000,000: what contributes stays, the oldest is summed up."
        ),
    ] = None,
    intent: Annotated[str | None, typer.Option(help="What the session is about now.")] = None,
) -> int:
    """Show a conversation as it goes into a prompt."""
    async with common.open() as memory:
        found = await memory.sessions.window(
            _actor(common, named), last, budget_tokens=budget, intent=intent
        )
    if common.out.as_json:
        common.out.result(_conversation(found))
        return DONE
    if found.summary is not None:
        common.out.line(found.summary.shown)
    for turn in found.turns:
        common.out.record(_head(turn), _body(turn))
    left_out = f", {counted(len(found.left_out), 'turn')} left out" if found.left_out else ""
    common.out.note(counted(found.tokens, "token") + left_out)
    return DONE


async def close(common: Common, named: Named = None) -> int:
    """End a session: what was said becomes memories, its own memories go to the archive."""
    async with common.open() as memory:
        closure = await memory.sessions.close(_actor(common, named))
    lines = [
        f"closed  {closure.session_id}  {_time(closure.closed_at)}",
        f"{counted(closure.extracted, 'turn')} read,"
        f" {counted(closure.memories, 'memory', 'memories')}, {closure.archived} archived",
    ]
    if closure.problem is not None:
        lines.append(f"Some turns were not read ({closure.problem}): close it again later.")
    common.out.result(plain(closure), *lines)
    return DONE if closure.problem is None else REFUSED


async def set_value(
    common: Common,
    name: Name,
    value: Annotated[str, typer.Argument(help="A JSON value, or plain words, which are text.")],
    as_text: Annotated[
        bool, typer.Option("--text", help="The value is text, whatever it looks like.")
    ] = False,
    ttl: Annotated[
        float | None, typer.Option(help="For how many seconds; 30 minutes unless said.")
    ] = None,
) -> int:
    """Keep a value for a while."""
    kept = value if as_text else _value(value)
    async with common.open() as memory:
        entry = await memory.sessions.set(common.actor, name, kept, ttl=ttl)
    common.out.result(plain(entry), f"kept  {entry.name}  until {_time(entry.expires_at)}")
    return DONE


async def get_value(common: Common, name: Name) -> int:
    """Show a value that is kept."""
    async with common.open() as memory:
        entry = await memory.sessions.entry(common.actor, name)
        if entry is None:
            await memory.sessions.info(common.actor)  # or there is no such session at all
    if entry is None:
        raise NotFound("value_not_found", "This session keeps no value of this name (any more).")
    common.out.result(plain(entry), json.dumps(entry.value, ensure_ascii=False))
    return DONE


_COMMANDS: dict[str, Command] = {
    "list": list_sessions,
    "show": show,
    "messages": messages,
    "window": window,
    "close": close,
    "set": set_value,
    "get": get_value,
}


def _actor(common: Common, named: str | None) -> Actor:
    return common.actor if named is None else replace(common.actor, session=named)


def _value(text: str) -> Any:
    """Return the JSON value that was typed, else the words.

    Raises InvalidInput (``value_not_json``) for what begins like JSON and is none.
    """
    try:
        return json.loads(text)
    except ValueError:
        if text.lstrip().startswith(_JSON_BEGINS):
            raise InvalidInput(
                "value_not_json", "This begins like JSON, but is none: --text keeps it as text."
            ) from None
        return text
    except RecursionError:
        raise InvalidInput("value_not_json", "This value is nested too deep.") from None


def _told(turn: Turn) -> dict[str, Any]:
    value: dict[str, Any] = plain(turn)
    del value["client_id"]
    return value


def _conversation(found: Conversation) -> dict[str, Any]:
    return {
        "summary": plain(found.summary),
        "messages": [_told(turn) for turn in found.turns],
        "left_out": list(found.left_out),
        "tokens": found.tokens,
        "fits": found.fits,
    }


def _shown(info: SessionInfo) -> tuple[Text, str]:
    from rich.text import Text

    head = Text(info.session_id, style="bold")
    times = f"begun {_time(info.started_at)}  last used {_time(info.last_active_at)}"
    ended = "" if info.closed_at is None else f"  closed {_time(info.closed_at)}"
    head.append(f"  {times}{ended}", style="not bold dim")
    turns = counted(info.turns, "turn")
    return head, turns if info.project_id is None else f"{turns}, project {info.project_id}"


def _head(turn: Turn) -> Text:
    from rich.text import Text

    head = Text(f"{turn.seq or 0:>4}  {turn.role:<{_WIDTH}}", style="bold")
    marks = "  ".join(
        part
        for part in (
            turn.speaker,
            _time(turn.created_at) if turn.created_at else None,
            "pinned" if turn.pinned else None,
        )
        if part
    )
    return head.append(f"  {marks}", style="not bold dim")


def _body(turn: Turn) -> str:
    calls = [
        f"{call.name}({json.dumps(call.arguments, ensure_ascii=False)})" for call in turn.tool_calls
    ]
    return "\n".join(part for part in (turn.content, *calls) if part)


def _time(time: datetime) -> str:
    return time.astimezone().strftime("%Y-%m-%d %H:%M:%S")
