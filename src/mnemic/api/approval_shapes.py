"""What may a person say to an agent that waits, and how does it look over REST?"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, WithJsonSchema

from mnemic.api.fields import AS_IT_CAME, names, text
from mnemic.api.views import plain
from mnemic.checks import one_of
from mnemic.episodic.episode import Approval, Episode, Status
from mnemic.errors import InvalidInput

Word = Literal["approve", "edit", "reject", "answer"]
WORDS: tuple[Word, ...] = get_args(Word)
_BESIDES = {"approve": "value", "edit": "arguments", "reject": "message", "answer": "value"}
"""What may stand beside each decision."""
_NEEDED = {"edit": "arguments", "answer": "value"}
_ANY = WithJsonSchema({})


class Decide(BaseModel):
    """A decision: ``approve`` (with a ``value`` where it is not about a tool), ``edit`` with the
    ``arguments`` to call the tool with, ``reject`` with a ``message`` why, or ``answer`` with any ``value``.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"decision": "approve"},
                {"decision": "edit", "arguments": {"to": "bob"}},
                {"decision": "reject", "message": "Not before Monday."},
            ]
        },
    )

    decision: Annotated[Word, AS_IT_CAME, names(WORDS)]
    value: Annotated[Any, AS_IT_CAME, _ANY] = None
    arguments: Annotated[Any, AS_IT_CAME, _ANY] = None
    message: Annotated[str | None, AS_IT_CAME, text(2_000, null=True)] = None

    def word(self) -> Word:
        """Return the decision, with what belongs to it and nothing else.

        Raises InvalidInput: ``unknown_decision``, ``decision_unclear``, ``invalid_message``.
        """
        word = one_of(self.decision, WORDS, "decision")
        given = self.model_fields_set - {"decision"}
        besides, needed = _BESIDES[word], _NEEDED.get(word)
        if given - {besides} or (needed is not None and needed not in given):
            must = "needs" if needed else "may have"
            raise InvalidInput(
                "decision_unclear", f"The decision {word} {must} {besides} and nothing else."
            )
        message: object = self.message
        if message is not None and (not isinstance(message, str) or not 1 <= len(message) <= 2_000):
            raise InvalidInput("invalid_message", "A message is text of 1 to 2,000 characters.")
        return word


class ApprovalAnswer(BaseModel):
    """What an agent asks a person. ``actions`` are the tool calls that it is about, where it is about any."""

    id: str
    thread_id: str
    session_id: str
    question: Any
    actions: list[dict[str, Any]]
    asked_at: datetime


class ApprovalsAnswer(BaseModel):
    """What waits for the user, the oldest first."""

    approvals: list[ApprovalAnswer]


class DecidedAnswer(BaseModel):
    """How the thread stands after a decision: ``ready`` to go on with, or ``waiting`` for another one."""

    approval_id: str
    thread_id: str
    session_id: str
    checkpoint_id: str
    status: Status
    next: list[str]
    approvals: list[ApprovalAnswer]
    updated_at: datetime


def approval_view(approval: Approval) -> dict[str, Any]:
    """Return what waits as JSON."""
    value: dict[str, Any] = plain(approval)
    return value


def decided_view(approval_id: str, episode: Episode) -> dict[str, Any]:
    """Return how a thread stands after a decision as JSON; what was said in it is not told again."""
    return {
        "approval_id": approval_id,
        "thread_id": episode.thread_id,
        "session_id": episode.session_id,
        "checkpoint_id": episode.checkpoint_id,
        "status": episode.status,
        "next": list(episode.next),
        "approvals": [approval_view(one) for one in episode.approvals],
        "updated_at": plain(episode.updated_at),
    }
