"""Which rows does a project hold that members of every role wrote, and what may be tried on each of them?

Rows are planted by the owner's login, so that it does not matter which door of the service makes them; what
is sealed is random.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from mnemic.ids import new_id
from mnemic.model import VISIBILITIES, Actor

MEMBERS = {"olga": "owner", "adam": "admin", "edda": "editor", "vera": "viewer"}
FORMER = "fritz"
"""Wrote in the project and belongs to it no more."""
AUTHORS = (*MEMBERS, FORMER)
CONTENT = ("memory_item", "resource", "chunk")
"""Tables whose rows have an author and a visibility."""
_TOUCH = {
    "memory_item": "update memory_item set confidence = confidence where id = %(id)s",
    "resource": "update resource set n_chunks = n_chunks where id = %(id)s",
    "chunk": "update chunk set model_id = model_id where id = %(id)s",
}
INSERT: Mapping[str, Any] = {
    "memory_item": sql.SQL(
        "insert into memory_item (scope_key, id, scope, scope_id, owner_id, visibility, memory_type,"
        " content_enc, content_mac, source, confidence, status, created_at, recorded_at, valid_from,"
        " embedding, model_id, lexemes, n_tokens)"
        " values (%(scope_key)s, %(id)s, 'project', %(project_id)s, %(author)s, %(visibility)s, 'fact',"
        " %(sealed)s, %(mac)s, 'user', 0.9, 'active', now(), now(), now(), '[1,0]', %(model_id)s, 'abc:1', 1)"
    ),
    "resource": sql.SQL(
        "insert into resource (scope_key, id, kind, collection, owner_id, visibility, title_enc, content_mac,"
        " n_chunks) values (%(scope_key)s, %(id)s, 'document', 'knowledge_base', %(author)s, %(visibility)s,"
        " %(sealed)s, %(mac)s, 1)"
    ),
    "chunk": sql.SQL(
        "insert into chunk (scope_key, id, resource_id, ordinal, owner_id, visibility, text_enc, embedding,"
        " model_id, lexemes, n_tokens)"
        " values (%(scope_key)s, %(id)s, %(resource_id)s, %(ordinal)s, %(author)s, %(visibility)s,"
        " %(sealed)s, '[1,0]', %(model_id)s, 'abc:1', 1)"
    ),
}
_HANGING = (
    "insert into item_usage (scope_key, id) values (%(scope_key)s, %(item_id)s)",
    "insert into verification (scope_key, item_id, reason, question_enc)"
    " values (%(scope_key)s, %(item_id)s, 'confidence_unsure', %(sealed)s)",
)
DRAFT = (
    "insert into chunk_draft (scope_key, draft_mac, ordinal, id, owner_id, text_enc, model_id, lexemes,"
    " n_tokens) values (%(scope_key)s, %(mac)s, 1, %(id)s, %(author)s, %(sealed)s, %(model_id)s, '', 1)"
)
_KEY = (
    "insert into data_key (scope_key, author_id, key_id, wrapped, kek_id)"
    " values (%(scope_key)s, %(author)s, %(id)s, %(sealed)s, 'kek')"
)


@dataclass(frozen=True, slots=True)
class Planted:
    """A project's rows: ``ids`` by table, author and visibility."""

    scope_key: str
    project_id: str
    model_id: int
    ids: Mapping[tuple[str, str, str], UUID]

    def values(
        self, author: str, visibility: str, resource_id: UUID | None = None
    ) -> dict[str, Any]:
        """Return what a new row of this author is made of."""
        return {
            "scope_key": self.scope_key,
            "project_id": self.project_id,
            "author": author,
            "visibility": visibility,
            "id": new_id(),
            "resource_id": resource_id or self.ids.get(("resource", author, visibility)),
            "ordinal": 2,
            "sealed": os.urandom(60),
            "mac": os.urandom(32),
            "model_id": self.model_id,
        }


async def plant(
    owner: Any, project_id: str = "apollo", members: Mapping[str, str] = MEMBERS
) -> Planted:
    """Make a project in which every member, and one who left, wrote a row of each visibility."""
    scope_key = str(Actor("somebody", project=project_id).project_scope)
    model = await owner.execute(
        "insert into embedding_model (name, dims, calibration) values ('planted', 2, '{}')"
        " on conflict (name, dims) do update set dims = 2 returning model_id"
    )
    model_id = (await model.fetchone())["model_id"]
    await owner.execute(
        "insert into project (scope_key, project_id, name_enc, created_by) values (%s, %s, %s, %s)",
        [scope_key, project_id, os.urandom(60), next(iter(members))],
    )
    for user, role in members.items():
        await owner.execute(
            "insert into project_member (scope_key, user_id, role) values (%s, %s, %s)",
            [scope_key, user, role],
        )
    ids: dict[tuple[str, str, str], UUID] = {}
    planted = Planted(scope_key, project_id, model_id, ids)
    await owner.execute(_KEY, planted.values("", "members"))
    for author in dict.fromkeys((*members, FORMER)):
        await _write(owner, planted, ids, author)
    return planted


async def _write(
    owner: Any, planted: Planted, ids: dict[tuple[str, str, str], UUID], author: str
) -> None:
    await owner.execute(_KEY, planted.values(author, "members"))
    await owner.execute(DRAFT, planted.values(author, "members"))
    for visibility in VISIBILITIES:
        for table in CONTENT:
            values = planted.values(author, visibility) | {"ordinal": 1}
            await owner.execute(INSERT[table], values)
            ids[table, author, visibility] = values["id"]
        item_id = ids["memory_item", author, visibility]
        for statement in _HANGING:
            await owner.execute(
                statement, planted.values(author, visibility) | {"item_id": item_id}
            )


async def allowed(
    service: Any, planted: Planted, table: str, action: str, visibility: str, author: str
) -> bool:
    """Tell whether the database lets whoever asks do this to the author's row; nothing is kept."""
    known = {"id": planted.ids[table, author, visibility]}
    statement: Any = {
        "read": sql.SQL("select from {} where id = %(id)s").format(sql.Identifier(table)),
        "create": INSERT[table],
        "edit": _TOUCH[table],
        "delete": sql.SQL("delete from {} where id = %(id)s").format(sql.Identifier(table)),
    }[action]
    values = planted.values(author, visibility) if action == "create" else known
    return await touched(service, statement, values) > 0


async def ask_as(conn: Any, user: str, project: str | None = "apollo") -> None:
    """Set on a connection what a transaction of this user in this project sets."""
    actor = Actor(user, project=project)
    for name, value in (
        ("scopes", ",".join(actor.scope_keys)),
        ("sessions", actor.session_prefix),
        ("actor", actor.user),
        ("project", actor.project_scope or ""),
    ):
        await conn.execute("select set_config(%s, %s, false)", [f"mnemic.{name}", value])


async def touched(service: Any, statement: Any, values: Any = None) -> int:
    """Return how many rows a statement reads or writes, 0 when it is refused; nothing is kept."""
    try:
        async with service.transaction(force_rollback=True):
            return int((await service.execute(statement, values)).rowcount)
    except psycopg.errors.InsufficientPrivilege:
        return 0
