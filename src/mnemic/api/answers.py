"""What does each answer hold? Descriptions for the OpenAPI; ``mnemic.api.views`` makes the values."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from mnemic.model import MemoryType, Outcome, Role, Scope, Source, Status, Visibility

_ID = "0192f1c0-0000-7000-8000-000000000001"


def _example(value: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [value]})


class VerdictAnswer(BaseModel):
    """What the gate did with one text, and why; ``id`` is the row's where one was added or changed."""

    model_config = _example(
        {
            "verdict": "duplicate",
            "id": None,
            "reason": "exact",
            "of": _ID,
            "superseded": [],
            "message": "This is known already.",
            "question": None,
            "removed": [],
            "masked": [],
        }
    )

    verdict: Outcome
    id: UUID | None
    reason: str | None
    of: UUID | None
    superseded: list[UUID]
    message: str | None
    question: str | None
    removed: list[str]
    masked: list[str]


class VerdictsAnswer(BaseModel):
    """One verdict a memory, in order."""

    verdicts: list[VerdictAnswer]


class ItemAnswer(BaseModel):
    """One memory item. Its ETag is its ``version``."""

    id: UUID
    scope: Scope
    scope_id: str
    owner_id: str
    memory_type: MemoryType
    content: str
    source: Source
    source_id: str | None
    source_seqs: list[int]
    confidence: float
    status: Status
    created_at: datetime
    recorded_at: datetime
    valid_from: datetime
    valid_to: datetime | None
    retired_at: datetime | None
    superseded_by: UUID | None
    reason: str | None
    version: int
    metadata: dict[str, Any]
    visibility: Visibility


class ItemsAnswer(BaseModel):
    """A page of memory items, newest first; ``total`` counts all pages, ``cursor`` asks for the next."""

    items: list[ItemAnswer]
    total: int
    cursor: str | None


class VersionsAnswer(BaseModel):
    """The versions of an item, newest first."""

    versions: list[ItemAnswer]


class PartsAnswer(BaseModel):
    """The parts of a score, each from 0 to 1."""

    similarity: float
    confidence: float
    scope: float


class ArmsAnswer(BaseModel):
    """What a hit was found by: the raw cosine, the share of words, and the words that matched."""

    cosine: float | None
    words: float
    matched: list[str]


class _Found(BaseModel):
    """What every hit has: ``score`` is 0.5 similarity + 0.3 confidence + 0.2 scope.

    How well it fits is ``parts.similarity`` alone: what fits nothing still has a score of some 0.4.
    """

    score: float
    parts: PartsAnswer
    arms: ArmsAnswer


class HitAnswer(_Found, ItemAnswer):
    """A memory item that was found."""


class TurnHitAnswer(_Found):
    """A chat turn (``session``, ``seq``) or a piece of a document that was found."""

    id: UUID
    content: str
    kind: str
    scope: Scope
    resource_id: UUID
    session: str | None
    seq: int
    role: Role | None
    speaker: str | None
    title: str | None
    occurred_at: datetime | None


class HitsAnswer(BaseModel):
    """The best hits, best first; ``query_cut`` tells that only a part of the query was read."""

    hits: list[HitAnswer | TurnHitAnswer]
    query_cut: bool


class ContextAnswer(BaseModel):
    """Text for the end of a system prompt, empty when nothing is relevant; ``query_cut`` as with hits."""

    model_config = _example({"context": "", "query_cut": False})

    context: str
    query_cut: bool


class CandidateAnswer(BaseModel):
    """What extraction proposed to the gate."""

    content: str
    memory_type: MemoryType
    scope: Scope
    confidence: float
    source: Source
    seqs: list[int]
    reason: str


class FindingAnswer(BaseModel):
    """One proposal and the gate's verdict on it."""

    candidate: CandidateAnswer
    verdict: VerdictAnswer


class PassAnswer(BaseModel):
    """How many turns were read, what was found, and which proposals of a model were unusable."""

    turns: int
    findings: list[FindingAnswer]
    skipped: list[str]


class DeletionAnswer(BaseModel):
    """How many rows went, earlier versions included; a dry run took none."""

    count: int
    ids: list[UUID]
    dry_run: bool


