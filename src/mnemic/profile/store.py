"""What can be asked of profiles? To be read, to hold their user's own word, to be taken away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from mnemic.checks import whole
from mnemic.errors import NotFound, PermissionDenied, StorageUnavailable
from mnemic.model import Actor, Vector, clean_id, known_actor
from mnemic.permissions import RUN_BY
from mnemic.profile.agent import ForAgents
from mnemic.profile.behaviour import Behaviour, note
from mnemic.profile.consumer import Consumer
from mnemic.profile.fields import (
    PROJECT_FIELDS,
    USER_FIELDS,
    Sensitive,
    Spec,
    checked_edit,
    entries_of,
)
from mnemic.profile.history import Histories
from mnemic.profile.history_fold import Folded, Folding
from mnemic.profile.prose import Prose
from mnemic.profile.refresh import Edit, Refresh, edited_fields
from mnemic.profile.rows import open_decisions
from mnemic.profile.values import (
    AgentProfile,
    Field,
    Profile,
    ProfileHistory,
    ProjectProfile,
)
from mnemic.profile.views import project_profile, user_profile
from mnemic.storage.halfvec import HalfVector
from mnemic.storage.pool import Database, Deed, Transaction
from mnemic.storage.statements import statements

_SQL = statements("profiles")
_LAST = 2**31 - 1
Changes = Mapping[str, object]


class Profiles:
    """The profiles of users and projects.

    A user's profile is theirs alone. A project's is read by its members and edited by its owners and admins.
    Editing methods raise InvalidInput as ``fields.checked_edit`` does, Conflict (``version_conflict``).
    """

    def __init__(
        self,
        refresh: Refresh,
        *,
        sensitive: Sensitive = lambda _: (),
        prose: Prose | None = None,
        history_days: int = 30,
    ) -> None:
        """``sensitive`` names what an edit may not hold; ``prose`` writes backgrounds by a chat model.

        Changes of profiles are rows for ``history_days``, and then folded.
        """
        self._refresh = refresh
        self._database: Database = refresh.database
        self._keys = refresh.keys
        self._sensitive = sensitive
        self._agents = ForAgents(refresh, prose)
        self._histories = Histories(refresh)
        self._folding = Folding(refresh, timedelta(days=history_days))
        self.consumer = Consumer(refresh, prose)

    # ---- reading

    async def get_profile_for_agent(self, actor: Actor) -> AgentProfile:
        """Return what an agent is told of its user, and of the actor's project where the user belongs to it.

        It holds what was written before this call. One query as a rule; e-mail and phone are masked. ``get``
        tells where the user's fields come from.
        """
        return await self._agents.read(known_actor(actor), with_items=False)

    async def get(
        self, actor: Actor, *, contact: bool = False, as_of: datetime | None = None
    ) -> Profile:
        """Return the user's profile, which is there from the first call on.

        ``contact`` shows e-mail and phone in full: to the user, never to an agent. Raises PermissionDenied
        (``contact_not_for_agents``), and what ``Hibernation.wake`` does where the user was away and cannot be
        woken. ``as_of`` asks what it was at a moment that has passed; raises
        InvalidInput (``naive_datetime``, ``as_of_in_future``) and NotFound (``profile_not_recorded``).
        """
        shown = _contact(actor, contact)
        alone = replace(actor, project=None)
        if as_of is not None:
            with self._telling_why(alone):
                return await self._histories.of_user(alone, as_of, contact=shown)
        return (await self._agents.read(alone, contact=shown, whole=True)).user

    async def get_project(
        self, actor: Actor, project_id: str, *, as_of: datetime | None = None
    ) -> ProjectProfile:
        """Return a project's profile; ``as_of`` as in ``get``.

        Raises NotFound (``project_not_found``) to whoever is no member.
        """
        asker = _within(actor, project_id)
        if as_of is not None:
            return await self._histories.of_project(asker, as_of)
        found = (await self._agents.read(asker)).project
        if found is None:
            raise _no_project()
        return found

    async def history(
        self,
        actor: Actor,
        *,
        limit: int = 50,
        cursor: str | None = None,
        contact: bool = False,
    ) -> ProfileHistory:
        """Return how the user's profile changed, the newest change first; nothing of who is not known.

        ``limit`` is 1 to 1,000, ``contact`` as in ``get``. Raises InvalidInput (``limit_out_of_range``,
        ``invalid_cursor``).
        """
        shown = _contact(actor, contact)
        alone = replace(actor, project=None)
        with self._telling_why(alone):
            return await self._histories.changes(alone, limit=limit, cursor=cursor, contact=shown)

    @contextmanager
    def _telling_why(self, actor: Actor) -> Iterator[None]:
        """Say why a profile still sleeps, where that is known, in place of that it does."""
        try:
            yield
        except StorageUnavailable as error:
            if error.code != "profile_asleep" or self._refresh.sleep is None:
                raise
            raise self._refresh.sleep.why(actor) from error

    async def project_history(
        self, actor: Actor, project_id: str, *, limit: int = 50, cursor: str | None = None
    ) -> ProfileHistory:
        """Return the same of a project. Raises NotFound (``project_not_found``) to whoever is no member."""
        asker = _within(actor, project_id)
        return await self._histories.changes(asker, limit=limit, cursor=cursor, contact=True)

    # ---- the user's own word

    async def edit(
        self, actor: Actor, field: str, value: object, *, expected_version: int | None = None
    ) -> Profile:
        """Put one field, by the user's own word; None gives it back to what items say."""
        return await self.patch(actor, {field: value}, expected_version=expected_version)

    async def patch(
        self,
        actor: Actor,
        changes: Changes,
        *,
        expected_version: int | None = None,
        contact: bool = False,
    ) -> Profile:
        """Put the named fields; None gives one back to what items say, "" or [] keeps it empty."""
        return await self._write(
            actor, changes, expected_version, whole_profile=False, contact=contact
        )

    async def put(
        self,
        actor: Actor,
        fields: Changes,
        *,
        expected_version: int | None = None,
        contact: bool = False,
    ) -> Profile:
        """Put the user's word as a whole: fields that are not named go back to what items say."""
        return await self._write(
            actor, fields, expected_version, whole_profile=True, contact=contact
        )

    async def delete(self, actor: Actor) -> Profile:
        """Take the profile away: its fields are gone at once, and items fill none until the next edit."""
        async with self._database.transaction(known_actor(actor)) as tx:
            standing = await self._refresh.user(tx, actor, deleted=True)
            profile = user_profile(actor.user, standing, contact=False)
            deed = Deed("delete_profile", actor.user_scope, standing.before, standing.version)
            await tx.answer(profile, *([deed] if standing.version != standing.before else []))
        return profile

    async def patch_project(
        self,
        actor: Actor,
        project_id: str,
        changes: Changes,
        *,
        expected_version: int | None = None,
    ) -> ProjectProfile:
        """Put the named fields of a project's profile. Raises PermissionDenied (``role_too_low``)."""
        return await self._write_project(
            actor, project_id, changes, expected_version, whole_profile=False
        )

    async def put_project(
        self,
        actor: Actor,
        project_id: str,
        fields: Changes,
        *,
        expected_version: int | None = None,
    ) -> ProjectProfile:
        """Put a project's profile as a whole, as ``put``."""
        return await self._write_project(
            actor, project_id, fields, expected_version, whole_profile=True
        )

    # ---- behaviour

    async def note_intent(self, actor: Actor, vector: Vector) -> Behaviour:
        """Let one more intent count in where the user's intents lie; of the model in use for the user.

        Raises InvalidInput (``invalid_vector``). The version of the profile stays.
        """
        named = {"scope_key": known_actor(actor).user_scope, "user_id": actor.user}
        async with self._database.transaction(actor) as tx:
            await self._keys.obtain(tx, actor)
            await tx.run(_SQL["begin_user"], named)
            row = await tx.one(_SQL["behavior"], named)
            assert row is not None, "the profile was made above"
            mean = note(_behaviour(row), tuple(vector), tx.model_id or 0, row["now"])
            put = {
                "vector": HalfVector(mean.mean),
                "model_id": mean.model_id,
                "weight": mean.weight,
                "at": mean.at,
            }
            await tx.run(_SQL["put_behavior"], named | put)
        return mean

    async def behaviour(self, actor: Actor) -> Behaviour | None:
        """Return where the user's intents lie, None while none is known."""
        async with self._database.transaction(known_actor(actor)) as tx:
            row = await tx.one(_SQL["behavior"], {"scope_key": actor.user_scope})
        return None if row is None else _behaviour(row)

    # ---- staying up to date

    async def greet(self, actor: Actor) -> None:
        """Make the profile of a user who comes for the first time and may be remembered; then it is free."""
        await self._agents.greet(known_actor(actor))

    async def catch_up(self) -> int:
        """Make every profile anew that is behind its items, of all users; return how many."""
        made = 0
        while turn := await self.consumer.turn():
            made += turn
        return made

    # ---- what a job does at night

    async def prepare_history(self, now: datetime | None = None) -> int:
        """Make room for the changes of the next hundred days; return how many partitions that took.

        ``now`` stands in for the clock. Without this whoever writes first makes the room.
        """
        return await self._folding.prepare(now)

    async def fold_history(self, now: datetime | None = None) -> Folded:
        """Fold what is old of the history of all profiles, and drop the chunks that are empty for it.

        ``now`` stands in for the clock. It may be killed and run again, and by several at once.
        """
        return await self._folding.run(now)

    # ---- how it is done

    async def _write(
        self,
        actor: Actor,
        changes: Changes,
        expected: int | None,
        *,
        whole_profile: bool,
        contact: bool,
    ) -> Profile:
        shown = _contact(actor, contact)
        edit = self._edit(changes, USER_FIELDS, expected, whole_profile=whole_profile)
        async with self._database.transaction(actor) as tx:
            standing = await self._refresh.user(tx, actor, edit, expected, deleted=False)
            profile = user_profile(actor.user, standing, contact=shown)
            deed = Deed("edit_profile", actor.user_scope, standing.before, standing.version)
            await tx.answer(profile, deed)
        return profile

    async def _write_project(
        self,
        actor: Actor,
        project_id: str,
        changes: Changes,
        expected: int | None,
        *,
        whole_profile: bool,
    ) -> ProjectProfile:
        asker = _within(actor, project_id)
        edit = self._edit(changes, PROJECT_FIELDS, expected, whole_profile=whole_profile)
        async with self._database.transaction(asker) as tx:
            _require_role(tx)
            standing = await self._refresh.project(tx, asker, edit, expected)
            key = await self._refresh.projects_own(tx, asker)
            named = {"scope_key": str(asker.project_scope)}
            rows = [tuple(row.values()) for row in await tx.all(_SQL["decisions"], named)]
            decided = open_decisions(key, str(asker.project_scope), rows)
            profile = project_profile(str(asker.project), standing, decided)
            deed = Deed("edit_project_profile", asker.project, standing.before, standing.version)
            await tx.answer(profile, deed)
        return profile

    def _edit(
        self,
        changes: Changes,
        specs: Mapping[str, Spec],
        expected: int | None,
        *,
        whole_profile: bool,
    ) -> Edit:
        if expected is not None:
            whole(expected, 1, _LAST, "expected_version")
        checked = checked_edit(changes, specs, self._sensitive)
        fields = {
            name: None if texts is None else Field(entries_of(texts))
            for name, texts in checked.items()
        }
        return edited_fields(fields, whole=whole_profile)


def _contact(actor: Actor, asked: bool) -> bool:
    if asked and known_actor(actor).agent is not None:
        raise PermissionDenied(
            "contact_not_for_agents", "E-mail and phone are shown in full to their user alone."
        )
    return asked


def _within(actor: Actor, project_id: str) -> Actor:
    return replace(known_actor(actor), project=clean_id(project_id, "project"))


def _no_project() -> NotFound:
    return NotFound("project_not_found", "There is no such project.")


def _require_role(tx: Transaction) -> None:
    if tx.role is None:
        raise _no_project()
    if tx.role not in RUN_BY:
        raise PermissionDenied(
            "role_too_low", "A project's profile is edited by its owners and admins.", role=tx.role
        )


def _behaviour(row: Mapping[str, Any]) -> Behaviour | None:
    if row["vector"] is None:
        return None
    return Behaviour(tuple(row["vector"]), row["weight"], row["at"], row["model_id"])
