"""db: the owner's work on the database."""

from __future__ import annotations

from typing import Annotated

import typer

from mnemic.cli.models import register as register_models
from mnemic.cli.models import unfinished
from mnemic.cli.options import BACK_IT_UP, DONE, REFUSED, Common, command
from mnemic.cli.output import counted
from mnemic.errors import ConfigurationError

Script = Annotated[bool, typer.Option("--script", help="Only print the SQL for an administrator.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    db = typer.Typer(no_args_is_help=True, help="Prepare and inspect the database.")
    app.add_typer(db, name="db")
    for name, function in (("init", init), ("migrate", init), ("status", show_status)):
        command(db, name)(function)
    register_models(db)


async def init(common: Common, script: Script = False) -> int:
    """Make or update the schema and bind the key; safe to run twice and from many machines at once."""
    if script:
        from mnemic.storage.scripts import roles_script

        text = roles_script()
        common.out.result({"script": text}, text)
        return DONE
    from mnemic.deployment import initialise, locate
    from mnemic.keyfile import KeyFile

    settings = common.settings()
    addresses = await locate(settings)
    if addresses.owner is None:
        raise ConfigurationError(
            "migration_url_missing", "Set MNEMIC_MIGRATION_URL to the owner's URL; see --script."
        )
    try:
        provider = await initialise(settings, addresses)
    finally:
        if addresses.joined is not None:
            addresses.joined.leave()
    key_file = provider.path if isinstance(provider, KeyFile) else None
    common.out.result(
        {"ready": True, "schema": settings.db_schema, "key_file": key_file},
        f"The schema {settings.db_schema} is ready.",
        *(f"The key lies in {key_file}. {BACK_IT_UP}" for _ in range(key_file is not None)),
    )
    return DONE


async def show_status(common: Common) -> int:
    """Say which migrations are applied, what the server is, and where the key lies."""
    from mnemic.deployment import Deployment, locate
    from mnemic.storage.migrate import connect_owner, pending, status

    settings = common.settings()
    addresses = await locate(settings)
    conn = await connect_owner(addresses.owner or addresses.service)
    async with conn:
        applied = await status(conn, settings.db_schema)
    waiting = [migration.number for migration in pending(applied)]
    value = {
        "schema": settings.db_schema,
        "applied": sorted(applied),
        "pending": waiting,
        "embedded": addresses.joined is not None,
        "data_dir": addresses.data_dir,
    }
    lines = [
        f"schema    {settings.db_schema}",
        f"applied   {_numbers(sorted(applied))}",
        f"pending   {_numbers(waiting)}",
        *(f"next      mnemic db {'migrate' if applied else 'init'}" for _ in range(bool(waiting))),
    ]
    if applied and not waiting:
        deployment = await Deployment.start(settings)
        value |= {"key_file": deployment.key_file, "server": await deployment.server_version()}
        lines += [f"server    {value['server']}", f"key file  {value['key_file'] or 'none'}"]
        if addresses.data_dir is not None:
            lines.append(f"data      {addresses.data_dir}")
        await deployment.close()
        change = await unfinished(settings) if addresses.owner is not None else None
        value["reembedding"] = change
        if change is not None:
            done, rows = change["ready"], counted(change["items"] + change["chunks"], "row")
            lines.append(f"reembed   to {change['model']}: {done:,} of {rows}; run it again")
    if addresses.joined is not None:
        addresses.joined.leave()
    common.out.result(value, *lines)
    return REFUSED if waiting else DONE


def _numbers(numbers: list[int]) -> str:
    return ", ".join(f"{number:04}" for number in numbers) or "none"
