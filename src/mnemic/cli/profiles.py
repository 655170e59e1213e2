"""profile: what every prompt should hold of a user, or of a project, and the user's own word in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.options import DONE, Command, Common, command
from mnemic.cli.output import plain
from mnemic.cli.views import day
from mnemic.errors import InvalidInput
from mnemic.profile.fields import PROJECT_FIELDS, USER_FIELDS

if TYPE_CHECKING:
    from mnemic.profile.values import Profile, ProjectProfile

OfProject = Annotated[
    bool, typer.Option("--of-project", help="The profile of the project (--project).")
]
_WIDTH = 22


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
    of_project: OfProject = False,
) -> int:
    """Show the profile: its fields, and how many memories are behind each."""
    project = _project(common, of_project)
    async with common.open() as memory:
        if project is None:
            profile: Profile | ProjectProfile = await memory.profiles.get(
                common.actor, contact=contact
            )
        else:
            profile = await memory.profiles.get_project(common.actor, project)
    _told(common, profile)
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


_COMMANDS: dict[str, Command] = {"show": show, "edit": edit}


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


def _counted(memories: int) -> str:
    return f"{memories} memor{'y' if memories == 1 else 'ies'}"


def _told(common: Common, profile: Profile | ProjectProfile) -> None:
    lines = []
    for name, value in profile.values.items():
        origin = profile.origins.get(name)
        if origin is None:
            continue
        texts = "; ".join(value) if isinstance(value, tuple) else value or ""
        by = "you" if origin.edited_at else _counted(len(origin.items))
        lines.append(f"{name:<{_WIDTH}} {texts}  [{by}]")
    for decision in getattr(profile, "key_decisions", ()):
        why = f" ({decision.reason})" if decision.reason else ""
        lines.append(f"{'decided ' + day(decision.time):<{_WIDTH}} {decision.decision}{why}")
    lines.append(f"{'version':<{_WIDTH}} {profile.version}")
    common.out.result(plain(profile), *lines)
