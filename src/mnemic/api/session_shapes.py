"""What may be asked of a session over REST, and how does it look?"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from mnemic.api.answers import TurnAnswer
from mnemic.api.fields import AS_IT_CAME, NUMBER, SpeltFlag, text, whole
from mnemic.api.queries import Paged
from mnemic.api.views import plain
from mnemic.model import Turn
from mnemic.session.condense import Conversation
from mnemic.session.state import MAX_TTL

_STRICT = ConfigDict(extra="forbid")
_AT = "2026-03-02T09:14:00+00:00"


def _config(*examples: dict[str, Any]) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": list(examples)})


# ---- what is asked


class ReadWindow(BaseModel):
    """How much of a conversation goes into a prompt: the newest turns, or what a budget has room for."""

    model_config = _STRICT

    last: Annotated[int, NUMBER, whole(0, 10_000, spelt=False)] = 20
    budget_tokens: Annotated[int | None, NUMBER, whole(50, 1_000_000, spelt=False)] = None
    intent: Annotated[str | None, AS_IT_CAME, text(200)] = None


class ListSessions(Paged):
    """Which page of sessions; ids of many letters make long cursors."""

    cursor: Annotated[str | None, AS_IT_CAME, text(1_200)] = None


class Pins(BaseModel):
    """Turns that stay whenever the conversation is shortened, or no longer."""

    model_config = _config({"seqs": [3]}, {"seqs": [3, 4], "pinned": False})

    seqs: Annotated[
        list[Any],
        AS_IT_CAME,
        WithJsonSchema(
            {
                "type": "array",
                "items": {"type": "integer", "minimum": 1, "maximum": 2**53},
                "minItems": 1,
                "maxItems": 100,
            }
        ),
    ]
    pinned: SpeltFlag = True


class SetValue(BaseModel):
    """A value that the session keeps for ``ttl`` seconds, 30 minutes unless said."""

    model_config = _config({"value": {"draft": "Dear Li"}}, {"value": 3, "ttl": 600})

    value: Any
    ttl: Annotated[
        float | None,
        NUMBER,
        WithJsonSchema(
            {"anyOf": [{"type": "number", "minimum": 1, "maximum": MAX_TTL}, {"type": "null"}]}
        ),
    ] = None


class Closing(BaseModel):
    """No field at all."""

    model_config = _config({})


# ---- how it looks


class SessionAnswer(BaseModel):
    """A session: when it began, was used and closed; to which turn memories were extracted."""

    session_id: str
    project_id: str | None
    started_at: datetime
    last_active_at: datetime
    closed_at: datetime | None
    turns: int
    extracted: int
    summary_version: int


class SessionsAnswer(BaseModel):
    """A page of sessions, the last begun first."""

    sessions: list[SessionAnswer]
    total: int
    cursor: str | None


class SummaryAnswer(BaseModel):
    """What is left of turns that had no room; ``problem`` says why a model's text was not used."""

    text: str
    seqs: list[int]
    by: Literal["model", "extract"]
    version: int
    problem: str | None


class WindowAnswer(BaseModel):
    """A conversation as it goes into a prompt: the summary, then the turns, oldest first.

    ``left_out`` are the turns that are neither shown nor summed up; ``fits`` is false when what never goes is
    over the budget by itself.
    """

    summary: SummaryAnswer | None
    messages: list[TurnAnswer]
    left_out: list[int]
    tokens: int
    fits: bool


class PinnedAnswer(BaseModel):
    """How many turns there were to pin or unpin."""

    count: int


class EntryAnswer(BaseModel):
    """A value that a session keeps, until ``expires_at``."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "draft",
                    "value": {"to": "Li"},
                    "version": 1,
                    "updated_at": _AT,
                    "expires_at": "2026-03-02T09:44:00+00:00",
                }
            ]
        }
    )

    name: str
    value: Any
    version: int
    updated_at: datetime
    expires_at: datetime


class StateAnswer(BaseModel):
    """Everything that a session keeps, by name."""

    values: list[EntryAnswer]


class ForgottenAnswer(BaseModel):
    """Whether there was a value to forget."""

    deleted: bool


class ClosureAnswer(BaseModel):
    """How a session ended; ``problem`` says why turns were not read: closing again reads them."""

    session_id: str
    closed_at: datetime
    archived: int = Field(description="Memories of the session that went to the archive.")
    extracted: int = Field(description="Turns that were read for memories.")
    memories: int = Field(description="Memories that came of them.")
    problem: str | None


def turn_view(turn: Turn) -> dict[str, Any]:
    """Return a turn as JSON; whose id it was sent under is nobody's business but the sender's."""
    value: dict[str, Any] = plain(turn)
    del value["client_id"]
    return value


def window_view(found: Conversation) -> dict[str, Any]:
    """Return a conversation as JSON."""
    return {
        "summary": plain(found.summary),
        "messages": [turn_view(turn) for turn in found.turns],
        "left_out": list(found.left_out),
        "tokens": found.tokens,
        "fits": found.fits,
    }
