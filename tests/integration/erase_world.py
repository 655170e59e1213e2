"""What does a user leave behind who used everything there is, alone and in projects?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from psycopg import sql
from psycopg.types.json import Jsonb
from statement_world import fill

from mnemic.audit import Audit
from mnemic.consent import Consents
from mnemic.ids import new_id
from mnemic.item_rows import at, seal_texts
from mnemic.keyfile import KeyFile
from mnemic.model import Actor
from mnemic.privacy.erase import Erase
from mnemic.storage.migrate import private_schema

if TYPE_CHECKING:
    from conftest import Server
    from mnemic.service import MemoryService

PERSONAL_COLUMNS = ("scope_key", "user_id", "owner_id", "author_id", "created_by", "thread_id")
"""Names of columns by which a row is somebody's."""


@dataclass(frozen=True, slots=True)
class Services:
    """The service with what this part adds to it."""

    memory: MemoryService
    audit: Audit
    consents: Consents
    erase: Erase


async def services(memory: MemoryService, server: Server) -> Services:
    deployment = memory._parts.deployment
    audit = await Audit.open(deployment.database, KeyFile(server.key_file))
    consents = Consents(deployment.database, audit)
    erase = Erase(deployment.database, deployment.keys, audit, memory._parts.models.forget)
    return Services(memory, audit, consents, erase)


async def one(owner: Any, query: str, *params: Any) -> Any:
    return await (await owner.execute(query.encode(), params)).fetchone()


async def put(owner: Any, table: str, like: str, **changes: Any) -> None:
    """Insert a copy of a row with some columns changed; the rest of it only has to be allowed."""
    name = sql.Identifier(table)
    query = sql.SQL("select to_jsonb(t) as row from {} t where " + like + " limit 1")  # type: ignore[arg-type]
    row = (await (await owner.execute(query.format(name))).fetchone())["row"]
    raw = {
        column: f"\\x{value.hex()}" for column, value in changes.items() if isinstance(value, bytes)
    }
    insert = sql.SQL("insert into {0} select (jsonb_populate_record(null::{0}, %s)).*").format(name)
    plain = {
        column: str(value) if isinstance(value, UUID) else value
        for column, value in changes.items()
    }
    await owner.execute(insert, [Jsonb(row | plain | raw)])


async def everything(services: Services, owner: Any) -> None:
    """Give kim a row in every table that may hold one of a user's."""
    await fill(services.memory, owner)
    await services.consents.grant(Actor("kim", session="s1"))
    await services.memory.profiles.catch_up()
    await services.memory.profiles.consumer.close()  # nothing changes beside the tests
    for statement in _OTHERS:
        given = {"a": os.urandom(32), "b": os.urandom(32), "id": new_id(), "event": new_id()}
        await owner.execute(statement.encode(), given)


_OTHERS = (
    "insert into store_item (scope_key, entry_mac, id, owner_id, prefixes_mac, entry_enc, value_enc)"
    " values ('user:kim', %(a)s, %(id)s, 'kim', array[%(a)s, %(b)s]::bytea[], %(a)s, %(b)s)",
    "insert into api_key (scope_key, prefix, secret_mac, kind, user_id, scopes)"
    " values ('user:kim', 'kimkey0000', %(a)s, 'user', 'kim', '{read}') on conflict do nothing",
    "insert into idempotency_key (scope_key, key_mac, request_mac, state, token, expires_at)"
    " values ('user:kim', %(a)s, %(b)s, 'started', %(id)s, now() + interval '1 day')",
    "with task as (insert into task_state (scope_key, task_id, user_id, task_type, current_step, status,"
    " state_data, version, created_at, updated_at)"
    " values ('session:kim/s1', %(id)s, 'kim', 't', 's', 'running', '{}', 1, now(), now()) returning *)"
    " insert into task_events (scope_key, event_id, task_id, seq, version, event_type, payload_enc, at)"
    " select scope_key, %(event)s, task_id, 1, 1, 'step_start', %(a)s, now() from task",
    "insert into profile_archive (scope_key, version, archive_enc, archived_at)"
    " values ('user:kim', 1, %(a)s, now())",
    "insert into cold_object (scope_key, name, n_bytes, sha256) values ('user:kim', 'ab/cd', 1, '')",
    "insert into outbox (scope_key, xact) values ('user:kim', '1')",
    "insert into tested_private.profile_history_fold (scope_key, fold_no, n_changes, first_at, last_at,"
    " fold_enc) values ('user:kim', 1, 1, now(), now(), %(a)s)",
    "insert into thread (scope_key, thread_id, session_id, session_scope)"
    " values ('user:kim', 'kim/t1', 's1', 'session:kim/s1')",
    "insert into session_state_snapshot (scope_key, thread_id, session_id, checkpoint_id, status,"
    " snapshot_enc) values ('user:kim', 'kim/t1', 's1', 'c1', 'done', %(a)s)",
    "insert into checkpoint_archive (scope_key, id, thread_id, checkpoints, n_bytes, archive_enc)"
    " values ('user:kim', %(id)s, 'kim/t1', '{c0}', 1, %(a)s)",
    "insert into checkpoints (thread_id, checkpoint_id, checkpoint) values ('kim/t1', 'c1', '{}')",
    "insert into checkpoint_blobs (thread_id, channel, version, type, blob)"
    " values ('kim/t1', 'mood', '1', 'msgpack', %(a)s)",
    "insert into checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, type, blob)"
    " values ('kim/t1', 'c1', 'task', 0, 'mood', 'msgpack', %(a)s)",
    "insert into session_state (scope_key, session_id, name_mac, entry_enc, updated_at, expires_at)"
    " values ('session:kim/s1', 's1', %(a)s, %(b)s, now(), now() + interval '1 hour')",
)


