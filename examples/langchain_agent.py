"""How does a LangChain agent remember its user from one conversation to the next?

    python examples/langchain_agent.py

The model is scripted: put a real one in its place. Set MNEMIC_DATA_DIR to say where memories lie.
"""

from __future__ import annotations

import asyncio

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from scripted_model import ScriptedModel, calls, says

from mnemic import MemoryService
from mnemic.integrations.langchain import MemoryMiddleware


async def main() -> None:
    model = ScriptedModel(
        answers=[
            says("Noted: short answers."),
            calls("memory_search", query="how long should answers be"),
            says("You like short answers."),
        ]
    )
    async with MemoryService.open() as memory:
        agent = create_agent(
            model,
            system_prompt="You are a helpful guide.",
            middleware=[
                MemoryMiddleware(memory),  # first: it logs what a summary would replace
                SummarizationMiddleware(model, trigger=("messages", 50)),
            ],
        )

        async def ask(text: str, session: str) -> str:
            config = {"configurable": {"user_id": "rowan", "session_id": session}}
            state = await agent.ainvoke({"messages": [("user", text)]}, config)
            return str(state["messages"][-1].text)

        print("monday: ", await ask("Please remember that I prefer short answers.", "monday"))
        print("tuesday:", await ask("How long should my answers be?", "tuesday"))
        print("its prompt knew:", "I prefer short answers" in model.system)


if __name__ == "__main__":
    asyncio.run(main())
