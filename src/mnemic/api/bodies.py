"""What may a request body hold? Every field is named here; any other is refused by its name."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

from mnemic.api.fields import (
    AS_IT_CAME,
    MOMENT,
    NUMBER,
    Metadata,
    SpeltFlag,
    list_of,
    names,
    share,
    text,
    texts,
    time,
    whole,
)
from mnemic.model import (
    MEMORY_TYPES,
    PROJECT_ROLES,
    ROLES,
    SCOPES,
    SOURCES,
    VISIBILITIES,
    MemoryType,
    Scope,
    Source,
    Visibility,
)
from mnemic.model import Role as TurnRole

MAX_BATCH = 100
"""Memories in one batch."""
MAX_TURNS = 1_000
"""Messages in one request."""
PURPOSES = ("remember", "insight")
INCLUDE = ("memory", "resource")


def _config(*examples: dict[str, Any]) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": list(examples)})


class AddMemory(BaseModel):
    """One text to remember, of 5 to 2,000 characters. The gate decides; the answer is its verdict."""

    model_config = _config(
        {"content": "I like short answers", "memory_type": "preference", "scope": "user"},
        {"content": "我对花生过敏", "memory_type": "fact", "confidence": 0.9},
    )

    content: Annotated[str, AS_IT_CAME, text(blank=True)]
    memory_type: Annotated[MemoryType, AS_IT_CAME, names(MEMORY_TYPES)] = "fact"
    scope: Annotated[Scope, AS_IT_CAME, names(SCOPES)] = "user"
    confidence: Annotated[float, NUMBER, share()] = 0.9
    source: Annotated[Source, AS_IT_CAME, names(SOURCES)] = "user"
    source_id: Annotated[str | None, AS_IT_CAME, text(500, null=True)] = None
    valid_from: Annotated[datetime | None, MOMENT, time()] = None
    valid_to: Annotated[datetime | None, MOMENT, time()] = None
    metadata: Metadata = Field(default_factory=dict)
    visibility: Annotated[Visibility, AS_IT_CAME, names(VISIBILITIES)] = "members"


class AddMemories(BaseModel):
    """Up to 100 texts to remember, each with a verdict of its own."""

    model_config = _config({"memories": [{"content": "I like short answers"}]})

    memories: list[AddMemory] = Field(min_length=1, max_length=MAX_BATCH)


class ChangeMemory(BaseModel):
    """What is to be otherwise; what is not named stays. ``valid_to: null`` takes the end away."""

    model_config = _config({"content": "I like very short answers"}, {"valid_to": None})

    content: Annotated[str, AS_IT_CAME, text(blank=True)] = ""
    memory_type: Annotated[MemoryType, AS_IT_CAME, names(MEMORY_TYPES)] = "fact"
    confidence: Annotated[float, NUMBER, share()] = 0.9
    valid_to: Annotated[datetime | None, MOMENT, time()] = None
    metadata: Metadata = Field(default_factory=dict)
    visibility: Annotated[Visibility, AS_IT_CAME, names(VISIBILITIES)] = "members"


class SearchMemory(BaseModel):
    """A question, and where to look for answers."""

    model_config = _config({"query": "how long should answers be?", "k": 5})

    query: Annotated[str, AS_IT_CAME, text()]
    k: Annotated[int, NUMBER, whole(1, 100)] = 5
    memory_type: Annotated[MemoryType | None, AS_IT_CAME, names(MEMORY_TYPES, null=True)] = None
    scope: Annotated[Scope | None, AS_IT_CAME, names(SCOPES, null=True)] = None
    include: Annotated[tuple[str, ...], PlainValidator(texts), list_of(INCLUDE)] = ("memory",)
    as_of: Annotated[datetime | None, MOMENT, time()] = None
    known_at: Annotated[datetime | None, MOMENT, time()] = None
    min_score: Annotated[float, NUMBER, share()] = 0.0
    include_pending: SpeltFlag = False


class BuildContext(BaseModel):
    """What the agent is about to answer, and how much room its prompt has."""

    model_config = _config({"query": "write me a function", "budget_tokens": 800})

    query: Annotated[str, AS_IT_CAME, text()]
    budget_tokens: Annotated[int, NUMBER, whole(20, 100_000)] = 800


class Nothing(BaseModel):
    """No field at all: the session comes from the header ``Mnemic-Session``."""

    model_config = _config({})


class Answer(BaseModel):
    """The user's word on a pending memory."""

    model_config = _config({"answer": "confirm"}, {"answer": "deny"})

    answer: Literal["confirm", "deny"]


class SetConsent(BaseModel):
    """What the user agrees to, or refuses."""

    model_config = _config(
        {"purpose": "remember", "state": "granted"}, {"purpose": "remember", "state": "refused"}
    )

    purpose: Annotated[str, AS_IT_CAME, names(PURPOSES)] = "remember"
    state: Literal["granted", "refused"]


class NewProject(BaseModel):
    """A project; whoever makes it is its owner."""

    model_config = _config({"id": "apollo", "name": "Apollo"})

    id: Annotated[str, AS_IT_CAME, text(128)]
    name: Annotated[str, AS_IT_CAME, text(200)]


class ChangeProject(BaseModel):
    """The project's new name."""

    model_config = _config({"name": "Apollo 2"})

    name: Annotated[str, AS_IT_CAME, text(200)]


class GrantRole(BaseModel):
    """What a member may do."""

    model_config = _config({"role": "editor"})

    role: Annotated[str, AS_IT_CAME, names(PROJECT_ROLES)]


class Transfer(BaseModel):
    """Who owns the project from now on."""

    model_config = _config({"to_user": "lee"})

    to_user: Annotated[str, AS_IT_CAME, text(128)]


_CALLS = {
    "anyOf": [
        {"type": "array", "items": {"type": "object"}, "maxItems": 100},
        {"type": "null"},
    ]
}


class Message(BaseModel):
    """One turn of a conversation, of at most 1,000,000 characters.

    Tool calls come as ``{"id", "name", "arguments"}``, or as chat models write them. The same ``client_id``
    again adds nothing.
    """

    model_config = _config(
        {"role": "user", "content": "Please remember: I like short answers.", "client_id": "m-17"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "name": "weather", "arguments": {"city": "Oslo"}}],
        },
    )

    role: Annotated[TurnRole, AS_IT_CAME, names(ROLES)]
    content: Annotated[str, AS_IT_CAME, text(blank=True)]
    created_at: Annotated[datetime | None, MOMENT, time()] = None
    speaker: Annotated[str | None, AS_IT_CAME, text(null=True, blank=True)] = None
    tool_calls: Annotated[Any, AS_IT_CAME, WithJsonSchema(_CALLS)] = None
    tool_call_id: Annotated[str | None, AS_IT_CAME, text(200, null=True)] = None
    intent: Annotated[str | None, AS_IT_CAME, text(200, null=True)] = None
    pinned: SpeltFlag = False
    client_id: Annotated[str | None, AS_IT_CAME, text(200, null=True)] = None


class AppendMessages(BaseModel):
    """Turns in the order in which they were said."""

    model_config = _config({"messages": [{"role": "user", "content": "I like short answers."}]})

    messages: list[Message] = Field(min_length=1, max_length=MAX_TURNS)
