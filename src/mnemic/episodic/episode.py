"""What is known of where an agent stopped? Values, and how they are read from a state. Pure; no LangGraph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Status = Literal["running", "waiting", "ready", "failed", "done"]
Decision = Literal["approve", "edit", "reject"]


@dataclass(frozen=True, slots=True)
class ToolState:
    """A tool call of a conversation: pending until a tool message answers it, then done or failed."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    status: Literal["pending", "done", "failed"]
    result: Any = None


@dataclass(frozen=True, slots=True)
class Approval:
    """A question of a run that waits for a person. ``actions`` are the tool calls that it is about, where
    it is one of LangChain's human-in-the-loop requests; else ``question`` is what the graph asked with."""

    id: str
    thread_id: str
    session_id: str
    question: Any
    asked_at: datetime
    actions: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Episode:
    """A thread as it stands.

    ``status``: running (a node comes next), waiting (for a person), ready (answered, to be gone on with),
    failed, done. ``config`` goes on with it: ``await graph.ainvoke(None, episode.config)``.
    """

    session_id: str
    thread_id: str
    checkpoint_id: str
    status: Status
    next: tuple[str, ...]
    state: Mapping[str, Any]
    messages: tuple[Mapping[str, Any], ...]
    todo_list: tuple[Any, ...]
    tools: tuple[ToolState, ...]
    approvals: tuple[Approval, ...]
    failure: str | None
    updated_at: datetime
    config: Mapping[str, Any] = field(repr=False)

    @property
    def pending_calls(self) -> tuple[ToolState, ...]:
        """Tool calls without an answer."""
        return tuple(tool for tool in self.tools if tool.status == "pending")


@dataclass(frozen=True, slots=True)
class Step:
    """A checkpoint in the history of a thread."""

    checkpoint_id: str
    parent_id: str | None
    step: int | None
    source: str | None
    run_id: str | None
    at: datetime | None
    next: tuple[str, ...]
    failure: str | None
    config: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """A thread, and how many of its checkpoints are at hand and in the archive."""

    thread_id: str
    session_id: str
    project_id: str | None
    status: Status | None
    waiting: int
    live: int
    archived: int
    created_at: datetime
    last_active_at: datetime


def messages_in(state: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the messages of a state as plain mappings with role and content, in order."""
    found = state.get("messages") or ()
    return tuple(_message(one) for one in found) if isinstance(found, list | tuple) else ()


def todos_in(state: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the to-do list of a state: ``todos`` (LangChain's middleware) or ``todo_list``."""
    found = state.get("todos", state.get("todo_list")) or ()
    return tuple(found) if isinstance(found, list | tuple) else ()


def tools_in(messages: Sequence[Mapping[str, Any]]) -> tuple[ToolState, ...]:
    """Return the tool calls of messages with what became of them, in order."""
    answers = {one["tool_call_id"]: one for one in messages if one.get("tool_call_id")}
    return tuple(
        _tool(call, answers.get(call["id"]))
        for one in messages
        for call in one.get("tool_calls", ())
    )


def actions_in(question: object) -> tuple[Mapping[str, Any], ...]:
    """Return the tool calls that a human-in-the-loop request asks about, none for any other question."""
    if not isinstance(question, Mapping):
        return ()
    actions = question.get("action_requests")
    if not isinstance(actions, list | tuple):
        return ()
    return tuple(action for action in actions if isinstance(action, Mapping) and "name" in action)


def _tool(call: Mapping[str, Any], answer: Mapping[str, Any] | None) -> ToolState:
    given = (str(call["id"]), str(call["name"]), call["arguments"])
    if answer is None:
        return ToolState(*given, status="pending")
    failed = answer.get("status") == "error"
    return ToolState(*given, status="failed" if failed else "done", result=answer["content"])


_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "function": "tool"}


def _message(one: Any) -> Mapping[str, Any]:
    """Return a message, an object of LangChain's or a mapping, as a mapping."""
    if isinstance(one, Mapping):
        given = dict(one)
    elif isinstance(one, tuple) and len(one) == 2:
        given = {"role": one[0], "content": one[1]}
    else:
        names = ("type", "content", "id", "name", "tool_calls", "tool_call_id", "status")
        given = {name: getattr(one, name) for name in names if getattr(one, name, None)}
    role = str(given.pop("type", None) or given.get("role") or "user")
    told = {"role": _ROLES.get(role, role), "content": given.get("content", "")}
    for name in ("id", "name", "tool_call_id", "status"):
        if given.get(name):
            told[name] = given[name]
    calls = [_call(call) for call in given.get("tool_calls") or () if isinstance(call, Mapping)]
    return told | {"tool_calls": tuple(calls)} if calls else told


def _call(call: Mapping[str, Any]) -> Mapping[str, Any]:
    function = call.get("function")
    said = function if isinstance(function, Mapping) else call
    arguments = said.get("args", said.get("arguments", {}))
    return {"id": str(call.get("id")), "name": str(said.get("name")), "arguments": arguments}