class QuestionAnswer(BaseModel):
    """A pending memory and what to ask its user; ``asked`` is null for text that is not to be asked about."""

    item: ItemAnswer
    reason: str
    asked: str | None
    asked_at: datetime


class QuestionsAnswer(BaseModel):
    """What awaits the user's word, oldest first."""

    questions: list[QuestionAnswer]


class ConsentRecordAnswer(BaseModel):
    """What the user said to one purpose, when, and by which way (app, web, api, cli, job)."""

    id: UUID
    purpose: str
    state: Literal["granted", "refused"]
    via: str
    recorded_at: datetime


class ConsentAnswer(BaseModel):
    """What the user agreed to, by purpose, with the records of it."""

    purposes: dict[str, Literal["granted", "refused", "unasked"]]
    records: list[ConsentRecordAnswer]


class ErasureAnswer(BaseModel):
    """How many rows of each table went with the user."""

    counts: dict[str, int]
    dry_run: bool
    at: datetime
    inherited: int
    ended: int


class ProjectAnswer(BaseModel):
    """A project as its member sees it. Its ETag is its ``version``."""

    id: str
    name: str
    role: Literal["owner", "admin", "editor", "viewer"]
    created_by: str
    created_at: datetime
    version: int


class ProjectsAnswer(BaseModel):
    """The projects that the user is a member of."""

    projects: list[ProjectAnswer]


class MemberAnswer(BaseModel):
    """A member of a project."""

    user: str
    role: Literal["owner", "admin", "editor", "viewer"]
    since: datetime


class MembersAnswer(BaseModel):
    """The members of a project, the longest-standing first."""

    members: list[MemberAnswer]


class ProjectDeletionAnswer(BaseModel):
    """What went with a project; a dry run took nothing."""

    items: int
    resources: int
    members: int
    dry_run: bool


class ResourceAnswer(BaseModel):
    """A conversation (``session`` names it) or a document."""

    id: UUID
    kind: str
    collection: str
    chunks: int
    created_at: datetime
    title: str | None
    uri: str | None
    session: str | None
    occurred_at: datetime | None
    scope: Literal["user", "project"]
    owner: str
    visibility: Visibility


class ResourcesAnswer(BaseModel):
    """A page of resources, newest first."""

    resources: list[ResourceAnswer]
    total: int
    cursor: str | None


class UploadAnswer(BaseModel):
    """What became of a document: stored, unchanged (known), or replaced (same address)."""

    id: UUID
    chunks: int
    outcome: Literal["stored", "unchanged", "replaced"]


class RemovalAnswer(BaseModel):
    """How many pieces went with a resource."""

    id: UUID
    chunks: int
    dry_run: bool


class ChunkAnswer(BaseModel):
    """A piece of a document, or a turn."""

    ordinal: int
    text: str


class ChunksAnswer(BaseModel):
    """Pieces in their order."""

    chunks: list[ChunkAnswer]


class AppendedAnswer(BaseModel):
    """The sequence numbers of the turns that were appended."""

    session: str
    seqs: list[int]


class ToolCallAnswer(BaseModel):
    """A call of a tool."""

    id: str
    name: str
    arguments: dict[str, Any]


class TurnAnswer(BaseModel):
    """One turn of a conversation; an assistant's may call tools, a tool's names the call that it answers."""

    seq: int
    role: Role
    content: str
    speaker: str | None
    created_at: datetime | None
    tool_calls: list[ToolCallAnswer]
    tool_call_id: str | None
    intent: str | None
    pinned: bool


class TurnsAnswer(BaseModel):
    """Turns, oldest first."""

    messages: list[TurnAnswer]


class AliveAnswer(BaseModel):
    """The process answers."""

    status: Literal["ok"]


class ProblemAnswer(BaseModel):
    """Problem details (RFC 9457). ``code`` is stable: docs/reference/reason-codes.md."""

    model_config = _example(
        {
            "type": "urn:mnemic:reason:item_not_found",
            "title": "Not found",
            "status": 404,
            "detail": "There is no such memory item.",
            "code": "item_not_found",
            "error": "NotFound",
            "request_id": "0192f1c0a1b2",
        }
    )

    type: str
    title: str
    status: int
    detail: str
    code: str
    error: str = Field(description="The class of the error in the library.")
    details: dict[str, Any] | None = Field(None, description="Ids, counts and limits.")
    request_id: str | None = None
