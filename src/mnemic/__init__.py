"""Mnemic: long-term memory for LLM agents.

async with MemoryService.open(data_dir="./.mnemic") as memory:
    alice = Actor(user="alice")
    verdict = await memory.add_explicit_memory(alice, "我喜欢简洁的代码", "preference")
    hits = await memory.search_memories(alice, "编程风格", k=5)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic._version import __version__
from mnemic.errors import (
    ChatError,
    ConfigurationError,
    Conflict,
    EmbeddingError,
    HostNotAllowed,
    InvalidInput,
    KeyUnavailable,
    MnemicError,
    NotFound,
    PermissionDenied,
    RateLimited,
    StorageError,
    StorageUnavailable,
)
from mnemic.model import (
    Actor,
    Candidate,
    Hit,
    MemoryItem,
    Parts,
    ResourceHit,
    ToolCall,
    Turn,
    Verdict,
)

if TYPE_CHECKING:
    from mnemic.longterm.draft import Draft
    from mnemic.service import MemoryService
    from mnemic.session.agent_memory import AgentMemory, SyncAgentMemory
    from mnemic.settings import Settings
    from mnemic.sync import SyncMemoryService

__all__ = [
    "Actor",
    "AgentMemory",
    "Candidate",
    "ChatError",
    "ConfigurationError",
    "Conflict",
    "Draft",
    "EmbeddingError",
    "Hit",
    "HostNotAllowed",
    "InvalidInput",
    "KeyUnavailable",
    "MemoryItem",
    "MemoryService",
    "MnemicError",
    "NotFound",
    "Parts",
    "PermissionDenied",
    "RateLimited",
    "ResourceHit",
    "Settings",
    "StorageError",
    "StorageUnavailable",
    "SyncAgentMemory",
    "SyncMemoryService",
    "ToolCall",
    "Turn",
    "Verdict",
    "__version__",
]

# the driver and the settings take most of the time of an import: they load at first use
_LAZY = {
    "AgentMemory": "mnemic.session.agent_memory",
    "Draft": "mnemic.longterm.draft",
    "MemoryService": "mnemic.service",
    "Settings": "mnemic.settings",
    "SyncAgentMemory": "mnemic.session.agent_memory",
    "SyncMemoryService": "mnemic.sync",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
