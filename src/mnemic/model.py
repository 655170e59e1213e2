"""What are the values that everything else passes around?

Frozen dataclasses only: no I/O, no clock, no environment. Checks of foreign input live in ``doors``-like
functions of the modules that take it; the constructors here refuse only what can never be meant.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, get_args
from urllib.parse import quote
from uuid import UUID

from mnemic.errors import InvalidInput

MemoryType = Literal[
    "preference", "fact", "skill", "habit", "event", "context", "constraint", "decision"
]
Scope = Literal["user", "project", "session"]
Source = Literal["user", "ai", "knowledge_base", "project_resource"]
Status = Literal["pending", "active", "archived", "superseded"]
Role = Literal["user", "assistant", "system", "tool"]
Visibility = Literal["public", "members", "owner_only"]
ProjectRole = Literal["owner", "admin", "editor", "viewer"]
Outcome = Literal["stored", "duplicate", "superseded", "pending", "rejected"]

MEMORY_TYPES: tuple[MemoryType, ...] = get_args(MemoryType)
SCOPES: tuple[Scope, ...] = get_args(Scope)
SOURCES: tuple[Source, ...] = get_args(Source)
ROLES: tuple[Role, ...] = get_args(Role)
VISIBILITIES: tuple[Visibility, ...] = get_args(Visibility)
PROJECT_ROLES: tuple[ProjectRole, ...] = get_args(ProjectRole)

SCOPE_PRIORITY: Mapping[str, float] = {"session": 1.0, "project": 0.8, "user": 0.6}
"""How much closer one scope is to the moment than another (design: session, project, user)."""

MAX_QUERY = 2_000
"""Characters of a query that a search reads."""

Vector = tuple[float, ...]

_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
"""Letters and marks that print as nothing, beyond the control and format characters."""


def clean_id(value: object, what: str) -> str:
    """Return an id of a user, project or session: NFC, trimmed, 1 to 128 characters.

    Raises InvalidInput (``invalid_id``) for anything else, control and invisible characters and spaces other
    than the plain one included, so that no two people have ids that print the same in this respect. Case and
    width do tell ids apart.
    """
    if not isinstance(value, str):
        raise InvalidInput("invalid_id", f"The {what} id must be text.", what=what)
    cleaned = unicodedata.normalize("NFC", value).strip()
    if not 1 <= len(cleaned) <= 128:
        raise InvalidInput("invalid_id", f"The {what} id must have 1 to 128 characters.", what=what)
    if any(map(_unprintable, cleaned)):
        raise InvalidInput(
            "invalid_id", f"The {what} id holds control or invisible characters.", what=what
        )
    return cleaned


def _unprintable(char: str) -> bool:
    if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return True
    return (char.isspace() and char != " ") or _INVISIBLE.match(char) is not None


@lru_cache(4096)
def _part(value: str) -> str:
    return quote(value, safe="")


@dataclass(frozen=True, slots=True)
class Actor:
    """Who is asking: made from the credential, never from a request body or a model's arguments.

    ``purpose`` is the audit's why (app, web, api, cli, job); ``credential`` labels what was presented,
    without its secret.
    """

    user: str
    project: str | None = None
    session: str | None = None
    agent: str | None = None
    purpose: str = "app"
    credential: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "user", clean_id(self.user, "user"))
        for name in ("project", "session", "agent"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, clean_id(value, name))

    @property
    def user_scope(self) -> str:
        """Scope key of the user: the owner of the data key for user and session content."""
        return f"user:{_part(self.user)}"

    @property
    def session_scope(self) -> str | None:
        """Scope key of the session; it names the user too, since session ids are unique per user."""
        if self.session is None:
            return None
        return self.session_prefix + _part(self.session)

    @property
    def session_prefix(self) -> str:
        """What the scope keys of all sessions of this user begin with."""
        return f"session:{_part(self.user)}/"

    @property
    def project_scope(self) -> str | None:
        return None if self.project is None else f"project:{_part(self.project)}"

    @property
    def scope_keys(self) -> tuple[str, ...]:
        """The scopes that are this actor's alone: the user and, when named, the session."""
        keys = (self.user_scope, self.session_scope)
        return tuple(key for key in keys if key is not None)

    @property
    def readable_scopes(self) -> tuple[str, ...]:
        """The actor's own scopes and, when named, the project's."""
        return (
            self.scope_keys
            if self.project is None
            else (*self.scope_keys, f"project:{_part(self.project)}")
        )


