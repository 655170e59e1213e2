"""apikey: the keys that open the service, made and revoked with the owner's login."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.options import DONE, Common, command
from mnemic.errors import InvalidInput

if TYPE_CHECKING:
    from mnemic.access.apikeys import ApiKey, ApiKeys

Kind = Annotated[
    str, typer.Option(help="user, service (acts for users), or operator (metrics only).")
]
Scopes = Annotated[str, typer.Option(help="Any of read, write, admin, separated by commas.")]
Expires = Annotated[
    str | None, typer.Option(help="Days such as 90d, or a time with its zone; else never.")
]
Prefix = Annotated[str, typer.Argument(help="The key's prefix, as `apikey list` shows it.")]
_DAYS = re.compile(r"([1-9][0-9]{0,3})d")


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    group = typer.Typer(no_args_is_help=True, help="The keys that open the service.")
    app.add_typer(group, name="apikey")
    for name, function in (("create", create), ("list", show), ("revoke", revoke)):
        command(group, name)(function)


async def create(
    common: Common, kind: Kind = "user", scopes: Scopes = "read,write", expires: Expires = None
) -> int:
    """Make a key and show it, once."""
    until = _until(expires, datetime.now(UTC))
    rights = [part.strip() for part in scopes.split(",") if part.strip()]
    # a service's key has no user; MNEMIC_USER alone shall not make one unwanted
    user = common.actor.user if kind == "user" else common.user
    async with _keys(common) as keys:
        made, text = await keys.create(kind, user=user, scopes=rights, expires_at=until)
    common.out.result(
        {"key": text} | _plain(made),
        text,
        f"This is the only time that the key is shown. Its prefix is {made.prefix}.",
    )
    return DONE


async def show(common: Common) -> int:
    """List all keys, oldest first."""
    async with _keys(common) as keys:
        found = await keys.list()
    common.out.result({"keys": [_plain(key) for key in found]}, *(_line(key) for key in found))
    return DONE


async def revoke(common: Common, prefix: Prefix) -> int:
    """Make a key worthless: when this returns, no process takes it any more."""
    async with _keys(common) as keys:
        gone = await keys.revoke(prefix)
    common.out.result(_plain(gone), f"The key {gone.prefix} is revoked.")
    return DONE


@asynccontextmanager
async def _keys(common: Common) -> AsyncIterator[ApiKeys]:
    from mnemic.access.apikeys import ApiKeys, deployment_of
    from mnemic.audit import Audit
    from mnemic.deployment import as_owner

    async with as_owner(common.settings()) as (deployment, _):
        database = deployment.database
        audit = await Audit.open(database, deployment.keys.provider)
        yield ApiKeys(database, await deployment_of(database), audit, common.actor)


def _until(text: str | None, now: datetime) -> datetime | None:
    """Return the time that ``90d`` or an ISO 8601 time with its zone means."""
    if text is None:
        return None
    days = _DAYS.fullmatch(text)
    if days is not None:
        return now + timedelta(days=int(days[1]))
    try:
        until = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            "invalid_datetime", "Write the expiry as 90d, or as a time in ISO 8601."
        ) from None
    if until.tzinfo is None:
        raise InvalidInput("naive_datetime", "Give the expiry with a time zone.")
    if until <= now:
        raise InvalidInput("expiry_past", "The expiry lies in the past.")
    return until


def _plain(key: ApiKey) -> dict[str, object]:
    return {
        "prefix": key.prefix,
        "kind": key.kind,
        "user": key.user,
        "scopes": list(key.scopes),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
    }


def _line(key: ApiKey) -> str:
    state = "revoked" if key.revoked_at else "active"
    if not key.revoked_at and key.expires_at and key.expires_at <= datetime.now(UTC):
        state = "expired"
    used = f"{key.last_used_at:%Y-%m-%d}" if key.last_used_at else "never"
    rights = ",".join(key.scopes) or "-"
    return f"{key.prefix}  {key.kind:<8}  {state:<7}  {rights:<16}  used {used}  {key.user or ''}".rstrip()
