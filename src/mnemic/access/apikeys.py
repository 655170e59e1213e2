"""Whose is this API key, and does it still count?

A key reads ``mk_<prefix>_<secret>``: the prefix names it in lists and logs, the secret is 32 random bytes.
Kept is HMAC-SHA256 over both under the deployment's id, so a row that was copied from another deployment
opens nothing here. A slow password hash would add nothing: nobody guesses 256 random bits, however fast.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import math
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from psycopg.rows import DictRow

from mnemic.audit import Audit
from mnemic.checks import one_of
from mnemic.errors import ConfigurationError, InvalidInput, NotFound, Unauthenticated
from mnemic.model import Actor
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements

Kind = Literal["user", "service", "operator"]
Right = Literal["read", "write", "admin"]
KINDS: tuple[str, ...] = get_args(Kind)
RIGHTS: tuple[str, ...] = get_args(Right)

FRESH = 1.0
"""Seconds for which a process takes a key's word without looking it up; a revoked key is gone after them."""

_KEY = re.compile(r"mk_(?P<prefix>[a-z2-7]{8})_(?P<secret>[A-Za-z0-9_-]{43})")
_PREFIX = re.compile(r"[a-z2-7]{8}")
_CAPACITY = 10_000
_SQL = statements("access")
_DEPLOYMENT = statements("keys")["deployment"]


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is known of a key; its secret is known to its holder only."""

    prefix: str
    kind: Kind
    user: str | None
    scopes: tuple[Right, ...]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class Holder:
    """Who presented a key that counts. ``user`` is None for services and operators."""

    prefix: str
    kind: Kind
    user: str | None
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class LocalKey:
    """The key of ``mnemic serve --local``: it lives in the serving processes only, as a digest."""

    prefix: str
    secret_mac: bytes
    user: str

    @property
    def holder(self) -> Holder:
        return Holder(self.prefix, "user", self.user, frozenset(RIGHTS))


def new_key() -> tuple[str, str]:
    """Return the text of a new key, and its prefix."""
    prefix = base64.b32encode(secrets.token_bytes(5)).decode().lower()
    return f"mk_{prefix}_{secrets.token_urlsafe(32)}", prefix


def parsed(text: str) -> tuple[str, str] | None:
    """Return prefix and secret of what looks like a key, else None."""
    found = _KEY.fullmatch(text)
    return (found["prefix"], found["secret"]) if found else None


def label(prefix: str) -> str:
    """Return what a key is called in the log and in the audit."""
    return f"mk_{prefix}"


def secret_mac(deployment: str, prefix: str, secret: str) -> bytes:
    """Return what is kept of a key: 32 bytes that only this deployment makes of it."""
    return hmac.digest(deployment.encode(), f"{prefix}\0{secret}".encode(), hashlib.sha256)


async def deployment_of(database: Database) -> str:
    """Return the id of the deployment in a database. Raises ConfigurationError (``schema_missing``)."""
    async with database.system() as tx:
        row = await tx.one(_DEPLOYMENT)
    if row is None:
        raise ConfigurationError("schema_missing", "Run `mnemic db init` first.")
    return str(row["id"])


class ApiKeys:
    """The operator's work on keys. ``database`` is the owner's: the service cannot list or make any.

    What ``by`` does to a key is audited under the key's label, ``mk_<prefix>``.
    """

    def __init__(
        self,
        database: Database,
        deployment: str,
        audit: Audit,
        by: Actor,
        *,
        wait: Callable[[float], object] = asyncio.sleep,
    ) -> None:
        self._database = database
        self._deployment = deployment
        self._audit = audit
        self._by = by
        self._wait = wait

    async def create(
        self,
        kind: str,
        *,
        user: str | None = None,
        scopes: Collection[str] = ("read", "write"),
        expires_at: datetime | None = None,
    ) -> tuple[ApiKey, str]:
        """Make a key; return its record and its text, which cannot be shown again.

        A user's key needs ``user``, the others must have none; an operator's has no scopes. Raises
        InvalidInput (``unknown_kind``, ``unknown_right``, ``invalid_id``, ``key_user_required``,
        ``key_user_unwanted``, ``naive_datetime``).
        """
        one_of(kind, KINDS, "kind")
        wanted = _rights(kind, scopes)
        if expires_at is not None and expires_at.utcoffset() is None:
            raise InvalidInput("naive_datetime", "Give the expiry with a time zone.")
        scope_key, user_id = _home(kind, user)
        text, prefix = new_key()
        found = parsed(text)
        assert found is not None
        params = {
            "scope_key": scope_key,
            "prefix": prefix,
            "secret_mac": secret_mac(self._deployment, *found),
            "kind": kind,
            "user_id": user_id,
            "scopes": wanted,
            "expires_at": expires_at,
        }
        async with self._database.system() as tx:
            row = await tx.one(_SQL["add_api_key"], params)
            assert row is not None
            await self._audit.record(
                tx, self._by, "create_api_key", target=label(prefix), after=_granted(row)
            )
        return _record(row), text

    async def list(self) -> list[ApiKey]:
        """Return every key, oldest first, revoked and expired ones too."""
        async with self._database.system() as tx:
            return [_record(row) for row in await tx.all(_SQL["list_api_keys"])]

    async def revoke(self, prefix: str) -> ApiKey:
        """Make a key worthless; when this returns, no process takes it any more. Idempotent.

        ``prefix`` may also be written as ``mk_<prefix>``. Raises NotFound (``api_key_not_found``).
        """
        name = prefix.strip().removeprefix("mk_")
        row = None
        if _PREFIX.fullmatch(name):
            async with self._database.system() as tx:
                row = await tx.one(_SQL["revoke_api_key"], {"prefix": name})
                if row is not None and row["just_now"]:
                    await self._audit.record(
                        tx, self._by, "revoke_api_key", target=label(name), before=_granted(row)
                    )
        if row is None:
            raise NotFound("api_key_not_found", "There is no key with this prefix.")
        waiting = self._wait(FRESH)
        if asyncio.iscoroutine(waiting):
            await waiting
        return _record(row)


class KeyCheck:
    """Tells whose key was presented, for the service: it asks the database by prefix."""

    def __init__(
        self,
        database: Database,
        deployment: str,
        *,
        local: LocalKey | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._deployment = deployment
        self._local = local
        self._clock = clock
        self._fresh: OrderedDict[bytes, tuple[Holder, float]] = OrderedDict()
        self._looks: dict[bytes, _Look] = {}

    async def holder(self, text: str) -> Holder:
        """Return who holds a key.

        Raises Unauthenticated: ``credential_invalid`` (malformed, unknown or of another deployment: one
        answer), ``credential_expired``, ``credential_revoked``.
        """
        found = parsed(text)
        if found is None:
            raise invalid()
        prefix, _ = found
        mac = secret_mac(self._deployment, *found)
        local = self._local
        if local is not None and local.prefix == prefix:
            if hmac.compare_digest(local.secret_mac, mac):
                return local.holder
            raise invalid()
        now = self._clock()
        known = self._fresh.get(mac)
        if known is None or known[1] <= now:
            return await asyncio.shield(self._looking_up(prefix, mac, now).holder)
        if known[1] - now < FRESH / 2:
            self._looking_up(prefix, mac, now)  # so that nobody waits when its word ends
        return known[0]

    def _looking_up(self, prefix: str, mac: bytes, now: float) -> _Look:
        """Return the look for a key that is under way, for all who ask at this moment, or a new one.

        One that began so long ago that its answer does not count any more is for those who wait already.
        """
        look = self._looks.get(mac)
        if look is None or look.until <= now:
            look = _Look()
            look.holder = asyncio.ensure_future(self._looked_up(prefix, mac, look))
            look.holder.add_done_callback(lambda done: self._ended(mac, look))
            self._looks[mac] = look
        return look

    def _ended(self, mac: bytes, look: _Look) -> None:
        if self._looks.get(mac) is look:
            del self._looks[mac]
        if not look.holder.cancelled():
            look.holder.exception()  # those who wait raise it; maybe nobody does

    async def _looked_up(self, prefix: str, mac: bytes, look: _Look) -> Holder:
        try:
            async with self._database.system() as tx:
                # from before the look: what is revoked after it dies in time
                look.until = self._clock() + FRESH
                row = await tx.one(_SQL["find_key"], {"prefix": prefix})
                if row is None or not hmac.compare_digest(bytes(row["secret_mac"]), mac):
                    raise invalid()
                _require_valid(row)
                if not row["used_lately"]:
                    await tx.run(_SQL["touch_key"], {"prefix": prefix})
        except Unauthenticated:
            self._fresh.pop(mac, None)
            raise
        holder = Holder(prefix, row["kind"], row["user_id"], frozenset(row["scopes"]))
        self._fresh[mac] = (holder, look.until)
        self._fresh.move_to_end(mac)
        while len(self._fresh) > _CAPACITY:
            self._fresh.popitem(last=False)
        return holder


class _Look:
    """A look for a key in the database, and until when its answer counts."""

    holder: asyncio.Future[Holder]

    def __init__(self) -> None:
        self.until = math.inf


def _require_valid(row: DictRow) -> None:
    if row["revoked"]:
        raise Unauthenticated("credential_revoked", "This key was revoked: ask for another.")
    if row["expired"]:
        raise Unauthenticated("credential_expired", "This key has expired: ask for another.")


def invalid() -> Unauthenticated:
    """Return the one answer to every credential that is not ours."""
    return Unauthenticated("credential_invalid", "This credential does not count here.")


def _home(kind: str, user: str | None) -> tuple[str, str | None]:
    if kind != "user":
        if user is not None:
            raise InvalidInput("key_user_unwanted", f"A key of kind {kind} belongs to no user.")
        return f"{kind}:", None
    if user is None:
        raise InvalidInput("key_user_required", "Say whose key it is.")
    actor = Actor(user)
    return actor.user_scope, actor.user


def _rights(kind: str, scopes: Collection[str]) -> list[str]:
    if kind == "operator":
        return []
    if not all(right in RIGHTS for right in scopes):
        raise InvalidInput("unknown_right", f"The scopes of a key are any of {', '.join(RIGHTS)}.")
    return [right for right in RIGHTS if right in scopes]


def _granted(row: DictRow) -> dict[str, object]:
    """Return what a key allows, as the audit hashes it."""
    return {name: row[name] for name in ("kind", "user_id", "scopes", "expires_at")}


def _record(row: DictRow) -> ApiKey:
    return ApiKey(
        row["prefix"],
        row["kind"],
        row["user_id"],
        tuple(row["scopes"]),
        row["created_at"],
        row["expires_at"],
        row["revoked_at"],
        row["last_used_at"],
    )
