"""How does an agent load what was said, and save what it said, in the form that LangChain made usual?

``load_memory_variables`` and ``save_context`` take LangChain's inputs and outputs, or name user and session
as the first system of this kind did. Roles are stored with each turn, never guessed from its text. Nothing
of LangChain is imported or needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import iscoroutine
from typing import Any, Protocol

from mnemic.checks import whole
from mnemic.errors import InvalidInput, NotFound, PermissionDenied
from mnemic.model import Actor, Role, ToolCall, Turn, clean_id, known_actor
from mnemic.session.sessions import Sessions

LAST = 5
"""Turns that are loaded unless said otherwise."""
MAX_LAST = 1_000
_NAMES = ("user_id", "session_id")


class HasSessions(Protocol):
    """What an AgentMemory needs of a MemoryService."""

    @property
    def sessions(self) -> Sessions:
        """The sessions of users."""


@dataclass(frozen=True, slots=True)
class _Form:
    """Which turns are loaded, and under which names inputs and outputs come."""

    actor: Actor | None
    k: int
    memory_key: str
    input_key: str | None
    output_key: str | None

    def where(self, inputs: object, session_id: object, user_id: object) -> Actor:
        """Return whose session is meant: by name, by the inputs, else the actor's own.

        Raises PermissionDenied (``other_user``) for another user than the actor's, InvalidInput
        (``user_required``, ``session_required``, ``invalid_id``).
        """
        given = inputs if isinstance(inputs, Mapping) else {}
        user = user_id or (inputs if isinstance(inputs, str) else given.get("user_id"))
        session = session_id or given.get("session_id")
        if self.actor is None:
            if not user:
                raise InvalidInput("user_required", "Name a user: user_id, or an actor.")
            found = Actor(clean_id(user, "user"))
        elif user and clean_id(user, "user") != self.actor.user:
            raise PermissionDenied("other_user", "This memory is another user's.")
        else:
            found = self.actor
        if session:
            found = replace(found, session=clean_id(session, "session"))
        if found.session is None:
            raise InvalidInput("session_required", "Name a session: session_id, or in the actor.")
        return found

    def said(
        self,
        inputs: object,
        outputs: object,
        more: Sequence[object],
        user_id: object,
        session_id: object,
        client_id: str | None,
    ) -> tuple[Actor, list[Turn]]:
        """Return whose session it was said in, and the turns."""
        if len(more) == 2:
            user_id, session_id, inputs, outputs = inputs, outputs, *more
        elif more:
            raise _unclear("Give inputs and outputs, or user, session, inputs and outputs.")
        turns = _turns(self, inputs, outputs, client_id)
        return self.where(inputs if isinstance(inputs, Mapping) else {}, session_id, user_id), turns


class AgentMemory:
    """The conversation of an agent, over a MemoryService; its methods are awaited, also by LangChain's names.

    ``actor`` says whose; without one every call names ``user_id`` and ``session_id``, which must come from
    who has been authenticated. ``k`` turns are loaded (0 to 1,000), and more where a tool's result would lose
    its call. ``input_key`` and ``output_key`` say what of several inputs and outputs was said.
    """

    def __init__(
        self,
        memory: HasSessions,
        actor: Actor | None = None,
        *,
        k: int = LAST,
        memory_key: str = "history",
        input_key: str | None = None,
        output_key: str | None = None,
    ) -> None:
        self._memory = memory
        self._form = _formed(actor, k, memory_key, input_key, output_key)

    @property
    def memory_variables(self) -> list[str]:
        """The names that ``load_memory_variables`` answers with."""
        return [self._form.memory_key]

    async def load_memory_variables(
        self,
        inputs: Mapping[str, Any] | str | None = None,
        session_id: str | None = None,
        *,
        user_id: str | None = None,
    ) -> dict[str, list[dict[str, Any]]]:
        """Return ``{"history": [{"role", "content"}, ...]}``: the newest turns, oldest first.

        ``inputs`` is LangChain's mapping, in which ``user_id`` and ``session_id`` may stand, or the user's
        id. A session that has not begun has no history. Turns with tools also have ``tool_calls`` or
        ``tool_call_id``. Raises as the class says, and the errors of ``Sessions.window``.
        """
        actor = self._form.where(inputs, session_id, user_id)
        try:
            found = await self._memory.sessions.window(actor, self._form.k)
        except NotFound:
            return {self._form.memory_key: []}
        return {self._form.memory_key: [as_message(turn) for turn in found.turns]}

    async def save_context(
        self,
        inputs: Mapping[str, Any] | str,
        outputs: Mapping[str, Any] | str | None = None,
        *more: Mapping[str, Any] | str,
        user_id: str | None = None,
        session_id: str | None = None,
        client_id: str | None = None,
    ) -> list[int]:
        """Append what the user said and what the assistant answered, and return their numbers.

        LangChain's form is ``save_context(inputs, outputs)``, the other one ``save_context(user_id,
        session_id, inputs, outputs)``. Inputs and outputs are text, or mappings with the text under
        ``input_key`` and ``output_key`` (not needed where there is only one). With ``client_id`` the same
        call sent again adds nothing. Raises InvalidInput (``context_unclear`` ...), and what
        ``Sessions.append`` raises.
        """
        actor, turns = self._form.said(inputs, outputs, more, user_id, session_id, client_id)
        return await self._memory.sessions.append(actor, turns)

    async def aload_memory_variables(
        self, inputs: Mapping[str, Any] | None = None
    ) -> dict[str, list[dict[str, Any]]]:
        """The same as ``load_memory_variables``, by LangChain's name."""
        return await self.load_memory_variables(inputs)

    async def asave_context(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        """The same as ``save_context``, by LangChain's name."""
        await self.save_context(inputs, outputs)


class SyncAgentMemory:
    """``AgentMemory`` over a SyncMemoryService, with its arguments; what begins with ``a`` is awaited."""

    def __init__(
        self,
        memory: Any,
        actor: Actor | None = None,
        *,
        k: int = LAST,
        memory_key: str = "history",
        input_key: str | None = None,
        output_key: str | None = None,
    ) -> None:
        self._memory = memory
        self._form = _formed(actor, k, memory_key, input_key, output_key)

    @property
    def memory_variables(self) -> list[str]:
        """The names that ``load_memory_variables`` answers with."""
        return [self._form.memory_key]

    def load_memory_variables(
        self,
        inputs: Mapping[str, Any] | str | None = None,
        session_id: str | None = None,
        *,
        user_id: str | None = None,
    ) -> dict[str, list[dict[str, Any]]]:
        """See ``AgentMemory``. Raises InvalidInput (``needs_sync_service``) over a MemoryService."""
        actor = self._form.where(inputs, session_id, user_id)
        try:
            found = _at_once(self._memory.sessions.window(actor, self._form.k))
        except NotFound:
            return {self._form.memory_key: []}
        return {self._form.memory_key: [as_message(turn) for turn in found.turns]}

    def save_context(
        self,
        inputs: Mapping[str, Any] | str,
        outputs: Mapping[str, Any] | str | None = None,
        *more: Mapping[str, Any] | str,
        user_id: str | None = None,
        session_id: str | None = None,
        client_id: str | None = None,
    ) -> list[int]:
        """See ``AgentMemory``. Raises InvalidInput (``needs_sync_service``) over a MemoryService."""
        actor, turns = self._form.said(inputs, outputs, more, user_id, session_id, client_id)
        return list(_at_once(self._memory.sessions.append(actor, turns)))

    async def aload_memory_variables(
        self, inputs: Mapping[str, Any] | None = None
    ) -> dict[str, list[dict[str, Any]]]:
        """The same in a thread, so that the event loop goes on."""
        return await asyncio.to_thread(self.load_memory_variables, inputs)

    async def asave_context(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        """The same in a thread, so that the event loop goes on."""
        await asyncio.to_thread(self.save_context, inputs, outputs)


def _at_once(answer: Any) -> Any:
    """Return an answer that is there already."""
    if iscoroutine(answer):
        answer.close()
        raise InvalidInput(
            "needs_sync_service", "Give a SyncMemoryService here, or use AgentMemory and await."
        )
    return answer


def _formed(
    actor: Actor | None, k: int, memory_key: str, input_key: str | None, output_key: str | None
) -> _Form:
    whole(k, 0, MAX_LAST, "k")
    return _Form(
        None if actor is None else known_actor(actor), k, memory_key, input_key, output_key
    )


def as_message(turn: Turn) -> dict[str, Any]:
    """Return a turn as chat models take messages."""
    message: dict[str, Any] = {"role": turn.role, "content": turn.content}
    if turn.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "name": call.name, "args": dict(call.arguments)}
            for call in turn.tool_calls
        ]
    if turn.tool_call_id is not None:
        message["tool_call_id"] = turn.tool_call_id
    return message


