"""How does a LangChain agent use the memory? As middleware and tools; needs ``mnemic[langchain]``.

from mnemic.integrations.langchain import MemoryMiddleware
agent = create_agent(model, tools, middleware=[MemoryMiddleware(memory)])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemic.integrations.langchain.middleware import MemoryInjection, MemoryMiddleware
    from mnemic.integrations.langchain.tools import memory_tools

__all__ = ["MemoryInjection", "MemoryMiddleware", "memory_tools"]

_WHERE = {
    "MemoryInjection": "mnemic.integrations.langchain.middleware",
    "MemoryMiddleware": "mnemic.integrations.langchain.middleware",
    "memory_tools": "mnemic.integrations.langchain.tools",
}


def __getattr__(name: str) -> object:
    if name in _WHERE:
        from mnemic.integrations.extras import loaded

        return loaded("langchain", _WHERE[name], name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
