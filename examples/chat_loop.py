"""How does a plain loop remember, with any OpenAI-compatible model and no framework?

CHAT_URL=http://localhost:11434/v1 CHAT_MODEL=... MNEMIC_ALLOWED_HOSTS=localhost python examples/chat_loop.py
"""

from __future__ import annotations

import asyncio
import os
import sys
from uuid import uuid4

from mnemic import Actor, MemoryService, Turn
from mnemic.chat import ChatMessage, OpenAIChat


async def main() -> None:
    user = Actor(os.environ.get("MNEMIC_USER", "rowan"), session=f"chat-{uuid4().hex[:8]}")
    async with MemoryService.open() as memory:
        model = OpenAIChat(
            os.environ["CHAT_URL"],
            os.environ["CHAT_MODEL"],
            api_key=os.environ.get("CHAT_KEY"),
            allowed_hosts=memory.settings.allowed_hosts,
        )
        talk: list[ChatMessage] = []
        while text := (await asyncio.to_thread(sys.stdin.readline)).strip():
            known = await memory.build_context(user, text)
            rules = ChatMessage("system", f"You are a friendly assistant.\n\n{known}".strip())
            talk.append(ChatMessage("user", text))
            answer = await model.complete([rules, *talk[-20:]])
            talk.append(ChatMessage("assistant", answer))
            print(answer, flush=True)
            await memory.sessions.append(user, [Turn("user", text), Turn("assistant", answer)])
        await memory.extract(user)


if __name__ == "__main__":
    asyncio.run(main())
