"""Which request asks for what? One pure function an operation: arguments in, a ``Call`` out.

Both clients send these; neither knows a route of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote
from uuid import UUID

from mnemic.client.reading import any_hit_of, hit_of, into, pass_of, verdict_of
from mnemic.client.values import Deletion, ItemPage, Pass, Question
from mnemic.model import (
    Hit,
    MemoryItem,
    MemoryType,
    ResourceHit,
    Scope,
    Source,
    Verdict,
    Visibility,
)

T = TypeVar("T")
Include = Literal["memory", "resource"]


class _Unchanged:
    """Stands for "leave it as it is" where None means "none"."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED = _Unchanged()


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request, and how its answer is read.

    ``writes`` gets an Idempotency-Key, so that it can be sent again when its answer was lost. ``longer`` is
    how many seconds more than others its answer is waited for.
    """

    method: str
    path: str
    read: Callable[[Any], T]
    writes: bool = False
    query: Mapping[str, str] = field(default_factory=dict)
    json: Any = None
    content: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    longer: float = 0.0


def segment(name: object) -> str:
    """Return an id as one segment of a path; one of dots alone would be taken for a way up."""
    text = quote(str(name), safe="")
    return text.replace(".", "%2E") if text in (".", "..") else text


def told(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given, as JSON: None is left out, times and ids become text."""
    return {name: plain(value) for name, value in values.items() if value is not None}


