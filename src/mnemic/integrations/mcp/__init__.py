"""How does an MCP client use the memory? Through a server on stdio or HTTP; needs ``mnemic[mcp]``.

from mnemic.integrations.mcp import Endpoint, make_server
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemic.integrations.mcp.door import Door
    from mnemic.integrations.mcp.http import Endpoint
    from mnemic.integrations.mcp.server import make_server
    from mnemic.integrations.mcp.stdio import serve_stdio

__all__ = ["Door", "Endpoint", "make_server", "serve_stdio"]

_WHERE = {
    "Door": "mnemic.integrations.mcp.door",
    "Endpoint": "mnemic.integrations.mcp.http",
    "make_server": "mnemic.integrations.mcp.server",
    "serve_stdio": "mnemic.integrations.mcp.stdio",
}


def __getattr__(name: str) -> object:
    if name in _WHERE:
        from mnemic.integrations.extras import loaded

        return loaded("mcp", _WHERE[name], name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
