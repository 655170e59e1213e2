"""Which projects are there, and who belongs to them in which role?

A project's owners and admins run it; only an owner makes, moves or removes an owner, and the last one cannot
leave. Whoever is not a member is told that there is no such project. A change holds from the next statement
on, in every process, for the database asks for the role each time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from mnemic.checks import one_of
from mnemic.crypto import DataKey, ProjectKey, place
from mnemic.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from mnemic.keys import KeyRing
from mnemic.model import PROJECT_ROLES, Actor, ProjectRole, clean_id, known_actor
from mnemic.permissions import RUN_BY
from mnemic.storage.pool import Database, Deed, Transaction
from mnemic.storage.statements import statements
from mnemic.text import normalise

_SQL = statements("projects")
MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Project:
    """A project as its member sees it; ``role`` is the asker's."""

    project_id: str
    name: str
    role: ProjectRole
    created_by: str
    created_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True)
class Member:
    """A user's place in a project."""

    user: str
    role: ProjectRole
    since: datetime


@dataclass(frozen=True, slots=True)
class ProjectDeletion:
    """What the deletion of a project takes; ``dry_run`` took nothing."""

    items: int
    resources: int
    members: int
    dry_run: bool = False


class Projects:
    """Projects and their members.

    Every method takes the Actor who asks and the project's id (the actor's own project does not matter).
    Raises NotFound (``project_not_found``) to whoever is no member, PermissionDenied (``role_too_low``).
    """

    def __init__(self, database: Database, keys: KeyRing) -> None:
        self._database = database
        self._keys = keys

    async def create(self, actor: Actor, project_id: str, name: str) -> Project:
        """Make a project with the actor as its owner. Raises Conflict (``project_exists``)."""
        asker, called = _within(actor, project_id), checked_name(name)
        params = {**_named(asker), "user_id": asker.user, "role": "owner"}
        async with self._database.transaction(asker) as tx:
            if not await tx.run(_SQL["found"], params):
                raise Conflict("project_exists", "There is a project of this id: choose another.")
            await tx.run(_SQL["admit"], params)
            founder = replace(tx, role="owner", project_keys="")
            key = await self._write_name(founder, asker, called, 1)
            project = await self._shown(founder, asker, key)
            await tx.answer(project, Deed("create_project", project.project_id, None, name))
        return project

    async def get(self, actor: Actor, project_id: str) -> Project:
        """Return a project that the actor belongs to."""
        asker = _within(actor, project_id)
        async with self._database.transaction(asker) as tx:
            _require_member(tx)
            return await self._shown(tx, asker)

    async def mine(self, actor: Actor) -> list[Project]:
        """Return the projects that the actor belongs to, by id."""
        params = {"user_id": known_actor(actor).user}
        async with self._database.transaction(replace(actor, project=None)) as tx:
            ids = [row["project_id"] for row in await tx.all(_SQL["mine"], params)]
        found = []
        for project_id in ids:  # each under its own keys
            asker = _within(actor, project_id)
            async with self._database.transaction(asker) as tx:
                if tx.role is not None:
                    found.append(await self._shown(tx, asker))
        return found

    async def rename(
        self, actor: Actor, project_id: str, name: str, *, expected_version: int | None = None
    ) -> Project:
        """Give a project another name. Raises Conflict (``version_conflict``)."""
        asker, called = _within(actor, project_id), checked_name(name)
        async with self._database.transaction(asker) as tx:
            held = await self._hold(tx, asker)
            _require_version(held, expected_version)
            key = await self._write_name(tx, asker, called, held + 1)
            project = await self._shown(tx, asker, key)
            await tx.answer(
                project, Deed("rename_project", project.project_id, held, project.version)
            )
        return project

    async def members(self, actor: Actor, project_id: str) -> list[Member]:
        """Return who belongs to a project, the longest-standing first."""
        asker = _within(actor, project_id)
        async with self._database.transaction(asker) as tx:
            _require_member(tx)
            rows = await tx.all(_SQL["members"], _named(asker))
        return [_member(row) for row in rows]

    async def grant(self, actor: Actor, project_id: str, user: str, role: ProjectRole) -> Member:
        """Let a user in, or change their role. Raises Conflict (``last_owner``)."""
        asker = _within(actor, project_id)
        wanted = {**_named(asker), "user_id": clean_id(user, "user")}
        wanted["role"] = one_of(role, PROJECT_ROLES, "role")
        async with self._database.transaction(asker) as tx:
            await self._hold(tx, asker)
            before = await tx.one(_SQL["member"], wanted)
            await self._require_over(tx, before, to=role)
            if before is None:
                await tx.run(_SQL["admit"], wanted)
            elif before["role"] != role:
                _require_owner_left(before)
                await tx.run(_SQL["change_role"], wanted)
            member = await self._of(tx, wanted)
            same = before is not None and before["role"] == role
            await tx.answer(
                member, *([] if same else [_change("grant_role", asker, before, member)])
            )
        return member

    async def revoke(self, actor: Actor, project_id: str, user: str) -> Member:
        """Take a user out, at once; everybody may take themselves out. What they wrote stays.

        Raises NotFound (``member_not_found``), Conflict (``last_owner``).
        """
        asker = _within(actor, project_id)
        wanted = {**_named(asker), "user_id": clean_id(user, "user")}
        async with self._database.transaction(asker) as tx:
            leaving = wanted["user_id"] == asker.user
            _require_member(tx)
            if tx.role in RUN_BY or not leaving:
                await self._hold(tx, asker)
            before = await tx.one(_SQL["member"], wanted)
            if before is None:
                raise _no_member()
            if not leaving:
                await self._require_over(tx, before)
            _require_owner_left(before)
            await tx.run(_SQL["remove"], wanted)
            member = _member(before)
            await tx.answer(member, _change("revoke_role", asker, before, None))
        return member

    async def leave(self, actor: Actor, project_id: str) -> Member:
        """Take the actor out of a project. Raises Conflict (``last_owner``)."""
        return await self.revoke(actor, project_id, known_actor(actor).user)

    async def transfer(self, actor: Actor, project_id: str, to_user: str) -> Member:
        """Hand the actor's ownership to another member and become an admin.

        Raises NotFound (``member_not_found``); only an owner has something to hand over.
        """
        asker = _within(actor, project_id)
        wanted = {**_named(asker), "user_id": clean_id(to_user, "user"), "role": "owner"}
        async with self._database.transaction(asker) as tx:
            await self._hold(tx, asker)
            before = await tx.one(_SQL["member"], wanted)
            await self._require_over(tx, before, to="owner")
            if before is None:
                raise _no_member()
            same = wanted["user_id"] == asker.user
            if not same:
                await tx.run(_SQL["change_role"], wanted)
                own = wanted | {"user_id": asker.user, "role": "admin"}
                await tx.run(_SQL["change_role"], own)
            member = await self._of(tx, wanted)
            await tx.answer(
                member, *([] if same else [_change("transfer_project", asker, before, member)])
            )
        return member

    async def delete(
        self,
        actor: Actor,
        project_id: str,
        *,
        dry_run: bool = False,
        expected_version: int | None = None,
    ) -> ProjectDeletion:
        """Remove a project with everything in it, also what only its authors see. An owner's alone.

        Raises Conflict (``version_conflict``) unless ``expected_version``, where it is given, is there.
        """
        asker = _within(actor, project_id)
        async with self._database.transaction(asker) as tx:
            version = await self._hold(tx, asker)
            if await self._role(tx) != "owner":
                raise _too_low("Only an owner deletes a project.")
            _require_version(version, expected_version)
            row = await tx.one(_SQL["drop"], {"really": not dry_run})
            assert row is not None
            gone = ProjectDeletion(**row, dry_run=dry_run)
            deeds = [] if dry_run else [Deed("delete_project", asker.project, row)]
            await tx.answer(gone, *deeds)
        if not dry_run:
            self._keys.forget(str(asker.project_scope))
        return gone

    async def _hold(self, tx: Transaction, asker: Actor) -> int:
        """Lock a project for a change by whoever runs it, and return its version."""
        _require_member(tx)
        row = await tx.one(_SQL["hold"], _named(asker)) if tx.role in RUN_BY else None
        role = await self._role(tx)  # it may have changed while we waited
        if row is None or role not in RUN_BY:
            raise _too_low("Only owners and admins of the project may do this.")
        return int(row["version"])

    async def _role(self, tx: Transaction) -> ProjectRole | None:
        row = await tx.one(_SQL["my_role"])
        assert row is not None
        role: ProjectRole | None = row["role"]
        return role

    async def _require_over(
        self, tx: Transaction, member: Any, to: ProjectRole | None = None
    ) -> None:
        """Only an owner changes an owner's place, or makes one."""
        owners = to == "owner" or (member is not None and member["role"] == "owner")
        if owners and await self._role(tx) != "owner":
            raise _too_low("Only an owner gives or takes an owner's place.")

    async def _write_name(self, tx: Transaction, asker: Actor, name: str, version: int) -> DataKey:
        key = await self._keys.obtain(tx, asker, asker.project_scope)
        params = _named(asker)
        own = key.by("") if isinstance(key, ProjectKey) else key  # it outlives its author
        sealed = own.seal(name, _place(params["scope_key"], version))
        await tx.run(_SQL["name"], {**params, "name_enc": sealed, "version": version})
        return key

    async def _shown(self, tx: Transaction, asker: Actor, key: DataKey | None = None) -> Project:
        row = await tx.one(_SQL["get"], _named(asker))
        key = key or await self._keys.find(tx, asker, asker.project_scope)
        if row is None or key is None or tx.role is None:
            raise _no_project()
        name = key.open(row["name_enc"], _place(row["scope_key"], row["version"]))
        return Project(
            row["project_id"], name, tx.role, row["created_by"], row["created_at"], row["version"]
        )

    async def _of(self, tx: Transaction, params: dict[str, str]) -> Member:
        row = await tx.one(_SQL["member"], params)
        assert row is not None
        return _member(row)


