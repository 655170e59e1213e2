"""Which values make every named statement do something for its owner, so that others can be refused it?"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mnemic.ids import new_id
from mnemic.model import Actor, Turn
from mnemic.storage.halfvec import HalfVector
from mnemic.storage.statements import statements

if TYPE_CHECKING:
    from mnemic.service import MemoryService

VICTIM = Actor("kim", session="s1")
NEWCOMER = Actor("newcomer", session="s9")
STRANGER = Actor("lee", session="s1")
# what only works for somebody who is not there yet
FOR_NEWCOMERS = {"keys.add_user", "keys.add_key", "messages.open_session"}
WITHOUT_ROWS = {"items.lock_scope"}
"""An advisory lock reads and writes no row."""
_PARAMETER = re.compile(r"%\((\w+)\)s")
_OF_SCOPES = ("%(scopes)s", "%(scope_key)s", "%(scope_keys)s", "%(user_scope)s", "%(sessions)s")


@dataclass(frozen=True, slots=True)
class World:
    """One user's rows: an edited item (so with history), a pending one, a conversation and a pass."""

    active: dict[str, Any]
    past: dict[str, Any]
    pending: UUID


async def fill(memory: MemoryService, owner: Any) -> World:
    """Give the victim a row in every table."""
    kept = await memory.add_explicit_memory(VICTIM, "My bicycle is parked at the station")
    assert kept.id is not None
    await memory.update(VICTIM, kept.id, content="My bicycle is parked behind the library")
    unsure = await memory.add_explicit_memory(VICTIM, "我的办公室在四楼靠窗", confidence=0.75)
    assert unsure.id is not None
    await memory.sessions.append(VICTIM, [Turn("user", "记住：我喜欢喝乌龙茶", speaker="金")])
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
    query = "select content_mac, valid_from from memory_item where superseded_by = %s"
    past = await (await owner.execute(query, [kept.id])).fetchone()
    return World(row, past, unsure.id)


def scoped_statements() -> dict[str, str]:
    """Return every named statement, of whatever file, that names a scope."""
    found = {}
    for entry in files("mnemic.storage").joinpath("sql").iterdir():
        name = entry.name.removesuffix(".sql")
        for statement, text in statements(name).items():
            if any(parameter in text for parameter in _OF_SCOPES):
                found[f"{name}.{statement}"] = text
    return found


def parameters(name: str, world: World, of: Actor) -> dict[str, Any]:
    """Return what a statement is given when it is aimed at the rows of ``of``."""
    of_session = name.startswith("messages.")
    item = (
        world.pending
        if name in ("items.activate", "items.answer", "items.question")
        else world.active["id"]
    )
    words = world.active["words"]
    many = name == "retrieval.search"
    unknown = dict.fromkeys(_PARAMETER.findall(scoped_statements()[name]))
    return (
        unknown
        | _scopes(of, of.session_scope if of_session else of.user_scope)
        | _item(world, item, words if many else f"'{words[0]}':1")
        | _log(of)
        | {"any_word": " | ".join(words), "candidates": 10, "as_of": None, "known_at": None}
        | _special(name, world)
    )


def _special(name: str, world: World) -> dict[str, Any]:
    if name == "items.exact":
        return {"content_mac": world.active["content_mac"]}
    if name == "items.exact_past":
        return {"content_mac": world.past["content_mac"], "since": world.past["valid_from"]}
    if name in ("items.insert", "messages.log_pass"):
        return {"id": new_id()}
    return {}


def _scopes(of: Actor, scope_key: str | None) -> dict[str, Any]:
    return {
        "scope_key": scope_key,
        "scopes": list(of.scope_keys),
        "scope_keys": [of.user_scope],
        "user_scope": of.user_scope,
        "sessions": of.session_prefix,
    }


def _item(world: World, item: UUID, lexemes: object) -> dict[str, Any]:
    sealed = os.urandom(60)
    return {
        "id": item,
        "ids": [item],
        "uses": [1],
        "by": new_id(),
        "since": None,
        "except_id": UUID(int=0),
        "version_id": new_id(),
        "version": world.active["version"],
        "scope": "user",
        "scope_id": "kim",
        "owner_id": "kim",
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
        "created_at": None,
        "after": 0,
        "until": 100,
        "turn": 77,
        "key_id": new_id(),
        "wrapped": os.urandom(60),
        "kek_id": "k",
    }
