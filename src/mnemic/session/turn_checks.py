"""Can this turn be meant at all? Pure: what stands before a turn is checked where the log is at hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from mnemic.checks import aware, one_of
from mnemic.errors import InvalidInput
from mnemic.model import ROLES, ToolCall, Turn
from mnemic.text import normalise

MAX_CHARS = 1_000_000
MAX_NAME = 200
"""Characters of an intent, of a tool's name, and of the ids of calls and turns."""
MAX_CALLS = 100


def checked_turns(turns: object) -> list[Turn]:
    """Return turns as they may be kept: text normalised, tool calls as values of their own.

    Raises InvalidInput: ``not_turns``, ``not_a_turn``, ``unknown_role``, ``content_not_text``,
    ``message_too_long`` (over 1,000,000 characters, with its speaker and tool calls),
    ``speaker_not_text``, ``intent_not_text``, ``invalid_client_id``, ``invalid_pinned``,
    ``invalid_tool_call``, ``tool_calls_misplaced``, ``tool_call_id_required``,
    ``tool_call_id_misplaced``, ``naive_datetime`` ...
    """
    if not isinstance(turns, list | tuple):
        raise InvalidInput("not_turns", "What to append is a list of Turn.")
    return [_checked(turn) for turn in turns]


def _checked(turn: object) -> Turn:
    if not isinstance(turn, Turn):
        raise InvalidInput("not_a_turn", "Every message to append must be a Turn.")
    one_of(turn.role, ROLES, "role")
    if not isinstance(turn.content, str):
        raise InvalidInput("content_not_text", "A turn's content must be text.")
    if not (turn.speaker is None or isinstance(turn.speaker, str)):
        raise InvalidInput("speaker_not_text", "A turn's speaker must be text.")
    if type(turn.pinned) is not bool:
        raise InvalidInput("invalid_pinned", "pinned must be true or false.")
    calls = _calls(turn)
    _require_short(turn.content, turn.speaker or "", calls)
    return Turn(
        role=turn.role,
        content=normalise(turn.content).text,
        created_at=aware(turn.created_at, "created_at"),
        speaker=normalise(turn.speaker).text or None if turn.speaker else None,
        tool_calls=calls,
        tool_call_id=_answered(turn),
        intent=checked_intent(turn.intent),
        pinned=turn.pinned,
        client_id=_client_id(turn.client_id),
    )


def _require_short(content: str, speaker: str, calls: Sequence[ToolCall]) -> None:
    written = sum(len(_written(call)) for call in calls)
    if len(content) + len(speaker) + written > MAX_CHARS:
        raise InvalidInput("message_too_long", f"A turn holds at most {MAX_CHARS:,} characters.")


def _calls(turn: Turn) -> tuple[ToolCall, ...]:
    if not turn.tool_calls:
        return ()
    if turn.role != "assistant":
        raise InvalidInput("tool_calls_misplaced", "Only a turn of the assistant calls tools.")
    if len(turn.tool_calls) > MAX_CALLS:
        raise _too_many_calls()
    calls = tuple(_call(call) for call in turn.tool_calls)
    if len({call.id for call in calls}) < len(calls):
        raise _too_many_calls()
    return calls


def _call(call: ToolCall) -> ToolCall:
    """Return a call with arguments as JSON gives them back, so that a turn reads as it was kept."""
    for text in (call.id, call.name):
        if not isinstance(text, str) or not 1 <= len(text) <= MAX_NAME or not _well_formed(text):
            raise _invalid_call(
                f"Id and name of a tool call are well-formed texts of 1 to {MAX_NAME} characters."
            )
    return replace(call, arguments=json.loads(_written(call)))


def _written(call: ToolCall) -> str:
    try:
        text = json.dumps(call.arguments, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError):
        raise _invalid_call("The arguments of a tool call must be a JSON object.") from None
    if not text.startswith("{"):
        raise _invalid_call("The arguments of a tool call must be a JSON object.")
    return text


def _too_many_calls() -> InvalidInput:
    return _invalid_call(f"A turn calls at most {MAX_CALLS} tools, each with an id of its own.")


def _invalid_call(message: str) -> InvalidInput:
    return InvalidInput("invalid_tool_call", message)


def _answered(turn: Turn) -> str | None:
    """Return the id of the call that a turn is the result of."""
    call_id = turn.tool_call_id
    if turn.role != "tool":
        if call_id is not None:
            raise InvalidInput(
                "tool_call_id_misplaced", "Only a turn of the tool answers a tool call."
            )
        return None
    if not isinstance(call_id, str) or not 1 <= len(call_id) <= MAX_NAME:
        raise InvalidInput(
            "tool_call_id_required", "A tool's turn names the call that it answers: tool_call_id."
        )
    return call_id


def checked_intent(value: object) -> str | None:
    """Return an intent as it is kept, None for none. Raises InvalidInput (``intent_not_text``)."""
    if value is None:
        return None
    text = normalise(value).text if isinstance(value, str) else ""
    if not 1 <= len(text) <= MAX_NAME:
        raise InvalidInput("intent_not_text", f"An intent is a text of 1 to {MAX_NAME} characters.")
    return text


def _client_id(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME:
        raise InvalidInput(
            "invalid_client_id", f"A client id is a text of 1 to {MAX_NAME} characters."
        )
    if not _well_formed(value):
        raise InvalidInput("invalid_client_id", "A client id must be well-formed text.")
    return value


def _well_formed(text: str) -> bool:
    """Tell whether a text has a UTF-8: half a surrogate pair has none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
