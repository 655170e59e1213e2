"""Has this user agreed to be remembered?

A word counts from the moment it is recorded: whoever records it has the user to themselves, so that what was
begun before ends before, and what begins later sees it. The latest record of a purpose counts; records are
only added. A refusal holds in every mode. It stops reading and storing, and erases nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from mnemic.audit import Audit
from mnemic.audit.chain import why
from mnemic.checks import one_of
from mnemic.errors import PermissionDenied
from mnemic.ids import new_id
from mnemic.model import Actor, known_actor
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements

_SQL = statements("consent")
_KEYS = statements("keys")
PURPOSES = ("remember", "insight")
State = Literal["granted", "refused", "unasked"]
Word = Literal["granted", "refused"]
_ACTIONS: Mapping[Word, str] = {"granted": "grant_consent", "refused": "refuse_consent"}


class Windows(Protocol):
    """What is kept of a user's conversations outside the database."""

    async def names(self, tx: Transaction, actor: Actor) -> list[bytes]:
        """Return what is kept of the user: asked while nobody adds to it and the keys are still there."""

    async def remove(self, names: Sequence[bytes]) -> None:
        """Remove it; what cannot be reached now is removed before anybody reads it again."""


@dataclass(frozen=True, slots=True)
class ConsentRecord:
    """What a user said to one purpose, when, and by which way (app, web, api, cli, job)."""

    id: UUID
    purpose: str
    state: Word
    via: str
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class ConsentState:
    """What counts now, by purpose, and every record, the oldest first."""

    purposes: Mapping[str, State]
    records: tuple[ConsentRecord, ...]


class Consents:
    """Records and shows what users agreed to: ``remember`` (everything that memory does) and ``insight``
    (findings across users). The same word twice is one record."""

    def __init__(self, database: Database, audit: Audit, windows: Windows | None = None) -> None:
        """``windows`` are emptied when a user refuses."""
        self._database = database
        self._audit = audit
        self._windows = windows

    async def grant(self, actor: Actor, purpose: str = "remember") -> ConsentState:
        """Record that the user agrees. Raises InvalidInput (``unknown_purpose``), PermissionDenied
        (``user_erased``) when the user was erased after this call had begun: nobody agrees for them."""
        _checked(actor, purpose)
        async with self._database.system() as tx:
            before = await self._audit.last_erasure(tx, actor)
        async with alone(self._database, actor) as tx:
            if await self._audit.last_erasure(tx, actor) != before:
                raise PermissionDenied(
                    "user_erased", "This user was erased meanwhile: ask again, if they come back."
                )
            return await self._say(tx, actor, purpose, "granted")

    async def refuse(self, actor: Actor, purpose: str = "remember") -> ConsentState:
        """Record that the user does not agree, or no longer: it holds when this returns, for every process.

        Raises InvalidInput (``unknown_purpose``).
        """
        _checked(actor, purpose)
        ends = self._windows if purpose == "remember" else None
        async with alone(self._database, actor) as tx:
            names = await ends.names(tx, actor) if ends is not None else []
            state = await self._say(tx, actor, purpose, "refused")
        if ends is not None:
            await ends.remove(names)
        return state

    async def show(self, actor: Actor) -> ConsentState:
        """Return what the user agreed to, and when."""
        async with self._database.transaction(known_actor(actor), consent=False) as tx:
            return await _state(tx, actor)

    async def _say(self, tx: Transaction, actor: Actor, purpose: str, word: Word) -> ConsentState:
        params = {"scope_key": actor.user_scope, "purpose": purpose, "state": word}
        latest = await tx.all(_SQL["latest"], params)
        was = {row["purpose"]: row["state"] for row in latest}.get(purpose)
        if was != word:
            await tx.run(_KEYS["add_user"], params | {"user_id": actor.user})
            await tx.run(_SQL["add"], params | {"id": new_id(), "via": why(actor)})
            if purpose == "remember":
                await tx.run(_SQL["remember"], params)
        state = await _state(tx, actor)
        if was != word:
            await self._audit.record(
                tx, actor, _ACTIONS[word], target=purpose, before=was, after=word
            )
        await tx.answer(state)
        return state


@asynccontextmanager
async def alone(database: Database, actor: Actor) -> AsyncIterator[Transaction]:
    """Open a transaction that has its user to itself: it waits for all that are open, and new ones wait.

    Consent is not asked for. Never inside a transaction of the same user: it would wait for itself.
    """
    params = {
        "user_scope": actor.user_scope,
        "scope_key": actor.user_scope,
        "scopes": ",".join(actor.scope_keys),
        "sessions": actor.session_prefix,
        "user_id": actor.user,
    }
    async with database.system() as tx:
        await tx.one(_SQL["act_as"], params)
        await tx.one(_SQL["hold_user"], params)
        user = await tx.one(_SQL["user"], params)
        yield replace(tx, known_user=user is not None, key_epoch=user["key_epoch"] if user else 1)


async def _state(tx: Transaction, actor: Actor) -> ConsentState:
    rows = await tx.all(_SQL["records"], {"scope_key": actor.user_scope})
    records = tuple(ConsentRecord(**row) for row in rows)
    now: dict[str, State] = dict.fromkeys(PURPOSES, "unasked")
    now |= {record.purpose: record.state for record in records}
    return ConsentState(now, records)


def _checked(actor: Actor, purpose: object) -> None:
    known_actor(actor)
    one_of(purpose, PURPOSES, "purpose")
