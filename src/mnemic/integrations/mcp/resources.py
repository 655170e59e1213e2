"""What can an MCP client read without a tool? A memory by its id, and what was said in a session.

The same rules as everywhere: who reads is who the credential says, and sees what they see by every other way.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Literal

from mcp.server.mcpserver import MCPServer

from mnemic.checks import one_of
from mnemic.integrations.mcp.answers import item_answer, profile_answer
from mnemic.integrations.mcp.door import Caller, Door, told_of_resource
from mnemic.model import Scope
from mnemic.permissions import home

LAST_TURNS = 200
_JSON = "application/json"
_PROFILES: tuple[Literal["user", "project"], ...] = ("user", "project")


class Resources:
    """The resources of a server."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def register(self, server: MCPServer[Any]) -> None:
        """Add the resources to a server."""
        server.resource(
            "mnemic://profiles/{of}",
            description="The profile at a glance: of the user, or of the project at hand.",
            mime_type=_JSON,
        )(self.profile)
        server.resource(
            "mnemic://memories/{id}", description="One memory, by its id.", mime_type=_JSON
        )(self.memory)
        server.resource(
            "mnemic://sessions/{session_id}",
            description=f"The last {LAST_TURNS} turns of one of your sessions.",
            mime_type=_JSON,
        )(self.session)

    async def profile(self, of: str, caller: Caller) -> str:
        """What is known of the caller, or of the project at hand, at a glance."""
        with told_of_resource():
            wanted: Scope = one_of(of, _PROFILES, "profile")
            actor, memory = self._door.who(caller, "read"), await self._door.memory()
            home(actor, wanted)
            answer = profile_answer(await memory.get_profile_for_agent(actor))
        left_out = {"project", "key_decisions"} if wanted == "user" else {"user"}
        return answer.model_dump_json(exclude=left_out)

    async def memory(self, id: str, caller: Caller) -> str:
        """One memory, by its id."""
        with told_of_resource():
            actor, memory = self._door.who(caller, "read"), await self._door.memory()
            item = await memory.get(actor, id)
        return item_answer(item).model_dump_json()

    async def session(self, session_id: str, caller: Caller) -> str:
        """The last turns of one of the caller's sessions."""
        with told_of_resource():
            actor = replace(self._door.who(caller, "read"), session=session_id)
            memory = await self._door.memory()
            turns = await memory.sessions.tail(actor, LAST_TURNS)
        told = [
            {
                "seq": turn.seq,
                "role": turn.role,
                "content": turn.content,
                "at": None if turn.created_at is None else turn.created_at.isoformat(),
            }
            for turn in turns
        ]
        return json.dumps({"session": actor.session, "turns": told}, ensure_ascii=False)
