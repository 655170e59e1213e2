"""How does a LangGraph agent keep things in the memory? As its store; needs ``mnemic[langgraph]``.

from mnemic.integrations.langgraph import MnemicStore
graph = builder.compile(store=MnemicStore(memory))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemic.integrations.langgraph.refusals import MemoryRefused
    from mnemic.integrations.langgraph.store import MnemicStore

__all__ = ["MemoryRefused", "MnemicStore"]

_WHERE = {
    "MemoryRefused": "mnemic.integrations.langgraph.refusals",
    "MnemicStore": "mnemic.integrations.langgraph.store",
}


def __getattr__(name: str) -> object:
    if name in _WHERE:
        from mnemic.integrations.extras import loaded

        return loaded("langgraph", _WHERE[name], name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
