"""project: what is shared, with whom and in which role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.checks import one_of
from mnemic.cli.options import DONE, Command, Common, command, unconfirmed
from mnemic.cli.output import counted, plain
from mnemic.cli.views import day
from mnemic.model import PROJECT_ROLES, clean_id

if TYPE_CHECKING:
    from rich.text import Text

    from mnemic.projects import Member, Project, ProjectDeletion

_WIDTH = 8
ProjectId = Annotated[str, typer.Argument(metavar="PROJECT", help="The id of the project.")]
User = Annotated[str, typer.Argument(metavar="MEMBER", help="The id of the member.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    group = typer.Typer(no_args_is_help=True, help="Projects and their members.")
    app.add_typer(group, name="project")
    for name, function in _COMMANDS.items():
        command(group, name)(function)


async def create(
    common: Common,
    project_id: ProjectId,
    name: Annotated[str | None, typer.Option(help="Its name; else its id.")] = None,
) -> int:
    """Make a project; you are its owner."""
    wanted = clean_id(project_id, "project")
    async with common.open() as memory:
        project = await memory.projects.create(common.actor, wanted, name or wanted)
    common.out.result(plain(project), f"created  {project.project_id}  {project.name}")
    return DONE


async def list_projects(common: Common) -> int:
    """List the projects that you belong to."""
    async with common.open() as memory:
        projects = await memory.projects.mine(common.actor)
    if common.out.as_json:
        common.out.result({"projects": projects})
        return DONE
    for project in projects:
        common.out.record(_head(project.role, project.project_id), project.name)
    common.out.note(counted(len(projects), "project"))
    return DONE


async def show(common: Common, project_id: ProjectId) -> int:
    """Show a project: its name, your role, who made it."""
    wanted = clean_id(project_id, "project")
    async with common.open() as memory:
        project = await memory.projects.get(common.actor, wanted)
    common.out.result(plain(project), *_lines(project))
    return DONE


async def rename(
    common: Common,
    project_id: ProjectId,
    name: Annotated[str, typer.Argument(help="Its new name, at most 200 characters.")],
    version: Annotated[
        int | None, typer.Option(help="Only if it still has this version (see show).")
    ] = None,
) -> int:
    """Give a project another name; its id stays."""
    wanted = clean_id(project_id, "project")
    async with common.open() as memory:
        project = await memory.projects.rename(common.actor, wanted, name, expected_version=version)
    common.out.result(plain(project), f"renamed  {project.project_id}  {project.name}")
    return DONE


async def members(common: Common, project_id: ProjectId) -> int:
    """List who belongs to a project, the longest-standing first."""
    wanted = clean_id(project_id, "project")
    async with common.open() as memory:
        found = await memory.projects.members(common.actor, wanted)
    lines = (_head(one.role, f"{one.user}  since {day(one.since)}") for one in found)
    common.out.result({"members": found}, *lines)
    return DONE


async def grant(
    common: Common,
    project_id: ProjectId,
    member: User,
    role: Annotated[str, typer.Argument(help="owner, admin, editor or viewer.")],
) -> int:
    """Let somebody in, or give a member another role."""
    allowed = one_of(role, PROJECT_ROLES, "role")
    wanted, user = clean_id(project_id, "project"), clean_id(member, "user")
    async with common.open() as memory:
        made = await memory.projects.grant(common.actor, wanted, user, allowed)
    return _told(common, made, f"{made.user} is {made.role} of {wanted} now.")


async def revoke(common: Common, project_id: ProjectId, member: User) -> int:
    """Take a member out, at once; what they wrote for all stays."""
    wanted, user = clean_id(project_id, "project"), clean_id(member, "user")
    async with common.open() as memory:
        gone = await memory.projects.revoke(common.actor, wanted, user)
    return _told(common, gone, f"{gone.user} is no member of {wanted} any more.")


async def leave(common: Common, project_id: ProjectId) -> int:
    """Leave a project; its last owner cannot."""
    wanted = clean_id(project_id, "project")
    async with common.open() as memory:
        gone = await memory.projects.leave(common.actor, wanted)
    return _told(common, gone, f"{gone.user} is no member of {wanted} any more.")


async def transfer(common: Common, project_id: ProjectId, member: User) -> int:
    """Hand your ownership to another member; you become an admin."""
    wanted, user = clean_id(project_id, "project"), clean_id(member, "user")
    async with common.open() as memory:
        owner = await memory.projects.transfer(common.actor, wanted, user)
    return _told(common, owner, f"{owner.user} is {owner.role} of {wanted} now.")


async def delete(
    common: Common,
    project_id: ProjectId,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, delete it.")] = False,
) -> int:
    """Remove a project with everything in it. Without --yes nothing goes."""
    wanted = clean_id(project_id, "project")
    async with common.open() as memory:
        gone = await memory.projects.delete(common.actor, wanted, dry_run=dry_run or not yes)
    if not (dry_run or yes):
        counts = {"items": gone.items, "resources": gone.resources, "members": gone.members}
        raise unconfirmed(
            common,
            f"Nothing was deleted. {_figures(gone)} would go: add --yes to delete the project.",
            {"project_id": wanted, **counts},
        )
    deleted = {"deleted": 0 if gone.dry_run else 1, "project_id": wanted}
    said = "would go" if gone.dry_run else "deleted"
    common.out.result(deleted | plain(gone), f"1 project with {_figures(gone)} {said}.")
    return DONE


_COMMANDS: dict[str, Command] = {
    "create": create,
    "list": list_projects,
    "show": show,
    "rename": rename,
    "members": members,
    "grant": grant,
    "revoke": revoke,
    "leave": leave,
    "transfer": transfer,
    "delete": delete,
}


def _told(common: Common, member: Member, sentence: str) -> int:
    common.out.result(plain(member), sentence)
    return DONE


def _head(role: str, rest: str) -> Text:
    from rich.text import Text

    return Text(f"{role:<{_WIDTH}}", style="bold").append(rest, style="not bold")


def _lines(project: Project) -> tuple[str, ...]:
    return (
        f"id       {project.project_id}",
        f"name     {project.name}",
        f"role     {project.role}",
        f"made     {day(project.created_at)} by {project.created_by}",
        f"version  {project.version}",
    )


def _figures(gone: ProjectDeletion) -> str:
    documents = counted(gone.resources, "document")
    return f"{counted(gone.items, 'item')}, {documents} and {counted(gone.members, 'member')}"
