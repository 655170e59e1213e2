"""How do the messages of an agent read as turns of a conversation? Pure.

System messages and summaries that middleware wrote are nobody's words. The result of a tool whose call is not
there any more is left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from mnemic.errors import InvalidInput
from mnemic.model import Role, ToolCall, Turn, tool_calls_of

LONGEST = 200_000
"""Characters of one message that are logged."""
_MAX_ID = 200
_MAX_CALLS = 100
_HALF = re.compile("[\ud800-\udfff]")
"""Half of a pair of surrogates, which no encoding has."""


def turns_of(messages: Sequence[BaseMessage], after: str | None = None) -> list[Turn]:
    """Return the messages behind the one with id ``after`` (all, where it is not there) as turns.

    The id of a message is its turn's client id: it can be logged again and is not doubled.
    """
    start = next((n + 1 for n, one in enumerate(messages) if after and one.id == after), 0)
    called = {
        call["id"] for one in messages if isinstance(one, AIMessage) for call in one.tool_calls
    }
    return [
        turn
        for number, message in enumerate(messages)
        if number >= start
        for turn in _turn(number, message, called)
    ]


def last_said(messages: Sequence[BaseMessage]) -> str:
    """Return what the user said last, "" where nothing was said."""
    said = (one for one in reversed(messages) if isinstance(one, HumanMessage) and not _made(one))
    return next((str(one.text) for one in said), "")


def said_by_user(messages: Sequence[BaseMessage]) -> list[str]:
    """Return all that the user said."""
    return [str(one.text) for one in messages if isinstance(one, HumanMessage) and not _made(one)]


def _turn(number: int, message: BaseMessage, called: set[str | None]) -> Iterator[Turn]:
    text = str(message.text)[:LONGEST]
    if isinstance(message, HumanMessage) and not _made(message):
        role: Role = "user"
        if text.strip():
            yield Turn(role, text, client_id=_client_id(number, role, message))
    elif isinstance(message, AIMessage):
        calls = _calls(message)
        if text.strip() or calls:
            client_id = _client_id(number, "assistant", message)
            yield Turn("assistant", text, tool_calls=calls, client_id=client_id)
    elif isinstance(message, ToolMessage) and message.tool_call_id in called:
        if not _id(message.tool_call_id):
            return
        client_id = _client_id(number, "tool", message)
        yield Turn("tool", text, tool_call_id=message.tool_call_id, client_id=client_id)


def _calls(message: AIMessage) -> tuple[ToolCall, ...]:
    """Return the calls of a message that can be logged."""
    try:
        calls = tool_calls_of([dict(call) for call in message.tool_calls])
    except InvalidInput:
        return ()
    return tuple(call for call in calls[:_MAX_CALLS] if _id(call.id) and _id(call.name))


def _id(value: object) -> bool:
    """Tell whether a log can hold an id, or a name, as it is."""
    return isinstance(value, str) and 1 <= len(value) <= _MAX_ID and not _HALF.search(value)


def _made(message: BaseMessage) -> bool:
    """Tell whether middleware wrote a message in the user's place."""
    return bool(message.additional_kwargs.get("lc_source"))


def _client_id(number: int, role: str, message: BaseMessage) -> str:
    if message.id is not None and _id(message.id):
        return message.id
    told = f"{number}\0{role}\0{message.text}"
    return f"lc-{hashlib.sha256(told.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
