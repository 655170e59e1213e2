"""How does a plain loop remember, with any OpenAI-compatible model and no framework?

CHAT_URL=http://localhost:11434/v1 CHAT_MODEL=... MNEMIC_ALLOWED_HOSTS=localhost python examples/chat_loop.py
"""

import asyncio
import sys
from os import environ, urandom

from mnemic import Actor, MemoryService, Turn
from mnemic.chat import ChatMessage, OpenAIChat


async def main() -> None:
    user, talk = Actor(environ.get("MNEMIC_USER", "rowan"), session=f"chat-{urandom(4).hex()}"), []
    async with MemoryService.open() as memory:
        place, hosts = (environ["CHAT_URL"], environ["CHAT_MODEL"]), memory.settings.allowed_hosts
        model = OpenAIChat(*place, api_key=environ.get("CHAT_KEY"), allowed_hosts=hosts)
        while text := (await asyncio.to_thread(sys.stdin.readline)).strip():  # an empty line ends
            rules = f"You are a friendly assistant.\n\n{await memory.build_context(user, text)}"
            talk.append(ChatMessage("user", text))
            answer = await model.complete([ChatMessage("system", rules.strip()), *talk[-19:]])
            talk.append(ChatMessage("assistant", answer))
            print(answer, flush=True)
            await memory.sessions.append(user, [Turn("user", text), Turn("assistant", answer)])
        if talk:
            await memory.extract(user)


asyncio.run(main()) if "CHAT_URL" in environ else sys.exit(__doc__)
