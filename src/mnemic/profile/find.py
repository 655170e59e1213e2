"""Which users gave this e-mail address or phone number? For the operator alone, and on the record.

The index lies in the profiles of all users, and the service's login sees no profile but that of whoever asks:
only the owner's login can look. No method of a running service asks this, so no user learns from an answer,
or from its time, whether somebody else is known here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from mnemic.audit import Audit
from mnemic.contact import ContactIndex, Kind, normalise_email
from mnemic.deployment import as_owner
from mnemic.errors import InvalidInput, PermissionDenied
from mnemic.keys import deployment_secret
from mnemic.model import Actor, known_actor
from mnemic.profile.contact import normal_phone
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements

if TYPE_CHECKING:
    from mnemic.settings import Settings

_SQL = statements("contacts")


@dataclass(frozen=True, slots=True)
class Holder:
    """A user whose profile holds the address or number; ``updated_at`` is when that profile changed last."""

    user: str
    updated_at: datetime


class Contacts:
    """Looks users up by what they gave; ``database`` is the owner's."""

    def __init__(self, database: Database, index: ContactIndex, audit: Audit) -> None:
        self._database = database
        self._index = index
        self._audit = audit

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings) -> AsyncIterator[Contacts]:
        """Open the deployment with the owner's login. Raises as ``deployment.as_owner`` does."""
        async with as_owner(settings) as (deployment, _):
            database, provider = deployment.database, deployment.keys.provider
            audit = await Audit.open(database, provider)
            async with database.system() as tx:
                index = ContactIndex(await deployment_secret(tx, provider))
            yield cls(database, index, audit)

    async def find(
        self, actor: Actor, *, email: str | None = None, phone: str | None = None
    ) -> tuple[Holder, ...]:
        """Return all users with this address or number, however each wrote it, by user id; () for nobody.

        Two users may share one: nothing is merged, both are found. The audit keeps that ``actor`` looked,
        with keyed hashes of what for and of whom that found. Raises InvalidInput:
        ``one_contact`` unless exactly one is given, ``invalid_email``, ``invalid_phone``,
        ``phone_without_country``; PermissionDenied (``contact_not_for_agents``).
        """
        if known_actor(actor).agent is not None:
            raise PermissionDenied("contact_not_for_agents", "No agent looks users up.")
        kind, text = _asked(email, phone)
        async with self._database.system() as tx:
            asked: dict[str, object] = {
                "email": None,
                "phone": None,
                kind: self._index.of(kind, text),
            }
            rows = await tx.all(_SQL["holders"], asked)
            found = tuple(Holder(row["user_id"], row["updated_at"]) for row in rows)
            await self._audit.record(
                tx, actor, f"find_by_{kind}", target=text, after=[one.user for one in found]
            )
        return found


def _asked(email: str | None, phone: str | None) -> tuple[Kind, str]:
    """Return what is looked for, in the form in which profiles keep it."""
    if email is not None and phone is None:
        return "email", normalise_email(email)
    if phone is not None and email is None:
        return "phone", normal_phone(phone)
    raise InvalidInput("one_contact", "Give an e-mail address or a phone number: one of them.")
