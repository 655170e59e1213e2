"""How does a program use the memory through MCP? It starts ``mnemic mcp`` and calls its tools.

python examples/mcp_client.py
"""

from __future__ import annotations

import asyncio
import os

from mcp import Client, StdioServerParameters


async def main() -> None:
    server = StdioServerParameters(
        command="mnemic", args=["mcp", "--user", "rowan"], env=dict(os.environ)
    )
    async with Client(server) as client:
        said = "I take the night train to Vienna every spring"
        added = await client.call_tool("memory_add", {"content": said, "quote": said})
        print("added:", added.structured_content["verdict"])
        found = await client.call_tool("memory_search", {"query": "travel to Vienna", "k": 3})
        for hit in found.structured_content["hits"]:
            print("found:", hit["memory"]["content"])


if __name__ == "__main__":
    asyncio.run(main())