async def write_in_project(
    services: Services, owner: Any, author: Actor, text: str, *, item_of: str | None = None
) -> UUID:
    """Put an item into the author's project, sealed by the author's key; ``item_of`` owns it, where an
    admin has edited what another wrote. It has a question, a use and a vector on its way, as any may have."""
    deployment, scope_key, new = (
        services.memory._parts.deployment,
        str(author.project_scope),
        new_id(),
    )
    async with deployment.database.transaction(author) as tx:
        key = await deployment.keys.obtain(tx, author, scope_key)
        sealed = seal_texts(
            key, scope_key, new, 1, content=text, reason="said so", metadata={"a": 1}
        )
        asked = key.seal("Is it so?", at(scope_key, new, "question", 1))
    await put(
        owner, "memory_item", "scope_key = 'user:lee'", scope_key=scope_key, id=new, scope="project",
        scope_id=author.project, owner_id=item_of or author.user, content_mac=os.urandom(32), version=1,
        **sealed,
    )  # fmt: skip
    await owner.execute("insert into item_usage (scope_key, id) values (%s, %s)", [scope_key, new])
    await owner.execute(
        "insert into verification (scope_key, item_id, reason, question_enc) values (%s, %s, 'x', %s)",
        [scope_key, new, asked],
    )
    await owner.execute(
        "insert into reembedding (scope_key, table_name, id, item_id, model_id, row_version, reason)"
        " select scope_key, 'memory_item', id, id, model_id, 1, 'embedding_blank' from memory_item"
        " where id = %s",
        [new],
    )
    return new


async def document_in_project(owner: Any, author: Actor) -> UUID:
    """Put a document of one piece into the author's project, and a piece of one that is not whole."""
    scope_key, new, piece = str(author.project_scope), new_id(), new_id()
    await put(
        owner, "resource", "kind = 'document'", scope_key=scope_key, id=new, owner_id=author.user,
        content_mac=os.urandom(32), uri_mac=os.urandom(32),
    )  # fmt: skip
    await put(
        owner, "chunk", "text_enc is not null", scope_key=scope_key, id=piece, resource_id=new,
        ordinal=1, owner_id=author.user,
    )  # fmt: skip
    await put(
        owner, "chunk_draft", "true", scope_key=scope_key, id=new_id(), draft_mac=os.urandom(32),
        owner_id=author.user,
    )  # fmt: skip
    return new


async def read_in_project(
    services: Services, owner: Any, reader: Actor, item: UUID
) -> tuple[str, str]:
    """Open an item's text and its question as a member does."""
    deployment, scope_key = services.memory._parts.deployment, str(reader.project_scope)
    row = await one(
        owner,
        "select m.content_enc, v.question_enc, m.version from memory_item m"
        " join verification v on v.item_id = m.id where m.id = %s",
        item,
    )
    async with deployment.database.transaction(reader) as tx:
        key = await deployment.keys.find(tx, reader, scope_key)
        assert key is not None
        text = key.open(row["content_enc"], at(scope_key, item, "content", row["version"]))
        return text, key.open(row["question_enc"], at(scope_key, item, "question", 1))


async def personal_tables(owner: Any, schema: str) -> set[str]:
    """Every table of the catalog with a column by which a row is somebody's, the private ones too."""
    found = await owner.execute(
        "select distinct c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid"
        " where c.relnamespace = any(%s::regnamespace[]) and c.relkind in ('r', 'p')"
        " and not c.relispartition and a.attname = any(%s) and not a.attisdropped",
        [[schema, private_schema(schema)], list(PERSONAL_COLUMNS)],
    )
    return {row["relname"] for row in await found.fetchall()}


async def contents(owner: Any, schema: str) -> dict[str, list[str]]:
    """Every row of every table as text."""
    names = await owner.execute(
        "select relname, relnamespace::regnamespace::text as place from pg_class"
        " where relnamespace = any(%s::regnamespace[]) and relkind in ('r', 'p') and not relispartition"
        " order by relname",
        [[schema, private_schema(schema)]],
    )
    every = {}
    for row in await names.fetchall():
        query = sql.SQL("select to_jsonb(t)::text as row from {} t order by 1")
        rows = await owner.execute(query.format(sql.Identifier(row["place"], row["relname"])))
        every[row["relname"]] = [one["row"] for one in await rows.fetchall()]
    return every


async def of_kim(owner: Any, schema: str) -> dict[str, list[str]]:
    """Rows in which the id stands anywhere, in clear."""
    every = await contents(owner, schema)
    found = {table: [row for row in rows if "kim" in row] for table, rows in every.items()}
    return {table: rows for table, rows in found.items() if rows}


async def made(
    services: Services, project: str, *members: tuple[str, str], by: str = "kim"
) -> None:
    """Make a project with members in their roles."""
    founder = Actor(by)
    await services.memory.projects.create(founder, project, f"Project {project}")
    for user, role in members:
        await services.memory.projects.grant(founder, project, user, role)  # type: ignore[arg-type]


async def roles(owner: Any, project: str) -> dict[str, str]:
    """Return the members of a project with their roles."""
    rows = await owner.execute(
        "select user_id, role from project_member where scope_key = %s", [f"project:{project}"]
    )
    return {row["user_id"]: row["role"] for row in await rows.fetchall()}