def checked_name(name: object) -> str:
    """Return a project's name: one line of 1 to 200 characters. Raises InvalidInput (``invalid_name``)."""
    text = normalise(name).text.strip() if isinstance(name, str) else ""
    if not 1 <= len(text) <= MAX_NAME or len(text.splitlines()) > 1:
        raise InvalidInput(
            "invalid_name", f"A project's name is one line of 1 to {MAX_NAME} characters."
        )
    return text


def _require_version(held: int, expected: int | None) -> None:
    if expected not in (None, held):
        raise Conflict(
            "version_conflict", "The project was changed meanwhile: read it again.", version=held
        )


def _within(actor: Actor, project_id: str) -> Actor:
    return replace(known_actor(actor), project=clean_id(project_id, "project"))


def _named(asker: Actor) -> dict[str, str]:
    return {"scope_key": str(asker.project_scope), "project_id": str(asker.project)}


def _place(scope_key: str, version: int) -> bytes:
    return place("project", scope_key, scope_key, "name", version)


def _member(row: Any) -> Member:
    return Member(row["user_id"], row["role"], row["since"])


def _change(action: str, asker: Actor, before: Any, after: Member | None) -> Deed:
    was = None if before is None else [before["user_id"], before["role"]]
    return Deed(action, asker.project, was, None if after is None else [after.user, after.role])


def _require_member(tx: Transaction) -> None:
    if tx.role is None:
        raise _no_project()


def _require_owner_left(member: Any) -> None:
    if member["role"] == "owner" and member["owners"] == 1:
        raise Conflict(
            "last_owner", "This is the project's last owner: make another member one first."
        )


def _no_project() -> NotFound:
    return NotFound("project_not_found", "There is no such project.")


def _no_member() -> NotFound:
    return NotFound("member_not_found", "There is no such member.")


def _too_low(message: str) -> PermissionDenied:
    return PermissionDenied("role_too_low", message)
