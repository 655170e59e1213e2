"""What may a query string hold? As with bodies: whatever is not named here is refused by its name."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict

from mnemic.api.bodies import INCLUDE
from mnemic.api.fields import AS_IT_CAME, MOMENT, NUMBER, Flag, names, share, text, time, whole
from mnemic.model import MEMORY_TYPES, SCOPES, VISIBILITIES, MemoryType, Scope

STATUSES = ("active", "pending", "current", "superseded", "archived", "all")
KINDS = ("chat", "document", "project_resource")
COLLECTIONS = ("memory", "knowledge_base")
MAX_PAGE = 1_000

_STRICT = ConfigDict(extra="forbid")


class Paged(BaseModel):
    """A page of a list."""

    model_config = _STRICT

    limit: Annotated[int, NUMBER, whole(1, MAX_PAGE, spelt=False)] = 50
    cursor: Annotated[str | None, AS_IT_CAME, text(500)] = None


class ListMemory(Paged):
    """Which memories to list."""

    memory_type: Annotated[MemoryType | None, AS_IT_CAME, names(MEMORY_TYPES)] = None
    scope: Annotated[Scope | None, AS_IT_CAME, names(SCOPES)] = None
    status: Annotated[str, AS_IT_CAME, names(STATUSES)] = "active"


class ListResources(Paged):
    """Which resources to list."""

    kind: Annotated[str | None, AS_IT_CAME, names(KINDS)] = None
    collection: Annotated[str | None, AS_IT_CAME, names(COLLECTIONS)] = None


class SearchQuery(BaseModel):
    """A question, and where to look for answers."""

    model_config = _STRICT

    query: Annotated[str, AS_IT_CAME, text()]
    k: Annotated[int, NUMBER, whole(1, 100, spelt=False)] = 5
    memory_type: Annotated[MemoryType | None, AS_IT_CAME, names(MEMORY_TYPES)] = None
    scope: Annotated[Scope | None, AS_IT_CAME, names(SCOPES)] = None
    include: Annotated[str, AS_IT_CAME, names((*INCLUDE, ",".join(INCLUDE)))] = "memory"
    as_of: Annotated[datetime | None, MOMENT, time(null=False)] = None
    known_at: Annotated[datetime | None, MOMENT, time(null=False)] = None
    min_score: Annotated[float, NUMBER, share(spelt=False)] = 0.0
    include_pending: Flag = False


class Rehearsal(BaseModel):
    """``dry_run`` counts what would go, and takes nothing."""

    model_config = _STRICT

    dry_run: Flag = False


class Confirmed(Rehearsal):
    """What takes everything needs ``confirm=true``, unless it is a dry run."""

    confirm: Flag = False


class ListQuestions(BaseModel):
    """How many questions to return, oldest first."""

    model_config = _STRICT

    limit: Annotated[int, NUMBER, whole(1, 10_000, spelt=False)] = 100


class ReadTurns(BaseModel):
    """Which part to read: what comes behind ``after``."""

    model_config = _STRICT

    after: Annotated[int, NUMBER, whole(0, 2**53, spelt=False)] = 0
    limit: Annotated[int, NUMBER, whole(1, MAX_PAGE, spelt=False)] = 100


class Upload(BaseModel):
    """What is said about a document that is uploaded."""

    model_config = _STRICT

    title: Annotated[str | None, AS_IT_CAME, text(500, blank=True)] = None
    uri: Annotated[str | None, AS_IT_CAME, text(2_000, blank=True)] = None
    kind: Annotated[str, AS_IT_CAME, names(KINDS[1:])] = "document"
    collection: Annotated[str, AS_IT_CAME, names(COLLECTIONS)] = "knowledge_base"
    occurred_at: Annotated[datetime | None, MOMENT, time(null=False)] = None
    scope: Annotated[str, AS_IT_CAME, names(SCOPES[:2])] = "user"
    visibility: Annotated[str, AS_IT_CAME, names(VISIBILITIES)] = "members"