def known_actor(value: object) -> Actor:
    """Return the actor that was given. Raises InvalidInput (``not_an_actor``) for anything else."""
    if not isinstance(value, Actor):
        raise InvalidInput("not_an_actor", "Say who is asking: the first argument is an Actor.")
    return value


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool that an assistant's turn asks for; its result is a turn with this ``id``."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation. ``seq`` counts from 1 within a session once it is logged.

    An assistant's ``tool_calls`` may also be given as the mappings that chat models write; the result of one
    is a turn of the tool with its ``tool_call_id``. ``intent`` names what the turn is about, where that is
    known; ``pinned`` keeps it when a conversation is shortened. ``client_id`` makes a repeated append add
    nothing: it is the sender's, and no turn that is read has one.
    """

    role: Role
    content: str
    created_at: datetime | None = None
    seq: int | None = None
    speaker: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    intent: str | None = None
    pinned: bool = False
    client_id: str | None = None

    def __post_init__(self) -> None:
        if self.tool_calls != ():
            object.__setattr__(self, "tool_calls", tool_calls_of(self.tool_calls))


def tool_calls_of(given: object) -> tuple[ToolCall, ...]:
    """Return tool calls given as such or as mappings: ``{"id", "name", "arguments"}``, with ``args`` in place
    of ``arguments`` (LangChain), or ``{"id", "function": {"name", "arguments"}}`` with JSON text (OpenAI).

    Raises InvalidInput (``invalid_tool_call``) for anything else.
    """
    if not isinstance(given, list | tuple):
        raise _no_tool_call()
    return tuple(call if isinstance(call, ToolCall) else _tool_call(call) for call in given)


def _tool_call(given: object) -> ToolCall:
    if not isinstance(given, Mapping):
        raise _no_tool_call()
    said = given.get("function", given)
    if not isinstance(said, Mapping):
        raise _no_tool_call()
    arguments = said.get("arguments", said.get("args", {}))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            raise _no_tool_call() from None
    name, call_id = said.get("name"), given.get("id")
    if not (isinstance(name, str) and isinstance(call_id, str) and isinstance(arguments, Mapping)):
        raise _no_tool_call()
    return ToolCall(call_id, name, arguments)


def _no_tool_call() -> InvalidInput:
    return InvalidInput(
        "invalid_tool_call", "A tool call has an id, a name and arguments that are a JSON object."
    )


@dataclass(frozen=True, slots=True)
class Candidate:
    """What extraction proposes to the gate; it is nothing until the gate has spoken."""

    content: str
    memory_type: MemoryType
    scope: Scope
    confidence: float
    source: Source = "user"
    seqs: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate did with one text, and why.

    ``outcome`` is ``stored`` or ``superseded`` only when a row was added, whose id is ``id``. ``of`` is the
    item that stands already, or the first of those that were ``superseded``. ``reason`` is a stable code;
    ``message`` a sentence without content. ``removed`` and ``masked`` say what was taken out of the text.
    """

    outcome: Outcome
    id: UUID | None = None
    reason: str | None = None
    of: UUID | None = None
    superseded: tuple[UUID, ...] = ()
    message: str | None = None
    question: str | None = None
    removed: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """One thing that is known, with its validity, origin and history."""

    id: UUID
    scope: Scope
    scope_id: str
    owner_id: str
    memory_type: MemoryType
    content: str
    source: Source
    confidence: float
    status: Status
    created_at: datetime
    recorded_at: datetime
    valid_from: datetime
    valid_to: datetime | None = None
    retired_at: datetime | None = None
    superseded_by: UUID | None = None
    source_id: str | None = None
    source_seqs: tuple[int, ...] = ()
    reason: str | None = None
    version: int = 1
    metadata: Mapping[str, object] = field(default_factory=dict)
    visibility: Visibility = "members"


@dataclass(frozen=True, slots=True)
class Parts:
    """The three parts of a final score, each from 0 to 1."""

    similarity: float
    confidence: float
    scope: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer of a search, which explains itself.

    ``score`` (0 to 1) puts hits in order: 0.5 x similarity + 0.3 x confidence + 0.2 x scope. How well it fits
    the query is ``parts.similarity`` alone.
    """

    item: MemoryItem
    score: float
    parts: Parts
    cosine: float | None = None
    words: float = 0.0
    matched: tuple[str, ...] = ()

    @property
    def id(self) -> UUID:
        return self.item.id

    @property
    def content(self) -> str:
        return self.item.content


@dataclass(frozen=True, slots=True)
class ResourceHit:
    """A chat turn, or a piece of a document, that a search found; ``id`` is its chunk's.

    ``session`` and ``seq`` say where a turn stands; for a document ``seq`` counts its pieces from 1 and
    ``title`` may name it. ``before`` and ``after`` are a turn's neighbours where they were asked for.
    """

    id: UUID
    resource_id: UUID
    kind: str
    content: str
    score: float
    parts: Parts
    seq: int
    session: str | None = None
    role: Role = "user"
    speaker: str | None = None
    title: str | None = None
    occurred_at: datetime | None = None
    cosine: float | None = None
    words: float = 0.0
    matched: tuple[str, ...] = ()
    before: Turn | None = None
    after: Turn | None = None
    relevance: float = 0.0
    scope: Scope = "user"
