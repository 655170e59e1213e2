"""What was a profile at a moment, and how did it become what it is?

Read as the profile itself is: a user's by that user, a project's by its members. What is folded is read as
what is not. Nothing is made anew for it: a profile is told as it was recorded, with its own times.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from mnemic.checks import aware, whole
from mnemic.crypto import DataKey
from mnemic.cursors import decode_cursor, encode_cursor
from mnemic.errors import InvalidInput, NotFound
from mnemic.model import Actor
from mnemic.profile.history_changes import Change, State, replayed, told
from mnemic.profile.history_rows import read
from mnemic.profile.refresh import Refresh, Standing
from mnemic.profile.rows import PROJECTS, USERS, Row, open_decisions, open_fields
from mnemic.profile.values import Profile, ProfileHistory, ProjectProfile
from mnemic.profile.views import MASKS, project_profile, user_profile
from mnemic.storage.pool import Transaction
from mnemic.storage.statements import statements

_SQL = statements("profiles")
MOST = 1_000


class Histories:
    """Reads what profiles were. An actor with a project asks about that project's."""

    def __init__(self, refresh: Refresh) -> None:
        self._refresh = refresh
        self._database = refresh.database

    async def of_user(self, actor: Actor, at: datetime, *, contact: bool) -> Profile:
        """Return a user's profile as it was at a moment.

        Raises InvalidInput (``naive_datetime``, ``as_of_in_future`` ...) and NotFound
        (``profile_not_recorded``).
        """
        moment = _past(at)
        async with self._database.transaction(actor) as tx:
            key = await self._refresh.keys.find(tx, actor)
            row = await tx.one(_SQL["user"], {"scope_key": actor.user_scope})
            if key is None or row is None:
                raise _nothing_then()
            changes = await read(tx, key, actor.user_scope, until=moment)
            state = replayed(changes) or _since(
                row, moment, open_fields(key, USERS, actor.user_scope, row, row["version"])
            )
        return user_profile(actor.user, _standing(state, row), contact=contact)

    async def of_project(self, actor: Actor, at: datetime) -> ProjectProfile:
        """Return the same of the actor's project. Raises NotFound (``project_not_found``) too."""
        moment, scope_key = _past(at), str(actor.project_scope)
        async with self._database.transaction(actor) as tx:
            key = await self._projects_key(tx, actor)
            row = await tx.one(_SQL["project"], {"scope_key": scope_key})
            if row is None:
                raise _nothing_then()
            state = replayed(await read(tx, key, scope_key, until=moment))
            if state is None:
                decided = await tx.all(_SQL["decisions"], {"scope_key": scope_key})
                fields = open_fields(key, PROJECTS, scope_key, row, row["version"])
                state = _since(row, moment, fields, _opened(key, scope_key, decided))
        return project_profile(str(actor.project), _standing(state, row), state.decisions)

    async def changes(
        self, actor: Actor, *, limit: int, cursor: str | None, contact: bool
    ) -> ProfileHistory:
        """Return how the profile of the user, or of the actor's project, changed: the newest first.

        ``limit`` is 1 to 1,000. Raises InvalidInput (``limit_out_of_range``, ``invalid_cursor``).
        """
        most = whole(limit, 1, MOST, "limit")
        before = None if cursor is None else _version(cursor)
        async with self._database.transaction(actor) as tx:
            if actor.project is not None:
                key: DataKey | None = await self._projects_key(tx, actor)
            else:
                key = await self._refresh.keys.find(tx, actor)
            if key is None:
                return ProfileHistory(())
            scope_key = actor.user_scope if actor.project is None else str(actor.project_scope)
            found = await read(tx, key, scope_key, before=before, most=most + 1)
        page = found[:most]
        more = len(found) > most
        masks = {} if contact else MASKS
        return ProfileHistory(
            tuple(told(change, masks) for change in page), _cursor(page[-1]) if more else None
        )

    async def _projects_key(self, tx: Transaction, actor: Actor) -> DataKey:
        if tx.role is None:
            raise NotFound("project_not_found", "There is no such project.")
        return await self._refresh.projects_own(tx, actor)


def _past(at: datetime) -> datetime:
    moment = aware(at, "as_of")
    if moment is None:
        raise InvalidInput("invalid_datetime", "as_of must be a datetime.")
    if moment > datetime.now(UTC):
        raise InvalidInput(
            "as_of_in_future", "What a profile will be is not known: name a time that has passed."
        )
    return moment


def _since(row: Row, moment: datetime, fields: Any, decisions: Any = ()) -> State:
    """Return a profile older than its history, which has stayed as it is since it was last changed."""
    if moment < row["updated_at"]:
        raise _nothing_then()
    return State(fields, tuple(decisions), row["version"], row["updated_at"])


def _standing(state: State, row: Row) -> Standing:
    return Standing(
        dict(state.fields), state.version, state.version, row["created_at"], state.since
    )


def _opened(key: DataKey, scope_key: str, rows: list[dict[str, Any]]) -> Any:
    return open_decisions(key, scope_key, [tuple(row.values()) for row in rows])


def _nothing_then() -> NotFound:
    return NotFound(
        "profile_not_recorded",
        "No profile is recorded at that time: `mnemic profile history` shows since when there is one.",
    )


def _cursor(last: Change) -> str:
    return encode_cursor(last.recorded_at, UUID(int=last.version))


def _version(cursor: str) -> int:
    """Return the version before which to go on."""
    version = decode_cursor(cursor)[1].int
    if not 0 < version < 2**31:
        raise InvalidInput(
            "invalid_cursor", "This cursor is not one of ours; start from the first page."
        )
    return version
