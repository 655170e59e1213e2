"""Who comes in, to which memory, and what do they hear when something is refused?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError

from mnemic.access.apikeys import Right
from mnemic.errors import MnemicError, NotFound
from mnemic.model import Actor
from mnemic.service import MemoryService

Caller = Context[Any, Any]
Memory = Callable[[], Awaitable[MemoryService]]
Who = Callable[[Caller, Right], Actor]


@dataclass(frozen=True, slots=True)
class Door:
    """``memory`` gives the memory once it is open; ``who`` tells who calls, or raises what stands in the way.

    Who calls is never an argument of a tool.
    """

    memory: Memory
    who: Who


def fixed(memory: Memory, actor: Actor) -> Door:
    """Return the door of a server that one user started for themselves."""
    return Door(memory, lambda caller, right: actor)


@contextmanager
def told() -> Iterator[None]:
    """Tell a caller of a tool, in one sentence with its reason code, what was refused."""
    try:
        yield
    except MnemicError as error:
        raise ToolError(_sentence(error)) from error


@contextmanager
def told_of_resource() -> Iterator[None]:
    """The same for who reads a resource."""
    try:
        yield
    except NotFound as error:
        raise ResourceNotFoundError(_sentence(error)) from error
    except MnemicError as error:
        raise ResourceError(_sentence(error)) from error


def _sentence(error: MnemicError) -> str:
    after = error.details.get("retry_after")
    return str(error) if after is None else f"{error} Try again in {after} s."