def plain(value: Any) -> Any:
    """Return one argument as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def asked(values: Mapping[str, Any]) -> dict[str, str]:
    """Return what was given as a query string has it."""
    shown = told(values)
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in shown.items()
    }


def matching(version: int | None, *, always: bool = False) -> dict[str, str]:
    """Return the header that names the version that is meant; ``always`` where one must be sent."""
    if version is None:
        return {"If-Match": "*"} if always else {}
    return {"If-Match": f'"{version}"'}


# ---- memories


def add(
    content: str,
    memory_type: MemoryType = "fact",
    scope: Scope = "user",
    *,
    confidence: float = 0.9,
    source: Source = "user",
    source_id: str | None = None,
    valid_from: datetime | None = None,
    valid_to: datetime | None = None,
    metadata: Mapping[str, object] | None = None,
    visibility: Visibility = "members",
) -> Call[Verdict]:
    """Ask the gate to remember one text; see ``MemoryService.add_explicit_memory``."""
    body = {
        "content": content,
        "memory_type": memory_type,
        "scope": scope,
        "confidence": confidence,
        "source": source,
        "source_id": source_id,
        "valid_from": valid_from,
        "valid_to": valid_to,
        "metadata": metadata,
        "visibility": visibility,
    }
    return Call("POST", "/api/memory", verdict_of, writes=True, json=told(body))


def add_many(memories: Sequence[Mapping[str, Any]]) -> Call[tuple[Verdict, ...]]:
    """Ask the gate to remember up to 100 texts; each is a mapping of the arguments of ``add``."""
    body = {"memories": [told(memory) for memory in memories]}
    return Call(
        "POST",
        "/api/memory/batch",
        lambda value: tuple(map(verdict_of, value["verdicts"])),
        writes=True,
        json=body,
    )


def get(item_id: object) -> Call[MemoryItem]:
    """Return one item. Raises NotFound (``item_not_found``)."""
    return Call("GET", f"/api/memory/{segment(item_id)}", lambda value: into(MemoryItem, value))


def list_items(
    *,
    limit: int = 50,
    cursor: str | None = None,
    memory_type: MemoryType | None = None,
    scope: Scope | None = None,
    status: str = "active",
) -> Call[ItemPage]:
    """Return a page of items, newest first, with the total; ``limit`` is 1 to 1,000."""
    query = {
        "limit": limit,
        "cursor": cursor,
        "memory_type": memory_type,
        "scope": scope,
        "status": status,
    }
    return Call("GET", "/api/memory", lambda value: into(ItemPage, value), query=asked(query))


def update(
    item_id: object,
    *,
    expected_version: int | None = None,
    content: str | None = None,
    memory_type: MemoryType | None = None,
    confidence: float | None = None,
    valid_to: datetime | _Unchanged | None = UNCHANGED,
    metadata: Mapping[str, object] | None = None,
    visibility: Visibility | None = None,
) -> Call[Verdict]:
    """Write a new version of an item; what is not named stays, ``valid_to=None`` takes the end away.

    Raises Conflict (``version_conflict``) unless ``expected_version`` is there; None is whichever.
    """
    body = told(
        {
            "content": content,
            "memory_type": memory_type,
            "confidence": confidence,
            "metadata": metadata,
            "visibility": visibility,
        }
    )
    if not isinstance(valid_to, _Unchanged):
        body["valid_to"] = plain(valid_to)
    return Call(
        "PATCH",
        f"/api/memory/{segment(item_id)}",
        verdict_of,
        writes=True,
        json=body,
        headers=matching(expected_version, always=True),
    )


def delete(
    item_id: object, *, dry_run: bool = False, expected_version: int | None = None
) -> Call[Deletion]:
    """Remove an item with the earlier versions behind it.

    Raises Conflict (``version_conflict``) unless ``expected_version`` is there; None is whichever.
    """
    return Call(
        "DELETE",
        f"/api/memory/{segment(item_id)}",
        lambda value: into(Deletion, value),
        writes=True,
        query=asked({"dry_run": dry_run}),
        headers=matching(expected_version),
    )


def delete_all(*, confirm: bool = False, dry_run: bool = False) -> Call[Deletion]:
    """Remove every memory of the user. Raises PermissionDenied (``confirmation_required``)."""
    return Call(
        "DELETE",
        "/api/memory",
        lambda value: into(Deletion, value),
        writes=True,
        query=asked({"confirm": confirm, "dry_run": dry_run}),
    )


def history(item_id: object) -> Call[tuple[MemoryItem, ...]]:
    """Return the versions of an item, newest first."""
    return Call(
        "GET",
        f"/api/memory/{segment(item_id)}/history",
        lambda value: tuple(into(MemoryItem, one) for one in value["versions"]),
    )


def search(
    query: str,
    k: int = 5,
    memory_type: MemoryType | None = None,
    scope: Scope | None = None,
    *,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    min_score: float = 0.0,
    include_pending: bool = False,
) -> Call[tuple[Hit, ...]]:
    """Return the best ``k`` (1 to 100) memories, best first; see ``MemoryService.search_memories``."""
    body = {
        "query": query,
        "k": k,
        "memory_type": memory_type,
        "scope": scope,
        "as_of": as_of,
        "known_at": known_at,
        "min_score": min_score,
        "include_pending": include_pending,
    }
    return _search(body, hit_of)


def search_all(
    query: str,
    k: int = 5,
    *,
    include: Sequence[Include] = ("memory", "resource"),
    scope: Scope | None = None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    min_score: float = 0.0,
) -> Call[tuple[Hit | ResourceHit, ...]]:
    """Return the best ``k`` of memories, chat turns and pieces of documents, best first."""
    body = {
        "query": query,
        "k": k,
        "include": list(include),
        "scope": scope,
        "as_of": as_of,
        "known_at": known_at,
        "min_score": min_score,
    }
    return _search(body, any_hit_of)


def _search(body: Mapping[str, Any], read: Callable[[Any], T]) -> Call[tuple[T, ...]]:
    return Call(
        "POST",
        "/api/memory/search",
        lambda value: tuple(read(hit) for hit in value["hits"]),
        json=told(body),
    )


def build_context(query: str, budget_tokens: int = 800) -> Call[str]:
    """Return what is relevant as text for the end of a system prompt, "" for nothing."""
    body = {"query": query, "budget_tokens": budget_tokens}
    return Call("POST", "/api/memory/context", lambda value: str(value["context"]), json=body)


def extract() -> Call[Pass]:
    """Turn what was said in the client's session since the last pass into memories."""
    return Call("POST", "/api/memory/extract", pass_of, writes=True, json={})


def questions(*, limit: int = 100) -> Call[tuple[Question, ...]]:
    """Return the pending items with what to ask their user, oldest first."""
    return Call(
        "GET",
        "/api/verifications",
        lambda value: tuple(into(Question, one) for one in value["questions"]),
        query=asked({"limit": limit}),
    )


def confirm(item_id: object) -> Call[Verdict]:
    """Make a pending item active, by its user's word."""
    return _answered(item_id, "confirm")


def deny(item_id: object) -> Call[Verdict]:
    """Remove a pending item, by its user's word."""
    return _answered(item_id, "deny")


def _answered(item_id: object, answer: str) -> Call[Verdict]:
    path = f"/api/verifications/{segment(item_id)}"
    return Call("POST", path, verdict_of, writes=True, json={"answer": answer})