def _turns(form: _Form, inputs: object, outputs: object, client_id: str | None) -> list[Turn]:
    said: list[tuple[Role, object, str | None]] = [("user", inputs, form.input_key)]
    if outputs is not None:
        said.append(("assistant", outputs, form.output_key))
    turns = []
    for role, value, key in said:
        text, calls = _said(value, key, form.memory_key)
        known = None if client_id is None else f"{client_id}/{role}"
        turns.append(Turn(role, text, tool_calls=calls, client_id=known))
    return turns


def _said(value: Any, key: str | None, memory_key: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Return the text of inputs or outputs, and the tool calls of an answer.

    Raises InvalidInput (``context_unclear``) where it is not clear which of several texts was said.
    """
    if isinstance(value, Mapping):
        names = [name for name in value if name not in (*_NAMES, memory_key, "tool_calls")]
        if key is None and len(names) != 1:
            raise _unclear("Say what of it was said: give input_key or output_key.")
        calls = value.get("tool_calls") or ()
        text, _ = _said(value.get(names[0] if key is None else key), None, memory_key)
        return text, calls
    text = getattr(value, "content", value)
    if not isinstance(text, str):
        raise _unclear("What was said is text.")
    return text, getattr(value, "tool_calls", None) or ()


def _unclear(message: str) -> InvalidInput:
    return InvalidInput("context_unclear", message)
