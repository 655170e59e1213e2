"""What does a session keep for a while? Variables, and results that nobody has confirmed yet.

They lie sealed in PostgreSQL, so that they are there without Redis, on every device and after a restart, for
30 minutes unless told otherwise. Time is the database's; what has expired is never served, and goes with the
next change of its session.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from mnemic.checks import aware
from mnemic.crypto import DataKey, place
from mnemic.errors import InvalidInput
from mnemic.keys import KeyRing
from mnemic.model import Actor
from mnemic.session.messages import closed, session_ids, unknown_session
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements
from mnemic.storage.transaction import Deed, Params, Transaction
from mnemic.text import normalise

_SQL = statements("sessions")
_LOG = statements("messages")
TTL = 1_800.0
"""Seconds for which a value is kept."""
MAX_TTL = 30 * 86_400.0
MAX_VALUES = 200
MAX_NAME = 200
MAX_VALUE = 100_000
"""Characters of a value, as JSON."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A value that a session keeps under a name, until ``expires_at``."""

    name: str
    value: Any
    version: int
    updated_at: datetime
    expires_at: datetime


class SessionState:
    """What the sessions of users keep; the session comes from the actor."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        *,
        ttl: float = TTL,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """``ttl`` is in seconds; ``clock`` returns times with a zone, without one the database's counts."""
        self._database = database
        self._keys = keys
        self._ttl = ttl
        self._clock = clock

    async def set(
        self, actor: Actor, name: str, value: object, *, ttl: float | None = None
    ) -> Entry:
        """Keep a value for ``ttl`` seconds from now (up to 30 days), in place of the one before.

        A value is what JSON can hold, up to 100,000 characters of it; a session keeps at most 200. Raises
        InvalidInput (``invalid_name``, ``value_not_json``, ``value_too_long``, ``ttl_out_of_range``,
        ``session_state_full``), Conflict (``session_closed``).
        """
        wanted, text = _name(name), _written(value)
        seconds = _seconds(self._ttl if ttl is None else ttl)
        ids = session_ids(actor)
        async with self._database.transaction(actor) as tx:
            key = await self._keys.obtain(tx, actor)
            await tx.run(_LOG["open_session"], ids)
            now = await self._held(tx, ids)
            at = ids | {"name_mac": _mac(key, actor, wanted), "now": now}
            await tx.run(_SQL["sweep_state"], at)
            await _require_room(tx, at)
            old = await tx.one(_SQL["state_entry"], at)
            version = old["version"] + 1 if old is not None else 1
            entry = Entry(wanted, json.loads(text), version, now, now + timedelta(seconds=seconds))
            await tx.run(_SQL["set_state"], at | _columns(key, at, entry))
            await tx.answer(entry, Deed("set_session_value", ids["scope_key"], None, wanted))
        return entry

    async def get(self, actor: Actor, name: str, default: object = None) -> Any:
        """Return the value of a name; ``default`` where there is none, or none any more."""
        entry = await self.entry(actor, name)
        return default if entry is None else entry.value

    async def entry(self, actor: Actor, name: str) -> Entry | None:
        """Return a value with its times, None where there is none (any more)."""
        wanted, ids = _name(name), session_ids(actor)
        async with self._database.transaction(actor) as tx:
            key = await self._keys.find(tx, actor)
            if key is None:
                return None
            at = ids | {"name_mac": _mac(key, actor, wanted), "now": self._given_now()}
            row = await tx.one(_SQL["state_entry"], at)
        return None if row is None else _opened(key, ids, row)

    async def all(self, actor: Actor) -> Mapping[str, Entry]:
        """Return everything that the session keeps, by name. Raises NotFound (``session_not_found``)."""
        ids = session_ids(actor)
        async with self._database.transaction(actor) as tx:
            if await tx.one(_SQL["session"], ids) is None:
                raise unknown_session()
            key = await self._keys.obtain(tx, actor)
            rows = await tx.all(_SQL["all_state"], ids | {"now": self._given_now()})
        entries = [_opened(key, ids, row) for row in rows]
        return {entry.name: entry for entry in sorted(entries, key=lambda entry: entry.name)}

    async def delete(self, actor: Actor, name: str) -> bool:
        """Forget the value of a name; return whether there was one."""
        wanted, ids = _name(name), session_ids(actor)
        async with self._database.transaction(actor) as tx:
            key = await self._keys.find(tx, actor)
            if key is None:
                return False
            at = ids | {"name_mac": _mac(key, actor, wanted), "now": self._given_now()}
            row = await tx.one(_SQL["drop_state"], at)
            there = row is not None and bool(row["alive"])
            deeds = [Deed("delete_session_value", ids["scope_key"], wanted)] if there else []
            await tx.answer(there, *deeds)
        return there

    async def _held(self, tx: Transaction, ids: Params) -> datetime:
        """Hold the session's row, and return the time. Raises Conflict (``session_closed``)."""
        row = await tx.one(_SQL["hold_open"], ids | {"now": self._given_now()})
        assert row is not None, "the session was opened just now"
        if row["closed"]:
            raise closed()
        now: datetime = row["now"]
        return now

    def _given_now(self) -> datetime | None:
        return None if self._clock is None else aware(self._clock(), "clock")


async def _require_room(tx: Transaction, at: Params) -> None:
    row = await tx.one(_SQL["count_state"], at)
    if row is not None and row["total"] >= MAX_VALUES:
        raise InvalidInput(
            "session_state_full", f"A session keeps at most {MAX_VALUES} values: delete one first."
        )


def _columns(key: DataKey, at: Params, entry: Entry) -> Params:
    text = json.dumps([entry.name, entry.value], ensure_ascii=False)
    return {
        "entry_enc": key.seal(text, _place(at, at["name_mac"], entry.version)),
        "version": entry.version,
        "updated_at": entry.updated_at,
        "expires_at": entry.expires_at,
    }


def _opened(key: DataKey, ids: Params, row: Mapping[str, Any]) -> Entry:
    at = _place(ids, row["name_mac"], row["version"])
    name, value = json.loads(key.open(row["entry_enc"], at))
    return Entry(name, value, row["version"], row["updated_at"], row["expires_at"])


def _place(ids: Params, name_mac: bytes, version: int) -> bytes:
    return place("session_state", str(ids["scope_key"]), bytes(name_mac).hex(), "entry", version)


def _mac(key: DataKey, actor: Actor, name: str) -> bytes:
    return key.mac(f"session_state\0{actor.session_scope}\0{name}")


def _name(value: object) -> str:
    """Return a name. Raises InvalidInput (``invalid_name``)."""
    text = normalise(value).text if isinstance(value, str) else ""
    if text != value or not 1 <= len(text) <= MAX_NAME:
        raise InvalidInput(
            "invalid_name",
            f"A name has 1 to {MAX_NAME} characters, without control characters or spaces at its ends.",
        )
    return text


def _written(value: object) -> str:
    """Return a value as JSON. Raises InvalidInput (``value_not_json``, ``value_too_long``)."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
        known = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput("value_not_json", "A value is what JSON can hold.") from None
    if known != value and not isinstance(value, tuple):
        raise InvalidInput("value_not_json", "A value is what JSON can hold: names are texts.")
    if len(text) > MAX_VALUE:
        raise InvalidInput("value_too_long", f"A value holds at most {MAX_VALUE:,} characters.")
    return text


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= MAX_TTL:
        raise InvalidInput(
            "ttl_out_of_range", f"ttl must be a number of seconds from 1 to {MAX_TTL:,.0f}."
        )
    return float(value)
