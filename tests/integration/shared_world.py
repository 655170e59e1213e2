"""What else does a victim have: rows that only a door or an operator writes, and projects with members?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb
from statement_world import VICTIM, World

from mnemic.ids import new_id
from mnemic.model import Actor

if TYPE_CHECKING:
    from mnemic.service import MemoryService

SHARED, PRIVATE = "apollo", "artemis"
"""The victim's projects: what all members see, and what the victim alone sees."""
MEMBERS = {"kim": "owner", "adam": "admin", "edda": "editor", "vera": "viewer"}
PLANTED = {
    # what only an operator or a door of the service writes
    "api_key": "insert into api_key (scope_key, prefix, secret_mac, kind, user_id, scopes)"
    " values ('user:kim', 'abcdefgh', sha256('x'), 'user', 'kim', '{read}')",
    "idempotency_key": "insert into idempotency_key (scope_key, key_mac, request_mac, state, token,"
    " expires_at) values ('user:kim', sha256('k'), sha256('r'), 'started',"
    " '00000000-0000-0000-0000-000000000000', now() + interval '1 day')",
    "consent_log": "insert into consent_log (scope_key, id, purpose, state, via)"
    " values ('user:kim', gen_random_uuid(), 'insight', 'granted', 'app')",
    "store_item": "insert into store_item (scope_key, entry_mac, id, owner_id, prefixes_mac, entry_enc,"
    " value_enc) values ('user:kim', sha256('e'), gen_random_uuid(), 'kim',"
    " array[sha256('p'), sha256('q')], '', '')",
    "task_state": "insert into task_state (scope_key, task_id, user_id, task_type, current_step, status,"
    " state_data, version, created_at, updated_at) values ('user:kim', gen_random_uuid(), 'kim', 'report',"
    " 'draft', 'running', '{}', 1, now(), now())",
    "task_events": "insert into task_events (scope_key, event_id, task_id, seq, version, event_type,"
    " payload_enc, at) select scope_key, gen_random_uuid(), task_id, 1, 1, 'step_start', '', now()"
    " from task_state limit 1",
    "thread": "insert into thread (scope_key, thread_id, session_id, session_scope)"
    " values ('user:kim', 'kim/t1', 's1', 'session:kim/s1')",
    "session_state_snapshot": "insert into session_state_snapshot (scope_key, thread_id, session_id,"
    " checkpoint_id, status, snapshot_enc) values ('user:kim', 'kim/t1', 's1', 'c1', 'done', '')",
    "checkpoint_archive": "insert into checkpoint_archive (scope_key, id, thread_id, checkpoints, n_bytes,"
    " archive_enc) values ('user:kim', gen_random_uuid(), 'kim/t1', '{}', 1, '')",
    "profile_archive": "insert into profile_archive (scope_key, version, archive_enc, archived_at)"
    " values ('user:kim', 1, '', now())",
    "cold_object": "insert into cold_object (scope_key, name, n_bytes, sha256)"
    " values ('user:kim', 'ab/cd', 1, '')",
    "outbox": "insert into outbox (scope_key, xact) values ('session:kim/s1', '1')",
}

_OF_PROFILE = (
    "insert into project_profile (scope_key) values (%(scope_key)s) on conflict do nothing",
    "insert into key_decision (scope_key, item_id, item_version, decision_enc, decided_at)"
    " values (%(scope_key)s, %(item)s, 1, '', now())",
)


async def plant(owner: Any) -> None:
    """Give the victim rows in the tables that their service does not write here."""
    for table, statement in PLANTED.items():
        row = await (await owner.execute("select to_regclass(%s) as there", [table])).fetchone()
        if row["there"] is not None:
            await owner.execute(statement)


async def share(memory: MemoryService, owner: Any, world: World, project: str) -> World:
    """Copy what the victim has into one of the victim's projects, and let a member of every role in."""
    actor = Actor(VICTIM.user, project=project)
    await memory.projects.create(actor, project, "Lighthouse")
    for user, role in MEMBERS.items():
        await memory.projects.grant(actor, project, user, role)  # type: ignore[arg-type]
    into = {
        "scope_key": actor.project_scope,
        "visibility": "members" if project == SHARED else "owner_only",
    }
    kept, before, asked, paper, piece = (new_id() for _ in range(5))
    there = into | {"scope": "project", "scope_id": project}
    item, past = world.active["id"], world.past["id"]
    await _copy(owner, "memory_item", item, there | {"id": kept})
    await _copy(owner, "memory_item", past, there | {"id": before, "superseded_by": kept})
    await _copy(owner, "memory_item", world.pending, there | {"id": asked})
    await _copy(owner, "item_usage", item, into | {"id": kept})
    await _copy(owner, "verification", world.pending, into | {"item_id": asked}, by="item_id")
    of_paper = into | {"resource_id": paper, "owner_id": VICTIM.user}
    await _copy(owner, "resource", world.document["id"], into | {"id": paper})
    await _copy(owner, "chunk", world.document["id"], of_paper | {"id": piece}, by="resource_id")
    draft = into | {"id": new_id(), "owner_id": VICTIM.user}
    await _copy(owner, "chunk_draft", 900, draft, by="ordinal")
    for statement in _OF_PROFILE:
        await owner.execute(statement, {"scope_key": actor.project_scope, "item": kept})
    return World(
        world.active | {"id": kept},
        world.past | {"id": before},
        asked,
        world.document | {"id": paper},
        {"id": piece, "resource_id": paper, "ordinal": 1},
        world.next_model,
        into["visibility"],
    )


async def _copy(owner: Any, table: str, of: Any, changes: dict[str, Any], by: str = "id") -> None:
    values = {name: str(value) for name, value in changes.items()}
    copied = await owner.execute(
        f"insert into {table} select (jsonb_populate_record(null::{table}, to_jsonb(t) || %s)).*"
        f" from {table} t where {by} = %s and t.scope_key = %s",
        [Jsonb(values), of, VICTIM.user_scope],
    )
    assert copied.rowcount == 1, table
