"""Which values make every named statement do something for its owner, so that others can be refused it?"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mnemic.deployment import Deployment
from mnemic.errors import PermissionDenied
from mnemic.ids import new_id
from mnemic.model import Actor, ToolCall, Turn
from mnemic.storage.halfvec import HalfVector, HalfVectors
from mnemic.storage.statements import statements

if TYPE_CHECKING:
    from mnemic.service import MemoryService

VICTIM = Actor("kim", session="s1")
NEWCOMER = Actor("newcomer", session="s9")
STRANGER = Actor("lee", session="s1")
# what only works for somebody who is not there yet
FOR_NEWCOMERS = {
    "keys.add_user", "keys.add_key", "messages.open_session", "resources.add_conversation", "projects.found",
}  # fmt: skip
ELSEWHERE = {
    "audit",
    "consent",
    "episodes",
    "erase",
    "hibernation",
    "history",
    "jobs",
    "profiles",
    "sessions",
    "store",
    "tasks",
}
"""Files of statements that are tested where what they are for is."""
WITHOUT_ROWS = {
    "embedding.hold_model",
    "embedding.hold_user",
    "items.lock_scope",
    "resources.lock_documents",
}
"""An advisory lock reads and writes no row."""
SAYS_WHO_ASKS = {"messages.append_many", "items.begin_write", "items.begin_add"}
"""Calls that set the actors themselves are tested with their functions."""
_DRAFT = bytes(32)
_PARAMETER = re.compile(r"%\((\w+)\)s")
_OF_SCOPES = tuple(
    f"%({name})s"
    for name in (
        "scopes",
        "scope_key",
        "scope_keys",
        "user_scope",
        "session_scope",
        "sessions",
        "read_scopes",
    )
)


@dataclass(frozen=True, slots=True)
class World:
    """One user's rows: an edited item (so with history), a pending one, a conversation and a pass, a document
    and a piece of one that is not whole yet."""

    active: dict[str, Any]
    past: dict[str, Any]
    pending: UUID
    document: dict[str, Any]
    turn: dict[str, Any]
    next_model: int
    visibility: str = "members"


async def begin_change(owner: Any, pending: UUID) -> int:
    """Let the victim be on the way to another model; return its id."""
    row = await (
        await owner.execute(
            "insert into embedding_model (name, dims, calibration, own)"
            " select 'own:another', dims, calibration, true from embedding_model limit 1 returning model_id"
        )
    ).fetchone()
    new = int(row["model_id"])
    await owner.execute(
        "insert into embedding_settings (scope_key, stage, user_id, base_url_enc, model_enc, dims, model_id)"
        " values ('user:kim', 'next', 'kim', %s, %s, 64, %s)",
        [os.urandom(60), os.urandom(60), new],
    )
    await owner.execute("update app_user set model_id = (select model_id from deployment)")
    await owner.execute(
        "insert into reembedding"
        " (scope_key, table_name, id, item_id, chunk_id, model_id, row_version, embedding, reason)"
        " select scope_key, 'memory_item', id, id, null, %s, version,"
        " case when id <> %s then embedding end, case when id = %s then 'embedding_blank' end"
        " from memory_item where scope_key = 'user:kim'"
        " union all select scope_key, 'chunk', id, null, id, %s, xmin::text::bigint, embedding, null"
        " from chunk where scope_key = 'user:kim'",
        [new, pending, pending, new],
    )
    return new


async def fill(memory: MemoryService, owner: Any) -> World:
    """Give the victim a row in every table."""
    kept = await memory.add_explicit_memory(VICTIM, "My bicycle is parked at the station")
    assert kept.id is not None
    await memory.update(VICTIM, kept.id, content="My bicycle is parked behind the library")
    unsure = await memory.add_explicit_memory(VICTIM, "我的办公室在四楼靠窗", confidence=0.75)
    assert unsure.id is not None
    calls = (ToolCall("c1", "brew"),)
    said = [
        Turn("user", "记住：我喜欢喝乌龙茶", speaker="金", client_id="m1", pinned=True),
        Turn("assistant", "", tool_calls=calls),
    ]
    await memory.sessions.append(VICTIM, said)
    await owner.execute(
        "insert into session_state (scope_key, session_id, name_mac, entry_enc, updated_at, expires_at)"
        " values ('session:kim/s1', 's1', %s, %s, now(), now() + interval '1 hour')",
        [os.urandom(32), os.urandom(60)],
    )
    await memory.extract(VICTIM)
    await memory.search_memories(VICTIM, "bicycle")
    await memory._parts.usage.flush()
    await memory.add_explicit_memory(STRANGER, "The stranger lives in a lighthouse")
    row = await (
        await owner.execute(
            "select *, tsvector_to_array(lexemes) as words, embedding::real[] as vector from memory_item"
            " where id = %s",
            [kept.id],
        )
    ).fetchone()
    query = "select id, content_mac, valid_from from memory_item where superseded_by = %s"
    past = await (await owner.execute(query, [kept.id])).fetchone()
    report = await memory.resources.add(VICTIM, "The bicycle has a bell.", title="Bell", uri="a:1")
    await owner.execute(
        "insert into chunk_draft (scope_key, draft_mac, ordinal, id, text_enc, embedding, model_id, lexemes,"
        " n_tokens) select scope_key, %s, 900, %s, text_enc, embedding, model_id, lexemes, n_tokens"
        " from chunk where resource_id = %s",
        [_DRAFT, new_id(), report.id],
    )
    query = "select * from resource where id = %s"
    document = await (await owner.execute(query, [report.id])).fetchone()
    query = "select id, resource_id, ordinal from chunk where text_enc is null"
    turn = await (await owner.execute(query)).fetchone()
    query = "select client_mac from message where client_mac is not null"
    turn |= await (await owner.execute(query)).fetchone()
    return World(row, past, unsure.id, document, turn, await begin_change(owner, unsure.id))


def scoped_statements() -> dict[str, str]:
    """Return every named statement, of whatever file, that names a scope."""
    found = {}
    for entry in files("mnemic.storage").joinpath("sql").iterdir():
        name = entry.name.removesuffix(".sql")
        if name in ELSEWHERE:
            continue
        for statement, text in statements(name).items():
            if f"{name}.{statement}" in SAYS_WHO_ASKS:
                continue
            if any(parameter in text for parameter in _OF_SCOPES):
                within = text.replace("{schema}.", "")  # a transaction has a search path
                found[f"{name}.{statement}"] = (
                    within.format(model=1, dims=64) if "{dims}" in within else within
                )
    return found


def parameters(name: str, world: World, of: Actor) -> dict[str, Any]:
    """Return what a statement is given when it is aimed at the rows of ``of``."""
    of_session = name.startswith(("messages.", "window."))
    item = (
        world.pending
        if name in ("items.activate", "items.answer", "items.question")
        else world.active["id"]
    )
    words = world.active["words"]
    unknown = dict.fromkeys(_PARAMETER.findall(scoped_statements()[name]))
    return (
        unknown
        | _scopes(of, of.session_scope if of_session else of.user_scope)
        | _item(world, item, f"'{words[0]}':1")
        | _log(of)
        | {"any_word": " | ".join(words), "candidates": 10, "as_of": None, "known_at": None}
        | _special(name, world, of)
    )


def _special(name: str, world: World, of: Actor) -> dict[str, Any]:
    if name == "messages.logged_as":
        return {"seq": 1}
    if name in ("retrieval.search", "retrieval.search_large"):
        return _found(world, of)
    if name.startswith("resources_search."):
        return _searched(name, world, of)
    if name.startswith(("embedding.", "nearest.")):
        return _embedding(name, world, of)
    if name.startswith("resources."):
        return _resource(name.removeprefix("resources."), world)
    if name.startswith(("projects.", "access.", "keys.")):
        return _access(name, of)
    if name == "messages.sent_before":
        return {"client_macs": [world.turn["client_mac"]]}
    if name == "items.exact":
        return {"content_mac": world.active["content_mac"]}
    if name == "items.exact_past":
        return {"content_mac": world.past["content_mac"], "since": world.past["valid_from"]}
    if name == "items.look":
        return _looked(world)
    if name in ("items.supersede", "items.strengthen"):
        ids = [world.active["id"]]
        return {"ids": ids, "by": [new_id()], "sinces": [None], "confidences": [0.95]}
    if name in ("items.insert", "messages.log_pass"):
        return {"id": new_id()}
    return {}


def _found(world: World, of: Actor) -> dict[str, Any]:
    words = world.active["words"]
    return {
        "read_scopes": of.project_scope or ",".join(of.scope_keys),
        "allowed": "active,pending,superseded,archived",
        "lexemes": " ".join(words),
        "words": len(words),
        "slots": None,
        "memory_type": None,
        "expected": 10_000,
    }


def _looked(world: World) -> dict[str, Any]:
    return {
        "macs": [world.active["content_mac"]],
        "sinces": [None],
        "embeddings": HalfVectors((tuple(world.active["vector"]),)),
        "slot_lists": [""],
        "farthest": [0.5],
        "most": [8],
    }


def _embedding(name: str, world: World, of: Actor) -> dict[str, Any]:
    waiting = name.endswith((".waiting_items", ".waiting_chunks", ".unready", ".clear_user"))
    return {
        "model_id": 32_000 if waiting else world.next_model,
        "id": world.turn["id"] if name.endswith("_chunk") else world.active["id"],
        "stage": "active" if name.endswith("put_settings") else "next",
        "base_url_enc": os.urandom(60),
        "model_enc": os.urandom(60),
        "dims": 64,
        "own_too": True,
        "after": UUID(int=0),
        "row_version": 1,
        "reason": None,
        "passages": HalfVectors(),
        "memory_type": None,
    }


def _searched(name: str, world: World, of: Actor) -> dict[str, Any]:
    words = world.active["words"]
    scope_key = of.session_scope if name.endswith(".said") else of.project_scope or of.user_scope
    return {
        "scope_keys": [scope_key],
        "session_ids": [of.session],
        "seqs": [1],
        "ids": [world.turn["id"]],
        "lexemes": words,
        "tells": [1.0] * len(words),
        "speakers": [],
        "name_of": [],
        "lexeme_of": [],
        "firsts": [],
        "lasts": [],
        "span_weights": [],
        **dict.fromkeys(("first_talk", "latest_talk", "request"), False),
        **dict.fromkeys(("exact", "pool", "by_meaning", "by_words", "by_all"), 10),
        "side": 1,
        "chance": 0.15,
        "reach": 0.4,
        "own_sessions": [of.session_scope],
        "in_mind": 0,
    }


def _resource(name: str, world: World) -> dict[str, Any]:
    ids = {"id": world.document["id"], "resource_id": world.turn["resource_id"]}
    found_by = {
        name: world.document[name] for name in ("kind", "collection", "content_mac", "uri_mac")
    }
    if name.startswith("add_"):
        ids["id"] = new_id()
        found_by |= {"content_mac": os.urandom(32), "uri_mac": os.urandom(32)}
    return (
        ids
        | found_by
        | {
            "draft_mac": _DRAFT,
            "ordinal": world.turn["ordinal"] if name == "look_again" else 99,
            "role": 1,
            "asking": 0.5,
            "stands": False,
            "text_enc": os.urandom(60),
            "passages": HalfVectors((tuple(world.active["vector"]),)),
            "n_chunks": 1,
        }
    )


def _access(name: str, of: Actor) -> dict[str, Any]:
    mac, token = hashlib.sha256(b"k").digest(), UUID(int=0)
    fresh = os.urandom(32) if name == "access.reserve" else mac
    request = {"key_mac": fresh, "request_mac": os.urandom(32), "token": token}
    kept = {"keep": timedelta(hours=1), "stale": timedelta(hours=1), "response_enc": os.urandom(60)}
    member = {"projects.admit": "new", "projects.found": of.user}.get(name, "vera")
    named = {
        "project_id": of.project,
        "name_enc": os.urandom(60),
        "role": "viewer",
        "user_id": member,
    }
    own = {"author_id": "", "user_id": of.user}
    return request | kept | own | (named if name.startswith("projects.") else {})


def _scopes(of: Actor, scope_key: str | None) -> dict[str, Any]:
    if of.project is not None:
        return _in_project(str(of.project_scope))
    return {
        "scope_key": scope_key,
        "scopes": list(of.scope_keys),
        "scope_keys": [of.user_scope],
        "user_scope": of.user_scope,
        "session_scope": of.session_scope,
        "sessions": of.session_prefix,
    }


def _in_project(scope_key: str) -> dict[str, Any]:
    one = dict.fromkeys(("scope_key", "user_scope", "session_scope", "read_scopes"), scope_key)
    return one | {"scopes": [scope_key], "scope_keys": [scope_key], "sessions": "session:nobody/"}


def _item(world: World, item: UUID, lexemes: object) -> dict[str, Any]:
    sealed = os.urandom(60)
    return {
        "id": item,
        "ids": [item],
        "uses": [1],
        "by": new_id(),
        "since": None,
        "private": world.visibility == "owner_only",
        "except_id": UUID(int=0),
        "version_id": new_id(),
        "version": world.active["version"],
        "scope": "user",
        "scope_id": "kim",
        "owner_id": "kim",
        "visibility": world.visibility,
        "memory_type": "fact" if isinstance(lexemes, str) else None,
        "content_enc": sealed,
        "content_mac": os.urandom(32),
        "reason_enc": sealed,
        "metadata_enc": None,
        "question_enc": sealed,
        "reason": "confidence_unsure",
        "source": "user",
        "source_id": None,
        "source_seqs": None,
        "confidence": 0.95,
        "status": "active",
        "statuses": ["active", "pending", "superseded", "archived"],
        "valid_from": None,
        "local_offset": None,
        "valid_to": None,
        "with_expired": True,
        "corrected": False,
        "before_at": None,
        "before_id": None,
        "limit": 10,
        "embedding": HalfVector(tuple(world.active["vector"])),
        "model_id": world.active["model_id"],
        "lexemes": lexemes,
        "n_tokens": 3,
        "slots": [],
        "script": "letters",
    }


def _log(of: Actor) -> dict[str, Any]:
    return {
        "session_id": of.session,
        "user_id": of.user,
        "project_id": None,
        "count": 1,
        "seq": 99,
        "role": "user",
        "speaker_enc": None,
        "created_at": datetime.now(UTC),
        "pinned": True,
        "seqs": [1],
        "before": 100,
        "after": 0,
        "until": 100,
        "turn": 77,
        "key_id": new_id(),
        "wrapped": os.urandom(60),
        "kek_id": "k",
    }


class Undo(Exception):
    """Leaves a transaction without a trace."""


async def outcome(deployment: Deployment, actor: Actor, statement: Any, params: Any) -> Any:
    """Return what a statement gives an actor: rows, a count of rows, or "refused"; nothing is kept."""
    result: Any = "refused"
    with suppress(Undo, PermissionDenied):
        async with deployment.database.transaction(actor) as tx:
            cursor = await tx.conn.execute(statement, params)
            result = await cursor.fetchall() if cursor.description else cursor.rowcount
            raise Undo
    return result
