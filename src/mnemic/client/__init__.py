"""How does another program talk to the service? Like to the library, over HTTP: the same values and errors.

async with AsyncMnemicClient("https://memory.example", key) as memory:
    verdict = await memory.add("I like short answers", "preference")
    hits = await memory.search("how long should answers be?")
"""

from __future__ import annotations

from mnemic.client.clients import AsyncMnemicClient, MnemicClient
from mnemic.client.values import (
    Appended,
    Chunk,
    Claim,
    Closure,
    Consent,
    ConsentRecord,
    Decided,
    Deletion,
    Erasure,
    Finding,
    ItemPage,
    Kept,
    Member,
    Pass,
    Project,
    ProjectDeletion,
    Question,
    Removal,
    Resource,
    ResourcePage,
    SessionInfo,
    SessionPage,
    Summary,
    TaskPage,
    Uploaded,
    Window,
)

__all__ = [
    "Appended",
    "AsyncMnemicClient",
    "Chunk",
    "Claim",
    "Closure",
    "Consent",
    "ConsentRecord",
    "Decided",
    "Deletion",
    "Erasure",
    "Finding",
    "ItemPage",
    "Kept",
    "Member",
    "MnemicClient",
    "Pass",
    "Project",
    "ProjectDeletion",
    "Question",
    "Removal",
    "Resource",
    "ResourcePage",
    "SessionInfo",
    "SessionPage",
    "Summary",
    "TaskPage",
    "Uploaded",
    "Window",
]
