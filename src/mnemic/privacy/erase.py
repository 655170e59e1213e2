"""How is a user forgotten, completely and at once?

One transaction that has the user to itself takes every row of theirs from every table, and the data keys
with them: what a backup or a replica still holds cannot be opened by anything that is left. What they sealed
of others in a project is sealed anew by the project. The audit keeps that it happened, under a keyed hash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from mnemic.audit import Audit
from mnemic.cold.removals import Removals
from mnemic.consent import Windows, alone
from mnemic.crypto import DataKey, place, sealed_with
from mnemic.keys import KeyRing
from mnemic.model import Actor, known_actor
from mnemic.profile.history_rows import without_user
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements

_SQL = statements("erase")
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Erasure:
    """How many rows of each table went; ``dry_run`` took nothing.

    ``inherited`` counts the projects that have a new owner for it, ``ended`` those that went with their only
    member. Another table's rows that are there because of the user (in a project) are counted too.
    """

    counts: Mapping[str, int]
    dry_run: bool
    at: datetime
    inherited: int = 0
    ended: int = 0

    @property
    def total(self) -> int:
        return sum(self.counts.values())


class Erase:
    """Forgets users."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        audit: Audit,
        dropped: Callable[[Actor], None] | None = None,
        windows: Windows | None = None,
        removals: Removals | None = None,
    ) -> None:
        """``dropped`` is told of an erased user, for what this process remembers of them elsewhere;
        ``windows`` of their conversations are removed, and by ``removals`` their objects in a cold store."""
        self._database = database
        self._keys = keys
        self._audit = audit
        self._dropped = dropped
        self._windows = windows
        self._removals = removals

    async def forget_user(self, actor: Actor, *, dry_run: bool = False) -> Erasure:
        """Remove every row of the actor's user. Afterwards the id is that of somebody new.

        Works for users who refused to be remembered, and for those of whom nothing is known. Waits for what
        is being written for the user. Raises KeyUnavailable (nothing is erased then) when something of
        others in a project cannot be opened to be left to them.
        """
        known_actor(actor)
        ends = None if dry_run else self._windows
        async with alone(self._database, actor) as tx:
            names = await ends.names(tx, actor) if ends is not None else []
            await tx.all(_SQL["hold_profiles"])
            await tx.one(_SQL["hold"])
            heirs = await tx.all(_SQL["heirs"])
            if not dry_run:
                await self._leave(tx, actor)
            rows = await tx.all(_SQL["erase"], {"really": not dry_run})
            counts = {row["table_name"]: row["n_rows"] for row in rows}
            report = Erasure(
                counts,
                dry_run,
                datetime.now(UTC),
                sum(row["heir"] is not None for row in heirs),
                sum(row["ends"] for row in heirs),
            )
            if not dry_run:
                await self._record(tx, actor, heirs, report)
            await tx.answer(report)
        if not dry_run:
            self._keys.forget(actor.user_scope)
            if self._dropped is not None:
                self._dropped(actor)
        if ends is not None:
            await ends.remove(names)
        if not dry_run and self._removals is not None:
            await self._removals.try_now()
        return report

    async def _record(
        self, tx: Transaction, actor: Actor, heirs: list[dict[str, Any]], report: Erasure
    ) -> None:
        if not report.total:
            return
        for row in heirs:
            action = "end_project" if row["ends"] else "inherit_project"
            target = _project_id(row["scope_key"])
            await self._audit.record(
                tx, actor, action, target=target, before=actor.user, after=row["heir"]
            )
        await self._audit.record(
            tx, actor, "erase_user", target=actor.user_scope, before=report.counts
        )

    async def _leave(self, tx: Transaction, actor: Actor) -> None:
        """Seal anew, under the key of its project, what the user's key seals of others.

        What the history of a project tells of the user goes.
        """
        theirs: dict[bytes, DataKey] = {}
        own: dict[str, DataKey] = {}
        for row in await tx.all(_SQL["keys"]):
            key = await self._keys.unwrapped(row["scope_key"], row)
            if row["author_id"] == "":
                own[row["scope_key"]] = key
            else:
                theirs[key.key_id.bytes] = key
        while rows := await tx.all(_SQL["left"], {"most": _BATCH}):
            for row in rows:
                at = _place(row)
                text = theirs[sealed_with(row["value"]).bytes].open(row["value"], at)
                fresh = own[row["scope_key"]].seal(text, at)
                await tx.one(_SQL["leave"], {**row, "value": fresh})
        for row in await tx.all(_SQL["left_history"]):
            less = without_user(own[row["scope_key"]], row, actor.user)
            if less is not None:
                await tx.one(_SQL["leave_history"], {**row, "value": less})


def _project_id(scope_key: str) -> str:
    """Return the id by which the other deeds of a project are found."""
    return unquote(scope_key.partition(":")[2])


def _place(row: Mapping[str, Any]) -> bytes:
    """Return where a value stands; a question is sealed as a part of its item."""
    table = "memory_item" if row["table_name"] == "verification" else row["table_name"]
    scope_key = row["scope_key"]
    return place(table, scope_key, row["id"] or scope_key, row["column_name"], row["version"])
