"""profile: what every prompt should hold of a user, or of a project, and the user's own word in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.memory import parse_time
from mnemic.cli.options import DONE, Command, Common, command
from mnemic.cli.output import counted, plain
from mnemic.cli.sleepers import hibernate, wake
from mnemic.cli.views import day
from mnemic.errors import InvalidInput
from mnemic.profile.fields import PROJECT_FIELDS, USER_FIELDS

if TYPE_CHECKING:
    from mnemic.profile.values import (
        Cause,
        Decision,
        Origin,
        Profile,
        ProfileChange,
        ProjectProfile,
        Value,
    )

OfProject = Annotated[
    bool, typer.Option("--of-project", help="The profile of the project (--project).")
]
_WIDTH = 22
_CAUSES: Mapping[Cause, str] = {
    "begin": "begun",
    "known": "as it was when its history began",
    "items": "memories",
    "edit": "edited",
    "delete": "taken away",
    "model": "written by a chat model",
}


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    group = typer.Typer(no_args_is_help=True, help="What is known of you at a glance.")
    app.add_typer(group, name="profile")
    for name, function in _COMMANDS.items():
        command(group, name)(function)


async def show(
    common: Common,
    contact: Annotated[
        bool, typer.Option("--contact", help="Show e-mail and phone in full.")
    ] = False,
    as_of: Annotated[
        str | None, typer.Option(help="What it was at a moment that has passed (with zone).")
    ] = None,
    of_project: OfProject = False,
) -> int:
    """Show the profile: its fields, and how many memories are behind each."""
    project, moment = _project(common, of_project), parse_time(as_of, "as-of")
    async with common.open() as memory:
        if project is None:
            profile: Profile | ProjectProfile = await memory.profiles.get(
                common.actor, contact=contact, as_of=moment
            )
        else:
            profile = await memory.profiles.get_project(common.actor, project, as_of=moment)
    _told(common, profile)
    return DONE


async def history(
    common: Common,
    limit: Annotated[int, typer.Option(help="Changes to show, 1 to 1,000.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the last page ended.")] = None,
    contact: Annotated[
        bool, typer.Option("--contact", help="Show e-mail and phone in full.")
    ] = False,
    of_project: OfProject = False,
) -> int:
    """Show how the profile changed, the newest change first."""
    project = _project(common, of_project)
    async with common.open() as memory:
        if project is None:
            found = await memory.profiles.history(
                common.actor, limit=limit, cursor=cursor, contact=contact
            )
        else:
            found = await memory.profiles.project_history(
                common.actor, project, limit=limit, cursor=cursor
            )
    lines = [line for change in found.changes for line in _change_lines(change)]
    if found.cursor:
        lines.append(f"More: --cursor {found.cursor}")
    common.out.result(plain(found), *(lines or ["Nothing is recorded."]))
    return DONE


async def edit(
    common: Common,
    field: Annotated[str, typer.Argument(help="The name of the field.")],
    values: Annotated[
        list[str] | None, typer.Argument(help="Its value; of a list each entry. None: empty.")
    ] = None,
    clear: Annotated[
        bool, typer.Option("--clear", help="Give the field back to what memories say.")
    ] = False,
    version: Annotated[
        int | None, typer.Option(help="Only if it still has this version (see show).")
    ] = None,
    of_project: OfProject = False,
) -> int:
    """Put a field by your own word, which stands whatever memories say."""
    project = _project(common, of_project)
    specs = USER_FIELDS if project is None else PROJECT_FIELDS
    value = _value(field, values or [], clear, many=field in specs and specs[field].many)
    async with common.open() as memory:
        if project is None:
            profile: Profile | ProjectProfile = await memory.profiles.edit(
                common.actor, field, value, expected_version=version
            )
        else:
            profile = await memory.profiles.patch_project(
                common.actor, project, {field: value}, expected_version=version
            )
    _told(common, profile)
    return DONE


async def find(
    common: Common,
    email: Annotated[str | None, typer.Option(help="An e-mail address.")] = None,
    phone: Annotated[str | None, typer.Option(help="A phone number with its country code.")] = None,
) -> int:
    """Find who gave an address or number, however written; needs the owner's login and is on the record."""
    from mnemic.profile.find import Contacts

    async with Contacts.open(common.settings()) as contacts:
        found = await contacts.find(common.actor, email=email, phone=phone)
    lines = [f"{one.user}  changed {day(one.updated_at)}" for one in found]
    common.out.result({"users": plain(found)}, *(lines or ["Nobody."]))
    return DONE


_COMMANDS: dict[str, Command] = {
    "show": show,
    "history": history,
    "edit": edit,
    "find": find,
    "hibernate": hibernate,
    "wake": wake,
}


def _project(common: Common, of_project: bool) -> str | None:
    if not of_project:
        return None
    if common.project is None:
        raise InvalidInput("project_required", "Name the project: --project PROJECT.")
    return common.project


def _value(field: str, values: list[str], clear: bool, *, many: bool) -> object:
    if clear and values:
        raise InvalidInput("value_and_clear", "Give a value or --clear, not both.")
    if clear:
        return None
    if many:
        return values
    if len(values) > 1:
        raise InvalidInput(
            "profile_value_invalid", f"{field} takes one value: quote it.", field=field
        )
    return values[0] if values else ""


def _field(name: str, value: Value, origin: Origin) -> str:
    text = "; ".join(value) if isinstance(value, tuple) else value or ""
    texts = " ⏎ ".join(line for line in text.splitlines() if line.strip()) or "-"
    by = "you" if origin.edited_at else counted(len(origin.items), "memory", "memories")
    return f"{name:<{_WIDTH}} {texts}  [{by}]"


def _decision(decision: Decision) -> str:
    why = f" ({decision.reason})" if decision.reason else ""
    return f"{'decided ' + day(decision.time):<{_WIDTH}} {decision.decision}{why}"


def _change_lines(change: ProfileChange) -> Iterator[str]:
    when = change.recorded_at.astimezone().isoformat(timespec="microseconds")
    by = f" by {change.by}" if change.by else ""
    yield f"version {change.version:<{_WIDTH - 8}} {when}  {_CAUSES[change.cause]}{by}"
    for name, value in change.values.items():
        origin = change.origins.get(name)
        yield "  " + (_field(name, value, origin) if origin else f"{name:<{_WIDTH}} -")
    for decision in change.decided:
        yield "  " + _decision(decision)
    if change.withdrawn:
        yield f"  {counted(len(change.withdrawn), 'decision')} withdrawn"


def _told(common: Common, profile: Profile | ProjectProfile) -> None:
    lines = [
        _field(name, value, profile.origins[name])
        for name, value in profile.values.items()
        if name in profile.origins
    ]
    lines += map(_decision, getattr(profile, "key_decisions", ()))
    lines.append(f"{'version':<{_WIDTH}} {profile.version}")
    common.out.result(plain(profile), *lines)
