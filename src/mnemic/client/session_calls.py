"""Which request asks for what, about sessions? Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mnemic.client.calls import Call, asked, segment, told
from mnemic.client.reading import into, many, one, optional
from mnemic.client.values import Appended, Closure, Kept, SessionInfo, SessionPage, Summary, Window
from mnemic.model import Turn


def append(session: str, turns: Sequence[Turn]) -> Call[Appended]:
    """Append turns to a session's log, in order, all or none."""
    messages = [
        told(
            {
                "role": turn.role,
                "content": turn.content,
                "created_at": turn.created_at,
                "speaker": turn.speaker,
                "tool_calls": [
                    {"id": call.id, "name": call.name, "arguments": dict(call.arguments)}
                    for call in turn.tool_calls
                ]
                or None,
                "tool_call_id": turn.tool_call_id,
                "intent": turn.intent,
                "pinned": turn.pinned or None,
                "client_id": turn.client_id,
            }
        )
        for turn in turns
    ]
    return Call(
        "POST",
        _at(session, "messages"),
        one(Appended),
        writes=True,
        json={"messages": messages},
    )


def messages(session: str, *, after: int = 0, limit: int = 100) -> Call[tuple[Turn, ...]]:
    """Return the turns of a session behind ``after``, oldest first."""
    return Call(
        "GET",
        _at(session, "messages"),
        many(Turn, "messages"),
        query=asked({"after": after, "limit": limit}),
    )


def sessions(*, limit: int = 50, cursor: str | None = None) -> Call[SessionPage]:
    """Return a page of the user's sessions, the last begun first, with the total."""
    query = {"limit": limit, "cursor": cursor}
    return Call("GET", "/api/sessions", one(SessionPage), query=asked(query))


def session(session: str) -> Call[SessionInfo]:
    """Return what is known of a session itself. Raises NotFound (``session_not_found``)."""
    return Call("GET", _at(session), one(SessionInfo))


def window(
    session: str,
    last: int = 20,
    *,
    budget_tokens: int | None = None,
    intent: str | None = None,
) -> Call[Window]:
    """Return a conversation as it goes into a prompt: the newest turns, or what a budget has room for."""
    query = {"last": last, "budget_tokens": budget_tokens, "intent": intent}
    return Call("GET", _at(session, "window"), _window, query=asked(query))


def pin(session: str, seqs: Sequence[int], *, pinned: bool = True) -> Call[int]:
    """Keep turns whenever the conversation is shortened, or no longer; return how many there were."""
    body = {"seqs": list(seqs), "pinned": pinned}
    path = _at(session, "pins")
    return Call("PUT", path, lambda value: int(value["count"]), writes=True, json=body)


def state(session: str) -> Call[Mapping[str, Kept]]:
    """Return everything that a session keeps for a while, by name."""
    return Call(
        "GET",
        _at(session, "state"),
        lambda value: {kept["name"]: into(Kept, kept) for kept in value["values"]},
    )


def value(session: str, name: str) -> Call[Kept]:
    """Return a value that a session keeps. Raises NotFound (``value_not_found``)."""
    return Call("GET", _at(session, "state", name), one(Kept))


def set_value(session: str, name: str, value: Any, *, ttl: float | None = None) -> Call[Kept]:
    """Keep a value for ``ttl`` seconds (30 minutes unless said), in place of the one before."""
    body = {"value": value} | told({"ttl": ttl})
    return Call("PUT", _at(session, "state", name), one(Kept), writes=True, json=body)


def delete_value(session: str, name: str) -> Call[bool]:
    """Forget a value; return whether there was one."""
    path = _at(session, "state", name)
    return Call("DELETE", path, lambda value: bool(value["deleted"]), writes=True)


def close_session(session: str) -> Call[Closure]:
    """End a session: what was said becomes memories, its own memories go to the archive."""
    return Call("POST", _at(session, "close"), one(Closure), writes=True, json={})


def _at(session: str, *names: str) -> str:
    return "/".join(["/api/sessions", segment(session), *map(segment, names)])


def _window(value: Mapping[str, Any]) -> Window:
    return Window(
        many(Turn, "messages")(value),
        optional(one(Summary))(value["summary"]),
        tuple(value["left_out"]),
        value["tokens"],
        value["fits"],
    )
