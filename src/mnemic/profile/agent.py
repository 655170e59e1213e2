"""How does a profile get into a prompt in one query?

The database is asked once who asks, whether the profiles are behind, and what they hold. Only where one is
behind, or not there yet, it is made anew first, and the question is asked again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mnemic.crypto import DataKey
from mnemic.errors import PermissionDenied
from mnemic.keys import KeyRing
from mnemic.model import Actor
from mnemic.permissions import RUN_BY
from mnemic.profile.aggregate import decisions, merged, of_project, of_user
from mnemic.profile.fields import CORE
from mnemic.profile.prose import Prose
from mnemic.profile.refresh import Refresh, Standing
from mnemic.profile.rows import PROJECTS, USERS, open_decisions, open_values
from mnemic.profile.sleeping import profile_asleep
from mnemic.profile.values import AgentProfile, Decision, ProjectProfile
from mnemic.profile.views import project_profile, user_profile
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements

_SQL = statements("profiles")
_ATTEMPTS = 3
_GREETED = 100_000
"""Users of whom a process remembers that their profile is there."""
Head = Mapping[str, Any]


class ForAgents:
    """Reads profiles, up to date."""

    def __init__(self, refresh: Refresh, prose: Prose | None) -> None:
        self._refresh = refresh
        self._database: Database = refresh.database
        self._keys: KeyRing = refresh.keys
        self._prose = prose
        self._greeted: OrderedDict[str, None] = OrderedDict()

    async def read(
        self,
        actor: Actor,
        *,
        contact: bool = False,
        with_items: bool = True,
        whole: bool = False,
    ) -> AgentProfile:
        """Return the user's profile and, where the user is a member, the project's.

        Of a user whom nothing could wake the core alone, or with ``whole`` the reason is raised.
        """
        for attempt in range(_ATTEMPTS):
            head, key = await self._ask(actor)
            asleep = self._asleep(actor, head, whole)
            last = attempt == _ATTEMPTS - 1  # somebody may be writing all the time
            behind = key is None or head["version"] is None or (head["behind"] and not asleep)
            if behind and (key is None or not last):
                await self._make_user(actor)
                continue
            if _makes_project(head) and not last:
                await self._make_project(actor)
                continue
            break
        assert key is not None, "the profile was made above"
        if asleep is not None and head["behind"]:
            standing = await self._core_as_it_would_be(key, actor, head)
        else:
            standing = _user_standing(key, actor, head, with_items)
        project = await self._project(actor, head) if head.get("role") is not None else None
        user = user_profile(
            actor.user, standing, contact=contact, with_items=with_items, asleep=asleep
        )
        return AgentProfile(user, project)

    async def greet(self, actor: Actor) -> None:
        """Make the profile of a user who is not known to this process yet, if they may be remembered."""
        if actor.user_scope in self._greeted:
            return
        try:
            async with self._database.transaction(actor) as tx:
                if not tx.known_user:
                    await self._refresh.user(tx, actor)
        except PermissionDenied:
            return  # refused, not asked yet, or erased: nothing is kept of them
        self._greeted[actor.user_scope] = None
        if len(self._greeted) > _GREETED:
            self._greeted.popitem(last=False)

    def _asleep(self, actor: Actor, head: Head, whole: bool) -> str | None:
        """Return the reason code why a user is asleep still, though they are asking; None for one awake."""
        if head["user_status"] != "dormant":
            return None
        error = profile_asleep() if self._refresh.sleep is None else self._refresh.sleep.why(actor)
        if whole:
            raise error
        return error.code

    async def _core_as_it_would_be(self, key: DataKey, actor: Actor, head: Head) -> Standing:
        """Return the core of a profile that cannot be made anew while its rest is asleep.

        It is what items say now, beside the user's own word; nothing is written.
        """
        standing = _user_standing(key, actor, head, with_items=True)
        async with self._database.transaction(actor) as tx:
            made = of_user(await self._refresh.user_items(tx, key, actor))
        core = {name: field for name, field in made.items() if name in CORE}
        return replace(standing, fields=merged(core, standing.fields))

    async def _ask(self, actor: Actor) -> tuple[Head, DataKey | None]:
        """Ask the database, and return its answer with the key that opens the user's part of it."""
        recent = self._keys.recent(actor)
        params = {"with_key": recent is None}
        statement = _SQL["read" if actor.project is None else "read_both"]
        head = (await self._database.ask(actor, statement, params)).head
        if recent is None:
            return head, await self._keys.accept(actor, head)
        key, epoch = recent
        if epoch == str(head["key_epoch"]):
            return head, key
        self._keys.forget(actor.user_scope)  # erased and back under the same id
        return await self._ask(actor)

    async def _make_user(self, actor: Actor) -> None:
        async with self._database.transaction(actor) as tx:
            standing = await self._refresh.user(tx, actor)
        if self._prose is not None:
            self._prose.note(actor, standing.fields)

    async def _make_project(self, actor: Actor) -> None:
        async with self._database.transaction(actor) as tx:
            if tx.role in RUN_BY:
                await self._refresh.project(tx, actor)

    async def _project(self, actor: Actor, head: Head) -> ProjectProfile | None:
        scope_key, project = str(actor.project_scope), str(actor.project)
        recent = self._keys.recent(actor, scope_key)
        if recent is not None and recent[1] == head["project_keys"] and not head["project_behind"]:
            return _opened(recent[0], project, scope_key, head)
        async with self._database.transaction(actor) as tx:
            if tx.role is None:
                return None
            key = await self._refresh.projects_own(tx, actor)
            if not head["project_behind"]:
                return _opened(key, project, scope_key, head)
            items = await self._refresh.project_items(tx, actor)
        # a member who may not write it is told how it would be
        standing, _ = _project_standing(key, scope_key, head)
        fields = merged(of_project(items), standing.fields)
        decided = tuple(decision for _, decision in decisions(items))
        now = Standing(
            fields, standing.version, standing.before, standing.created_at, standing.updated_at
        )
        return project_profile(project, now, decided)


def _makes_project(head: Head) -> bool:
    if head.get("role") not in RUN_BY:
        return False
    return bool(head["project_version"] is None or head["project_behind"])


def _user_standing(key: DataKey, actor: Actor, head: Head, with_items: bool) -> Standing:
    version, sealed = head["version"], head["fields"]
    fields = open_values(key, USERS, actor.user_scope, sealed, version, with_items=with_items)
    return Standing(fields, version, version, head["created_at"], head["updated_at"])


def _project_standing(
    key: DataKey, scope_key: str, head: Head
) -> tuple[Standing, tuple[Decision, ...]]:
    version = head["project_version"]
    if version is None:
        return Standing({}, 1, 1, head["created_at"], head["updated_at"]), ()
    fields = open_values(key, PROJECTS, scope_key, head["project_fields"], version)
    made, changed = head["project_created_at"], head["project_updated_at"]
    rows = zip(
        head["decided"] or (),
        head["decided_versions"] or (),
        head["decisions"] or (),
        head["reasons"] or (),
        head["decided_at"] or (),
        strict=True,
    )
    return Standing(fields, version, version, made, changed), open_decisions(key, scope_key, rows)


def _opened(key: DataKey, project: str, scope_key: str, head: Head) -> ProjectProfile:
    standing, decided = _project_standing(key, scope_key, head)
    return project_profile(project, standing, decided)
