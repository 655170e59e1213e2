"""What does the service answer with, beyond the values of ``mnemic.model``? Frozen dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from mnemic.episodic.episode import Approval, Status
from mnemic.model import Candidate, MemoryItem, ProjectRole, Turn, Verdict, Visibility
from mnemic.tasks.state import Task


@dataclass(frozen=True, slots=True)
class ItemPage:
    """Some items, newest first; ``total`` counts all, ``cursor`` asks for the next page (None at the end)."""

    items: tuple[MemoryItem, ...]
    total: int
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Deletion:
    """How many rows a deletion took, earlier versions included; ``dry_run`` took none."""

    count: int
    ids: tuple[UUID, ...]
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """One proposal of an extraction and what the gate said to it."""

    candidate: Candidate
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Pass:
    """What an extraction read and found."""

    turns: int
    findings: tuple[Finding, ...]
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """An unsure item and what to ask its user about it; ``asked`` is None for instruction-like text."""

    item: MemoryItem
    reason: str
    asked: str | None
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class ConsentRecord:
    """What the user said to one purpose, when, and by which way (app, web, api, cli, job)."""

    id: UUID
    purpose: str
    state: Literal["granted", "refused"]
    via: str
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Consent:
    """What counts now, by purpose, and every record, the oldest first."""

    purposes: Mapping[str, Literal["granted", "refused", "unasked"]]
    records: tuple[ConsentRecord, ...]


@dataclass(frozen=True, slots=True)
class Erasure:
    """How many rows of each table went with a user; ``dry_run`` took none.

    ``inherited`` counts the projects that have a new owner for it, ``ended`` those that went with them.
    """

    counts: Mapping[str, int]
    dry_run: bool
    at: datetime
    inherited: int = 0
    ended: int = 0


@dataclass(frozen=True, slots=True)
class Project:
    """A project as its member sees it; ``role`` is the asker's."""

    id: str
    name: str
    role: ProjectRole
    created_by: str
    created_at: datetime
    version: int


@dataclass(frozen=True, slots=True)
class Member:
    """A user's place in a project."""

    user: str
    role: ProjectRole
    since: datetime


@dataclass(frozen=True, slots=True)
class ProjectDeletion:
    """What went with a project; ``dry_run`` took nothing."""

    items: int
    resources: int
    members: int
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Resource:
    """A conversation (``session`` names it) or a document."""

    id: UUID
    kind: str
    collection: str
    chunks: int
    created_at: datetime
    title: str | None = None
    uri: str | None = None
    session: str | None = None
    occurred_at: datetime | None = None
    scope: str = "user"
    owner: str = ""
    visibility: Visibility = "members"


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """Some resources, newest first."""

    resources: tuple[Resource, ...]
    total: int
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Uploaded:
    """What became of a document: ``stored``, ``unchanged`` (known), or ``replaced`` (same address)."""

    id: UUID
    chunks: int
    outcome: Literal["stored", "unchanged", "replaced"]


@dataclass(frozen=True, slots=True)
class Removal:
    """How many pieces went with a resource; ``dry_run`` took none."""

    id: UUID
    chunks: int
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document, or a turn; ``ordinal`` counts from 1."""

    ordinal: int
    text: str


@dataclass(frozen=True, slots=True)
class Appended:
    """The sequence numbers of the turns that were appended to a session."""

    session: str
    seqs: tuple[int, ...]


# ---- sessions


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session: when it began, was used and closed, how many turns it has, and to where it was extracted."""

    session_id: str
    project_id: str | None
    started_at: datetime
    last_active_at: datetime
    closed_at: datetime | None
    turns: int
    extracted: int
    summary_version: int


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Some sessions, the last begun first; ``total`` counts all, ``cursor`` asks for the next page."""

    sessions: tuple[SessionInfo, ...]
    total: int
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """What is left of the turns ``seqs``; ``problem`` says why a model's text was not used."""

    text: str
    seqs: tuple[int, ...]
    by: Literal["model", "extract"]
    version: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """A conversation as it goes into a prompt: a summary, then turns, oldest first.

    ``left_out`` are the turns that are neither shown nor summed up; ``fits`` is False when what never goes is
    over the budget by itself.
    """

    turns: tuple[Turn, ...]
    summary: Summary | None
    left_out: tuple[int, ...]
    tokens: int
    fits: bool


@dataclass(frozen=True, slots=True)
class Kept:
    """A value that a session keeps under a name, until ``expires_at``."""

    name: str
    value: Any
    version: int
    updated_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Closure:
    """How a session ended; ``problem`` says why turns were not read: closing again reads them."""

    session_id: str
    closed_at: datetime
    archived: int
    extracted: int
    memories: int
    problem: str | None = None


# ---- tasks, and what agents wait for


@dataclass(frozen=True, slots=True)
class TaskPage:
    """Some tasks, the last changed first; ``total`` counts all, ``cursor`` asks for the next page."""

    tasks: tuple[Task, ...]
    total: int
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A task in a worker's hands until ``until``; ``token`` proves it."""

    task: Task
    token: UUID
    until: datetime


@dataclass(frozen=True, slots=True)
class Decided:
    """How a thread stands after a decision: ``ready`` to go on with, or ``waiting`` for another one."""

    approval_id: str
    thread_id: str
    session_id: str
    checkpoint_id: str
    status: Status
    next: tuple[str, ...]
    approvals: tuple[Approval, ...]
    updated_at: datetime
