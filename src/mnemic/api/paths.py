"""Where does an id in a path end? At the next slash that was sent as one.

Ids of projects, users and sessions may hold a slash, which callers send as %2F. Servers decode a path before
it is routed, so the slash would split the id. Here it travels as a control character, which no id can hold.
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import unquote

from fastapi import Path
from pydantic import AfterValidator, WithJsonSchema
from starlette.types import ASGIApp, Receive, Scope, Send

_SLASH, _FOREIGN = "\x1f", "\x1e"


class WholeSegments:
    """Decodes the segments of a path one by one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (raw := scope.get("raw_path")):
            scope = {**scope, "path": decoded(raw)}
        await self._app(scope, receive, send)


def decoded(raw: bytes) -> str:
    """Return a path with its escapes resolved, and a slash out of an escape marked as such."""
    path = raw.partition(b"?")[0].decode("latin-1")
    return "/".join(_segment(part) for part in path.split("/"))


def _segment(part: str) -> str:
    text = unquote(part, errors="replace")
    return text.replace(_SLASH, _FOREIGN).replace("/", _SLASH)


def _restored(value: str) -> str:
    return value.replace(_SLASH, "/")


_NAME = WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 128})
ProjectId = Annotated[str, Path(alias="project_id"), AfterValidator(_restored), _NAME]
UserId = Annotated[str, Path(alias="user"), AfterValidator(_restored), _NAME]
SessionId = Annotated[str, Path(alias="session_id"), AfterValidator(_restored), _NAME]
ValueName = Annotated[
    str,
    Path(alias="name"),
    AfterValidator(_restored),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 200}),
]
TaskId = Annotated[str, Path(alias="task_id"), WithJsonSchema({"type": "string", "format": "uuid"})]
ApprovalId = Annotated[
    str,
    Path(alias="approval_id"),
    AfterValidator(_restored),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 200}),
]
ItemId = Annotated[str, Path(alias="item_id"), WithJsonSchema({"type": "string", "format": "uuid"})]
ResourceId = Annotated[
    str, Path(alias="resource_id"), WithJsonSchema({"type": "string", "format": "uuid"})
]
